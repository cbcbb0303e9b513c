//! The way every tool changes a file: load it whole, see that nothing is overwritten unseen, put the
//! new bytes in its place, remember the old ones.

use std::io::Read;
use std::path::{Path, PathBuf};

use similar::TextDiff;

use super::guard::Parsed;
use super::seen::{Extent, Intent, Wrote};
use super::text::Text;
use super::{RETRY, ToolCx, Toolbox, failed, lock, path};
use crate::model::{Outcome, Seen, hash};
use crate::sandbox::files::{self, FileError};
use crate::sandbox::{Op, Verdict};

/// Larger files are not changed by these tools, and not read to their end.
pub(super) const FILE_MOST: u64 = 64 * 1024 * 1024;

/// Lines of both sides, and bytes of the difference, above which a change is not told as one.
const DIFF_MOST: (usize, usize) = (4_000, 16 * 1024);

/// A file as it is now.
pub(super) struct Loaded {
    /// As asked for, absolute.
    pub(super) path: PathBuf,
    /// Where it really is.
    pub(super) real: PathBuf,
    pub(super) raw: Vec<u8>,
}

/// The file `raw` names, or None where there is none.
pub(super) fn load(cx: &ToolCx<'_>, raw: &str) -> Result<Option<Loaded>, Outcome> {
    let path = path::resolve(cx, raw)?;
    let opened = match files::open(cx.policy, &path) {
        Ok(opened) => opened,
        Err(FileError::NotFound(_)) => return Ok(None),
        Err(error) => return Err(path::fault(cx, raw, error)),
    };
    let io = |source| path::fault(cx, raw, FileError::Io { path: path.clone(), source });
    let mut bytes = Vec::new();
    opened.file.take(FILE_MOST + 1).read_to_end(&mut bytes).map_err(io)?;
    if bytes.len() as u64 > FILE_MOST {
        let shown = path::show_str(raw);
        let text = format!("{shown} is larger than {} MiB; change it with a command", FILE_MOST >> 20);
        return Err(failed("too_large", text));
    }
    Ok(Some(Loaded { path, real: opened.real, raw: bytes }))
}

/// As [`load`], where a missing file is a failure.
pub(super) fn load_existing(cx: &ToolCx<'_>, raw: &str) -> Result<Loaded, Outcome> {
    match load(cx, raw)? {
        Some(loaded) => Ok(loaded),
        None => Err(path::fault(cx, raw, FileError::NotFound(path::resolve(cx, raw)?))),
    }
}

/// The text of a loaded file.
pub(super) fn decode(raw: &str, loaded: &Loaded) -> Result<Text, Outcome> {
    Text::decode(&loaded.raw).ok_or_else(|| {
        failed("binary", format!("{} is not a text file and was left as it is", path::show_str(raw)))
    })
}

/// New text in the file's own encoding.
pub(super) fn encode(raw: &str, text: &Text, bytes: &[u8]) -> Result<Vec<u8>, Outcome> {
    text.encode(bytes).map_err(|c| {
        let shown = path::show_str(raw);
        failed("encoding", format!("{shown} was left as it is: its encoding (Latin-1) has no {c:?}"))
    })
}

/// What a change did as a unified diff; None where nothing of it is text, or it is long.
pub(super) fn unified(raw: &str, before: &[u8], after: &[u8]) -> Option<String> {
    let (before, after) = (std::str::from_utf8(before).ok()?, std::str::from_utf8(after).ok()?);
    if before.lines().count() + after.lines().count() > DIFF_MOST.0 {
        return None;
    }
    let diff = TextDiff::from_lines(before, after);
    let diff = diff.unified_diff().context_radius(3).header(raw, raw).to_string();
    (diff.len() <= DIFF_MOST.1).then(|| diff.trim_end().to_owned())
}

/// Whether the policy lets `raw` be written, asked before several files are changed together. The
/// write itself asks again.
pub(super) fn writable(cx: &ToolCx<'_>, raw: &str) -> Result<(), Outcome> {
    let path = path::resolve(cx, raw)?;
    let real = path.ancestors().find_map(|above| {
        let real = files::resolve(cx.policy, above).ok()?;
        let below = path.strip_prefix(above).ok()?;
        Some(if below.as_os_str().is_empty() { real } else { real.join(below) })
    });
    match cx.policy.explain(real.as_deref().unwrap_or(&path), Op::Write) {
        Verdict::Allowed => Ok(()),
        Verdict::Denied(rule) => Err(path::fault(cx, raw, FileError::Denied { path, rule })),
    }
}

impl Toolbox {
    /// Whether the loaded file may be changed in this way now.
    pub(super) fn allow(&self, cx: &ToolCx<'_>, loaded: &Loaded, intent: Intent) -> Result<(), Outcome> {
        let hash = hash(&loaded.raw);
        match lock(&self.seen).object(&loaded.real, &hash, (intent, cx.needs_read)) {
            None => Ok(()),
            Some(objection) => {
                Err(failed(objection.word(), objection.say(&path::short(cx.cwd, &loaded.path))))
            }
        }
    }

    /// Whether new text may go into a file of this content. A file that somebody else changed is held
    /// back once: a model that cannot read with a tool looks at it in its own way and sends it again.
    pub(super) fn allow_rewrite(&self, cx: &ToolCx<'_>, loaded: &Loaded) -> Result<(), Outcome> {
        let mut record = lock(&self.seen);
        match record.object(&loaded.real, &hash(&loaded.raw), (Intent::Change, false)) {
            None => Ok(()),
            Some(objection) => {
                record.forget(&loaded.real);
                let text = objection.say(&path::short(cx.cwd, &loaded.path));
                let data = serde_json::json!({ "error": objection.word(), RETRY: true });
                Err(Outcome { data, ..Outcome::failed(text) })
            }
        }
    }

    /// Puts `after` in place of the file; `before` is what was there. Nothing is stored that was not
    /// [cleared](Self::clear).
    pub(super) fn store(
        &self,
        cx: &ToolCx<'_>,
        target: &Path,
        (change, _cleared): (&Change<'_>, &Parsed),
    ) -> Result<Stored, FileError> {
        let Change { before, after, intent } = *change;
        let written = files::replace(cx.policy, target, after)?;
        lock(&self.refusals).made(&written.real);
        let wrote = Wrote { before, after, intent, carry: cx.guards.seen };
        let seen = lock(&self.seen).wrote(&written.real, wrote);
        lock(&self.undo).push(&written.real, before, seen.hash.clone());
        self.note_change(cx, &written.real, (before, Some(after)));
        Ok(Stored { real: written.real, created: written.created, seen })
    }

    /// Removes the file, remembering what it held.
    pub(super) fn delete(&self, cx: &ToolCx<'_>, loaded: &Loaded) -> Result<(), FileError> {
        let real = files::remove(cx.policy, &loaded.path)?;
        lock(&self.undo).push(&real, Some(&loaded.raw), String::new());
        self.note_change(cx, &real, (Some(&loaded.raw), None));
        lock(&self.seen).forget(&real);
        Ok(())
    }

    /// The result of a change shows these lines of what was written.
    pub(super) fn shows(&self, cx: &ToolCx<'_>, stored: Stored, extent: &Extent) -> Seen {
        match cx.guards.seen {
            true => lock(&self.seen).show(&stored.real, stored.seen.hash, extent),
            false => stored.seen,
        }
    }
}

/// A change that was made.
pub(super) struct Stored {
    pub(super) real: PathBuf,
    pub(super) created: bool,
    pub(super) seen: Seen,
}

pub(super) struct Change<'a> {
    pub(super) before: Option<&'a [u8]>,
    pub(super) after: &'a [u8],
    pub(super) intent: Intent,
}
