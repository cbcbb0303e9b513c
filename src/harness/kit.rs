//! A kit: everything that one harness needs for one class of model, ready for use.
//!
//! [`Loaded`] is the [`Harness`] that hands each question to the kit of the model's class.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::model::{
    Body, Calls, Class, Guards, Item, Limits, Model, Note, Outcome, Part, Reply, ToolCall, WireKind,
};
use crate::wire::prompt::{Free, Grammar, Prompt};

use super::check;
use super::external::Program;
use super::files::{COMMON, Files};
use super::layers::{Case, Chain, File, near};
use super::load::LoadError;
use super::manifest::{DialectKind, Manifest, Offer, Repeats};
pub(super) use super::names::{
    WRAP, absent_name, bad_call_name, error_name, fill_name, opening_name, result_name, status_name,
    wrap_name,
};
pub(super) use super::param::bare_schema;
use super::programs::{self, Programs};
use super::template::{BARE, FACTS, Origin, Texts, Values};
use super::tool::{Tool, Tools};
use super::{
    Carried, Compaction, Harness, Masked, Rules, Saying, Submitted, Verdict, View, dialect, facts, remind,
    render, tell,
};

/// A harness made from files.
pub struct Loaded {
    files: Files,
    chain: Chain,
    plain: Kit,
    /// The other kits, each made when it is first asked for: most sessions need one.
    kits: [OnceLock<Option<Box<Kit>>>; CASES],
}

/// Four classes or none that minds, three results of a probe or none that tells.
const CASES: usize = 5 * 4;

/// Where a kit's tables come from, for the places of errors.
pub(super) struct Source<'a> {
    pub chain: &'a Chain,
    pub case: Case,
}

impl Source<'_> {
    pub fn fault(&self, file: File, keys: &[&str], word: Option<&str>, what: String) -> LoadError {
        self.chain.fault((file, keys, word), self.case, what)
    }

    fn origin(&self, file: File, keys: &[&str]) -> Origin {
        let at = self.chain.place((file, keys, None), self.case);
        Origin { file: at.file, before: at.text.saturating_sub(1) }
    }
}

/// A text file that the manifest names.
struct NamedFile<'a> {
    file: &'a String,
    keys: Vec<String>,
    known: &'static [&'static [&'static str]],
}

pub(super) struct Kit {
    pub id: String,
    pub manifest: Manifest,
    pub tools: Tools,
    pub surface: u64,
    pub texts: Texts,
    /// Templates for fields of actions.
    pub fields: Texts,
    /// Folder of the program of each tool that runs one.
    pub programs: Programs,
    pub shows: Shows,
    /// The harness's own text files as they are, for `file()`.
    pub files: Arc<BTreeMap<String, String>>,
    /// What of a template's facts never changes: made once, as every result and request asks for it.
    bare: Values,
}

/// What the templates of a prompt show; what they do not and is asked for stands beside them.
#[derive(Clone, Copy, Default)]
pub(super) struct Shows {
    /// How calls are said where they are text: it asks what `offer` is.
    pub offer: bool,
    pub facts: bool,
}

impl Loaded {
    pub(super) fn new(files: Files, chain: Chain) -> Result<Self, LoadError> {
        let plain = Kit::new(&files, &chain, Case::default())?;
        Ok(Self { files, chain, plain, kits: [const { OnceLock::new() }; CASES] })
    }

    /// The same, with the kit of this model made, so that what is wrong in its tables is found.
    pub(super) fn ready(self, model: &Model) -> Result<Self, LoadError> {
        let case = self.case(model);
        if case != Case::default() {
            let kit = Kit::new(&self.files, &self.chain, case)?;
            self.kits[place(case)].get_or_init(|| Some(Box::new(kit)));
        }
        Ok(self)
    }

    pub(super) fn program(&self) -> Option<Program> {
        self.chain.program().cloned()
    }

    /// What the tables of this harness can tell of the model.
    fn case(&self, model: &Model) -> Case {
        let calls = model.probed.as_ref().map(|probed| probed.calls);
        Case {
            class: Some(model.class).filter(|class| self.chain.minds(*class)),
            calls: calls.filter(|calls| self.chain.tells(*calls)),
        }
    }

    /// The kit for a model. Where its tables are broken, the one for any: who chose the model was told
    /// so if the harness was asked for with it, and a session in which it is changed goes on.
    pub(super) fn kit(&self, model: &Model) -> &Kit {
        let case = self.case(model);
        if case == Case::default() {
            return &self.plain;
        }
        let make = || match Kit::new(&self.files, &self.chain, case) {
            Ok(kit) => Some(Box::new(kit)),
            Err(e) => {
                tracing::warn!("{}: {e}", self.plain.id);
                None
            }
        };
        self.kits[place(case)].get_or_init(make).as_deref().unwrap_or(&self.plain)
    }
}

fn place(case: Case) -> usize {
    let class = match case.class {
        None => 0,
        Some(Class::S) => 1,
        Some(Class::M) => 2,
        Some(Class::L) => 3,
        Some(Class::F) => 4,
    };
    let calls = match case.calls {
        None => 0,
        Some(Calls::Wire) => 1,
        Some(Calls::Text) => 2,
        Some(Calls::None) => 3,
    };
    class * 4 + calls
}

impl Kit {
    /// What a folder has a part in is tried before it is used; the binary's own are, by tests.
    fn new(files: &Files, chain: &Chain, case: Case) -> Result<Self, LoadError> {
        let mut faults = Vec::new();
        let kit = Self::make(files, chain, case, &mut faults);
        let ids = chain.ids();
        let is_built_in = ids.iter().map(String::as_str).chain([COMMON]).all(|id| files.own(id).is_empty());
        if let Some(kit) = &kit
            && faults.is_empty()
            && !is_built_in
        {
            check::try_out(kit, &Source { chain, case }, &mut faults);
        }
        match (faults.into_iter().next(), kit) {
            (None, Some(kit)) => Ok(kit),
            (Some(fault), _) => Err(fault),
            (None, None) => unreachable!("a kit that is not made has a fault"),
        }
    }

    /// Goes on after a fault as far as that makes sense. Where no kit comes of it, there is a fault.
    pub fn make(files: &Files, chain: &Chain, case: Case, faults: &mut Vec<LoadError>) -> Option<Self> {
        let (manifest, tools) = chain.merge(case, faults)?;
        let surface = surface(&manifest, &tools);
        let programs = programs::of(files, &tools, &Source { chain, case }, faults);
        let (own, paths) = own_texts(files, chain).map_err(|fault| faults.push(fault)).ok()?;
        let bare = Values::of_tools(&manifest.id, &tools).with("offer", manifest.dialect.offer);
        let mut kit = Self {
            id: manifest.id.clone(),
            manifest,
            tools,
            surface,
            texts: Texts::new(),
            fields: Texts::for_fields(),
            programs,
            shows: Shows::default(),
            files: Arc::new(own),
            bare,
        };
        let source = Source { chain, case };
        check::tables(&kit, &source, faults);
        kit.add_common(files, faults);
        kit.add_inline(&source, faults);
        kit.add_fills(&source, faults);
        kit.add_files(&source, &paths, faults);
        kit.shows = Shows { offer: kit.shows("offer"), facts: kit.shows("facts") };
        Some(kit)
    }

    /// Whether a template of a prompt has this in it.
    fn shows(&self, fact: &str) -> bool {
        let (system, user) = (&self.manifest.system, &self.manifest.user);
        let files = system.blocks.iter().chain(&system.append).chain(&user.first).chain(&user.each);
        let files = files.chain(user.more.iter().map(|more| &more.file)).cloned();
        let openings = self.manifest.opening.iter().enumerate();
        let openings = openings.map(|(at, opening)| opening.file.clone().unwrap_or_else(|| opening_name(at)));
        files.chain(openings).any(|name| self.texts.reads(&name, fact))
    }

    fn add_common(&mut self, files: &Files, faults: &mut Vec<LoadError>) {
        let names = files.texts(COMMON).unwrap_or_else(|fault| {
            faults.push(fault);
            Default::default()
        });
        for name in names {
            let known: &[&[&str]] = match name.as_str() {
                "facts.md" => &[FACTS, &facts::NAMES],
                "masked.md" => &[BARE, &render::MASKED],
                _ => &[BARE, SAYING],
            };
            let added = files.read(COMMON, &name).and_then(|found| match found {
                Some(found) => {
                    let origin = Origin::file(&found.path);
                    self.texts.add(&format!("{COMMON}/{name}"), &found.text, known, origin)
                }
                None => Ok(()),
            });
            faults.extend(added.err());
        }
    }

    /// Templates that stand in the tables themselves.
    fn add_inline(&mut self, source: &Source<'_>, faults: &mut Vec<LoadError>) {
        let (manifest, texts) = (&self.manifest, &mut self.texts);
        let mut add = |name: &str, text: &str, known: &[&[&str]], at: (File, &[&str])| {
            faults.extend(texts.add(name, text, known, source.origin(at.0, at.1)).err());
        };
        for (name, tool) in self.tools.iter() {
            if let Some(text) = &tool.result {
                add(&result_name(name), text, &[FACTS, SAYING], (File::Tools, &[name, "result"]));
            }
            if let Some(text) = &tool.status {
                add(&status_name(name), text, &[FACTS, SAYING], (File::Tools, &[name, "status"]));
            }
        }
        for (name, text) in manifest.errors.iter() {
            if let Some(text) = text {
                add(&error_name(name), text, &[BARE, SAYING], (File::Manifest, &["errors", name]));
            }
        }
        for (which, bad) in manifest.messages.bad_calls() {
            let keys = ["messages", which, "args"];
            add(&bad_call_name(which), &bad.args, &[BARE, SAYING], (File::Manifest, &keys));
        }
        for (name, hint) in manifest.absent.iter() {
            add(&absent_name(name), hint, &[BARE], (File::Manifest, &["absent", name]));
        }
        for (at, opening) in manifest.opening.iter().enumerate() {
            if let Some(text) = &opening.text {
                let keys = ["opening", &at.to_string(), "text"];
                add(&opening_name(at), text, &[FACTS], (File::Manifest, &keys));
            }
        }
        if let Some(text) = &manifest.notes.wrap {
            add(WRAP, text, &[FACTS, &["text", "kind"]], (File::Manifest, &["notes", "wrap"]));
        }
        for (at, reminder) in manifest.reminder.iter().enumerate() {
            if let Some(text) = &reminder.wrap {
                let keys = ["reminder", &at.to_string(), "wrap"];
                add(&wrap_name(at), text, &[FACTS, &["text"]], (File::Manifest, &keys));
            }
        }
    }

    /// Templates over the parameters of a call.
    fn add_fills(&mut self, source: &Source<'_>, faults: &mut Vec<LoadError>) {
        for (name, tool) in self.tools.iter() {
            let known: Vec<&str> = tool.params.names().chain(["args"]).collect();
            let own =
                tool.when.iter().flat_map(|(word, v)| v.fill.iter().map(move |fill| (Some(word), fill)));
            for (word, (field, text)) in tool.fill.iter().map(|fill| (None, fill)).chain(own) {
                let keys: Vec<&str> = match word {
                    Some(word) => vec![name, "when", word, "fill", field],
                    None => vec![name, "fill", field],
                };
                if field == "command" && super::bind::has_loose_hole(text) {
                    let what = format!(
                        "`{name}` fills `command` within quotes, a here-document or a comment; leave those out, as \
                         what is filled in is quoted anyway"
                    );
                    faults.push(source.fault(File::Tools, &keys, None, what));
                    continue;
                }
                let origin = source.origin(File::Tools, &keys);
                faults.extend(self.fields.add(&fill_name(name, word, field), text, &[&known], origin).err());
            }
        }
    }

    /// Text files that the manifest names, with the keys that name them and what their templates know.
    fn named_files(&self) -> Vec<NamedFile<'_>> {
        let m = &self.manifest;
        let facts: &[&[&str]] = &[FACTS];
        let mut named = Vec::new();
        let mut add = |file, keys: &[&str], known| {
            named.push(NamedFile { file, keys: keys.iter().map(|&key| key.to_owned()).collect(), known });
        };
        m.system.blocks.iter().for_each(|file| add(file, &["system", "blocks"], facts));
        m.system.append.iter().for_each(|file| add(file, &["system", "append"], facts));
        for (at, opening) in m.opening.iter().enumerate() {
            opening.file.iter().for_each(|file| add(file, &["opening", &at.to_string(), "file"], facts));
        }
        for (at, reminder) in m.reminder.iter().enumerate() {
            add(&reminder.file, &["reminder", &at.to_string(), "file"], facts);
        }
        for (at, more) in m.user.more.iter().enumerate() {
            add(&more.file, &["user", "more", &at.to_string(), "file"], facts);
        }
        let said: &[&[&str]] = &[FACTS, &["text"]];
        m.user.first.iter().for_each(|file| add(file, &["user", "first"], said));
        m.user.each.iter().for_each(|file| add(file, &["user", "each"], said));
        let replies: &[&[&str]] = &[FACTS, SAYING];
        m.turn.retry.iter().for_each(|file| add(file, &["loop", "retry"], replies));
        m.submit.confirm.iter().for_each(|file| add(file, &["submit", "confirm"], replies));
        m.dialect.frame.iter().for_each(|file| add(file, &["dialect", "frame"], replies));
        let loops: &[&[&str]] = &[BARE, SAYING];
        m.compact.files().for_each(|(key, file)| add(file, &["compact", key], loops));
        named
    }

    /// Templates that the manifest names by file.
    fn add_files(
        &mut self,
        source: &Source<'_>,
        paths: &BTreeMap<String, String>,
        faults: &mut Vec<LoadError>,
    ) {
        let mut texts = std::mem::replace(&mut self.texts, Texts::new());
        for NamedFile { file, keys, known } in self.named_files() {
            let Some(text) = self.files.get(file) else {
                let near = near(file, self.files.keys().map(String::as_str));
                let what = format!("names the file `{file}`, which the harness does not have{near}");
                let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
                faults.push(source.fault(File::Manifest, &keys, Some(file), what));
                continue;
            };
            faults.extend(texts.add(file, text, known, Origin::file(&paths[file])).err());
        }
        self.texts = texts;
    }

    /// The tool's input as free text, with the grammar's definition read from its file.
    pub fn free(&self, tool: &Tool) -> Option<Free> {
        let field = tool.free.clone()?;
        let grammar = tool.grammar.as_ref().and_then(|grammar| {
            let definition = self.files.get(&grammar.file)?.clone();
            Some(Grammar { syntax: grammar.syntax.clone(), definition })
        });
        Some(Free { field, grammar })
    }

    /// Facts for a template in a session.
    pub fn values(&self, view: &View<'_>) -> Values {
        let context = &self.manifest.context;
        let values = self
            .bare_values()
            .add_scene(view.scene, &self.files)
            .add_instructions(&facts::instructions(&view.scene.instructions, context.instructions))
            .add_model(view.model);
        let facts = facts::text(self, view.scene, &values, context.facts);
        let values = values.with("facts", facts);
        let alone = view.scene.unattended.then(|| self.say(&Saying::Unattended));
        values.with("unattended", alone).with("first_prompt", first_prompt(view.items))
    }

    /// Facts for a template that belongs to no request.
    pub fn bare_values(&self) -> Values {
        self.bare.clone()
    }

    pub fn render(&self, name: &str, values: &Values) -> anyhow::Result<String> {
        self.texts.render(name, values)
    }

    /// A text every harness has: the manifest's own under `[errors]`, else the common one. These
    /// speak of the loop's troubles, so a template that fails is left bare rather than the session.
    pub fn common(&self, name: &str, values: &Values) -> String {
        let own = error_name(name);
        let name = if self.texts.has(&own) { own } else { format!("{COMMON}/{name}.md") };
        self.texts.render(&name, values).unwrap_or_else(|e| {
            tracing::warn!("{}: {e:#}", self.id);
            name
        })
    }

    /// What to use instead of a tool that is not offered.
    pub fn absent_hint(&self, name: &str) -> String {
        self.texts.render(&absent_name(name), &self.bare).unwrap_or_else(|e| {
            tracing::warn!("{}: {e:#}", self.id);
            String::new()
        })
    }

    pub fn tool(&self, name: &str) -> Option<(&str, &Tool)> {
        self.tools.iter().find(|(known, _)| *known == name)
    }

    fn rules(&self) -> Rules {
        let (turn, timeouts) = (&self.manifest.turn, &self.manifest.timeouts);
        let (edit, read) = (&self.manifest.edit, &self.manifest.read);
        let (check, context, compact) =
            (&self.manifest.check, &self.manifest.context, &self.manifest.compact);
        let set = |limit: u64| (limit > 0).then_some(limit);
        Rules {
            guards: Guards {
                parse: edit.parse,
                keep_names: edit.keep_names,
                seen: edit.seen,
                whole: set(edit.whole),
                window: set(read.window),
                once: read.once,
                keep_from_shell: edit.keep_from_shell,
                root_is_here: edit.root_is_here,
                safe_names: edit.safe_names,
                most: set(read.most),
            },
            shell: self.manifest.shell.rules(),
            reads: turn.reads,
            timeouts: turn.timeouts.filter(|most| *most > 0),
            check_rounds: check.rounds,
            check_limit: check.limit.saturating_mul(1000),
            compact_at: set(context.tokens),
            compaction: Compaction {
                strategy: compact.strategy,
                show: compact.show,
                at: compact.at.map(|at| at.clamp(1, 100)),
                reserve: set(compact.reserve),
                most: set(compact.most),
                keep: compact.keep,
            },
            named: set(context.named),
            facts: context.facts > 0 || check.rounds > 0,
            retries: turn.retries,
            parallel: turn.parallel,
            refuse_repeats: turn.repeats == Repeats::Refused,
            steps: turn.steps,
            shell_timeout: timeouts.shell.saturating_mul(1000),
            shell_timeout_most: timeouts.shell_most.max(timeouts.shell).saturating_mul(1000),
        }
    }

    pub fn say(&self, saying: &Saying<'_>) -> String {
        let values = saying.values(self.bare_values());
        let own = saying.own(&self.manifest.compact);
        let own = own.and_then(|file| self.texts.render(file, &values).ok());
        own.unwrap_or_else(|| self.common(saying.name(), &values))
    }
}

#[async_trait]
impl Harness for Loaded {
    fn id(&self) -> &str {
        &self.plain.id
    }

    fn wires(&self) -> &[WireKind] {
        &self.plain.manifest.wire.allow
    }

    fn surface(&self, model: &Model) -> u64 {
        self.kit(model).surface
    }

    fn rules(&self, model: &Model) -> Rules {
        self.kit(model).rules()
    }

    async fn prompt(&self, view: &View<'_>) -> anyhow::Result<Prompt> {
        render::prompt(self.kit(view.model), view)
    }

    fn masked(&self, view: &View<'_>) -> Masked {
        render::masked(self.kit(view.model), view)
    }

    fn carried(&self, view: &View<'_>) -> Option<Carried> {
        render::carried(self.kit(view.model), view).ok()
    }

    async fn interpret(&self, reply: &mut Reply, view: &View<'_>) -> anyhow::Result<Verdict> {
        dialect::interpret(self.kit(view.model), reply, view)
    }

    fn limits(&self, call: &ToolCall, model: &Model) -> Limits {
        tell::limits(self.kit(model), call)
    }

    fn needs_read(&self, call: &ToolCall) -> bool {
        tell::needs_read(&self.plain, call)
    }

    async fn tell(&self, call: &ToolCall, outcome: &Outcome, view: &View<'_>) -> anyhow::Result<Vec<Part>> {
        Ok(tell::tell(self.kit(view.model), call, outcome, view))
    }

    async fn submitted(
        &self,
        call: &ToolCall,
        outcome: &Outcome,
        view: &View<'_>,
    ) -> anyhow::Result<Submitted> {
        tell::submitted(self.kit(view.model), call, outcome, view)
    }

    async fn notes(&self, view: &View<'_>) -> anyhow::Result<Vec<Note>> {
        remind::due(self.kit(view.model), view)
    }

    fn say(&self, saying: &Saying<'_>) -> String {
        self.plain.say(saying)
    }
}

/// What texts about a call, a result or the loop may use besides the facts.
#[rustfmt::skip]
pub(super) const SAYING: &[&str] = &[
    "text", "out", "action", "args", "name", "names", "closest", "param", "wanted", "got", "missing",
    "problem", "example", "usage", "found", "why", "times", "left", "summary", "request", "diff", "shown",
    "count", "command", "exit", "tail", "focus", "schema", "first", "files", "before", "call", "output_file", "output",
    "messages", "prompt", "questions", "answers", "problems", "extra", "hint", "got_type", "fault", "around",
    "reason", "mode", "to", "was",
];

/// The session's first prompt, which stays the first whatever follows.
fn first_prompt(items: &[Item]) -> &str {
    let said = items.iter().find_map(|item| match &item.body {
        Body::User(said) => Some(said.text.as_str()),
        _ => None,
    });
    said.unwrap_or_default()
}

pub(super) type Named = BTreeMap<String, String>;

/// The chain's text files by name, and where each was found.
pub(super) fn own_texts(files: &Files, chain: &Chain) -> Result<(Named, Named), LoadError> {
    let (mut texts, mut paths) = (Named::new(), Named::new());
    for id in chain.ids() {
        for name in files.texts(&id)? {
            if !texts.contains_key(&name)
                && let Some(found) = files.read(&id, &name)?
            {
                paths.insert(name.clone(), found.path);
                texts.insert(name, found.text);
            }
        }
    }
    Ok((texts, paths))
}

/// The first 8 bytes of a SHA-256, so that it is the same in every build: sessions store it.
fn surface(manifest: &Manifest, tools: &Tools) -> u64 {
    let tool = |(name, tool): (&str, &Tool)| match (&tool.free, tool.on_wire()) {
        (_, false) => json!([name, "text"]),
        (Some(field), true) => json!([name, bare_schema(tool.schema()), field]),
        (None, true) => json!([name, bare_schema(tool.schema())]),
    };
    let tools: Vec<Value> = tools.iter().map(tool).collect();
    let dialect = &manifest.dialect;
    let mut seen = json!([tools, dialect.kind, dialect.bare, dialect.labels, dialect.tags]);
    if let (DialectKind::Json, Value::Array(seen)) = (dialect.kind, &mut seen) {
        seen.push(json!([dialect.says, dialect.calls, dialect.done]));
    }
    // Sessions of before there was a choice keep their surface.
    if let (Offer::Prompt, Value::Array(seen)) = (dialect.offer, &mut seen) {
        seen.push(json!(dialect.offer));
    }
    let hash = Sha256::digest(seen.to_string());
    u64::from_be_bytes(hash[..8].try_into().expect("a SHA-256 has 32 bytes"))
}
