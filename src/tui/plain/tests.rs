//! Without a terminal: what is written, what an answer is, and what counts as one message.

use std::io::Write as _;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::ask::{self, Entry, entered};
use super::lines::Lines;
use super::*;
use crate::agent::{Answer, Asker, Desk, Offer, Request, Rule, Scope, SessionMode, Stance, Stopper, What};
use crate::harness::{Carried, sample_model};
use crate::model::{BlobId, CallId, ItemId, Model};
use crate::sandbox::Lift;
use crate::tools::Preview;
use crate::tui::cell::tests::all;
use crate::tui::host::{
    Because, HarnessRow, Meant, ModelRow, Reach, Report, SessionRow, Speaks, Spoken, Which, Wish,
};
use crate::tui::transcript::Speech;

/// A host that has nothing.
struct Nobody;

impl Host for Nobody {
    fn open(&self, _: &Which) -> Result<Opened, String> {
        Err("nothing".to_owned())
    }

    fn speaker(&self, _: &Wish) -> Result<Spoken, String> {
        Err("nobody".to_owned())
    }

    fn meant(&self, _: &str, _: &str) -> Result<Meant, String> {
        Err("nobody".to_owned())
    }

    fn keep(&self, _: &Wish) {}

    fn model(&self, _: &str, _: &str) -> Result<Model, String> {
        Err("nobody".to_owned())
    }

    fn carried(&self, _: &Model, _: &str) -> Vec<(String, Carried)> {
        Vec::new()
    }

    fn items(&self, _: &str) -> Result<Vec<Item>, String> {
        Err("nothing".to_owned())
    }

    fn forget_session(&self, _: &str) -> Result<(), String> {
        Err("nothing".to_owned())
    }

    fn harnesses(&self, _: &Model) -> Vec<HarnessRow> {
        Vec::new()
    }

    fn models(&self) -> Vec<ModelRow> {
        Vec::new()
    }

    fn try_model(&self, _: &str, _: &str) -> Result<String, String> {
        Err("nobody".to_owned())
    }

    fn make_usual(&self, _: &Model, _: &str) -> Result<String, String> {
        Err("nothing".to_owned())
    }

    fn login(&self, _: &str, _: &str) -> Result<String, String> {
        Err("nothing".to_owned())
    }

    fn logout(&self, _: &str) -> Result<String, String> {
        Err("nothing".to_owned())
    }

    fn make_first(&self, _: &Wish) -> Result<String, String> {
        Err("nothing".to_owned())
    }

    fn stance(&self, _: SessionMode) -> Result<(Box<Stance>, Vec<String>), String> {
        Err("nothing".to_owned())
    }

    fn rules(&self) -> Vec<Rule> {
        Vec::new()
    }

    fn forget_rule(&self, _: &Rule) -> Result<(), String> {
        Ok(())
    }

    fn sessions(&self, _: Reach) -> Vec<SessionRow> {
        Vec::new()
    }

    fn report(&self, _: Report) -> Result<String, String> {
        Err("nothing".to_owned())
    }
}

/// A session whose first lines are written, and what has to be kept for it to go on.
fn plain() -> (Plain, tokio::sync::mpsc::Receiver<Op>) {
    let (mut plain, asked) = begun(|_| {});
    plain.prompt();
    assert!(plain.take(Instant::now()).ends_with("ctrl+d leaves\n> "));
    (plain, asked)
}

fn begun(change: impl Fn(&mut Facts)) -> (Plain, tokio::sync::mpsc::Receiver<Op>) {
    let (ops, asked) = tokio::sync::mpsc::channel(4);
    let (_, events) = tokio::sync::mpsc::channel(4);
    let keep = Box::new(|_: &[u8]| BlobId(String::new()));
    let link = Link { ops, desk: Desk::default(), stopper: Stopper::default(), keep };
    let model = sample_model();
    let speaks = Speaks { model, harness: "minimal".into(), because: Because::Named, speech: Speech::Prose };
    let mut facts = Facts {
        speaks,
        session: String::new(),
        cwd: "/home/u/shop".into(),
        folder: "~/shop".into(),
        branch: None,
        mode: SessionMode::Ask,
        sandbox: "workspace-write sandbox".into(),
        instructions: Vec::new(),
        mute: false,
        learns: false,
    };
    change(&mut facts);
    let opened = Opened { link, events, facts, items: Vec::new(), warnings: Vec::new() };
    (Plain::new(Arc::new(Nobody), opened, 60).0, asked)
}

fn request(line: &str) -> Request {
    let offer = Offer {
        lifts: Vec::new(),
        session: Ok("this very command".into()),
        always: Err("it is empty".into()),
    };
    Request {
        call: CallId::of(ItemId(1), 0),
        what: What::Command { line: line.into(), cwd: "/home/u/shop".into() },
        asker: Asker::Mode,
        why: "mode ask".into(),
        risks: Vec::new(),
        offers: vec![offer],
        again: false,
    }
}

#[test]
fn marks_are_words() {
    let palette = Palette::new(Theme::Plain);
    let mut out = String::new();
    for (name, cell) in all() {
        let rows = words::of(&cell, View { width: 60, fold: Fold::Folded, palette: &palette });
        out.push_str(&format!("-- {name}\n{}\n", rows.join("\n")));
    }
    assert!(!out.contains(['•', '✓', '✗', '⊘', '›', '∴', '│', '└']), "{out}");
    assert!(!out.chars().any(|c| c != '\n' && crate::model::steers(c)), "{out:?}");
    insta::assert_snapshot!(out);
}

#[test]
fn a_line_that_names_a_command_is_one() {
    for (line, want) in [
        ("/mode", Some(("mode", ""))),
        ("/harness  qwen-code ", Some(("harness", "qwen-code"))),
        ("/?", Some(("?", ""))),
        ("/etc/passwd has what in it?", None),
        ("/", None),
        ("what is /mode", None),
        ("", None),
    ] {
        assert_eq!(command::split(line), want, "{line}");
    }
}

#[test]
fn an_answer_is_a_line_that_is_nothing_else() {
    let plain = request("ls");
    let mut open = request("ls");
    open.offers.push(open.offers[0].clone());
    let mut narrow = request("ls");
    narrow.offers[0].session = Err("a pipeline".into());
    let rule = Rule::parse("cargo test *").unwrap();
    let mut ruled = request("cargo test a");
    ruled.offers[0].always = Ok(rule.clone());
    let file = Preview { path: "a".into(), before: None, after: Some("x\n".into()) };
    let edit = Request { what: What::Edit { files: vec![file] }, ..request("") };
    let allow = |offer, scope| Ok(ask::Meant::Answer(Answer::Allow { offer, scope }));
    let refuse =
        |reason: Option<&str>| Ok(ask::Meant::Answer(Answer::Refuse { reason: reason.map(str::to_owned) }));
    let none = || Err("an answer is y, a, e, v, or n and why not".to_owned());
    for (line, request, want) in [
        ("y", &plain, allow(0, Scope::Once)),
        (" YES ", &plain, allow(0, Scope::Once)),
        ("a", &plain, allow(0, Scope::Session)),
        ("a", &narrow, Err("not offered: a pipeline".to_owned())),
        ("w", &open, allow(1, Scope::Once)),
        ("w", &plain, none()),
        ("v", &plain, Ok(ask::Meant::Again)),
        ("none", &plain, Ok(ask::Meant::NoneOfThem)),
        ("p", &plain, Err("not offered: it is empty".to_owned())),
        ("p", &ruled, Ok(ask::Meant::Enter(Entry::Rule(rule.clone())))),
        ("e", &plain, Ok(ask::Meant::Enter(Entry::Command))),
        ("e", &edit, Ok(ask::Meant::Edit(vec![("a".into(), "x\n".into())]))),
        ("e touch b", &plain, none()),
        ("n", &plain, refuse(None)),
        ("no  use the package ", &plain, refuse(Some("use the package"))),
        ("y and then more", &plain, none()),
        ("y\ny", &plain, none()),
        ("", &plain, none()),
        ("now", &plain, none()),
    ] {
        assert_eq!(ask::meant(line, request), want, "{line:?}");
    }
}

#[test]
fn what_is_typed_behind_p_and_e_is_no_answer() {
    let rule = Rule { project: Some("/p".into()), ..Rule::parse("cargo test *").unwrap() };
    let other = Rule { allow: "cargo check *".into(), ..rule.clone() };
    let everywhere = Rule { project: None, ..rule.clone() };
    let place = |rule: &Rule| Ok(ask::Meant::Enter(Entry::Place(rule.clone())));
    let always =
        |rule: &Rule| Ok(ask::Meant::Answer(Answer::Allow { offer: 0, scope: Scope::Always(rule.clone()) }));
    let command = |line: &str| Ok(ask::Meant::Answer(Answer::Edited { command: line.into() }));
    for (entry, line, want) in [
        (Entry::Command, "", Ok(ask::Meant::Again)),
        (Entry::Command, " touch b\ntouch c ", command("touch b\ntouch c")),
        (Entry::Command, "y", command("y")),
        (Entry::Rule(rule.clone()), "", place(&rule)),
        (Entry::Rule(rule.clone()), "cargo check *", place(&other)),
        (Entry::Rule(rule.clone()), "n", Ok(ask::Meant::Again)),
        (
            Entry::Rule(rule.clone()),
            "cargo",
            Err("a program's name alone is no rule: say what it may do".to_owned()),
        ),
        (Entry::Place(rule.clone()), "", always(&rule)),
        (Entry::Place(rule.clone()), "e", always(&everywhere)),
        (Entry::Place(rule.clone()), "n", Ok(ask::Meant::Again)),
        (Entry::Place(rule.clone()), "y", Err("an empty line, e or n".to_owned())),
    ] {
        assert_eq!(entered(line, &entry), want, "{entry:?}: {line:?}");
    }
}

/// What is written while these lines are typed, a second apart.
fn answered(requests: Vec<Request>, lines: &[&str]) -> (String, usize) {
    let (mut plain, _asked) = plain();
    let mut now = Instant::now();
    plain.typed(Some("go".into()), now);
    plain.asked(1, requests, now);
    plain.prompt();
    for line in lines {
        now += Duration::from_secs(1);
        plain.out.push_str(line);
        plain.out.push('\n');
        plain.typed(Some((*line).into()), now);
        plain.prompt();
    }
    (plain.take(now), plain.asks.len())
}

#[test]
fn the_dialog_by_lines() {
    let mut ruled = request("cargo test a");
    ruled.offers[0].lifts = vec![Lift::Network];
    ruled.offers[0].always =
        Rule::parse("cargo test *").map(|rule| Rule { project: Some("/home/u/shop".into()), ..rule });
    ruled.risks = vec![crate::agent::Risk::Network];
    ruled.offers.push(Offer {
        lifts: vec![Lift::NoSandbox],
        session: Err("once".into()),
        always: Err("once".into()),
    });
    let (out, left) = answered(
        vec![ruled, request("touch b"), request("rm c")],
        &["p", "cargo", "cargo check *", "", "e", "touch d", "none"],
    );
    assert_eq!(left, 0);
    insta::assert_snapshot!(out);
}

#[test]
fn an_answer_that_came_before_its_question_could_be_read_does_not_count() {
    let (mut plain, _asked) = plain();
    let now = Instant::now();
    plain.typed(Some("go".into()), now);
    plain.asked(1, vec![request("rm -r a"), request("ls")], now);
    let question = plain.take(now);
    assert!(question.contains("question 1 of 2, asked by mode: Run this command?"), "{question}");
    assert!(question.contains("$ rm -r a") && question.contains("a: this session"), "{question}");
    plain.typed(Some("y".into()), now + Duration::from_millis(499));
    assert!(plain.take(now).contains("before the question could be read"));
    plain.typed(Some("y".into()), now + Duration::from_millis(500));
    assert!(plain.take(now).contains("question 2 of 2"));
    // It was typed for the question before.
    plain.typed(Some("y".into()), now + Duration::from_millis(501));
    assert_eq!(plain.asks.len(), 1);
    plain.typed(Some("n".into()), now + Duration::from_secs(2));
    assert_eq!(plain.asks.len(), 0);
}

#[test]
fn a_turn_that_says_nothing_says_every_ten_seconds_that_it_runs() {
    let (mut plain, _asked) = plain();
    let now = Instant::now();
    assert_eq!(plain.due(), None, "nothing runs");
    plain.typed(Some("go".into()), now);
    plain.prompt();
    assert_eq!((plain.take(now).as_str(), plain.due()), ("", Some(now + PROGRESS)));
    let later = now + PROGRESS;
    plain.progress(later);
    let said = plain.take(later);
    assert_eq!(said, "waiting for sample · 10s since it was asked · 10s\n");
    assert_eq!(plain.due(), Some(later + PROGRESS));
    plain.asked(1, vec![request("ls")], later);
    assert_eq!(plain.due(), None, "the person is waited for");
}

#[test]
fn ctrl_c_leaves_only_when_it_comes_twice() {
    let (mut plain, _asked) = plain();
    let now = Instant::now();
    assert_eq!(plain.interrupted(now), Next::On);
    assert_eq!(plain.interrupted(now + LEAVING * 2), Next::On, "that was long ago");
    plain.typed(Some(String::new()), now + LEAVING * 2);
    assert_eq!(plain.interrupted(now + LEAVING * 2), Next::On, "something else was typed since");
    assert_eq!(plain.interrupted(now + LEAVING * 2), Next::Leave(0));
    assert_eq!(plain.typed(None, now), Next::Leave(0));
}

#[tokio::test]
async fn what_is_said_first_waits_until_the_model_is_learnt_of() {
    let (mut plain, mut asked) = begun(|facts| facts.learns = true);
    let start = Start {
        prompt: Some("hello".into()),
        choose: None,
        state: None,
        env: |_| None,
        keys: Default::default(),
    };
    plain.begin_with(&start, Instant::now());
    plain.prompt();
    assert!(asked.try_recv().is_err());
    assert!(plain.take(Instant::now()).ends_with("note: asking what sample-model can do\n"));
    assert!(!plain.is_free(), "no line is heard meanwhile");
    let learnt = plain.aside.join_next().await.unwrap();
    plain.done(learnt);
    assert_eq!(plain.take(Instant::now()), "warning: nobody\nyou: hello\n");
    assert!(matches!(asked.try_recv(), Ok(Op::Prompt(said)) if said.text == "hello"));
}

#[tokio::test]
async fn lines_that_come_at_once_are_one_message() {
    let (mut typed, terminal) = UnixStream::pair().unwrap();
    let mut lines = Lines::read(terminal).unwrap();
    typed.write_all(b"one\ntwo\n\nthree\n").unwrap();
    assert_eq!(lines.next().await.as_deref(), Some("one\ntwo\n\nthree"));
    typed.write_all(b"\n").unwrap();
    assert_eq!(lines.next().await.as_deref(), Some(""));
    typed.write_all("the last, h\u{e4}lf".as_bytes()).unwrap();
    drop(typed);
    assert_eq!(lines.next().await.as_deref(), Some("the last, hälf"));
    assert_eq!(lines.next().await, None);
}
