//! Linux: what was opened is asked for its path, and that path is checked.
//!
//! Writing happens inside the descriptor of a checked folder, so that a link swapped in meanwhile
//! changes nothing.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::Write;
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Component, Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};

use super::{
    DirEntry, FileError, Kind, MOST_TURNS, Op, Opened, Policy, Written, check, fault, looping, wrong,
};

pub(super) fn open(policy: &Policy, path: &Path) -> Result<Opened, FileError> {
    // Looked at first: to open a device or a FIFO is to do something with it.
    let (there, real) = reach(policy, path, OFlags::PATH | OFlags::CLOEXEC)?;
    check(policy, &real, Op::Read)?;
    let stat = rustix::fs::fstat(&there).map_err(|e| fault(path, e))?;
    regular(path, &stat)?;
    let file = File::open(by_number(&there)).map_err(|e| fault(path, e))?;
    Ok(Opened { file, real })
}

pub(super) fn replace(policy: &Policy, path: &Path, bytes: &[u8]) -> Result<Written, FileError> {
    let place = Place::find(policy, path)?;
    let real = place.real();
    check(policy, &real, Op::Read)?;
    check(policy, &real, Op::Write)?;
    if let Some(old) = &place.old {
        regular(path, old)?;
    }
    place.write(bytes).map_err(|e| fault(&real, e))?;
    Ok(Written { real, created: place.old.is_none() })
}

pub(super) fn remove(policy: &Policy, path: &Path) -> Result<PathBuf, FileError> {
    let (parent, name) = split(policy, path)?;
    let (dir, at) = folder(policy, &parent)?;
    let real = at.join(&name);
    check(policy, &real, Op::Write)?;
    let stat = stat(&dir, &name).map_err(|e| fault(path, e))?;
    if FileType::from_raw_mode(stat.st_mode).is_dir() {
        return Err(wrong(path, "a folder, not a file"));
    }
    rustix::fs::unlinkat(&dir, &name, AtFlags::empty()).map_err(|e| fault(&real, e))?;
    Ok(real)
}

pub(super) fn list(policy: &Policy, path: &Path) -> Result<(PathBuf, Vec<DirEntry>), FileError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let (dir, real) = reach(policy, path, flags)?;
    check(policy, &real, Op::Read)?;
    let mut entries = Vec::new();
    for entry in rustix::fs::Dir::read_from(&dir).map_err(|e| fault(path, e))? {
        let entry = entry.map_err(|e| fault(path, e))?;
        let name = OsString::from_vec(entry.file_name().to_bytes().to_vec());
        if name == "." || name == ".." {
            continue;
        }
        let kind = match entry.file_type() {
            FileType::Unknown => {
                stat(&dir, &name).map_or(FileType::Unknown, |s| FileType::from_raw_mode(s.st_mode))
            }
            known => known,
        };
        entries.push(DirEntry { name, kind: kind_of(kind) });
    }
    Ok((real, entries))
}

fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::RegularFile => Kind::File,
        FileType::Directory => Kind::Dir,
        FileType::Symlink => Kind::Link,
        _ => Kind::Other,
    }
}

fn regular(path: &Path, stat: &Stat) -> Result<(), FileError> {
    match FileType::from_raw_mode(stat.st_mode) {
        FileType::RegularFile => Ok(()),
        FileType::Directory => Err(wrong(path, "a folder, not a file")),
        FileType::Fifo => Err(wrong(path, "a FIFO, not a regular file")),
        FileType::Socket => Err(wrong(path, "a socket, not a regular file")),
        _ => Err(wrong(path, "a device, not a regular file")),
    }
}

/// Opens an existing path where commands would find it, and says where that really is.
fn reach(policy: &Policy, path: &Path, flags: OFlags) -> Result<(OwnedFd, PathBuf), FileError> {
    let mut place = policy.host(path);
    for _ in 0..MOST_TURNS {
        let fd = rustix::fs::open(&place, flags, Mode::empty()).map_err(|e| fault(path, e))?;
        let real = real(&fd).map_err(|e| fault(path, e))?;
        // A link led into the host's /tmp, which for commands is another folder.
        let seen = policy.host(&real);
        if seen == real {
            return Ok((fd, real));
        }
        place = seen;
    }
    Err(looping(path))
}

fn real(fd: &OwnedFd) -> rustix::io::Result<PathBuf> {
    let link = rustix::fs::readlink(by_number(fd), Vec::new())?;
    Ok(OsString::from_vec(link.into_bytes()).into())
}

fn by_number(fd: &OwnedFd) -> String {
    format!("/proc/self/fd/{}", fd.as_raw_fd())
}

fn stat(dir: &OwnedFd, name: &OsStr) -> rustix::io::Result<Stat> {
    rustix::fs::statat(dir, name, AtFlags::SYMLINK_NOFOLLOW)
}

/// The folder and the name in it; a path that ends in `..` or nothing names no file.
fn split(policy: &Policy, path: &Path) -> Result<(PathBuf, OsString), FileError> {
    let place = policy.host(path);
    match (place.parent(), place.file_name()) {
        (Some(parent), Some(name)) if !path.as_os_str().as_bytes().ends_with(b"/") => {
            Ok((parent.to_path_buf(), name.to_owned()))
        }
        _ => Err(wrong(path, "a folder, not a file")),
    }
}

/// A handle on a folder, made where it is missing: step by step, each step checked where it lands.
fn folder(policy: &Policy, path: &Path) -> Result<(OwnedFd, PathBuf), FileError> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut missing: Vec<&OsStr> = Vec::new();
    let mut there = path;
    let (mut dir, mut at) = loop {
        match reach(policy, there, flags) {
            Ok(found) => break found,
            Err(FileError::NotFound(_)) => {}
            Err(other) => return Err(other),
        }
        let (Some(parent), Some(Component::Normal(name))) = (there.parent(), there.components().next_back())
        else {
            return Err(FileError::NotFound(path.to_path_buf()));
        };
        missing.push(name);
        there = parent;
    };
    for name in missing.into_iter().rev() {
        at.push(name);
        check(policy, &at, Op::Write)?;
        match rustix::fs::mkdirat(&dir, name, Mode::from_raw_mode(0o777)) {
            Ok(()) | Err(rustix::io::Errno::EXIST) => {}
            Err(error) => return Err(fault(&at, error)),
        }
        dir = rustix::fs::openat(&dir, name, flags | OFlags::NOFOLLOW, Mode::empty())
            .map_err(|e| fault(&at, e))?;
    }
    Ok((dir, at))
}

/// Where a file is to be written.
struct Place {
    dir: OwnedFd,
    at: PathBuf,
    name: OsString,
    old: Option<Stat>,
}

impl Place {
    /// Follows links in the last place by hand, so that what they name is checked too.
    fn find(policy: &Policy, path: &Path) -> Result<Place, FileError> {
        let mut wanted = path.to_path_buf();
        for _ in 0..MOST_TURNS {
            let (parent, name) = split(policy, &wanted)?;
            // Before anything is made: the folder that is missing may be none of ours.
            let (dir, at) = folder(policy, &parent)?;
            let old = match stat(&dir, &name) {
                Ok(stat) => Some(stat),
                Err(rustix::io::Errno::NOENT) => None,
                Err(error) => return Err(fault(path, error)),
            };
            if old.as_ref().is_some_and(|s| FileType::from_raw_mode(s.st_mode).is_symlink()) {
                let link = rustix::fs::readlinkat(&dir, &name, Vec::new()).map_err(|e| fault(path, e))?;
                wanted = at.join(OsString::from_vec(link.into_bytes()));
                continue;
            }
            return Ok(Place { dir, at, name, old });
        }
        Err(looping(path))
    }

    fn real(&self) -> PathBuf {
        self.at.join(&self.name)
    }

    fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let unique = format!(".tack-{}-{}.tmp", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = rustix::fs::openat(&self.dir, &unique, flags, Mode::from_raw_mode(0o666))?;
        let done = self.fill(fd, bytes).and_then(|()| {
            Ok(rustix::fs::renameat(self.dir.as_fd(), &unique, self.dir.as_fd(), &self.name)?)
        });
        if done.is_err() {
            let _ = rustix::fs::unlinkat(&self.dir, &unique, AtFlags::empty());
        }
        done
    }

    fn fill(&self, fd: OwnedFd, bytes: &[u8]) -> std::io::Result<()> {
        if let Some(old) = &self.old {
            let (uid, gid) = (rustix::fs::Uid::from_raw(old.st_uid), rustix::fs::Gid::from_raw(old.st_gid));
            // Only root can; others own what they replace, or lose nothing.
            let _ = rustix::fs::fchown(&fd, Some(uid), Some(gid));
            rustix::fs::fchmod(&fd, Mode::from_raw_mode(old.st_mode & 0o7777))?;
        }
        File::from(fd).write_all(bytes)
    }
}
