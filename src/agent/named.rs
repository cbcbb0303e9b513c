//! Files that a prompt names, shown ahead of it: a small model that has not seen a file rather makes up
//! what is in it than looks.

use serde_json::json;

use super::Agent;
use crate::harness::{Saying, named};
use crate::model::{Action, Body, CallId, Keep, Limits, NoteKind, Outcome, Read, State, ToolCall};
use crate::tools::ToolCx;

/// Files shown for one prompt.
const MOST: usize = 3;
/// Bytes of one file.
const BYTES: usize = 4000;

impl Agent {
    /// Adds a note for each short file that the text names and that has changed since it was shown.
    pub(super) async fn show_named(&mut self, text: &str) {
        let rules = self.harness.rules(&self.model);
        let Some(most) = rules.named else { return };
        let spill = self.session.spill_dir();
        let limits =
            Limits { bytes: BYTES, lines: usize::try_from(most).unwrap_or(usize::MAX), keep: Keep::Head };
        let mut shown = 0;
        for path in named(text) {
            if shown == MOST || !self.policy.cwd.join(&path).is_file() {
                continue;
            }
            let call = reading(&path, most);
            let outcome = {
                let under = self.under(&[]);
                let cx = ToolCx { limits: limits.clone(), ..self.tool_cx(&call, (&rules, &spill), &under) };
                self.toolbox.run(&call.action, &cx).await
            };
            if !is_short(&outcome, most) {
                continue;
            }
            let text = self.harness.say(&Saying::Shown { path: &path, text: &outcome.text });
            let known = |body: &Body| matches!(body, Body::Note(note) if note.text == text);
            if !self.items.iter().any(|item| known(&item.body)) {
                self.note(NoteKind::Shown, text).await;
                shown += 1;
            }
        }
    }
}

/// A call that no model made.
fn reading(path: &str, most: u64) -> ToolCall {
    let action = Action::Read(Read { path: path.to_owned(), count: Some(most), ..Read::default() });
    let args = json!({ "path": path }).to_string();
    let id = CallId(String::new());
    ToolCall { id, given: None, name: "read".to_owned(), args, action, span: None, recovered: false }
}

fn is_short(outcome: &Outcome, most: u64) -> bool {
    let lines = outcome.data["total"].as_u64();
    let whole = outcome.data["more"] != true && outcome.cut.is_none() && outcome.data["kind"] == "text";
    outcome.state == State::Ok && whole && lines.is_some_and(|lines| lines <= most && lines > 0)
}
