//! Files in the state folder that only their owner can read.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

/// Sixteen letters for a folder: the name of its files.
pub(super) fn name_of(folder: &Path) -> String {
    let hash = Sha256::digest(folder.as_os_str().as_encoded_bytes());
    hash.iter().take(8).map(|byte| format!("{byte:02x}")).collect()
}

/// Puts `line` behind what is there, in one write and without a lock: the system keeps writes of several
/// programs apart. Begins anew if the last line was cut off.
pub(super) fn append(path: &Path, line: &str) -> io::Result<()> {
    make_dir_of(path)?;
    let mut file = options().read(true).append(true).create(true).open(path)?;
    let mut last = [b'\n'];
    if file.seek(SeekFrom::End(-1)).is_ok() {
        file.read_exact(&mut last)?;
    }
    let start = if last == [b'\n'] { "" } else { "\n" };
    file.write_all(format!("{start}{line}\n").as_bytes())
}

/// Puts `text` in the place of what was there: a reader sees the old or the new, never a part.
pub(super) fn replace(path: &Path, text: &str) -> io::Result<()> {
    make_dir_of(path)?;
    let new = path.with_extension(format!("{}.new", std::process::id()));
    let written = create(&new).and_then(|mut file| file.write_all(text.as_bytes()));
    let done = written.and_then(|()| fs::rename(&new, path));
    if done.is_err() {
        // What is left of it helps nobody; the first error is the one to tell.
        let _ = fs::remove_file(&new);
    }
    done
}

/// Opens for writing, with nothing in it.
fn create(path: &Path) -> io::Result<File> {
    options().write(true).create(true).truncate(true).open(path)
}

/// Makes a folder that must not exist yet.
pub(super) fn make_dir(path: &Path) -> io::Result<()> {
    builder().create(path)
}

/// Makes a file that must not exist yet.
pub(super) fn make_new(path: &Path) -> io::Result<File> {
    options().write(true).create_new(true).open(path)
}

/// Opens a file to hold its lock, and makes what is missing.
pub(super) fn lock_file(path: &Path) -> io::Result<File> {
    make_dir_of(path)?;
    options().write(true).create(true).truncate(false).open(path)
}

/// The end of a file, at most `most` bytes from the start of a line on.
pub(super) fn tail(path: &Path, most: u64) -> io::Result<String> {
    let mut file = File::open(path)?;
    let size = file.metadata()?.len();
    let cut = size > most;
    if cut {
        file.seek(SeekFrom::Start(size - most))?;
    }
    let mut bytes = Vec::new();
    file.take(most).read_to_end(&mut bytes)?;
    let text = String::from_utf8_lossy(&bytes).into_owned();
    let whole = if cut { text.split_once('\n').map_or("", |(_, rest)| rest) } else { &text };
    Ok(whole.to_owned())
}

/// The files of a folder; none if it is not there.
pub(super) fn files(dir: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(dir) else { return Vec::new() };
    entries.flatten().map(|entry| entry.path()).collect()
}

fn make_dir_of(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |dir| builder().recursive(true).create(dir))
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

#[cfg(not(unix))]
fn builder() -> DirBuilder {
    DirBuilder::new()
}

#[cfg(not(unix))]
fn options() -> OpenOptions {
    OpenOptions::new()
}
