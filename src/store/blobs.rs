//! Blobs: bytes that items refer to, such as images, one file each in the session's folder.

use std::collections::HashMap;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::private;
use crate::model::{BlobId, hash};

/// One session's blobs. What was kept or read once stays in memory, as every request needs it.
#[derive(Debug)]
pub struct BlobStore {
    folder: PathBuf,
    table: Mutex<Table>,
}

#[derive(Debug, Default)]
struct Table {
    encoded: HashMap<BlobId, Arc<str>>,
    /// In memory only, because writing failed.
    unwritten: Vec<BlobId>,
}

impl BlobStore {
    pub(super) fn new(folder: PathBuf) -> Self {
        Self { folder, table: Mutex::default() }
    }

    /// Keeps `bytes` under the hash of their content. When they cannot be written they are kept for
    /// this run only, and the session's next append says so.
    pub fn keep(&self, bytes: &[u8]) -> BlobId {
        let id = BlobId(hash(bytes));
        self.remember(&id, bytes);
        if self.write(&id, bytes).is_err() {
            self.table().unwritten.push(id.clone());
        }
        id
    }

    /// The bytes in base64; None when there is no such blob or it is not what it was.
    pub fn base64(&self, id: &BlobId) -> Option<Arc<str>> {
        if let Some(text) = self.table().encoded.get(id) {
            return Some(text.clone());
        }
        // Ids come out of a file that others may have written.
        if id.0.len() != 64 || !id.0.bytes().all(|b| b.is_ascii_hexdigit()) {
            return None;
        }
        let bytes = fs::read(self.folder.join(&id.0)).ok()?;
        (hash(&bytes) == id.0).then(|| self.remember(id, &bytes))
    }

    /// Some blob is in memory only.
    pub(super) fn unwritten(&self) -> bool {
        !self.table().unwritten.is_empty()
    }

    /// Tries again to write what could not be written.
    pub(super) fn catch_up(&self) -> io::Result<()> {
        let mut table = self.table();
        while let Some(id) = table.unwritten.last() {
            let bytes = table.encoded.get(id).map(|text| STANDARD.decode(text.as_bytes()));
            if let Some(Ok(bytes)) = bytes {
                self.write(id, &bytes)?;
            }
            table.unwritten.pop();
        }
        Ok(())
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Under another name first, so that a blob is there whole or not at all.
    fn write(&self, id: &BlobId, bytes: &[u8]) -> io::Result<()> {
        let path = self.folder.join(&id.0);
        if path.metadata().is_ok_and(|m| m.len() == bytes.len() as u64) {
            return Ok(());
        }
        private::make_dir(&self.folder)?;
        let part = self.folder.join(format!("{}.{}", id.0, uuid::Uuid::now_v7()));
        let written = private::make_new(&part).and_then(|mut file| file.write_all(bytes));
        written.and_then(|()| fs::rename(&part, path)).inspect_err(|_| {
            let _ = fs::remove_file(&part);
        })
    }

    fn remember(&self, id: &BlobId, bytes: &[u8]) -> Arc<str> {
        let text: Arc<str> = STANDARD.encode(bytes).into();
        self.table().encoded.entry(id.clone()).or_insert(text).clone()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        // The table is whole whatever a holder did before it panicked.
        self.table.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
