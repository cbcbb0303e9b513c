//! Commands and background jobs: they end when they should, and leave neither processes nor gaps.

use std::time::{Duration, Instant};

use tack::model::{Action, JobOp, State};
use tack::sandbox::EnvWish;

use crate::tools_kit::{Bench, SmallDisk, eventually};

/// Whether a process with this id is there and no zombie.
fn alive(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_some_and(|(_, rest)| !rest.trim_start().starts_with('Z'))
}

fn memory(key: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find(|line| line.starts_with(key)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse::<u64>().unwrap() * 1024
}

fn with_timeout(command: &str, timeout: u64) -> Action {
    Action::Shell {
        command: command.into(),
        timeout: Some(timeout),
        background: false,
        yield_after: None,
        within: Default::default(),
        cwd: None,
        about: None,
    }
}

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

fn job(op: JobOp, id: &str) -> Action {
    Action::Job { op, id: id.into(), wait: None, input: None, close_stdin: false }
}

#[tokio::test]
async fn what_came_of_a_command_is_told_truly() {
    let bench = Bench::new();
    // command, state, exit, text
    let table = [
        ("echo out; echo err >&2; echo out2", State::Ok, Some(0), "out\nerr\nout2\n"),
        ("true", State::Ok, Some(0), ""),
        ("printf x; exit 3", State::Failed, Some(3), "x"),
        ("kill -9 $$", State::Failed, Some(137), ""),
        ("read x; echo got:$x", State::Ok, Some(0), "got:\n"),
        ("printf '\\033[31mred\\033[0m 1%%\\r2%%\\n'", State::Ok, Some(0), "2%\n"),
        ("printf 'a\\0b\\377c\\n'", State::Ok, Some(0), "ab\u{fffd}c\n"),
        ("[[ 1 == 1 ]] && echo bash", State::Ok, Some(0), "bash\n"),
    ];
    for (command, state, exit, text) in table {
        let outcome = bench.shell(command).await;
        assert_eq!((outcome.state, outcome.exit, outcome.text.as_str()), (state, exit, text), "{command}");
    }
    assert_eq!(bench.shell("  ").await.state, State::Failed);
    assert_eq!(bench.shell("echo a\0b").await.state, State::Failed);
}

#[tokio::test]
async fn a_command_runs_where_it_is_asked_to() {
    let bench = Bench::new().file("sub [1]/f", "x");
    let at = |cwd: &str| Action::Shell {
        command: "pwd".into(),
        timeout: None,
        background: false,
        yield_after: None,
        within: Default::default(),
        cwd: Some(cwd.into()),
        about: None,
    };
    let inside = bench.run(&at("sub [1]")).await;
    assert_eq!(bench.plain(&inside.text), "<cwd>/sub [1]\n");
    let missing = bench.run(&at("sub [2]")).await;
    assert_eq!(
        (missing.state, missing.text.as_str()),
        (State::Failed, "sub [2] does not exist; near it: sub [1]")
    );
    let file = bench.run(&at("sub [1]/f")).await;
    assert_eq!(file.state, State::Failed);
    std::fs::remove_dir_all(&bench.cwd).unwrap();
    let gone = bench.shell("pwd").await;
    insta::assert_snapshot!(bench.plain(&gone.text), @"the working folder <cwd> is gone; nothing can run until it is there again");
}

#[tokio::test]
async fn g08_a_child_in_the_background_does_not_hold_the_call() {
    let bench = Bench::new();
    for command in [
        "sleep 1000 & echo $! > pid; echo started",
        "sleep 1000 </dev/null >/dev/null & echo $! > pid; echo started",
        "setsid sleep 1000 & echo $! > pid; echo started",
    ] {
        let start = Instant::now();
        let outcome = bench.shell(command).await;
        assert!(start.elapsed() < Duration::from_secs(3), "{command}: {:?}", start.elapsed());
        assert_eq!(outcome.state, State::Ok);
        insta::allow_duplicates! {
            insta::assert_snapshot!(outcome.text, @r"
            started
            [1 process left running was ended with the command; only a background job may go on]
            ");
        }
        assert_eq!(outcome.data["survivors"], 1);
        let pid = String::from_utf8(bench.bytes("pid")).unwrap();
        assert!(!alive(&pid), "{command}: {pid} was said to be ended");
    }
}

#[tokio::test]
async fn a_time_limit_of_nothing_is_none_that_was_given() {
    let outcome = Bench::new().run(&with_timeout("sleep 0.1; echo done", 0)).await;
    assert_eq!((outcome.state, outcome.text.as_str()), (State::Ok, "done\n"));
}

#[tokio::test]
async fn a_time_limit_ends_the_whole_tree_and_keeps_the_output() {
    let bench = Bench::new();
    let start = Instant::now();
    let outcome = bench.run(&with_timeout("sleep 1000 & echo $! > pid; echo before; wait", 1500)).await;
    assert!(start.elapsed() < Duration::from_secs(4));
    assert_eq!((outcome.state, outcome.exit, outcome.text.as_str()), (State::TimedOut, None, "before\n"));
    assert_eq!(outcome.data["timeout"], 1500);
    assert!(!alive(&String::from_utf8(bench.bytes("pid")).unwrap()));
}

#[tokio::test]
async fn a_cancelled_command_is_interrupted_and_gone() {
    let bench = Bench::new();
    let cancel = bench.cancel.clone();
    let ran = bench.cwd.join("ran");
    let watch = async {
        eventually(async || ran.exists()).await;
        cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(bench.shell("echo $$ > pid; echo so far; touch ran; sleep 1000"), watch);
    assert_eq!((outcome.state, outcome.text.as_str()), (State::Interrupted, "so far\n"));
    assert!(!alive(&String::from_utf8(bench.bytes("pid")).unwrap()));
}

#[tokio::test]
async fn g10_enormous_output_is_bounded_and_kept_whole() {
    let bench = Bench::new();
    let before = memory("VmRSS");
    let outcome = bench.shell("yes 'repeating text ü' | head -c 300000000; echo LAST").await;
    assert!(memory("VmHWM").saturating_sub(before) < 100 * 1024 * 1024);
    assert!(outcome.text.len() <= bench.limits.bytes + 200, "{}", outcome.text.len());
    assert!(outcome.text.starts_with("repeating text ü\n"));
    assert!(outcome.text.trim_end().ends_with("LAST"));
    let cut = outcome.cut.expect("cut");
    let spill = cut.spill.expect("spill");
    assert_eq!(std::fs::metadata(&spill).unwrap().len(), 300_000_005);
    assert_eq!(outcome.data["output_file"], spill.as_str());
    assert!(outcome.text.contains(&spill));
}

#[tokio::test]
async fn g10_one_enormous_line() {
    let bench = Bench::new();
    let before = memory("VmRSS");
    let outcome = bench.shell("head -c 50000000 /dev/zero | tr '\\0' x; echo; echo LAST").await;
    assert!(memory("VmHWM").saturating_sub(before) < 100 * 1024 * 1024);
    assert!(outcome.text.len() <= bench.limits.bytes + 200);
    assert!(outcome.text.ends_with("LAST\n"));
    assert_eq!(outcome.cut.map(|cut| (cut.lines, cut.bytes)), Some((2, 50_000_006)));
}

#[tokio::test]
async fn g10_output_without_end_meets_the_time_limit() {
    let bench = Bench::new();
    let start = Instant::now();
    let outcome = bench.run(&with_timeout("yes", 1000)).await;
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(outcome.state, State::TimedOut);
    assert!(outcome.text.starts_with("y\ny\n") && outcome.text.ends_with("y\n"));
}

#[tokio::test]
async fn a_file_is_made_only_for_long_output() {
    let bench = Bench::new();
    bench.shell("seq 1 10").await;
    assert!(!bench.spill.exists());
    let outcome = bench.shell("seq 1 3000").await;
    let spill = outcome.cut.unwrap().spill.unwrap();
    assert_eq!(std::fs::read_to_string(&spill).unwrap().lines().count(), 3000);
}

#[tokio::test]
async fn g25_a_full_disk_is_said_and_the_command_goes_on() {
    let bench = Bench::new();
    std::fs::create_dir(&bench.spill).unwrap();
    let Some(_mount) = SmallDisk::mount(&bench.spill) else { return };
    let outcome = bench.shell("seq 1 100000; echo LAST").await;
    let small = bench.run(&background("seq 1 100000; echo LAST")).await;
    bench.toolbox.stop_all().await;
    assert_eq!(outcome.state, State::Ok);
    assert!(outcome.text.contains("LAST\n"), "{}", outcome.text);
    assert!(outcome.text.contains("the file is not complete: No space left on device"), "{}", outcome.text);
    assert!(
        small.text.contains("not complete") || small.text.contains("could not be kept"),
        "{}",
        small.text
    );
}

#[tokio::test]
async fn a_background_job_is_started_asked_and_stopped() {
    let bench = Bench::new();
    let started = bench.run(&background("echo $$ > pid; echo first; exec sleep 1000")).await;
    assert_eq!(started.state, State::Ok);
    assert_eq!(started.data["job"], "job1");
    let file = started.data["output_file"].as_str().unwrap();
    assert!(started.text.starts_with("job1 runs in the background, pid ") && started.text.contains(file));
    if started.data["output"] == "" {
        assert_eq!(bench.job_says("job1", "first").await, "first\n");
    }
    let nothing_new = bench.run(&job(JobOp::Output, "job1")).await;
    assert_eq!(nothing_new.text, "job1 (still running)");
    assert_eq!(bench.toolbox.running(), ["job1"]);
    assert_eq!(bench.toolbox.ended(), []);
    let stopped = bench.run(&job(JobOp::Stop, "1")).await;
    assert!(stopped.text.starts_with("job1 was stopped"), "{}", stopped.text);
    assert!(!alive(&String::from_utf8(bench.bytes("pid")).unwrap()));
    assert_eq!(bench.toolbox.running(), Vec::<String>::new());
    assert_eq!(bench.toolbox.ended(), [], "the stop has told of it");
    let unknown = bench.run(&job(JobOp::Output, "job7")).await;
    assert_eq!(
        (unknown.state, unknown.text.as_str()),
        (State::Failed, "there is no job `job7`; none is running")
    );
    assert_eq!(std::fs::read_to_string(file).unwrap(), "first\n");
}

#[tokio::test]
async fn a_job_that_ends_is_told_of_once() {
    let bench = Bench::new();
    bench.shell("mkfifo go").await;
    bench.run(&background("read line < go; echo done; exit 4")).await;
    assert_eq!(bench.toolbox.ended(), []);
    bench.shell("echo > go").await;
    let mut ended = Vec::new();
    eventually(async || {
        ended = bench.toolbox.ended();
        !ended.is_empty()
    })
    .await;
    assert_eq!(ended.len(), 1);
    assert_eq!((ended[0].id.as_str(), ended[0].exit, ended[0].tail.as_str()), ("job1", Some(4), "done\n"));
    assert_eq!(bench.toolbox.ended(), []);
}

#[tokio::test]
async fn jobs_die_with_the_toolbox() {
    let mut bench = Bench::new();
    let started = bench.run(&background("exec sleep 1000")).await.data["pid"].to_string();
    assert!(alive(&started));
    bench.toolbox = tack::tools::Toolbox::default();
    eventually(async || !alive(&started)).await;
}

#[tokio::test]
async fn submitting_shows_the_difference_and_leaves_the_index_alone() {
    let bench = Bench::new();
    let setup = "git init -q . && git config user.email a@b && git config user.name n && printf 'a\\n' > f && git add f && git commit -qm x";
    assert_eq!(bench.shell(setup).await.state, State::Ok);
    bench.put("f", "b\n");
    bench.put("new", "n\n");
    let outcome = bench.run(&Action::Submit { text: String::new() }).await;
    assert_eq!(outcome.state, State::Ok);
    for row in ["-a\n", "+b\n", "+++ b/new\n", "+n\n"] {
        assert!(outcome.text.contains(row), "{row} in {}", outcome.text);
    }
    assert_eq!(outcome.data["diff"], outcome.text);
    assert_eq!(bench.shell("git status --porcelain").await.text, " M f\n?? new\n");
}

#[tokio::test]
async fn submitting_outside_a_repository_is_empty() {
    let bench = Bench::new().file("f", "x");
    let outcome = bench.run(&Action::Submit { text: String::new() }).await;
    assert_eq!((outcome.state, outcome.text.as_str()), (State::Ok, ""));
}

#[tokio::test]
async fn g09_editors_and_pagers_do_not_wait() {
    let mut bench = Bench::new();
    let mut vars: Vec<_> = std::env::vars_os().filter(|(name, _)| name == "PATH").collect();
    for (name, value) in [("EDITOR", "vim"), ("VISUAL", "vim"), ("PAGER", "less"), ("GIT_PAGER", "less")] {
        vars.push((name.into(), value.into()));
    }
    vars.push(("HOME".into(), bench.cwd.parent().unwrap().into()));
    bench.env = EnvWish { vars, ..EnvWish::default() }.build(&bench.policy);
    let setup = "git init -q . && git config user.email a@b && git config user.name n && echo a > f && git add f && git commit -qm one && echo b > f && git add f";
    assert_eq!(bench.shell(setup).await.state, State::Ok);
    let start = Instant::now();
    for (command, ok) in [
        ("git commit", false),
        ("git log", true),
        ("git commit --amend", false),
        ("git rebase -i --root", false),
        ("read x; echo got:$x", true),
    ] {
        let outcome = bench.shell(command).await;
        assert_eq!(outcome.exit == Some(0), ok, "{command}: {}", outcome.text);
    }
    assert!(start.elapsed() < Duration::from_secs(5));
    assert_eq!(bench.shell("git log --oneline | wc -l").await.text.trim(), "1");
}

fn yielding(command: &str, yield_after: u64) -> Action {
    let (command, yield_after) = (command.into(), Some(yield_after));
    Action::Shell {
        command,
        timeout: Some(1),
        background: false,
        yield_after,
        cwd: None,
        about: None,
        within: Default::default(),
    }
}

fn waiting(id: &str, wait: u64, input: Option<&str>) -> Action {
    let input = input.map(str::to_owned);
    Action::Job { op: JobOp::Output, id: id.into(), wait: Some(wait), input, close_stdin: false }
}

#[tokio::test]
async fn a_command_that_ends_before_it_goes_on_is_like_any_other() {
    let bench = Bench::new();
    let outcome = bench.run(&yielding("sleep 0.05; echo out; exit 3", 60_000)).await;
    assert_eq!((outcome.state, outcome.exit, outcome.text.as_str()), (State::Failed, Some(3), "out\n"));
    assert_eq!((&outcome.data["background"], &outcome.data["job"]), (&false.into(), &().into()));
    assert_eq!(bench.toolbox.running(), Vec::<String>::new());
    assert_eq!(bench.toolbox.ended(), [], "its end was the answer");
    let left = std::fs::read_dir(&bench.spill).map_or(0, Iterator::count);
    assert_eq!(left, 0, "all of it was shown, so no file is kept");
    let long = bench.run(&yielding("seq 1 3000", 60_000)).await;
    let spill = long.cut.unwrap().spill.unwrap();
    assert_eq!(std::fs::read_to_string(&spill).unwrap().lines().count(), 3000);
}

#[tokio::test]
async fn a_command_that_still_runs_goes_on_as_a_job() {
    let bench = Bench::new();
    bench.shell("mkfifo go").await;
    let outcome = bench.run(&yielding("echo one; read line < go; echo two; exit 4", 1)).await;
    assert_eq!((outcome.state, outcome.exit), (State::Ok, None));
    assert_eq!((&outcome.data["job"], &outcome.data["running"]), (&"job1".into(), &true.into()));
    assert_eq!(bench.toolbox.running(), ["job1"]);
    let typed = bench.run(&waiting("job1", 0, Some("y\n"))).await;
    assert_eq!((typed.state, &typed.data["error"]), (State::Failed, &"no_stdin".into()));
    bench.run(&background("echo > go")).await;
    let ended = bench.run(&waiting("job1", 60_000, Some(""))).await;
    let all =
        format!("{}{}", outcome.data["output"].as_str().unwrap(), ended.data["output"].as_str().unwrap());
    assert_eq!((ended.exit, all.as_str()), (Some(4), "one\ntwo\n"));
    let seen: Vec<_> = bench.toolbox.ended().into_iter().map(|job| job.id).collect();
    assert!(!seen.contains(&"job1".to_owned()), "the wait has told of it");
}

#[tokio::test]
async fn nobody_waits_longer_than_a_command_may_take() {
    let mut bench = Bench::new();
    bench.shell_timeout_most = 1;
    let day = 24 * 3_600_000;
    let started = bench.run(&yielding("exec sleep 30", day)).await;
    assert_eq!(started.data["running"], true, "{}", started.text);
    let asked = bench.run(&waiting("job1", day, None)).await;
    assert_eq!(asked.data["running"], true, "{}", asked.text);
    bench.toolbox.stop_all().await;
}

#[tokio::test]
async fn ctrl_c_ends_a_command_that_goes_on() {
    let bench = Bench::new();
    let started = bench.run(&yielding("exec sleep 1000", 1)).await;
    let stopped = bench.run(&waiting("job1", 60_000, Some("\u{3}"))).await;
    assert_eq!(stopped.data["running"], false);
    assert!(!alive(&started.data["pid"].to_string()));
}

#[tokio::test]
async fn a_stop_while_a_command_may_go_on_ends_it() {
    let bench = Bench::new();
    let command = yielding("echo $$ > pid; exec sleep 1000", 600_000);
    let stop = async {
        eventually(async || bench.exists("pid") && !bench.bytes("pid").is_empty()).await;
        bench.cancel.cancel();
    };
    let (outcome, ()) = tokio::join!(bench.run(&command), stop);
    assert_eq!(outcome.state, State::Interrupted);
    assert!(!alive(&String::from_utf8(bench.bytes("pid")).unwrap()));
    assert_eq!(bench.toolbox.running(), Vec::<String>::new());
}
