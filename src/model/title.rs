//! What a person would call an action, in one line.

use serde_json::Value;

use super::item::Part;
use super::{Action, Glob, Grep, JobOp, Outcome, Read, Reply, State, TaskOp, TodoStatus};

/// Longest title, in characters.
const LONGEST: usize = 100;

impl Action {
    /// One line, no control characters: `Ran cargo test`, `Edited src/cart.rs`.
    pub fn title(&self) -> String {
        let title = match self {
            Self::Shell { command, background: false, .. } => format!("Ran {command}"),
            Self::Shell { command, background: true, .. } => format!("Started {command}"),
            Self::Job { op: JobOp::Output, id, input: Some(keys), .. } if !keys.is_empty() => {
                format!("Typed into job {id}")
            }
            Self::Job { op: JobOp::Output, id, .. } => format!("Looked at job {id}"),
            Self::Job { op: JobOp::List, .. } => "Listed the jobs".to_owned(),
            Self::Job { op: JobOp::Wait, id, .. } if id.is_empty() => "Waited for a job".to_owned(),
            Self::Job { op: JobOp::Wait, id, .. } => format!("Waited for job {id}"),
            Self::Job { op: JobOp::Stop, id, .. } => format!("Stopped job {id}"),
            Self::Read(Read { path, .. }) => format!("Read {path}"),
            Self::Write { path, .. } => format!("Wrote {path}"),
            Self::Rewrite { path, .. } | Self::Edit { path, .. } | Self::Insert { path, .. } => {
                format!("Edited {path}")
            }
            Self::Undo { path } => format!("Took back the last change of {path}"),
            Self::Patch { .. } | Self::Diff { .. } => "Applied a patch".to_owned(),
            Self::Glob(Glob { pattern, .. }) => format!("Looked for files {pattern}"),
            Self::Grep(Grep { pattern, .. }) => format!("Searched for {pattern}"),
            Self::Find { query, .. } => format!("Looked for files like {query}"),
            Self::List { path, .. } => format!("Listed {path}"),
            Self::Todo { items: None } => "Looked at the tasks".to_owned(),
            Self::Todo { items: Some(items) } => {
                let done = items.iter().filter(|item| item.status == TodoStatus::Completed).count();
                format!("Tasks {done}/{}", items.len())
            }
            Self::Tasks { op: TaskOp::Add, text, .. } => {
                format!("New task: {}", text.as_deref().unwrap_or_default())
            }
            Self::Tasks { op: TaskOp::Change, id, .. } => {
                format!("Changed task {}", id.as_deref().unwrap_or_default())
            }
            Self::Tasks { op: TaskOp::Remove, id, .. } => {
                format!("Removed task {}", id.as_deref().unwrap_or_default())
            }
            Self::Tasks { op: TaskOp::Get | TaskOp::List, .. } => "Looked at the tasks".to_owned(),
            Self::Notebook { path, .. } => format!("Edited {path}"),
            Self::Keys { text, .. } => format!("Typed {text}"),
            Self::Fetch { url, .. } => format!("Fetched {url}"),
            Self::Script { tool, .. } => format!("Ran {tool}"),
            Self::Tools { query, .. } => format!("Looked for tools: {query}"),
            Self::Submit { .. } => "Handed in the work".to_owned(),
            Self::Unknown { name, .. } => format!("Could not run {name}"),
        };
        one_line(&title)
    }
}

/// What was done, and what was to be done.
const VERBS: &[(&str, &str)] = &[
    ("Ran", "Run"),
    ("Started", "Start"),
    ("Typed", "Type"),
    ("Looked", "Look"),
    ("Listed", "List"),
    ("Waited", "Wait"),
    ("Stopped", "Stop"),
    ("Wrote", "Write"),
    ("Edited", "Edit"),
    ("Took", "Take"),
    ("Applied", "Apply"),
    ("Searched", "Search"),
    ("Changed", "Change"),
    ("Removed", "Remove"),
    ("Fetched", "Fetch"),
    ("Handed", "Hand"),
];

impl Action {
    /// The title with this outcome: one that did not come about claims nothing, as in `Edit src/cart.rs`.
    pub fn title_with(&self, outcome: &Outcome) -> String {
        let title = self.title();
        let happened = match outcome.state {
            State::Ok | State::TimedOut | State::Interrupted => true,
            State::Failed => {
                matches!(self, Self::Shell { .. } | Self::Script { .. }) && outcome.exit.is_some()
            }
            State::Refused => false,
        };
        let aim = |&(past, aim): &(&str, &str)| Some(format!("{aim}{}", title.strip_prefix(past)?));
        if happened { title } else { VERBS.iter().find_map(aim).unwrap_or(title) }
    }
}

impl Reply {
    /// What the model says to the person: its text without the calls that stand in it, or that were written out.
    pub fn said(&self) -> String {
        let mut text = String::new();
        let mut spans = self.written_out.clone();
        for part in &self.parts {
            match part {
                Part::Text { text: more } => text.push_str(more),
                Part::Call(call) => spans.extend(call.span),
                Part::Thinking { .. } | Part::Image(_) => {}
            }
        }
        spans.sort_unstable_by(|a, b| b.cmp(a));
        // Several calls may have one place in common.
        spans.dedup();
        for (from, to) in spans {
            if let Some(call) = text.get(from..to) {
                let words = words(call).unwrap_or_default();
                text.replace_range(from..to, &words);
            }
        }
        text.trim().to_owned()
    }
}

/// The prose in a JSON object that is a whole reply: it has a list of calls, or says whether the work is
/// done, beside it. Not that of one call.
pub fn words(object: &str) -> Option<String> {
    let fields: serde_json::Map<String, Value> = serde_json::from_str(object).ok()?;
    let whole = fields.values().any(|value| value.is_array() || value.is_boolean());
    // A flag may be a word.
    let flag = |text: &&str| {
        ["", "true", "false", "yes", "no", "1", "0"].iter().any(|word| word.eq_ignore_ascii_case(text))
    };
    let said = fields.values().filter_map(Value::as_str).map(str::trim).filter(|text| !flag(text));
    whole.then(|| said.collect::<Vec<_>>().join("\n\n"))
}

fn one_line(text: &str) -> String {
    let mut line: String =
        text.chars().map(|c| if super::steers(c) { ' ' } else { c }).take(LONGEST).collect();
    if text.chars().nth(LONGEST).is_some() {
        line.push('…');
    }
    line
}
