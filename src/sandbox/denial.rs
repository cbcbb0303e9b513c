//! Saying what the sandbox blocked, from the output of a command.
//!
//! Kernels do not name the rule. So: lines that speak of a refusal are searched for paths, and only
//! a path that *our policy* refuses is reported. Most "permission denied" texts are ordinary.

use std::path::{Path, PathBuf};

use super::policy::{By, Lift, real, starts_programs};
use super::{GitAccess, Mode, Net, Op, Policy, Verdict};

/// The refusal is at the end of what a command prints.
const TAIL: usize = 16 * 1024;
const MOST: usize = 4;

/// Refusals that only a write can meet.
const READ_ONLY: &[&str] = &["read-only file system", "erofs", "invalid cross-device link", "exdev"];
/// Refusals that a read can meet as well.
const REFUSED: &[&str] =
    &["permission denied", "operation not permitted", "eacces", "eperm", "device or resource busy", "ebusy"];
const WRITING: &[&str] = &[
    "create", "creat", "writ", "touch", "mkdir", "remove", "unlink", "renam", "move", "copy", "lock",
    "append", "save",
];
const OFFLINE: &[&str] = &[
    "could not resolve host",
    "name resolution",
    "name or service not known",
    "network is unreachable",
    "enetunreach",
    "eai_again",
    "enotfound",
    "no address associated with hostname",
    "failed to lookup address",
    "dns error",
    "nodename nor servname",
];

/// Why nothing reaches the network under this policy, in the words that a command's failure gets; None
/// where commands reach it.
pub fn offline(policy: &Policy) -> Option<String> {
    match (policy.mode, policy.net) {
        (Mode::DangerFullAccess, Net::Off | Net::Full) | (_, Net::Full) => None,
        (Mode::ReadOnly | Mode::WorkspaceWrite, Net::Off) => {
            Some(denial_hint(policy, OFFLINE[0]).unwrap_or_else(|| "the network is off".to_owned()))
        }
    }
}

/// What was blocked and what would lift it, in at most six lines; None when our policy blocked
/// nothing that the output speaks of. For commands that failed.
pub fn denial_hint(policy: &Policy, output: &str) -> Option<String> {
    if policy.mode == Mode::DangerFullAccess {
        return None;
    }
    let mut lines = Vec::new();
    let mut lifts: Vec<String> = Vec::new();
    for found in found(policy, output) {
        let line = format!("[sandbox] blocked: {}", found.line());
        if lines.len() < MOST && !lines.contains(&line) {
            lines.push(line);
            let flag = match &found {
                Found::Path { path, .. } => lift(policy, path).unwrap_or_default(),
                Found::Network => "-c sandbox_workspace_write.network_access=true".to_owned(),
            };
            if !flag.is_empty() && !lifts.contains(&flag) {
                lifts.push(flag);
            }
        }
    }
    if lines.is_empty() {
        return None;
    }
    lifts.push("-s danger-full-access".into());
    lines.push(format!("[sandbox] only the user can lift this, with a flag of tack: {}", lifts.join(" or ")));
    Some(lines.join("\n"))
}

/// What our policy blocked of a command that printed this and failed: each as what it was and by which
/// rule, and the lift that a second run would need. Nothing that no lift is for.
pub fn denied(policy: &Policy, output: &str) -> Vec<(String, Lift)> {
    let mut all: Vec<(String, Lift)> = Vec::new();
    if policy.mode == Mode::DangerFullAccess {
        return all;
    }
    for found in found(policy, output) {
        let lift = match &found {
            Found::Path { path, op, .. } => {
                policy.lift_for(&real(&policy.host(&policy.cwd.join(path))), (*op, By::Command))
            }
            Found::Network => Some(Lift::Network),
        };
        if let Some(lift) = lift.filter(|lift| !all.iter().any(|(_, known)| known == lift)) {
            all.push((found.line(), lift));
        }
    }
    all.truncate(MOST);
    all
}

enum Found {
    /// `path` as the command wrote it.
    Path {
        path: PathBuf,
        op: Op,
        what: String,
        rule: String,
    },
    Network,
}

impl Found {
    fn line(&self) -> String {
        match self {
            Self::Path { what, rule, .. } => format!("{what} ({rule})"),
            Self::Network => "network (off for commands)".to_owned(),
        }
    }
}

fn found(policy: &Policy, output: &str) -> Vec<Found> {
    let mut all = Vec::new();
    for line in tail(output).lines().filter(|line| !line.starts_with("[sandbox] ")) {
        let lower = line.to_lowercase();
        let has = |words: &[&str]| words.iter().any(|w| lower.contains(w));
        let writes = has(READ_ONLY) || has(REFUSED) && has(WRITING);
        if has(READ_ONLY) || has(REFUSED) {
            for path in paths(line) {
                if let Some((op, what, rule)) = blocked(policy, &path, writes) {
                    all.push(Found::Path { path, op, what, rule });
                }
            }
        }
        // As words: `FileNotFoundError` has `enotfound` in it.
        let begins = |word: &&str| {
            lower.match_indices(*word).any(|(at, _)| !lower[..at].ends_with(char::is_alphanumeric))
        };
        if policy.net == Net::Off && OFFLINE.iter().any(begins) {
            all.push(Found::Network);
        }
    }
    all
}

fn blocked(policy: &Policy, path: &Path, writes: bool) -> Option<(Op, String, String)> {
    let path = real(&policy.host(&policy.cwd.join(path)));
    if let Verdict::Denied(rule) = policy.explain(&path, Op::Read) {
        return Some((Op::Read, format!("read {}", path.display()), rule));
    }
    match policy.explain(&path, Op::Write) {
        Verdict::Denied(rule) if writes => Some((Op::Write, format!("write {}", path.display()), rule)),
        Verdict::Denied(_) | Verdict::Allowed => None,
    }
}

/// None where only full access helps.
fn lift(policy: &Policy, path: &Path) -> Option<String> {
    let path = real(&policy.cwd.join(path));
    if policy.explain(&path, Op::Read) != Verdict::Allowed {
        return Some("[sandbox] reveal in the config file".into());
    }
    if policy.mode == Mode::ReadOnly {
        return Some("-s workspace-write".into());
    }
    let repository = path.components().any(|c| c.as_os_str() == ".git");
    if starts_programs(&path) {
        return None;
    }
    if repository && policy.git == GitAccess::Read {
        return Some("--git commit".into());
    }
    if repository || policy.protect.iter().any(|p| path.starts_with(p)) {
        return None;
    }
    let dir = path.ancestors().skip(1).find(|p| p.is_dir()).unwrap_or(Path::new("DIR"));
    Some(format!("--add-dir {}", dir.display()))
}

/// Quoted words, words with a slash, and the last word before a colon: where programs put the name.
fn paths(line: &str) -> Vec<PathBuf> {
    // `/bin/sh: 1: cannot create x: ...`: the program that speaks is not what it speaks of.
    let speaker = line.split(": ").next().filter(|_| line.matches(": ").count() > 1).unwrap_or_default();
    let line = &line[speaker.len()..];
    let mut found: Vec<&str> = Vec::new();
    let quotes = ['\'', '"', '`', '\u{2018}', '\u{2019}'];
    found.extend(line.split(quotes).skip(1).step_by(2));
    found.extend(line.split(": ").filter(|part| !part.contains(' ') && part.contains('/')));
    found.extend(line.rsplit(": ").skip(1).take(1).filter_map(|part| part.rsplit(' ').next()));
    let trimmed =
        |word: &str| word.trim_matches(|c: char| quotes.contains(&c) || ",;:()[]".contains(c)).to_owned();
    found.extend(line.split_whitespace().filter(|word| word.contains('/')));
    let mut words: Vec<String> = found.into_iter().map(trimmed).filter(|w| !w.is_empty()).collect();
    words.retain(|w| !w.contains("://") && !w.contains('\0'));
    words.dedup();
    words.into_iter().map(PathBuf::from).collect()
}

fn tail(output: &str) -> &str {
    let from = output.len().saturating_sub(TAIL);
    let from = (from..output.len()).find(|i| output.is_char_boundary(*i)).unwrap_or(from);
    &output[from..]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Wish;

    fn hint(mode: Mode, output: &str) -> Option<String> {
        let tmp = tempfile::tempdir().unwrap();
        let home = tmp.path().canonicalize().unwrap();
        let proj = home.join("proj");
        for dir in ["proj/.git", ".ssh"] {
            std::fs::create_dir_all(home.join(dir)).unwrap();
        }
        let wish = Wish { home: Some(home.clone()), ..Wish::new(mode, &proj) };
        let policy = wish.settle().unwrap().policy;
        let text = output.replace("HOME", home.to_str().unwrap());
        denial_hint(&policy, &text).map(|h| h.replace(home.to_str().unwrap(), "HOME"))
    }

    #[test]
    fn a_hint_names_what_the_policy_refused_and_the_flag() {
        let cases = [
            (
                "touch: cannot touch 'HOME/.bashrc': Read-only file system",
                "write HOME/.bashrc",
                "--add-dir HOME",
            ),
            (
                "fatal: Unable to create 'HOME/proj/.git/index.lock': Read-only file system",
                "index.lock",
                "--git commit",
            ),
            (
                "/bin/sh: 1: cannot create .tack/y: Read-only file system",
                "write HOME/proj/.tack/y",
                "danger-full-access",
            ),
            ("cat: HOME/.ssh/id: Permission denied", "read HOME/.ssh/id", "reveal"),
            ("sh: 1: cannot create ../out: Permission denied", "write HOME/out", "--add-dir HOME"),
            ("curl: (6) Could not resolve host: example.org", "network", "network_access=true"),
        ];
        for (output, what, lift) in cases {
            let text = hint(Mode::WorkspaceWrite, output).unwrap_or_default();
            assert!(text.contains(what) && text.contains(lift), "{output}\n{text}");
            assert!(text.lines().count() <= 6);
        }
        let text = hint(Mode::ReadOnly, "sh: 1: cannot create out: Read-only file system").unwrap();
        assert!(text.contains("-s workspace-write"), "{text}");
    }

    #[test]
    fn ordinary_refusals_are_not_claimed() {
        for output in [
            "cat: /root/x: Permission denied",
            "touch: cannot touch 'HOME/proj/x': Permission denied",
            "./run.sh: Permission denied",
            "all good, /etc is read",
            "FileNotFoundError: [Errno 2] No such file or directory: 'prefs.json'",
            "/bin/sh: 1: cannot create x: Read-only file system",
            "",
        ] {
            assert_eq!(hint(Mode::WorkspaceWrite, output), None, "{output}");
        }
    }

    #[test]
    fn what_a_model_reads() {
        let output = "touch: cannot touch 'HOME/.bashrc': Read-only file system\n\
                      fatal: Unable to create 'HOME/proj/.git/index.lock': Read-only file system\n\
                      curl: (6) Could not resolve host: example.org";
        insta::assert_snapshot!(hint(Mode::WorkspaceWrite, output).unwrap(), @r"
        [sandbox] blocked: write HOME/.bashrc (outside the writable folders (HOME/proj); --add-dir DIR adds one)
        [sandbox] blocked: write HOME/proj/.git/index.lock (HOME/proj/.git is read-only; git's own files can be written with --git commit)
        [sandbox] blocked: network (off for commands)
        [sandbox] only the user can lift this, with a flag of tack: --add-dir HOME or --git commit or -c sandbox_workspace_write.network_access=true or -s danger-full-access
        ");
    }

    proptest::proptest! {
        #[test]
        fn no_output_is_too_odd(output in ".{0,400}(: |'|/|Permission denied|EROFS|\n){0,9}.{0,40}") {
            let policy = Wish::new(Mode::ReadOnly, ".").settle().unwrap().policy;
            let lines = denial_hint(&policy, &output).map_or(0, |hint| hint.lines().count());
            assert!(lines <= 6);
        }
    }
}
