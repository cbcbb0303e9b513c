//! A kit: everything that one harness needs for one class of model, ready for use.
//!
//! [`Loaded`] is the [`Harness`] that hands each question to the kit of the model's class.

use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::model::{Calls, Class, Guards, Limits, Model, Note, Outcome, Part, Reply, ToolCall, WireKind};
use crate::wire::prompt::{Free, Grammar, Prompt};

use super::external::Program;
use super::files::{COMMON, Files};
use super::layers::{Case, Chain};
use super::load::LoadError;
use super::manifest::{DialectKind, Manifest, Offer, Repeats};
pub(super) use super::names::{
    WRAP, absent_name, bad_call_name, error_name, fill_name, opening_name, result_name, status_name,
    wrap_name,
};
pub(super) use super::param::bare_schema;
use super::programs::{self, Programs};
use super::template::{BARE, FACTS, Texts, Values};
use super::tool::{Tool, Tools};
use super::{
    Compaction, Harness, Masked, Rules, Saying, Submitted, Verdict, View, dialect, facts, remind, render,
    tell,
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

pub(super) struct Kit {
    pub id: String,
    pub manifest: Manifest,
    pub tools: Tools,
    pub surface: u64,
    texts: Texts,
    /// Templates for fields of actions.
    pub fields: Texts,
    /// Folder of the program of each tool that runs one.
    pub programs: Programs,
    /// The harness's own text files as they are, for `file()`.
    files: Arc<BTreeMap<String, String>>,
    /// What of a template's facts never changes: made once, as every result and request asks for it.
    bare: Values,
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

    /// Makes every kit there can be.
    pub(super) fn check(&self) -> Result<(), LoadError> {
        let classes = [None, Some(Class::S), Some(Class::M), Some(Class::L), Some(Class::F)];
        for class in classes.into_iter().filter(|class| class.is_none_or(|class| self.chain.minds(class))) {
            let calls = [None, Some(Calls::Wire), Some(Calls::Text), Some(Calls::None)];
            for calls in calls.into_iter().filter(|calls| calls.is_none_or(|calls| self.chain.tells(calls))) {
                Kit::new(&self.files, &self.chain, Case { class, calls })?;
            }
        }
        Ok(())
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
    fn new(files: &Files, chain: &Chain, case: Case) -> Result<Self, LoadError> {
        let (manifest, tools) = chain.merge(case)?;
        let surface = surface(&manifest, &tools);
        let programs = programs::of(files, chain, &tools)?;
        let (own, paths) = own_texts(files, chain)?;
        let bare = Values::of_tools(&manifest.id, &tools).with("offer", manifest.dialect.offer);
        let mut kit = Self {
            id: manifest.id.clone(),
            manifest,
            tools,
            surface,
            texts: Texts::new(),
            fields: Texts::for_fields(),
            programs,
            files: Arc::new(own),
            bare,
        };
        kit.check_tools()?;
        if case == Case::default() {
            kit.check_names()?;
        }
        kit.add_common(files)?;
        kit.add_inline()?;
        kit.add_fills()?;
        kit.add_files(&paths)?;
        Ok(kit)
    }

    fn add_common(&mut self, files: &Files) -> Result<(), LoadError> {
        for name in files.texts(COMMON) {
            if let Some(found) = files.read(COMMON, &name)? {
                let known: &[&[&str]] = match name.as_str() {
                    "facts.md" => &[FACTS, &facts::NAMES],
                    "masked.md" => &[BARE, &render::MASKED],
                    _ => &[BARE, SAYING],
                };
                self.texts.add(&format!("{COMMON}/{name}"), &found.text, known, &found.path)?;
            }
        }
        Ok(())
    }

    /// Templates that stand in the tables themselves.
    fn add_inline(&mut self) -> Result<(), LoadError> {
        let path = |table: &str| format!("{}/{table}", self.id);
        let (manifest, texts) = (&self.manifest, &mut self.texts);
        for (name, tool) in self.tools.iter() {
            if let Some(text) = &tool.result {
                texts.add(&result_name(name), text, &[FACTS, SAYING], &path("tools.toml"))?;
            }
            if let Some(text) = &tool.status {
                texts.add(&status_name(name), text, &[FACTS, SAYING], &path("tools.toml"))?;
            }
        }
        let path = path("harness.toml");
        for (name, text) in manifest.errors.iter() {
            if let Some(text) = text {
                texts.add(&error_name(name), text, &[BARE, SAYING], &path)?;
            }
        }
        for (which, bad) in manifest.messages.bad_calls() {
            texts.add(&bad_call_name(which), &bad.args, &[BARE, SAYING], &path)?;
        }
        for (name, hint) in manifest.absent.iter() {
            texts.add(&absent_name(name), hint, &[BARE], &path)?;
        }
        for (at, opening) in manifest.opening.iter().enumerate() {
            match (&opening.text, &opening.file) {
                (Some(text), None) => texts.add(&opening_name(at), text, &[FACTS], &path)?,
                (None, Some(_)) => {}
                (Some(_), Some(_)) | (None, None) => {
                    let what = "an `opening` has either `text` or `file`".to_owned();
                    return Err(LoadError::broken(path, None, what));
                }
            }
        }
        if let Some(text) = &manifest.notes.wrap {
            texts.add(WRAP, text, &[FACTS, &["text", "kind"]], &path)?;
        }
        for (at, reminder) in manifest.reminder.iter().enumerate() {
            if let Some(text) = &reminder.wrap {
                texts.add(&wrap_name(at), text, &[FACTS, &["text"]], &path)?;
            }
        }
        Ok(())
    }

    /// Templates over the parameters of a call.
    fn add_fills(&mut self) -> Result<(), LoadError> {
        let path = format!("{}/tools.toml", self.id);
        for (name, tool) in self.tools.iter() {
            let known: Vec<&str> = tool.params.names().chain(["args"]).collect();
            let own =
                tool.when.iter().flat_map(|(word, v)| v.fill.iter().map(move |fill| (Some(word), fill)));
            for (word, (field, text)) in tool.fill.iter().map(|fill| (None, fill)).chain(own) {
                if field == "command" && super::bind::has_loose_hole(text) {
                    let what = format!(
                        "`{name}` fills `command` within quotes, a here-document or a comment; leave those out, as \
                         what is filled in is quoted anyway"
                    );
                    return Err(LoadError::broken(path, None, what));
                }
                self.fields.add(&fill_name(name, word, field), text, &[&known], &path)?;
            }
        }
        Ok(())
    }

    /// Templates that the manifest names by file.
    fn add_files(&mut self, paths: &BTreeMap<String, String>) -> Result<(), LoadError> {
        let m = &self.manifest;
        let plain = m.system.blocks.iter().chain(&m.system.append);
        let plain = plain.chain(m.opening.iter().filter_map(|o| o.file.as_ref()));
        let plain = plain.chain(m.reminder.iter().map(|r| &r.file));
        let plain = plain.chain(m.user.more.iter().map(|more| &more.file));
        let said = m.user.first.iter().chain(&m.user.each);
        let replies = m.turn.retry.iter().chain(&m.submit.confirm).chain(&m.dialect.frame);
        let loops = m.compact.files();
        let known = [&[FACTS][..], &[FACTS, &["text"]], &[FACTS, SAYING], &[BARE, SAYING]];
        let named = plain
            .map(|file| (file, known[0]))
            .chain(said.map(|file| (file, known[1])))
            .chain(replies.map(|file| (file, known[2])))
            .chain(loops.map(|file| (file, known[3])));
        for (file, known) in named {
            let Some(text) = self.files.get(file) else {
                let near = super::load::nearest(file, self.files.keys().map(String::as_str));
                let near = near.map(|n| format!("; did you mean `{n}`")).unwrap_or_default();
                let what = format!("names the file `{file}`, which the harness does not have{near}");
                return Err(LoadError::broken(format!("{}/harness.toml", self.id), None, what));
            };
            self.texts.add(file, text, known, &paths[file])?;
        }
        Ok(())
    }

    /// What serde cannot see: kinds, parameters and reminders that are named in the tables.
    fn check_tools(&self) -> Result<(), LoadError> {
        let broken = |what: String| LoadError::broken(format!("{}/tools.toml", self.id), None, what);
        for (name, tool) in self.tools.iter() {
            for kind in tool.kinds() {
                if !super::bind::KINDS.contains(&kind) {
                    let near = super::load::nearest(kind, super::bind::KINDS.iter().copied());
                    let near = near.map(|n| format!("; did you mean `{n}`")).unwrap_or_default();
                    return Err(broken(format!("`{name}` does `{kind}`, which tack cannot do{near}")));
                }
            }
            if tool.kinds().next().is_none() || (tool.pick.is_some() == tool.when.is_empty()) {
                return Err(broken(format!("`{name}` needs `does`, or `pick` together with `when`")));
            }
            let variants = tool.when.iter().flat_map(|(_, v)| v.needs.iter().chain(&v.uses));
            let mut named =
                variants.chain(&tool.args).chain(&tool.pick).chain(&tool.free).chain(&tool.tokens);
            if let Some(param) = named.find(|param| tool.params.find(param).is_none()) {
                return Err(broken(format!(
                    "`{name}` names the parameter `{param}`, which it does not have"
                )));
            }
            if let (Some(_), Some(grammar)) = (&tool.free, &tool.grammar) {
                let known = ["lark", "regex"].contains(&grammar.syntax.as_str());
                if !known || !self.files.contains_key(&grammar.file) {
                    return Err(broken(format!(
                        "the `grammar` of `{name}` needs `syntax` (lark or regex) and `file`, a file of the harness"
                    )));
                }
            }
        }
        Ok(())
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

    /// Tools that the manifest names. A class may drop one of them, and its reminder with it.
    fn check_names(&self) -> Result<(), LoadError> {
        let dialect = &self.manifest.dialect;
        let hands_in = |(_, tool): (&str, &Tool)| tool.does.as_deref() == Some("submit");
        let lacks = match dialect.kind {
            DialectKind::Json if dialect.calls.is_none() => Some("`calls`, the field with the list of calls"),
            DialectKind::Json if dialect.done.is_some() && !self.tools.iter().any(hands_in) => {
                Some("a tool that does `submit`, which `done` calls")
            }
            DialectKind::Json | DialectKind::Calls | DialectKind::Fenced | DialectKind::External => None,
        };
        if let Some(lacks) = lacks {
            let what = format!("a `dialect` of kind `json` needs {lacks}");
            return Err(LoadError::broken(format!("{}/harness.toml", self.id), None, what));
        }
        let bare = self.manifest.dialect.bare.iter();
        let since = self.manifest.reminder.iter().flat_map(|r| &r.when.results_since);
        let defers = self.tools.iter().find(|(_, tool)| tool.defer && tool.on_wire());
        if let Some((name, _)) =
            defers.filter(|_| !self.tools.iter().any(|(_, t)| t.kinds().any(|k| k == "tools")))
        {
            let what = format!("`{name}` has `defer`, and no tool does `tools`, which would find it");
            return Err(LoadError::broken(format!("{}/tools.toml", self.id), None, what));
        }
        match bare.chain(since).find(|name| self.tools.find(name).is_none()) {
            Some(name) => {
                let what = format!("names the tool `{name}`, which the harness does not have");
                Err(LoadError::broken(format!("{}/harness.toml", self.id), None, what))
            }
            None => Ok(()),
        }
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
        values.with("unattended", alone)
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
                most: set(read.most),
            },
            reads: turn.reads,
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
        let compact = &self.manifest.compact;
        let own = match saying {
            Saying::Summariser => compact.system.as_ref(),
            Saying::Compact => compact.prompt.as_ref(),
            Saying::Transcript { .. } => compact.transcript.as_ref(),
            Saying::Questions { .. } => compact.questions.as_ref(),
            Saying::Answers { .. } => compact.answers.as_ref(),
            Saying::Handoff { .. } => compact.handoff.as_ref(),
            Saying::SummaryBack { .. } => compact.back.as_ref(),
            Saying::CutOff
            | Saying::ActNow { .. }
            | Saying::Interrupted
            | Saying::NotExecuted
            | Saying::Repeat { .. }
            | Saying::RepeatRefused { .. }
            | Saying::Shown { .. }
            | Saying::ReadsEnough { .. }
            | Saying::CheckFailed { .. }
            | Saying::RepeatStop { .. }
            | Saying::StepsLeft { .. }
            | Saying::ImageLeftOut
            | Saying::NoSummary
            | Saying::Unattended
            | Saying::Form { .. }
            | Saying::Unfit { .. }
            | Saying::JobEnded { .. } => None,
        };
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
const SAYING: &[&str] = &[
    "text", "out", "action", "args", "name", "names", "closest", "param", "wanted", "got", "missing",
    "problem", "example", "usage", "found", "why", "times", "left", "summary", "request", "diff", "shown",
    "count", "command", "exit", "tail", "focus", "schema", "first", "files", "before", "call", "output_file",
    "messages", "prompt", "questions", "answers", "problems", "extra", "hint", "got_type", "fault", "around",
];

type Named = BTreeMap<String, String>;

/// The chain's text files by name, and where each was found.
fn own_texts(files: &Files, chain: &Chain) -> Result<(Named, Named), LoadError> {
    let (mut texts, mut paths) = (Named::new(), Named::new());
    for id in chain.ids() {
        for name in files.texts(&id) {
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
