//! Tier B: Landlock and seccomp alone, the choice of tier by trial, and the refusal.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::fs;
use std::process::Command;

use tack::sandbox::{Exit, GitAccess, Mode, Net, Tier, probe};

use super::cell::{Cell, TACK, block_on, holds, python};

const REDUCED: Tier = Tier::Landlock;

fn refused(cell: &Cell, script: &str) {
    let inside = cell.sh(script);
    assert!(!inside.ok(), "inside: {script}\n{}", inside.text);
    let outside = cell.control(script);
    assert!(outside.ok(), "control: {script}\n{}", outside.text);
}

#[test]
fn nothing_outside_the_roots_is_written_or_hidden_read() {
    if !holds(REDUCED) {
        return;
    }
    let cell = Cell::new(REDUCED);
    fs::write(cell.home().join("file"), "old").unwrap();
    for script in [
        "echo x > ../a",
        "echo x >> ../file",
        "truncate -s 0 ../file",
        "mkdir ../d",
        "echo x > f && mv f ../g",
        "ln ../file hard",
        "grep private ../.ssh/id",
        "grep password ../.netrc",
        "rm ../file",
    ] {
        refused(&cell, script);
    }
    let ran = cell.sh("echo x > in && mkdir d && mv in d/in && cat d/in && echo t > $TMPDIR/t && ls && git status -s > /dev/null");
    assert!(ran.ok(), "{ran:?}");
    assert!(cell.tmp().join("t").exists());
    let hint = cell.sh("echo x > ../a").hint.unwrap();
    assert!(hint.contains("--add-dir"), "{hint}");
    let reads = Cell::with(REDUCED, |wish| wish.mode = Mode::ReadOnly);
    refused(&reads, "echo x > f");
}

#[test]
fn the_network_is_closed_by_family() {
    if !holds(REDUCED) {
        return;
    }
    let cell = Cell::new(REDUCED);
    for family in ["AF_INET", "AF_INET6", "AF_UNIX"] {
        refused(&cell, &python(&format!("import socket; socket.socket(socket.{family})")));
    }
    assert!(cell.python("import socket; a, b = socket.socketpair(); a.send(b\"x\")").ok());
    let open = Cell::with(REDUCED, |wish| wish.net = Net::Full);
    assert!(open.python("import socket; socket.socket(socket.AF_INET).bind((\"127.0.0.1\", 0))").ok());
    assert!(!open.python("import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)").ok());
}

#[test]
fn root_cannot_reach_the_machine_through_files() {
    if !holds(REDUCED) {
        return;
    }
    let cell = Cell::new(REDUCED);
    if rustix::process::getuid().is_root() {
        // Not opened, neither here nor there.
        refused(&cell, "mknod node b 254 200");
    }
    for script in
        ["cat /proc/sys/vm/swappiness > v && cat v > /proc/sys/vm/swappiness", ": > /sys/kernel/mm/ksm/run"]
    {
        assert!(!cell.sh(script).ok(), "{script}");
    }
    let kept = cell.sh("grep CapEff /proc/self/status").text;
    let kept = u64::from_str_radix(kept.trim().rsplit('\t').next().unwrap(), 16).unwrap();
    assert_eq!(kept & !0b11011, 0, "only what files of others need: {kept:x}");
}

#[test]
fn protected_files_are_compared_and_put_back() {
    if !holds(REDUCED) {
        return;
    }
    let cell = Cell::new(REDUCED);
    let config = fs::read(cell.proj.join(".git/config")).unwrap();
    let ran = cell.sh("echo evil >> .git/config; mkdir .tack; echo x > .tack/config.toml; rm .git/HEAD");
    assert_eq!(ran.exit, Exit::Code(125), "{ran:?}");
    for said in [".git/config is read-only", ".tack/config.toml is read-only", ".git/HEAD is read-only"] {
        assert!(ran.text.contains(said), "{said}: {}", ran.text);
    }
    assert_eq!(fs::read(cell.proj.join(".git/config")).unwrap(), config);
    assert!(cell.proj.join(".git/HEAD").exists() && !cell.proj.join(".tack").exists());
    let open = Cell::with(REDUCED, |wish| wish.git = GitAccess::Commit);
    let ran = open.sh("echo a > f && git add f && git commit -q -m x && git log --oneline | wc -l");
    assert_eq!((ran.exit, ran.text.trim()), (Exit::Code(0), "1"));
    assert_eq!(open.sh("echo x > .git/hooks/pre-commit").exit, Exit::Code(125));
    assert!(!open.proj.join(".git/hooks/pre-commit").exists());
}

#[test]
fn the_tree_ends_with_the_command() {
    if !holds(REDUCED) {
        return;
    }
    let cell = Cell::new(REDUCED);
    let seconds = 5000 + std::process::id() % 1000;
    let script = format!(
        "sleep {seconds} & (setsid env -i sh -c 'sleep {seconds} & exit' &) ; sleep 0.1; echo started"
    );
    let ran = cell.sh(&script);
    assert!(ran.ok() && ran.text.contains("started"), "{ran:?}");
    assert!(ran.survivors >= 2, "{ran:?}");
    let alive = Command::new("pgrep").args(["-f", &format!("^sleep {seconds}")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&alive.stdout), "");
}

#[test]
fn processes_outside_get_no_signal_and_keep_their_environment() {
    if !holds(REDUCED) {
        return;
    }
    let report = block_on(probe::examine(TACK.into()));
    if report.landlock_abi < 6 {
        eprintln!("SKIPPED: Landlock {} does not scope signals", report.landlock_abi);
        return;
    }
    let mut victim = Command::new("sleep").arg("60").spawn().unwrap();
    let cell = Cell::new(REDUCED);
    refused(&cell, &format!("kill -0 {}", victim.id()));
    refused(&cell, &format!("cat /proc/{}/environ", victim.id()));
    victim.kill().unwrap();
    victim.wait().unwrap();
}

/// Runs this test binary again where no further user namespace can be made, as an inner test.
fn poor_host(test: &str) -> Option<String> {
    let me = std::env::current_exe().unwrap();
    let script = format!(
        "echo 0 > /proc/sys/user/max_user_namespaces && TACK_TEST_INNER=1 exec {} --exact {test} --nocapture",
        me.display()
    );
    let out = Command::new("unshare").args(["-Ur", "sh", "-c", &script]).output().unwrap();
    let text = String::from_utf8_lossy(&out.stdout).into_owned() + &String::from_utf8_lossy(&out.stderr);
    if text.contains("unshare failed") {
        eprintln!("SKIPPED: no user namespace for the poor host: {text}");
        return None;
    }
    assert!(out.status.success(), "{text}");
    Some(text)
}

#[test]
fn a_host_without_namespaces_is_served_by_landlock() {
    if std::env::var_os("TACK_TEST_INNER").is_none() {
        if holds(REDUCED) && holds(Tier::Namespaces) {
            let text = poor_host("sandbox_reduced::a_host_without_namespaces_is_served_by_landlock");
            assert!(text.is_none_or(|t| t.contains("sandbox: reduced (no namespaces)")));
        }
        return;
    }
    use tack::sandbox::{Linux, Running, Sandbox};
    let report = block_on(probe::examine(TACK.into()));
    assert_eq!(report.tier, Tier::Landlock);
    eprintln!("{report}");
    let cell = Cell::new(REDUCED);
    let chosen = Linux::with_image(TACK);
    block_on(async {
        let mut running: Box<dyn Running> = chosen.spawn(&cell.policy, &cell.cmd("exit 3")).await.unwrap();
        assert_eq!(running.wait().await.unwrap(), Exit::Code(3));
    });
    assert_eq!(chosen.tier(), Tier::Landlock);
}

#[test]
fn a_host_with_neither_is_refused() {
    let cell = Cell::new(REDUCED);
    // An image that can set up nothing.
    let helpless = tack::sandbox::Linux::with_image("/bin/false");
    let error = block_on(async {
        use tack::sandbox::Sandbox;
        helpless.spawn(&cell.policy, &cell.cmd("true")).await.err().unwrap().to_string()
    });
    assert!(error.contains("neither user namespaces") && error.contains("-s danger-full-access"), "{error}");
}
