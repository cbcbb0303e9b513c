//! Started commands under full access: output, exit, and the end of the whole tree.
#![allow(clippy::unwrap_used)]

use std::time::{Duration, Instant};

use tack::sandbox::{Cmd, Exit, Happened, Io, Mode, Plain, Running, Sandbox, SandboxError, Wish};

use super::cell::block_on;

fn cmd(program: &str, args: &[&str]) -> Cmd {
    let env = vec![("PATH".into(), std::env::var_os("PATH").unwrap())];
    Cmd {
        program: program.into(),
        args: args.iter().map(Into::into).collect(),
        cwd: "/".into(),
        env,
        io: Io::Captured,
    }
}

async fn start(script: &str) -> Box<dyn Running> {
    let policy = Wish::new(Mode::DangerFullAccess, "/").settle().unwrap().policy;
    Plain.spawn(&policy, &cmd("/bin/sh", &["-c", script])).await.unwrap()
}

async fn text(running: &mut dyn Running) -> String {
    let mut buf = [0; 4096];
    let mut all = Vec::new();
    while let Ok(Ok(got)) = tokio::time::timeout(Duration::from_secs(5), running.read(&mut buf)).await {
        if got == 0 {
            break;
        }
        all.extend_from_slice(&buf[..got]);
    }
    String::from_utf8(all).unwrap()
}

fn alive(pattern: &str) -> String {
    let out = std::process::Command::new("pgrep").args(["-f", pattern]).output().unwrap();
    String::from_utf8(out.stdout).unwrap()
}

#[test]
fn both_outputs_come_in_order_and_the_exit_is_told_twice() {
    block_on(async {
        let mut running = start("echo a; echo b >&2; echo c; cat; exit 9").await;
        assert_eq!(text(running.as_mut()).await, "a\nb\nc\n");
        for _ in 0..2 {
            assert_eq!(running.wait().await.unwrap(), Exit::Code(9));
        }
        let mut killed = start("kill -KILL $$").await;
        assert_eq!(killed.wait().await.unwrap(), Exit::Signal(libc::SIGKILL));
    });
}

#[test]
fn g08_a_background_child_holds_the_pipe_but_not_the_wait() {
    let seconds = 6000 + std::process::id() % 1000;
    for rest in ["", "</dev/null >/dev/null"] {
        block_on(async {
            let begun = Instant::now();
            let mut running = start(&format!("sleep {seconds} {rest} & echo started")).await;
            let mut buf = [0; 64];
            let mut got = Vec::new();
            let exit = loop {
                match running.next(&mut buf).await.unwrap() {
                    Happened::Output(n) => got.extend_from_slice(&buf[..n]),
                    Happened::Exited(exit) => break exit,
                }
            };
            assert_eq!(exit, Exit::Code(0));
            let ended = running.end(Duration::from_millis(500)).await;
            assert_eq!(ended.survivors, 1);
            got.extend_from_slice(text(running.as_mut()).await.as_bytes());
            assert_eq!(String::from_utf8(got).unwrap(), "started\n");
            assert!(begun.elapsed() < Duration::from_secs(3));
        });
        assert_eq!(alive(&format!("^sleep {seconds}")), "");
    }
}

#[test]
fn what_left_the_session_is_found_and_reaped() {
    let seconds = 7000 + std::process::id() % 1000;
    block_on(async {
        let script = format!(
            "(setsid sh -c 'sleep {seconds} & sleep {seconds}' &); setsid sh -c 'true' & sleep 0.2; echo up"
        );
        let mut running = start(&script).await;
        running.wait().await.unwrap();
        assert_eq!(running.end(Duration::from_millis(300)).await.survivors, 3);
    });
    assert_eq!(alive(&format!("sleep {seconds}")), "");
    let me = std::process::id();
    let children =
        std::process::Command::new("ps").args(["--ppid", &me.to_string(), "-o", "stat=,comm="]).output();
    let children = String::from_utf8(children.unwrap().stdout).unwrap();
    assert!(!children.contains('Z'), "zombies are left: {children}");
}

#[test]
fn end_asks_first_and_kills_who_does_not_listen() {
    block_on(async {
        let mut polite = start("trap 'echo bye; exit 3' TERM; echo up; while :; do sleep 0.05; done").await;
        polite.read(&mut [0; 3]).await.unwrap();
        polite.end(Duration::from_secs(10)).await;
        assert_eq!(polite.wait().await.unwrap(), Exit::Code(3));
        let mut deaf = start("trap '' TERM; echo up; while :; do sleep 0.05; done").await;
        deaf.read(&mut [0; 3]).await.unwrap();
        deaf.end(Duration::from_millis(100)).await;
        assert_eq!(deaf.wait().await.unwrap(), Exit::Signal(libc::SIGKILL));
    });
}

#[test]
fn dropping_kills_and_leaks_no_descriptor() {
    let seconds = 8000 + std::process::id() % 1000;
    block_on(async {
        drop(start("true").await);
        let open = || std::fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        for _ in 0..5 {
            let mut running = start(&format!("sleep {seconds} & echo up; sleep {seconds}")).await;
            running.read(&mut [0; 3]).await.unwrap();
        }
        assert!(open() <= before + 1, "{} descriptors, {before} before", open());
    });
    assert_eq!(alive(&format!("^sleep {seconds}")), "");
}

#[test]
fn output_without_end_is_cut_off_by_end() {
    block_on(async {
        let mut running = start("yes text").await;
        let mut buf = vec![0; 65536];
        for _ in 0..50 {
            assert!(running.read(&mut buf).await.unwrap() > 0);
        }
        running.end(Duration::from_millis(50)).await;
        assert_eq!(running.wait().await.unwrap(), Exit::Signal(libc::SIGTERM));
    });
}

#[test]
fn a_program_that_cannot_run_is_named_and_a_tighter_policy_refused() {
    block_on(async {
        let open = Wish::new(Mode::DangerFullAccess, "/").settle().unwrap().policy;
        let missing = Plain.spawn(&open, &cmd("no-such-program", &[])).await.err().unwrap();
        assert!(missing.to_string().starts_with("cannot run no-such-program"), "{missing}");
        let closed = Wish::new(Mode::ReadOnly, "/").settle().unwrap().policy;
        let refused = Plain.spawn(&closed, &cmd("true", &[])).await.err();
        assert!(matches!(refused, Some(SandboxError::Unavailable(_))));
    });
}
