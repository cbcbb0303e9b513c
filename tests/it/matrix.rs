//! Every harness to every other in mid-session, and back: whatever was done under the first, the
//! request of the second is one that the strictest server of each wire takes, and the first goes on
//! from the very bytes it had sent before.
//!
//! No table of names: what a harness would say for an action is asked of it, by having it speak of
//! what was done under `minimal`. So a harness that is added is in the matrix at once.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::{Value, json};
use tack::harness::{Harness, Library, Verdict, sample_model};
use tack::model::{Action, Body, Model, NoteKind, Part, WireKind};
use tack::wire::prompt::{Piece, Prompt};
use tack::wire::{self, provider::Quirks};

use crate::harness_kit::{Session, call, in_words_of};
use crate::server::{Seal, check};

pub const WIRES: [WireKind; 3] = [WireKind::Chat, WireKind::Responses, WireKind::Messages];

/// One thing that happens in a session.
#[derive(Clone, Debug)]
pub enum Step {
    /// A reply with these calls, as `minimal` makes them.
    Calls {
        thinks: bool,
        words: &'static str,
        calls: Vec<(&'static str, Value)>,
    },
    Words(&'static str),
    /// A call whose arguments were cut off, in the harness's own first tool.
    Cut,
    /// A tool that nobody has.
    Nonsense,
    User,
    Image,
    Note(NoteKind),
}

fn one_call() -> impl Strategy<Value = (&'static str, Value)> {
    prop_oneof![
        Just(("bash", json!({"command": "ls"}))),
        Just(("bash", json!({"command": "false"}))),
        Just(("bash", json!({"command": "printf 'a\\n\"b\"' | tee \"x y\""}))),
        Just(("read", json!({"path": "src/greet.py"}))),
        Just(("read", json!({"path": "src/greet.py", "offset": 3, "limit": 20}))),
        Just(("edit", json!({"path": "src/greet.py", "oldText": "'hi'", "newText": "'Good day'"}))),
        // Long enough for a line in its place to be shorter.
        Just(("bash", json!({"command": format!("echo {}", "a word\n".repeat(40))}))),
        Just(("write", json!({"path": "new.py", "content": "a = 1\n```\nb\n```\n"}))),
    ]
}

pub fn step() -> impl Strategy<Value = Step> {
    let words = prop_oneof![Just(""), Just("I look."), Just("{\"a\": 1}"), Just("```\nls\n```")];
    prop_oneof![
        6 => (any::<bool>(), words, proptest::collection::vec(one_call(), 1..4))
            .prop_map(|(thinks, words, calls)| Step::Calls { thinks, words, calls }),
        1 => Just(Step::Words("It is done.")),
        1 => Just(Step::Cut),
        1 => Just(Step::Nonsense),
        1 => Just(Step::User),
        1 => Just(Step::Image),
        1 => prop_oneof![Just(NoteKind::Shown), Just(NoteKind::Job), Just(NoteKind::Fact), Just(NoteKind::Guard)].prop_map(Step::Note),
    ]
}

pub fn all() -> Vec<Arc<dyn Harness>> {
    let library = Library::new(Vec::new());
    library.ids().iter().map(|id| library.get(id).unwrap_or_else(|e| panic!("{e}"))).collect()
}

/// Reasoning as this model's server seals it.
fn thinking(model: &Model) -> Part {
    let (wire, seal) = (model.wire, Seal::named(&model.provider));
    let text = "hm".to_owned();
    let (field, sealed) = match wire {
        WireKind::Chat => (Some("reasoning_content".to_owned()), None),
        WireKind::Responses => {
            (None, Some(json!({"summary": [], "encrypted_content": seal.make(wire, &text)})))
        }
        WireKind::Messages => (None, Some(json!({"signature": seal.make(wire, &text)}))),
    };
    Part::Thinking { text, field, seal: sealed }
}

/// A reply that ends the turn is followed by the person's next words.
async fn reply(session: &mut Session, harness: &dyn Harness, parts: Vec<Part>) {
    if session.reply(harness, parts).await == Verdict::Done {
        session.user("Go on.");
    }
}

/// Does the step under the harness.
pub async fn play(session: &mut Session, harness: &dyn Harness, step: &Step) {
    let model = session.model.clone();
    match step {
        Step::Calls { thinks, words, calls } => {
            let mut parts = Vec::new();
            if !words.is_empty() {
                parts.push(Part::Text { text: (*words).to_owned() });
            }
            parts.extend(calls.iter().map(|(name, args)| call(name, args.clone())));
            if let Some(mut parts) = in_words_of(harness, parts, &model).await {
                if *thinks {
                    parts.insert(0, thinking(&model));
                }
                reply(session, harness, parts).await;
            }
        }
        Step::Words(text) => reply(session, harness, vec![Part::Text { text: (*text).to_owned() }]).await,
        Step::Cut => {
            let tools = session.prompt(harness).await.tools;
            let name = tools.first().map_or("bash", |tool| tool.name.as_str());
            let mut cut = call(name, json!({}));
            if let Part::Call(call) = &mut cut {
                call.args = "{\"command\": \"l".to_owned();
            }
            reply(session, harness, vec![cut]).await;
        }
        Step::Nonsense => reply(session, harness, vec![call("nonsense", json!({"a": 1}))]).await,
        Step::User => session.user("And now?"),
        Step::Image => session.user_with_image("Like this."),
        Step::Note(kind) => session.note(*kind, "A note."),
    }
}

pub fn model(of: usize, wire: WireKind) -> Model {
    let provider = format!("p{of}");
    Model { wire, provider, ..sample_model() }
}

/// Whether the strictest server of the wire takes the request.
pub fn taken(prompt: &Prompt, model: &Model) -> Result<(), String> {
    let quirks = Quirks { strict_roles: true, ..Quirks::default() };
    let body = wire::of(model.wire).encode(prompt, model, &quirks);
    let rule =
        check(model.wire, &body, &Seal::named(&model.provider)).and_then(|()| in_turns(&body["messages"]));
    rule.map_err(|rule| format!("{rule}\n{body:#}"))
}

/// Users and assistants in turns, as many chat templates want it; answers to calls belong to the assistant's
/// turn.
fn in_turns(messages: &Value) -> Result<(), String> {
    let roles = messages.as_array().into_iter().flatten().filter_map(|message| message["role"].as_str());
    let roles: Vec<&str> = roles.filter(|role| *role != "system").collect();
    let mut after = "";
    for (at, role) in roles.into_iter().enumerate() {
        if role == "user" && after == "user" || role == "assistant" && after == "assistant" {
            return Err(format!("message {at}: two of {role} in a row"));
        }
        after = role;
    }
    Ok(())
}

/// From each to each over the wires in turn, and back.
async fn matrix(steps: &[Step], first_wire: usize) -> Result<(), String> {
    let all = all();
    for (from, first) in all.iter().enumerate() {
        let home = model(0, WIRES[(first_wire + from) % 3]);
        let mut session = Session { model: home.clone(), ..Session::new() };
        session.user("Make the greeting polite.");
        for step in steps {
            play(&mut session, &**first, step).await;
        }
        if !matches!(session.items.last().map(|item| &item.body), Some(Body::User(_))) {
            session.user("Go on.");
        }
        let sent = session.prompt(&**first).await;
        let begun = session.items.len();
        for (to, second) in all.iter().enumerate() {
            let place = format!("{} to {}", first.id(), second.id());
            session.items.truncate(begun);
            // The same service now and then: then what it sealed goes back to it.
            session.model = model((from + to) % 2, WIRES[(first_wire + to) % 3]);
            for wire in WIRES {
                let there = Model { wire, ..session.model.clone() };
                let prompt = Session {
                    model: there.clone(),
                    scene: session.scene.clone(),
                    items: session.items.clone(),
                    submitted: Vec::new(),
                    comes: None,
                }
                .prompt(&**second)
                .await;
                taken(&prompt, &there).map_err(|why| format!("{place}: {why}"))?;
            }
            let ls = Step::Calls { thinks: true, words: "", calls: vec![("bash", json!({"command": "ls"}))] };
            play(&mut session, &**second, &ls).await;
            session.user("And back.");
            taken(&session.prompt(&**second).await, &session.model)
                .map_err(|why| format!("{place}, a turn later: {why}"))?;
            session.model = home.clone();
            let back = session.prompt(&**first).await;
            taken(&back, &home).map_err(|why| format!("{place} and back: {why}"))?;
            let kept = back.system == sent.system && back.tools == sent.tools && begins_with(&back, &sent);
            if !kept {
                let show = crate::harness_kit::messages;
                return Err(format!(
                    "{place} and back: what was sent before is not sent again as it was\n{}\n=====\n{}",
                    show(&sent.messages),
                    show(&back.messages)
                ));
            }
        }
    }
    Ok(())
}

/// All messages of the one stand at the beginning of the other; to its last one there may be more.
pub fn begins_with(later: &Prompt, earlier: &Prompt) -> bool {
    let Some((last, rest)) = earlier.messages.split_last() else { return true };
    later.messages.starts_with(rest)
        && later
            .messages
            .get(rest.len())
            .is_some_and(|message| message.role == last.role && goes_on(&message.pieces, &last.pieces))
}

/// Neighbours of one role join, so that a text may go on.
fn goes_on(later: &[Piece], earlier: &[Piece]) -> bool {
    match (later.get(earlier.len().wrapping_sub(1)), earlier.split_last()) {
        (Some(Piece::Text(later_text)), Some((Piece::Text(text), rest))) => {
            later.starts_with(rest) && later_text.starts_with(text.as_str())
        }
        (_, Some(_)) => later.starts_with(earlier),
        (_, None) => true,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 6, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_harness_takes_over_from_any_and_gives_back(
        steps in proptest::collection::vec(step(), 1..8),
        wire in 0usize..3,
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        let came = runtime.block_on(matrix(&steps, wire));
        prop_assert!(came.is_ok(), "{}", came.unwrap_err());
    }
}

#[tokio::test]
async fn every_harness_says_a_command_in_its_own_words() {
    for harness in all() {
        let parts = vec![call("bash", json!({"command": "ls"}))];
        let mut session = Session::new();
        session.user("go");
        let said = in_words_of(&*harness, parts, &session.model).await;
        let said = said.unwrap_or_else(|| panic!("{} cannot say it", harness.id()));
        session.reply(&*harness, said).await;
        let runs = |action: &Action| match action {
            Action::Shell { command, .. } => command == "ls",
            // Who has no shell types it.
            Action::Keys { text, .. } => text == "ls\n",
            _ => false,
        };
        let ran = session.items.iter().any(|item| match &item.body {
            Body::Assistant(reply) => reply.calls().any(|call| runs(&call.action)),
            _ => false,
        });
        assert!(ran, "{}: {:?}", harness.id(), session.items);
    }
}
