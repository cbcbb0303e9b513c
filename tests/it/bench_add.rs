//! A task made of a session: what is taken, what is left out, and what is said to be missing.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tack::bench::{Added, Task, Tested, Wanted, add};
use tack::model::{
    Action, Body, CallId, Edit, Item, ItemId, Mark, Origin, Outcome, Part, Read, Reply, Said, Seen, Stop,
    ToolCall, ToolResult, Usage, WireKind, WriteMode,
};
use tack::sandbox::Tier;
use tack::store::{Loaded, Sessions};

use super::bench_tasks::Place;
use super::cell::{block_on, holds};

const OLD: &str = "def area(a, b):\n    return a + b\n";
const NEW: &str = "def area(a, b):\n    return a * b\n";

/// A project folder and the session that worked in it.
struct Told {
    place: Place,
    project: PathBuf,
    bodies: Vec<Body>,
}

impl Told {
    fn new(prompt: &str) -> Told {
        let place = Place::new();
        let project = place.top.path().canonicalize().unwrap().join("project");
        std::fs::create_dir(&project).unwrap();
        let bodies = vec![Body::User(Said { text: prompt.to_owned(), images: Vec::new() })];
        Told { place, project, bodies }
    }

    /// Puts a file where it is now.
    fn file(self, name: &str, text: &str) -> Told {
        std::fs::write(self.project.join(name), text).unwrap();
        self
    }

    fn git(self, args: &[&str], date: &str) -> Told {
        let status = std::process::Command::new("git")
            .args(["-c", "user.name=a", "-c", "user.email=a@example.org"])
            .args(args)
            .current_dir(&self.project)
            .envs([("GIT_COMMITTER_DATE", date), ("GIT_AUTHOR_DATE", date)])
            .envs([("GIT_CONFIG_GLOBAL", "/dev/null"), ("GIT_CONFIG_SYSTEM", "/dev/null")])
            .status();
        assert!(status.unwrap().success(), "{args:?}");
        self
    }

    /// Commits all files, at a time.
    fn commit(self, date: &str) -> Told {
        [&["init", "-q"][..], &["add", "-A"], &["commit", "-q", "-m", "x"]]
            .into_iter()
            .fold(self, |told, args| told.git(args, date))
    }

    fn call(mut self, action: Action, outcome: Outcome) -> Told {
        let id = CallId(format!("c{}", self.bodies.len()));
        let call = ToolCall {
            id: id.clone(),
            given: None,
            name: "tool".to_owned(),
            args: String::new(),
            action,
            span: None,
            recovered: false,
        };
        self.bodies.push(reply(vec![Part::Call(call)]));
        self.bodies.push(Body::Result(ToolResult { call: id, outcome, shown: Vec::new() }));
        self
    }

    fn seen(&self, name: &str, text: &str) -> Vec<Seen> {
        let hash = Sha256::digest(text).iter().map(|byte| format!("{byte:02x}")).collect();
        vec![Seen { path: self.project.join(name).display().to_string(), hash, whole: true }]
    }

    fn read(self, name: &str, text: &str) -> Told {
        let seen = self.seen(name, text);
        let action = Action::Read(Read { path: name.to_owned(), ..Read::default() });
        self.call(action, Outcome { seen, ..Outcome::ok(text.trim_end_matches('\n')) })
    }

    fn edit(self, name: &str, after: &str) -> Told {
        let seen = self.seen(name, after);
        let edit = Edit { old: "+".to_owned(), new: "*".to_owned(), all: false };
        let action = Action::Edit { path: name.to_owned(), edits: vec![edit], first: false };
        self.call(action, Outcome { seen, ..Outcome::ok("edited") })
    }

    fn write(self, name: &str, text: &str, data: Value) -> Told {
        let seen = self.seen(name, text);
        let action = Action::Write { path: name.to_owned(), text: text.to_owned(), mode: WriteMode::Replace };
        self.call(action, Outcome { seen, data, ..Outcome::ok("written") })
    }

    fn checked(mut self, command: &str, before: bool) -> Told {
        let command = command.to_owned();
        self.bodies.push(Body::Mark(Mark::Checked { command, exit: Some(0), took: 1, before }));
        self
    }

    fn says(mut self, text: &str) -> Told {
        self.bodies.push(reply(vec![Part::Text { text: text.to_owned() }]));
        self
    }

    fn asks(mut self, text: &str) -> Told {
        self.bodies.push(Body::User(Said { text: text.to_owned(), images: Vec::new() }));
        self
    }

    fn session(&self) -> Loaded {
        let sessions = Sessions::new(self.place.top.path().join("sessions"));
        let mut session = sessions.create(&self.project);
        for (id, body) in (1..).zip(&self.bodies) {
            let item = Item { id: ItemId(id), turn: 1, at: jiff::Timestamp::now(), body: body.clone() };
            session.append(&item).unwrap();
        }
        let id = session.id().clone();
        drop(session);
        sessions.read(&id).unwrap()
    }

    fn add(&self, name: Option<&str>) -> anyhow::Result<Added> {
        let dir = self.place.top.path().join("made");
        let (session, room) = (self.session(), self.place.room());
        block_on(add(&Wanted { session: &session, name, dir: &dir }, &room))
    }
}

fn reply(parts: Vec<Part>) -> Body {
    let origin = Origin {
        provider: "p".to_owned(),
        model: "m".to_owned(),
        wire: WireKind::Chat,
        harness: "h".to_owned(),
        surface: 0,
    };
    Body::Assistant(Reply::new(origin, parts, Usage::default(), Stop::Calls))
}

/// Every file below, with its text.
fn shell(command: &str) -> Action {
    let command = command.to_owned();
    Action::Shell {
        command,
        timeout: None,
        background: false,
        yield_after: None,
        within: Default::default(),
        cwd: None,
        about: None,
    }
}

fn files(dir: &Path) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut open = vec![dir.to_owned()];
    while let Some(folder) = open.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            match path.is_dir() {
                true => open.push(path),
                false => {
                    let name = path.strip_prefix(dir).unwrap().display().to_string();
                    found.push((name, std::fs::read_to_string(path).unwrap()));
                }
            }
        }
    }
    found.sort();
    found
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_session_in_a_repository_becomes_a_whole_task() {
    if !holds(Tier::Namespaces) {
        return;
    }
    let told = Told::new("area() in shape.py is wrong, fix it")
        .file("shape.py", OLD)
        .file("other.txt", "committed\n")
        .file(".env", "PASSWORD=1\n")
        .commit("2020-01-01T00:00:00Z")
        .file("shape.py", NEW)
        .file("later.txt", "made after the session\n")
        .commit("2099-01-01T00:00:00Z")
        .read("shape.py", OLD)
        .read("other.txt", "not committed then\n")
        .edit("shape.py", NEW)
        .checked("grep -q 'a \\* b' shape.py", false)
        .says("done");
    let added = told.add(None).unwrap();
    assert!(added.dir.ends_with("made/area-in-shape-py-is"), "{}", added.dir.display());
    assert_eq!(
        files(&added.dir.join("files")),
        pairs(&[("other.txt", "not committed then\n"), ("shape.py", OLD)])
    );
    let commit = added.taken.iter().any(|line| line.starts_with("files/: 2, as of commit "));
    assert!(commit, "{:?}", added.taken);
    let open = [
        "files/.env: left out, as it may hold a secret",
        "check: see that it asks for what the prompt asks for, and that other files are left alone",
    ];
    assert_eq!(added.open, open);
    let task = Task::load(&added.dir).unwrap();
    assert_eq!((task.prompt.as_str(), task.kept), ("area() in shape.py is wrong, fix it", false));
    assert_eq!(told.place.test(&[task]), [Tested::Good]);
}

#[test]
fn without_a_commit_the_session_itself_is_what_is_known() {
    if !holds(Tier::Namespaces) {
        return;
    }
    let told = Told::new("fix the area")
        .git(&["init", "-q"], "")
        .file("shape.py", NEW)
        .file("notes.txt", "as ever\n")
        .file("unread.txt", "now\n")
        .file("new.txt", "new\n")
        .read("shape.py", OLD)
        .read("notes.txt", "as ever\n")
        .edit("shape.py", NEW)
        .write("new.txt", "new\n", json!({ "created": true }))
        .edit("unread.txt", "now\n")
        .asks("and now the volume");
    let added = told.add(Some("volume")).unwrap();
    assert_eq!(files(&added.dir.join("files")), pairs(&[("notes.txt", "as ever\n"), ("shape.py", OLD)]));
    let said = [added.taken, added.open].concat().join("\n");
    insta::assert_snapshot!(said, @r"
    task.toml: the first of the session's 2 prompts
    git has no commit of this folder from before the session
    files/: 2, of those that the session looked at
    solve: writes the files as the session left them
    task.toml: let the prompt say what the later ones added
    files/unread.txt: what it held before the session is not known
    files/: see that they are what the agent has to find; the session does not tell of all
    check: says no until you write it
    ");
}

#[test]
fn a_session_that_answered_gives_its_answer_to_whoever_writes_the_check() {
    if !holds(Tier::Namespaces) {
        return;
    }
    let told = Told::new("which port?")
        .file("a.conf", "port = 81\n")
        .read("a.conf", "port = 81\n")
        .call(shell("ls"), Outcome::ok("a.conf"))
        .says("It is port 81.");
    let added = told.add(None).unwrap();
    let commands = "solve: what commands of the session changed is not in it; add that".to_owned();
    assert!(added.open.contains(&commands), "{:?}", added.open);
    let task = Task::load(&added.dir).unwrap();
    let wanting = "check says no after solve: write me: nothing is checked yet".to_owned();
    assert_eq!(told.place.test(&[task]), [Tested::Bad(vec![wanting])]);
    std::fs::write(
        added.dir.join("check"),
        "#!/bin/sh\ngrep -qw 81 \"$TACK_ANSWER\" || { echo no 81; exit 1; }\n",
    )
    .unwrap();
    assert_eq!(told.place.test(&[Task::load(&added.dir).unwrap()]), [Tested::Good]);
}

#[test]
fn a_check_that_passed_before_the_work_is_not_proposed() {
    let told = Told::new("fix it")
        .file("a.txt", "b\n")
        .checked("true", true)
        .edit("a.txt", "b\n")
        .checked("true", false);
    let added = told.add(None).unwrap();
    assert!(std::fs::read_to_string(added.dir.join("check")).unwrap().contains("write me"));
}

#[test]
fn what_cannot_become_a_task_says_why_and_leaves_nothing() {
    let told = Told::new("fix it").file("a.txt", "a\n");
    told.add(Some("taken")).unwrap();
    for (told, name, why) in [
        (&told, "taken", "made/taken is there already; give another name with --name"),
        (&told, "../up", "\"../up\" cannot be a task's name"),
        (&Told::new("  "), "blank", "has no prompt to make a task of"),
    ] {
        let error = told.add(Some(name)).unwrap_err().to_string();
        assert!(error.contains(why), "{error}");
        assert!(!told.place.top.path().join("made/blank").exists());
    }
}

#[test]
fn a_session_whose_folder_is_gone_still_gives_its_prompt() {
    let told = Told::new("make a.txt");
    std::fs::remove_dir(&told.project).unwrap();
    let added = told.add(None).unwrap();
    assert!(added.open[0].contains("is gone; put the files there"), "{:?}", added.open);
    assert_eq!(Task::load(&added.dir).unwrap().prompt, "make a.txt");
}
