//! A patch that a model sends through the shell: `apply_patch <<'EOF'`, from the habit of programs
//! that have such a command.

use std::path::Path;

use crate::model::Action;

/// The patch, where the command is `word` with a here-document and nothing else; `cd folder &&` may
/// stand before it. Every other action stays what it is.
pub(super) fn as_patch(word: &str, action: Action) -> Action {
    let Action::Shell { command, cwd, .. } = &action else { return action };
    let Some((folder, text)) = read(word, command) else { return action };
    let cwd = match (cwd, folder) {
        (Some(cwd), Some(folder)) => Some(Path::new(cwd).join(folder).to_string_lossy().into_owned()),
        (cwd, folder) => folder.or_else(|| cwd.clone()),
    };
    Action::Patch { text, cwd }
}

/// Folder and text.
fn read(word: &str, command: &str) -> Option<(Option<String>, String)> {
    let (first, rest) = command.trim().split_once('\n')?;
    let words = shlex::split(first)?;
    let (folder, words) = match &words[..] {
        [cd, folder, and, words @ ..] if cd == "cd" && and == "&&" => (Some(folder.clone()), words),
        words => (None, words),
    };
    let [called, mark @ ..] = words else { return None };
    let mark = mark.concat();
    let end = mark.strip_prefix("<<")?.trim_start_matches('-');
    let plain = !end.is_empty() && end.chars().all(|c| c.is_alphanumeric() || c == '_');
    // What stands after the end of the here-document would be a second command.
    let (text, last) = rest.rsplit_once('\n')?;
    (called == word && plain && last.trim() == end && !text.lines().any(|line| line == end))
        .then(|| (folder, text.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(command: &str, cwd: Option<&str>) -> Action {
        let (command, cwd) = (command.to_owned(), cwd.map(str::to_owned));
        Action::Shell {
            command,
            timeout: None,
            background: false,
            yield_after: Some(1),
            cwd,
            about: None,
            within: Default::default(),
        }
    }

    #[test]
    fn only_a_lone_here_document_is_a_patch() {
        let patch = "*** Begin Patch\n*** Delete File: a\n*** End Patch";
        let table = [
            (format!("apply_patch <<'EOF'\n{patch}\nEOF"), None, Some(None)),
            (format!("apply_patch << \"END_1\"\n{patch}\nEND_1\n"), Some("sub"), Some(Some("sub"))),
            (format!("cd 'my dir' && apply_patch <<EOF\n{patch}\nEOF"), None, Some(Some("my dir"))),
            (format!("cd x && apply_patch <<EOF\n{patch}\nEOF"), Some("/p"), Some(Some("/p/x"))),
            (format!("apply_patch <<'EOF'\n{patch}\nEOF\nrm a"), None, None),
            (format!("apply_patch <<'EOF'\n{patch}\nEOF\nrm a\nEOF"), None, None),
            (format!("apply_patch <<'EOF' && rm a\n{patch}\nEOF"), None, None),
            (format!("cat <<'EOF'\n{patch}\nEOF"), None, None),
            (format!("apply_patch <<'EOF'\n{patch}"), None, None),
            ("apply_patch a.diff".to_owned(), None, None),
            ("apply_patch".to_owned(), None, None),
        ];
        for (command, cwd, want) in table {
            let got = as_patch("apply_patch", shell(&command, cwd));
            let want = match want {
                Some(cwd) => Action::Patch { text: patch.to_owned(), cwd: cwd.map(str::to_owned) },
                None => shell(&command, cwd),
            };
            assert_eq!(got, want, "{command}");
        }
    }
}
