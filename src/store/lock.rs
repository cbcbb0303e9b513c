//! The lock that keeps a second process out of a session.
//!
//! An operating system lock on a file beside the log: it ends with the process, however that ends.
//! The file holds the process id for the message that the second one gives.

use std::fs::{File, TryLockError};
use std::io::{self, ErrorKind, Read, Write};
use std::path::PathBuf;

use super::{Place, StoreError, fault, private};

/// More than a few would mean that others come and go all the time.
const TRIES: u32 = 16;

/// Held until dropped; the file goes with it.
#[derive(Debug)]
pub(super) struct Lock {
    // Closing it gives the lock up.
    _file: File,
    path: PathBuf,
}

impl Lock {
    pub(super) fn take(place: &Place) -> Result<Self, StoreError> {
        let path = place.lock();
        let io = |e| fault("lock", &path, e);
        for _ in 0..TRIES {
            let mut file = private::update(&path).map_err(io)?;
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    return Err(StoreError::Busy { id: place.id.clone(), pid: pid_in(&mut file) });
                }
                // Some network file systems know no locks. Sessions are kept there all the same.
                Err(TryLockError::Error(e)) if e.kind() == ErrorKind::Unsupported => {}
                Err(TryLockError::Error(e)) => return Err(io(e)),
            }
            // Its holder may have removed the file between our opening and our locking it; then
            // what we hold is a lock on nothing.
            if private::is_at(&file, &path).map_err(io)? {
                // A full disk must not keep a session from being opened: the number is a courtesy.
                let _ = write_pid(&mut file);
                return Ok(Self { _file: file, path });
            }
        }
        Err(StoreError::Busy { id: place.id.clone(), pid: None })
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // While still locked: whoever waits finds out by `is_at`.
        let _ = std::fs::remove_file(&self.path);
    }
}

/// How a message names the process that is in the way.
pub(super) fn holder(pid: Option<u32>) -> String {
    match pid {
        Some(pid) => format!("another tack (process {pid})"),
        None => "another tack".to_owned(),
    }
}

fn write_pid(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    writeln!(file, "{}", std::process::id())
}

fn pid_in(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}
