//! Changing a settings file and nothing else in it: comments, order and other keys stay.
//!
//! Several processes may do it at once: each reads, changes and replaces the file under a lock, so
//! every change is made to the latest text. Readers see the old or the new file, never half a one.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use toml_edit::{DocumentMut, Item, Table, TableLike, Value};

use super::{ConfigError, load};

/// One change, to the key at the end of a path.
#[derive(Clone, Debug)]
pub enum Change {
    Set(Vec<String>, Value),
    Remove(Vec<String>),
}

/// How long to wait for another process that changes the same file.
const PATIENCE: Duration = Duration::from_secs(20);

/// Makes the changes in `path`, which is made when it is missing. A file that does not parse is
/// left alone.
pub fn apply(path: &Path, changes: &[Change]) -> Result<(), ConfigError> {
    let failed = |e: io::Error| ConfigError::new(format!("cannot change {}: {e}", path.display()));
    // A link to a file kept elsewhere stays a link.
    let real = path.canonicalize().or_else(|_| target(path)).map_err(failed)?;
    if real.metadata().is_ok_and(|about| about.permissions().readonly()) {
        let why = "it may not be written; change it by hand, or make it writable";
        return Err(ConfigError::new(format!("cannot change {}: {why}", path.display())));
    }
    if let Some(dir) = real.parent() {
        fs::create_dir_all(dir).map_err(failed)?;
    }
    let _lock = lock(&beside(&real, "lock")).map_err(failed)?;
    let text = load::read(&real)?.unwrap_or_default();
    // Parsed by the same rules as for reading, and so with the same message.
    load::parse(&real, &text)?;
    let mut document: DocumentMut =
        text.parse().map_err(|_| ConfigError::new(format!("{} does not parse", path.display())))?;
    for change in changes {
        make(document.as_table_mut(), change).map_err(|key| {
            ConfigError::new(format!("cannot change {}: `{key}` is no table", path.display()))
        })?;
    }
    replace(&real, as_it_was(&real, document.to_string()).as_bytes()).map_err(failed)
}

/// Where a link leads to what is not there yet; what is no link is it.
fn target(path: &Path) -> io::Result<PathBuf> {
    match path.symlink_metadata() {
        Ok(about) if about.is_symlink() => {
            let target = fs::read_link(path)?;
            Ok(path.parent().map_or(target.clone(), |folder| folder.join(&target)))
        }
        _ => Ok(path.to_path_buf()),
    }
}

/// The new text with the line ends and the mark at its beginning that the file has.
fn as_it_was(path: &Path, text: String) -> String {
    let old = fs::read(path).unwrap_or_default();
    let ends = memchr::memchr_iter(b'\n', &old).count();
    let text = match ends > 0 && old.windows(2).filter(|two| two == b"\r\n").count() == ends {
        true => text.replace('\n', "\r\n"),
        false => text,
    };
    if old.starts_with("\u{feff}".as_bytes()) { format!("\u{feff}{text}") } else { text }
}

/// Makes `harness` the one that is used for `model` (`provider/name`) where none is named for the run.
pub fn keep_harness(path: &Path, model: &str, harness: &str) -> Result<(), ConfigError> {
    let key = ["models", model, "harness"].map(str::to_owned).to_vec();
    apply(path, &[Change::Set(key, harness.into())])
}

/// Makes `harness` the one that is used for all models that `pattern` names, `model` (`provider/name`) among
/// them: one of its own would go before it.
pub fn keep_family(path: &Path, (pattern, model): (&str, &str), harness: &str) -> Result<(), ConfigError> {
    let keys = |keys: [&str; 3]| keys.map(str::to_owned).to_vec();
    let set = Change::Set(keys(["families", pattern, "harness"]), harness.into());
    apply(path, &[set, Change::Remove(keys(["models", model, "harness"]))])
}

/// Err is the key on the way that holds something other than a table.
fn make<'a>(root: &mut dyn TableLike, change: &'a Change) -> Result<(), &'a str> {
    let (path, value) = match change {
        Change::Set(path, value) => (path, Some(value)),
        Change::Remove(path) => (path, None),
    };
    let Some((last, above)) = path.split_last() else { return Ok(()) };
    let mut table = root;
    for key in above {
        if !table.contains_key(key) {
            if value.is_none() {
                return Ok(());
            }
            let mut fresh = Table::new();
            // Only its children need a header.
            fresh.set_implicit(true);
            table.insert(key, Item::Table(fresh));
        }
        table = table.get_mut(key).and_then(Item::as_table_like_mut).ok_or(key.as_str())?;
    }
    match (value, table.get_mut(last)) {
        (None, _) => {
            table.remove(last);
        }
        // In place, so that a comment behind the old value stays.
        (Some(new), Some(Item::Value(old))) => {
            let decor = old.decor().clone();
            *old = new.clone();
            *old.decor_mut() = decor;
        }
        (Some(new), _) => {
            table.insert(last, Item::Value(new.clone()));
        }
    }
    Ok(())
}

/// Waits for the lock, not for ever.
fn lock(path: &Path) -> io::Result<File> {
    let file = File::options().create(true).truncate(false).write(true).open(path)?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::Error(e)) => return Err(e),
            Err(fs::TryLockError::WouldBlock) if start.elapsed() > PATIENCE => {
                return Err(io::Error::other("another process keeps it locked"));
            }
            Err(fs::TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(5)),
        }
    }
}

fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let part = beside(path, "new");
    let written = File::create(&part).and_then(|mut file| {
        if let Ok(old) = path.metadata() {
            file.set_permissions(old.permissions())?;
        }
        file.write_all(bytes)?;
        file.sync_all()
    });
    written.and_then(|()| fs::rename(&part, path)).inspect_err(|_| {
        let _ = fs::remove_file(&part);
    })
}

/// `.config.toml.lock` for `config.toml`.
fn beside(path: &Path, ending: &str) -> PathBuf {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    path.with_file_name(format!(".{name}.{ending}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_ends_and_the_mark_at_the_beginning_stay() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("config.toml");
        let set = [Change::Set(vec!["harness".into()], "pi".into())];
        for (old, new) in [
            ("\u{feff}# a\r\nmodel = \"x\"\r\n", "\u{feff}# a\r\nmodel = \"x\"\r\nharness = \"pi\"\r\n"),
            ("# a\nmodel = \"x\"\n", "# a\nmodel = \"x\"\nharness = \"pi\"\n"),
        ] {
            fs::write(&file, old).unwrap();
            apply(&file, &set).unwrap();
            assert_eq!(fs::read_to_string(&file).unwrap(), new);
        }
    }

    #[cfg(unix)]
    #[test]
    fn a_link_stays_one_and_a_file_that_may_not_be_written_is_left_alone() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let dir = tempfile::tempdir().unwrap();
        let (link, file) = (dir.path().join("config.toml"), dir.path().join("kept.toml"));
        symlink("kept.toml", &link).unwrap();
        let set = [Change::Set(vec!["harness".into()], "pi".into())];
        apply(&link, &set).unwrap();
        assert!(link.symlink_metadata().unwrap().is_symlink());
        assert_eq!(fs::read_to_string(&file).unwrap(), "harness = \"pi\"\n");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o444)).unwrap();
        let why = apply(&link, &[Change::Set(vec!["harness".into()], "x".into())]).unwrap_err();
        assert!(why.to_string().contains("may not be written"), "{why}");
        assert_eq!(fs::read_to_string(&file).unwrap(), "harness = \"pi\"\n");
    }
}
