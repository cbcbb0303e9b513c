//! What is learnt of a model on this machine before it is asked for work: the size, the window and the
//! template that its server tells of, and by the probe how its calls come back.
//!
//! Nothing of it is needed: a server that does not answer, or not in time, leaves it unknown.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use super::choice::Named;
use super::error::CliError;
use super::runtime;
use super::setup::{Base, is_free};
use crate::model::{Class, Clue, Clues, Model, Probed, Usage};
use crate::probe::{self, Outcome, memory};
use crate::wire::client::HttpClient;
use crate::wire::local::{self, Found, Kind, Saw, State};
use crate::wire::provider::Provider;
use crate::wire::{Client, catalog};

/// How often a server that still loads its model is looked at.
const LOADING: Duration = Duration::from_secs(1);
/// Tokens that Ollama gives a model where nothing else is set and known.
const OLLAMA_WINDOW: u64 = 4096;

/// When a model is probed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// Once, where nobody named a harness: the outcome decides which one.
    ForAuto,
    Anew,
    Never,
}

/// What came of looking.
#[derive(Clone, Debug, Default)]
pub(super) struct Learnt {
    /// The model is served on this machine, and the server answered.
    pub(super) looked: bool,
    /// The probe was made, now or earlier.
    pub(super) asked: bool,
    /// Tokens that the probe took now.
    pub(super) usage: Option<Usage>,
    /// Why the probe could not be made.
    pub(super) failed: Option<String>,
}

impl Base {
    /// Looks at the server of a local model and probes the model when it is to be. `limit` is how many
    /// seconds all of it may take.
    pub(super) fn learn(&mut self, ask: Ask, limit: Option<u64>) -> Result<Learnt, CliError> {
        // What is wrong with the choice, or with a key, is said where it is used.
        let Ok((model, Some(mut provider))) = self.chosen() else { return Ok(Learnt::default()) };
        if !is_here(&provider) || self.give_key(&mut provider).is_err() {
            return Ok(Learnt::default());
        }
        let runtime = runtime()?;
        let limit = limit.map_or(Duration::MAX, Duration::from_secs);
        let learnt = runtime
            .block_on(async { tokio::time::timeout(limit, self.look_and_ask(ask, &model, &provider)).await });
        // A name that is still being looked up is not waited for.
        runtime.shutdown_background();
        learnt.map_err(|_| {
            CliError::failed(format!("{} was not ready within the time limit (--timeout)", model.name))
                .code(3)
        })
    }

    async fn look_and_ask(&mut self, ask: Ask, model: &Model, provider: &Provider) -> Learnt {
        let auto = matches!(self.named(model), Named::Nobody);
        let ask = if ask == Ask::ForAuto && !auto { Ask::Never } else { ask };
        let mut learnt = Learnt::default();
        if self.found.is_none() {
            self.found = look(model, provider, (ask, &self.say)).await;
        }
        let Some(found) = self.found.clone() else { return learnt };
        learnt.looked = true;
        let memory =
            self.dirs.cache.as_ref().map(|cache| memory::Memory::new(cache, &provider.base_url, &model.name));
        let mut record = memory.as_ref().map(memory::Memory::read).unwrap_or_default();
        let before = record.clone();
        let mark = memory::mark(&found.mark, provider.wire);
        let known = record.asked.clone().filter(|asked| asked.mark == mark && ask != Ask::Anew);
        match known {
            Some(asked) => {
                learnt.asked = true;
                self.probed = asked.probed;
            }
            None if ask == Ask::Never => {}
            None => match probe(model, provider, &self.say).await {
                Ok(Outcome { probed, usage }) => {
                    (learnt.asked, learnt.usage) = (true, Some(usage));
                    self.probed.clone_from(&probed);
                    // What loads a model with its first request can tell more of it now.
                    if found.window.is_none() {
                        self.found = look(model, provider, (Ask::Never, &self.say)).await.or(Some(found));
                    }
                    record.asked = Some(memory::Asked { mark, probed });
                }
                Err(why) => learnt.failed = Some(why),
            },
        }
        self.remember_window(&mut record);
        if let Some(memory) = memory.filter(|_| record != before)
            && let Err(error) = memory.write(&record)
        {
            tracing::debug!("what was learnt of {} is not kept: {error}", model.name);
        }
        learnt
    }

    /// Ollama tells the window only of what is in memory: otherwise it is what it was the last time.
    fn remember_window(&mut self, record: &mut memory::Record) {
        if let Some(found) = self.found.as_mut().filter(|found| found.kind == Some(Kind::Ollama)) {
            match found.window {
                Some(window) => record.window = Some(window),
                None => found.window = record.window,
            }
        }
    }

    /// The class of a model, and what it is told by.
    pub(super) fn class(&self, provider: &Provider, name: &str, found: Option<&Found>) -> (Class, Clue) {
        let own = self.config.models.get(&format!("{}/{name}", provider.id)).and_then(|own| own.class);
        let clues = Clues {
            set: own,
            catalog: catalog::facts(&provider.id, name).class,
            parameters: found.and_then(|found| found.parameters),
            name,
            hosted: !provider.local,
        };
        clues.read()
    }

    /// The same of the model that is about to run, which `model_class` is about.
    pub(super) fn class_of_chosen(&self, provider: &Provider, name: &str) -> (Class, Clue) {
        match (self.class(provider, name, self.found.as_ref()), self.config.model_class) {
            (told @ (_, Clue::Set), _) => told,
            (_, Some(class)) => (class, Clue::Set),
            (told, None) => told,
        }
    }

    /// A window for a model of Ollama's of which none is known, and what to say of it.
    pub(super) fn assume_window(&self, model: &mut Model) -> Option<String> {
        if model.window.is_some() || self.found.is_none() || !self.cuts(model) {
            return None;
        }
        model.window = Some(OLLAMA_WINDOW);
        Some(format!(
            "{} is not loaded, so its window is not known: {OLLAMA_WINDOW} tokens are assumed; set \
             model_context_window if it has more, or {}",
            model.name,
            local::cut::REMEDY
        ))
    }

    /// Whether the model's server cuts what does not fit without a word.
    pub(super) fn cuts(&self, model: &Model) -> bool {
        let found = self.found.as_ref().and_then(|found| found.kind);
        model.local && found.or(Kind::of(&model.provider)) == Some(Kind::Ollama)
    }
}

/// Whether the model itself is on this machine.
pub(super) fn is_here(provider: &Provider) -> bool {
    provider.local && (Kind::of(&provider.id).is_some() || is_free(provider))
}

/// What the model's server tells of it. None: nothing answers there, or it is not known how to ask.
async fn look(model: &Model, provider: &Provider, (ask, say): (Ask, &Say)) -> Option<Found> {
    // Which server stands at an address of the user's own is asked only where it is of use.
    let kind = Kind::of(&provider.id).or((ask != Ask::Never).then_some(Kind::LlamaCpp))?;
    let until = tokio::time::Instant::now() + provider.first_byte_timeout;
    let mut told = false;
    loop {
        let tried = local::find(vec![(kind, provider.clone())]).await.ok()?;
        let server = match tried.into_iter().next()?.saw {
            Saw::Server(server) => server,
            Saw::Other => return Some(unknown(model)),
            Saw::Nothing => return None,
        };
        // The run itself would wait too; only who has to know more first does so here.
        let waits =
            server.state == State::Loading && ask != Ask::Never && tokio::time::Instant::now() < until;
        if !waits {
            let same = |name: &str| name == model.name || name == format!("{}:latest", model.name);
            let found = server.models.into_iter().find(|found| same(&found.name));
            return Some(match found {
                Some(found) => Found { name: model.name.clone(), ..found },
                None => Found { kind: Some(server.kind), ..unknown(model) },
            });
        }
        if !told {
            say(&format!("{} is loading the model", provider.name));
            told = true;
        }
        tokio::time::sleep(LOADING).await;
    }
}

fn unknown(model: &Model) -> Found {
    Found { name: model.name.clone(), ..Found::default() }
}

/// Err is why it could not be made; it is said already.
async fn probe(model: &Model, provider: &Provider, say: &Say) -> Result<Outcome, String> {
    let name = &model.name;
    say(&format!("asking {name} twice how it calls tools (once for this server)"));
    let mut last = String::new();
    let mut hear = |line: &str| {
        if line != last {
            say(line);
            line.clone_into(&mut last);
        }
    };
    let provider = Provider { request_retries: 0, stream_retries: 0, ..provider.clone() };
    let outcome = match HttpClient::new(provider) {
        Ok(client) => probe::ask(&client, model, &mut hear).await,
        Err(failure) => Err(failure),
    };
    match outcome {
        Ok(outcome) => {
            say(&format!("{name}: {}", probe::words(outcome.probed.as_ref())));
            Ok(outcome)
        }
        Err(failure) => {
            say(&format!("{name}: {}: {failure}", probe::words(None)));
            Err(failure.to_string())
        }
    }
}

/// Where progress is told.
pub(super) type Say = Arc<dyn Fn(&str) + Send + Sync>;

/// A courtesy: a closed stderr is no failure.
pub(super) fn on_stderr(line: &str) {
    let line: String = line.chars().map(|c| if crate::model::steers(c) { '�' } else { c }).collect();
    let _ = writeln!(std::io::stderr(), "{line}");
}

/// The client, and before it what a server needs that cuts in silence.
pub(super) fn careful(client: HttpClient, cuts: bool) -> Arc<dyn Client> {
    let client: Arc<dyn Client> = Arc::new(client);
    if cuts { Arc::new(local::cut::Cutting::new(client)) } else { client }
}

/// For people: the probe's outcome beside the calls.
pub(super) fn details(probed: &Probed) -> String {
    let schema = if probed.schema { "a schema is held to" } else { "a schema is not held to" };
    let thinking = match &probed.thinking {
        Some(field) => format!("; reasoning comes in {field}"),
        None => String::new(),
    };
    format!("{schema}{thinking}")
}
