//! The results file: one entry a line, only ever added to.
//!
//! Several processes may add to one file, as each line goes out in one write. A line that cannot be
//! read, half a one that a full disk left above all, is passed over and counted.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use super::{Entry, Key, Verdict};

pub struct Results {
    path: PathBuf,
    entries: Vec<Entry>,
    /// Lines that are no entry.
    pub unread: usize,
    /// The file does not end with a whole line.
    torn: bool,
}

impl Results {
    /// Reads what is there; the file need not be.
    pub fn open(path: &Path) -> io::Result<Self> {
        let bytes = match fs::metadata(path) {
            // A pipe never ends, and neither do some devices.
            Ok(about) if !about.is_file() => return Err(io::Error::other("it is no file")),
            Ok(_) => fs::read(path)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(error),
        };
        let mut results = Self {
            path: path.to_owned(),
            entries: Vec::new(),
            unread: 0,
            torn: bytes.last().is_some_and(|last| *last != b'\n'),
        };
        for line in bytes.split(|byte| *byte == b'\n').filter(|line| !line.trim_ascii().is_empty()) {
            match serde_json::from_slice(line) {
                Ok(entry) => results.entries.push(entry),
                Err(_) => results.unread += 1,
            }
        }
        Ok(results)
    }

    /// Goes on as if nothing had been run; the file keeps what it has.
    pub fn forget(&mut self) {
        self.entries.clear();
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Where the sessions of these runs are kept, beside the file.
    pub fn sessions(&self) -> PathBuf {
        self.path.with_extension("sessions")
    }

    /// The last entry of this key, a void one only where there is no other.
    pub fn find(&self, key: &Key) -> Option<&Entry> {
        let all = || self.entries.iter().rev().filter(|entry| entry.key == *key);
        all().find(|entry| entry.verdict != Verdict::Void).or_else(|| all().next())
    }

    /// Whether it need not be run again.
    pub fn has(&self, key: &Key) -> bool {
        self.find(key).is_some_and(|entry| entry.verdict != Verdict::Void)
    }

    /// The file, made if it is not there: to be called before anything is run for it.
    pub fn reach(&self) -> io::Result<File> {
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder)?;
        }
        File::options().create(true).append(true).open(&self.path)
    }

    pub fn add(&mut self, entry: Entry) -> io::Result<()> {
        let mut line = if std::mem::take(&mut self.torn) { b"\n".to_vec() } else { Vec::new() };
        serde_json::to_writer(&mut line, &entry)?;
        line.push(b'\n');
        self.reach()?.write_all(&line)?;
        self.entries.push(entry);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::testing::entry;

    #[test]
    fn what_was_cut_off_costs_itself_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("deep/results.jsonl");
        let mut results = Results::open(&path).unwrap();
        let (first, second) = (entry("a", "t", 0, Verdict::Solved), entry("a", "u", 0, Verdict::Failed));
        results.add(first.clone()).unwrap();
        let half = serde_json::to_string(&second).unwrap();
        let whole = fs::read_to_string(&path).unwrap();
        fs::write(&path, format!("{whole}no entry\n{}", &half[..50])).unwrap();

        let mut results = Results::open(&path).unwrap();
        assert_eq!(results.unread, 2);
        assert!(results.has(&first.key) && !results.has(&second.key));
        results.add(second.clone()).unwrap();
        let results = Results::open(&path).unwrap();
        assert_eq!((results.unread, results.find(&second.key)), (2, Some(&second)));
    }

    #[test]
    fn a_void_run_is_run_again_and_gives_way_to_a_real_one() {
        let dir = tempfile::tempdir().unwrap();
        let mut results = Results::open(&dir.path().join("r.jsonl")).unwrap();
        let (void, real) = (entry("a", "t", 0, Verdict::Void), entry("a", "t", 0, Verdict::Failed));
        results.add(void.clone()).unwrap();
        assert!(!results.has(&void.key));
        assert_eq!(results.find(&void.key), Some(&void));
        results.add(real.clone()).unwrap();
        results.add(void.clone()).unwrap();
        assert_eq!(results.find(&void.key), Some(&real));
    }
}
