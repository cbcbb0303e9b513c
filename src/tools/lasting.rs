//! Shells that last: the folder, the exported variables and the functions of one command are there
//! for the next.
//!
//! Each command still has a process of its own, so nothing that fails, hangs or is killed can spoil the
//! shell: it then stands as before that command. What lasts is written, when a command ends, to a
//! file that the next one reads, in the folder that commands see as `/tmp`.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::{ToolCx, lock, path};
use crate::sandbox::files;

/// The session of harnesses whose every command shares one.
pub(super) const MAIN: &str = "main";
/// Longest path that is taken for a folder.
const PATH_MOST: u64 = 4096;

/// `$1`: where the state is, `$2`: the command. Runs in bash and in any POSIX shell, the latter without functions.
///
/// A command may define functions called like the words used here. In POSIX mode bash prefers its own
/// `exit` and its like; those functions are not kept, as the next command would meet them on its way in.
const SCRIPT: &str = r#"case $1 in /*) __tack_state=$1 ;; *) __tack_state=${TMPDIR:-/tmp}/$1 ;; esac
__tack_command=$2
set --
[ -f "$__tack_state.env" ] && [ -r "$__tack_state.env" ] && . "$__tack_state.env" 2>/dev/null
true >|"$__tack_state.on"
__tack_save() {
    unset -f command exit trap eval set unset export declare pwd true '[' . __tack_save
    command pwd -P >|"$__tack_state.new" && command -p mv -f "$__tack_state.new" "$__tack_state.cwd"
    unset TACK_TREE PWD SHLVL POSIXLY_CORRECT
    { export -p; [ -n "$BASH_VERSION" ] && declare -f; } >|"$__tack_state.new"
    command -p mv -f "$__tack_state.new" "$__tack_state.env"
}
trap '{ __tack_exit=$? POSIXLY_CORRECT=y; set +eux; } 2>/dev/null; __tack_save 2>/dev/null; exit "$__tack_exit"' EXIT
eval "$__tack_command"
{ __tack_exit=$? POSIXLY_CORRECT=y; set +eux; } 2>/dev/null
__tack_save 2>/dev/null
exit "$__tack_exit""#;

/// For a state that ends, or holds up, the shell that reads it.
const UNREADABLE: &str = "[what this shell had set could not be read, so the command did not run; that is forgotten now: send the command again]";

#[derive(Default)]
pub(super) struct Sessions {
    /// Where each was left, as commands see it.
    all: Mutex<BTreeMap<String, Stand>>,
}

struct Stand {
    cwd: PathBuf,
    /// Taken up from an earlier run: its variables may be gone.
    resumed: bool,
}

/// How a command of a lasting shell is to be started.
pub(super) struct Entered {
    pub(super) args: Vec<OsString>,
    /// None: the working folder.
    pub(super) cwd: Option<PathBuf>,
    pub(super) notes: Vec<String>,
}

impl Sessions {
    pub(super) fn enter(&self, name: &str, command: &str, cx: &ToolCx<'_>) -> Entered {
        let state = state(name, cx);
        // Whether this command gets beyond the state is seen by it; not there, as a rule, before.
        let _ = files::remove(cx.policy, &state.file("on"));
        let mut notes = Vec::new();
        let mut cwd = None;
        if let Some(stand) = lock(&self.all).get_mut(name) {
            match files::resolve(cx.policy, &stand.cwd).is_ok_and(|real| real.is_dir()) {
                true => cwd = Some(stand.cwd.clone()),
                false => notes.push(format!(
                    "[{} is gone, so the shell is back in {}]",
                    path::show(&stand.cwd),
                    path::show(cx.cwd)
                )),
            }
            if std::mem::take(&mut stand.resumed) && files::open(cx.policy, &state.file("env")).is_err() {
                notes.push(
                    "[this shell is new: variables that were set in the one before are gone]".to_owned(),
                );
            }
        }
        let args = ["-c".into(), SCRIPT.into(), "bash".into(), state.argument, command.into()].into();
        Entered { args, cwd, notes }
    }

    /// To be called once a command is over. Some: it did not run, and what to say of that.
    pub(super) fn did_not_run(&self, name: &str, cx: &ToolCx<'_>) -> Option<&'static str> {
        let state = state(name, cx);
        let is_there = |kind| files::open(cx.policy, &state.file(kind)).is_ok();
        if is_there("on") || !is_there("env") {
            return None;
        }
        let _ = files::remove(cx.policy, &state.file("env"));
        Some(UNREADABLE)
    }

    /// Where the shell stands after a command, if that can be known.
    pub(super) fn leave(&self, name: &str, cx: &ToolCx<'_>) -> Option<PathBuf> {
        let opened = files::open(cx.policy, &state(name, cx).file("cwd")).ok()?;
        let mut text = String::new();
        opened.file.take(PATH_MOST).read_to_string(&mut text).ok()?;
        let cwd = PathBuf::from(text.strip_suffix('\n')?);
        if !cwd.is_absolute() {
            return None;
        }
        let cwd = cx.policy.seen(&cwd);
        lock(&self.all).insert(name.to_owned(), Stand { cwd: cwd.clone(), resumed: false });
        Some(cwd)
    }

    /// Begins anew.
    pub(super) fn forget(&self, name: &str, cx: &ToolCx<'_>) {
        lock(&self.all).remove(name);
        let state = state(name, cx);
        for kind in ["cwd", "env", "on"] {
            // Not there, if nothing ran yet.
            let _ = files::remove(cx.policy, &state.file(kind));
        }
    }

    pub(super) fn restore(&self, name: &str, cwd: &Path) {
        lock(&self.all).insert(name.to_owned(), Stand { cwd: cwd.to_owned(), resumed: true });
    }
}

struct State {
    /// As the script is told of it.
    argument: OsString,
    /// As it is here, without its ending.
    stem: PathBuf,
}

impl State {
    fn file(&self, kind: &str) -> PathBuf {
        let mut name = self.stem.clone().into_os_string();
        name.push(format!(".{kind}"));
        name.into()
    }
}

/// In the folder behind `/tmp`, whatever that is called in the cell; without one, beside the session.
fn state(name: &str, cx: &ToolCx<'_>) -> State {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let file = format!(".tack-shell-{}", name.chars().map(plain).collect::<String>());
    match cx.policy.tmp {
        Some(_) => State { stem: Path::new("/tmp").join(&file), argument: file.into() },
        None => {
            // Without it nothing lasts, and the commands run all the same.
            let _ = std::fs::create_dir_all(cx.spill);
            let stem = cx.spill.join(file);
            State { argument: stem.clone().into_os_string(), stem }
        }
    }
}
