//! The task list: one for the session, replaced as a whole by one call (or only looked at) or changed a step at a time by
//! another, so that surfaces of both kinds share it.
//!
//! `data`: `items` (the list now), `old` (as it was before), `next_id`, `total`, `pending`,
//! `in_progress`, `completed`; of a single step also `item`, and `changed`, the names of its fields that
//! are new. A resumed session takes the list from there.

use serde::Deserialize;
use serde_json::{Value, json};

use super::{Toolbox, failed, lock};
use crate::model::{Outcome, TaskMore, TaskOp, TaskStatus, TodoItem, TodoStatus};

#[derive(Clone, Default)]
pub(super) struct Tasks {
    pub(super) items: Vec<TodoItem>,
    /// The last id that was given; none is given twice.
    last: u64,
}

/// What a call says of one step.
#[derive(Clone, Copy)]
pub(super) struct Given<'a> {
    pub(super) text: Option<&'a str>,
    pub(super) status: Option<TaskStatus>,
    pub(super) more: &'a TaskMore,
}

pub(super) fn run(toolbox: &Toolbox, new: Option<&[TodoItem]>) -> Outcome {
    let mut tasks = lock(&toolbox.tasks);
    let old = tasks.items.clone();
    if let Some(new) = new {
        tasks.items = new.to_vec();
    }
    tasks.last = tasks.items.iter().filter_map(number).fold(tasks.last, u64::max);
    Outcome { data: tasks.data(&old), ..Outcome::ok(format!("task list: {}", tasks.sum())) }
}

pub(super) fn act(toolbox: &Toolbox, op: TaskOp, id: Option<&str>, given: Given<'_>) -> Outcome {
    let mut tasks = lock(&toolbox.tasks);
    let old = tasks.items.clone();
    match tasks.act(op, id, given) {
        Ok((text, item, changed)) => {
            let mut data = tasks.data(&old);
            data["item"] = json!(item);
            data["changed"] = json!(changed);
            Outcome { data, ..Outcome::ok(text) }
        }
        Err(refusal) => *refusal,
    }
}

type Done = (String, Option<TodoItem>, Vec<&'static str>);

impl Tasks {
    /// The list as a call of an earlier run left it; None where the outcome is of no such call.
    pub(super) fn of(outcome: &Outcome) -> Option<Self> {
        let last = outcome.data.get("next_id")?.as_u64()?.checked_sub(1)?;
        Some(Self { items: Vec::deserialize(outcome.data.get("items")?).ok()?, last })
    }

    fn act(&mut self, op: TaskOp, id: Option<&str>, given: Given<'_>) -> Result<Done, Box<Outcome>> {
        let at = match op {
            TaskOp::Add => return self.add(given),
            TaskOp::List => return Ok((self.list(), None, Vec::new())),
            TaskOp::Get | TaskOp::Change | TaskOp::Remove => self.find(id)?,
        };
        let gone = op == TaskOp::Remove || given.status == Some(TaskStatus::Deleted);
        match op {
            TaskOp::Get => {
                let item = self.items[at].clone();
                Ok((row(&item), Some(item), Vec::new()))
            }
            _ if gone => {
                let item = self.items.remove(at);
                for other in &mut self.items {
                    other.more.blocks.retain(|id| Some(id) != item.id.as_ref());
                    other.more.blocked_by.retain(|id| Some(id) != item.id.as_ref());
                }
                Ok((format!("removed {}", row(&item)), Some(item), vec!["deleted"]))
            }
            _ => {
                let changed = self.change(at, &given);
                let item = self.items[at].clone();
                Ok((row(&item), Some(item), changed))
            }
        }
    }

    fn add(&mut self, given: Given<'_>) -> Result<Done, Box<Outcome>> {
        if given.text.is_none_or(|text| text.trim().is_empty()) {
            return Err(Box::new(failed("no_text", "the task says nothing; nothing was added")));
        }
        // Ids that a list was given by name are not met again either.
        self.last += 1;
        while self.items.iter().any(|item| item.id == Some(self.last.to_string())) {
            self.last += 1;
        }
        self.items.push(TodoItem { id: Some(self.last.to_string()), ..TodoItem::default() });
        let at = self.items.len() - 1;
        let changed = self.change(at, &given);
        let item = self.items[at].clone();
        Ok((format!("added {}", row(&item)), Some(item), changed))
    }

    fn change(&mut self, at: usize, given: &Given<'_>) -> Vec<&'static str> {
        let before = self.items[at].clone();
        let item = &mut self.items[at];
        if let Some(text) = given.text.filter(|text| !text.is_empty()) {
            text.clone_into(&mut item.text);
        }
        item.status = match given.status {
            Some(TaskStatus::Pending) => TodoStatus::Pending,
            Some(TaskStatus::InProgress) => TodoStatus::InProgress,
            Some(TaskStatus::Completed) => TodoStatus::Completed,
            Some(TaskStatus::Deleted) | None => item.status,
        };
        let (has, new) = (&mut item.more, given.more);
        for (has, new) in [
            (&mut has.details, &new.details),
            (&mut has.doing, &new.doing),
            (&mut has.owner, &new.owner),
            (&mut has.priority, &new.priority),
        ] {
            if new.is_some() {
                has.clone_from(new);
            }
        }
        for (has, new) in [(&mut has.blocks, &new.blocks), (&mut has.blocked_by, &new.blocked_by)] {
            new.iter().for_each(|id| add_id(has, id));
        }
        for (key, value) in &new.extra {
            match value {
                Value::Null => drop(has.extra.shift_remove(key)),
                value => drop(has.extra.insert(key.clone(), value.clone())),
            }
        }
        let item = item.clone();
        self.link(&item);
        names_of_changes(&before, &item)
    }

    /// Says of the other steps what this one says of them.
    fn link(&mut self, item: &TodoItem) {
        let Some(id) = &item.id else { return };
        for other in self.items.iter_mut().filter(|other| other.id != item.id) {
            let is = |ids: &[String]| other.id.as_ref().is_some_and(|id| ids.contains(id));
            let (waits, waited_for) = (is(&item.more.blocks), is(&item.more.blocked_by));
            if waits {
                add_id(&mut other.more.blocked_by, id);
            }
            if waited_for {
                add_id(&mut other.more.blocks, id);
            }
        }
    }

    /// By its id; in a list whose steps have none, by its place from 1.
    fn find(&self, id: Option<&str>) -> Result<usize, Box<Outcome>> {
        let wanted = id.unwrap_or_default().trim().trim_start_matches('#');
        let by_id = self.items.iter().position(|item| item.id.as_deref() == Some(wanted));
        let place = || {
            let nth = wanted.parse::<usize>().ok()?.checked_sub(1)?;
            self.items.get(nth).filter(|item| item.id.is_none()).map(|_| nth)
        };
        by_id.or_else(place).ok_or_else(|| {
            let ids: Vec<&str> = self.items.iter().filter_map(|item| item.id.as_deref()).collect();
            let have = match ids.is_empty() {
                true => "the list is empty".to_owned(),
                false => format!("there are {}", ids.join(", ")),
            };
            Box::new(failed("no_task", format!("there is no task `{wanted}`; {have}")))
        })
    }

    fn list(&self) -> String {
        match self.items.is_empty() {
            true => "the task list is empty".to_owned(),
            false => self.items.iter().map(row).collect::<Vec<_>>().join("\n"),
        }
    }

    fn count(&self, status: TodoStatus) -> usize {
        self.items.iter().filter(|item| item.status == status).count()
    }

    fn sum(&self) -> String {
        let (done, going) = (self.count(TodoStatus::Completed), self.count(TodoStatus::InProgress));
        format!("{done} done, {going} in progress, {} to do", self.count(TodoStatus::Pending))
    }

    fn data(&self, old: &[TodoItem]) -> Value {
        json!({
            "total": self.items.len(),
            "pending": self.count(TodoStatus::Pending),
            "in_progress": self.count(TodoStatus::InProgress),
            "completed": self.count(TodoStatus::Completed),
            "items": self.items,
            "old": old,
            "next_id": self.last + 1,
        })
    }
}

fn number(item: &TodoItem) -> Option<u64> {
    item.id.as_ref()?.parse().ok().filter(|id| *id < u64::MAX / 2)
}

fn add_id(ids: &mut Vec<String>, id: &str) {
    if !ids.iter().any(|known| known == id) {
        ids.push(id.to_owned());
    }
}

fn row(item: &TodoItem) -> String {
    let status = match item.status {
        TodoStatus::Pending => "pending",
        TodoStatus::InProgress => "in_progress",
        TodoStatus::Completed => "completed",
    };
    let id = item.id.as_ref().map(|id| format!("#{id} ")).unwrap_or_default();
    format!("{id}[{status}] {}", item.text)
}

fn names_of_changes(before: &TodoItem, after: &TodoItem) -> Vec<&'static str> {
    let (was, is) = (&before.more, &after.more);
    let all = [
        ("text", before.text != after.text),
        ("status", before.status != after.status),
        ("details", was.details != is.details),
        ("doing", was.doing != is.doing),
        ("owner", was.owner != is.owner),
        ("priority", was.priority != is.priority),
        ("blocks", was.blocks != is.blocks),
        ("blocked_by", was.blocked_by != is.blocked_by),
        ("extra", was.extra != is.extra),
    ];
    all.into_iter().filter(|(_, changed)| *changed).map(|(name, _)| name).collect()
}
