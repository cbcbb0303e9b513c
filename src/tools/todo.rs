//! The task list: replaced as a whole by each call that brings one.
//!
//! `data`: `total`, `pending`, `in_progress`, `completed`, `items`, `changed`.

use serde_json::json;

use super::{Toolbox, lock};
use crate::model::{Outcome, TodoItem, TodoStatus};

pub(super) fn run(toolbox: &Toolbox, new: Option<&[TodoItem]>) -> Outcome {
    let mut list = lock(&toolbox.todos);
    if let Some(new) = new {
        *list = new.to_vec();
    }
    let items = list.as_slice();
    let count = |status| items.iter().filter(|item| item.status == status).count();
    let (pending, going, done) =
        (count(TodoStatus::Pending), count(TodoStatus::InProgress), count(TodoStatus::Completed));
    Outcome {
        data: json!({
            "total": items.len(),
            "pending": pending,
            "in_progress": going,
            "completed": done,
            "items": items,
            "changed": new.is_some(),
        }),
        ..Outcome::ok(format!("task list: {done} done, {going} in progress, {pending} to do"))
    }
}
