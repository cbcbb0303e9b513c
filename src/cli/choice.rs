//! Which model, at which provider, over which wire, under which harness.
//!
//! From the configuration and what is known beforehand of models; nothing is sent.

use std::sync::Arc;

use super::demo;
use super::error::CliError;
use super::learn::careful;
use super::setup::Base;
use crate::agent::Holds;
use crate::config;
use crate::harness::{Harness, LOCAL, LoadError, Pick, in_family};
use crate::model::{Body, Class, Item, Model, Thinking, WireKind};
use crate::tui::host::Because;
use crate::wire::catalog;
use crate::wire::client::HttpClient;
use crate::wire::local::Kind;
use crate::wire::provider::Provider;
use crate::wire::recorded::Recorded;
use crate::wire::{Client, Failure};

/// A window of fewer surfaces than this is tight.
const ROOM: u64 = 4;

/// Id of the provider whose model is a recording.
pub(super) const DEMO: &str = "demo";

/// Whom a run asks, and how.
pub(super) struct Chosen {
    pub(super) model: Model,
    pub(super) harness: Arc<dyn Harness>,
    /// Over the wire that the model is asked over. None: the model's words are recorded.
    pub(super) provider: Option<Provider>,
    /// What to say of a window that leaves little room, or is not known.
    pub(super) tight: Vec<String>,
    /// The server cuts what does not fit without a word.
    cuts: bool,
    /// The harness and those that it starts from.
    chain: Vec<String>,
}

/// Who says which harness speaks for a model.
pub(super) enum Named {
    /// For this run.
    Here(String),
    /// In the configuration, and there for what.
    Usual(String, Because),
    Nobody,
}

impl Chosen {
    pub(super) fn client(&self) -> Result<Arc<dyn Client>, CliError> {
        let wrong = |failure: Failure| CliError::usage(failure.to_string());
        Ok(match &self.provider {
            Some(provider) => careful(HttpClient::new(provider.clone()).map_err(wrong)?, self.cuts),
            None => Arc::new(self.recorded()?),
        })
    }

    /// The demo's model: its recording for the harness, else what the harness itself makes of its words.
    pub(super) fn recorded(&self) -> Result<Recorded, CliError> {
        let said = || demo::said(&*self.harness, &self.model).map(Recorded::of);
        Recorded::new(&self.chain).or_else(said).ok_or_else(|| {
            CliError::usage(format!("the demo's model has no words for harness {}", self.harness.id()))
                .hint("try one that extends minimal, or a model: tack -p PROMPT -m MODEL")
        })
    }

    /// What the server does about a schema for the last message.
    pub(super) fn holds(&self) -> Holds {
        match &self.provider {
            Some(provider) if provider.quirks.schema => Holds::BesideTools,
            // llama.cpp, Ollama, LM Studio and vLLM all do, over this wire.
            Some(provider) if provider.local && provider.wire == WireKind::Chat => Holds::Alone,
            Some(_) | None => Holds::Nothing,
        }
    }
}

impl Base {
    /// An earlier session goes on with the model and the harness that it had, while they are there and
    /// nothing names others for this run.
    pub(super) fn go_on_as(&mut self, items: &[Item]) {
        let last = items.iter().rev().find_map(|item| match &item.body {
            Body::Assistant(reply) => Some(&reply.origin),
            Body::User(_)
            | Body::Result(_)
            | Body::Note(_)
            | Body::Scene(_)
            | Body::Summary(_)
            | Body::Mark(_) => None,
        });
        let known = config::known(&self.config);
        let Some(last) = last.filter(|last| known.contains(&last.provider)) else { return };
        if self.config.model_is_for_this_run || self.found.is_some() {
            return;
        }
        self.config.model_provider = Some(last.provider.clone());
        self.config.model = Some(last.model.clone());
        if self.config.harness_is_for_this_run {
            return;
        }
        // A broken one ends the run with its fault: another one would see this session in another way.
        if let Err(gone @ LoadError::Unknown { .. }) = self.library.get(&last.harness) {
            self.warnings.push(format!("{gone}; this session goes on with the one that suits the model"));
        } else {
            // What would be chosen anyhow stays a choice, so that it may still change with the window.
            let usual = self.chosen().is_ok_and(|(model, _)| self.harness_id(&model) == last.harness);
            if !usual {
                self.config.harness = Some(last.harness.clone());
                self.config.harness_is_for_this_run = true;
            }
        }
    }

    /// All of it, with the key that is wanted.
    pub(super) fn choose(&self) -> Result<Chosen, CliError> {
        let (mut model, provider) = self.model()?;
        let cuts = self.cuts(&model);
        let mut tight: Vec<String> = self.assume_window(&mut model).into_iter().collect();
        let harness = self.harness(&model)?;
        let (harness, little) = self.fit_window(&mut model, harness);
        tight.extend(little);
        let provider = match provider {
            Some(provider) => Some(self.over_wire(&*harness, &provider, &mut model)?),
            None => None,
        };
        let chain = self.library.chain(harness.id()).map_err(|error| CliError::usage(error.to_string()))?;
        Ok(Chosen { model, harness, provider, tight, cuts, chain })
    }

    /// The model and who serves it, with the key that is wanted there.
    pub(super) fn model(&self) -> Result<(Model, Option<Provider>), CliError> {
        let (model, mut provider) = self.chosen()?;
        if let Some(provider) = &mut provider {
            self.give_key(provider)?;
        }
        Ok((model, provider))
    }

    /// The same without looking for stored keys, by configuration and catalog.
    pub(super) fn chosen(&self) -> Result<(Model, Option<Provider>), CliError> {
        if self.config.model_provider.as_deref() == Some(DEMO) {
            return Ok((demo_model(), None));
        }
        let known = config::known(&self.config);
        if let (Some(name), None) = (&self.config.model, &self.config.model_provider)
            && known.contains(name)
        {
            return Err(CliError::usage(format!("{name} is a provider, and no model of it is named"))
                .hint(format!("name one: -m {name}/MODEL")));
        }
        let choice = match config::usual_model(&self.config, &self.env) {
            Some((provider, model)) => config::Choice { provider, model },
            None => config::choose(&self.config, &known, |provider, name| {
                let found = self.found.as_ref().is_some_and(|found| found.name == name);
                (found || catalog::models(provider).any(|model| model == name)).then_some(true)
            })?,
        };
        let provider = config::resolve(&self.config, &choice.provider, &self.env, &self.dirs)?;
        let facts = catalog::facts(&choice.provider, &choice.model);
        let told = self.found.clone().unwrap_or_default();
        // More than a server has loaded is of use only where it says what does not fit.
        let cuts = provider.local && told.loaded && told.kind == Some(Kind::Ollama);
        let most = told.window.filter(|_| cuts).unwrap_or(u64::MAX);
        let set_window = self.config.model_context_window.map(|set| set.min(most));
        let prices = self.config.prices.get(&format!("{}/{}", choice.provider, choice.model)).copied();
        let model = Model {
            wire: provider.wire,
            class: self.class_of_chosen(&provider, &choice.model).0,
            window: set_window.or(told.window).or(facts.window),
            max_output: facts.max_output,
            probed: self.probed.clone(),
            vision: told.vision.or(facts.vision),
            effort: self.config.model_reasoning_effort.clone(),
            thinking: thinking(facts.thinking, &provider),
            local: provider.local,
            prices: prices.or(facts.prices),
            provider: choice.provider,
            name: choice.model,
        };
        Ok((model, Some(provider)))
    }

    /// The harness asked for, or the one that suits the model.
    pub(super) fn harness(&self, model: &Model) -> Result<Arc<dyn Harness>, CliError> {
        self.library.fit(&self.harness_id(model), model).map_err(|error| CliError::usage(error.to_string()))
    }

    fn harness_id(&self, model: &Model) -> String {
        match self.named(model) {
            Named::Here(id) | Named::Usual(id, _) => id,
            Named::Nobody => self.library.pick(model),
        }
    }

    /// A harness for this run goes before the model's own, that before its family's, of which the closest
    /// counts, and that before the one for all.
    pub(super) fn named(&self, model: &Model) -> Named {
        let is_one = |id: &&String| *id != "auto";
        let all = self.config.harness.as_ref().filter(is_one);
        if let Some(id) = all.filter(|_| self.config.harness_is_for_this_run) {
            return Named::Here(id.clone());
        }
        let own = self.config.models.get(&format!("{}/{}", model.provider, model.name));
        if let Some(id) = own.and_then(|own| own.harness.as_ref()).filter(is_one) {
            return Named::Usual(id.clone(), Because::Model);
        }
        let kin = self.config.families.iter().filter(|(pattern, _)| in_family(pattern, &model.name));
        let kin = kin.filter_map(|(pattern, own)| Some((pattern, own.harness.as_ref().filter(is_one)?)));
        if let Some((pattern, id)) = kin.max_by_key(|(pattern, _)| pattern.chars().count()) {
            return Named::Usual(id.clone(), Because::Family(pattern.clone()));
        }
        all.map_or(Named::Nobody, |id| Named::Usual(id.clone(), Because::All))
    }

    /// Why this harness speaks for the model.
    pub(super) fn because(&self, model: &Model, harness: &str) -> Because {
        match self.named(model) {
            Named::Here(_) => Because::Named,
            Named::Usual(_, because) => because,
            Named::Nobody => match self.library.claimants().pick(model) {
                Pick { id, .. } if id != harness => Because::Window,
                Pick { by: Some(pattern), .. } => Because::Claims(pattern),
                Pick { by: None, .. } => Because::Unclaimed,
            },
        }
    }

    /// Provider and model over the wire that both the harness and the provider speak: the one that was
    /// set, else the provider's usual one, else the harness's first.
    pub(super) fn over_wire(
        &self,
        harness: &dyn Harness,
        provider: &Provider,
        model: &mut Model,
    ) -> Result<Provider, CliError> {
        let spoken = harness.wires();
        let offered = provider.wires();
        let usual = offered.first().filter(|wire| spoken.contains(wire));
        let wire = usual.or_else(|| spoken.iter().find(|wire| offered.contains(wire)));
        let Some(found) = wire.and_then(|wire| provider.over(*wire)) else {
            return Err(no_wire(harness, provider));
        };
        model.wire = found.wire;
        let facts = catalog::facts(&provider.id, &model.name);
        model.thinking = thinking(facts.thinking, &found);
        Ok(found)
    }

    /// Says so when a local model's window leaves the harness little room. Unless somebody named it, the
    /// harness for local models takes its place, with its form for small models if that is needed.
    pub(super) fn fit_window(
        &self,
        model: &mut Model,
        harness: Arc<dyn Harness>,
    ) -> (Arc<dyn Harness>, Option<String>) {
        let id = harness.id();
        let Some(window) = model.window.filter(|_| model.local) else { return (harness, None) };
        let surface = self.surface(model, id);
        if window >= ROOM * surface {
            return (harness, None);
        }
        let tight = format!(
            "the window of {} has {window} tokens, and harness {id} takes about {surface} of them",
            model.name
        );
        let larger = "start the server with a larger one";
        let local = self.library.fit(LOCAL, model).ok().filter(|_| self.surface(model, LOCAL) < surface);
        match (self.named(model), local) {
            (Named::Here(_) | Named::Usual(..), Some(_)) => {
                (harness, Some(format!("{tight}; {larger}, or take a smaller harness: --harness {LOCAL}")))
            }
            (Named::Here(_) | Named::Usual(..), None) => (harness, Some(format!("{tight}; {larger}"))),
            (Named::Nobody, Some(local)) => {
                if window < ROOM * self.surface(model, LOCAL) {
                    model.class = Class::S;
                }
                (local, Some(format!("{tight}: harness {LOCAL} is used; {larger}")))
            }
            (Named::Nobody, None) if model.class == Class::S => (harness, Some(format!("{tight}; {larger}"))),
            (Named::Nobody, None) => {
                model.class = Class::S;
                (harness, Some(format!("{tight}: its form for small models is used; {larger}")))
            }
        }
    }

    /// What a harness takes of the model's window, in tokens; nothing where it does not load.
    fn surface(&self, model: &Model, harness: &str) -> u64 {
        self.library.sample(harness, model).map_or(0, |sample| sample.listing.tokens as u64)
    }
}

/// What is known of the model, unless the service takes no such thing over this wire.
fn thinking(known: Option<Thinking>, provider: &Provider) -> Thinking {
    match provider.quirks.thinking {
        Thinking::None => Thinking::None,
        usual => known.unwrap_or(usual),
    }
}

fn no_wire(harness: &dyn Harness, provider: &Provider) -> CliError {
    let names = |wires: &[WireKind]| wires.iter().map(|wire| wire.name()).collect::<Vec<_>>().join(", ");
    let (id, at) = (harness.id(), &provider.id);
    let (speaks, offers) = (names(harness.wires()), names(&provider.wires()));
    CliError::usage(format!("harness {id} speaks {speaks}, and provider {at} speaks {offers}")).hint(format!(
        "choose another harness with --harness, or set wire_api in [model_providers.{at}] if it speaks {speaks} too"
    ))
}

fn demo_model() -> Model {
    Model {
        provider: DEMO.to_owned(),
        name: "recorded".to_owned(),
        wire: WireKind::Chat,
        class: Class::M,
        window: None,
        max_output: None,
        vision: Some(false),
        probed: None,
        effort: None,
        thinking: Thinking::default(),
        local: true,
        prices: None,
    }
}
