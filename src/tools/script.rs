//! Running a program that came with a harness, under the policy of commands.
//!
//! It gets the call's arguments as JSON on stdin, from a file, so that it may read as slowly as it
//! likes. `text` is what it printed, on both outputs in their order. `data`: `tool`, `run`, `timeout`
//! (milliseconds), `signal`, `survivors`, `notes`, `output_file`.

use std::ffi::OsString;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Map, Value, json};
use tokio::time::Instant;

use super::output::Capture;
use super::shell::{Over, Until, follow, left_behind, noted, spawn, verdict};
use super::spill::{Spill, create};
use super::{ToolCx, failed, given, path};
use crate::model::{Outcome, State};
use crate::sandbox::{self, Cmd, Io, Op, Verdict};

pub(super) struct Ask<'a> {
    pub(super) tool: &'a str,
    pub(super) run: &'a [String],
    pub(super) dir: &'a str,
    pub(super) input: &'a Map<String, Value>,
    /// Milliseconds.
    pub(super) timeout: Option<u64>,
}

/// Its stdin is the first argument, its name and arguments are the rest.
const START: &str = r#"exec < "$0" "$@""#;

pub(super) async fn run(ask: Ask<'_>, cx: &ToolCx<'_>) -> Outcome {
    let timeout = given(ask.timeout).unwrap_or(cx.shell_timeout).clamp(1, cx.shell_timeout_most.max(1));
    let command = match command(&ask, cx) {
        Ok(command) => command,
        Err(refusal) => return refusal,
    };
    let input = match input(&ask, cx) {
        Ok(input) => input,
        Err(error) => return failed("io", format!("the arguments cannot be handed to the program: {error}")),
    };
    let seen = cx.policy.seen(&input.0).into_os_string();
    let args = ["-c".into(), START.into(), seen].into_iter().chain(command).collect();
    let (cwd, env) = (cx.cwd.to_owned(), cx.env.to_vec());
    let cmd = Cmd { program: "/bin/sh".into(), args, cwd, env, io: Io::Captured };
    let running = match spawn(cx, &cmd).await {
        Ok(running) => running,
        Err(refusal) => return refusal,
    };
    let mut capture = Capture::new(cx.limits.clone(), Some(Spill::new(cx.spill)));
    let until = Until { deadline: Some(Instant::now() + Duration::from_millis(timeout)), cancel: &cx.cancel };
    let (over, survivors) = match follow(running, until, &mut capture).await {
        Ok(ended) => ended,
        Err(refusal) => return refusal,
    };
    drop(input);
    outcome(&ask, cx, (over, survivors), capture, timeout)
}

fn outcome(
    ask: &Ask<'_>,
    cx: &ToolCx<'_>,
    (over, survivors): (Over, usize),
    capture: Capture,
    timeout: u64,
) -> Outcome {
    let captured = capture.finish(None);
    let mut notes = Vec::new();
    if survivors > 0 {
        notes.push(left_behind(survivors));
    }
    notes.extend(captured.trouble.map(|trouble| format!("[{trouble}]")));
    let (state, exit, signal) = verdict(over);
    if state == State::Failed {
        notes.extend(sandbox::denial_hint(cx.policy, &captured.text));
    }
    let mut data = json!({
        "tool": ask.tool,
        "run": ask.run,
        "timeout": timeout,
        "signal": signal,
        "survivors": survivors,
        "notes": notes,
        "output_file": captured.file,
    });
    if state == State::Failed {
        data["error"] = json!("script");
    }
    Outcome { state, text: noted(captured.text, &notes), exit, cut: captured.cut, data, ..Outcome::default() }
}

/// The words of the command line, files of the harness with their folder.
fn command(ask: &Ask<'_>, cx: &ToolCx<'_>) -> Result<Vec<OsString>, Outcome> {
    let dir = Path::new(ask.dir);
    let no = |text: String| Err(failed("no_script", text));
    let mut files = ask.run.iter().enumerate().filter(|(_, word)| dir.join(word).is_file()).peekable();
    if files.peek().is_none() {
        return no(format!(
            "`{}` cannot run: {} is no longer in {}; the user has to put it back",
            ask.tool,
            ask.run.join(" "),
            path::show(dir)
        ));
    }
    for (at, word) in files {
        let file = dir.join(word);
        if let Verdict::Denied(why) = cx.policy.explain(&file, Op::Read) {
            return no(format!("`{}` cannot run: {why}", ask.tool));
        }
        if at == 0 && !is_executable(&file) {
            return no(format!(
                "`{}` cannot run: {} is not executable; the user has to run chmod +x on it, or to name an \
                 interpreter in `run`",
                ask.tool,
                path::show(&file)
            ));
        }
    }
    let word = |word: &String| {
        let file = dir.join(word);
        if file.is_file() { file.into_os_string() } else { word.into() }
    };
    Ok(ask.run.iter().map(word).collect())
}

#[cfg(unix)]
fn is_executable(file: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|about| about.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(file: &Path) -> bool {
    file.is_file()
}

/// The arguments as a file that commands can see, removed when dropped.
struct Input(PathBuf);

impl Drop for Input {
    fn drop(&mut self) {
        // Whatever is in the way: the folder goes with the session.
        let _ = std::fs::remove_file(&self.0);
    }
}

fn input(ask: &Ask<'_>, cx: &ToolCx<'_>) -> std::io::Result<Input> {
    let (path, mut file) = create(cx.policy.tmp.as_deref().unwrap_or(cx.spill), "call")?;
    let input = Input(path);
    file.write_all(Value::Object(ask.input.clone()).to_string().as_bytes())?;
    Ok(input)
}
