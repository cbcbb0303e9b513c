//! Listing sessions from the first and last lines of their files.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use jiff::Timestamp;

use super::load::{self, Header, Line};
use super::{Place, Sessions};
use crate::model::{Body, Item, SessionId};

/// What a list shows of a session.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// The session that was written last, of those started in `cwd` when one is given.
    pub fn last(&self, cwd: Option<&Path>) -> Option<SessionId> {
        let wanted = cwd.map(|path| path.to_string_lossy().into_owned());
        let mut places: Vec<(SystemTime, Place)> = self
            .places()
            .into_iter()
            .filter_map(|place| Some((place.log.metadata().ok()?.modified().ok()?, place)))
            .collect();
        places.sort_by(|a, b| (b.0, &b.1.id).cmp(&(a.0, &a.1.id)));
        let here = |place: &Place| match &wanted {
            Some(cwd) => head(place).is_some_and(|(header, _)| header.cwd == *cwd),
            None => true,
        };
        places.into_iter().map(|(_, place)| place).find(here).map(|place| place.id)
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
    let (header, title) = head(place)?;
    let last = tail(place, TAIL).or_else(|| tail(place, u64::MAX));
    let (updated, turns) = last.map_or((header.created, 0), |item| (item.at, item.turn));
    Some(Summary {
        id: place.id.clone(),
        cwd: header.cwd,
        created: header.created,
        updated,
        title: title.unwrap_or_default(),
        turns,
    })
}

/// The header and the title, from the first lines.
fn head(place: &Place) -> Option<(Header, Option<String>)> {
    let file = File::open(&place.log).ok()?;
    let mut lines = BufReader::new(file.take(HEAD));
    let mut header = None;
    let mut raw = Vec::new();
    while lines.read_until(b'\n', &mut raw).ok()? > 0 {
        match load::parse(&raw) {
            Line::Header(found) => header = header.or(Some(found)),
            Line::Item(item) => {
                if let Some(title) = title(&item) {
                    return Some((header.unwrap_or_else(|| Header::lost(&place.id)), Some(title)));
                }
            }
            Line::Unknown | Line::Damaged | Line::Empty => {}
        }
        raw.clear();
    }
    Some((header.unwrap_or_else(|| Header::lost(&place.id)), None))
}

fn title(item: &Item) -> Option<String> {
    let Body::User(said) = &item.body else { return None };
    Some(said.text.trim().lines().next().unwrap_or_default().to_owned())
}

/// The last whole item within the last `reach` bytes.
fn tail(place: &Place, reach: u64) -> Option<Item> {
    let mut file = File::open(&place.log).ok()?;
    let start = file.metadata().ok()?.len().saturating_sub(reach);
    file.seek(SeekFrom::Start(start)).ok()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    bytes.split(|&b| b == b'\n').rev().find_map(|raw| match load::parse(raw) {
        Line::Item(item) => Some(*item),
        Line::Header(_) | Line::Unknown | Line::Damaged | Line::Empty => None,
    })
}
