//! Files and folders that only their owner can read. The one place in the store that asks which
//! system it runs on.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io;
use std::path::Path;

/// Makes `path` and its missing parents.
pub(super) fn make_dir(path: &Path) -> io::Result<()> {
    builder().recursive(true).create(path)
}

/// Makes `path`, which must not exist yet.
pub(super) fn make_new_dir(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Opens for appending and makes what is missing.
pub(super) fn append(path: &Path) -> io::Result<File> {
    options().append(true).read(true).create(true).open(path)
}

/// Opens for reading and writing, keeps what is there.
pub(super) fn update(path: &Path) -> io::Result<File> {
    options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Makes a file that must not exist yet.
pub(super) fn make_new(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

#[cfg(unix)]
fn builder() -> DirBuilder {
    use std::os::unix::fs::DirBuilderExt;
    let mut builder = DirBuilder::new();
    builder.mode(0o700);
    builder
}

#[cfg(unix)]
fn options() -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;
    let mut options = OpenOptions::new();
    options.mode(0o600);
    options
}

/// Whether `path` still names `file`, and not a later file of that name.
#[cfg(unix)]
pub(super) fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    use std::os::unix::fs::MetadataExt;
    let there = match path.metadata() {
        Err(e) if e.kind() == io::ErrorKind::NotFound => return Ok(false),
        other => other?,
    };
    let open = file.metadata()?;
    Ok(open.ino() == there.ino() && open.dev() == there.dev())
}

#[cfg(not(unix))]
fn builder() -> DirBuilder {
    DirBuilder::new()
}

#[cfg(not(unix))]
fn options() -> OpenOptions {
    OpenOptions::new()
}

/// A file that is open cannot lose its name here.
#[cfg(not(unix))]
pub(super) fn is_at(_: &File, path: &Path) -> io::Result<bool> {
    path.try_exists()
}
