//! The bench, run as people run it, with models of known skill: it finds a difference that is there,
//! says "not shown" of one that is not, goes on where it was stopped, and tells outages from failures.

use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::kit::{Ran, Tack, finish, wait_for};
use crate::server::*;

/// A home with a second harness, and a folder of tasks `t00` to `t13`: write the name into `out`.
struct Place {
    tack: Tack,
}

impl Place {
    fn new(server: &Server) -> Self {
        let tack = Tack::new(server);
        let place = Self { tack };
        place.harness("other", "[request]\ntop_p = 0.5\n");
        for n in 0..14 {
            let name = format!("t{n:02}");
            let check = format!(
                "#!/bin/sh\ngrep -q {name} out && exit 0\necho \"out does not say {name}\"\nexit 1\n"
            );
            let kept = n % 2 == 0;
            place.task(
                &name,
                &format!("prompt = \"Write {name} into the file out.\"\nkept = {kept}\n"),
                &check,
            );
        }
        place
    }

    fn tasks(&self) -> PathBuf {
        self.tack.dir.path().join("tasks")
    }

    fn task(&self, name: &str, toml: &str, check: &str) {
        let dir = self.tasks().join(name);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("task.toml"), toml).unwrap();
        std::fs::write(dir.join("check"), check).unwrap();
    }

    /// A fork of `minimal`.
    fn harness(&self, id: &str, more: &str) {
        let dir = self.tack.home().join("harnesses").join(id);
        std::fs::create_dir_all(&dir).unwrap();
        let text = format!("schema = 1\nid = \"{id}\"\nextends = \"minimal\"\n{more}");
        std::fs::write(dir.join("harness.toml"), text).unwrap();
    }

    fn args(&self, args: &[&str]) -> Vec<String> {
        let start = ["harness", "bench"].iter().chain(args).map(|arg| (*arg).to_owned());
        start.chain(["--tasks".to_owned(), self.tasks().display().to_string()]).collect()
    }

    fn bench(&self, args: &[&str]) -> Ran {
        self.tack.run(self.args(args))
    }

    fn results(&self) -> Vec<Value> {
        let text = std::fs::read_to_string(self.tack.home().join("bench/results.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// Whether it solves the task of this number under the harness that is asked for.
type Skill = fn(task: usize, harness: &str) -> bool;

/// Answers as a model of this skill: one command, then a last word.
fn as_skilled(request: &Request, skill: Skill) -> Option<Reply> {
    if request.method != "POST" {
        return None;
    }
    let said = request.said();
    let at = said.find("Write t")? + "Write t".len();
    let task: usize = said[at..at + 2].parse().unwrap();
    let harness = if request.body["top_p"].is_null() { "minimal" } else { "other" };
    if said.contains("\"tool\"") {
        return Some(sse([txt("It is done."), end("stop"), usage(120, 5), done()]));
    }
    let command = match skill(task, harness) {
        true => format!("echo t{task:02} > out"),
        false => "ls".to_owned(),
    };
    let call = call(0, "a", "bash", &json!({ "command": command }).to_string());
    Some(sse([call, end("tool_calls"), usage(100, 10), done()]))
}

fn skilled(skill: Skill) -> Server {
    Server::with(Vec::new(), move |request| as_skilled(request, skill))
}

/// Times and places differ from run to run.
fn plain(text: &str, place: &Place) -> String {
    let text = text.replace(&place.tack.dir.path().display().to_string(), "<dir>");
    let seconds = regex::Regex::new(r"\b\d+ s\b").unwrap().replace_all(&text, "<n> s").into_owned();
    regex::Regex::new(r" +\d+\.\d(  |\n)").unwrap().replace_all(&seconds, "  <s>$1").into_owned()
}

/// `minimal` can do all but one, the other harness half of them.
fn better(task: usize, harness: &str) -> bool {
    task != 13 && (harness == "minimal" || task.is_multiple_of(2))
}

/// Each can do half of them, and not the same.
fn alike(task: usize, harness: &str) -> bool {
    if harness == "minimal" { task.is_multiple_of(2) } else { task % 4 < 2 }
}

#[test]
fn a_real_difference_is_found_and_the_better_harness_stored() {
    let server = skilled(better);
    let place = Place::new(&server);
    let ran = place.bench(&["--harnesses", "minimal,other", "--store"]).code(0);
    assert_snapshot!(plain(&ran.stdout, &place));
    let first: Vec<&str> = ran.stderr.lines().take(2).collect();
    assert_snapshot!(plain(&first.join("\n"), &place));
    let config = std::fs::read_to_string(place.tack.home().join("config.toml")).unwrap();
    assert!(config.contains("[models.\"mock/mock\"]\nharness = \"minimal\""), "{config}");
    // What was done in a run can be read.
    let log = place.tack.home().join("bench").join(place.results()[0]["session"].as_str().unwrap());
    let shown = place.tack.run(["sessions".into(), "show".into(), log.display().to_string()]).code(0);
    assert!(shown.stdout.contains("Write t00 into the file out."), "{}", shown.stdout);
    let last = ran.stderr.lines().rev().nth(1).unwrap();
    assert!(last.starts_with("28 of 28 runs are in ") && last.ends_with("/bench/results.jsonl"), "{last}");
}

#[test]
fn a_comparison_stores_the_better_harness_too_and_never_another_agent() {
    let server = skilled(better);
    let place = Place::new(&server);
    let config = || std::fs::read_to_string(place.tack.home().join("config.toml")).unwrap();
    let agent = "x=sh -c 'echo \"$1\" | cut -c7-9 > out' - {prompt}";
    let ran = place.bench(&["compare", "other", "x", "--only", "t01,t03", "--external", agent, "--store"]);
    let ran = ran.code(0);
    assert!(ran.stderr.contains("not stored: x is no harness of tack's"), "{}", ran.stderr);
    assert!(!config().contains("[models"), "{}", config());
    let ran = place.bench(&["compare", "other", "minimal", "--store"]).code(0);
    assert!(ran.stderr.contains(": minimal for mock/mock"), "{}", ran.stderr);
    assert!(config().contains("harness = \"minimal\""), "{}", config());
    // What auto is shows only in the end.
    let ran = place.bench(&["compare", "auto", "other", "--only", "t00"]).code(0);
    assert!(ran.stdout.contains("\nminimal against other on mock/mock: 0 : 0 of 1 task\n"), "{}", ran.stdout);
    let ran = place.bench(&["compare", "auto", "minimal"]).code(2);
    assert!(ran.stderr.contains("auto is minimal for this model"), "{}", ran.stderr);
}

#[test]
fn a_difference_that_is_none_is_not_shown_and_nothing_is_run_twice() {
    let server = skilled(alike);
    let place = Place::new(&server);
    let ran = place.bench(&["compare", "minimal", "other", "-m", "mock"]).code(0);
    assert_snapshot!(plain(&ran.stdout, &place));
    let asked = || server.requests().iter().filter(|request| request.method == "POST").count();
    let before = asked();
    let kept = place.bench(&["compare", "minimal", "other", "-m", "mock", "--kept", "--by-task"]).code(0);
    assert_snapshot!(plain(&kept.stdout, &place));
    assert_eq!(asked(), before, "all of it was in the results");
    place.bench(&["--harnesses", "other", "--only", "t00", "--fresh"]).code(0);
    assert_eq!(asked(), before + 2);
    place.harness("other", "[request]\ntop_p = 0.6\n");
    place.bench(&["--harnesses", "other", "--only", "t00"]).code(0);
    assert_eq!(asked(), before + 4, "a harness that was changed is another one");
}

#[test]
fn runs_of_all_harnesses_take_turns() {
    let server = skilled(alike);
    let place = Place::new(&server);
    place.bench(&["--harnesses", "minimal,other", "--only", "t00,t01", "--runs", "2"]).code(0);
    let order = |place: &Place| -> Vec<String> {
        let name = |one: &Value| format!("{}{}{}", one["task"], one["run"], one["harness"]).replace('"', "");
        place.results().iter().map(name).collect()
    };
    let all = "t000minimal t000other t001minimal t001other t010minimal t010other t011minimal t011other";
    assert_eq!(order(&place).join(" "), all);
    place.bench(&["--harnesses", "minimal", "--seed", "3"]).code(0);
    let shuffled: Vec<String> = order(&place).split_off(8);
    assert!(shuffled.len() == 14 && !shuffled.is_sorted(), "{shuffled:?}");
    let asked = server.requests().into_iter().filter(|request| request.method == "POST");
    let seeds: Vec<Value> = asked.map(|request| request.body["seed"].clone()).collect();
    assert!(seeds.first() == Some(&Value::Null) && seeds.last() == Some(&json!(3)), "{seeds:?}");
}

#[test]
fn a_bench_that_is_stopped_goes_on_where_it_was() {
    let hung = AtomicBool::new(false);
    let server = Server::with(Vec::new(), move |request| {
        let reply = as_skilled(request, better)?;
        let third = request.said().contains("Write t02") && !hung.swap(true, Ordering::SeqCst);
        Some(if third { sse([txt("I will"), Frame::Hang]) } else { reply })
    });
    let place = Place::new(&server);
    let child = place.tack.command(place.args(&["--harnesses", "minimal"])).spawn().unwrap();
    server.wait(|all| {
        all.iter().any(|request| request.method == "POST" && request.said().contains("Write t02"))
    });
    wait_for("two entries", || place.results().len() == 2);
    let pid = child.id().to_string();
    assert!(std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
    let ran = finish(child, None).code(130);
    assert!(ran.stderr.contains("2 of 14 runs are in"), "{}", ran.stderr);
    assert_eq!(place.results().len(), 2);
    let ran = place.bench(&["--harnesses", "minimal"]).code(0);
    assert!(ran.stderr.starts_with("[3/14]"), "{}", ran.stderr);
    assert_eq!(place.results().len(), 14);
    let left = std::fs::read_dir(place.tack.home().join("bench/runs")).unwrap().count();
    assert_eq!(left, 0, "folders of runs are gone");
}

#[test]
fn a_server_that_is_gone_is_no_failure_of_the_model() {
    let server = Server::with(Vec::new(), |request| (request.method == "POST").then(|| error(401, "no")));
    let place = Place::new(&server);
    let ran = place.bench(&["--harnesses", "minimal,other"]).code(1);
    let said: Vec<&str> = ran.stderr.lines().rev().take(2).collect();
    assert!(said[1].starts_with("tack: three runs in a row say nothing"), "{}", ran.stderr);
    assert!(said[0].contains("0 of 28 runs are in"), "{}", ran.stderr);
    let voids: Vec<Value> = place.results().iter().map(|one| one["void"].clone()).collect();
    assert_eq!(voids, ["server", "server", "server"]);
}

#[test]
fn a_server_that_changes_its_model_makes_the_comparison_void() {
    let asked = AtomicUsize::new(0);
    let server = Server::with(Vec::new(), move |request| {
        if request.method == "POST" {
            asked.fetch_add(1, Ordering::SeqCst);
        } else if request.path.ends_with("/models") {
            // In the middle of the second run.
            let size = if asked.load(Ordering::SeqCst) < 3 { 1 } else { 2 };
            let model = json!({"id": "mock", "created": size + 7, "meta": {"n_params": size}});
            return Some(json_body(200, &json!({"data": [model]})));
        }
        as_skilled(request, better)
    });
    let place = Place::new(&server);
    let ran = place.bench(&["compare", "minimal", "other", "--only", "t00,t01"]).code(1);
    assert!(ran.stderr.contains("tack: the comparison is void: "), "{}", ran.stderr);
    assert!(ran.stdout.contains("void: the server changed its model while t00 ran"), "{}", ran.stdout);
    assert_eq!(place.results()[1]["void"], "model");
    assert_eq!(place.results()[3]["verdict"], "failed", "the rest was run");
}

#[test]
fn a_check_that_hangs_is_void_and_a_model_that_never_stops_meets_its_limit() {
    let server = Server::with(Vec::new(), |request| {
        let never = request.said().contains("Write t01");
        let more = json!({ "command": "date +%N >> log; cat log" });
        if never && request.method == "POST" {
            return Some(calls(&format!("c{}", request.said().len()), "bash", &more));
        }
        as_skilled(request, better)
    });
    let place = Place::new(&server);
    place.task(
        "t00",
        "prompt = \"Write t00 into out.\"\n[limits]\ncheck_seconds = 1\n",
        "#!/bin/sh\nsleep 100\n",
    );
    place.task("t01", "prompt = \"Write t01 into out.\"\n[limits]\nturns = 3\n", "#!/bin/sh\nexit 1\n");
    let ran = place.bench(&["--harnesses", "minimal", "--only", "t00,t01,t02"]).code(0);
    let verdicts: Vec<Value> = place.results().iter().map(|one| one["verdict"].clone()).collect();
    assert_eq!(verdicts, ["void", "limit", "solved"]);
    assert_eq!(place.results()[0]["void"], "check");
    assert_eq!(place.results()[1]["requests"], 3);
    assert!(ran.stdout.contains("1/2 (1 void)"), "{}", ran.stdout);
}

#[test]
fn the_agent_sees_neither_the_check_nor_what_others_did() {
    let server = Server::with(Vec::new(), |request| {
        if request.method != "POST" || request.said().contains("\"tool\"") {
            return (request.method == "POST").then(|| says("done"));
        }
        let look = json!({ "command": "cat ../../../../../tasks/t00/check > out; cat ../../../results.sessions/*/*/* >> out; ls /nothing" });
        Some(calls("a", "bash", &look))
    });
    let place = Place::new(&server);
    place.bench(&["--harnesses", "minimal", "--only", "t00"]).code(0);
    let again = place.bench(&["--harnesses", "minimal", "--only", "t00", "--fresh"]).code(0);
    assert!(again.stdout.contains(" 0/1 "), "{}", again.stdout);
    let sessions = place.tack.home().join("bench").join(place.results()[1]["session"].as_str().unwrap());
    let told = std::fs::read_to_string(sessions).unwrap();
    assert!(told.contains("ermission denied") || told.contains("No such file"), "{told}");
}

#[test]
fn another_agent_runs_in_a_home_of_its_own() {
    let server = Server::start(Vec::new());
    let place = Place::new(&server);
    let good = "x=test -z \"$(ls -A $HOME)\" && echo hi > $HOME/note && printf %s\\\\n {prompt} > out";
    let args = ["--harnesses", "x", "--only", "t00,t01", "--external", good];
    let ran = place.bench(&args).code(0);
    assert!(ran.stdout.contains("x           2/2              -"), "{}", ran.stdout);
    assert!(!place.tack.home().join("note").exists());
    assert!(server.requests().iter().all(|request| request.method == "GET"));
    let args = ["--harnesses", "y", "--only", "t00", "--external", "y=no-such-agent {prompt}"];
    place.bench(&args).code(1);
    assert_eq!(place.results()[2]["void"], "agent");
}

#[test]
fn what_cannot_be_run_is_said_before_anything_is() {
    let server = Server::start(Vec::new());
    let place = Place::new(&server);
    std::fs::create_dir(place.tasks().join("bare")).unwrap();
    std::fs::write(place.tasks().join("bare/task.toml"), "prompt = \"x\"\n").unwrap();
    let ran = place.bench(&["--harnesses", "minimal"]).code(2);
    assert!(ran.stderr.contains("bare/check"), "{}", ran.stderr);
    std::fs::remove_dir_all(place.tasks().join("bare")).unwrap();
    let table: [(&[&str], &str); 5] = [
        (&["--only", "t99"], "no task is called or tagged t99"),
        (&["--harnesses", "nobody"], "there is no harness `nobody`"),
        (
            &["--harnesses", "x", "--max-cost", "1", "--external", "x=y {prompt}"],
            "nobody counts what x spends",
        ),
        (&["--external", "x"], "is not NAME='COMMAND'"),
        (&["compare", "minimal", "minimal"], "one and the same"),
    ];
    for (args, want) in table {
        let ran = place.bench(args).code(2);
        assert!(ran.stderr.contains(want), "{}", ran.stderr);
    }
    assert!(server.requests().iter().all(|request| request.method == "GET"));
}

/// What is no file is not waited for or read without end, and where nothing can be written nothing is run.
#[test]
fn a_bench_that_could_not_keep_its_results_is_not_begun() {
    let server = Server::start(Vec::new());
    let place = Place::new(&server);
    for (out, want) in [
        ("/dev/full", "it is no file"),
        ("/dev/zero", "it is no file"),
        ("/proc/self/nowhere/r.jsonl", "cannot be written"),
    ] {
        let ran = place.bench(&["--harnesses", "minimal", "--out", out]);
        assert!(ran.code != 0 && ran.stderr.contains(want), "{out}: {}", ran.stderr);
    }
    let check = place.tasks().join("t00/check");
    std::fs::remove_file(&check).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &check).unwrap();
    let ran = place.bench(&["--harnesses", "minimal"]).code(2);
    assert!(ran.stderr.contains("t00/check: is no file"), "{}", ran.stderr);
    std::fs::remove_dir_all(place.tasks().join("t00")).unwrap();
    let files = place.tasks().join("t01/files");
    std::fs::create_dir(&files).unwrap();
    std::fs::File::create(files.join("huge")).unwrap().set_len(1 << 40).unwrap();
    let ran = place.bench(&["--harnesses", "minimal"]).code(2);
    assert!(ran.stderr.contains("holds too much"), "{}", ran.stderr);
    assert!(server.requests().iter().all(|request| request.method == "GET"));
}

#[test]
fn what_agents_leave_is_kept_anew_and_its_size_ends_no_bench() {
    let left = AtomicUsize::new(0);
    let server = Server::with(Vec::new(), move |request| {
        if request.method != "POST" {
            return None;
        }
        if request.said().contains("\"tool\"") {
            return Some(says("done"));
        }
        let size = if left.fetch_add(1, Ordering::SeqCst) < 2 { "1M" } else { "300M" };
        let command = format!("echo t00 > out; ln -s /etc/passwd a; truncate -s {size} big");
        Some(calls("a", "bash", &json!({ "command": command })))
    });
    let place = Place::new(&server);
    for verdict in ["solved", "solved", "failed"] {
        place.bench(&["--harnesses", "minimal", "--only", "t00", "--keep", "--fresh"]).code(0);
        assert_eq!(place.results().pop().unwrap()["verdict"], verdict);
    }
    let why = place.results().pop().unwrap()["why"].to_string();
    assert!(why.contains("what it left is not kept"), "{why}");
    let kept = place.tack.home().join("bench/results.kept/t00-minimal-0/a");
    assert!(kept.symlink_metadata().unwrap().is_symlink());
}

#[test]
fn a_bench_stops_when_its_money_is_spent() {
    let server = skilled(better);
    let place = Place::new(&server);
    let config = std::fs::read_to_string(place.tack.home().join("config.toml")).unwrap();
    // A run takes 220 tokens: $0.22.
    let prices = "[prices.\"mock/mock\"]\ninput = 1000\noutput = 0\n";
    place.tack.config(&format!("{config}{prices}"));
    let ran = place.bench(&["--harnesses", "minimal", "--max-cost", "0.5"]).code(3);
    assert!(ran.stderr.contains("$0.5400 spent (--max-cost); 2 of 14 runs"), "{}", ran.stderr);
    assert_eq!(place.results().len(), 2, "what was cut short by it is no result");
    assert!(ran.stdout.contains("2/2"), "{}", ran.stdout);
}

#[test]
fn a_server_that_stalls_is_void_and_one_that_is_slow_is_not() {
    for (stalls, verdict) in [(true, "void"), (false, "limit")] {
        let began = AtomicBool::new(false);
        let server = Server::with(Vec::new(), move |request| {
            if request.method == "POST" {
                began.store(true, Ordering::SeqCst);
                return Some(silent());
            }
            (stalls && began.load(Ordering::SeqCst)).then(silent)
        });
        let place = Place::new(&server);
        place.task("t00", "prompt = \"x\"\n[limits]\nseconds = 1\n", "#!/bin/sh\nexit 1\n");
        place.bench(&["--harnesses", "minimal", "--only", "t00"]);
        assert_eq!(place.results()[0]["verdict"], verdict);
    }
}

#[test]
fn a_task_is_made_of_a_session() {
    let server = skilled(better);
    let place = Place::new(&server);
    place.tack.run(["-p", "Write t00 into the file out."]).code(0);
    let id = place.tack.session_id();
    let tasks = place.tasks().display().to_string();
    let args = ["harness", "bench", "add", "--from", &id, "--name", "mine", "--tasks", &tasks];
    let ran = place.tack.run(args).code(0);
    assert_eq!(ran.stdout.trim_end(), place.tasks().join("mine").display().to_string());
    assert!(ran.stderr.contains("to do: "), "{}", ran.stderr);
    let toml = std::fs::read_to_string(place.tasks().join("mine/task.toml")).unwrap();
    assert!(toml.contains("Write t00 into the file out."), "{toml}");
}

#[test]
fn json_has_entries_and_sums() {
    let server = skilled(better);
    let place = Place::new(&server);
    let ran = place.bench(&["compare", "minimal", "other", "--only", "t00,t01", "--json"]).code(0);
    let mut all: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(all["entries"].as_array().unwrap().len(), 4);
    all["entries"].as_array_mut().unwrap().truncate(1);
    for entry in all["entries"].as_array_mut().unwrap() {
        for field in ["surface", "task_hash", "tack", "seconds", "session", "at"] {
            assert!(!entry[field].is_null(), "{field}: {entry}");
            entry[field] = "…".into();
        }
    }
    for row in all["rows"].as_array_mut().unwrap() {
        row["seconds"] = "…".into();
    }
    assert_snapshot!(serde_json::to_string_pretty(&all).unwrap());
}

#[test]
fn tasks_are_tested_themselves() {
    let server = Server::start(Vec::new());
    let place = Place::new(&server);
    place.task("t01", "prompt = \"x\"\n", "#!/bin/sh\nexit 0\n");
    let ran = place.bench(&["--selftest", "--only", "t00,t01"]).code(1);
    assert!(ran.stdout.contains("t01: check passes on the untouched folder"), "{}", ran.stdout);
    assert!(ran.stderr.contains("1 of 2 tasks are not sound"), "{}", ran.stderr);
}
