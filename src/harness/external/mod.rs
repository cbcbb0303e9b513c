//! External harnesses: a program on stdio is asked first, and a manifest does the rest.
//!
//! Every question carries a draft, which is what the manifest would do, and every answer may be
//! "default". So a program bends what it wants and nothing else. It is started at the first question
//! and gets the session's items once; what it says is checked before anybody relies on it. A program
//! that fails is ended and named in one error; the next turn starts it anew. The protocol is in
//! `docs/external-harness.md`.

mod check;
mod line;
mod program;
mod reply;
mod words;

#[cfg(test)]
mod tests;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use async_trait::async_trait;
use serde_json::{Map, Value, json};

use crate::model::{
    ItemId, Limits, MOST_BYTES, Model, Note, NoteKind, Outcome, Part, Reply, ToolCall, WireKind,
};
use crate::wire::prompt::Prompt;

use super::kit::Loaded;
use super::load::nearest;
use super::{Harness, Masked, Rules, Saying, Submitted, Verdict, View};

use line::{Fault, Line, sentence};
pub use program::{NoPrograms, Program, Programs, Started, Tree};

/// The version of the protocol.
const PROTOCOL: u64 = 1;
/// What a program may be asked or told, beside `hello`.
const VERBS: [&str; 5] = ["prompt", "interpret", "tell", "notes", "event"];
/// Reminders that one answer may hold.
const MOST_NOTES: usize = 16;

/// A manifest with a program before it.
pub(super) struct External {
    inner: Arc<Loaded>,
    program: Program,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    live: Option<Live>,
    /// What went wrong where the turn could go on for the moment.
    trouble: Option<String>,
    /// The session's newest item. A view with later ones is made up, as for a summary.
    newest: Option<ItemId>,
}

/// The program as it runs. Whoever asks it takes it out; where that is given up half-way it is dropped
/// and so ended, for nobody could tell its next answer from its last.
struct Live {
    line: Line,
    wants: Vec<String>,
    /// Items that it has been told.
    told: usize,
}

impl External {
    pub(super) fn new(inner: Arc<Loaded>, program: Program) -> Self {
        Self { inner, program, state: Mutex::default() }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Asks, unless the session is stopped, which ends a program that is being asked. None: the draft
    /// stands.
    async fn ask<T>(
        &self,
        (verb, view): (&str, &View<'_>),
        question: impl FnOnce() -> Value,
        read: impl FnOnce(&Map<String, Value>) -> Result<T, String>,
    ) -> anyhow::Result<Option<T>> {
        tokio::select! {
            biased;
            () = view.programs.stopped() => Ok(None),
            asked = self.asked((verb, view), question, read) => asked,
        }
    }

    /// Asks, if the program wants to be asked, and reads the answer.
    async fn asked<T>(
        &self,
        (verb, view): (&str, &View<'_>),
        question: impl FnOnce() -> Value,
        read: impl FnOnce(&Map<String, Value>) -> Result<T, String>,
    ) -> anyhow::Result<Option<T>> {
        if let Some(trouble) = self.state().trouble.take() {
            anyhow::bail!(trouble);
        }
        let known = self.state().live.take();
        let mut live = match known {
            Some(live) => live,
            None => self.start(view).await?,
        };
        if !live.wants(verb) {
            self.state().live = Some(live);
            return Ok(None);
        }
        let mut message = message(verb, &mut live, view);
        if let Value::Object(more) = question() {
            message.extend(more);
        }
        let answer = live.line.ask(message, self.program.limit).await;
        let read = answer.and_then(|answer| {
            if answer.get("default") == Some(&json!(true)) {
                return Ok(None);
            }
            if let Some(error) = answer.get("error").and_then(Value::as_str) {
                return Err(Fault::Wrong(format!("it says {}", line::shown(error))));
            }
            read(&answer).map(Some).map_err(Fault::Wrong)
        });
        match read {
            Ok(read) => {
                self.state().live = Some(live);
                Ok(read)
            }
            Err(fault) => anyhow::bail!(live.line.over(&self.program, verb, &fault).await),
        }
    }

    /// Starts the program and says hello.
    async fn start(&self, view: &View<'_>) -> anyhow::Result<Live> {
        let started = view.programs.start(&self.program).await.map_err(|error| {
            let fault = Fault::Start(format!("{error:#}"));
            anyhow::anyhow!(sentence(&self.program, ("hello", &fault, None), &[]))
        })?;
        let mut line = Line::new(started);
        let hello = json!({
            "do": "hello",
            "protocol": PROTOCOL,
            "harness": self.inner.id(),
            "session": view.programs.session(),
            "data": line.data(),
        });
        let Value::Object(hello) = hello else { anyhow::bail!("hello is an object") };
        let answer = line.ask(hello, self.program.limit).await;
        match answer.and_then(|answer| greeting(&answer).map_err(Fault::Wrong)) {
            Ok(wants) => Ok(Live { line, wants, told: 0 }),
            Err(fault) => anyhow::bail!(line.over(&self.program, "hello", &fault).await),
        }
    }

    /// Keeps for later what went wrong, for what has to go on now.
    fn stash<T>(&self, asked: anyhow::Result<Option<T>>) -> Option<T> {
        asked.unwrap_or_else(|error| {
            self.state().trouble.get_or_insert(format!("{error:#}"));
            None
        })
    }

    /// The view is not the session: it holds items that were made for one request.
    fn is_made_up(&self, view: &View<'_>) -> bool {
        let last = view.items.last().map(|item| item.id);
        self.state().newest.is_some_and(|newest| last.is_some_and(|last| last > newest))
    }
}

impl Live {
    fn wants(&self, verb: &str) -> bool {
        self.wants.iter().any(|want| want == verb)
    }
}

/// A message with the items that the program has not seen.
fn message(verb: &str, live: &mut Live, view: &View<'_>) -> Map<String, Value> {
    let from = if live.told > view.items.len() { 0 } else { live.told };
    live.told = view.items.len();
    let model = view.model;
    let message = json!({
        "do": verb,
        "view": {
            "from": from,
            "items": &view.items[from..],
            "model": {
                "provider": model.provider, "name": model.name, "class": model.class.letter(),
                "window": model.window, "local": model.local,
            },
            "wire": view.wire,
        },
    });
    match message {
        Value::Object(message) => message,
        _ => Map::new(),
    }
}

/// What the program wants to be asked: all, where it does not say.
fn greeting(answer: &Map<String, Value>) -> Result<Vec<String>, String> {
    match answer.get("protocol") {
        Some(given) if *given == json!(PROTOCOL) => {}
        given => {
            let given = given.map_or_else(|| "none".to_owned(), Value::to_string);
            return Err(format!("its `protocol` is {given}; this tack speaks {PROTOCOL}"));
        }
    }
    let Some(wants) = answer.get("wants") else { return Ok(VERBS.map(str::to_owned).to_vec()) };
    let wants = words::texts(wants, "wants")?;
    match wants.iter().find(|want| !VERBS.contains(&want.as_str())) {
        Some(wrong) => {
            let near = nearest(wrong, VERBS.into_iter());
            let near = near.map(|near| format!("; did you mean `{near}`")).unwrap_or_default();
            Err(format!("it `wants` `{wrong}`, which nobody asks{near}"))
        }
        None => Ok(wants),
    }
}

/// The one text of an answer.
fn one_text(answer: &Map<String, Value>, key: &str) -> Result<String, String> {
    let text = answer.get(key).and_then(Value::as_str);
    let text = text.ok_or_else(|| format!("it has neither `{key}`, a text, nor `\"default\": true`"))?;
    match text.len() {
        0..=MOST_BYTES => Ok(text.to_owned()),
        long => Err(format!("`{key}` has {long} bytes; a model is shown at most {MOST_BYTES}")),
    }
}

fn read_notes(answer: &Map<String, Value>) -> Result<Vec<String>, String> {
    let notes = answer.get("notes").ok_or("it has neither `notes` nor `\"default\": true`")?;
    let notes = words::texts(notes, "notes")?;
    let bytes: usize = notes.iter().map(String::len).sum();
    if notes.len() > MOST_NOTES || bytes > MOST_BYTES {
        let count = notes.len();
        return Err(format!(
            "`notes` has {count} texts of {bytes} bytes; at most {MOST_NOTES} of {MOST_BYTES} are taken"
        ));
    }
    Ok(notes.into_iter().filter(|note| !note.trim().is_empty()).collect())
}

fn read_prompt(answer: &Map<String, Value>, draft: &Prompt, wire: WireKind) -> Result<Prompt, String> {
    let given = answer.get("prompt").and_then(Value::as_object);
    let given = given.ok_or("it has neither `prompt`, an object, nor `\"default\": true`")?;
    let before = draft.messages.clone();
    match words::laid_over(draft.clone(), given)? {
        (prompt, true) => check::mended(prompt, &before, wire),
        (prompt, false) => Ok(prompt),
    }
}

#[async_trait]
impl Harness for External {
    fn id(&self) -> &str {
        self.inner.id()
    }

    fn wires(&self) -> &[WireKind] {
        self.inner.wires()
    }

    fn surface(&self, model: &Model) -> u64 {
        self.inner.surface(model)
    }

    fn rules(&self, model: &Model) -> Rules {
        self.inner.rules(model)
    }

    /// A request that is not the session's, as for a summary, is the manifest's alone.
    async fn prompt(&self, view: &View<'_>) -> anyhow::Result<Prompt> {
        let draft = self.inner.prompt(view).await?;
        if self.is_made_up(view) {
            return Ok(draft);
        }
        let question = || json!({"draft": words::draft(&draft)});
        let read = |answer: &Map<String, Value>| read_prompt(answer, &draft, view.wire);
        Ok(self.ask(("prompt", view), question, read).await?.unwrap_or(draft))
    }

    fn masked(&self, view: &View<'_>) -> Masked {
        self.inner.masked(view)
    }

    async fn interpret(&self, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict> {
        let mut read = reply.clone();
        let verdict = self.inner.interpret(&mut read, view).await?;
        if reply::is_whole(reply) {
            let kit = self.inner.kit(view.model);
            let base = reply::base(kit, reply, &read, &verdict);
            let question = || json!({"reply": reply::said(&base), "draft": reply::draft(&read, &verdict)});
            let apply = |answer: &Map<String, Value>| reply::apply(kit, base.clone(), answer, view);
            if let Some((own, verdict)) = self.ask(("interpret", view), question, apply).await? {
                *reply = own;
                return Ok(verdict);
            }
        }
        *reply = read;
        Ok(verdict)
    }

    fn limits(&self, call: &ToolCall, model: &Model) -> Limits {
        self.inner.limits(call, model)
    }

    fn needs_read(&self, call: &ToolCall) -> bool {
        self.inner.needs_read(call)
    }

    /// What was done is told in any case: a program that fails here is named at the next question.
    async fn tell(&self, call: &ToolCall, outcome: &Outcome, view: &View<'_>) -> anyhow::Result<Vec<Part>> {
        let mut parts = self.inner.tell(call, outcome, view).await?;
        if self.state().trouble.is_some() {
            return Ok(parts);
        }
        let draft = parts.iter().find_map(|part| match part {
            Part::Text { text } => Some(text.clone()),
            Part::Thinking { .. } | Part::Image(_) | Part::Call(_) => None,
        });
        let question = || json!({"call": reply::call_said(call), "outcome": outcome, "draft": draft});
        let own = self.ask(("tell", view), question, |answer| one_text(answer, "tell")).await;
        if let Some(text) = self.stash(own) {
            parts.retain(|part| !matches!(part, Part::Text { .. }));
            parts.insert(0, Part::Text { text });
        }
        Ok(parts)
    }

    async fn submitted(
        &self,
        call: &ToolCall,
        outcome: &Outcome,
        view: &View<'_>,
    ) -> anyhow::Result<Submitted> {
        self.inner.submitted(call, outcome, view).await
    }

    async fn notes(&self, view: &View<'_>) -> anyhow::Result<Vec<Note>> {
        let draft = self.inner.notes(view).await?;
        let texts: Vec<&str> = draft.iter().map(|note| note.text.as_str()).collect();
        let Some(texts) = self.ask(("notes", view), || json!({"draft": texts}), read_notes).await? else {
            return Ok(draft);
        };
        // What the program took over as it was stays a reminder of the manifest.
        let note = |text: String| {
            let own = || Note {
                kind: NoteKind::Reminder,
                text: text.clone(),
                harness: Some(self.id().to_owned()),
                file: None,
            };
            draft.iter().find(|note| note.text == text).cloned().unwrap_or_else(own)
        };
        Ok(texts.into_iter().map(note).collect())
    }

    fn say(&self, saying: &Saying<'_>) -> String {
        self.inner.say(saying)
    }

    fn fresh(&self) -> Option<Arc<dyn Harness>> {
        Some(Arc::new(Self::new(self.inner.clone(), self.program.clone())))
    }

    async fn heard(&self, view: &View<'_>) {
        let live = {
            let mut state = self.state();
            state.newest = view.items.last().map(|item| item.id).max(state.newest);
            state.live.take()
        };
        let Some(mut live) = live else { return };
        let told = if live.wants("event") {
            let event = message("event", &mut live, view);
            live.line.tell(event, self.program.limit).await
        } else {
            Ok(())
        };
        match told {
            Ok(()) => self.state().live = Some(live),
            Err(fault) => {
                let trouble = live.line.over(&self.program, "event", &fault).await;
                self.state().trouble.get_or_insert(trouble);
            }
        }
    }

    fn trouble(&self) -> Option<String> {
        self.state().trouble.take()
    }

    async fn close(&self) {
        let live = self.state().live.take();
        if let Some(live) = live {
            live.line.close().await;
        }
    }
}
