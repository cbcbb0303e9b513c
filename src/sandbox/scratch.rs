//! The session's own `/tmp` on the host: made when a session starts, gone when it ends.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

/// A private folder, locked while it lives, so that leftovers of dead sessions can be told from
/// folders in use. Removed when dropped.
#[derive(Debug)]
pub struct Scratch {
    path: PathBuf,
    _lock: File,
}

impl Scratch {
    /// Makes a folder (mode 700) below `base`, and sweeps what dead sessions left there.
    pub fn make(base: &Path) -> io::Result<Scratch> {
        fs::create_dir_all(base)?;
        sweep(base);
        Self::at(base.canonicalize()?.join(uuid::Uuid::now_v7().to_string()))
    }

    /// Makes one among the system's temporary files, for want of a folder of our own. What a dead
    /// session leaves there is the system's to sweep.
    pub fn make_in_temp() -> io::Result<Scratch> {
        Self::at(std::env::temp_dir().canonicalize()?.join(format!("tack-{}", uuid::Uuid::now_v7())))
    }

    fn at(path: PathBuf) -> io::Result<Scratch> {
        #[cfg_attr(not(unix), allow(unused_mut))]
        let mut builder = fs::DirBuilder::new();
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(&path)?;
        let lock = File::open(&path)?;
        lock.lock_shared()?;
        Ok(Scratch { path, _lock: lock })
    }

    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        remove(&self.path);
    }
}

fn sweep(base: &Path) {
    for entry in fs::read_dir(base).into_iter().flatten().flatten() {
        let ours = entry.file_name().to_str().is_some_and(|n| uuid::Uuid::try_parse(n).is_ok());
        let free = || File::open(entry.path()).is_ok_and(|f| f.try_lock().is_ok());
        // One that was made this moment may not be locked yet.
        let old = || {
            entry
                .metadata()
                .and_then(|m| m.modified())
                .is_ok_and(|t| t.elapsed().is_ok_and(|age| age.as_secs() > 60))
        };
        if ours && old() && free() {
            remove(&entry.path());
        }
    }
}

/// Commands may have left folders that even their owner cannot enter.
fn remove(path: &Path) {
    if fs::remove_dir_all(path).is_ok() {
        return;
    }
    open_up(path);
    let _ = fs::remove_dir_all(path);
}

fn open_up(dir: &Path) {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let _ = fs::set_permissions(dir, fs::Permissions::from_mode(0o700));
    }
    for entry in fs::read_dir(dir).into_iter().flatten().flatten() {
        if entry.file_type().is_ok_and(|t| t.is_dir()) {
            open_up(&entry.path());
        }
    }
}
