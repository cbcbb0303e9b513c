//! Writing in an editor of the person's own: which one, and the file it gets. Starting it is up to the
//! caller, who has to give it the terminal.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::private;

/// Characters of a file's name that are kept.
const NAME: usize = 40;
/// Bytes that are taken back.
const MOST: u64 = 16 << 20;

/// The command of `$VISUAL` or `$EDITOR` as program and arguments, the file not yet among them; what the
/// system has if neither is set. None if the variable cannot be read as a command.
pub fn command(env: impl Fn(&str) -> Option<String>) -> Option<Vec<String>> {
    let set = |name: &str| env(name).filter(|text| !text.trim().is_empty());
    let usual = if cfg!(windows) { "notepad" } else { "vi" };
    let text = set("VISUAL").or_else(|| set("EDITOR")).unwrap_or_else(|| usual.to_owned());
    // A path with blanks that is there is a program, not a program and its arguments.
    if Path::new(&text).is_file() {
        return Some(vec![text]);
    }
    // Backslashes are no escapes there.
    let words = if cfg!(windows) { vec![text] } else { shlex::split(&text)? };
    (!words.is_empty()).then_some(words)
}

/// A text in a file of its own, which only its owner can read; gone when this is dropped.
pub struct Text {
    path: PathBuf,
    folder: PathBuf,
}

impl Text {
    /// Writes `text` to a new file in `dir`, the folder of temporary files.
    pub fn write(dir: &Path, text: &str) -> io::Result<Self> {
        // Markdown, so that an editor wraps and colours it fittingly.
        Self::named(dir, "prompt.md", text)
    }

    /// The same, with the end of a name that tells an editor what it is.
    pub fn named(dir: &Path, name: &str, text: &str) -> io::Result<Self> {
        let name = Path::new(name).file_name().unwrap_or_default().to_string_lossy().into_owned();
        let name: String =
            name.chars().map(|c| if c.is_alphanumeric() || ".-_".contains(c) { c } else { '_' }).collect();
        let from = name.char_indices().rev().take(NAME).last().map_or(0, |(at, _)| at);
        // In a folder of its own: what an editor does around the file does not reach the files of others.
        let folder = dir.join(format!("tack-{}", uuid::Uuid::now_v7()));
        private::make_dir(&folder)?;
        let path = folder.join(format!("tack-{}", &name[from..]));
        let new = Self { path, folder };
        let mut file = private::make_new(&new.path)?;
        file.write_all(text.as_bytes())?;
        Ok(new)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What the editor left, without the line end that editors add.
    pub fn read(&self) -> io::Result<String> {
        let text = String::from_utf8_lossy(&self.bytes()?).into_owned();
        let text = text.replace("\r\n", "\n");
        Ok(text.strip_suffix('\n').map_or_else(|| text.clone(), str::to_owned))
    }

    /// What the editor left, to the byte.
    pub fn exact(&self) -> io::Result<String> {
        String::from_utf8(self.bytes()?)
            .map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "what the editor left is not UTF-8"))
    }

    /// Only of a plain file: whatever else an editor leaves may have no end, or be somebody else's.
    fn bytes(&self) -> io::Result<Vec<u8>> {
        let about = self.path.symlink_metadata()?;
        let odd = match about.is_file() {
            true if about.len() <= MOST => return std::fs::read(&self.path),
            true => "the text became too large for a message or a file",
            false => "the editor left no plain file",
        };
        Err(io::Error::new(io::ErrorKind::InvalidData, odd))
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.folder);
    }
}
