//! What a call is likely to need of the policy: estimated from the action, before it runs.
//!
//! Only an estimate, so that a person is asked before and not after. What is overlooked the sandbox refuses.

use std::path::{Path, PathBuf};

use super::line::{Command, Line};
use crate::model::Action;
use crate::sandbox::{By, Lift, Op, Verdict, offline, real};
use crate::tools::{ToolCx, Touch, touches};

/// What the policy refuses of it: the rule in the policy's own words, and the lift.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Need {
    pub(super) lift: Lift,
    pub(super) why: String,
    /// Somebody could read with it, but nothing more.
    pub(super) reads: bool,
}

/// First words of what wants the network; behind a program alone: whatever its arguments.
const ONLINE: &[(&str, &[&str])] = &[
    ("curl", &[]),
    ("wget", &[]),
    ("ssh", &[]),
    ("scp", &[]),
    ("sftp", &[]),
    ("ping", &[]),
    ("dig", &[]),
    ("nslookup", &[]),
    ("gh", &[]),
    ("npx", &[]),
    ("bunx", &[]),
    ("uvx", &[]),
    ("apt", &["install", "update", "upgrade", "download"]),
    ("apt-get", &["install", "update", "upgrade", "download"]),
    ("brew", &["install", "update", "upgrade", "fetch"]),
    ("bun", &["install", "i", "add", "update"]),
    ("bundle", &["install", "update"]),
    ("cargo", &["fetch", "install", "update", "add", "search", "publish"]),
    ("composer", &["install", "require", "update"]),
    ("conda", &["install", "create", "update"]),
    ("gem", &["install", "update", "fetch"]),
    ("git", &["push", "pull", "fetch", "clone", "ls-remote"]),
    ("go", &["get", "install"]),
    ("npm", &["install", "i", "ci", "add", "update", "publish", "audit", "view", "create", "init", "exec"]),
    ("pip", &["install", "download", "index"]),
    ("pipx", &["install", "run", "upgrade"]),
    ("pnpm", &["install", "i", "add", "update", "publish", "dlx", "create"]),
    ("poetry", &["install", "add", "lock", "update", "publish"]),
    ("rustup", &["install", "update", "toolchain", "target", "component"]),
    ("uv", &["add", "sync", "lock", "pip", "tool", "python"]),
    ("yarn", &["install", "add", "upgrade", "dlx", "create"]),
];

/// What writes git's own files.
const COMMITS: &[&str] = &[
    "add",
    "am",
    "bisect",
    "checkout",
    "cherry-pick",
    "commit",
    "fetch",
    "gc",
    "merge",
    "mv",
    "notes",
    "pull",
    "push",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "submodule",
    "switch",
    "worktree",
];
/// The same, when they are given something to act on.
const COMMITS_WITH: &[&str] = &["branch", "stash", "tag"];
const LISTS: &[&str] =
    &["list", "show", "-l", "--list", "-a", "-r", "-v", "-vv", "--show-current", "--contains"];

/// Programs that write all that they name, and those that write the last of it.
const WRITERS: &[&str] =
    &["touch", "mkdir", "rm", "rmdir", "mv", "tee", "chmod", "chown", "truncate", "unlink", "shred"];
const WRITE_LAST: &[&str] = &["cp", "ln", "install", "rsync"];

pub(super) fn needs(action: &Action, cx: &ToolCx<'_>) -> Vec<Need> {
    let mut all = Vec::new();
    match action {
        Action::Shell { command, cwd, .. } => {
            let start = cx.policy.cwd.join(cwd.as_deref().unwrap_or_default());
            of_line(&Line::read(command), start, cx, &mut all);
        }
        Action::Fetch { .. } => online(cx, &mut all),
        other => {
            for Touch { path, op } in touches(other, cx) {
                touch(&path, (op, By::Tool), cx, &mut all);
            }
        }
    }
    all
}

fn of_line(line: &Line, mut cwd: PathBuf, cx: &ToolCx<'_>, all: &mut Vec<Need>) {
    for command in &line.commands {
        let (program, args) = command.program();
        if program == "cd" {
            if let Some(to) = args.first() {
                cwd = resolve(to, &cwd, cx);
            }
            continue;
        }
        if wants_network(program, args) {
            online(cx, all);
        }
        if commits(program, args)
            && let Some(git) = cwd.ancestors().map(|dir| dir.join(".git")).find(|git| git.exists())
        {
            touch(&git.join("index"), (Op::Write, By::Command), cx, all);
        }
        let by = |op| (op, By::Command);
        for target in command.writes.iter().chain(written(program, args)).filter(|word| literal(word)) {
            touch(&resolve(target, &cwd, cx), by(Op::Write), cx, all);
        }
        for word in args.iter().filter(|word| literal(word) && (word.contains('/') || word.starts_with('~')))
        {
            touch(&resolve(word, &cwd, cx), by(Op::Read), cx, all);
        }
    }
}

/// What the shell does not make something else of.
fn literal(word: &str) -> bool {
    !word.is_empty()
        && !word.contains(['$', '*', '?', '\0'])
        && !word.starts_with('-')
        && !word.contains("://")
}

fn resolve(word: &str, cwd: &Path, cx: &ToolCx<'_>) -> PathBuf {
    let home = || cx.env.iter().find(|(name, _)| name == "HOME").map(|(_, home)| PathBuf::from(home));
    match word.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with('/')) {
        Some(rest) => home().map_or_else(|| cwd.join(word), |home| home.join(rest.trim_start_matches('/'))),
        None => cwd.join(word),
    }
}

fn written<'a>(program: &str, args: &'a [String]) -> Vec<&'a String> {
    let named: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let in_place = |arg: &String| arg.starts_with("-i") || arg == "--in-place";
    match program {
        _ if WRITERS.contains(&program) => named,
        _ if WRITE_LAST.contains(&program) => named.into_iter().skip(1).next_back().into_iter().collect(),
        "sed" if args.iter().any(in_place) => named.into_iter().skip(1).collect(),
        _ => Vec::new(),
    }
}

/// Whether the program with these arguments asks somebody outside of this machine.
pub(super) fn wants_network(program: &str, args: &[String]) -> bool {
    let program = if program.starts_with("pip") && program != "pipx" { "pip" } else { program };
    let here = |arg: &String| ["localhost", "127.0.0.1", "[::1]"].iter().any(|here| arg.contains(here));
    if args.iter().any(|arg| here(arg) || arg == "--help" || arg == "--version") {
        return false;
    }
    if program.starts_with("python")
        && let [flag, module, rest @ ..] = args
        && flag == "-m"
    {
        return wants_network(module, rest);
    }
    if program == "rsync" {
        return args.iter().any(|arg| arg.contains(':'));
    }
    let verb = verb(program, args);
    let listed = ONLINE.iter().find(|(known, _)| *known == program);
    listed.is_some_and(|(_, verbs)| verbs.is_empty() || verb.is_some_and(|verb| verbs.contains(&verb)))
        || program == "yarn" && args.is_empty()
}

fn commits(program: &str, args: &[String]) -> bool {
    let Some(verb) = verb(program, args).filter(|_| program == "git") else { return false };
    let rest: Vec<&String> = args.iter().skip_while(|arg| *arg != verb).skip(1).collect();
    let lists = rest.iter().any(|arg| LISTS.contains(&arg.as_str()));
    COMMITS.contains(&verb) || COMMITS_WITH.contains(&verb) && !lists && (verb == "stash" || !rest.is_empty())
}

/// The first argument that is no option; git's own options have values of their own.
pub(super) fn verb<'a>(program: &str, args: &'a [String]) -> Option<&'a str> {
    let mut args = args.iter();
    while let Some(arg) = args.next() {
        if program == "git" && (arg == "-C" || arg == "-c") {
            args.next();
        } else if !arg.starts_with('-') && !arg.starts_with('+') {
            return Some(arg);
        }
    }
    None
}

fn online(cx: &ToolCx<'_>, all: &mut Vec<Need>) {
    if offline(cx.policy).is_some() {
        let why = format!("network: not allowed by {}", cx.policy.mode.name());
        add(Need { lift: Lift::Network, why, reads: true }, all);
    }
}

fn touch(path: &Path, (op, by): (Op, By), cx: &ToolCx<'_>, all: &mut Vec<Need>) {
    let path = real(&cx.policy.host(path));
    let Verdict::Denied(why) = cx.policy.explain(&path, op) else { return };
    // A command finds devices of its own.
    if by == By::Command && ["/dev", "/proc", "/run"].iter().any(|own| path.starts_with(own)) {
        return;
    }
    if let Some(lift) = cx.policy.lift_for(&path, (op, by)) {
        let what = if op == Op::Read { "read" } else { "write" };
        let shown = cx.policy.seen(&path).display().to_string();
        let rule = why.strip_prefix(&format!("{shown} is ")).unwrap_or(&why);
        let why = format!("{what} {shown}: {rule}");
        add(Need { lift, why, reads: op == Op::Read }, all);
    }
}

fn add(need: Need, all: &mut Vec<Need>) {
    if !all.iter().any(|known| known.lift == need.lift) {
        all.push(need);
    }
}

impl Command {
    /// It asks somebody outside of this machine.
    pub(super) fn is_online(&self) -> bool {
        let (program, args) = self.program();
        wants_network(program, args)
    }
}

#[cfg(test)]
mod tests;
