//! A folder held by descriptor, so that repairs land where they are meant to.
//!
//! The parent may write where commands may not. If a command put a link in place of a folder, a
//! repair by path would go through it; here it is refused.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, Mode, OFlags, ResolveFlags, openat2};

/// The folder of one path, reached without any link.
pub(super) struct Pin {
    dir: OwnedFd,
    name: OsString,
}

impl Pin {
    pub(super) fn new(path: &Path) -> io::Result<Pin> {
        let (Some(parent), Some(name)) = (path.parent(), path.file_name()) else {
            return Err(io::ErrorKind::InvalidInput.into());
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = openat2(CWD, parent, flags, Mode::empty(), ResolveFlags::NO_SYMLINKS)?;
        Ok(Pin { dir, name: name.to_owned() })
    }

    /// A path that leads through the held folder, for as long as this lives.
    pub(super) fn path(&self) -> PathBuf {
        Path::new("/proc/self/fd").join(self.dir.as_raw_fd().to_string()).join(&self.name)
    }
}
