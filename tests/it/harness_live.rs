//! Edits of a harness's files take effect at the next turn; a broken one leaves the harness as it was.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use serde_json::{Value, json};
use tack::agent::{Agent, Bounds, End, Event, Holds, Setup, Stopper, events};
use tack::harness::{Library, Live, NoPrograms, Program, Programs, Started, Tree, sample_model};
use tack::model::{Model, Said};
use tack::sandbox::Plain;
use tack::store::Session;
use tack::wire::client::HttpClient;
use tack::wire::provider::Provider;
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, duplex, split};

use crate::kit::{Tack, on_every_wire, wire};
use crate::server::*;
use crate::tools_kit;

const MINE: &str = "extends = \"minimal\"\n[system]\nblocks = [\"s.md\"]\n";

/// Runs one turn for each edit, which is made ahead of it: a file of the harness and its text.
async fn play(server: &Server, edits: &[(&str, &str)]) -> Vec<String> {
    play_with(server, (MINE, Arc::new(NoPrograms)), edits).await
}

async fn play_with(
    server: &Server,
    (manifest, programs): (&str, Arc<dyn Programs>),
    edits: &[(&str, &str)],
) -> Vec<String> {
    let bench = tools_kit::Bench::new();
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("mine")).unwrap();
    std::fs::write(dir.path().join("mine/harness.toml"), manifest).unwrap();
    std::fs::write(dir.path().join("mine/s.md"), "first words").unwrap();
    std::fs::create_dir(dir.path().join("mine/lib")).unwrap();
    for file in ["p.py", "lib/words.py"] {
        std::fs::write(dir.path().join("mine").join(file), "first").unwrap();
    }
    let library = Library::new(vec![dir.path().to_owned()]);
    let model = Model { provider: "mock".into(), name: "m".into(), wire: wire(), ..sample_model() };
    let provider = Provider { stream_retries: 0, request_retries: 0, ..Provider::new("mock", server.url()) };
    let stopper = Stopper::default();
    let (out, mut heard) = events(stopper.token().clone());
    let setup = Setup {
        programs,
        live: Some(Live::new(library.clone(), "mine")),
        harness: library.fit("mine", &model).unwrap(),
        model,
        client: Arc::new(HttpClient::new(provider).unwrap()),
        policy: bench.policy.clone(),
        sandbox: Arc::new(Plain),
        env: bench.env.clone(),
        online: bench.env.clone(),
        session: Session::ephemeral(),
        loaded: None,
        config_dir: None,
        check: Default::default(),
        bounds: Bounds::default(),
        unattended: true,
        permit: Default::default(),
        desk: tack::agent::Desk::default(),
        holds: Holds::Alone,
        stopper,
    };
    let run = async {
        let mut agent = Agent::new(setup, out);
        agent.open(Vec::new()).await.unwrap();
        for (file, text) in edits {
            if !file.is_empty() {
                std::fs::write(dir.path().join(file), text).unwrap();
            }
            let said = Said { text: "go on".to_owned(), images: Vec::new() };
            let end = agent.turn(said, None).await;
            assert!(matches!(end, End::Completed { .. }), "{end:?}");
        }
        agent.close().await;
    };
    let hear = async {
        let mut warned = Vec::new();
        while let Some(event) = heard.recv().await {
            if let Event::Warning(text) = event {
                warned.push(text.replace(&format!("{}/", dir.path().display()), ""));
            }
        }
        warned
    };
    tokio::join!(run, hear).1
}

on_every_wire! { async:
    edits_count_from_the_next_turn_and_broken_ones_are_told_once,
}

async fn edits_count_from_the_next_turn_and_broken_ones_are_told_once() {
    let edits = [
        ("", ""),
        ("mine/s.md", "other words"),
        ("mine/s.md", "{{ cdw }}"),
        ("", ""),
        ("elsewhere.md", "no part of it"),
        ("mine/s.md", "mended words"),
        (
            "mine/harness.toml",
            "extends = \"minimal\"\n[system]\nblocks = [\"s.md\"]\n[tools]\ndrop = [\"write\"]\n",
        ),
        ("mine/harness.toml", "extends = \"minimal\"\n[loop\n"),
        ("mine/harness.toml", MINE),
    ];
    let server = Server::start((0..edits.len()).map(|n| says(&format!("answer {n}"))).collect());
    let warned = play(&server, &edits).await;
    let requests = server.requests();
    assert_eq!(requests.len(), edits.len());
    let words = ["first", "other", "other", "other", "other", "mended", "mended", "mended", "mended"];
    for (nth, request) in requests.iter().enumerate() {
        assert!(request.chat().to_string().contains(&format!("{} words", words[nth])), "request {nth}");
        let writes = request.chat()["tools"].to_string().contains("\"write\"");
        assert_eq!(writes, ![6, 7].contains(&nth), "request {nth}");
        for said in 0..nth {
            assert!(request.said().contains(&format!("answer {said}")), "{nth}: the history stays");
        }
        valid_history(&request.chat()).unwrap();
    }
    // Where nothing changed, what was sent is the beginning of what is sent.
    for (before, after) in [(1, 2), (2, 3), (3, 4)] {
        let messages = |nth: usize| requests[nth].chat()["messages"].as_array().unwrap().clone();
        assert!(messages(after).starts_with(&messages(before)), "{before} {after}");
        assert_eq!(requests[before].chat()["tools"], requests[after].chat()["tools"]);
    }
    insta::allow_duplicates! {
        insta::assert_snapshot!(warned.join("\n"), @r"
        harness mine was edited and is broken, so it stays as it was: mine/s.md:1: the template uses `cdw`, which is not known here
        harness mine was edited and is broken, so it stays as it was: mine/harness.toml:2: unclosed table, expected `]`
        ");
    }
}

/// What is edited between two runs of a session counts too; a broken harness ends the second with its
/// fault, as any other one would see the session in another way.
#[test]
fn a_resumed_session_takes_the_edit_or_says_what_is_wrong_with_it() {
    let server = Server::start(vec![says("one"), says("two"), says("three")]);
    let tack = Tack::new(&server);
    tack.harness("mine", "");
    tack.run(["-p", "begin", "--harness", "mine"]).code(0);
    tack.harness("mine", "[tools]\ndrop = [\"write\"]\n");
    tack.run(["exec", "resume", "--last", "go on"]).code(0);
    let tools = |nth: usize| server.requests()[nth].chat()["tools"].to_string();
    assert!(tools(0).contains("\"write\"") && !tools(1).contains("\"write\""));
    assert!(server.requests()[1].said().contains("begin"));

    tack.harness("mine", "[tools]\ndrop = [\"wirte\"]\n");
    let ran = tack.run(["exec", "resume", "--last", "go on"]).code(2);
    let place = Path::new("harnesses/mine/harness.toml:5: `tools` names `wirte`").display().to_string();
    assert!(ran.stderr.contains(&place), "{}", ran.stderr);
    std::fs::remove_dir_all(tack.home().join("harnesses/mine")).unwrap();
    let ran = tack.run(["exec", "resume", "--last", "go on"]).code(0);
    assert!(ran.stderr.contains("there is no harness `mine`"), "{}", ran.stderr);
    assert_eq!(ran.stdout, "three\n");
}

/// Programs that leave everything to the manifest; what began and ended, in order.
#[derive(Clone, Default)]
struct Idle(Arc<Mutex<Vec<&'static str>>>);

impl Idle {
    fn note(&self, what: &'static str) {
        self.0.lock().unwrap().push(what);
    }
}

#[async_trait]
impl Programs for Idle {
    async fn start(&self, _: &Program) -> anyhow::Result<Started> {
        self.note("start");
        let (ours, theirs) = (duplex(1 << 20), duplex(16));
        let (questions, mut answers) = split(ours.1);
        let answer = async move {
            let mut questions = BufReader::new(questions).lines();
            while let Some(line) = questions.next_line().await.unwrap() {
                let asked: Value = serde_json::from_str(&line).unwrap();
                let said = json!({"id": asked["id"], "protocol": 1, "wants": ["prompt"], "default": true});
                answers.write_all(format!("{said}\n").as_bytes()).await.unwrap();
            }
        };
        tokio::spawn(answer);
        let (stdout, stdin) = split(ours.0);
        let (stdin, stdout) = (Box::new(stdin), Box::new(stdout));
        let tree = Box::new(self.clone());
        Ok(Started { stdin, stdout, stderr: Box::new(theirs.0), tree, data: None })
    }

    fn session(&self) -> String {
        String::new()
    }

    async fn stopped(&self) {
        std::future::pending::<()>().await;
    }
}

#[async_trait]
impl Tree for Idle {
    async fn end(&mut self, _: Duration) -> Option<String> {
        self.note("end");
        None
    }
}

#[tokio::test]
async fn an_edited_program_is_ended_and_started_anew() {
    let external =
        "extends = \"minimal\"\n[dialect]\nkind = \"external\"\ncommand = [\"python3\", \"p.py\"]\n";
    let edits =
        [("", ""), ("", ""), ("mine/p.py", "second"), ("mine/lib/words.py", "second"), ("elsewhere.md", "x")];
    let server = Server::start((0..edits.len()).map(|n| says(&format!("answer {n}"))).collect());
    let idle = Idle::default();
    let warned = play_with(&server, (external, Arc::new(idle.clone())), &edits).await;
    assert_eq!(warned, Vec::<String>::new());
    let noted = idle.0.lock().unwrap().clone();
    assert_eq!(noted, ["start", "end", "start", "end", "start", "end"]);
}

#[test]
fn a_harness_is_another_one_once_a_file_that_counts_is_another() {
    let dir = tempfile::tempdir().unwrap();
    let write = |file: &str, text: &str| {
        let path: PathBuf = dir.path().join("mine").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let hash = || Library::new(vec![dir.path().to_owned()]).hash("mine").unwrap();
    write("harness.toml", MINE);
    write("s.md", "words");
    write("count.py", "import lib.words");
    let words_only = hash();
    write("count.py", "import lib.words  # edited");
    assert_eq!(hash(), words_only, "nothing runs it");
    let tool = |about: &str| {
        format!("[count]\ndoes = \"script\"\nabout = {about:?}\nrun = [\"python3\", \"count.py\"]\n")
    };
    write("tools.toml", &tool("Counts."));
    let mut seen = vec![words_only, hash()];
    for (file, text) in [
        ("count.py", "import lib.words  # again"),
        ("lib/words.py", "WORDS = 1"),
        ("lib/words.py", "WORDS = 2"),
        ("table.csv", "1,2"),
        ("s.md", "other words"),
    ] {
        write(file, text);
        let hash = hash();
        assert!(!seen.contains(&hash), "{file} {text}");
        seen.push(hash);
    }
    for file in ["__pycache__/count.pyc", ".count.py.swp"] {
        write(file, "made by the way");
        assert_eq!(seen.last(), Some(&hash()), "{file}");
    }
}
