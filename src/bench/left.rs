//! What an agent left behind, as far as it explains why a check said no.

use std::fs;
use std::io;
use std::path::Path;

use super::folder;
use crate::code;

/// Larger files are not what a task is about.
const MOST: u64 = 1 << 20;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Left {
    /// All files are as they were.
    Untouched,
    /// A file that was changed or made does not parse, and did not fail to before.
    Broken,
    Changed,
}

/// Compares the folder `after` with what was laid out in `before`.
pub(super) fn left(before: &Path, after: &Path) -> io::Result<Left> {
    if folder::hash(before)? == folder::hash(after)? {
        return Ok(Left::Untouched);
    }
    let mut broken = false;
    folder::walk(after, &mut |path, kind| {
        let small = kind.is_file() && path.symlink_metadata()?.len() <= MOST;
        let Some(text) = small.then(|| fs::read_to_string(path).ok()).flatten() else { return Ok(()) };
        let name = path.strip_prefix(after).unwrap_or(path);
        let old = fs::read_to_string(before.join(name)).unwrap_or_default();
        let change = (old != text).then(|| code::change(&name.to_string_lossy(), &old, &text)).flatten();
        broken |= change.is_some_and(|change| change.breaks);
        Ok(())
    })?;
    Ok(if broken { Left::Broken } else { Left::Changed })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_left_is_told_apart() {
        let table = [
            ("a.py", "x = 1\n", Left::Untouched),
            ("a.py", "x = 2\n", Left::Changed),
            ("a.py", "x = (\n", Left::Broken),
            ("b.py", "def f(:\n", Left::Broken),
            ("b.txt", "def f(:\n", Left::Changed),
        ];
        for (name, text, want) in table {
            let dir = tempfile::tempdir().unwrap();
            let (before, after) = (dir.path().join("before"), dir.path().join("after"));
            for place in [&before, &after] {
                fs::create_dir(place).unwrap();
                fs::write(place.join("a.py"), "x = 1\n").unwrap();
            }
            fs::write(after.join(name), text).unwrap();
            assert_eq!(left(&before, &after).unwrap(), want, "{name} {text}");
        }
    }
}
