//! The text of a patch in Codex's `*** Begin Patch` format.
//!
//! Format: openai/codex, `codex-rs/apply-patch`.

use std::path::Path;

use super::hunk::{Hunk, Row};
use super::text;

/// What a patch does to one file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Section {
    Add { path: String, text: String },
    Delete { path: String },
    Update { path: String, to: Option<String>, hunks: Vec<Hunk> },
}

/// Reads a patch. What stands before the first and after the last marker (a fence, a heredoc's
/// command) is passed over.
pub(super) fn parse(patch: &str) -> Result<Vec<Section>, String> {
    let patch = text::normal(patch);
    let lines: Vec<&str> = patch.lines().collect();
    let begin = lines.iter().position(|line| line.trim() == "*** Begin Patch");
    let Some(begin) = begin else { return Err("the patch has no line `*** Begin Patch`".into()) };
    let end = lines.iter().rposition(|line| line.trim() == "*** End Patch").filter(|end| *end > begin);
    let Some(end) = end else {
        return Err("the patch has no line `*** End Patch`: it was cut off, so send all of it again".into());
    };
    let mut sections = Vec::new();
    for (nth, line) in lines[begin + 1..end].iter().enumerate() {
        let at = nth + 1;
        if let Some(section) = header(line) {
            sections.push(section);
            continue;
        }
        let Some(section) = sections.last_mut() else {
            if line.trim().is_empty() {
                continue;
            }
            return Err(format!(
                "patch line {at} `{line}` is outside any file; begin with `*** Add File: `, `*** Update File: ` or `*** Delete File: `"
            ));
        };
        section.take(line).map_err(|why| format!("patch line {at} `{line}`: {why}"))?;
    }
    if sections.is_empty() {
        return Err("the patch names no file".into());
    }
    for section in &sections {
        section.check()?;
    }
    Ok(sections)
}

fn header(line: &str) -> Option<Section> {
    let line = line.trim();
    let name = |prefix: &str| line.strip_prefix(prefix).map(|path| path.trim().to_owned());
    name("*** Add File:")
        .map(|path| Section::Add { path, text: String::new() })
        .or_else(|| name("*** Delete File:").map(|path| Section::Delete { path }))
        .or_else(|| {
            name("*** Update File:").map(|path| Section::Update { path, to: None, hunks: Vec::new() })
        })
}

impl Section {
    pub(super) fn path(&self) -> &str {
        match self {
            Self::Add { path, .. } | Self::Delete { path } | Self::Update { path, .. } => path,
        }
    }

    /// Puts `folder` before the paths that are relative.
    pub(super) fn start_from(&mut self, folder: &str) {
        let (path, to) = match self {
            Self::Add { path, .. } | Self::Delete { path } => (path, None),
            Self::Update { path, to, .. } => (path, to.as_mut()),
        };
        for path in [Some(path), to].into_iter().flatten() {
            *path = Path::new(folder).join(&*path).to_string_lossy().into_owned();
        }
    }

    fn take(&mut self, line: &str) -> Result<(), String> {
        match self {
            Self::Delete { .. } if line.trim().is_empty() => Ok(()),
            Self::Delete { .. } => Err("a deleted file has no lines".into()),
            Self::Add { text, .. } => match line.strip_prefix('+') {
                Some(new) => {
                    text.push_str(new);
                    text.push('\n');
                    Ok(())
                }
                None if line.trim().is_empty() => Ok(()),
                None => Err("each line of an added file begins with `+`".into()),
            },
            Self::Update { to, hunks, .. } => {
                if hunks.is_empty()
                    && let Some(path) = line.trim().strip_prefix("*** Move to:")
                {
                    *to = Some(path.trim().to_owned());
                    return Ok(());
                }
                take_hunk_line(hunks, line)
            }
        }
    }

    fn check(&self) -> Result<(), String> {
        match self {
            section if section.path().is_empty() => Err("a file in the patch has no name".into()),
            Self::Update { path, to: None, hunks } if hunks.is_empty() => {
                Err(format!("the update of {path} holds no hunk"))
            }
            Self::Update { path, hunks, .. } if hunks.iter().any(|hunk| hunk.rows.is_empty()) => {
                Err(format!("a hunk of {path} holds no lines"))
            }
            Self::Add { .. } | Self::Delete { .. } | Self::Update { .. } => Ok(()),
        }
    }
}

fn take_hunk_line(hunks: &mut Vec<Hunk>, line: &str) -> Result<(), String> {
    if let Some(header) = line.trim_start().strip_prefix("@@") {
        let header = header.trim().trim_end_matches("@@").trim_end();
        // Headers that follow each other narrow the place down together.
        if hunks.last().is_none_or(|hunk| !hunk.rows.is_empty()) {
            hunks.push(Hunk::default());
        }
        let unified = header.starts_with('-') && header.contains(" +");
        if let Some(hunk) = hunks.last_mut()
            && !header.is_empty()
            && !unified
        {
            hunk.headers.push(header.to_owned());
        }
        return Ok(());
    }
    if line.trim() == "*** End of File" {
        return match hunks.last_mut() {
            Some(hunk) if !hunk.rows.is_empty() => {
                hunk.at_end = true;
                Ok(())
            }
            Some(_) | None => Err("there is no hunk before it".into()),
        };
    }
    let row = match line.split_at_checked(1) {
        Some(("+", rest)) => Row::New(rest.into()),
        Some(("-", rest)) => Row::Old(rest.into()),
        Some((" ", rest)) => Row::Keep(rest.into()),
        // Models drop the blank that stands for an empty line of context.
        None if line.is_empty() => Row::Keep(String::new()),
        Some(_) | None => return Err("a hunk's line begins with ` `, `-` or `+`, a hunk with `@@`".into()),
    };
    if hunks.last().is_none_or(|hunk| hunk.at_end) {
        hunks.push(Hunk::default());
    }
    if let Some(hunk) = hunks.last_mut() {
        hunk.rows.push(row);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::hunk::apply;
    use super::*;

    #[test]
    fn a_line_of_no_sort_is_refused_in_any_script() {
        for line in ["x", "é", "中 = 1"] {
            let wrong =
                parse(&format!("*** Begin Patch\n*** Update File: f\n@@\n-a\n{line}\n+b\n*** End Patch\n"));
            assert!(wrong.unwrap_err().contains("begins with"), "{line}");
        }
    }

    proptest! {
        #[test]
        fn lines_that_a_patch_does_not_name_keep_their_bytes(
            before in proptest::collection::vec(("[a-z ]{0,6}", any::<bool>()), 0..8),
            after in proptest::collection::vec(("[a-z ]{0,6}", any::<bool>()), 0..8),
            crlf in any::<bool>(),
            open in any::<bool>(),
        ) {
            let file = |lines: &[(String, bool)]| -> String {
                lines.iter().map(|(line, crlf)| [line.as_str(), if *crlf { "\r\n" } else { "\n" }].concat()).collect()
            };
            let end = if crlf { "\r\n" } else { "\n" };
            let rest = file(&after);
            let rest = if open { rest.trim_end_matches(['\r', '\n']) } else { &rest };
            let end_here = if open && rest.is_empty() { "" } else { end };
            let old = [&file(&before), "MARK", end_here, rest].concat();
            let patch = "*** Begin Patch\n*** Update File: f\n@@\n-MARK\n+made\n*** End Patch\n";
            let sections = parse(patch).expect("a patch");
            let Section::Update { hunks, .. } = &sections[0] else { panic!("an update") };
            let new = apply(old.as_bytes(), hunks).expect("a place");
            prop_assert_eq!(String::from_utf8_lossy(&new), old.replace("MARK", "made"));
        }

        #[test]
        fn no_text_makes_the_parser_panic(text in "(\\*\\*\\* (Begin|End) Patch|\\*\\*\\* (Add|Update|Delete) File: f|@@|[-+ ]a|\n){0,12}") {
            let _ = parse(&text);
        }
    }
}
