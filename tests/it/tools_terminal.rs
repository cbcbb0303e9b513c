//! The session's terminal and jobs on terminals: what is typed arrives, what is on the screen is told.

use tack::model::{Action, JobOp, Outcome, State, Within};
use tack::sandbox::{Scratch, Tier};

use crate::cell::block_on;
use crate::tools_cell::bench_in;
use crate::tools_kit::{Bench, eventually, shell};

/// With nothing around commands, and in each sandbox that holds here.
fn benches() -> Vec<(&'static str, Bench, Option<Scratch>)> {
    let mut all = vec![("plain", Bench::new(), None)];
    for (name, tier) in [("namespaces", Tier::Namespaces), ("landlock", Tier::Landlock)] {
        all.extend(bench_in(tier).map(|(bench, scratch)| (name, bench, Some(scratch))));
    }
    all
}

async fn keys(bench: &Bench, text: &str) -> Outcome {
    bench.run(&Action::Keys { text: text.into(), wait: Some(10) }).await
}

/// Types, and looks until the text is there; all that was told to be new on the way.
async fn shows(bench: &Bench, typed: &str, wanted: &str) -> String {
    let mut all = String::new();
    let mut next = typed;
    eventually(async || {
        let look = keys(bench, std::mem::take(&mut next)).await;
        if look.data["new"] == true {
            all.push_str(&look.text);
        }
        // What is there at the first look of all is not new.
        all.contains(wanted) || look.data["screen"].as_str().unwrap().contains(wanted)
    })
    .await;
    all
}

async fn screen_has(bench: &Bench, wanted: &str) -> Outcome {
    let mut last = None;
    eventually(async || {
        let look = keys(bench, "").await;
        let there = look.data["screen"].as_str().unwrap().contains(wanted);
        last = Some(look);
        there
    })
    .await;
    last.unwrap()
}

fn gone(pid: &str) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    stat.rsplit_once(')').is_none_or(|(_, rest)| rest.trim_start().starts_with('Z'))
}

#[test]
fn keys_reach_one_shell_whose_output_is_told_once() {
    let benches = benches();
    block_on(async {
        for (name, bench, _scratch) in benches {
            screen_has(&bench, "@").await;
            let told = shows(&bench, "A=4; cd /; echo $((A+1))0\n", "\n50").await;
            assert!(told.contains("echo $((A+1))0\n50\n"), "{name}: {told}");
            let told = shows(&bench, "echo \"<$A:$PWD>\"; tty; stty size\n", "40 160").await;
            assert!(told.contains("<4:/>"), "{name}: the shell is the same: {told}");
            assert!(told.contains("/dev/pts/"), "{name}: the terminal has a name: {told}");
            assert!(!told.contains("\n50"), "{name}: told before: {told}");
        }
    });
}

#[test]
fn nothing_that_scrolled_out_is_lost() {
    block_on(async {
        let bench = Bench::new();
        screen_has(&bench, "@").await;
        let told = shows(&bench, "for i in $(seq 1 300); do echo line-$i; done; echo en''d\n", "end").await;
        for i in 1..=300 {
            assert_eq!(told.matches(&format!("line-{i}\n")).count(), 1, "line {i}: {told}");
        }
        let told = shows(&bench, "clear; echo af''ter\n", "after").await;
        assert!(!told.contains("line-299\n"), "{told}");
    });
}

#[test]
fn control_keys_interrupt_and_end() {
    let benches = benches();
    block_on(async {
        for (name, bench, _scratch) in benches {
            keys(&bench, "sleep 1000; echo st=$?\n").await;
            screen_has(&bench, "sleep 1000").await;
            // The shell may not have got to it yet.
            eventually(async || keys(&bench, "C-c").await.data["screen"].as_str().unwrap().contains("^C"))
                .await;
            // What is typed while the shell deals with the interrupt may be thrown away by it.
            eventually(async || {
                let look = keys(&bench, "echo x=$((1+1))\n").await;
                let screen = look.data["screen"].as_str().unwrap();
                assert!(!screen.contains("st=0"), "{name}: {screen}");
                screen.contains("x=2")
            })
            .await;
            // Keys ahead of the program would be the line editor's, which keeps Enter as it is.
            shows(&bench, "echo re''ady; cat > got\n", "ready").await;
            keys(&bench, "one\ntwo\n").await;
            keys(&bench, "C-d").await;
            eventually(async || bench.exists("got") && bench.bytes("got") == b"one\ntwo\n").await;
            keys(&bench, "echo $$ > pid\n").await;
            eventually(async || bench.exists("pid") && bench.bytes("pid").ends_with(b"\n")).await;
            let mut last = keys(&bench, "exit\n").await;
            eventually(async || {
                let over = last.data["exited"] == true;
                if !over {
                    last = keys(&bench, "").await;
                }
                over
            })
            .await;
            assert!(last.text.contains("the shell has ended"), "{name}: {}", last.text);
            shows(&bench, "echo ne''w\n", "new").await;
        }
    });
}

#[test]
fn a_full_screen_program_shows_its_screen_and_goes() {
    let benches = benches();
    block_on(async {
        for (name, bench, _scratch) in benches {
            bench.put("full.sh", "printf '\\033[?1049h\\033[2J\\033[5;10Hin the middle\\033[40;1Hbottom'; read x; printf '\\033[?1049l'; echo back\n");
            shows(&bench, "echo be''fore\n", "before").await;
            keys(&bench, "sh full.sh\n").await;
            let look = screen_has(&bench, "bottom").await;
            let screen = look.data["screen"].as_str().unwrap();
            assert_eq!(look.data["new"], false);
            assert!(screen.contains("\n         in the middle\n"), "{name}: {screen:?}");
            assert!(!screen.contains("before"), "{name}: {screen}");
            let told = shows(&bench, "\n", "back").await;
            assert!(!told.contains("in the middle"), "{name}: {told}");
        }
    });
}

#[test]
fn an_editor_can_be_used() {
    let Some((bench, _scratch)) = bench_in(Tier::Namespaces) else { return };
    block_on(async {
        if bench.shell("command -v vi").await.exit != Some(0) {
            return;
        }
        keys(&bench, "vi -u NONE note\n").await;
        screen_has(&bench, "~\n").await;
        keys(&bench, "ihello there").await;
        keys(&bench, "Escape").await;
        screen_has(&bench, "hello there").await;
        keys(&bench, ":wq\n").await;
        eventually(async || bench.exists("note") && bench.bytes("note") == b"hello there\n").await;
    });
}

#[test]
fn the_terminal_ends_with_the_session_and_all_that_runs_in_it() {
    let benches = benches();
    block_on(async {
        for (name, bench, _scratch) in benches {
            // Pids of the namespace say nothing here: the group is found by a marker in the command line.
            let marker = format!("100{}", std::process::id());
            keys(&bench, &format!("(trap '' HUP TERM; sleep {marker}) & sleep {marker}\n")).await;
            let running = || {
                let all =
                    std::process::Command::new("pgrep").args(["-f", &format!("^sleep {marker}")]).output();
                String::from_utf8(all.unwrap().stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
            };
            eventually(async || running().len() == 2).await;
            match name {
                "plain" => bench.toolbox.stop_all().await,
                _ => drop(bench.toolbox),
            }
            eventually(async || running().iter().all(|pid| gone(pid))).await;
        }
    });
}

#[test]
fn what_nobody_reads_is_said_not_to_be_typed() {
    block_on(async {
        let bench = Bench::new();
        keys(&bench, "stty raw -echo; exec sleep 1000\n").await;
        eventually(async || bench.shell("pgrep -x sleep").await.exit == Some(0)).await;
        let flood = keys(&bench, &"x".repeat(1_000_000)).await;
        assert!(flood.text.contains("bytes were typed: nothing reads them"), "{}", flood.text);
        bench.toolbox.stop_all().await;
    });
}

fn on_terminal(command: &str) -> Action {
    match shell(command) {
        Action::Shell { command, timeout, background, cwd, about, .. } => {
            let within = Within { tty: true, ..Within::default() };
            Action::Shell { command, timeout, background, yield_after: Some(1), cwd, about, within }
        }
        other => other,
    }
}

fn typing(id: &str, input: &str, close_stdin: bool) -> Action {
    Action::Job {
        op: JobOp::Output,
        id: id.into(),
        wait: Some(60_000),
        input: Some(input.into()),
        close_stdin,
    }
}

#[test]
fn a_job_on_a_terminal_is_typed_into() {
    let benches = benches();
    block_on(async {
        for (name, bench, _scratch) in benches {
            let command =
                "test -t 0 && test -t 1 && echo $TERM; read name; echo hello $name; cat; echo e''nd";
            let started = bench.run(&on_terminal(command)).await;
            assert_eq!(started.data["running"], true, "{name}: {}", started.text);
            let mut all = started.data["output"].as_str().unwrap().to_owned();
            let typed = bench.run(&typing("job1", "world\n", false)).await;
            all.push_str(typed.data["output"].as_str().unwrap());
            all.push_str(&bench.job_says("job1", "").await);
            let ended = bench.run(&typing("job1", "", true)).await;
            all.push_str(ended.data["output"].as_str().unwrap());
            assert_eq!((ended.exit, ended.state), (Some(0), State::Ok), "{name}: {}", ended.text);
            assert!(all.contains("xterm-256color\n") && all.contains("hello world\n"), "{name}: {all}");
            let started = bench
                .run(&on_terminal("trap 'echo caught; exit 7' INT; echo up; while :; do sleep 0.1; done"))
                .await;
            if !started.data["output"].as_str().unwrap().contains("up") {
                bench.job_says("job2", "up").await;
            }
            let ended = bench.run(&typing("job2", "\u{3}", false)).await;
            assert!(ended.exit == Some(7) && ended.text.contains("caught"), "{name}: {}", ended.text);
        }
    });
}

#[test]
fn a_job_reads_from_a_pipe_where_the_harness_asks_for_one() {
    let benches = benches();
    block_on(async {
        for (name, bench, _scratch) in benches {
            let Action::Shell { command, timeout, cwd, about, .. } = shell("test -t 0 || sort; echo end")
            else {
                return;
            };
            let within = Within { stdin: tack::model::Stdin::Pipe, ..Within::default() };
            let start =
                Action::Shell { command, timeout, background: true, yield_after: None, cwd, about, within };
            assert_eq!(bench.run(&start).await.data["running"], true);
            let typed = Action::Job {
                op: JobOp::Output,
                id: "job1".into(),
                wait: Some(0),
                input: Some("b\n".into()),
                close_stdin: false,
            };
            assert_eq!(bench.run(&typed).await.data["running"], true);
            let ended = bench.run(&typing("job1", "a\n", true)).await;
            assert_eq!(
                (ended.exit, ended.data["output"].as_str().unwrap()),
                (Some(0), "a\nb\nend\n"),
                "{name}"
            );
        }
    });
}

fn job(op: JobOp, id: &str, wait: Option<u64>) -> Action {
    Action::Job { op, id: id.into(), wait, input: None, close_stdin: false }
}

fn background(command: &str) -> Action {
    match shell(command) {
        Action::Shell { command, timeout, cwd, about, within, .. } => {
            Action::Shell { command, timeout, background: true, yield_after: None, cwd, about, within }
        }
        other => other,
    }
}

#[test]
fn jobs_are_listed_and_the_first_to_end_is_waited_for() {
    block_on(async {
        let bench = Bench::new();
        let none = bench.run(&job(JobOp::List, "", None)).await;
        assert_eq!((none.text.as_str(), none.state), ("there are no jobs", State::Ok));
        assert_eq!(bench.run(&job(JobOp::Wait, "", Some(60_000))).await.text, "no job is running");
        bench.shell("mkfifo go").await;
        bench.run(&background("exec sleep 1000")).await;
        bench.run(&background("read x < go; echo done; exit 3")).await;
        let listed = bench.run(&job(JobOp::List, "", None)).await;
        assert!(
            listed.text.lines().count() == 2 && listed.text.contains("job1 (still running"),
            "{}",
            listed.text
        );
        let still = bench.run(&job(JobOp::Wait, "", Some(1))).await;
        assert_eq!(
            (still.text.as_str(), &still.data["running"]),
            ("still running: job1, job2", &true.into())
        );
        bench.shell("echo > go").await;
        let first = bench.run(&job(JobOp::Wait, "", Some(60_000))).await;
        assert_eq!((&first.data["job"], first.exit), (&"job2".into(), Some(3)), "{}", first.text);
        assert!(first.text.contains("done"), "{}", first.text);
        assert_eq!(bench.run(&job(JobOp::Wait, "job1", Some(1))).await.data["running"], true);
        let listed = bench.run(&job(JobOp::List, "", None)).await;
        assert_eq!(listed.data["jobs"][1]["exit"], 3);
        assert!(listed.text.contains("job2 (ended with exit code 3)"), "{}", listed.text);
        bench.toolbox.stop_all().await;
        assert_eq!(bench.run(&job(JobOp::Wait, "", Some(60_000))).await.data["running"], false);
    });
}

/// A session may have hundreds of jobs, but not as many open files.
#[cfg(target_os = "linux")]
#[test]
fn a_job_that_ended_holds_no_file_open() {
    block_on(async {
        let bench = Bench::new();
        for n in 1..=3 {
            bench.run(&background("echo hi")).await;
            let over = bench.run(&job(JobOp::Wait, &n.to_string(), Some(60_000))).await;
            let file = over.data["output_file"].as_str().expect("a file").to_owned();
            assert_eq!(std::fs::read_to_string(file).unwrap(), "hi\n");
        }
        let open = std::fs::read_dir("/proc/self/fd").unwrap().flatten();
        let open = open.filter_map(|fd| std::fs::read_link(fd.path()).ok());
        assert_eq!(open.filter(|file| file.starts_with(&bench.spill)).count(), 0);
    });
}

#[test]
fn a_flood_on_the_terminal_is_bounded_and_ends() {
    block_on(async {
        let bench = Bench::new();
        let flood = "yes \"$(printf 'x\\033[9999b\\033[40S\\033[2J\\033]0;t')\" | head -c 400000; printf '\\033\\\\\\033c'; echo over-$((40 + 2))\n";
        let mut next = flood;
        eventually(async || {
            let look = keys(&bench, std::mem::take(&mut next)).await;
            assert!(look.text.len() < 17_000, "{}", look.text.len());
            look.data["screen"].as_str().unwrap().contains("over-42")
        })
        .await;
        bench.toolbox.stop_all().await;
    });
}
