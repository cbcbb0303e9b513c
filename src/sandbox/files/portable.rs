//! Systems without a way to ask a descriptor for its path: the path is resolved, checked, and used.
//! Between check and use a link could be swapped; the system's own sandbox is not there yet either.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use super::{DirEntry, FileError, Kind, Op, Opened, Policy, Written, check, fault, resolve, wrong};
use crate::sandbox::policy::real;

pub(super) fn open(policy: &Policy, path: &Path) -> Result<Opened, FileError> {
    let real = resolve(policy, path)?;
    regular(path, &real)?;
    Ok(Opened { file: File::open(&real).map_err(|e| fault(path, e))?, real })
}

pub(super) fn replace(policy: &Policy, path: &Path, bytes: &[u8]) -> Result<Written, FileError> {
    let real = real(&policy.host(path));
    check(policy, &real, Op::Read)?;
    check(policy, &real, Op::Write)?;
    let created = !real.exists();
    if !created {
        regular(path, &real)?;
    }
    let parent = real.parent().ok_or_else(|| wrong(path, "a folder, not a file"))?;
    fs::create_dir_all(parent).map_err(|e| fault(parent, e))?;
    let temporary = parent.join(format!(".tack-{}.tmp", uuid::Uuid::now_v7()));
    let keep_mode =
        || fs::metadata(&real).map_or(Ok(()), |old| fs::set_permissions(&temporary, old.permissions()));
    let done =
        fs::write(&temporary, bytes).and_then(|()| keep_mode()).and_then(|()| fs::rename(&temporary, &real));
    if let Err(error) = done {
        let _ = fs::remove_file(&temporary);
        return Err(fault(&real, error));
    }
    Ok(Written { real, created })
}

pub(super) fn remove(policy: &Policy, path: &Path) -> Result<PathBuf, FileError> {
    let place = policy.host(path);
    let (Some(parent), Some(name)) = (place.parent(), place.file_name()) else {
        return Err(wrong(path, "a folder, not a file"));
    };
    let real = parent.canonicalize().map_err(|e| fault(path, e))?.join(name);
    check(policy, &real, Op::Write)?;
    if fs::symlink_metadata(&real).map_err(|e| fault(path, e))?.is_dir() {
        return Err(wrong(path, "a folder, not a file"));
    }
    fs::remove_file(&real).map_err(|e| fault(&real, e))?;
    Ok(real)
}

pub(super) fn list(policy: &Policy, path: &Path) -> Result<(PathBuf, Vec<DirEntry>), FileError> {
    let real = resolve(policy, path)?;
    let mut entries = Vec::new();
    for entry in fs::read_dir(&real).map_err(|e| fault(path, e))? {
        let entry = entry.map_err(|e| fault(path, e))?;
        let kind = match entry.file_type() {
            Ok(t) if t.is_dir() => Kind::Dir,
            Ok(t) if t.is_file() => Kind::File,
            Ok(t) if t.is_symlink() => Kind::Link,
            Ok(_) | Err(_) => Kind::Other,
        };
        entries.push(DirEntry { name: entry.file_name(), kind });
    }
    Ok((real, entries))
}

fn regular(path: &Path, real: &Path) -> Result<(), FileError> {
    let meta = fs::metadata(real).map_err(|e| fault(path, e))?;
    match (meta.is_file(), meta.is_dir()) {
        (true, _) => Ok(()),
        (false, true) => Err(wrong(path, "a folder, not a file")),
        (false, false) => Err(wrong(path, "a FIFO, socket or device, not a regular file")),
    }
}
