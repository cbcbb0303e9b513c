//! Long output, raw and whole, in a file beside the session. Survives a full disk: it then says what
//! is missing.

use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{ToolCx, output};
use crate::model::Cut;

/// No file grows beyond this.
pub(super) const MOST: u64 = 512 * 1024 * 1024;

/// Holds output back until it is known to be long, then writes it.
pub(super) struct Spill {
    folder: PathBuf,
    held: Vec<u8>,
    file: Option<Sink>,
}

/// A file that takes what fits and remembers why it took no more.
pub(super) struct Sink {
    path: PathBuf,
    /// There is a file at the path.
    made: bool,
    file: Option<File>,
    written: u64,
    trouble: Option<String>,
}

pub(super) struct Spilled {
    /// None when no file could be made.
    pub(super) path: Option<String>,
    pub(super) trouble: Option<String>,
}

/// The text within the limits; where it is cut, all of it is in a file that the marker names.
pub(super) fn fit(cx: &ToolCx<'_>, text: &str) -> (String, Option<Cut>) {
    let (whole, None) = output::fit(text, &cx.limits, None) else {
        let mut file = Sink::make(cx.spill, "page");
        file.push(text.as_bytes());
        return output::fit(text, &cx.limits, file.finish().path.as_deref());
    };
    (whole, None)
}

impl Spill {
    pub(super) fn new(folder: &Path) -> Self {
        Self { folder: folder.to_owned(), held: Vec::new(), file: None }
    }

    pub(super) fn push(&mut self, raw: &[u8]) {
        match &mut self.file {
            Some(file) => file.push(raw),
            None => self.held.extend_from_slice(raw),
        }
    }

    /// The output is long: what was held and what is to come goes to the file.
    pub(super) fn open(&mut self) {
        if self.file.is_none() {
            let mut file = Sink::make(&self.folder, "output");
            file.push(&std::mem::take(&mut self.held));
            self.file = Some(file);
        }
    }

    pub(super) fn finish(self) -> Option<Spilled> {
        self.file.map(Sink::finish)
    }
}

impl Sink {
    /// A new file `<stem>-<n>.txt`, readable by its owner only. The folder is made when missing.
    pub(super) fn make(folder: &Path, stem: &str) -> Self {
        match create(folder, stem) {
            Ok((path, file)) => Self { path, made: true, file: Some(file), written: 0, trouble: None },
            Err(error) => Self {
                path: folder.to_owned(),
                made: false,
                file: None,
                written: 0,
                trouble: Some(format!("the output could not be kept in {}: {error}", folder.display())),
            },
        }
    }

    pub(super) fn push(&mut self, raw: &[u8]) {
        let Some(file) = &mut self.file else { return };
        let room = usize::try_from(MOST - self.written).unwrap_or(usize::MAX);
        let part = &raw[..raw.len().min(room)];
        // Counted as written even in part: after a failure nothing more is written.
        self.written += part.len() as u64;
        if let Err(error) = file.write_all(part) {
            self.stop(format!("the file is not complete: {error}"));
        } else if part.len() < raw.len() {
            self.stop(format!("the file holds only the first {} MiB", MOST >> 20));
        }
    }

    /// Nothing more comes: the file is let go, what is known of it stays.
    pub(super) fn close(&mut self) {
        self.file = None;
    }

    fn stop(&mut self, why: String) {
        self.file = None;
        self.trouble = Some(why);
    }

    pub(super) fn path(&self) -> Option<String> {
        self.made.then(|| self.path.display().to_string())
    }

    pub(super) fn trouble(&self) -> Option<&str> {
        self.trouble.as_deref()
    }

    /// Takes the file away again: all of it was shown.
    pub(super) fn discard(&mut self) {
        self.file = None;
        if std::mem::take(&mut self.made) {
            // What cannot be removed goes with the session.
            let _ = std::fs::remove_file(&self.path);
        }
    }

    pub(super) fn finish(self) -> Spilled {
        Spilled { path: self.path(), trouble: self.trouble }
    }
}

/// A new file `<stem>-<n>.txt` of its owner's in the folder, which is made when missing.
pub(super) fn create(folder: &Path, stem: &str) -> io::Result<(PathBuf, File)> {
    make_folder(folder)?;
    let mut n = 1_u64;
    loop {
        let path = folder.join(format!("{stem}-{n}.txt"));
        match private().open(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => n += 1,
            Err(error) => return Err(error),
        }
    }
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt;
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)
}

fn private() -> std::fs::OpenOptions {
    let mut options = std::fs::OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_long_output_makes_a_file_and_it_is_whole() {
        let folder = tempfile::tempdir().unwrap();
        let mut short = Spill::new(folder.path());
        short.push(b"few words");
        assert!(short.finish().is_none());
        let mut long = Spill::new(&folder.path().join("made/when/needed"));
        long.push(b"first ");
        long.push(b"second ");
        long.open();
        long.push(b"third");
        let path = long.finish().unwrap().path.unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"first second third");
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
        }
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_said() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let mut spill = Spill::new(file.path());
        spill.push(b"long");
        spill.open();
        let spilled = spill.finish().unwrap();
        assert_eq!(spilled.path, None);
        assert!(spilled.trouble.unwrap().contains("could not be kept"));
    }
}
