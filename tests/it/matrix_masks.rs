//! The matrix for models of the small classes, with old results masked: switches and resumes in the middle
//! of a masked history. What was sent before stands at the beginning byte for byte, save where a mask
//! moved, and that changes nothing but what it covers.

use std::sync::{Arc, OnceLock};

use proptest::prelude::*;
use serde_json::json;
use tack::harness::{Harness, Library, Masked};
use tack::model::{Body, Class, Item, Model};
use tack::wire::prompt::{Message, Prompt};
use tack::wire::{self, provider::Quirks};

use crate::harness_kit::{Session, messages};
use crate::matrix::{Step, WIRES, begins_with, model, play, step, taken};

/// Forks of all harnesses that mask soon.
fn forks() -> &'static [Arc<dyn Harness>] {
    static FORKS: OnceLock<Vec<Arc<dyn Harness>>> = OnceLock::new();
    FORKS.get_or_init(load)
}

fn load() -> Vec<Arc<dyn Harness>> {
    let dir = tempfile::tempdir().unwrap();
    let ids = Library::new(Vec::new()).ids();
    for id in &ids {
        let folder = dir.path().join(format!("my-{id}"));
        std::fs::create_dir(&folder).unwrap();
        let manifest = format!("schema = 1\nextends = \"{id}\"\n[context]\nresults = 2\nblock = 2\n");
        std::fs::write(folder.join("harness.toml"), manifest).unwrap();
    }
    let library = Library::new(vec![dir.path().to_owned()]);
    let one = |id: &String| library.get(&format!("my-{id}")).unwrap_or_else(|e| panic!("{e}"));
    ids.iter().map(one).collect()
}

/// The items as they come back from a session file.
fn stored(items: &[Item]) -> Vec<Item> {
    let lines: Vec<String> = items.iter().map(|item| serde_json::to_string(item).unwrap()).collect();
    lines.iter().map(|line| serde_json::from_str(line).unwrap()).collect()
}

fn body(prompt: &Prompt, model: &Model) -> String {
    wire::of(model.wire).encode(prompt, model, &Quirks::default()).to_string()
}

/// What one harness sends of a session at some time.
struct Sent {
    prompt: Prompt,
    masked: Masked,
}

impl Sent {
    async fn of(session: &Session, harness: &dyn Harness) -> Self {
        Self { prompt: session.prompt(harness).await, masked: harness.masked(&session.view()) }
    }

    /// Whether this goes on from what was sent earlier.
    fn goes_on_from(&self, earlier: &Self) -> Result<(), String> {
        let (now, before) = (&self.prompt, &earlier.prompt);
        let fixed = now.system == before.system && now.tools == before.tools;
        let kept = match self.masked == earlier.masked {
            true => begins_with(now, before),
            false => before.messages.split_last().is_none_or(|(_, rest)| {
                now.messages.len() > rest.len()
                    && rest.iter().zip(&now.messages).all(|(old, new)| covers(new, old))
            }),
        };
        if fixed && kept {
            return Ok(());
        }
        let (old, new) = (messages(&before.messages), messages(&now.messages));
        Err(format!("{:?} became {:?}\n{old}\n=====\n{new}", earlier.masked, self.masked))
    }
}

/// The same message, or one in which a line stands for a result or some of them.
fn covers(new: &Message, old: &Message) -> bool {
    let [new, old] = [new, old].map(|message| messages(std::slice::from_ref(message)));
    let mut there = old.lines();
    let mut kept = new.lines().filter(|line| !line.contains("[no longer shown"));
    new == old || new.contains("[no longer shown") && kept.all(|line| there.any(|other| other == line))
}

/// From each to some over the wires in turn, and back; gives how many results were masked in all.
async fn matrix(steps: &[Step], class: Class, shift: usize) -> Result<usize, String> {
    let all = forks();
    let again = load_again();
    let mut masked = 0;
    for (from, first) in all.iter().enumerate() {
        let home = Model { class, ..model(0, WIRES[(shift + from) % 3]) };
        let mut session = Session { model: home.clone(), ..Session::new() };
        session.user("Make the greeting polite.");
        let ls = || Step::Calls { thinks: true, words: "", calls: vec![("bash", json!({"command": "ls"}))] };
        for step in steps {
            play(&mut session, &**first, step).await;
        }
        // Whatever was wrong is put right, so that nothing is about to leave.
        play(&mut session, &**first, &ls()).await;
        if !matches!(session.items.last().map(|item| &item.body), Some(Body::User(_))) {
            session.user("Go on.");
        }
        let sent = Sent::of(&session, &**first).await;
        masked += sent.masked.results;
        session.items = stored(&session.items);
        let resumed = session.prompt(&*again[from]).await;
        if body(&resumed, &home) != body(&sent.prompt, &home) {
            return Err(format!("{}: a resumed session sends something else", first.id()));
        }
        let begun = session.items.len();
        for to in [1, 6].map(|step| (from + step + shift) % all.len()) {
            let second = &all[to];
            let place = format!("{} to {}, class {}", first.id(), second.id(), class.letter());
            session.items.truncate(begun);
            session.model = Model { class, ..model((from + to) % 2, WIRES[(shift + to) % 3]) };
            let there = Sent::of(&session, &**second).await;
            masked += there.masked.results;
            taken(&there.prompt, &session.model).map_err(|why| format!("{place}: {why}"))?;
            play(&mut session, &**second, &ls()).await;
            play(&mut session, &**second, &ls()).await;
            session.user("And back.");
            let later = Sent::of(&session, &**second).await;
            taken(&later.prompt, &session.model).map_err(|why| format!("{place}, a turn later: {why}"))?;
            later.goes_on_from(&there).map_err(|why| format!("{place}, a turn later: {why}"))?;
            session.model = home.clone();
            let back = Sent::of(&session, &**first).await;
            taken(&back.prompt, &home).map_err(|why| format!("{place} and back: {why}"))?;
            back.goes_on_from(&sent).map_err(|why| format!("{place} and back: {why}"))?;
        }
    }
    Ok(masked)
}

/// The same forks, loaded anew as a later run would.
fn load_again() -> &'static [Arc<dyn Harness>] {
    static FORKS: OnceLock<Vec<Arc<dyn Harness>>> = OnceLock::new();
    FORKS.get_or_init(load)
}

fn in_runtime(steps: &[Step], class: Class, shift: usize) -> Result<usize, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(matrix(steps, class, shift))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_masked_session_moves_between_harnesses(
        steps in proptest::collection::vec(step(), 3..10),
        class in prop_oneof![Just(Class::S), Just(Class::M), Just(Class::L)],
        shift in 0usize..48,
    ) {
        let came = in_runtime(&steps, class, shift);
        prop_assert!(came.is_ok(), "{}", came.unwrap_err());
    }
}

/// So that the property is one of masked sessions.
#[test]
fn long_results_are_masked_on_the_way() {
    let long = json!({"command": format!("echo {}", "a word\n".repeat(40))});
    let step = Step::Calls { thinks: true, words: "I look.", calls: vec![("bash", long)] };
    let steps = vec![step; 7];
    for class in [Class::S, Class::M, Class::L] {
        let masked = in_runtime(&steps, class, 0).unwrap_or_else(|why| panic!("{why}"));
        assert!(masked > 60, "class {}: {masked}", class.letter());
    }
}
