//! The layers of `src/lib.rs` hold, and files keep to the house rules that a machine can check.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use regex::Regex;

/// A module of `src/` and those it may use besides itself.
const LAYERS: [(&str, &[&str]); 15] = [
    ("model", &[]),
    ("wire", &["model"]),
    ("harness", &["model", "wire::prompt"]),
    ("sandbox", &["model"]),
    ("store", &["model"]),
    ("code", &[]),
    ("tools", &["model", "sandbox", "code"]),
    ("probe", &["model", "wire", "harness"]),
    ("login", &["wire"]),
    ("config", &["model", "sandbox", "wire"]),
    ("agent", &["model", "wire", "harness", "sandbox", "store", "tools", "config"]),
    ("bench", &["model", "wire", "harness", "sandbox", "store", "code", "tools", "config", "agent"]),
    ("exec", &["model", "wire", "harness", "sandbox", "store", "tools", "config", "agent"]),
    // What drawing needs of languages is in `code`; of file names, in `tools`.
    ("tui", &["model", "harness", "sandbox", "code", "tools", "config", "agent"]),
    (
        "cli",
        &[
            "model", "wire", "harness", "sandbox", "store", "tools", "login", "config", "agent", "exec",
            "bench", "probe", "tui",
        ],
    ),
];

fn rust_files(dir: &str) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    let mut open = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join(dir)];
    while let Some(dir) = open.pop() {
        for entry in fs::read_dir(&dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path);
            } else if path.extension().is_some_and(|e| e == "rs") {
                let text = fs::read_to_string(&path).unwrap();
                found.push((path.strip_prefix(env!("CARGO_MANIFEST_DIR")).unwrap().to_owned(), text));
            }
        }
    }
    assert!(found.len() > 1, "no files in {dir}");
    found
}

/// Everything behind `crate::` in the code, groups taken apart: `wire::prompt`, `model::Item`.
fn uses(text: &str) -> Vec<String> {
    let code: String =
        text.lines().map(|line| line.split("//").next().unwrap_or("")).collect::<Vec<_>>().join(" ");
    let path = Regex::new(r"\bcrate::(\{|[a-z_]+(?:::(?:\{|[A-Za-z_]+))?)").unwrap();
    let mut found = Vec::new();
    for one in path.captures_iter(&code) {
        let (whole, start) = (one.get(0).unwrap(), &one[1]);
        match start.strip_suffix('{') {
            Some(stem) => {
                found.extend(members(&code[whole.end()..]).into_iter().map(|m| format!("{stem}{m}")));
            }
            None => found.push(start.to_owned()),
        }
    }
    found
}

/// The members of a group whose brace was just opened, without their own groups.
fn members(rest: &str) -> Vec<String> {
    let mut depth = 0;
    let mut all = vec![String::new()];
    for c in rest.chars() {
        match c {
            '}' if depth == 0 => break,
            '{' => depth += 1,
            '}' => depth -= 1,
            ',' if depth == 0 => all.push(String::new()),
            c if depth == 0 && !c.is_whitespace() => all.last_mut().unwrap().push(c),
            _ => {}
        }
    }
    all.retain(|name| !name.is_empty());
    all
}

/// What is wrong with the uses in `text`, a file of the module `of`.
fn breaches(of: &str, text: &str) -> Vec<String> {
    let allowed = LAYERS.iter().find(|(module, _)| *module == of).map_or(&[][..], |(_, allowed)| allowed);
    let fits =
        |used: &str, rule: &str| used == rule || used.strip_prefix(rule).is_some_and(|r| r.starts_with("::"));
    let known = |used: &str| LAYERS.iter().any(|(module, _)| fits(used, module));
    uses(text)
        .into_iter()
        .filter(|used| known(used) && !fits(used, of) && !allowed.iter().any(|rule| fits(used, rule)))
        .map(|used| format!("{of} must not use crate::{used}"))
        .collect()
}

/// Whether a `use` climbs out of its top module by `super`, where no rule would see it.
fn climbs_out(path: &Path, text: &str) -> bool {
    let below_src = path.iter().count() - 1;
    let depth = below_src - usize::from(path.ends_with("mod.rs"));
    let climb = Regex::new(r"(?m)^(?:pub(?:\([a-z ]+\))? )?use ((?:super::)+)").unwrap();
    climb.captures_iter(text).any(|one| one[1].matches("super").count() >= depth)
}

#[test]
fn layers_only_point_downwards() {
    let wrong: Vec<String> = rust_files("src")
        .into_iter()
        .filter_map(|(path, text)| {
            let module = path.iter().nth(1)?.to_str()?.trim_end_matches(".rs").to_owned();
            let top = matches!(module.as_str(), "lib" | "main");
            assert!(top || LAYERS.iter().any(|(name, _)| *name == module), "{module} has no layer");
            let mut found = if top { Vec::new() } else { breaches(&module, &text) };
            found
                .extend(climbs_out(&path, &text).then(|| "write crate:: instead of super:: here".to_owned()));
            (!found.is_empty()).then(|| format!("{}: {}", path.display(), found.join(", ")))
        })
        .collect();
    assert_eq!(wrong, [""; 0]);
}

#[test]
fn a_breach_is_seen_however_it_is_written() {
    for (of, text) in [
        ("wire", "use crate::config::Config;"),
        ("harness", "use crate::wire::provider::Provider;"),
        ("harness", "use crate::{model::Item,\n  wire::{prompt, provider}};"),
        ("harness", "use crate::wire::{prompt::Prompt, Client};"),
        ("store", "fn f() { crate::tools::run() }"),
        ("model", "use crate::{\n    sandbox,\n};"),
    ] {
        assert_ne!(breaches(of, text), [""; 0], "{text}");
    }
    for (path, text, want) in [
        ("src/store/mod.rs", "use super::tools;", true),
        ("src/store/lock.rs", "use super::super::tools;", true),
        ("src/store/lock.rs", "use super::Place;", false),
        ("src/wire/chat/mod.rs", "use super::Delta;", false),
    ] {
        assert_eq!(climbs_out(Path::new(path), text), want, "{path}: {text}");
    }
    for (of, text) in [
        ("harness", "use crate::wire::prompt::{Prompt, Role};"),
        ("harness", "use crate::wire::{prompt};"),
        ("wire", "use crate::{model::{Model, Usage}, wire::prompt};"),
        ("wire", "// crate::config is read above\nuse crate::model;"),
    ] {
        assert_eq!(breaches(of, text), [""; 0], "{text}");
    }
}

#[test]
fn files_are_short_and_say_what_they_are() {
    let mut wrong = BTreeMap::new();
    for (path, text) in rust_files("src").into_iter().chain(rust_files("tests")) {
        let lines = text.lines().count();
        if lines > 600 {
            wrong.insert(path.clone(), format!("{lines} lines, at most 600"));
        }
        if !text.starts_with("//! ") {
            wrong.insert(path, "does not begin with //!".to_owned());
        }
    }
    assert_eq!(wrong, BTreeMap::new());
}

#[test]
fn every_test_file_is_listed() {
    let main = include_str!("main.rs");
    for (path, _) in rust_files("tests/it") {
        let parts: Vec<&str> = path.iter().skip(2).filter_map(|part| part.to_str()).collect();
        // A folder is listed by its own module.
        let name = parts[0].trim_end_matches(".rs");
        assert!(
            name == "main" || main.contains(&format!("mod {name};")),
            "tests/it/main.rs lacks mod {name};"
        );
    }
}
