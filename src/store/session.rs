//! A session that is being written.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;

use super::load::{self, Header, Loaded, VERSION};
use super::lock::Lock;
use super::{BlobStore, Place, StoreError, fault, private};
use crate::model::{Item, SessionId};

/// One session, open for appending. Other processes are kept out until it is dropped.
#[derive(Debug)]
pub struct Session {
    id: SessionId,
    blobs: Arc<BlobStore>,
    record: Record,
}

/// What happens to what is appended.
#[derive(Debug)]
enum Record {
    /// Nothing; the folder is removed at the end.
    Nowhere,
    Log(Log),
}

/// The file and what is not in it yet.
#[derive(Debug)]
struct Log {
    place: Place,
    /// Opened by the first write, so that a session without items leaves nothing behind.
    open: Option<Open>,
    /// The file's length when it was read; 0 for a new one.
    length: u64,
    /// Its length up to the last whole line.
    good: u64,
    /// Whole lines that are still to be written: the header at first, later what a full disk refused.
    pending: Vec<u8>,
    /// The failure was reported; the next one need not be.
    told: bool,
}

#[derive(Debug)]
struct Open {
    file: Arc<File>,
    _lock: Lock,
}

/// A line of the log: a version, then the fields of what it holds.
#[derive(Serialize)]
struct Line<'a, T> {
    v: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    is: Option<&'static str>,
    #[serde(flatten)]
    holds: &'a T,
}

impl Session {
    pub(super) fn fresh(place: Place, cwd: &Path) -> Self {
        let header = header_line(&Header {
            id: place.id.clone(),
            cwd: cwd.to_string_lossy().into_owned(),
            created: jiff::Timestamp::now(),
            tack: env!("CARGO_PKG_VERSION").to_owned(),
        });
        let blobs = Arc::new(BlobStore::new(place.folder()));
        let id = place.id.clone();
        let log = Log { place, open: None, length: 0, good: 0, pending: header, told: false };
        Self { id, blobs, record: Record::Log(log) }
    }

    /// A session that leaves nothing behind: no log, and its folder is removed at the end.
    pub fn ephemeral() -> Self {
        let id = SessionId::new();
        let folder = std::env::temp_dir().join(format!("tack-{id}"));
        // Made now, so that it is ours alone whoever writes into it first. Should that fail, so
        // will the writing, and that is where it is said.
        let _ = private::make_new_dir(&folder);
        Self { id, blobs: Arc::new(BlobStore::new(folder)), record: Record::Nowhere }
    }

    pub(super) fn open(place: Place) -> Result<(Self, Loaded), StoreError> {
        let lock = match Lock::take(&place) {
            Err(busy @ StoreError::Busy { .. }) => return Err(busy),
            other => other,
        };
        let bytes = fs::read(&place.log).map_err(|e| fault("read", &place.log, e))?;
        let mut loaded = load::load(&place.id, &bytes);
        let mut log = Log::found(place, &loaded, bytes.len() as u64);
        // What cannot be written to can still be read and gone on with.
        if let Err(e) = lock.map_err(io::Error::other).and_then(|lock| log.start(lock)) {
            loaded.warnings.extend(log.report(Err(e)).err().map(|told| told.to_string()));
        }
        let blobs = Arc::new(BlobStore::new(log.place.folder()));
        Ok((Self { id: log.place.id.clone(), blobs, record: Record::Log(log) }, loaded))
    }

    pub fn id(&self) -> &SessionId {
        &self.id
    }

    /// Writes one item. An error is told once and is no reason to stop: what could not be written
    /// is kept and tried again with the next item.
    pub fn append(&mut self, item: &Item) -> Result<(), StoreError> {
        let Record::Log(log) = &mut self.record else { return Ok(()) };
        encode(&mut log.pending, &Line { v: VERSION, is: None, holds: item });
        let written = log.write().and_then(|()| self.blobs.catch_up());
        log.report(written)
    }

    /// A step that brings what was appended to the disk itself. It takes milliseconds: run it where
    /// blocking is allowed.
    pub fn settle(&self) -> impl FnOnce() -> io::Result<()> + Send + 'static {
        let file = match &self.record {
            Record::Log(log) => log.open.as_ref().map(|open| open.file.clone()),
            Record::Nowhere => None,
        };
        move || file.map_or(Ok(()), |file| file.sync_data())
    }

    /// All that was appended can be read back later, so it may be offered to resume this session.
    pub fn recording(&self) -> bool {
        match &self.record {
            // Somebody may have cleared the folder away meanwhile.
            Record::Log(log) => {
                log.open.is_some()
                    && log.pending.is_empty()
                    && !self.blobs.unwritten()
                    && log.place.log.exists()
            }
            Record::Nowhere => false,
        }
    }

    /// The file it is written to; None when it is kept nowhere.
    pub fn log(&self) -> Option<&Path> {
        match &self.record {
            Record::Log(log) => Some(&log.place.log),
            Record::Nowhere => None,
        }
    }

    pub fn blobs(&self) -> Arc<BlobStore> {
        self.blobs.clone()
    }

    /// Where long output may be kept. Made by whoever needs it first.
    pub fn spill_dir(&self) -> PathBuf {
        self.blobs.folder().join("spill")
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        match &self.record {
            Record::Log(log) if log.good > 0 || log.length > 0 => return,
            // Started, but not one line could be written.
            Record::Log(Log { place, open: Some(_), .. }) => {
                let _ = fs::remove_file(&place.log);
            }
            Record::Log(_) | Record::Nowhere => {}
        }
        let _ = fs::remove_dir_all(self.blobs.folder());
    }
}

impl Log {
    /// An old log, to be gone on with.
    fn found(place: Place, loaded: &Loaded, length: u64) -> Self {
        let mut pending = Vec::new();
        if loaded.unsealed {
            pending.push(b'\n');
        }
        if !loaded.has_header {
            pending.extend(header_line(&loaded.header));
        }
        Self { place, open: None, length, good: loaded.good, pending, told: false }
    }

    /// Opens the file and writes what is pending.
    fn start(&mut self, lock: Lock) -> io::Result<()> {
        let file = private::append(&self.place.log)?;
        if file.metadata()?.len() != self.length {
            return Err(io::Error::other("another process has written to it"));
        }
        self.open = Some(Open { file: Arc::new(file), _lock: lock });
        self.flush()
    }

    fn write(&mut self) -> io::Result<()> {
        if self.open.is_some() {
            return self.flush();
        }
        if let Some(dir) = self.place.log.parent() {
            private::make_dir(dir)?;
        }
        let lock = Lock::take(&self.place).map_err(io::Error::other)?;
        self.start(lock)
    }

    /// Writes all that is pending, or leaves the file as it was.
    fn flush(&mut self) -> io::Result<()> {
        let Some(Open { file, .. }) = &self.open else { return Ok(()) };
        // Behind the last good line there may be half a line: a crash left it, or an earlier write
        // that could not be taken back at once. The lock says that nobody is writing it now.
        if file.metadata()?.len() > self.good {
            file.set_len(self.good)?;
        }
        if self.pending.is_empty() {
            return Ok(());
        }
        if let Err(e) = (&**file).write_all(&self.pending) {
            let _ = file.set_len(self.good);
            return Err(e);
        }
        self.good += self.pending.len() as u64;
        self.pending.clear();
        Ok(())
    }

    fn report(&mut self, written: io::Result<()>) -> Result<(), StoreError> {
        match written {
            Ok(()) => self.told = false,
            Err(source) if !self.told => {
                self.told = true;
                return Err(StoreError::NotRecorded { path: self.place.log.clone(), source });
            }
            Err(_) => {}
        }
        Ok(())
    }
}

fn header_line(header: &Header) -> Vec<u8> {
    let mut line = Vec::new();
    encode(&mut line, &Line { v: VERSION, is: Some("header"), holds: header });
    line
}

fn encode<T: Serialize>(into: &mut Vec<u8>, line: &Line<'_, T>) {
    // Into a line of its own first: half a line must not stay in `into`.
    let text = serde_json::to_vec(line).expect("items are plain data with text keys");
    into.extend_from_slice(&text);
    into.push(b'\n');
}
