//! Programs of harnesses: the tools that do `script`, and the folders where their files lie.

use std::collections::BTreeMap;

use super::files::Files;
use super::layers::Chain;
use super::load::LoadError;
use super::tool::Tools;

/// The folder of each such tool, by its name.
pub(super) type Programs = BTreeMap<String, String>;

/// Where the programs of tools lie.
pub(super) fn of(files: &Files, chain: &Chain, tools: &Tools) -> Result<Programs, LoadError> {
    let ids = chain.ids();
    let id = &ids[0];
    let broken = |what: String| LoadError::broken(format!("{id}/tools.toml"), None, what);
    let mut found = Programs::new();
    for (name, tool) in tools.iter() {
        match (tool.kinds().any(|kind| kind == "script"), tool.run.is_empty()) {
            (false, true) => continue,
            (true, false) => {}
            (false, false) => {
                return Err(broken(format!(
                    "`{name}` has `run`, which only a tool that does `script` may have"
                )));
            }
            (true, true) => {
                return Err(broken(format!(
                    "`{name}` does `script` and needs `run`, such as [\"python3\", \"count.py\"]"
                )));
            }
        }
        let mut places = ids.iter().flat_map(|id| tool.run.iter().filter_map(|word| files.program(id, word)));
        let Some(folder) = places.next() else {
            return Err(broken(format!(
                "`{name}` runs `{}`, and none of that is a file in the harness's folder; put the script there",
                tool.run.join(" ")
            )));
        };
        // Commands run elsewhere.
        let folder = std::path::absolute(&folder).unwrap_or(folder);
        found.insert(name.to_owned(), folder.display().to_string());
    }
    Ok(found)
}
