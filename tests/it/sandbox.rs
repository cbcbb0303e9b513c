//! Attempts to get out of tier A, each with a control run that shows the attempt works outside.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::fmt::Write;
use std::fs;

use tack::sandbox::{Exit, GitAccess, Mode, Net, Tier};

use super::cell::{Cell, TACK, git, holds, python};

const FULL: Tier = Tier::Namespaces;

/// An attempt of which only root's control run would succeed.
pub(crate) fn refused_to_root(cell: &Cell, script: &str) {
    if rustix::process::getuid().is_root() {
        return refused(cell, script);
    }
    let inside = cell.sh(script);
    assert!(!inside.ok(), "inside: {script}\n{}", inside.text);
}

/// The attempt fails inside, and succeeds with nothing around it.
fn refused(cell: &Cell, script: &str) {
    let inside = cell.sh(script);
    assert!(!inside.ok(), "inside: {script}\n{}", inside.text);
    let outside = cell.control(script);
    assert!(outside.ok(), "control: {script}\n{}", outside.text);
}

#[test]
fn nothing_outside_the_roots_is_written() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    fs::write(cell.home().join("file"), "old").unwrap();
    std::os::unix::fs::symlink(cell.home(), cell.proj.join("up")).unwrap();
    for script in [
        "echo x > ../a",
        "echo x > up/b",
        "echo x >> ../file",
        "truncate -s 0 ../file",
        "chmod 700 ../file",
        "touch -d yesterday ../file",
        "mkdir ../d",
        "ln -s x ../l",
        "mkfifo ../fifo",
        "echo x > f && mv f ../g",
        "ln ../file hard && echo x > hard; rm -f hard; test \"$(cat ../file)\" = x",
        "setfattr -n user.a -v b ../file || python3 -c 'import os; os.setxattr(\"../file\", \"user.a\", b\"b\")'",
        "rm ../file",
    ] {
        refused(&cell, script);
    }
    let ran = cell.sh("echo x > in && mkdir d && mv in d/in && rm -r d && echo y > /tmp/t && cat /tmp/t");
    assert!(ran.ok() && ran.text == "y\n", "{ran:?}");
}

#[test]
fn the_guarded_names_are_read_only_and_cannot_be_swapped() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    fs::create_dir_all(cell.proj.join("nested/.git/hooks")).unwrap();
    fs::create_dir(cell.proj.join(".vscode")).unwrap();
    fs::write(cell.proj.join(".envrc"), "").unwrap();
    for script in [
        "echo x > .git/hooks/pre-commit",
        "echo x >> .git/config",
        "echo x > nested/.git/hooks/h",
        "echo x > .vscode/tasks.json",
        "echo x >> .envrc",
        "mkdir .tack && echo x > .tack/config.toml",
        "mkdir -p .agents/skills",
        "mv .git away && mv away .git",
        "mv nested/.git other",
        "mv .envrc away && mv away .envrc",
        "rmdir .tack; ln -s /tmp .tack && rm .tack",
        "umount .git",
        "git commit --allow-empty -m x",
    ] {
        let inside = cell.sh(script);
        assert!(!inside.ok(), "{script}\n{}", inside.text);
    }
    assert!(!cell.proj.join(".tack").exists(), "the placeholder is gone");
    refused(&cell, "mv .vscode a && mv a .vscode");
    refused(&cell, "echo x > .git/hooks/pre-commit");
}

#[test]
fn hidden_files_are_neither_read_nor_listed() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    refused(&cell, "grep private ../.ssh/id");
    refused(&cell, "ls ../.ssh");
    refused(&cell, "grep password ../.netrc");
    refused_to_root(&cell, "grep . /etc/shadow");
    refused(&cell, "chmod 700 ../.ssh && ls ../.ssh | grep .");
    let wide = Cell::with(FULL, |wish| wish.add_dirs.extend(wish.home.clone()));
    assert!(wide.sh("echo x > ../added").ok());
    for script in ["cat ../.ssh/id", "mv ../.ssh ../s", "echo x > ../.ssh/new", "ls ../.ssh"] {
        assert!(!wide.sh(script).ok(), "{script}");
    }
    let hint = cell.sh("cat ../.ssh/id").hint.unwrap();
    assert!(hint.contains(".ssh/id") && hint.contains("reveal"), "{hint}");
}

#[test]
fn other_processes_are_out_of_sight_and_reach() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    let mut victim = std::process::Command::new("sleep").arg("60").spawn().unwrap();
    let pid = victim.id();
    refused(&cell, &format!("cat /proc/{pid}/environ"));
    refused(&cell, &format!("kill -0 {pid}"));
    refused(
        &cell,
        &format!(
            "nsenter -t {pid} -m true || python3 -c 'import os; os.close(os.open(\"/proc/{pid}/ns/mnt\", 0))'"
        ),
    );
    refused(&cell, &python(&format!("import os; os.close(os.pidfd_open({pid}))")));
    let ran = cell.sh("ls /proc | grep -c '^[0-9]'");
    assert!(ran.text.trim().parse::<u32>().unwrap() < 8, "{}", ran.text);
    assert_eq!(cell.sh("test $$ -lt 64 && kill -9 1; echo still").text, "still\n");
    victim.kill().unwrap();
    victim.wait().unwrap();
}

#[test]
fn sockets_of_the_machine_are_out_of_reach() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = std::net::UdpSocket::bind("127.0.0.1:0").unwrap();
    udp.set_read_timeout(Some(std::time::Duration::from_millis(300))).unwrap();
    let (tcp_port, udp_port) = (tcp.local_addr().unwrap().port(), udp.local_addr().unwrap().port());
    refused(
        &cell,
        &python(&format!("import socket; socket.create_connection((\"127.0.0.1\", {tcp_port}), 2)")),
    );
    let send = format!(
        "import socket; socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b\"x\", (\"127.0.0.1\", {udp_port}))"
    );
    let got = || udp.recv(&mut [0; 8]).is_ok();
    cell.python(&send);
    assert!(!got(), "UDP left the sandbox");
    assert!(cell.control(&python(&send)).ok() && got());
    let abstract_name = format!("tack-test-{}", std::process::id());
    let _abstract = {
        use std::os::linux::net::SocketAddrExt;
        let address = std::os::unix::net::SocketAddr::from_abstract_name(&abstract_name).unwrap();
        std::os::unix::net::UnixListener::bind_addr(&address).unwrap()
    };
    let connect = format!("import socket; socket.socket(socket.AF_UNIX).connect(\"\\0{abstract_name}\")");
    refused(&cell, &python(&connect));
    let _named = std::os::unix::net::UnixListener::bind(cell.home().join("named")).unwrap();
    // By a relative path: the absolute one may be longer than such a name can be.
    refused(&cell, &python("import socket; socket.socket(socket.AF_UNIX).connect(\"../named\")"));
    let own = "import socket; s=socket.socket(socket.AF_UNIX); s.bind(\"own\"); s.listen(); socket.socket(socket.AF_UNIX).connect(\"own\")";
    assert!(cell.python(own).ok());
    refused_to_root(&cell, &python("import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW)"));
    refused_to_root(&cell, &python("import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)"));
    refused(&cell, &python("import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 9)"));
    let vsock = cell.python("import socket; socket.socket(40, socket.SOCK_STREAM)");
    assert!(vsock.text.contains("not permitted"), "{}", vsock.text);
    let hint = cell.sh("python3 -c 'import socket; socket.getaddrinfo(\"example.org\", 80)'").hint.unwrap();
    assert!(hint.contains("network_access=true"), "{hint}");
}

/// Raw system calls by number (x86-64), the errno they end with inside. Arguments are such that the
/// control run, which may be root's, fails otherwise or changes nothing but its own process: a test
/// must not be able to harm the machine it runs on.
#[test]
fn dangerous_system_calls_are_refused() {
    if !holds(FULL) || !cfg!(target_arch = "x86_64") {
        return;
    }
    let cell = Cell::new(FULL);
    let calls = [
        ("ptrace traceme", "101, 0, 0, 0, 0", libc::EPERM),
        ("io_uring_setup", "425, 1, None", libc::EPERM),
        ("bpf", "321, 0, None, 0", libc::EPERM),
        ("userfaultfd", "323, 0", libc::EPERM),
        ("perf_event_open", "298, None, 0, -1, -1, 0", libc::EPERM),
        ("keyctl", "250, 0, -3, 0", libc::EPERM),
        ("setns", "308, 0, 0", libc::EPERM),
        ("mount", "165, None, b'/nowhere', b'tmpfs', 0, None", libc::EPERM),
        ("umount", "166, b'/nowhere', 2", libc::EPERM),
        ("fsopen", "430, b'no-such-fs', 0", libc::EPERM),
        ("open_tree", "428, -100, b'/nowhere', 1", libc::EPERM),
        ("chroot", "161, b'/nowhere'", libc::EPERM),
        ("pivot_root", "155, b'/nowhere', b'/nowhere'", libc::EPERM),
        ("open_by_handle_at", "304, -100, None, 0", libc::EPERM),
        ("clone3", "435, None, 0", libc::ENOSYS),
        ("clone newuser", "56, 0x10000200, None, None, None, 0", libc::EPERM),
        ("x32 getpid", "0x40000027", libc::ENOSYS),
        ("tiocsti", "16, -1, 0x5412, b'x'", libc::EPERM),
        // Last, as outside they succeed and change what the process may do.
        ("unshare mount", "272, 0x20000", libc::EPERM),
        ("unshare user", "272, 0x10000000", libc::EPERM),
    ];
    let mut code = String::from("import ctypes; l = ctypes.CDLL(None, use_errno=True)\n");
    for (_, args, _) in &calls {
        writeln!(code, "print(ctypes.get_errno() if l.syscall({args}) < 0 else 0)").unwrap();
    }
    let (inside, outside) = (cell.python(&code).text, cell.control(&python(&code)).text);
    assert_eq!(
        (inside.lines().count(), outside.lines().count()),
        (calls.len(), calls.len()),
        "{inside}{outside}"
    );
    for ((name, _, errno), (inside, outside)) in calls.iter().zip(inside.lines().zip(outside.lines())) {
        assert_eq!(inside, errno.to_string(), "{name}");
        // x32 may be missing from the kernel altogether, and much is refused to ordinary users.
        if *name != "x32 getpid" && rustix::process::getuid().is_root() {
            assert_ne!(outside, inside, "{name} is refused outside too, so the test shows nothing");
        }
    }
}

#[test]
fn root_cannot_reach_the_machine_through_files() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    for script in [
        "mknod dev c 1 3 && cat dev",
        "mknod /tmp/dev b 254 0",
        "cat /proc/sys/kernel/hostname > v && cat v > /proc/sys/kernel/hostname",
        "cat /proc/sys/vm/swappiness > v && cat v > /proc/sys/vm/swappiness",
        "ls /dev/vda || ls /dev/sda || ls /dev/mem || ls /dev/kmsg",
        ": > /proc/sysrq-trigger",
        "echo x > /sys/kernel/mm/transparent_hugepage/enabled",
        "head -c1 /proc/kcore | grep -c .",
        "hostname $(hostname)",
        "chown 1:1 v",
        "mkdir m && mount -t tmpfs none m",
    ] {
        let ran = cell.sh(script);
        assert!(!ran.ok(), "{script}\n{}", ran.text);
    }
    let capabilities =
        cell.sh("grep -E 'Cap(Eff|Prm|Bnd|Inh|Amb)' /proc/self/status | grep -v 0000000000000000");
    assert_eq!(capabilities.text, "");
    let suid = cell.sh("cp $(command -v id) i && chmod u+s i && grep NoNewPrivs /proc/self/status");
    assert!(suid.text.ends_with("1\n"), "{suid:?}");
}

#[test]
fn the_tree_ends_with_the_command() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    let seconds = 4000 + std::process::id() % 1000;
    let script = format!(
        "sleep {seconds} & setsid sleep {seconds} & (setsid sh -c 'sleep {seconds} & exit' &) ; env -i nohup sleep {seconds} >/dev/null 2>&1 & echo started"
    );
    let begun = std::time::Instant::now();
    let ran = cell.sh(&script);
    assert!(ran.ok() && ran.text.contains("started"), "{ran:?}");
    assert!(ran.survivors >= 2, "{ran:?}");
    assert!(begun.elapsed().as_secs() < 20);
    let alive =
        std::process::Command::new("pgrep").args(["-f", &format!("^sleep {seconds}")]).output().unwrap();
    assert_eq!(String::from_utf8_lossy(&alive.stdout), "");
}

#[test]
fn a_fork_storm_stops_at_the_limit() {
    if !holds(FULL) {
        return;
    }
    let mut cell = Cell::new(FULL);
    cell.policy.limits.processes = 400;
    let ran = cell.python(
        "import os, time\nn = 0\ntry:\n  while n < 3000:\n    if os.fork() == 0: time.sleep(60); os._exit(0)\n    n += 1\nexcept OSError as e: print('stopped', n)",
    );
    let count: u32 = ran.text.trim().strip_prefix("stopped ").expect(&ran.text).parse().unwrap();
    assert!(count <= 400, "{count}");
    assert!(ran.survivors as u32 >= count, "{}", ran.survivors);
}

#[test]
fn nothing_is_inherited() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    let leak = std::fs::File::open("/etc/passwd").unwrap();
    rustix::io::fcntl_setfd(&leak, rustix::io::FdFlags::empty()).unwrap();
    assert_eq!(
        cell.sh("ls /proc/self/fd | sort -n | tr '\\n' ' '").text,
        "0 1 2 3 ",
        "3 is the listing itself"
    );
    assert!(cell.control("ls /proc/self/fd | wc -l").text.trim().parse::<u32>().unwrap() > 4);
    drop(leak);
    let ran = cell.sh("readlink /proc/self/fd/0; (tty; test -e /dev/tty && : < /dev/tty) 2>&1; cat; env | grep -E 'TACK_SANDBOX|EDITOR'");
    assert!(ran.text.starts_with("/dev/null\nnot a tty\n"), "{}", ran.text);
    assert!(
        ran.text.contains("TACK_SANDBOX=1") && ran.text.contains("TACK_SANDBOX_NETWORK=off"),
        "{}",
        ran.text
    );
    let signals = cell.sh("grep -E 'Sig(Ign|Blk)' /proc/self/status | grep -v 0000000000000000");
    assert_eq!(signals.text, "");
}

#[test]
fn a_helper_holds_no_keys() {
    if !holds(FULL) {
        return;
    }
    let out = std::process::Command::new("sh")
        .args(["-c", "cat /proc/$PPID/environ"])
        .env("X_API_KEY", "sk-very-secret")
        .output()
        .unwrap();
    assert!(!out.stdout.is_empty());
    let cell = Cell::new(FULL);
    assert!(!cell.cmd("true").env.iter().any(|(name, _)| name == "X_API_KEY"));
    let ran = cell.sh("cat /proc/1/environ | tr '\\0' '\\n'; cat /proc/self/environ");
    assert!(!ran.text.contains("sk-very-secret"));
    assert!(ran.text.contains("/proc/1/environ"), "pid 1 cannot be read: {}", ran.text);
}

#[test]
fn read_only_writes_nothing_but_tmp() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::with(FULL, |wish| wish.mode = Mode::ReadOnly);
    refused(&cell, "echo x > f");
    let ran = cell.sh(
        "echo x > /tmp/f && cat /tmp/f && git status --short && cat ../../nothing 2>/dev/null; echo x > f",
    );
    assert!(ran.text.starts_with("x\n"), "{}", ran.text);
    assert!(ran.hint.unwrap().contains("-s workspace-write"));
    assert!(cell.tmp().join("f").exists(), "commands and file tools share /tmp");
}

#[test]
fn a_commit_needs_the_grant_and_leaves_hooks_alone() {
    if !holds(FULL) {
        return;
    }
    let commit = "echo a > f && git add f && git commit -q -m x && git log --oneline | wc -l";
    let closed = Cell::new(FULL);
    let ran = closed.sh(commit);
    let hint = ran.hint.as_deref().unwrap_or_default();
    assert!(!ran.ok() && hint.contains("--git commit") && hint.contains("/.git"), "{ran:?}");
    let open = Cell::with(FULL, |wish| wish.git = GitAccess::Commit);
    let ran = open.sh(commit);
    assert_eq!((ran.exit, ran.text.trim()), (Exit::Code(0), "1"));
    for script in [
        "echo x > .git/hooks/pre-commit",
        "git config core.fsmonitor evil",
        "mv .git/config .git/c",
        "mv .git away",
        "rm -r .git/hooks && mkdir .git/hooks && echo x > .git/hooks/h",
    ] {
        assert!(!open.sh(script).ok(), "{script}");
    }
    // G09: what needs an editor fails at once and says so.
    let ran = open.sh("git commit --allow-empty; git log; git rebase -i --root; read x; echo got:$x; git log --oneline | wc -l");
    assert!(ran.text.contains("no editor is available") && ran.text.ends_with("got:\n1\n"), "{}", ran.text);
    assert!(open.sh("git rebase --abort; git status").ok());
    let ran = open.sh("git checkout -q -b b && git tag t && git stash list && git gc -q && git branch");
    assert!(ran.ok(), "{ran:?}");
    for name in ["commondir", "config.worktree"] {
        let ran = open.sh(&format!("echo x > .git/{name}; echo done"));
        assert_eq!(ran.exit, Exit::Code(125), "{ran:?}");
        assert!(ran.text.contains("was removed"), "{ran:?}");
        assert!(!open.proj.join(".git").join(name).exists());
    }
}

#[test]
fn g19_commit_in_a_linked_worktree() {
    if !holds(FULL) {
        return;
    }
    let add = |cell: &mut Cell, access| {
        git(&cell.proj, &["commit", "-q", "--allow-empty", "-m", "root"]);
        git(&cell.proj, &["worktree", "add", "-q", "../wt", "-b", "f"]);
        let wish = tack::sandbox::Wish {
            git: access,
            tmp: Some(cell.tmp().into()),
            home: Some(cell.home()),
            ..tack::sandbox::Wish::new(Mode::WorkspaceWrite, cell.home().join("wt"))
        };
        cell.policy = wish.settle().unwrap().policy;
    };
    let commit = "echo a > f && git add f && git commit -q -m x";
    let mut open = Cell::new(FULL);
    add(&mut open, GitAccess::Commit);
    let ran = open.sh(commit);
    assert!(ran.ok(), "{ran:?}");
    for script in [
        "echo x > ../proj/.git/hooks/h",
        "echo x >> ../proj/.git/config",
        "echo x > ../proj/f",
        "echo x > .git",
    ] {
        assert!(!open.sh(script).ok(), "{script}");
    }
    let mut closed = Cell::new(FULL);
    add(&mut closed, GitAccess::Read);
    let ran = closed.sh(commit);
    let hint = ran.hint.clone().unwrap_or_default();
    assert!(!ran.ok() && hint.contains("proj/.git is read-only") && hint.contains("--git commit"), "{ran:?}");
    fs::write(closed.proj.join("../wt/.git"), "gitdir: /nowhere").unwrap();
    assert!(closed.sh("echo fine > f && ! git status").ok());
}

#[test]
fn ordinary_work_goes_on() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    fs::write(
        cell.proj.join("m.c"),
        "#include <stdio.h>\nint main(void) { puts(\"compiled\"); return 0; }\n",
    )
    .unwrap();
    let server = "python3 -m http.server 8123 --bind 127.0.0.1 >log 2>&1 & for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do python3 -c 'import urllib.request as u; print(u.urlopen(\"http://127.0.0.1:8123/\").status)' 2>/dev/null && break; sleep 0.1; done";
    for (script, expected) in [
        ("cc m.c -o m && ./m", "compiled\n"),
        (server, "200\n"),
        ("seq 3 | tac | head -n 1", "3\n"),
        ("python3 -c 'import multiprocessing as m; print(sum(m.Pool(2).map(abs, [-1, -2])))'", "3\n"),
        ("git log --oneline 2>/dev/null; git status --short m.c", "?? m.c\n"),
        (
            "python3 -c 'import sqlite3; c=sqlite3.connect(\"d.db\"); c.execute(\"create table t(a)\"); c.commit(); print(1)'",
            "1\n",
        ),
        ("cat <<A\nhere\nA", "here\n"),
        ("mktemp | cut -c1-5", "/tmp/\n"),
        ("python3 -c 'import pty, os; print(os.ttyname(pty.openpty()[1]))'", "/dev/pts/0\n"),
        ("echo a > /dev/shm/x && cat /dev/shm/x", "a\n"),
        ("echo t > /tmp/kept", ""),
        ("cat /tmp/kept", "t\n"),
        ("exit 7", ""),
    ] {
        let ran = cell.sh(script);
        assert_eq!(ran.text, expected, "{script}");
        let code = if script == "exit 7" { 7 } else { 0 };
        assert_eq!((ran.exit, ran.hint), (Exit::Code(code), None), "{script}");
    }
    assert_eq!(cell.sh("kill -TERM $$").exit, Exit::Signal(libc::SIGTERM));
}

#[test]
fn net_full_shares_the_network_and_nothing_else() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::with(FULL, |wish| wish.net = Net::Full);
    let tcp = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let ran = cell
        .python(&format!("import socket; socket.create_connection((\"127.0.0.1\", {port}), 2); print(1)"));
    assert_eq!(ran.text, "1\n");
    assert!(!cell.sh("echo x > ../a").ok());
}

#[test]
fn a_project_below_tmp_is_put_back_into_the_private_one() {
    if !holds(FULL) {
        return;
    }
    let top = tempfile::tempdir_in("/tmp").unwrap();
    fs::write(top.path().join("seen"), "seen\n").unwrap();
    for mode in [Mode::WorkspaceWrite, Mode::ReadOnly] {
        let cell = Cell::with(FULL, |wish| {
            wish.cwd = top.path().into();
            wish.mode = mode;
        });
        let ran = cell.sh("cat seen; echo x > new; ls -A /tmp | wc -l");
        assert_eq!(ran.text.lines().next(), Some("seen"), "{ran:?}");
        assert_eq!(ran.text.lines().last(), Some("1"), "{ran:?}");
    }
    assert!(top.path().join("new").exists());
}

#[test]
fn a_program_that_does_not_exist_is_said_so() {
    if !holds(FULL) {
        return;
    }
    let cell = Cell::new(FULL);
    let mut cmd = cell.cmd("");
    cmd.program = "/no/such/program".into();
    let linux = tack::sandbox::Linux::with_tier(TACK, FULL);
    let error = super::cell::block_on(async {
        use tack::sandbox::Sandbox;
        linux.spawn(&cell.policy, &cmd).await.err().unwrap().to_string()
    });
    assert_eq!(error, "cannot run /no/such/program: No such file or directory (os error 2)");
}

#[test]
fn g24_a_folder_that_is_no_utf8() {
    use std::os::unix::ffi::OsStringExt;
    if !holds(FULL) {
        return;
    }
    for tier in [FULL, Tier::Landlock].into_iter().filter(|t| holds(*t)) {
        let mut cell = Cell::new(tier);
        let odd = cell.home().join(std::ffi::OsString::from_vec(b"a \xff".to_vec()));
        fs::create_dir(&odd).unwrap();
        cell.policy.cwd = odd.clone();
        cell.policy.write_roots = vec![odd.clone()];
        let ran = cell.sh("echo x > f && ls");
        assert_eq!((ran.exit, ran.text.as_str()), (Exit::Code(0), "f\n"));
        assert!(odd.join("f").exists());
    }
}

#[test]
fn links_in_guarded_places_stop_no_command_and_are_put_back() {
    if !holds(FULL) {
        return;
    }
    let mut cell = Cell::new(FULL);
    fs::create_dir(cell.proj.join("shared")).unwrap();
    std::os::unix::fs::symlink("shared", cell.proj.join(".vscode")).unwrap();
    assert!(cell.sh("mkdir sub && ln -s /nowhere sub/.git && ln -s . loop").ok());
    cell.policy = rewish(&cell);
    assert!(cell.sh("ls .vscode/ && git status --short").ok());
    assert!(!cell.sh("echo x > shared/tasks.json").ok(), "what the link leads to is guarded too");
    let ran = cell.sh("rm .vscode && mkdir .vscode && echo x > .vscode/tasks.json");
    assert_eq!(ran.exit, Exit::Code(125), "{ran:?}");
    assert!(ran.text.contains(".vscode is read-only"), "{}", ran.text);
    assert!(cell.proj.join(".vscode").is_symlink());
}

fn rewish(cell: &Cell) -> tack::sandbox::Policy {
    let wish = tack::sandbox::Wish {
        tmp: Some(cell.tmp().into()),
        home: Some(cell.home()),
        ..tack::sandbox::Wish::new(Mode::WorkspaceWrite, &cell.proj)
    };
    wish.settle().unwrap().policy
}

#[test]
fn a_32_bit_entry_is_killed() {
    if !holds(FULL) || !cfg!(target_arch = "x86_64") {
        return;
    }
    let cell = Cell::new(FULL);
    let code = "int main(void) { int r; __asm__ volatile(\"int $0x80\" : \"=a\"(r) : \"a\"(20)); return r < 0 ? 9 : 0; }";
    fs::write(cell.proj.join("e.c"), code).unwrap();
    assert!(cell.sh("cc e.c -o e").ok());
    if !cell.control("./e").ok() {
        eprintln!("SKIPPED: this kernel has no 32-bit entry");
        return;
    }
    assert_eq!(cell.sh("exec ./e").exit, Exit::Signal(libc::SIGSYS));
}
