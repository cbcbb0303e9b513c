//! What serde cannot see in the tables: names that have to be somewhere else too.

use crate::harness::bind::KINDS;
use crate::harness::claim::wrong_pattern;
use crate::harness::kit::{Kit, Source};
use crate::harness::layers::{Case, File, near};
use crate::harness::load::LoadError;
use crate::harness::manifest::DialectKind;
use crate::harness::tool::Tool;

pub(in crate::harness) fn check(kit: &Kit, source: &Source<'_>, faults: &mut Vec<LoadError>) {
    manifest(kit, source, faults);
    for (name, tool) in kit.tools.iter() {
        let mut fault = |keys: &[&str], word: Option<&str>, what: String| {
            let keys: Vec<&str> = [name].into_iter().chain(keys.iter().copied()).collect();
            faults.push(source.fault(File::Tools, &keys, word, what));
        };
        kinds(name, tool, &mut fault);
        params(name, tool, &mut fault);
        if let (Some(_), Some(grammar)) = (&tool.free, &tool.grammar) {
            let known = ["lark", "regex"].contains(&grammar.syntax.as_str());
            if !known || !kit.files.contains_key(&grammar.file) {
                let what = format!(
                    "the `grammar` of `{name}` needs `syntax` (lark or regex) and `file`, a file of the harness"
                );
                fault(&["grammar"], None, what);
            }
        }
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
        if tool.on_wire() && (name.is_empty() || name.len() > 64 || !name.chars().all(is_name)) {
            let what = format!("services take no tool named `{name}`: letters, digits, `_`, `-`, at most 64");
            fault(&[], None, what);
        }
    }
    twins(kit, source, faults);
    deferred(kit, source, faults);
}

fn deferred(kit: &Kit, source: &Source<'_>, faults: &mut Vec<LoadError>) {
    let finds = |tool: &Tool| tool.kinds().any(|kind| kind == "tools");
    let defers = kit.tools.iter().find(|(_, tool)| tool.defer && tool.on_wire());
    if let (Some((name, _)), true) = (defers, source.case == Case::default())
        && !kit.tools.iter().any(|(_, tool)| finds(tool))
    {
        let what = format!("`{name}` has `defer`, and no tool does `tools`, which would find it");
        faults.push(source.fault(File::Tools, &[name, "defer"], None, what));
    }
}

/// Takes keys below the tool, a word in the value, and what is wrong.
type Fault<'a> = dyn FnMut(&[&str], Option<&str>, String) + 'a;

fn kinds(name: &str, tool: &Tool, fault: &mut Fault<'_>) {
    let near = |kind: &str| near(kind, KINDS.into_iter());
    let unknown = |kind: &str| format!("`{name}` does `{kind}`, which tack cannot do{}", near(kind));
    if let Some(kind) = tool.does.as_deref().filter(|kind| !KINDS.contains(kind)) {
        fault(&["does"], None, unknown(kind));
    }
    for (word, variant) in tool.when.iter().filter(|(_, variant)| !KINDS.contains(&variant.does.as_str())) {
        fault(&["when", word, "does"], None, unknown(&variant.does));
    }
    if tool.kinds().next().is_none() || (tool.pick.is_some() == tool.when.is_empty()) {
        fault(&[], None, format!("`{name}` needs `does`, or `pick` together with `when`"));
    }
}

/// Parameters that are named elsewhere in the tool.
fn params(name: &str, tool: &Tool, fault: &mut Fault<'_>) {
    let mut named: Vec<(Vec<&str>, &str)> = Vec::new();
    for (word, variant) in tool.when.iter() {
        named.extend(variant.needs.iter().map(|param| (vec!["when", word, "needs"], param.as_str())));
        named.extend(variant.uses.iter().map(|param| (vec!["when", word, "uses"], param.as_str())));
        named
            .extend(variant.rename.keys().map(|param| (vec!["when", word, "rename", param], param.as_str())));
    }
    named.extend(tool.args.iter().map(|param| (vec!["args"], param.as_str())));
    named.extend(tool.example.keys().map(|param| (vec!["example", param], param.as_str())));
    let single = [("pick", &tool.pick), ("free", &tool.free), ("tokens", &tool.tokens)];
    named.extend(single.into_iter().filter_map(|(key, param)| Some((vec![key], param.as_deref()?))));
    for (keys, param) in named.into_iter().filter(|(_, param)| tool.params.find(param).is_none()) {
        let near = near(param, tool.params.names());
        let what = format!("`{name}` names the parameter `{param}`, which it does not have{near}");
        fault(&keys, Some(param), what);
    }
    if let Some(pick) = tool.pick.as_ref().and_then(|pick| tool.params.find(pick)) {
        for word in pick.choices.iter().filter(|word| tool.when.find(word).is_none()) {
            let what = format!("`{name}` offers `{word}` and has no `when` for it");
            fault(&["params", tool.pick.as_deref().unwrap_or_default(), "enum"], Some(word), what);
        }
    }
    for (param, facts) in tool.params.iter() {
        if facts.min.zip(facts.max).is_some_and(|(min, max)| min > max) {
            fault(&["params", param, "min"], None, format!("`min` of `{param}` is above its `max`"));
        }
    }
}

/// Names that a model, and the reader of its calls, cannot tell apart.
fn twins(kit: &Kit, source: &Source<'_>, faults: &mut Vec<LoadError>) {
    let plain = |name: &str| name.to_ascii_lowercase().replace('-', "_");
    let names: Vec<&str> = kit.tools.names().collect();
    for (at, name) in names.iter().enumerate() {
        if let Some(first) = names[..at].iter().find(|first| plain(first) == plain(name)) {
            let what = format!("the tools `{first}` and `{name}` have the same name but for case and dashes");
            faults.push(source.fault(File::Tools, &[name], None, what));
        }
    }
}

fn manifest(kit: &Kit, source: &Source<'_>, faults: &mut Vec<LoadError>) {
    let manifest = &kit.manifest;
    let mut fault = |keys: &[&str], word: Option<&str>, what: &str| {
        faults.push(source.fault(File::Manifest, keys, word, what.to_owned()));
    };
    if manifest.wire.allow.is_empty() {
        fault(&["wire", "allow"], None, "`wire.allow` names no wire; one of chat, responses, messages");
    }
    for (at, opening) in manifest.opening.iter().enumerate() {
        if opening.text.is_some() == opening.file.is_some() {
            fault(&["opening", &at.to_string()], None, "an `opening` has either `text` or `file`");
        }
    }
    for (at, only) in manifest.request.only.iter().enumerate() {
        // A field for every model is no mistake here.
        let wrong = |pattern: &String| globset::Glob::new(pattern).is_err() || pattern.trim().is_empty();
        for (key, patterns) in [("models", &only.models), ("providers", &only.providers)] {
            let keys = ["request", "only", &at.to_string(), key];
            for pattern in patterns.iter().filter(|pattern| wrong(pattern)) {
                fault(&keys, Some(pattern), &wrong_pattern(pattern).unwrap_or_default());
            }
        }
    }
    for (at, reminder) in manifest.reminder.iter().enumerate() {
        let when = &reminder.when;
        let since = !when.results_since.is_empty() && when.count > 0;
        if !since && when.every_user.is_none_or(|every| every == 0) {
            let what = "a reminder is never due: `when` needs `results_since` and `count`, or `every_user`";
            fault(&["reminder", &at.to_string(), "when"], None, what);
        }
    }
    let dialect = &manifest.dialect;
    let hands_in = |(_, tool): (&str, &Tool)| tool.does.as_deref() == Some("submit");
    match dialect.kind {
        DialectKind::Json if dialect.calls.is_none() => {
            let what = "a `dialect` of kind `json` needs `calls`, the field with the list of calls";
            fault(&["dialect", "kind"], None, what);
        }
        DialectKind::Json if dialect.done.is_some() && !kit.tools.iter().any(hands_in) => {
            let what = "a `dialect` of kind `json` needs a tool that does `submit`, which `done` calls";
            fault(&["dialect", "done"], None, what);
        }
        DialectKind::Json | DialectKind::Calls | DialectKind::Fenced | DialectKind::External => {}
    }
    // A class may drop a tool, and its reminder with it.
    if source.case != Case::default() {
        return;
    }
    let bare = manifest.dialect.bare.iter().map(|name| (vec!["dialect".to_owned(), "bare".to_owned()], name));
    let since = manifest.reminder.iter().enumerate().flat_map(|(at, reminder)| {
        let keys = ["reminder", &at.to_string(), "when", "results_since"].map(str::to_owned).to_vec();
        reminder.when.results_since.iter().map(move |name| (keys.clone(), name))
    });
    for (keys, name) in bare.chain(since).filter(|(_, name)| kit.tools.find(name).is_none()) {
        let near = near(name, kit.tools.names());
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        fault(&keys, None, &format!("names the tool `{name}`, which the harness does not have{near}"));
    }
}
