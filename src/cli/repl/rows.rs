//! What the pickers list: harnesses with their fit, models, sessions.

use super::super::choice::Named;
use super::super::keys::KeyState;
use super::super::local::running;
use super::super::setup::Base;
use crate::config;
use crate::harness::{self, Claimants, Pick, Sample};
use crate::model::{Model, WireKind};
use crate::tui::host::{Because, Fit, HarnessRow, ModelRow, Reach, SessionRow, Sheet};
use crate::wire::catalog;
use crate::wire::local::{Found, Kind, State};
use crate::wire::prompt::Prompt;

/// Sessions in a list.
const SESSIONS: usize = 200;
/// A surface is too much for a window of fewer than so many of it.
const WEAK: usize = 4;

/// All harnesses, and how each would speak to this model.
pub(super) fn harnesses(base: &Base, model: &Model) -> Vec<HarnessRow> {
    let offered = config::resolve(&base.config, &model.provider, &base.env, &base.dirs)
        .map(|provider| provider.wires())
        .unwrap_or_else(|_| vec![model.wire]);
    let pick = base.library.claimants().pick(model);
    // As if nobody had named one for this run.
    let mut open = base.clone();
    open.config.harness = None;
    let usual = match open.named(model) {
        Named::Here(id) | Named::Usual(id, _) => id,
        Named::Nobody => pick.id.clone(),
    };
    let row = |id: String| {
        let auto = (id == usual).then(|| open.because(model, &id));
        let (harness, sample) = match (base.library.fit(&id, model), base.library.sample(&id, model)) {
            (Ok(harness), Ok(sample)) => (harness, sample),
            (Err(fault), _) | (_, Err(fault)) => {
                let (fit, summary) = (Fit::Cannot(fault.to_string()), String::new());
                return HarnessRow { id, fit, tools: 0, tokens: 0, summary, auto, sheet: Sheet::default() };
            }
        };
        let (spoken, tokens) = (harness.wires(), sample.listing.tokens);
        let fit = match () {
            () if !spoken.iter().any(|wire| offered.contains(wire)) => Fit::Cannot(format!(
                "needs the {} wire · provider offers: {}",
                names(spoken),
                names(&offered)
            )),
            () if model.window.is_some_and(|window| (tokens * WEAK) as u64 > window) => Fit::Weak,
            // What nobody claims gets one that suits any model: that is no proof that it suits this one.
            () if id == pick.id && pick.by.is_some() => Fit::Fits,
            () => Fit::Works,
        };
        let sheet = sheet(&sample, spoken);
        let (tools, summary) = (sheet.tools.len(), sample.listing.summary);
        HarnessRow { auto, id, fit, tools, tokens, summary, sheet }
    };
    base.library.ids().into_iter().map(row).collect()
}

fn names(wires: &[WireKind]) -> String {
    wires.iter().map(|wire| wire.name()).collect::<Vec<_>>().join(", ")
}

/// What sets a harness apart, in words.
fn sheet(sample: &Sample, spoken: &[WireKind]) -> Sheet {
    let Sample { prompt, listing, traits } = sample;
    let bare = harness::tokens(&Prompt { tools: Vec::new(), ..prompt.clone() });
    let mut edits: Vec<&str> = Vec::new();
    for word in traits.edits.iter().filter_map(|kind| edit_word(kind)) {
        if !edits.contains(&word) {
            edits.push(word);
        }
    }
    let thinking = match traits.echo.as_str() {
        "none" => "not sent back".to_owned(),
        "arrived" => "sent back as it came".to_owned(),
        field => format!("sent back in {field}"),
    };
    let calls = if traits.text { ", calls as text" } else { "" };
    let (bytes, lines) = traits.output;
    let source = match (&listing.mirrors, &listing.extends) {
        (Some(client), _) => format!("{client} · {}", listing.mirrored.as_deref().unwrap_or("date ?")),
        (None, Some(from)) => format!("made from {from}"),
        (None, None) => "its own".to_owned(),
    };
    Sheet {
        prompt: bare,
        tools: traits.tools.clone(),
        edits: if edits.is_empty() { "by commands".to_owned() } else { edits.join(", ") },
        parallel: traits.parallel,
        thinking,
        wires: format!("{}{calls}", names(spoken)),
        output: format!("{} KB, {lines} lines", bytes / 1000),
        source,
        files: listing.from.as_ref().map(|folder| folder.join(&listing.id).display().to_string()),
    }
}

/// How a kind of action changes a file. None: that is beside the point.
fn edit_word(kind: &str) -> Option<&'static str> {
    match kind {
        "edit" => Some("old and new text"),
        "patch" => Some("patches"),
        "diff" => Some("unified diffs"),
        "rewrite" | "write" => Some("whole files"),
        "insert" => Some("lines inserted"),
        _ => None,
    }
}

/// Models of this machine's servers, then those that tack knows of providers whose key is there. A
/// provider without a key has one row without a name.
pub(super) fn models(base: &Base) -> Vec<ModelRow> {
    let lines = Lines { base, claimants: base.library.claimants() };
    let mut rows = Vec::new();
    let tried = base.look(&Kind::ALL).unwrap_or_default();
    for server in running(&tried) {
        for found in &server.models {
            let remark = match (found.loaded, server.state == State::Loading) {
                (_, true) => "loading",
                (true, false) => "loaded",
                (false, false) => "",
            };
            let known = Known { provider: server.kind.id(), found: Some(found), key: &KeyState::NotNeeded };
            let row = lines.row(&known, &found.name);
            rows.push(ModelRow { remark: remark.to_owned(), key: "local".to_owned(), local: true, ..row });
        }
    }
    let here: Vec<String> = rows.iter().map(|row| row.provider.clone()).collect();
    for id in config::known(&base.config) {
        let Ok(provider) = config::resolve(&base.config, &id, &base.env, &base.dirs) else { continue };
        if here.contains(&id) || (provider.local && Kind::ALL.iter().any(|kind| kind.id() == id)) {
            continue;
        }
        let key = base.key_state(&provider).unwrap_or(KeyState::Missing);
        let known = Known { provider: &id, found: None, key: &key };
        if !key.is_there() {
            let row = lines.row(&known, "");
            rows.push(ModelRow { key_from: key.text(&provider), harness: None, ..row });
            continue;
        }
        let mut names: Vec<String> = catalog::models(&id).map(str::to_owned).collect();
        // A service of the user's own has the model that the settings name.
        let set = base.config.model.clone().filter(|_| base.config.model_provider.as_ref() == Some(&id));
        names.extend(set.filter(|name| !catalog::models(&id).any(|known| known == name)));
        let from = key.text(&provider);
        rows.extend(names.iter().map(|name| ModelRow { key_from: from.clone(), ..lines.row(&known, name) }));
    }
    // Those that can be used come first.
    rows.sort_by_key(|row| (row.name.is_empty(), !row.local));
    rows
}

/// Makes rows of models.
struct Lines<'a> {
    base: &'a Base,
    claimants: Claimants,
}

/// What is known beside its name.
struct Known<'a> {
    provider: &'a str,
    found: Option<&'a Found>,
    key: &'a KeyState,
}

impl Lines<'_> {
    fn row(&self, known: &Known<'_>, name: &str) -> ModelRow {
        let (provider, found) = (known.provider, known.found);
        let facts = catalog::facts(provider, name);
        let set = self.base.config.prices.get(&format!("{provider}/{name}")).copied();
        let priced = match (set, facts.prices) {
            (Some(_), _) => "[prices] in your settings".to_owned(),
            (None, Some(_)) => format!("table of {}", catalog::as_of()),
            (None, None) => String::new(),
        };
        let key = match known.key {
            KeyState::Missing => "no key",
            KeyState::NotNeeded => "no key needed",
            KeyState::Variable(_) | KeyState::Stored(_) | KeyState::Command => "key OK",
        };
        ModelRow {
            provider: provider.to_owned(),
            name: name.to_owned(),
            window: found.and_then(|found| found.window.or(found.trained)).or(facts.window),
            vision: found.and_then(|found| found.vision).or(facts.vision),
            tools: found.and_then(|found| found.tools),
            max_output: facts.max_output,
            prices: set.or(facts.prices),
            priced,
            local: false,
            remark: String::new(),
            key: key.to_owned(),
            key_from: String::new(),
            harness: self.harness(known, name),
        }
    }

    /// Who would speak for the model if nobody named a harness, and why.
    fn harness(&self, known: &Known<'_>, name: &str) -> Option<(String, Because)> {
        let base = self.base;
        let provider = config::resolve(&base.config, known.provider, &base.env, &base.dirs).ok()?;
        let model = Model {
            provider: known.provider.to_owned(),
            name: name.to_owned(),
            class: base.class(&provider, name, known.found).0,
            local: provider.local,
            ..harness::sample_model()
        };
        Some(match base.named(&model) {
            Named::Usual(id, because) => (id, because),
            Named::Here(_) | Named::Nobody => {
                let Pick { id, by } = self.claimants.pick(&model);
                (id, by.map_or(Because::Unclaimed, Because::Claims))
            }
        })
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
        branch: one.branch.unwrap_or_default(),
        speaks: one.origin.map(|of| format!("{} · {}", of.model, of.harness)).unwrap_or_default(),
    };
    sessions.list().into_iter().filter(fits).take(SESSIONS).map(row).collect()
}
