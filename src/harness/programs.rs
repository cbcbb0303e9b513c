//! Programs of harnesses: the tools that do `script`, and the folders where their files lie.

use std::collections::BTreeMap;

use super::files::Files;
use super::kit::Source;
use super::layers::File;
use super::load::LoadError;
use super::tool::Tools;

/// The folder of each such tool, by its name.
pub(super) type Programs = BTreeMap<String, String>;

/// Where the programs of tools lie.
pub(super) fn of(files: &Files, tools: &Tools, source: &Source<'_>, faults: &mut Vec<LoadError>) -> Programs {
    let ids = source.chain.ids();
    let mut found = Programs::new();
    for (name, tool) in tools.iter() {
        let what = match (tool.kinds().any(|kind| kind == "script"), tool.run.is_empty()) {
            (false, true) => continue,
            (false, false) => format!("`{name}` has `run`, which only a tool that does `script` may have"),
            (true, true) => {
                format!("`{name}` does `script` and needs `run`, such as [\"python3\", \"count.py\"]")
            }
            (true, false) => {
                let mut places =
                    ids.iter().flat_map(|id| tool.run.iter().filter_map(|word| files.program(id, word)));
                if let Some(folder) = places.next() {
                    // Commands run elsewhere.
                    let folder = std::path::absolute(&folder).unwrap_or(folder);
                    found.insert(name.to_owned(), folder.display().to_string());
                    continue;
                }
                format!(
                    "`{name}` runs `{}`, and none of that is a file in the harness's folder; put the script there",
                    tool.run.join(" ")
                )
            }
        };
        faults.push(source.fault(File::Tools, &[name, "run"], None, what));
    }
    found
}
