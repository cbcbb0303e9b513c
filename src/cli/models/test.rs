//! `tack models --test`: the probe, made now, and all that is known of the model with it.

use std::io::Write;

use serde_json::json;

use super::super::args::SessionFlags;
use super::super::doctor::call::remedy;
use super::super::error::CliError;
use super::super::learn::{Ask, Learnt, is_here};
use super::super::setup::{self, Base};
use crate::model::{Calls, Clue, Model};
use crate::probe;

pub(super) fn run(model: Option<&String>, flags: &SessionFlags, as_json: bool) -> Result<i32, CliError> {
    let flags = SessionFlags { model: model.or(flags.model.as_ref()).cloned(), ..flags.clone() };
    let mut base = setup::base(&flags)?;
    // Where nobody chose a model it is the one that is loaded.
    let chosen = base.config.model.is_some() || base.config.model_provider.is_some();
    base.use_local(&SessionFlags { oss: flags.oss || !chosen, ..flags.clone() })?;
    let (model, provider) = base.chosen()?;
    if !provider.as_ref().is_some_and(is_here) {
        return Err(CliError::usage(format!("{} is not served on this machine", model.name))
            .hint("tack doctor --call asks a hosted model once"));
    }
    let learnt = base.learn(Ask::Anew, flags.timeout)?;
    if let Some(why) = &learnt.failed {
        return Err(CliError::failed(format!("the test could not be made: {why}")));
    }
    let (mut model, provider) = base.model()?;
    if !learnt.looked {
        let name = provider.map_or(model.provider, |provider| provider.name);
        return Err(CliError::failed(format!("{name} does not answer")).hint("tack doctor says more"));
    }
    let clue = provider.map(|provider| base.class_of_chosen(&provider, &model.name).1);
    let assumed = base.assume_window(&mut model).is_some();
    // What auto would take, also where another one is set.
    base.config.harness = None;
    base.config.models.clear();
    let harness = base.library.get(&base.library.pick(&model));
    let harness = harness.map_err(|error| CliError::usage(error.to_string()))?;
    let class = model.class;
    let (harness, _) = base.fit_window(&mut model, harness);
    let model = Model { class, ..model };
    let told = Told { base: &base, model: &model, clue, assumed, harness: harness.id(), learnt: &learnt };
    let mut out = std::io::stdout().lock();
    let shown = if as_json { format!("{}\n", told.json()) } else { told.text() };
    write!(out, "{shown}")?;
    Ok(0)
}

struct Told<'a> {
    base: &'a Base,
    model: &'a Model,
    clue: Option<Clue>,
    /// The window is nobody's word.
    assumed: bool,
    harness: &'a str,
    learnt: &'a Learnt,
}

impl Told<'_> {
    fn text(&self) -> String {
        let model = self.model;
        let clue = self.clue.map_or("", Clue::words);
        let window = match (model.window, self.assumed) {
            (Some(window), true) => format!("{window} tokens, assumed"),
            (Some(window), false) => format!("{window} tokens"),
            (None, _) => "not known".to_owned(),
        };
        let mut rows = vec![
            ("model", format!("{} at {}", model.name, model.provider)),
            ("class", format!("{}, {clue}", model.class.letter())),
            ("window", window),
            ("calls", probe::words(model.probed.as_ref())),
        ];
        if let Some(probed) = &model.probed {
            rows.push(("schema", if probed.schema { "held to" } else { "not held to" }.to_owned()));
            let field = probed.thinking.as_ref().map(|field| format!("comes in {field}"));
            rows.push(("reasoning", field.unwrap_or_else(|| "none came".to_owned())));
        }
        rows.push(("auto", format!("takes harness {}", self.harness)));
        if let Some(usage) = self.learnt.usage {
            rows.push(("spent", format!("{} tokens in, {} out", usage.input, usage.output)));
        }
        let mut text: String = rows.iter().map(|(name, what)| format!("{name:<10} {what}\n")).collect();
        if model.probed.as_ref().is_some_and(|probed| probed.calls == Calls::Text) {
            text += &format!("\n{}\n", remedy(self.base.found.as_ref()));
        }
        text
    }

    fn json(&self) -> serde_json::Value {
        let (model, usage) = (self.model, self.learnt.usage.unwrap_or_default());
        json!({
            "provider": model.provider, "model": model.name, "class": model.class.letter(),
            "class_by": self.clue.map(Clue::word), "window": model.window, "window_assumed": self.assumed,
            "probed": model.probed, "harness": self.harness, "input_tokens": usage.input,
            "output_tokens": usage.output,
        })
    }
}
