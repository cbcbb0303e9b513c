//! The official Codex SDK against the real binary: the rows are in `tests/sdk`, `.ci/test` installs
//! what they need.

use std::path::Path;
use std::process::Command;

use crate::kit::Tack;

/// Runs one file of rows; fails with what it printed.
fn rows(chapter: &str) {
    let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().unwrap();
    let installed = target.join("sdk");
    let there = installed.join("node_modules/@openai/codex-sdk").is_dir();
    assert!(there, "the Codex SDK is not installed: run .ci/test once, which does that");
    let home = Tack::bare();
    let out = Command::new("node")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/sdk/main.mjs"))
        .args([Path::new(env!("CARGO_BIN_EXE_tack")), &installed, Path::new(chapter)])
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", home.home())
        .output()
        .unwrap_or_else(|error| panic!("node cannot be started ({error}): .ci/test installs it"));
    let text = [out.stdout, out.stderr].map(|bytes| String::from_utf8_lossy(&bytes).into_owned()).concat();
    assert!(out.status.success(), "{text}");
}

#[test]
fn the_official_client_runs_turns_and_sees_their_events() {
    rows("turns");
}

#[test]
fn the_official_clients_options_do_what_they_say() {
    rows("options");
}

#[test]
fn failures_and_aborts_reach_the_official_client_and_leave_no_process() {
    rows("ends");
}
