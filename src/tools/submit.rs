//! Handing in the work: the difference between the work tree and the last commit.
//!
//! git runs in the sandbox like any command, with everything switched off that a repository could
//! use to start programs. Files that git does not know yet are part of the work, so a private copy of
//! the index takes note of them; the repository itself stays as it is, and may be read-only.

use std::time::Duration;

use serde_json::json;
use tokio::time::Instant;

use super::ToolCx;
use super::output::fit;
use super::shell::{self, Over, Until};
use crate::model::{Outcome, State};
use crate::sandbox::{Cmd, Exit, Io};

/// Bytes of the difference that are kept.
const MOST: usize = 1024 * 1024;
const LIMIT: Duration = Duration::from_secs(60);

/// The empty tree stands for the commit where there is none yet.
const SCRIPT: &str = r#"
git() { command git -c core.hooksPath=/dev/null -c core.fsmonitor=false -c safe.bareRepository=explicit --no-pager "$@"; }
top=$(git rev-parse --show-toplevel 2>/dev/null) || exit 0
dir=$(mktemp -d) || exit 1
trap 'rm -rf "$dir"' EXIT
# With its time: git compares it with those of the files, to know which of them to look into.
cp -p "$(git rev-parse --git-path index)" "$dir/index" 2>/dev/null
base=$(git rev-parse -q --verify HEAD) || base=$(git hash-object -t tree /dev/null)
GIT_ALTERNATE_OBJECT_DIRECTORIES=$(cd "$(git rev-parse --git-path objects)" && pwd)
mkdir "$dir/objects"
GIT_INDEX_FILE=$dir/index
GIT_OBJECT_DIRECTORY=$dir/objects
export GIT_INDEX_FILE GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
git -C "$top" add --intent-to-add . >/dev/null 2>&1
git -C "$top" diff --no-ext-diff --no-textconv --no-color "$base"
"#;

/// `data`: `diff`.
pub(super) async fn run(cx: &ToolCx<'_>) -> Outcome {
    let args = vec!["-c".into(), SCRIPT.into()];
    let (cwd, env) = (cx.cwd.to_owned(), cx.env.to_vec());
    let cmd = Cmd { program: "/bin/sh".into(), args, cwd, env, io: Io::Captured };
    let mut running = match shell::spawn(cx, &cmd).await {
        Ok(running) => running,
        Err(refusal) => return refusal,
    };
    let mut diff: Vec<u8> = Vec::new();
    let mut left_out = 0;
    let mut take = |bytes: &[u8]| {
        let room = bytes.len().min(MOST - diff.len());
        diff.extend_from_slice(&bytes[..room]);
        left_out += bytes.len() - room;
    };
    let until = Until { deadline: Some(Instant::now() + LIMIT), cancel: &cx.cancel };
    let over = shell::drive(running.as_mut(), until, &mut take).await;
    if let Ok(over) = over {
        shell::end(running.as_mut(), over, &mut take).await;
    }
    let mut diff = String::from_utf8_lossy(&diff).into_owned();
    if left_out > 0 {
        diff.push_str(&format!("\n[{left_out} bytes of the difference left out]\n"));
    }
    let state = match over {
        Ok(Over::Exited(Exit::Code(0))) => State::Ok,
        Ok(Over::Exited(_)) | Err(_) => State::Failed,
        Ok(Over::TimedOut) => State::TimedOut,
        Ok(Over::Cancelled) => State::Interrupted,
    };
    let (text, cut) = fit(&diff, &cx.limits, None);
    Outcome { state, text, cut, data: json!({ "diff": diff }), ..Outcome::default() }
}
