//! Listing sessions from the first and last lines of their files.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use super::load::{self, Header, Line};
use super::{Place, Sessions};
use crate::model::{Body, Item, Origin, SessionId};

/// What a list shows of a session.
#[derive(Clone, Debug, PartialEq)]
pub struct Summary {
    pub id: SessionId,
    pub cwd: String,
    pub created: Timestamp,
    /// When its last item was made.
    pub updated: Timestamp,
    /// The first prompt's first line, as typed; empty when there is none near the beginning.
    pub title: String,
    /// Prompts so far.
    pub turns: u32,
    /// The git branch it was begun on.
    pub branch: Option<String>,
    /// Who answered last, where that is near the end.
    pub origin: Option<Origin>,
}

/// The first prompt stands behind the scene, which may hold long instruction files.
const HEAD: u64 = 512 * 1024;
/// Enough for the last line of nearly every session; the rest is read whole.
const TAIL: u64 = 64 * 1024;

impl Sessions {
    /// All sessions, the one that was used last first. What cannot be read is left out.
    pub fn list(&self) -> Vec<Summary> {
        let mut all: Vec<Summary> = self.places().iter().filter_map(summary).collect();
        all.sort_by(|a, b| (b.updated, &b.id).cmp(&(a.updated, &a.id)));
        all
    }

    /// The session that was written last, of those started in `cwd` when one is given. One in which nothing
    /// was said yet only where there is no other.
    pub fn last(&self, cwd: Option<&Path>) -> Option<SessionId> {
        let wanted = cwd.map(|path| path.to_string_lossy().into_owned());
        let mut places: Vec<(SystemTime, Place)> = self
            .places()
            .into_iter()
            .filter_map(|place| Some((place.log.metadata().ok()?.modified().ok()?, place)))
            .collect();
        places.sort_by(|a, b| (b.0, &b.1.id).cmp(&(a.0, &a.1.id)));
        let here = |head: &Head| wanted.as_ref().is_none_or(|cwd| head.header.cwd == *cwd);
        let mut silent = None;
        for (_, place) in places {
            match head(&place).filter(here) {
                Some(Head { title: Some(_), .. }) => return Some(place.id),
                Some(_) => silent = silent.or(Some(place.id)),
                None => {}
            }
        }
        silent
    }

    /// Every log there is, by id.
    pub(super) fn places(&self) -> Vec<Place> {
        let months = entries(&self.root).into_iter().flat_map(|year| entries(&year));
        let mut places: Vec<Place> =
            months.flat_map(|month| entries(&month)).filter_map(|path| self.named(&path)).collect();
        places.sort_by(|a, b| a.id.cmp(&b.id));
        places
    }

    /// The place whose log is `path`, where `path` is one.
    fn named(&self, path: &Path) -> Option<Place> {
        let id = path.file_name()?.to_str()?.strip_suffix(".jsonl")?;
        self.place(&SessionId(id.to_owned())).ok().filter(|place| place.log == path)
    }
}

/// Names a few ids for a message.
pub(super) fn some(ids: &[SessionId]) -> String {
    let mut text = ids.iter().take(5).map(|id| id.0.as_str()).collect::<Vec<_>>().join(", ");
    if ids.len() > 5 {
        text.push_str(", …");
    }
    text
}

fn entries(dir: &Path) -> Vec<PathBuf> {
    fs::read_dir(dir).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path())).collect()
}

fn summary(place: &Place) -> Option<Summary> {
    let Head { header, title, branch } = head(place)?;
    let last = tail(place, TAIL).or_else(|| tail(place, u64::MAX));
    let (updated, turns, origin) = match last {
        Some((item, origin)) => (item.at, item.turn, origin),
        None => (header.created, 0, None),
    };
    Some(Summary {
        id: place.id.clone(),
        cwd: header.cwd,
        created: header.created,
        updated,
        title: title.unwrap_or_default(),
        turns,
        branch,
        origin,
    })
}

/// What the first lines tell.
struct Head {
    header: Header,
    title: Option<String>,
    branch: Option<String>,
}

fn head(place: &Place) -> Option<Head> {
    let file = File::open(&place.log).ok()?;
    let mut lines = BufReader::new(file.take(HEAD));
    let (mut header, mut branch) = (None, None);
    let mut title = None;
    let mut raw = Vec::new();
    while lines.read_until(b'\n', &mut raw).ok()? > 0 {
        match load::parse(&raw) {
            Line::Header(found) => header = header.or(Some(found)),
            Line::Item(item) => match item.body {
                Body::User(said) => {
                    title = Some(said.text.trim().lines().next().unwrap_or_default().to_owned());
                    break;
                }
                Body::Scene(scene) => branch = scene.git.map(|git| git.branch),
                Body::Assistant(_) | Body::Result(_) | Body::Note(_) | Body::Summary(_) | Body::Mark(_) => {}
            },
            Line::Unknown | Line::Damaged | Line::Empty => {}
        }
        raw.clear();
    }
    Some(Head { header: header.unwrap_or_else(|| Header::lost(&place.id)), title, branch })
}

/// The last whole item within the last `reach` bytes, and of whom the last answer there is.
fn tail(place: &Place, reach: u64) -> Option<(Item, Option<Origin>)> {
    let mut file = File::open(&place.log).ok()?;
    let start = file.metadata().ok()?.len().saturating_sub(reach);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    let mut items = bytes.split(|&b| b == b'\n').rev().filter_map(|raw| match load::parse(raw) {
        Line::Item(item) => Some(*item),
        Line::Header(_) | Line::Unknown | Line::Damaged | Line::Empty => None,
    });
    let last = items.next()?;
    let origin = |item: &Item| match &item.body {
        Body::Assistant(reply) => Some(reply.origin.clone()),
        _ => None,
    };
    let of = origin(&last).or_else(|| items.find_map(|item| origin(&item)));
    Some((last, of))
}
