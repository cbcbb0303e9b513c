//! The tools inside the real sandbox: the same answers, and refusals that name the rule.

use tack::model::{Action, State};
use tack::sandbox::{EnvWish, Linux, Mode, Scratch, Tier, Wish};

use crate::cell::{TACK, block_on, holds};
use crate::tools_kit::{Bench, edit, eventually, read, write};

fn background(command: &str) -> Action {
    Action::Shell {
        command: command.into(),
        timeout: None,
        background: true,
        yield_after: None,
        within: Default::default(),
        cwd: None,
        about: None,
    }
}

/// A bench whose folder is a workspace; None, aloud, where no sandbox holds.
fn bench() -> Option<(Bench, Scratch)> {
    bench_in(Tier::Namespaces)
}

pub fn bench_in(tier: Tier) -> Option<(Bench, Scratch)> {
    if !holds(tier) {
        return None;
    }
    // Not below /tmp, which is private to commands.
    let base = std::path::Path::new(TACK).parent().unwrap().join("cells");
    std::fs::create_dir_all(&base).unwrap();
    let mut bench = Bench::within(&base);
    let home = bench.cwd.parent().unwrap().to_owned();
    let scratch = Scratch::make(&home.join("cache")).unwrap();
    let wish = Wish {
        home: Some(home),
        tmp: Some(scratch.path().into()),
        ..Wish::new(Mode::WorkspaceWrite, &bench.cwd)
    };
    bench.policy = wish.settle().unwrap().policy;
    bench.env = EnvWish { vars: bench.env.clone(), ..EnvWish::default() }.build(&bench.policy);
    bench.sandbox = Box::new(Linux::with_tier(TACK, tier));
    Some((bench, scratch))
}

#[test]
fn commands_and_file_tools_live_under_one_policy() {
    let Some((bench, _scratch)) = bench() else { return };
    block_on(async {
        let ran = bench
            .shell("echo out; echo err >&2; echo text > made; echo shared > /tmp/t; sleep 1000 & exit 3")
            .await;
        assert_eq!((ran.state, ran.exit), (State::Failed, Some(3)), "{}", ran.text);
        assert!(ran.text.starts_with("out\nerr\n[1 process left running was ended"), "{}", ran.text);
        assert_eq!(bench.run(&read("made")).await.text, "text\n");
        assert_eq!(bench.run(&read("/tmp/t")).await.text, "shared\n");
        assert_eq!(bench.run(&write("/tmp/u", "also\n")).await.state, State::Ok);
        assert_eq!(bench.shell("cat /tmp/u").await.text, "also\n");
        assert_eq!(bench.run(&edit("made", "text", "more")).await.state, State::Ok);
        assert_eq!(bench.shell("cat made").await.text, "more\n");
        let outside = bench.run(&write("../outside", "x")).await;
        assert_eq!(outside.state, State::Refused, "{}", outside.text);
        let touched = bench.shell("touch ../outside").await;
        assert_eq!(touched.state, State::Failed);
        assert!(touched.text.lines().count() > 1, "the rule is named: {}", touched.text);
    });
}

#[test]
fn limits_hold_in_the_sandbox() {
    let Some((bench, _scratch)) = bench() else { return };
    block_on(async {
        let long = bench.shell("seq 1 100000").await;
        assert_eq!(long.cut.map(|cut| cut.lines), Some(100_000));
        let endless = Action::Shell {
            command: "yes".into(),
            timeout: Some(500),
            background: false,
            yield_after: None,
            within: Default::default(),
            cwd: None,
            about: None,
        };
        assert_eq!(bench.run(&endless).await.state, State::TimedOut);
        let job = Action::Shell {
            command: "echo up; sleep 1000".into(),
            timeout: None,
            background: true,
            yield_after: None,
            within: Default::default(),
            cwd: None,
            about: None,
        };
        let job = bench.run(&job).await;
        if job.data["output"] == "" {
            bench.job_says("job1", "up").await;
        }
        bench.toolbox.stop_all().await;
        assert_eq!(bench.toolbox.running(), Vec::<String>::new());
    });
}

#[test]
fn the_work_is_handed_in_although_git_is_protected() {
    let Some((bench, _scratch)) = bench() else { return };
    block_on(async {
        let git = |args: &str| {
            let line = format!("cd '{}' && git {args}", bench.cwd.display());
            assert!(std::process::Command::new("sh").args(["-c", &line]).status().unwrap().success());
        };
        git("init -q .");
        bench.put("f", "a\n");
        git("add f");
        git("-c user.email=a@b -c user.name=n commit -qm x");
        bench.put("f", "b\n");
        bench.put("new", "n\n");
        let outcome = bench.run(&Action::Submit { text: String::new() }).await;
        assert_eq!(outcome.state, State::Ok, "{}", outcome.text);
        assert!(outcome.text.contains("+b\n") && outcome.text.contains("+++ b/new"), "{}", outcome.text);
    });
}

#[test]
fn a_server_in_the_background_answers_the_next_command() {
    let Some((bench, _scratch)) = bench() else { return };
    block_on(async {
        let serve = "echo hello > index.html; exec python3 -u -m http.server --bind 127.0.0.1 8765";
        let job = bench.run(&background(serve)).await;
        assert_eq!(job.state, State::Ok, "{}", job.text);
        let ask = "exec 3<>/dev/tcp/127.0.0.1/8765; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3";
        eventually(async || bench.shell(ask).await.text.ends_with("hello\n")).await;
        // The same loopback, and still nothing else.
        let host = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = host.local_addr().unwrap().port();
        let out = bench.shell(&format!("exec 3<>/dev/tcp/127.0.0.1/{port}")).await;
        assert_eq!(out.state, State::Failed, "{}", out.text);
        std::net::TcpStream::connect(("127.0.0.1", port)).unwrap();
        let interfaces = bench.shell("tail -n +3 /proc/net/dev | cut -d: -f1").await;
        assert_eq!(interfaces.text.trim(), "lo");
        // Nor does it bring the two closer in any other way.
        assert_eq!(bench.shell("cat /proc/[0-9]*/cmdline | grep -c [h]ttp.server").await.text.trim(), "0");
        bench.toolbox.stop_all().await;
        let gone = bench.shell(ask).await;
        assert_eq!(gone.state, State::Failed, "{}", gone.text);
    });
}

#[test]
fn file_tools_do_not_see_what_commands_have_of_their_own() {
    let Some((mut bench, _scratch)) = bench() else { return };
    std::os::unix::fs::symlink("/proc/self", bench.cwd.join("me")).unwrap();
    let files = ["/proc/self/status", "me/maps", "/proc/self/root/proc/self/mounts"];
    block_on(async {
        for path in files {
            let outcome = bench.run(&read(path)).await;
            assert_eq!(outcome.state, State::Refused, "{path}: {}", outcome.text);
            assert!(outcome.text.contains("look with a command"), "{}", outcome.text);
        }
        let list = |path: &str| Action::List { path: path.into(), ignore: vec![], depth: None };
        let at = |cwd: &str, command: &str| Action::Shell {
            command: command.into(),
            timeout: None,
            background: false,
            yield_after: None,
            within: Default::default(),
            cwd: Some(cwd.into()),
            about: None,
        };
        for folder in ["/run", "/proc/self/task", "me"] {
            assert_eq!(bench.run(&list(folder)).await.state, State::Refused, "{folder}");
            let ran = bench.run(&at(folder, "ls -A")).await;
            assert_eq!(ran.state, State::Refused, "{folder}: {}", ran.text);
        }
        // Its own /tmp is the exception: there both see the same, and write.
        assert_eq!(bench.run(&write("/tmp/d/f", "x")).await.state, State::Ok);
        assert_eq!(bench.run(&at("/tmp/d", "touch g && ls && pwd")).await.text, "f\ng\n/tmp/d\n");
        bench.policy.mode = Mode::DangerFullAccess;
        for path in files {
            let outcome = bench.run(&read(path)).await;
            assert_eq!(outcome.state, State::Ok, "control: {path}: {}", outcome.text);
        }
        assert_eq!(bench.run(&list("/run")).await.state, State::Ok);
    });
}
