//! Taking back the session's last change of a file. Earlier bytes are kept in memory, bounded.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::seen::{Intent, Wrote};
use super::{ToolCx, Toolbox, change, failed, lock, path};
use crate::model::{Outcome, hash};
use crate::sandbox::files::{self, FileError};

/// All earlier contents together.
const MOST: usize = 32 * 1024 * 1024;

#[derive(Default)]
pub(super) struct History {
    steps: VecDeque<Step>,
    bytes: usize,
}

struct Step {
    path: PathBuf,
    /// None: there was no file.
    before: Option<Vec<u8>>,
    /// Hash after the change; empty when the change removed the file.
    after: String,
}

impl History {
    pub(super) fn push(&mut self, path: &Path, before: Option<&[u8]>, after: String) {
        self.bytes += before.map_or(0, <[u8]>::len);
        self.steps.push_back(Step { path: path.to_owned(), before: before.map(<[u8]>::to_vec), after });
        while self.bytes > MOST
            && let Some(oldest) = self.steps.pop_front()
        {
            self.bytes -= oldest.size();
        }
    }

    fn last(&self, path: &Path) -> Option<usize> {
        self.steps.iter().rposition(|step| step.path == path)
    }

    fn take(&mut self, at: usize) -> Option<Step> {
        let step = self.steps.remove(at)?;
        self.bytes -= step.size();
        Some(step)
    }
}

impl Step {
    fn size(&self) -> usize {
        self.before.as_ref().map_or(0, Vec::len)
    }
}

pub(super) fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str) -> Outcome {
    undo(toolbox, cx, raw).unwrap_or_else(|refusal| refusal)
}

fn undo(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str) -> Result<Outcome, Outcome> {
    let shown = path::show_str(raw);
    let loaded = change::load(cx, raw)?;
    let (real, now) = match &loaded {
        Some(loaded) => (loaded.real.clone(), hash(&loaded.raw)),
        None => (path::resolve(cx, raw)?, String::new()),
    };
    let step = {
        let mut history = lock(&toolbox.undo);
        let Some(at) = history.last(&real) else {
            return Err(failed(
                "nothing_to_undo",
                format!("{shown} has no change of this session to take back"),
            ));
        };
        if history.steps[at].after != now {
            let text =
                format!("{shown} was left as it is: it has changed since its last edit; read it again");
            return Err(failed("changed", text));
        }
        history.take(at)
    };
    let Some(step) = step else {
        return Err(failed("nothing_to_undo", format!("{shown} has no change to take back")));
    };
    let fault = |error: FileError| path::fault(cx, raw, error);
    let mut outcome = match &step.before {
        Some(bytes) => {
            files::replace(cx.policy, &real, bytes).map_err(fault)?;
            let before = loaded.as_ref().map(|loaded| loaded.raw.as_slice());
            let wrote = Wrote { before, after: bytes, intent: Intent::Change, carry: cx.guards.seen };
            let seen = lock(&toolbox.seen).wrote(&real, wrote);
            Outcome { seen: vec![seen], ..Outcome::ok(format!("took back the last change of {shown}")) }
        }
        None => {
            files::remove(cx.policy, &real).map_err(fault)?;
            lock(&toolbox.seen).forget(&real);
            Outcome::ok(format!("took back the making of {shown}: the file is gone again"))
        }
    };
    let before = loaded.as_ref().map(|loaded| loaded.raw.as_slice());
    toolbox.note_change(cx, &real, (before, step.before.as_deref()));
    outcome.data = json!({ "path": raw, "removed": step.before.is_none() });
    Ok(outcome)
}
