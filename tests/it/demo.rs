//! `tack demo`: the whole way with a recorded model, under every harness.

use std::io::Write;
use std::process::{Command, Stdio};

use serde_json::json;
use tack::harness::Library;

use crate::kit::{Ran, Tack, finish};
use crate::server::{Server, calls, says};

/// The demo's project in the working folder.
fn passes(tack: &Tack, folder: &str) -> bool {
    let test = Command::new("sh").arg("test.sh").current_dir(tack.work().join(folder)).output().unwrap();
    test.status.success()
}

#[test]
fn the_demo_mends_a_real_project_under_every_harness() {
    let tack = Tack::bare();
    for (n, harness) in Library::new(Vec::new()).ids().iter().enumerate() {
        let ran = tack.run(["demo", "--harness", harness]).code(0);
        let folder = format!("tack-demo-{}", n + 1);
        assert!(passes(&tack, &folder), "{harness}: {}", ran.stderr);
        assert!(ran.stderr.contains("are recorded"), "{}", ran.stderr);
        let said = format!("{harness}: {}{}", ran.stdout, ran.stderr);
        assert!(ran.stderr.contains(&folder) && ran.stdout.contains("test passes"), "{said}");
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
fn a_harness_without_words_for_the_task_makes_no_project() {
    let tack = Tack::bare();
    let folder = tack.home().join("harnesses/reader");
    std::fs::create_dir_all(&folder).unwrap();
    let manifest = "schema = 1\nid = \"reader\"\nextends = \"pi\"\n[tools]\nkeep = [\"read\"]\n";
    std::fs::write(folder.join("harness.toml"), manifest).unwrap();
    let ran = tack.run(["demo", "--harness", "reader"]).code(2);
    assert!(ran.stderr.contains("no words for harness reader"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(tack.work()).unwrap().count(), 0);
}

/// Starts tack where namespaces are refused; None where that cannot be arranged.
#[cfg(target_os = "linux")]
fn without_namespaces(tack: &Tack, command: &[&str]) -> Option<Ran> {
    let mut shell = Command::new("unshare");
    let script = "echo 0 > /proc/sys/user/max_user_namespaces || exit 77; exec \"$@\"";
    shell.args(["-Ur", "sh", "-c", script, "sh"]).args(command).current_dir(tack.work()).env_clear();
    shell.envs(tack.command(["demo"]).get_envs().filter_map(|(name, value)| Some((name, value?))));
    shell.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let ran = finish(shell.spawn().unwrap(), None);
    if ran.code == 77 || ran.stderr.contains("unshare failed") {
        let _ = writeln!(std::io::stderr(), "skipped: user namespaces cannot be limited here");
        return None;
    }
    Some(ran)
}

#[test]
#[cfg(target_os = "linux")]
fn the_demo_says_so_where_the_sandbox_holds_less() {
    let tack = Tack::bare();
    let Some(ran) = without_namespaces(&tack, &[env!("CARGO_BIN_EXE_tack"), "demo"]) else { return };
    let ran = ran.code(0);
    assert!(passes(&tack, "tack-demo-1"), "{}", ran.stderr);
    assert!(ran.stderr.contains("reduced"), "{}", ran.stderr);
}

/// A kernel without Landlock, played by a filter that answers as such a kernel does.
#[cfg(target_os = "linux")]
const NO_LANDLOCK: &str = r#"
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <unistd.h>
int main(int argc, char **argv) {
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, 444, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = { 4, code };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program)) return 77;
    execv(argv[1], argv + 1);
    return 77;
}
"#;

#[test]
#[cfg(target_os = "linux")]
fn without_any_sandbox_the_demo_stops_and_names_the_flag_and_commands_are_refused() {
    let server = Server::start(vec![calls("a", "bash", &json!({"command": "touch ran"})), says("ok")]);
    let tack = Tack::new(&server);
    let wrapper = tack.dir.path().join("no-landlock");
    std::fs::write(tack.dir.path().join("no-landlock.c"), NO_LANDLOCK).unwrap();
    let built =
        Command::new("gcc").arg("-o").arg(&wrapper).arg(tack.dir.path().join("no-landlock.c")).status();
    assert!(built.is_ok_and(|status| status.success()), "the tests need gcc");
    let wrapper = wrapper.to_str().unwrap();
    let tack_bin = env!("CARGO_BIN_EXE_tack");

    let Some(ran) = without_namespaces(&tack, &[wrapper, tack_bin, "demo"]) else { return };
    let ran = ran.code(1);
    assert!(ran.stderr.contains("--sandbox danger-full-access"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(tack.work()).unwrap().count(), 0);

    let ran = without_namespaces(&tack, &[wrapper, tack_bin, "-p", "x"]).unwrap().code(0);
    assert!(!tack.work().join("ran").exists(), "{}", ran.stderr);
    assert!(ran.stderr.contains("refused"), "{}", ran.stderr);

    let ran = without_namespaces(&tack, &[wrapper, tack_bin, "demo", "--yolo"]).unwrap().code(0);
    assert!(passes(&tack, "tack-demo-1"), "{}", ran.stderr);
}
