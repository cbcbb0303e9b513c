//! The protocol's items of calls: what one looks like when it begins and once it has ended. Pure.

use std::path::Path;

use serde_json::{Value, json};

use crate::model::{Action, Outcome, State, ToolCall, WriteMode};
use crate::tools;

/// The item of a call that begins; None for calls the protocol has no item for. `makes_file`: the
/// file it names is not there yet.
pub(super) fn started(call: &ToolCall, makes_file: bool, cwd: &Path) -> Option<Value> {
    if let Action::Shell { command, .. } = &call.action {
        return Some(json!({
            "type": "command_execution", "command": command_line(command),
            "aggregated_output": "", "exit_code": null, "status": "in_progress",
        }));
    }
    let changes = intended(&call.action, makes_file, cwd)?;
    Some(json!({ "type": "file_change", "changes": changes, "status": "in_progress" }))
}

/// The same item once its outcome is known. `begun` is what [`started`] gave.
pub(super) fn ended(call: &ToolCall, begun: &Value, outcome: &Outcome, cwd: &Path) -> Value {
    let status = if outcome.state == State::Ok { "completed" } else { "failed" };
    if let Action::Shell { command, .. } = &call.action {
        let status = match (outcome.state, outcome.exit) {
            (State::Refused, _) => "declined",
            (_, Some(code)) if code != 0 => "failed",
            _ => status,
        };
        return json!({
            "type": "command_execution", "command": command_line(command),
            "aggregated_output": outcome.text, "exit_code": outcome.exit, "status": status,
        });
    }
    // What was not done is still what was tried.
    let changes = match outcome.state {
        State::Ok => done(&call.action, outcome, cwd).unwrap_or_else(|| begun["changes"].clone()),
        State::Failed | State::Refused | State::TimedOut | State::Interrupted => begun["changes"].clone(),
    };
    json!({ "type": "file_change", "changes": changes, "status": status })
}

/// What a call is about to change, by its own words; None when it changes no file.
fn intended(action: &Action, makes_file: bool, cwd: &Path) -> Option<Value> {
    let kind = if makes_file { "add" } else { "update" };
    let one = |path: &str, kind| json!([{ "path": full(cwd, path), "kind": kind }]);
    match action {
        Action::Write { path, mode: WriteMode::Create, .. } => Some(one(path, "add")),
        Action::Write { path, mode: WriteMode::Replace | WriteMode::Append, .. } => Some(one(path, kind)),
        Action::Rewrite { path, .. }
        | Action::Edit { path, .. }
        | Action::Insert { path, .. }
        | Action::Notebook { path, .. }
        | Action::Undo { path } => Some(one(path, kind)),
        Action::Patch { text, cwd: folder } => {
            let files = tools::patch_files(text);
            let cwd = cwd.join(folder.as_deref().unwrap_or_default());
            let change = |(path, kind): &(String, &str)| json!({ "path": full(&cwd, path), "kind": kind });
            Some(files.iter().map(change).collect())
        }
        Action::Diff { text, files, path, .. } => {
            let files = tools::diff_files(text, files, path.as_deref());
            let change = |(path, kind): &(String, &str)| json!({ "path": full(cwd, path), "kind": kind });
            Some(files.iter().map(change).collect())
        }
        Action::Shell { .. }
        | Action::Job { .. }
        | Action::Read(_)
        | Action::Glob(_)
        | Action::Grep(_)
        | Action::Find { .. }
        | Action::List { .. }
        | Action::Todo { .. }
        | Action::Tasks { .. }
        | Action::Keys { .. }
        | Action::Fetch { .. }
        | Action::Script { .. }
        | Action::Tools { .. }
        | Action::Submit { .. }
        | Action::Unknown { .. } => None,
    }
}

/// What changed, by the facts that the file tools leave in `data`.
fn done(action: &Action, outcome: &Outcome, cwd: &Path) -> Option<Value> {
    let data = &outcome.data;
    let place = |path: &Value| full(cwd, path.as_str().unwrap_or_default());
    if let Action::Patch { .. } | Action::Diff { .. } = action {
        let files = data["files"].as_array()?;
        let changes = files.iter().map(|file| {
            let kind = match file["kind"].as_str() {
                Some("add") => "add",
                Some("delete") => "delete",
                _ => "update",
            };
            json!({ "path": place(&file["path"]), "kind": kind })
        });
        return Some(changes.collect());
    }
    if !data["path"].is_string() {
        return None;
    }
    let kind = match () {
        () if data["created"] == true => "add",
        () if data["removed"] == true => "delete",
        () => "update",
    };
    Some(json!([{ "path": place(&data["path"]), "kind": kind }]))
}

/// What of a path is no UTF-8 has no place in JSON.
fn full(cwd: &Path, path: &str) -> String {
    cwd.join(path).to_string_lossy().into_owned()
}

/// The full line as it is run.
fn command_line(command: &str) -> String {
    let quoted = shlex::try_quote(command).map_or_else(|_| command.to_owned(), std::borrow::Cow::into_owned);
    format!("bash -c {quoted}")
}
