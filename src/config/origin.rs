//! Where each setting comes from: kept while the layers are laid, not guessed afterwards.
//!
//! Values that may hold a secret are never shown.

use std::collections::BTreeMap;
use std::fmt;

use toml::{Table, Value};

use crate::wire::provider::{Provider, shown};

/// What stands in place of a value that may be a secret.
const HIDDEN: &str = "(not shown)";

/// A setting that is in force.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Dotted.
    pub key: String,
    /// For people.
    pub value: String,
    /// Its sources, the one that counts last; several where they add up.
    pub from: Vec<Place>,
}

/// A file, a flag or a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    pub source: String,
    /// From 1, in a file.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            Some(line) => write!(f, "{}:{line}", self.source),
            None => f.write_str(&self.source),
        }
    }
}

/// The way down to a key.
pub(super) type Path = Vec<String>;

/// Whence each key of a table is.
#[derive(Debug, Default)]
pub(super) struct Origins(BTreeMap<Path, Vec<Place>>);

impl Origins {
    /// Those of one source.
    pub(super) fn of(table: &Table, place: impl Fn(&[String]) -> Place) -> Self {
        let place = |(path, _): (Path, &Value)| {
            let found = place(&path);
            (path, vec![found])
        };
        Self(leaves(table).into_iter().map(place).collect())
    }

    /// Those of a profile, as if its keys stood at the top.
    pub(super) fn of_profile(&self, name: &str) -> Self {
        let own = |(path, places): (&Path, &Vec<Place>)| {
            let rest = path.strip_prefix(["profiles".to_owned(), name.to_owned()].as_slice())?;
            let named = |place: &Place| Place {
                source: format!("profile {name}, {}", place.source),
                ..place.clone()
            };
            Some((rest.to_vec(), places.iter().map(named).collect()))
        };
        Self(self.0.iter().filter_map(own).collect())
    }

    /// Lays what a higher source says on top.
    pub(super) fn lay(&mut self, over: Self) {
        for (path, places) in over.0 {
            if path == ["sandbox", "hide"] {
                self.0.entry(path).or_default().extend(places);
            } else {
                self.0.insert(path, places);
            }
        }
    }

    /// The settings of the merged table.
    pub(super) fn settings(&self, table: &Table) -> Vec<Setting> {
        let known = |(path, value): (Path, &Value)| {
            let from = self.0.get(&path).filter(|_| path[0] != "profiles")?.clone();
            Some(Setting { value: words(&path, value), key: path.join("."), from })
        };
        leaves(table).into_iter().filter_map(known).collect()
    }
}

/// The keys that hold something other than a table, in order.
fn leaves(table: &Table) -> Vec<(Path, &Value)> {
    let mut found = Vec::new();
    for (name, value) in table {
        match value {
            Value::Table(inner) => found.extend(leaves(inner).into_iter().map(|(mut path, value)| {
                path.insert(0, name.clone());
                (path, value)
            })),
            value => found.push((vec![name.clone()], value)),
        }
    }
    found
}

fn words(path: &[String], value: &Value) -> String {
    let holds = |name: &str| path.iter().any(|key| key == name);
    let provider = path[0] == "model_providers";
    if provider && (holds("http_headers") || holds("query_params") || holds("auth")) {
        return HIDDEN.to_owned();
    }
    match value {
        Value::String(text) if path.last().is_some_and(|key| key.ends_with("base_url")) => address(text),
        Value::String(text) => text.clone(),
        Value::Array(all) => all.iter().map(|one| words(path, one)).collect::<Vec<_>>().join(", "),
        other => other.to_string(),
    }
}

/// Without a user, a password or a query.
fn address(text: &str) -> String {
    if !text.contains(['@', '?', '#']) {
        return text.to_owned();
    }
    Provider::new("", text).url("").map_or_else(|_| HIDDEN.to_owned(), |url| shown(&url))
}

#[cfg(test)]
mod tests {
    use crate::config::{Dirs, Inputs, Override, load};

    #[test]
    fn each_setting_is_told_with_its_source_and_no_secret() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        let project = root.join("project");
        std::fs::create_dir_all(project.join(".tack")).unwrap();
        let write = |name: &str, text: &str| std::fs::write(root.join(name), text).unwrap();
        write(
            "config.toml",
            r#"model = "a"
            sandbox_mode = "workspace-write"
            [sandbox]
            hide = ["x"]
            [profiles.fast]
            model = "b"
            [model_providers.acme]
            base_url = "https://me:hunter2@acme.example/v1?key=hunter2"
            query_params = { key = "hunter2" }
            auth = { command = "vault", args = ["hunter2"] }
            "#,
        );
        write("project/.tack/config.toml", "sandbox_mode = \"read-only\"\n[sandbox]\nhide = [\"y\"]\n");
        write("trust.toml", &format!("[projects.{:?}]\ntrusted = true\n", project.display().to_string()));
        let inputs = Inputs {
            dirs: Dirs::find(&[("TACK_HOME", &root)].into_iter().collect()),
            project: Some(project),
            profile: Some("fast".into()),
            env: [("TACK_HARNESS", "pi")].into_iter().collect(),
            overrides: vec![Override::parse("model_context_window=8192").unwrap()],
            ..Inputs::default()
        };
        let row = |set: &super::Setting| {
            let from: Vec<String> = set.from.iter().map(ToString::to_string).collect();
            format!("{} = {} · {}\n", set.key, set.value, from.join(" and "))
        };
        let text: String = load(inputs).unwrap().settings.iter().map(row).collect();
        insta::assert_snapshot!(text.replace(root.to_str().unwrap(), ""), @"
        model = b · profile fast, /config.toml:6
        sandbox_mode = read-only · /project/.tack/config.toml:1
        sandbox.hide = x, y · /config.toml:4 and /project/.tack/config.toml:3
        model_providers.acme.base_url = https://acme.example/v1 · /config.toml:8
        model_providers.acme.query_params.key = (not shown) · /config.toml:9
        model_providers.acme.auth.command = (not shown) · /config.toml:10
        model_providers.acme.auth.args = (not shown) · /config.toml:10
        harness = pi · TACK_HARNESS
        model_context_window = 8192 · --config
        ");
    }
}
