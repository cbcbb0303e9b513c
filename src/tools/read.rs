//! Reading a file: a window of its lines, or an image. Streams, so that only the window is held.
//!
//! `data`: `path`, `kind` (`text`, `empty`, `image`, `binary`), `bytes`; for text also `from`, `to`,
//! `total` (null when the file is too long to be counted), `before` (lines above `from`), `more`,
//! `next` (the line to go on with), `next_column` (where the last line was cut and the call minds columns:
//! go on in it, after so many characters), `encoding`. Of a folder `kind` is `folder`, with `entries`
//! (`name`, `dir`), `from`, `to`, `total`, `more`, `next`. `text` is the bare window, without numbers or a word on
//! what is left out: manifests put that into words. Where lines are sent only once and these are still
//! before the model, `text` says that instead, and `again` is true.

mod page;

use std::fs::File;
use std::io::{self, Read as _, Seek as _};
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::change::FILE_MOST;
use super::text::{BOM, Text};
use super::walk::{self, Bound};
use super::{ToolCx, Toolbox, failed, list, lock, path, words};
use crate::model::{Image, Limits, Outcome, Read, State, hash, hex};
use crate::sandbox::Policy;
use crate::sandbox::files::{self, FileError};
use page::{Page, Pager, Window};

/// Servers refuse larger images.
const IMAGE_MOST: u64 = 5 * 1024 * 1024;
/// Enough to tell what a file is.
const SNIFF: usize = 8 * 1024;

pub(super) async fn run(toolbox: &Toolbox, cx: &ToolCx<'_>, ask: &Read) -> Outcome {
    let (raw, window) = (ask.path.as_str(), Window::from(ask));
    let target = match path::resolve(cx, raw) {
        Ok(target) => target,
        Err(refusal) => return refusal,
    };
    if let Some(most) = cx.guards.most.filter(|_| window.count.is_none())
        && let Some(refusal) = too_large(cx, raw, (&target, most))
    {
        return refusal;
    }
    let known = |line| {
        let real = files::resolve(cx.policy, &target).ok();
        real.is_some_and(|real| lock(&toolbox.seen).unseen(&real, &[(line, line)]).is_empty())
    };
    let window = window.around(cx.guards.window.map(|most| most.min(cx.limits.lines as u64)), known);
    let (limits, policy, bound) = (cx.limits.clone(), cx.policy.clone(), Bound::new(cx));
    match walk::blocking(cx, move || look(&policy, target, (window, &limits, &bound))).await {
        Ok(Ok(found)) => tell(toolbox, cx, (raw, window.asked), found),
        Ok(Err(error)) if ask.folders && path::is_folder(&error) => list::part(cx, ask),
        Ok(Err(error)) => path::fault(cx, raw, error),
        Err(refusal) => refusal,
    }
}

/// A text that is not shown, as nobody said which part of it is wanted.
fn too_large(cx: &ToolCx<'_>, raw: &str, (target, most): (&Path, u64)) -> Option<Outcome> {
    let mut opened = files::open(cx.policy, target).ok()?;
    let bytes = opened.file.metadata().ok().filter(|is| is.is_file() && is.len() > most)?.len();
    let mut head = Vec::new();
    (&mut opened.file).take(SNIFF as u64).read_to_end(&mut head).ok()?;
    if image_type(&head).is_some() {
        return None;
    }
    let text = format!(
        "{} has {bytes} bytes, more than the {most} that are shown at once; say which lines you want, or search it",
        path::show_str(raw)
    );
    let data = json!({ "error": "too_large", "path": raw, "bytes": bytes, "most": most });
    Some(Outcome { data, ..failed("too_large", text) })
}

/// The same where nothing but an image is wanted.
pub(super) async fn image(toolbox: &Toolbox, cx: &ToolCx<'_>, raw: &str) -> Outcome {
    let one = Read { path: raw.to_owned(), count: Some(1), ..Read::default() };
    let outcome = run(toolbox, cx, &one).await;
    if outcome.state != State::Ok || outcome.data["kind"] == "image" {
        return outcome;
    }
    let text =
        format!("{} is no PNG, JPEG, GIF or WebP image, so there is nothing to look at", path::show_str(raw));
    failed("no_image", text)
}

struct Found {
    real: PathBuf,
    bytes: u64,
    what: What,
}

enum What {
    Image { mime: &'static str, content: Vec<u8> },
    HugeImage { mime: &'static str },
    Binary,
    Text(Page),
}

fn look(
    policy: &Policy,
    target: PathBuf,
    (window, limits, bound): (Window, &Limits, &Bound),
) -> Result<Found, FileError> {
    let mut opened = files::open(policy, &target)?;
    let file = &mut opened.file;
    let io = |source| FileError::Io { path: target.clone(), source };
    let size = file.metadata().map_err(io)?;
    if size.is_dir() {
        return Err(FileError::WrongKind { path: target, what: "a folder" });
    }
    let size = size.len();
    let window = match window.last {
        Some(last) => window.at_end(count_lines(file, bound).map_err(io)?, last),
        None => window,
    };
    let mut pager = Pager::new(window, limits);
    let mut head = Vec::new();
    file.take(SNIFF as u64).read_to_end(&mut head).map_err(io)?;
    let what = if let Some(mime) = image_type(&head) {
        if size > IMAGE_MOST {
            What::HugeImage { mime }
        } else {
            file.take(IMAGE_MOST).read_to_end(&mut head).map_err(io)?;
            What::Image { mime, content: head }
        }
    } else if head.starts_with(b"\xFF\xFE") || head.starts_with(b"\xFE\xFF") {
        file.take(FILE_MOST).read_to_end(&mut head).map_err(io)?;
        match Text::decode(&head) {
            Some(text) => {
                pager.feed(&text.bytes);
                let page = pager.finish();
                What::Text(Page { hash: Some(hash(&head)), encoding: text.encoding, ..page })
            }
            None => What::Binary,
        }
    } else if head.contains(&0) {
        What::Binary
    } else {
        match stream(file, &head, (size, pager, bound)).map_err(io)? {
            Some(page) => What::Text(page),
            None => What::Binary,
        }
    };
    Ok(Found { real: opened.real, bytes: size, what })
}

/// How many lines the file has; it is at its start again after that.
fn count_lines(file: &mut File, bound: &Bound) -> io::Result<u64> {
    let (mut chunk, mut lines, mut open) = (vec![0; 64 * 1024], 0, false);
    loop {
        if bound.over() {
            return Err(too_slow());
        }
        match file.read(&mut chunk)? {
            0 => break,
            count => {
                lines += memchr::memchr_iter(b'\n', &chunk[..count]).count() as u64;
                open = chunk[count - 1] != b'\n';
            }
        }
    }
    file.rewind()?;
    Ok(lines + u64::from(open))
}

fn too_slow() -> io::Error {
    io::Error::new(io::ErrorKind::TimedOut, "reading took too long; cut the part out with a command")
}

/// Reads on after `head`. None: a NUL byte turned up.
fn stream(
    file: &mut File,
    head: &[u8],
    (size, mut pager, bound): (u64, Pager, &Bound),
) -> io::Result<Option<Page>> {
    let mut hasher = Sha256::new_with_prefix(head);
    pager.feed(head.strip_prefix(BOM).unwrap_or(head));
    let mut chunk = vec![0; 64 * 1024];
    loop {
        if size > FILE_MOST && pager.full {
            return Ok(Some(Page { total: None, hash: None, ..pager.finish() }));
        }
        if bound.over() {
            return Err(too_slow());
        }
        match file.read(&mut chunk)? {
            0 => break,
            count => {
                if chunk[..count].contains(&0) {
                    return Ok(None);
                }
                hasher.update(&chunk[..count]);
                pager.feed(&chunk[..count]);
            }
        }
    }
    Ok(Some(Page { hash: Some(hex(&hasher.finalize())), ..pager.finish() }))
}

/// The type of an image by its first bytes; None for what is none or is not sent to models.
pub fn image_type(head: &[u8]) -> Option<&'static str> {
    match head {
        [0x89, b'P', b'N', b'G', b'\r', b'\n', 0x1A, b'\n', ..] => Some("image/png"),
        [0xFF, 0xD8, 0xFF, ..] => Some("image/jpeg"),
        [b'G', b'I', b'F', b'8', b'7' | b'9', b'a', ..] => Some("image/gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("image/webp"),
        _ => None,
    }
}

fn tell(toolbox: &Toolbox, cx: &ToolCx<'_>, (raw, asked): (&str, u64), found: Found) -> Outcome {
    let shown = path::show_str(raw);
    let bytes = found.bytes;
    let data = |kind: &str| json!({ "path": raw, "kind": kind, "bytes": bytes });
    match found.what {
        What::Binary => {
            let text = format!("{shown} is a binary file of {bytes} bytes; it is not shown");
            Outcome { data: with(data("binary"), [("error", "binary".into())]), ..failed("binary", text) }
        }
        What::HugeImage { mime } => {
            let text = format!(
                "{shown} is {mime} of {bytes} bytes; images up to {} MiB can be shown",
                IMAGE_MOST >> 20
            );
            Outcome {
                data: with(data("image"), [("error", "too_large".into())]),
                ..failed("too_large", text)
            }
        }
        What::Image { mime, content } => match cx.blobs.keep(&content) {
            Ok(blob) => Outcome {
                images: vec![Image { mime: mime.into(), blob }],
                data: with(data("image"), [("mime", mime.into())]),
                ..Outcome::ok(format!("{shown}: {mime}, {bytes} bytes"))
            },
            Err(error) => {
                failed("io", format!("{shown}: the image could not be kept beside the session: {error}"))
            }
        },
        What::Text(page) => {
            let data = data("text");
            tell_page(toolbox, cx, (&shown, asked), (page, &found.real, data))
        }
    }
}

fn tell_page(
    toolbox: &Toolbox,
    cx: &ToolCx<'_>,
    (shown, asked): (&str, u64),
    (page, real, data): (Page, &Path, Value),
) -> Outcome {
    let extent = page.extent();
    let mut outcome = match page.total {
        Some(0) => {
            let data = with(data, [("kind", "empty".into())]);
            Outcome { data, ..Outcome::ok(format!("{shown} is empty")) }
        }
        Some(total) if asked > total => {
            let data = with(data, [("error", "past_end".into()), ("total", total.into())]);
            let lines = words::count(total, "line");
            let text = format!("{shown} has {lines}; line {asked} is past its end");
            return Outcome { data, ..failed("past_end", text) };
        }
        Some(_) | None => page.tell(data),
    };
    let Some(hash) = &page.hash else { return outcome };
    let mut record = lock(&toolbox.seen);
    let rows = (page.from, page.to());
    let once = cx.guards.once && page.total != Some(0);
    let again = once && record.has_sent(real, hash, rows);
    outcome.seen = vec![record.show(real, hash.clone(), &extent)];
    if again {
        outcome.text = page.again(shown);
        outcome.data["again"] = true.into();
    } else if once {
        record.send(real, hash, rows);
    }
    outcome
}

fn with<const N: usize>(mut data: Value, more: [(&str, Value); N]) -> Value {
    for (key, value) in more {
        data[key] = value;
    }
    data
}
