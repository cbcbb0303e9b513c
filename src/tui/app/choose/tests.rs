//! What comes late: rows of a list that was left, and people to speak to of whom another was chosen since.

use std::collections::HashMap;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Size;

use super::*;
use crate::agent::{Desk, Event, Op, Rule, SessionMode, Speaker, Stance, Stopper};
use crate::harness::{Carried, Library};
use crate::model::{BlobId, Item};
use crate::tui::app::Kept;
use crate::tui::composer::Keymap;
use crate::tui::host::{
    Because, Facts, Fit, Folder, Link, ModelRow, NewProvider, Opened, ProviderRow, Reach, Report, SessionRow,
    Sheet, Speaks, Spoken, Which,
};
use crate::tui::palette::{Palette, Theme};
use crate::tui::testing::speaks;
use crate::tui::transcript::Speech;

/// A host whose answers come when the test says so.
#[derive(Default)]
struct Slow {
    /// What is waited for before a call of this name answers.
    gates: Mutex<HashMap<String, Receiver<()>>>,
    kept: Mutex<Vec<Wish>>,
}

impl Slow {
    /// Calls of this name wait until the sender is used or dropped.
    fn hold(&self, name: &str) -> Sender<()> {
        let (open, gate) = channel();
        self.gates.lock().unwrap().insert(name.to_owned(), gate);
        open
    }

    fn pass(&self, name: &str) {
        let gate = self.gates.lock().unwrap().remove(name);
        if let Some(gate) = gate {
            let _ = gate.recv_timeout(Duration::from_secs(20));
        }
    }
}

impl Host for Slow {
    fn open(&self, _: &Which) -> Result<Opened, String> {
        Ok(opened(|facts| facts.session = "another".into()).0)
    }

    fn speaker(&self, wish: &Wish) -> Result<Spoken, String> {
        let id = wish.harness.clone().unwrap_or_else(|| "auto".to_owned());
        self.pass(&format!("speaker {id}"));
        let (because, harness) = match &*id {
            "auto" => (Because::Unclaimed, "minimal"),
            "nothing" => return Err("there is no harness `nothing`".to_owned()),
            id => (Because::Named, id),
        };
        let mut model = speaks().model;
        if let Some((provider, name)) = &wish.model {
            (model.provider, model.name) = (provider.clone(), name.clone());
        }
        let speaker = Speaker::silent(model.clone(), Library::new(Vec::new()).get(harness).unwrap());
        let speaks = Speaks { model, harness: harness.to_owned(), because, speech: Speech::Prose };
        Ok(Spoken { speaker: Box::new(speaker), speaks, warnings: Vec::new(), notes: Vec::new() })
    }

    fn keep(&self, wish: &Wish) {
        self.kept.lock().unwrap().push(wish.clone());
    }

    fn model(&self, _: &str, name: &str) -> Result<Model, String> {
        Err(format!("nothing is known of {name}"))
    }

    fn meant(&self, typed: &str, at: &str) -> Result<Meant, String> {
        self.pass(&format!("meant {typed}"));
        let (provider, name) = typed.split_once('/').unwrap_or((at, typed));
        Ok(Meant { provider: provider.to_owned(), name: name.to_owned(), doubt: None })
    }

    fn harnesses(&self, _: &Model) -> Vec<HarnessRow> {
        self.pass("harnesses");
        let row = |id: &str| HarnessRow {
            id: id.to_owned(),
            fit: Fit::Works,
            tools: 4,
            tokens: 900,
            summary: String::new(),
            auto: None,
            sheet: Sheet::default(),
        };
        ["qwen-code", "minimal", "pi"].map(row).into()
    }

    fn carried(&self, _: &Model, _: &str) -> Vec<(String, Carried)> {
        Vec::new()
    }

    fn models(&self) -> Vec<ModelRow> {
        self.pass("models");
        Vec::new()
    }

    fn try_model(&self, _: &str, name: &str) -> Result<String, String> {
        Ok(format!("{name} answers"))
    }

    fn make_usual(&self, _: &Model, harness: &str) -> Result<String, String> {
        Ok(format!("{harness} is the default for kimi-*"))
    }

    fn providers(&self) -> Vec<ProviderRow> {
        Vec::new()
    }

    fn try_provider(&self, _: &str) -> Result<String, String> {
        Err("no provider".to_owned())
    }

    fn add_provider(&self, _: &NewProvider) -> Result<Vec<String>, String> {
        Err("no provider".to_owned())
    }

    fn remove_provider(&self, _: &str) -> Result<String, String> {
        Err("no provider".to_owned())
    }

    fn change_folder(&self, _: &Folder, _: SessionMode) -> Result<(Box<Stance>, Vec<String>), String> {
        Err("no folder".to_owned())
    }

    fn add_rule(&self, _: &str, _: Reach) -> Result<(), String> {
        Ok(())
    }

    fn login(&self, _: &str, _: &str) -> Result<String, String> {
        Err("no key".to_owned())
    }

    fn logout(&self, _: &str) -> Result<String, String> {
        Err("no key".to_owned())
    }

    fn make_first(&self, wish: &Wish) -> Result<String, String> {
        Ok(format!("tack starts with {}", wish.model.clone().unwrap_or_default().1))
    }

    fn stance(&self, _: SessionMode) -> Result<(Box<Stance>, Vec<String>), String> {
        Err("no stance".to_owned())
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

    fn items(&self, _: &str) -> Result<Vec<Item>, String> {
        Ok(Vec::new())
    }

    fn forget_session(&self, _: &str) -> Result<(), String> {
        Ok(())
    }

    fn report(&self, _: Report) -> Result<String, String> {
        Err("no report".to_owned())
    }
}

/// What the session at the other end would hear, and say.
type Ends = (tokio::sync::mpsc::Receiver<Op>, tokio::sync::mpsc::Sender<Event>);

fn opened(change: impl Fn(&mut Facts)) -> (Opened, Ends) {
    let (ops, asked) = tokio::sync::mpsc::channel(4);
    let (say, events) = tokio::sync::mpsc::channel(4);
    let keep = Box::new(|_: &[u8]| BlobId(String::new()));
    let link = Link { ops, desk: Desk::default(), stopper: Stopper::default(), keep };
    let mut facts = Facts {
        speaks: speaks(),
        session: "one".into(),
        cwd: "/home/u/shop".into(),
        folder: "~/shop".into(),
        branch: None,
        mode: SessionMode::Ask,
        sandbox: "workspace-write sandbox".into(),
        instructions: Vec::new(),
        mute: false,
        learns: false,
        log: None,
    };
    change(&mut facts);
    (Opened { link, events, facts, items: Vec::new(), warnings: Vec::new() }, (asked, say))
}

fn begun(host: &Arc<Slow>, change: impl Fn(&mut Facts)) -> (App, Ends) {
    let (opened, ends) = opened(change);
    let settings = Kept { keymap: Keymap::default(), state: None, wake: Arc::new(|| {}) };
    let size = Size { width: 80, height: 24 };
    (App::new(host.clone(), opened, settings, (size, Palette::new(Theme::Plain))), ends)
}

fn press(app: &mut App, code: KeyCode) {
    app.key(KeyEvent::new(code, KeyModifiers::NONE), Instant::now());
}

fn kinds(app: &mut App, text: &str) {
    text.chars().for_each(|c| press(app, KeyCode::Char(c)));
}

/// Applies the next work that is done.
async fn next(app: &mut App) {
    let done = tokio::time::timeout(Duration::from_secs(20), app.jobs().next()).await.unwrap();
    done(app);
}

fn told(app: &App) -> String {
    let told = app.transcript.cells().iter().filter_map(|cell| match cell {
        Cell::Told { text, .. } => Some(text.clone()),
        _ => None,
    });
    told.collect::<Vec<_>>().join("\n")
}

#[tokio::test]
async fn rows_of_a_list_that_was_left_take_no_keys() {
    let host = Arc::new(Slow::default());
    let (mut app, _ends) = begun(&host, |_| {});
    let late = host.hold("harnesses");
    app.harness_command("");
    kinds(&mut app, "pi");
    press(&mut app, KeyCode::Esc);
    kinds(&mut app, "my words");
    drop(late);
    next(&mut app).await;
    assert!(app.overlay.is_none());
    assert_eq!(app.editor_text(), "my words");
    // Nor do they fill a list of something else, or a later one of the same.
    let late = host.hold("harnesses");
    app.harness_command("");
    press(&mut app, KeyCode::Esc);
    let models = host.hold("models");
    app.model_command("");
    drop(late);
    next(&mut app).await;
    assert!(matches!(app.overlay, Some(Overlay::Coming(_))));
    drop(models);
    next(&mut app).await;
    assert!(matches!(app.overlay, Some(Overlay::Model(_))));
}

#[tokio::test]
async fn what_is_typed_before_the_rows_are_there_is_their_filter() {
    let host = Arc::new(Slow::default());
    let (mut app, _ends) = begun(&host, |_| {});
    let late = host.hold("harnesses");
    app.harness_command("");
    kinds(&mut app, "pi");
    press(&mut app, KeyCode::Enter);
    drop(late);
    next(&mut app).await;
    assert!(matches!(app.overlay, Some(Overlay::Harness(_))));
    press(&mut app, KeyCode::Enter);
    next(&mut app).await;
    assert_eq!(app.due().harness, "pi");
}

#[tokio::test]
async fn the_newest_wish_counts_whatever_comes_last() {
    for first in ["auto", "pi"] {
        let host = Arc::new(Slow::default());
        let gates = [("auto", host.hold("speaker auto")), ("pi", host.hold("speaker pi"))];
        let learns = |facts: &mut Facts| {
            facts.learns = true;
            facts.speaks.because = Because::Unclaimed;
        };
        let (mut app, (mut asked, _say)) = begun(&host, learns);
        app.begin_with("do it", Instant::now());
        assert!(asked.try_recv().is_err());
        app.switch_harness("pi", Lasts::Run);
        let mut gates = Vec::from(gates);
        gates.sort_by_key(|(name, _)| *name != first);
        for (_, gate) in gates {
            drop(gate);
            next(&mut app).await;
        }
        assert_eq!(app.due().harness, "pi", "{first} came first");
        assert_eq!(app.due().because, Because::Named);
        // What waited was said once, and only once.
        assert!(matches!(asked.try_recv(), Ok(Op::Prompt(_))), "{first} came first");
        assert!(asked.try_recv().is_err() && app.queue.is_empty() && app.learning.is_none());
    }
}

#[tokio::test]
async fn another_session_gives_back_what_waited_and_undoes_the_wish() {
    let host = Arc::new(Slow::default());
    let (late, chosen) = (host.hold("speaker qwen-code"), host.hold("speaker pi"));
    let (mut app, (mut asked, _say)) = begun(&host, |facts| facts.learns = true);
    app.begin_with("do it", Instant::now());
    app.switch_harness("pi", Lasts::Run);
    app.before = Some("minimal".into());
    app.change_session(opened(|facts| facts.session = "another".into()).0);
    assert_eq!((app.editor_text().as_str(), app.queue.len()), ("do it", 0));
    assert!(app.learning.is_none() && app.before.is_none());
    drop((late, chosen));
    next(&mut app).await;
    next(&mut app).await;
    // Neither what was learnt nor what was chosen for the other one is heeded here.
    assert_eq!((app.next.is_none(), app.facts.speaks.harness.as_str()), (true, "qwen-code"));
    assert!(asked.try_recv().is_err() && host.kept.lock().unwrap().is_empty());
}

#[tokio::test]
async fn going_back_goes_to_and_fro_also_before_the_agent_heard_of_it() {
    let host = Arc::new(Slow::default());
    let (mut app, _ends) = begun(&host, |_| {});
    app.harness_command("pi");
    next(&mut app).await;
    for want in ["qwen-code", "pi", "qwen-code"] {
        app.harness_command("-");
        next(&mut app).await;
        assert_eq!(app.due().harness, want);
    }
    let model = Box::new(speaks().model);
    app.hear(Event::Speaks { model, harness: "qwen-code".into() }, Instant::now());
    assert!(app.next.is_none());
    app.harness_command("-");
    next(&mut app).await;
    assert_eq!(app.due().harness, "pi");
}

#[tokio::test]
async fn a_harness_chosen_after_a_model_is_for_that_model() {
    let host = Arc::new(Slow::default());
    let (mut app, _ends) = begun(&host, |_| {});
    app.model_command("acme/coder session");
    next(&mut app).await;
    // The agent did not hear of it yet.
    assert_eq!(app.facts.speaks.model.name, "kimi-k3");
    app.harness_command("pi");
    next(&mut app).await;
    assert_eq!((app.due().model.name.as_str(), app.due().harness.as_str()), ("coder", "pi"));
}

#[tokio::test]
async fn of_models_that_were_typed_the_last_one_speaks_and_a_harness_chosen_meanwhile_stays() {
    let host = Arc::new(Slow::default());
    let (mut app, _ends) = begun(&host, |_| {});
    let slow = host.hold("meant acme/slow");
    app.model_command("acme/slow session");
    app.model_command("acme/quick session");
    app.harness_command("pi");
    for _ in 0..2 {
        next(&mut app).await;
    }
    drop(slow);
    next(&mut app).await;
    assert_eq!((app.due().model.name.as_str(), app.due().harness.as_str()), ("quick", "pi"));
}

#[tokio::test]
async fn a_choice_holds_for_as_long_as_it_was_made() {
    let host = Arc::new(Slow::default());
    let (mut app, _ends) = begun(&host, |_| {});
    app.model_command("acme/coder session");
    next(&mut app).await;
    app.model_command("acme/coder");
    next(&mut app).await;
    next(&mut app).await;
    assert!(told(&app).contains("tack starts with coder"), "{}", told(&app));
    let named = Wish {
        model: Some(("acme".into(), "coder".into())),
        harness: Some("qwen-code".into()),
        ..Wish::default()
    };
    let session = Wish { lasts: Lasts::Session, ..named.clone() };
    assert_eq!(*host.kept.lock().unwrap(), [session, named]);
    app.harness_command("pi default");
    next(&mut app).await;
    next(&mut app).await;
    assert!(told(&app).contains("pi is the default for kimi-*"), "{}", told(&app));
    // What cannot be had is said, and nothing is kept of it.
    app.harness_command("nothing");
    next(&mut app).await;
    assert!(told(&app).contains("no harness `nothing`"), "{}", told(&app));
    assert_eq!((app.due().harness.as_str(), host.kept.lock().unwrap().len()), ("pi", 3));
}

#[tokio::test]
async fn a_list_that_cannot_be_made_says_why_and_closes() {
    let host = Arc::new(Slow::default());
    let (mut app, _ends) = begun(&host, |_| {});
    app.pick_harness_for(("acme".into(), "coder".into()), None);
    assert!(app.overlay.is_some());
    next(&mut app).await;
    assert!(app.overlay.is_none() && told(&app).contains("nothing is known of coder"), "{}", told(&app));
}

#[test]
fn a_word_behind_a_name_is_one_of_those_that_mean_something() {
    let words = ["session", "default"];
    for (args, want) in [
        ("", ("", None)),
        ("pi", ("pi", None)),
        ("pi session", ("pi", Some("session"))),
        ("acme/my model  default", ("acme/my model", Some("default"))),
        ("acme/my model", ("acme/my model", None)),
        ("session", ("session", None)),
    ] {
        assert_eq!(behind(args, &words), want, "{args}");
    }
}
