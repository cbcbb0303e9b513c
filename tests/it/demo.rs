//! `tack demo`: the whole way with a recorded model, in both dialects that have a recording.

use std::process::Command;

use crate::kit::{Tack, finish};

/// The demo's project in the working folder.
fn passes(tack: &Tack, folder: &str) -> bool {
    let test = Command::new("sh").arg("test.sh").current_dir(tack.work().join(folder)).output().unwrap();
    test.status.success()
}

#[test]
fn the_demo_mends_a_real_project_in_either_dialect() {
    let tack = Tack::bare();
    for (n, harness) in ["minimal", "swe-agent"].into_iter().enumerate() {
        let ran = tack.run(["demo", "--harness", harness]).code(0);
        let folder = format!("tack-demo-{}", n + 1);
        assert!(passes(&tack, &folder), "{harness}: {}", ran.stderr);
        assert!(ran.stderr.contains("are recorded"), "{}", ran.stderr);
        assert!(ran.stderr.contains(&folder) && ran.stdout.contains("test passes"), "{}", ran.stdout);
    }
}

#[test]
fn the_demo_is_a_run_like_any_other() {
    let tack = Tack::bare();
    let ran = tack.run(["demo", "--json"]).code(0);
    let events = ran.events();
    let count = |kind: &str| events.iter().filter(|event| event["item"]["type"] == kind).count();
    assert_eq!(events.last().unwrap()["type"], "turn.completed");
    // Two runs of the test and one change, each begun and completed.
    assert_eq!((count("command_execution"), count("file_change")), (4, 2));
    let exits: Vec<_> = events
        .iter()
        .filter(|event| event["type"] == "item.completed" && event["item"]["type"] == "command_execution")
        .map(|event| event["item"]["exit_code"].clone())
        .collect();
    assert_eq!(exits, [1, 0]);
    assert_eq!(tack.logs().len(), 1);
}

#[test]
fn a_harness_without_a_recording_makes_no_project() {
    let tack = Tack::bare();
    let ran = tack.run(["demo", "--harness", "pi"]).code(2);
    assert!(ran.stderr.contains("minimal and swe-agent"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(tack.work()).unwrap().count(), 0);
}

/// Namespaces refused as some hosts refuse them: the demo goes on in the reduced sandbox and says so.
#[test]
#[cfg(target_os = "linux")]
fn the_demo_says_so_where_the_sandbox_holds_less() {
    let tack = Tack::bare();
    let demo = tack.command(["demo"]);
    let mut shell = Command::new("unshare");
    let script = "echo 0 > /proc/sys/user/max_user_namespaces || exit 77; exec \"$0\" demo";
    shell.args(["-Ur", "sh", "-c", script, env!("CARGO_BIN_EXE_tack")]).current_dir(tack.work()).env_clear();
    shell.envs(demo.get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(std::process::Stdio::null());
    shell.stdout(std::process::Stdio::piped()).stderr(std::process::Stdio::piped());
    let ran = finish(shell.spawn().unwrap(), None);
    if ran.code == 77 {
        eprintln!("skipped: user namespaces cannot be limited here");
        return;
    }
    let ran = ran.code(0);
    assert!(passes(&tack, "tack-demo-1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("reduced"), "{}", ran.stderr);
}
