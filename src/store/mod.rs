//! The store: sessions on disk, one append-only file each.
//!
//! ```text
//! <data>/sessions/2026/11/<id>.jsonl   header line, then one line per item
//!                        <id>.lock     there while a tack has it open; holds its process id
//!                        <id>/         blobs by their SHA-256, and spill/ for long output
//! ```
//!
//! Year and month (UTC) come from the id, so a session is found without a search. Files are for
//! the owner alone. Owns the format and its repair; knows nothing of models, tools or settings.
//!
//! What it promises: a `kill -9` at any byte costs at most the item being written; a damaged line
//! costs that line; a full disk costs the recording, not the run; two processes never write one file.

mod blobs;
mod list;
mod load;
mod lock;
mod private;
mod session;

use std::io;
use std::path::{Path, PathBuf};

pub use blobs::BlobStore;
pub use list::Summary;
pub use load::{Header, Loaded, unanswered};
pub use session::Session;

use crate::model::SessionId;
use lock::Lock;

/// Why a session cannot be had or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("there is no session {0}; `tack sessions list` shows those there are")]
    NotFound(String),
    #[error("several sessions begin with {prefix}: {}; give more of the id", list::some(ids))]
    Ambiguous { prefix: String, ids: Vec<SessionId> },
    /// The process that has it open, where that could be read.
    #[error("session {id} is open in {}; end that one first or start a new session", lock::holder(*pid))]
    Busy { id: SessionId, pid: Option<u32> },
    /// Said once; the session goes on in memory and is caught up when writing works again.
    #[error("this session is not being recorded: cannot write {}: {source}", path.display())]
    NotRecorded { path: PathBuf, source: io::Error },
    #[error("cannot {doing} {}: {source}", path.display())]
    Io { doing: &'static str, path: PathBuf, source: io::Error },
}

/// All sessions below one folder.
#[derive(Clone, Debug)]
pub struct Sessions {
    root: PathBuf,
}

/// Where one session's files are.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    id: SessionId,
    /// The log; its siblings share its stem.
    log: PathBuf,
}

impl Place {
    fn lock(&self) -> PathBuf {
        self.log.with_extension("lock")
    }

    fn folder(&self) -> PathBuf {
        self.log.with_extension("")
    }
}

impl Sessions {
    /// `root` need not exist; it is made by the first session that has something to say.
    pub fn new(root: PathBuf) -> Self {
        Self { root }
    }

    /// A new session that ran in `cwd`. Nothing is written before its first item.
    pub fn create(&self, cwd: &Path) -> Session {
        let id = SessionId::new();
        let log = self.dir_of(&id).unwrap_or_else(|| self.root.clone()).join(format!("{id}.jsonl"));
        Session::fresh(Place { id, log }, cwd)
    }

    /// Opens a session to go on with it, and keeps other processes out until it is dropped.
    pub fn open(&self, id: &SessionId) -> Result<(Session, Loaded), StoreError> {
        Session::open(self.place(id)?)
    }

    /// What a session holds, without opening it: for showing and exporting.
    pub fn read(&self, id: &SessionId) -> Result<Loaded, StoreError> {
        let place = self.place(id)?;
        let bytes = std::fs::read(&place.log).map_err(|e| fault("read", &place.log, e))?;
        Ok(load::load(&place.id, &bytes))
    }

    /// A log that lies anywhere, such as a bench's.
    pub fn read_file(log: &Path) -> Result<Loaded, StoreError> {
        let bytes = std::fs::read(log).map_err(|e| fault("read", log, e))?;
        let id = log.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        Ok(load::load(&SessionId(id), &bytes))
    }

    /// Removes a session and all that belongs to it, unless it is open somewhere.
    pub fn remove(&self, id: &SessionId) -> Result<(), StoreError> {
        let place = self.place(id)?;
        let _lock = Lock::take(&place)?;
        // The log goes last: a removal that was cut short can be repeated.
        match std::fs::remove_dir_all(place.folder()) {
            Err(e) if e.kind() != io::ErrorKind::NotFound => Err(fault("remove", &place.folder(), e)),
            Ok(()) | Err(_) => std::fs::remove_file(&place.log).map_err(|e| fault("remove", &place.log, e)),
        }
    }

    /// The session whose id is `prefix` or is the only one that begins with it.
    pub fn find(&self, prefix: &str) -> Result<SessionId, StoreError> {
        let prefix = prefix.trim().to_ascii_lowercase();
        let mut ids: Vec<SessionId> =
            self.places().into_iter().map(|p| p.id).filter(|id| id.0.starts_with(&prefix)).collect();
        match ids.len() {
            1 if !prefix.is_empty() => Ok(ids.remove(0)),
            0 | 1 => Err(StoreError::NotFound(prefix)),
            _ => Err(StoreError::Ambiguous { prefix, ids }),
        }
    }

    /// The folder a session of this id lives in; None when the id holds no time.
    fn dir_of(&self, id: &SessionId) -> Option<PathBuf> {
        let (seconds, _) = uuid::Uuid::parse_str(&id.0).ok()?.get_timestamp()?.to_unix();
        let made = jiff::Timestamp::from_second(i64::try_from(seconds).ok()?).ok()?;
        Some(self.root.join(made.strftime("%Y").to_string()).join(made.strftime("%m").to_string()))
    }

    fn place(&self, id: &SessionId) -> Result<Place, StoreError> {
        // Through the parsed form: an id that came from outside must not walk the file system.
        let known = uuid::Uuid::parse_str(&id.0).map(|u| SessionId(u.to_string()));
        let id = known.map_err(|_| StoreError::NotFound(id.0.clone()))?;
        if let Some(dir) = self.dir_of(&id) {
            let log = dir.join(format!("{id}.jsonl"));
            if log.is_file() {
                return Ok(Place { id, log });
            }
        }
        Err(StoreError::NotFound(id.0))
    }
}

fn fault(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
    StoreError::Io { doing, path: path.to_path_buf(), source }
}

/// Puts `bytes` in place of a file that only its owner may read, as a whole. Makes missing folders.
pub fn keep_private(file: &Path, bytes: &[u8]) -> std::io::Result<()> {
    if let Some(folder) = file.parent() {
        private::make_dir(folder)?;
    }
    let part = file.with_extension(format!("{}.part", std::process::id()));
    let written = private::make_new(&part).and_then(|mut made| std::io::Write::write_all(&mut made, bytes));
    written.and_then(|()| std::fs::rename(&part, file)).inspect_err(|_| drop(std::fs::remove_file(&part)))
}
