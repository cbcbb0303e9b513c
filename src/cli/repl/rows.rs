//! What the pickers list: harnesses with their fit, models, sessions.

use super::super::local::running;
use super::super::setup::{Base, is_free};
use crate::config;
use crate::model::Model;
use crate::tui::host::{Fit, HarnessRow, ModelRow, Reach, SessionRow};
use crate::wire::catalog;
use crate::wire::local::{Kind, State};
use crate::wire::provider::builtin;

/// Sessions in a list.
const SESSIONS: usize = 200;
/// A surface is too much for a window of fewer than so many of it.
const WEAK: usize = 4;

/// All harnesses, and how each would speak to this model.
pub(super) fn harnesses(base: &Base, model: &Model) -> Vec<HarnessRow> {
    let offered = config::resolve(&base.config, &model.provider, &base.env, &base.dirs)
        .map(|provider| provider.wires())
        .unwrap_or_else(|_| vec![model.wire]);
    let auto = base.library.pick(model);
    let row = |id: String| {
        let (harness, sample) = match (base.library.fit(&id, model), base.library.sample(&id, model)) {
            (Ok(harness), Ok(sample)) => (harness, sample),
            (Err(fault), _) | (_, Err(fault)) => {
                let fit = Fit::Cannot(fault.to_string());
                let summary = String::new();
                return HarnessRow { id, fit, tools: 0, tokens: 0, summary, auto: false, about: Vec::new() };
            }
        };
        let spoken = harness.wires();
        let names = |wires: &[crate::model::WireKind]| {
            wires.iter().map(|wire| wire.name()).collect::<Vec<_>>().join(", ")
        };
        let (listing, tools) = (sample.listing, sample.prompt.tools);
        let fit = match () {
            () if !spoken.iter().any(|wire| offered.contains(wire)) => {
                Fit::Cannot(format!("needs the {} wire; provider offers: {}", names(spoken), names(&offered)))
            }
            () if model.window.is_some_and(|window| (listing.tokens * WEAK) as u64 > window) => Fit::Weak,
            () if id == auto => Fit::Fits,
            () => Fit::Works,
        };
        let mut about = Vec::new();
        let given: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        about.push(match given.is_empty() {
            true => "calls stand in its text; no tools are offered over the wire".to_owned(),
            false => given.join(" "),
        });
        about.extend(listing.mirrors.as_ref().map(|mirrors| format!("follows {mirrors}")));
        about.extend(listing.extends.as_ref().map(|base| format!("extends {base}")));
        about.extend(listing.from.as_ref().map(|folder| format!("files: {}", folder.join(&id).display())));
        HarnessRow {
            auto: id == auto,
            id,
            fit,
            tools: tools.len(),
            tokens: listing.tokens,
            summary: listing.summary,
            about,
        }
    };
    base.library.ids().into_iter().map(row).collect()
}

/// Models of this machine's servers, then those that tack knows of providers whose key is there. A
/// provider without a key has one row without a name.
///
/// A server of the person's own is asked for its list where it is on this machine, where a model is set up, and
/// where it was `asked` before: at the first start nothing is sent that nobody caused.
pub(super) fn models(base: &Base, asked: &[String]) -> Vec<ModelRow> {
    let mut rows = Vec::new();
    let tried = base.look(&Kind::ALL).unwrap_or_default();
    for server in running(&tried) {
        let provider = server.kind.id().to_owned();
        for found in &server.models {
            let remark = match (found.loaded, server.state == State::Loading) {
                (_, true) => "loading",
                (true, false) => "loaded",
                (false, false) => "",
            };
            rows.push(ModelRow {
                provider: provider.clone(),
                name: found.name.clone(),
                window: found.window.or(found.trained),
                vision: found.vision,
                tools: found.tools,
                prices: None,
                local: true,
                remark: remark.to_owned(),
            });
        }
    }
    let here: Vec<String> = rows.iter().map(|row| row.provider.clone()).collect();
    for id in config::known(&base.config) {
        let Ok(provider) = config::resolve(&base.config, &id, &base.env, &base.dirs) else { continue };
        if here.contains(&id) || (provider.local && Kind::ALL.iter().any(|kind| kind.id() == id)) {
            continue;
        }
        let has_key = base.key_state(&provider).is_ok_and(|state| state.is_there());
        if !has_key {
            rows.push(row(base, &id, ""));
            continue;
        }
        let mut names: Vec<String> = catalog::models(&id).map(str::to_owned).collect();
        // A service of the user's own has the model that the settings name.
        let set = base.config.model.clone().filter(|_| base.config.model_provider.as_ref() == Some(&id));
        // Of a server of the user's own nothing else is known than what it lists.
        let may_ask = provider.local || asked.contains(&id) || base.chosen().is_ok();
        if names.is_empty() && builtin(&id).is_none() && may_ask {
            names = super::super::providers::test::names(base, &id);
        }
        let unknown = set.filter(|name| !names.contains(name));
        names.extend(unknown);
        let local = provider.local && is_free(&provider);
        rows.extend(names.iter().map(|name| ModelRow { local, ..row(base, &id, name) }));
    }
    // Those that can be used come first.
    rows.sort_by_key(|row| (row.name.is_empty(), !row.local));
    rows
}

fn row(base: &Base, provider: &str, name: &str) -> ModelRow {
    let facts = catalog::facts(provider, name);
    let prices = base.config.prices.get(&format!("{provider}/{name}")).copied().or(facts.prices);
    ModelRow {
        provider: provider.to_owned(),
        name: name.to_owned(),
        window: facts.window,
        vision: facts.vision,
        tools: None,
        prices,
        local: false,
        remark: if name.is_empty() { format!("no key: tack login {provider}") } else { String::new() },
    }
}

pub(super) fn sessions(base: &Base, reach: Reach) -> Vec<SessionRow> {
    let Some(sessions) = base.sessions() else { return Vec::new() };
    let here = base.cwd.to_string_lossy();
    let now = jiff::Timestamp::now();
    // One in which nothing was said is nothing to go back to.
    let fits = |one: &crate::store::Summary| one.turns > 0 && (reach == Reach::All || one.cwd == here);
    let row = |one: crate::store::Summary| SessionRow {
        id: one.id.to_string(),
        folder: one.cwd,
        title: if one.title.is_empty() { "(nothing was said)".to_owned() } else { one.title },
        age: u64::try_from(now.duration_since(one.updated).as_secs()).unwrap_or(0),
        turns: one.turns as usize,
        speaks: String::new(),
    };
    sessions.list().into_iter().filter(fits).take(SESSIONS).map(row).collect()
}
