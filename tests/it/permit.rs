//! Approvals over the real loop: a model's calls on one side, a person at the desk on the other, the real
//! sandbox below.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;

use serde_json::{Value, json};
use tack::agent::{
    Agent, Answer, Approval, Aside, Asker, Bounds, Desk, End, Event, Holds, Permit, Request, Risk, Rule,
    RuleBook, Scope, SessionMode, Setup, Stance, Stopper, What, Why, events,
};
use tack::harness::{Library, NoPrograms, sample_model};
use tack::model::{Body, Decision, Item, Mark, Model, NoteKind, Said, State};
use tack::sandbox::{EnvWish, Lift, Linux, Mode, Policy, Tier};
use tack::store::Session;
use tack::wire::client::HttpClient;
use tack::wire::provider::Provider;

use crate::cell::{Cell, TACK, holds};
use crate::kit::wire;
use crate::server::*;

/// What the person does about a dialog; None: presses Esc.
pub type Person<'a> = &'a mut dyn FnMut(&[Request], &Desk) -> Option<Vec<Answer>>;

pub struct Project {
    pub cell: Cell,
    pub mode: SessionMode,
    pub book: RuleBook,
    pub unattended: bool,
}

#[derive(Default)]
pub struct Heard {
    pub asked: Vec<Vec<Request>>,
    pub void: usize,
    pub items: Vec<Item>,
    pub ends: Vec<End>,
}

impl Project {
    pub fn new(mode: SessionMode) -> Option<Self> {
        if !holds(Tier::Namespaces) {
            return None;
        }
        let cell = Cell::with(Tier::Namespaces, |wish| {
            if mode == SessionMode::Plan {
                wish.mode = Mode::ReadOnly;
            }
        });
        std::fs::create_dir(cell.home().join("other")).unwrap();
        Some(Self { cell, mode, book: RuleBook::default(), unattended: false })
    }

    pub fn other(&self, name: &str) -> PathBuf {
        self.cell.home().join("other").join(name)
    }

    pub fn env(&self, policy: &Policy) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        self.wish().build(policy)
    }

    pub fn online(&self, policy: &Policy) -> Vec<(std::ffi::OsString, std::ffi::OsString)> {
        self.wish().online(policy)
    }

    /// With a home folder of its own, behind a proxy.
    fn wish(&self) -> EnvWish {
        let mut vars: Vec<_> = std::env::vars_os().collect();
        let ours = ["HOME", "HTTPS_PROXY"];
        vars.retain(|(name, _)| !ours.iter().any(|our| name == our));
        vars.push(("HOME".into(), self.cell.home().into()));
        vars.push(("HTTPS_PROXY".into(), "http://proxy.example:1".into()));
        EnvWish { vars, ..EnvWish::default() }
    }

    /// Runs the prompts against the script, each to the end of its turn.
    pub fn play(&self, server: &Server, prompts: &[&str], person: Person<'_>) -> Heard {
        let approval = match self.mode {
            SessionMode::Ask => Approval::Untrusted,
            SessionMode::Edits | SessionMode::Plan => Approval::OnRequest,
            SessionMode::Full => Approval::Never,
        };
        let provider =
            Provider { stream_retries: 0, request_retries: 0, ..Provider::new("mock", server.url()) };
        let (stopper, desk) = (Stopper::default(), Desk::default());
        let (out, mut events) = events(stopper.token());
        let setup = Setup {
            model: Model { provider: "mock".into(), name: "m".into(), wire: wire(), ..sample_model() },
            client: Arc::new(HttpClient::new(provider).unwrap()),
            harness: Library::new(Vec::new()).get("minimal").unwrap(),
            live: None,
            programs: Arc::new(NoPrograms),
            env: self.env(&self.cell.policy),
            online: self.online(&self.cell.policy),
            policy: self.cell.policy.clone(),
            sandbox: Arc::new(Linux::with_tier(TACK, Tier::Namespaces)),
            session: Session::ephemeral(),
            loaded: None,
            config_dir: None,
            check: Default::default(),
            bounds: Bounds { steps: Some(20), ..Bounds::default() },
            unattended: self.unattended,
            permit: Permit { approval, mode: self.mode, book: self.book.clone() },
            desk: desk.clone(),
            holds: Holds::Alone,
            stopper: stopper.clone(),
        };
        let run = async {
            let mut agent = Agent::new(setup, out);
            agent.open(Vec::new()).await.unwrap();
            for prompt in prompts {
                agent.turn(Said { text: (*prompt).to_owned(), images: Vec::new() }, None).await;
            }
            agent.close().await;
        };
        let hear = async {
            let mut heard = Heard::default();
            while let Some(event) = events.recv().await {
                match event {
                    Event::Ask { id, requests } => {
                        match person(&requests, &desk) {
                            Some(answers) => assert!(desk.answer(id, answers)),
                            None => stopper.stop(Why::Person),
                        }
                        heard.asked.push(requests);
                    }
                    Event::AskVoid(id) => {
                        assert!(!desk.answer(id, Vec::new()), "nobody waits for the answer");
                        heard.void += 1;
                    }
                    Event::Item(item) => heard.items.push(*item),
                    Event::TurnEnded { end, .. } => heard.ends.push(end),
                    _ => {}
                }
            }
            heard
        };
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async { tokio::join!(run, hear).1 })
    }
}

impl Heard {
    /// How each call ended, in order.
    pub fn states(&self) -> Vec<State> {
        let state = |item: &Item| match &item.body {
            Body::Result(result) => Some(result.outcome.state),
            _ => None,
        };
        self.items.iter().filter_map(state).collect()
    }

    pub fn decided(&self) -> Vec<Decision> {
        let decision = |item: &Item| match &item.body {
            Body::Mark(Mark::Decided { decision, .. }) => Some(decision.clone()),
            _ => None,
        };
        self.items.iter().filter_map(decision).collect()
    }

    pub fn facts(&self) -> Vec<String> {
        let fact = |item: &Item| match &item.body {
            Body::Note(note) if note.kind == NoteKind::Fact => Some(note.text.clone()),
            _ => None,
        };
        self.items.iter().filter_map(fact).collect()
    }
}

pub fn once() -> Option<Vec<Answer>> {
    Some(vec![Answer::Allow { offer: 0, scope: Scope::Once }])
}

pub fn refuse(reason: &str) -> Option<Vec<Answer>> {
    Some(vec![Answer::Refuse { reason: Some(reason.to_owned()) }])
}

pub fn nobody(requests: &[Request], _: &Desk) -> Option<Vec<Answer>> {
    panic!("nobody was to be asked: {requests:?}")
}

pub fn bash(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

/// One reply with several calls.
pub fn reply(all: &[(&str, Value)]) -> Reply {
    let calls = all
        .iter()
        .enumerate()
        .map(|(n, (name, args))| call(n as u32, &format!("c{n}"), name, &args.to_string()));
    sse(calls.chain([end("tool_calls"), usage(10, 5), done()]))
}

/// What the model was told last.
pub fn told(server: &Server) -> String {
    let messages = server.requests().last().unwrap().chat()["messages"].clone();
    messages.as_array().unwrap().last().unwrap()["content"].to_string()
}

#[test]
fn what_the_sandbox_allows_is_not_asked_for_and_git_is_lifted_by_name() {
    let Some(project) = Project::new(SessionMode::Edits) else { return };
    let server = Server::start(vec![
        bash("a", "echo x > a && cat a"),
        bash("b", "git add a"),
        bash("c", "git commit -qm one"),
        bash("d", "git log --oneline | cat; echo hook > .git/hooks/pre-commit"),
        says("done"),
    ]);
    let heard = project.play(&server, &["go"], &mut |requests, _| {
        assert_eq!((requests[0].asker, requests[0].again), (Asker::Sandbox, false));
        assert_eq!(requests[0].offers[0].lifts, [Lift::GitCommit]);
        assert!(requests[0].why.contains(".git/index"), "{}", requests[0].why);
        Some(vec![Answer::Allow { offer: 0, scope: Scope::Session }])
    });
    assert_eq!(heard.asked.len(), 1, "the second one is allowed for the session");
    assert_eq!(heard.states(), [State::Ok, State::Ok, State::Ok, State::Failed]);
    assert_eq!(heard.decided(), [Decision::Session { lifts: vec!["git commit".into()] }]);
    assert!(told(&server).contains("one") && !project.cell.proj.join(".git/hooks/pre-commit").exists());
}

#[test]
fn a_refusal_tells_the_model_why_and_leaves_nothing() {
    let Some(project) = Project::new(SessionMode::Edits) else { return };
    let path = project.other("new");
    let write = calls("a", "write", &json!({ "path": path, "content": "x" }));
    let server = Server::start(vec![write, says("done")]);
    let heard = project.play(&server, &["go"], &mut |requests, _| {
        assert_eq!(requests[0].offers[0].lifts, [Lift::Path(path.clone())]);
        assert_eq!(requests[0].risks, [Risk::LeavesWorkspace]);
        let What::Edit { files } = &requests[0].what else { panic!("{:?}", requests[0].what) };
        assert_eq!((files[0].before.as_deref(), files[0].after.as_deref()), (None, Some("x")));
        refuse("use the project folder")
    });
    assert_eq!(heard.states(), [State::Refused]);
    assert!(told(&server).contains("The user says: use the project folder"), "{}", told(&server));
    assert!(!path.exists());
    assert_eq!(heard.decided(), [Decision::Refused { reason: Some("use the project folder".into()) }]);
    let server =
        Server::start(vec![calls("a", "write", &json!({ "path": path, "content": "x" })), says("done")]);
    assert_eq!(project.play(&server, &["go"], &mut |_, _| once()).states(), [State::Ok]);
    assert_eq!(std::fs::read_to_string(path).unwrap(), "x");
}

#[test]
fn all_calls_of_a_reply_are_asked_for_in_one_dialog() {
    let Some(project) = Project::new(SessionMode::Ask) else { return };
    let server = Server::start(vec![
        reply(&[
            ("bash", json!({ "command": "ls" })),
            ("bash", json!({ "command": "echo x > a" })),
            ("write", json!({ "path": "b", "content": "y\n" })),
            ("bash", json!({ "command": "rm -rf c" })),
        ]),
        says("done"),
    ]);
    let heard = project.play(&server, &["go"], &mut |requests, _| {
        assert_eq!(requests.len(), 3, "what only looks is not asked for");
        assert!(
            requests.iter().all(|request| request.asker == Asker::Mode && request.offers[0].lifts.is_empty())
        );
        assert_eq!(requests[2].risks, [Risk::DeletesRecursively]);
        assert!(requests[1].why.contains("every edit"));
        let mut answers = vec![Answer::Refuse { reason: None }];
        answers.extend(once().unwrap());
        // The third is missing, which refuses it.
        Some(answers)
    });
    assert_eq!(heard.asked.len(), 1);
    assert_eq!(heard.states(), [State::Ok, State::Refused, State::Ok, State::Refused]);
    assert!(!project.cell.proj.join("a").exists() && project.cell.proj.join("b").exists());
}

#[test]
fn an_edited_command_runs_in_place_of_the_models() {
    let Some(project) = Project::new(SessionMode::Ask) else { return };
    let server = Server::start(vec![bash("a", "echo mine > a"), says("done")]);
    let heard = project.play(&server, &["go"], &mut |_, _| {
        Some(vec![Answer::Edited { command: "echo yours > b; echo ran".into() }])
    });
    assert_eq!(heard.states(), [State::Ok]);
    assert!(!project.cell.proj.join("a").exists() && project.cell.proj.join("b").exists());
    let told = told(&server);
    assert!(told.contains("What ran is: echo yours > b; echo ran]") && told.contains("\\nran"), "{told}");
}

#[test]
fn after_a_denial_one_run_with_what_was_lacking_is_offered() {
    let Some(project) = Project::new(SessionMode::Edits) else { return };
    let target = project.other("made");
    std::fs::write(project.cell.proj.join("s.sh"), format!("echo began\ntouch {}\n", target.display()))
        .unwrap();
    let play = |answer: fn() -> Option<Vec<Answer>>| {
        let server = Server::start(vec![bash("a", "sh s.sh"), says("done")]);
        let heard = project.play(&server, &["go"], &mut |requests, _| {
            assert!(requests[0].again && requests[0].why.starts_with("blocked: write "), "{:?}", requests[0]);
            assert_eq!(requests[0].offers[0].lifts, [Lift::Path(project.cell.home().join("other"))]);
            assert_eq!(requests[0].offers[1].lifts, [Lift::NoSandbox]);
            assert!(requests[0].offers[1].session.is_err() && requests[0].offers[1].always.is_err());
            answer()
        });
        assert_eq!(heard.asked.len(), 1, "only once");
        (heard.states(), told(&server))
    };
    let (states, told) = play(|| refuse("leave it"));
    assert_eq!((states.as_slice(), target.exists()), (&[State::Failed][..], false));
    assert!(told.contains("began") && told.contains("and says: leave it"), "{told}");
    let (states, told) = play(once);
    assert_eq!((states.as_slice(), target.exists()), (&[State::Ok][..], true));
    assert!(told.contains("run a second time") && told.contains("began"), "{told}");
    std::fs::remove_file(&target).unwrap();
    let (states, _) = play(|| Some(vec![Answer::Allow { offer: 1, scope: Scope::Session }]));
    assert_eq!((states.as_slice(), target.exists()), (&[State::Ok][..], true));
}

#[test]
fn esc_stops_the_turn_and_makes_the_question_void() {
    let Some(project) = Project::new(SessionMode::Ask) else { return };
    let server = Server::start(vec![bash("a", "echo x > a"), says("done")]);
    let heard = project.play(&server, &["go"], &mut |_, _| None);
    assert_eq!((heard.ends, heard.void), (vec![End::Interrupted], 1));
    assert!(!project.cell.proj.join("a").exists());
    assert_eq!(server.requests().len(), 1);
}

#[test]
fn nobody_is_asked_where_nobody_is_there() {
    let Some(mut project) = Project::new(SessionMode::Ask) else { return };
    project.unattended = true;
    let server = Server::start(vec![bash("a", "echo x > a"), bash("b", "git add a"), says("done")]);
    let heard = project.play(&server, &["go"], &mut nobody);
    assert_eq!(heard.states(), [State::Ok, State::Failed]);
    assert!(heard.facts().is_empty() && told(&server).contains("--git commit"));
}

#[test]
fn a_plan_writes_nothing_until_the_mode_changes_in_the_middle_of_a_reply() {
    let Some(project) = Project::new(SessionMode::Plan) else { return };
    let server = Server::start(vec![
        bash("a", "echo x > a; git add a"),
        reply(&[
            ("bash", json!({ "command": "curl -sS http://127.0.0.2:9" })),
            ("write", json!({ "path": "b", "content": "y" })),
        ]),
        says("done"),
    ]);
    let policy = Cell::new(Tier::Namespaces).policy;
    let edits = Policy {
        mode: Mode::WorkspaceWrite,
        cwd: project.cell.policy.cwd.clone(),
        write_roots: vec![project.cell.policy.cwd.clone()],
        tmp: project.cell.policy.tmp.clone(),
        ..policy
    };
    let env = project.env(&edits);
    let heard = project.play(&server, &["go"], &mut |requests, desk| {
        assert_eq!(requests[0].offers.len(), 1, "not without the sandbox");
        assert_eq!(requests[0].offers[0].lifts, [Lift::Network]);
        let (approval, mode) = (Approval::OnRequest, SessionMode::Edits);
        desk.lay(Aside::Stance(Box::new(Stance {
            approval,
            mode,
            policy: edits.clone(),
            env: env.clone(),
            online: env.clone(),
        })));
        refuse("no")
    });
    assert_eq!(heard.asked.len(), 1, "no write is offered: {:?}", heard.asked);
    assert_eq!(heard.states(), [State::Failed, State::Refused, State::Ok]);
    let facts = heard.facts();
    assert!(
        facts[0].starts_with("The user wants a plan") && facts[1].contains("planning is over"),
        "{facts:?}"
    );
    assert_eq!(facts.len(), 2);
    valid_history(&server.requests().last().unwrap().chat()).unwrap();
}

#[test]
fn a_rule_is_kept_and_runs_what_it_says_without_asking() {
    let Some(mut project) = Project::new(SessionMode::Ask) else { return };
    let file = project.cell.home().join("state/rules.toml");
    project.book = RuleBook::open(&file).unwrap();
    let server = Server::start(vec![bash("a", "git add ."), says("done")]);
    let heard = project.play(&server, &["go"], &mut |requests, _| {
        let rule = requests[0].offers[0].always.clone().unwrap();
        assert_eq!((rule.allow.as_str(), rule.lifts.as_slice()), ("git add *", &[Lift::GitCommit][..]));
        assert_eq!(rule.project, Some(project.cell.proj.canonicalize().unwrap()));
        Some(vec![Answer::Allow { offer: 0, scope: Scope::Always(rule) }])
    });
    assert_eq!(heard.decided(), [Decision::Always { rule: "git add *".into() }]);
    // Another session knows it, and asks for what it does not say.
    project.book = RuleBook::open(&file).unwrap();
    let server = Server::start(vec![bash("a", "git add -A"), bash("b", "git add -A; rm x"), says("done")]);
    let heard = project.play(&server, &["go"], &mut |requests, _| {
        let always = requests[0].offers[0].always.clone();
        assert_eq!(always, Err("several commands".into()));
        refuse("no")
    });
    assert_eq!((heard.states(), heard.asked.len()), (vec![State::Ok, State::Refused], 1));
    // A rule that was not made for a lift lifts nothing.
    project.book = RuleBook::default();
    project.book.add(Rule::parse("git add *").unwrap()).unwrap();
    let server = Server::start(vec![bash("a", "git add -A"), says("done")]);
    let heard = project.play(&server, &["go"], &mut |_, _| refuse("no"));
    assert_eq!((heard.states(), heard.asked[0][0].asker), (vec![State::Refused], Asker::Sandbox));
}
