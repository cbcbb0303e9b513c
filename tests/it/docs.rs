//! The documents say what the code does: every key of a manifest, what a class gets, every folder.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use regex::Regex;
use toml::{Table, Value};

fn text(path: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The types of a source file that a manifest is read as: of a struct the keys, of an enum the words,
/// as they are written in TOML.
#[derive(Debug)]
enum Read {
    /// Key and type, the latter without `Vec`, `Option` and the like.
    Keys(Vec<(String, String)>),
    Words(Vec<String>),
}

fn types(source: &str) -> BTreeMap<String, Read> {
    let of_type = Regex::new(
        r"(?ms)^#\[derive\(([^)]*)\)\]\n((?:#\[.*?\]\n)*)pub (struct|enum) (\w+)(?:<T>)? \{\n(.*?)^\}",
    )
    .unwrap();
    let line = Regex::new(r"^    (?:pub (\w+): (.+)|(\w+)),$").unwrap();
    let renamed = Regex::new(r#"rename = "([^"]+)""#).unwrap();
    let inner = Regex::new(r"[\w:]+(?:<T>)?$").unwrap();
    let mut found = BTreeMap::new();
    for one in of_type.captures_iter(source).filter(|one| one[1].contains("Deserialize")) {
        let (mut keys, mut words, mut attribute) = (Vec::new(), Vec::new(), String::new());
        for row in one[5].lines() {
            if let Some(row) = line.captures(row) {
                let own = renamed.captures(&attribute).map(|name| name[1].to_owned());
                if let Some(key) = row.get(1).filter(|_| !attribute.contains("flatten")) {
                    let bare = row[2].trim_end_matches('>');
                    let of = inner.find(bare).map_or("", |found| found.as_str());
                    keys.push((own.unwrap_or_else(|| key.as_str().to_owned()), of.to_owned()));
                } else if let Some(word) = row.get(3) {
                    words.push(own.unwrap_or_else(|| word.as_str().to_lowercase()));
                }
                attribute.clear();
            } else if row.trim_start().starts_with("#[") {
                attribute.push_str(row);
            }
        }
        let read = if &one[3] == "enum" { Read::Words(words) } else { Read::Keys(keys) };
        found.insert(one[4].to_owned(), read);
    }
    found
}

/// Whether `key` is a word within a code span.
fn in_code(text: &str, key: &str) -> bool {
    let word = Regex::new(&format!(r"`[^`\n]*\b{}\b[^`\n]*`", regex::escape(key))).unwrap();
    word.is_match(text)
}

fn has_word(text: &str, word: &str) -> bool {
    Regex::new(&format!(r"\b{}\b", regex::escape(word))).unwrap().is_match(text)
}

/// What `said` leaves out of the keys of a type, the words of its enums, and the types below it.
fn left_out(said: &str, name: &str, types: &BTreeMap<String, Read>, gaps: &mut Vec<String>) {
    let Some(Read::Keys(keys)) = types.get(name) else { panic!("{name} is no struct") };
    for (key, of) in keys {
        if !in_code(said, key) {
            gaps.push(format!("{name}: key {key}"));
        }
        match types.get(of) {
            Some(Read::Words(words)) => {
                let missing = words.iter().filter(|word| !has_word(said, word));
                gaps.extend(missing.map(|word| format!("{name}: {key} = {word}")));
            }
            Some(Read::Keys(_)) if of != name => left_out(said, of, types, gaps),
            Some(Read::Keys(_)) | None => {}
        }
    }
}

/// All types that manifests are read as.
fn all_types() -> BTreeMap<String, Read> {
    let mut all = BTreeMap::new();
    let prompt = types(&text("src/wire/prompt.rs"));
    let named = prompt.into_iter().flat_map(|(name, read)| {
        // Roles are the same everywhere, and not all of them stand everywhere.
        let bare = (name == "Form").then_some(name.clone());
        bare.into_iter().chain([format!("prompt::{name}")]).map(move |name| (name, copy(&read)))
    });
    all.extend(named);
    let manifest = ["answer", "care", "dialect", "mod", "request", "turn"];
    let files = manifest.map(|name| format!("src/harness/manifest/{name}.rs"));
    for file in files.iter().map(String::as_str).chain(["src/model/care.rs"]) {
        all.extend(types(&text(file)));
    }
    all
}

fn copy(read: &Read) -> Read {
    match read {
        Read::Keys(keys) => Read::Keys(keys.clone()),
        Read::Words(words) => Read::Words(words.clone()),
    }
}

#[test]
fn every_key_of_a_manifest_is_told_of() {
    let readme = text("harnesses/README.md");
    let types = all_types();
    let Some(Read::Keys(sections)) = types.get("Manifest") else { panic!("there is no Manifest") };
    assert!(sections.len() > 20, "{sections:?}");
    let rows: Vec<&str> = readme.lines().filter(|line| line.starts_with('|')).collect();
    let mut gaps = Vec::new();
    for (section, of) in sections {
        let heads = [format!("[{section}]"), format!("[[{section}]]"), format!("[{section}.")];
        let cell = |row: &str| row.split('|').nth(1).unwrap_or_default().to_owned();
        let row = rows.iter().find(|row| heads.iter().any(|head| cell(row).contains(head.as_str())));
        match (row, types.get(of)) {
            // Their keys are classes and outcomes, and hold whole manifests.
            (Some(row), Some(Read::Keys(keys))) if keys.iter().all(|(_, of)| of == "Manifest") => {
                let missing = keys.iter().filter(|(key, _)| !has_word(row, key));
                gaps.extend(missing.map(|(key, _)| format!("{section}.{key}")));
            }
            (Some(row), Some(Read::Keys(_))) => left_out(row, of, &types, &mut gaps),
            (Some(_), _) => {}
            (None, Some(Read::Keys(_))) => gaps.push(format!("section [{section}]")),
            (None, _) if rows.iter().any(|row| row.starts_with("| top") && in_code(row, section)) => {}
            (None, _) => gaps.push(format!("key {section}")),
        }
    }
    assert!(gaps.is_empty(), "harnesses/README.md says nothing of:\n{}", gaps.join("\n"));
}

#[test]
fn every_key_of_a_tool_is_told_of() {
    let readme = text("harnesses/README.md");
    let types = types(&(text("src/harness/tool.rs") + &text("src/harness/param.rs")));
    let (_, tools) = readme.split_once("`tools.toml` has").unwrap();
    let mut gaps = Vec::new();
    for (name, read) in &types {
        match read {
            Read::Keys(_) => left_out(tools, name, &types, &mut gaps),
            Read::Words(words) => {
                let missing = words.iter().filter(|word| !has_word(tools, word));
                gaps.extend(missing.map(|word| format!("{name}: {word}")));
            }
        }
    }
    assert!(types.len() >= 6, "{types:?}");
    assert!(gaps.is_empty(), "harnesses/README.md says nothing of:\n{}", gaps.join("\n"));
}

/// Rows of the table of classes: what it is for people, and the key. `tools` and `opening` are
/// counted, everything else is shown as the manifest has it.
const ROWS: [(&str, &str); 37] = [
    ("Tools in the surface", "tools"),
    ("Where the tools are listed: in the request, or in the prompt", "dialect.offer"),
    ("Calls in text that are read, by form", "dialect.salvage"),
    ("Tool of a block that names none", "dialect.bare"),
    ("Languages of such blocks", "dialect.labels"),
    ("System prompt", "system.blocks"),
    ("Messages of a worked example", "opening"),
    ("Temperature", "request.temperature"),
    ("Most tokens of a reply", "request.max_tokens"),
    ("A reply is stopped at", "request.chat.stop"),
    ("Temperature after a reply of no use: first, later", "again"),
    ("A reply is cut after so many blank lines", "stream.blank_lines"),
    ("… after the same line so often", "stream.same_lines"),
    ("Thinking", "thinking.effort"),
    ("… in the first request and after a failed check", "thinking.effort_first"),
    ("Most tokens of thinking (0: no limit)", "thinking.most"),
    ("What is told after a reply without a call", "loop.retry"),
    ("A bad reply leaves the history", "loop.forget"),
    ("A reply whose edits were not made stays, or is only told of", "loop.vain"),
    ("The same call again, nothing changed", "loop.repeats"),
    ("Reading calls in a row", "loop.reads"),
    ("Model requests in a turn", "loop.steps"),
    ("An end before any call", "submit.early"),
    ("An edit that breaks a file's syntax", "edit.parse"),
    ("Whole-file texts may lose no definition", "edit.keep_names"),
    ("Only lines that were shown may be changed", "edit.seen"),
    ("Longer files are not overwritten (0: no limit)", "edit.whole"),
    ("Lines shown by a read", "read.window"),
    ("What was read is not sent again", "read.once"),
    ("A result has at most so many bytes", "output.bytes"),
    ("… and lines", "output.lines"),
    ("Rounds of the project's check at the end", "check.rounds"),
    ("The session is summed up at so many tokens (0: by the window)", "context.tokens"),
    ("Results that stay whole", "context.results"),
    ("Tokens of facts about the project", "context.facts"),
    ("Tokens of AGENTS.md", "context.instructions"),
    ("Lines of a named file that is shown at once", "context.named"),
];

/// `over` laid over `base`, key by key.
fn merged(base: &Table, over: &Table) -> Table {
    let mut all = base.clone();
    for (key, value) in over {
        let both = (all.get(key).and_then(Value::as_table), value.as_table());
        let value = if let (Some(below), Some(above)) = both {
            Value::Table(merged(below, above))
        } else {
            value.clone()
        };
        all.insert(key.clone(), value);
    }
    all
}

fn at<'a>(table: &'a Table, path: &str) -> Option<&'a Value> {
    let (first, rest) = path.split_once('.').map_or((path, None), |(first, rest)| (first, Some(rest)));
    match (table.get(first)?, rest) {
        (value, None) => Some(value),
        (Value::Table(inner), Some(rest)) => at(inner, rest),
        (_, Some(_)) => None,
    }
}

fn cell(manifest: &Table, tools: &Table, key: &str) -> String {
    let list = |path: &str| -> Vec<&str> {
        let value = at(manifest, path).and_then(Value::as_array);
        value.into_iter().flatten().filter_map(Value::as_str).collect()
    };
    match (key, at(manifest, key)) {
        ("tools", _) => {
            let (keep, drop) = (list("tools.keep"), list("tools.drop"));
            let kept = |name: &&str| (keep.is_empty() || keep.contains(name)) && !drop.contains(name);
            tools.keys().map(String::as_str).filter(kept).collect::<Vec<_>>().join(" ")
        }
        ("again", Some(Value::Array(all))) => {
            let heat = |one: &Value| one["body"]["temperature"].to_string();
            all.iter().map(heat).collect::<Vec<_>>().join(", ")
        }
        ("opening", Some(Value::Array(all))) => all.len().to_string(),
        (_, Some(Value::Array(all))) => {
            all.iter().map(|one| one.as_str().unwrap().trim()).collect::<Vec<_>>().join(" ")
        }
        (_, Some(Value::String(word))) => word.clone(),
        (_, Some(value)) => value.to_string(),
        (_, None) => "–".to_owned(),
    }
}

/// Every key below a table, dotted; what is no table is an end.
fn leaves(table: &Table, before: &str, found: &mut Vec<String>) {
    for (key, value) in table {
        let path = format!("{before}{key}");
        match value {
            Value::Table(inner) => leaves(inner, &format!("{path}."), found),
            _ => found.push(path),
        }
    }
}

#[test]
fn the_table_of_classes_is_what_the_manifest_says() {
    let manifest: Table = text("harnesses/local/harness.toml").parse().unwrap();
    let tools: Table = text("harnesses/local/tools.toml").parse().unwrap();
    let none = Table::new();
    let of = |class: &str| {
        let over = at(&manifest, &format!("class.{class}")).and_then(Value::as_table);
        merged(&manifest, over.unwrap_or(&none))
    };
    let classes = ["S", "M", "L", "F"].map(of);
    let mut table = "| what | key | S | M | L | F |\n| --- | --- | --- | --- | --- | --- |\n".to_owned();
    for (what, key) in ROWS {
        let cells = classes.iter().map(|class| cell(class, &tools, key)).collect::<Vec<_>>().join(" | ");
        let key = match key {
            "again" => "[[again]]".to_owned(),
            "opening" => "[[opening]]".to_owned(),
            "tools" => "[tools]".to_owned(),
            _ => key.to_owned(),
        };
        let _ = writeln!(table, "| {what} | `{key}` | {cells} |");
    }
    let document = text("docs/local-models.md");
    assert!(document.contains(&table), "docs/local-models.md has to hold this table:\n{table}");

    let mut differ = Vec::new();
    for class in manifest["class"].as_table().unwrap().values() {
        leaves(class.as_table().unwrap(), "", &mut differ);
    }
    let rows = ROWS.map(|(_, key)| key);
    differ.retain(|key| !key.starts_with("tools.") && !rows.contains(&key.as_str()));
    assert!(differ.is_empty(), "what differs by class has no row: {differ:?}");
}

#[test]
fn every_folder_of_the_source_is_in_the_table_of_the_architecture() {
    let page = text("docs/architecture.md");
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("src")).unwrap() {
        let entry = entry.unwrap();
        if entry.path().is_dir() {
            let name = entry.file_name().into_string().unwrap();
            assert!(page.contains(&format!("| `{name}/` |")), "docs/architecture.md has no row for {name}/");
        }
    }
}

#[test]
fn every_harness_is_in_the_table_of_the_readme() {
    let readme = text("README.md");
    let mut count = 0;
    for entry in fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("harnesses")).unwrap() {
        let dir = entry.unwrap().path();
        if dir.join("harness.toml").is_file() {
            let id = dir.file_name().unwrap().to_str().unwrap().to_owned();
            assert!(readme.contains(&format!("| `{id}` |")), "README.md has no row for {id}");
            count += 1;
        }
    }
    assert!(count > 6, "{count} harnesses");
}

#[test]
fn links_between_documents_lead_somewhere() {
    let link = Regex::new(r"\]\(([^)#:]+)(?:#[^)]*)?\)").unwrap();
    for path in [
        "README.md",
        "harnesses/README.md",
        "docs/local-models.md",
        "docs/config.md",
        "docs/sandbox.md",
        "docs/terminal.md",
        "docs/external-harness.md",
    ] {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
        for one in link.captures_iter(&text(path)) {
            assert!(here.parent().unwrap().join(&one[1]).exists(), "{path} links to {}", &one[1]);
        }
    }
}
