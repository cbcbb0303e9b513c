//! One command for the command line, and what becomes of commands when tack itself ends.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::process::Command;

use tack::sandbox::{Exit, Io, Linux, Mode, Running, Sandbox, SandboxError, Tier, Wish, probe};

use super::cell::{Cell, TACK, block_on, holds};

fn run(tier: Tier, script: &str) -> Result<u8, SandboxError> {
    let cell = Cell::new(tier);
    let mut cmd = cell.cmd(script);
    cmd.io = Io::Inherited;
    block_on(probe::run(&Linux::with_tier(TACK, tier), &cell.policy, &cmd))
}

#[test]
fn status_and_signal_come_through() {
    for tier in [Tier::Namespaces, Tier::Landlock].into_iter().filter(|t| holds(*t)) {
        for (script, expected) in
            [("exit 0", 0), ("exit 42", 42), ("exit 255", 255), ("kill -9 $$", 137), ("kill -15 $$", 143)]
        {
            assert_eq!(run(tier, script).unwrap(), expected, "{tier:?} {script}");
        }
    }
}

#[test]
fn a_sandbox_that_cannot_be_set_up_is_an_error_and_not_a_status() {
    let cell = Cell::new(Tier::Namespaces);
    let broken = Linux::with_tier("/bin/false", Tier::Namespaces);
    let error = block_on(probe::run(&broken, &cell.policy, &cell.cmd("true"))).unwrap_err();
    assert!(matches!(error, SandboxError::Setup { .. }), "{error}");
}

/// Runs the named test of this binary as a process of its own that starts a command and is killed.
fn orphaned(test: &str, mode: &str) -> String {
    let me = std::env::current_exe().unwrap();
    let seconds = (9000 + std::process::id() % 1000).to_string();
    let status = Command::new(me)
        .args(["--exact", test, "--nocapture"])
        .env("TACK_TEST_INNER", mode)
        .env("TACK_TEST_SECONDS", &seconds)
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .status();
    assert!(!status.unwrap().success(), "it was to be killed");
    let pattern = format!("^sleep {seconds}");
    // The kernel ends them at once, but not before the parent is reaped.
    let mut alive = String::new();
    for _ in 0..200 {
        alive =
            String::from_utf8(Command::new("pgrep").args(["-f", &pattern]).output().unwrap().stdout).unwrap();
        if alive.is_empty() {
            break;
        }
    }
    alive
}

#[test]
fn commands_do_not_outlive_tack() {
    const NAME: &str = "sandbox_run::commands_do_not_outlive_tack";
    let Some(mode) = std::env::var_os("TACK_TEST_INNER") else {
        assert_eq!(orphaned(NAME, "none"), "");
        if holds(Tier::Namespaces) {
            assert_eq!(orphaned(NAME, "namespaces"), "");
        }
        return;
    };
    let cell = Cell::new(Tier::Namespaces);
    let seconds = std::env::var("TACK_TEST_SECONDS").unwrap();
    let cmd = cell.cmd(&format!("echo up; exec sleep {seconds}"));
    let policy = match mode.to_str() {
        Some("none") => Wish::new(Mode::DangerFullAccess, &cell.proj).settle().unwrap().policy,
        _ => cell.policy.clone(),
    };
    block_on(async {
        let linux = Linux::with_tier(TACK, Tier::Namespaces);
        let mut running: Box<dyn Running> = linux.spawn(&policy, &cmd).await.unwrap();
        running.read(&mut [0; 3]).await.unwrap();
        rustix::process::kill_process(rustix::process::getpid(), rustix::process::Signal::KILL).unwrap();
    });
}

#[test]
fn a_report_reads_as_text_and_as_json() {
    let report = block_on(probe::examine(TACK.into()));
    let text = report.to_string();
    assert!(text.starts_with("sandbox: "), "{text}");
    let json = serde_json::to_value(&report).unwrap();
    assert_eq!(json["landlock_abi"], report.landlock_abi);
    assert_eq!(json["layers"][0]["holds"], report.layers[0].holds);
}

#[test]
fn end_reaches_the_command_through_its_helper() {
    use std::time::{Duration, Instant};
    for tier in [Tier::Namespaces, Tier::Landlock].into_iter().filter(|t| holds(*t)) {
        let cell = Cell::new(tier);
        let linux = Linux::with_tier(TACK, tier);
        let begun = Instant::now();
        block_on(async {
            let polite = cell.cmd("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done");
            let mut running: Box<dyn Running> = linux.spawn(&cell.policy, &polite).await.unwrap();
            running.read(&mut [0; 3]).await.unwrap();
            running.end(Duration::from_secs(20)).await;
            assert_eq!(running.wait().await.unwrap(), Exit::Code(3), "{tier:?}");
            let deaf = cell.cmd("trap '' TERM; echo up; while :; do sleep 0.05; done");
            let mut running: Box<dyn Running> = linux.spawn(&cell.policy, &deaf).await.unwrap();
            running.read(&mut [0; 3]).await.unwrap();
            running.end(Duration::from_millis(100)).await;
            assert_ne!(running.wait().await.unwrap(), Exit::Code(0), "{tier:?}");
        });
        assert!(begun.elapsed() < Duration::from_secs(15), "it was not waited for in vain");
    }
}
