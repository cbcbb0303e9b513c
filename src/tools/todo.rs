//! The task list: replaced as a whole by each call.

use serde_json::json;

use super::{Toolbox, lock};
use crate::model::{Outcome, TodoItem, TodoStatus};

pub(super) fn run(toolbox: &Toolbox, items: &[TodoItem]) -> Outcome {
    let count = |status| items.iter().filter(|item| item.status == status).count();
    let (pending, going, done) =
        (count(TodoStatus::Pending), count(TodoStatus::InProgress), count(TodoStatus::Completed));
    *lock(&toolbox.todos) = items.to_vec();
    Outcome {
        data: json!({
            "total": items.len(),
            "pending": pending,
            "in_progress": going,
            "completed": done,
            "items": items,
        }),
        ..Outcome::ok(format!("task list: {done} done, {going} in progress, {pending} to do"))
    }
}
