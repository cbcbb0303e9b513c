//! Whether every text can be filled in: prompts in a rich and in a bare scene, results with what each
//! action may come to.

use std::sync::Arc;

use regex::Regex;

use crate::harness::files::COMMON;
use crate::harness::kit::{
    Kit, SAYING, WRAP, absent_name, bad_call_name, error_name, opening_name, result_name, status_name,
    wrap_name,
};
use crate::harness::layers::near;
use crate::harness::load::LoadError;
use crate::harness::template::Values;
use crate::harness::tool::Tool;
use crate::harness::{Blobs, NoPrograms, View, dialect, sample, tell};
use crate::model::{Action, BlobId, CallId, Class, Model, Outcome, Scene, ToolCall, WireKind};

use super::super::bind;
use super::bindings::{Form, arguments, forms};
use super::outcomes::outcomes;

pub(super) fn check(kit: &Kit, faults: &mut Vec<LoadError>) {
    files(kit, faults);
    let [rich, bare] = scenes().map(|(scene, model)| in_scene(kit, &scene, &model));
    let is_told = |fault: &LoadError| rich.iter().any(|told| told.to_string() == fault.to_string());
    let only = bare.into_iter().filter(|fault| !is_told(fault));
    let only: Vec<LoadError> =
        only.map(|fault| with(fault, "in a folder without git and AGENTS.md")).collect();
    faults.extend(rich);
    faults.extend(only);
}

fn in_scene(kit: &Kit, scene: &Scene, model: &Model) -> Vec<LoadError> {
    let mut faults = Vec::new();
    let (blobs, wire) = (&NoImages, WireKind::Chat);
    let programs = &NoPrograms;
    let view = View { items: &[], scene, model, wire, blobs, programs, drop_images: false };
    let values = kit.values(&view).with("text", "Make it polite.").with("kind", "reminder");
    prompts(kit, &values, &mut faults);
    sayings(kit, &said(kit, values), &mut faults);
    for (name, tool) in kit.tools.iter() {
        for form in forms(tool) {
            results(kit, (name, tool, form), &view, &mut faults);
        }
    }
    faults
}

/// A scene where all is known, and one where nothing is.
fn scenes() -> [(Scene, Model); 2] {
    let rich = (sample::scene(), sample::model());
    let bare = Scene {
        git: None,
        listing: Vec::new(),
        instructions: Vec::new(),
        sandbox: "read-only".to_owned(),
        network: true,
        reduced: Some("no sandbox here".to_owned()),
        unattended: true,
        ..sample::scene()
    };
    [rich, (bare, Model { class: Class::S, local: true, ..sample::model() })]
}

/// Values for all that a text about a call, a result or the loop may name.
fn said(kit: &Kit, values: Values) -> Values {
    let shows_form = dialect::shows_form(kit);
    let lists = ["names", "closest", "missing"];
    let numbers = ["times", "left", "count", "found", "exit"];
    let message = serde_json::json!({ "role": "user", "name": null, "text": "Make it polite." });
    let out = outcomes(&Action::Submit { text: String::new() }).into_iter().next();
    SAYING.iter().copied().fold(values, |values, name| match name {
        name if lists.contains(&name) => values.with(name, ["read", "edit"]),
        name if numbers.contains(&name) => values.with(name, 3),
        "before" => values.with(name, true),
        "example" if !shows_form => values,
        "problems" | "extra" => values.with(name, ["one", "two"]),
        "messages" => values.with(name, [&message]),
        "out" => values.with(name, &out),
        "action" => values.with(name, Action::Submit { text: String::new() }),
        name => values.with(name, "some text"),
    })
}

fn prompts(kit: &Kit, values: &Values, faults: &mut Vec<LoadError>) {
    let m = &kit.manifest;
    let named = m.system.blocks.iter().chain(&m.system.append).cloned();
    let named = named.chain(m.opening.iter().filter_map(|o| o.file.clone()));
    let named = named.chain((0..m.opening.len()).map(opening_name)).chain([WRAP.to_owned()]);
    let named = named.chain(m.reminder.iter().map(|r| r.file.clone()));
    let named = named.chain((0..m.reminder.len()).map(wrap_name)).chain(m.absent.names().map(absent_name));
    let named = named.chain(m.user.more.iter().map(|more| more.file.clone()));
    let named = named.chain(m.user.first.clone()).chain(m.user.each.clone());
    for name in named.filter(|name| kit.texts.has(name)) {
        faults.extend(kit.texts.fault(&name, values));
    }
}

fn sayings(kit: &Kit, values: &Values, faults: &mut Vec<LoadError>) {
    let m = &kit.manifest;
    let named = m
        .turn
        .retry
        .iter()
        .chain(&m.submit.confirm)
        .chain(&m.dialect.frame)
        .chain(m.compact.files().map(|(_, file)| file))
        .cloned();
    // What a tool answers is tried with outcomes.
    let errors = m.errors.iter().filter(|(name, text)| text.is_some() && *name != "result");
    let errors = errors.filter(|(name, _)| !["refused", "interrupted", "blocked"].contains(name));
    // Of the texts that all share, the user's own. Those of facts, masks and searches know other things.
    let other = ["facts.md", "masked.md", "found.md", "result.md", "blocked.md"]
        .map(|name| format!("{COMMON}/{name}"));
    let common = kit.texts.names().filter(|(_, origin)| !origin.file.starts_with("built-in "));
    let common = common.map(|(name, _)| name);
    let common = common.filter(|name| name.starts_with(COMMON) && !other.iter().any(|other| other == name));
    let named = named.chain(m.messages.bad_calls().map(|(which, _)| bad_call_name(which)));
    let named = named.chain(common.map(str::to_owned)).chain(errors.map(|(name, _)| error_name(name)));
    for name in named.filter(|name| kit.texts.has(name)) {
        faults.extend(kit.texts.fault(&name, values));
    }
}

fn results(
    kit: &Kit,
    (name, tool, form): (&str, &Tool, Form<'_>),
    view: &View<'_>,
    faults: &mut Vec<LoadError>,
) {
    let args = arguments(tool, form, true);
    let Ok(action) = bind::meaning(kit, (name, tool), &args) else { return };
    let args = serde_json::Value::Object(args).to_string();
    let (id, name) = (CallId("sample".to_owned()), name.to_owned());
    let call = ToolCall { id, given: None, name, args, action, span: None, recovered: false };
    let own = [result_name(&call.name), error_name("result")];
    let answer = own.iter().find(|name| kit.texts.has(name)).cloned();
    let status = Some(status_name(&call.name)).filter(|name| kit.texts.has(name));
    for template in answer.iter().chain(&status) {
        // One is enough to find the place.
        let wrong = outcomes(&call.action).into_iter().find_map(|outcome| {
            let values = tell::values(kit, &call, &outcome, view);
            Some(after(kit.texts.fault(template, &values)?, &outcome))
        });
        faults.extend(wrong);
    }
}

/// Says what for.
fn after(fault: LoadError, outcome: &Outcome) -> LoadError {
    let state = serde_json::to_value(outcome.state).unwrap_or_default();
    let text = outcome.text.lines().next().unwrap_or_default();
    with(fault, &format!("for an outcome that is {}: {text:?}", state.as_str().unwrap_or_default()))
}

fn with(fault: LoadError, when: &str) -> LoadError {
    match fault {
        LoadError::Broken { file, line, what } => {
            LoadError::Broken { file, line, what: format!("{what} ({when})") }
        }
        fault @ (LoadError::Unknown { .. } | LoadError::Untrusted { .. }) => fault,
    }
}

/// `file("…")` of a file that is not there, also where no sample comes by.
fn files(kit: &Kit, faults: &mut Vec<LoadError>) {
    let named = Regex::new(r#"\bfile\(\s*['"]([^'"]*)['"]"#).expect("the pattern is fixed");
    for (text, origin) in kit.texts.sources() {
        for found in named.captures_iter(text) {
            let (name, at) = (&found[1], found.get(1).map_or(0, |found| found.start()));
            if !kit.files.contains_key(name) {
                let near = near(name, kit.files.keys().map(String::as_str));
                let what =
                    format!("the template names the file `{name}`, which the harness does not have{near}");
                let line = crate::harness::place::line(text, at);
                faults.push(origin.broken(Some(line), what));
            }
        }
    }
}

impl Kit {
    /// Whether a table or a text names this file.
    pub(in crate::harness) fn uses(&self, name: &str) -> bool {
        let grammars = self.tools.iter().filter_map(|(_, tool)| tool.grammar.as_ref());
        let quoted = [format!("\"{name}\""), format!("'{name}'")];
        self.texts.has(name)
            || grammars.into_iter().any(|grammar| grammar.file == name)
            || self
                .texts
                .sources()
                .any(|(text, _)| quoted.iter().any(|quoted| text.contains(quoted.as_str())))
    }
}

struct NoImages;

impl Blobs for NoImages {
    fn base64(&self, _: &BlobId) -> Option<Arc<str>> {
        None
    }
}
