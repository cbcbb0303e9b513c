//! Which file of the project a command line would replace by a redirection.
//!
//! A guard against slips, not a fence: what the shell would make of variables, patterns and functions is
//! not guessed, and then nothing is found.

use std::path::{Path, PathBuf};

/// The first file below `project` that has content and stands behind a `>` that does not append. Names are
/// taken from `folder`, as the command starts there.
pub(super) fn overwritten(command: &str, folder: &Path, project: &Path) -> Option<PathBuf> {
    targets(command).into_iter().map(|name| folder.join(name)).find(|file| {
        let real = file.canonicalize().unwrap_or_default();
        let project = project.canonicalize().unwrap_or_else(|_| project.to_owned());
        real.starts_with(project) && real.metadata().is_ok_and(|meta| meta.is_file() && meta.len() > 0)
    })
}

/// The plain words behind `>`, `>|` and `&>`. Here-documents are passed over, and after a `cd` relative
/// names mean something else, so nothing more is looked for.
fn targets(command: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut ends: Vec<String> = Vec::new();
    let mut skipping = false;
    for line in command.split('\n') {
        if let Some(end) = ends.first().filter(|_| skipping) {
            if line.trim_start_matches('\t').trim_end() == end {
                ends.remove(0);
                skipping = !ends.is_empty();
            }
            continue;
        }
        if line
            .split([';', '&', '|'])
            .any(|part| ["cd", "pushd"].contains(&part.split_whitespace().next().unwrap_or("")))
        {
            return found;
        }
        in_line(line, &mut found, &mut ends);
        skipping = !ends.is_empty();
    }
    found
}

fn in_line(line: &str, found: &mut Vec<String>, ends: &mut Vec<String>) {
    let mut chars = line.chars().peekable();
    let mut quote = None;
    let mut starts_word = true;
    while let Some(c) = chars.next() {
        match (c, quote) {
            ('\\', None | Some('"')) => {
                chars.next();
            }
            ('#', None) if starts_word => return,
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            ('<', None) if chars.next_if_eq(&'<').is_some() => {
                let here = chars.next_if_eq(&'<').is_none();
                chars.next_if_eq(&'-');
                ends.extend(word(&mut chars).filter(|_| here));
            }
            ('>', None) => {
                let appends = chars.next_if_eq(&'>').is_some();
                chars.next_if_eq(&'|');
                // `>&2` and `>(command)` name no file.
                if chars.peek().is_some_and(|next| ['&', '('].contains(next)) {
                    continue;
                }
                let name = word(&mut chars);
                found.extend(name.filter(|name| !appends && !name.contains(['$', '*', '?', '`', '~'])));
            }
            _ => {}
        }
        starts_word = c.is_whitespace();
    }
}

/// The next word, out of its quotes.
fn word(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) -> Option<String> {
    while chars.next_if(|c| c.is_whitespace()).is_some() {}
    let mut word = String::new();
    let mut quote = None;
    while let Some(&c) = chars.peek() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, None) if c.is_whitespace() || ";|&<>()".contains(c) => break,
            _ => word.push(c),
        }
        chars.next();
    }
    (!word.is_empty()).then_some(word)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_line_would_replace() {
        let table: [(&str, &[&str]); 14] = [
            ("cat x > a.py", &["a.py"]),
            ("cat x >a.py 2>err", &["a.py", "err"]),
            ("make &> 'the log'; ls >| b", &["the log", "b"]),
            ("cat x >> a.py", &[]),
            ("ls 2>&1 >&2", &[]),
            ("echo '>' \"> b\" \\> c # > d", &[]),
            ("cat > a.py <<'EOF'\nif a > b:\nEOF\necho > c", &["a.py", "c"]),
            ("cat <<-X > a\n\t> no\n\tX\n", &["a"]),
            ("python3 - <<< 'x > y' > z", &["z"]),
            ("cat x > $OUT", &[]),
            ("diff <(ls) >(cat) > o", &["o"]),
            ("cd sub && ls > a", &[]),
            ("echo a#b > c", &["c"]),
            ("", &[]),
        ];
        for (command, want) in table {
            assert_eq!(targets(command), want, "{command}");
        }
    }

    #[test]
    fn only_files_of_the_project_with_something_in_them() {
        let dir = tempfile::tempdir().unwrap();
        let project = dir.path().join("project");
        std::fs::create_dir(&project).unwrap();
        std::fs::write(project.join("full"), "x").unwrap();
        std::fs::write(project.join("empty"), "").unwrap();
        std::fs::write(dir.path().join("outside"), "x").unwrap();
        for (command, want) in [
            ("ls > full", true),
            ("ls > empty", false),
            ("ls > new", false),
            ("ls > ../outside", false),
            ("ls > /dev/null", false),
        ] {
            assert_eq!(overwritten(command, &project, &project).is_some(), want, "{command}");
        }
    }
}
