//! Reminders: which of the manifest's are due.

use crate::model::{Body, Item, Note, NoteKind, Part};

use super::View;
use super::bind;
use super::kit::Kit;
use super::manifest::{Reminder, When};

pub(super) fn due(kit: &Kit, view: &View<'_>) -> anyhow::Result<Vec<Note>> {
    if kit.manifest.reminder.is_empty() {
        return Ok(Vec::new());
    }
    let values = kit.values(view);
    let mut notes = Vec::new();
    for Reminder { when, file, .. } in &kit.manifest.reminder {
        let (harness, file) = (Some(kit.id.clone()), Some(file.clone()));
        let text = kit.render(file.as_deref().unwrap_or_default(), &values)?;
        let note = Note { kind: NoteKind::Reminder, text, harness, file };
        if is_due(kit, view.items, when, &note) {
            notes.push(note);
        }
    }
    Ok(notes)
}

fn is_due(kit: &Kit, items: &[Item], when: &When, note: &Note) -> bool {
    let reminded = |item: &Item| match &item.body {
        // Sessions of before reminders said their file go by the text.
        Body::Note(n) => {
            n.kind == note.kind && (n.file.is_some() && n.file == note.file || n.text == note.text)
        }
        _ => false,
    };
    if !when.results_since.is_empty() {
        let results = |since: &dyn Fn(&Item) -> bool| {
            let since = items.iter().rev().take_while(|item| !since(item));
            since.filter(|item| matches!(item.body, Body::Result(_)) || when.prompts && is_user(item)).count()
        };
        let count = when.count.max(1);
        let tools: Vec<&String> = when.results_since.iter().filter(|name| kit.tool(name).is_some()).collect();
        let again = !items.iter().any(reminded) || results(&reminded) >= when.again.unwrap_or(count) as usize;
        let calls = |item: &Item| calls(kit, item, &tools);
        return !tools.is_empty() && again && results(&calls) >= count as usize;
    }
    let Some(every) = when.every_user.filter(|n| *n > 0) else { return false };
    let fresh = items.iter().rev().take_while(|item| !reminded(item)).any(is_user);
    let prompts = items.iter().filter(|item| is_user(item)).count();
    fresh
        && matches!(items.last().map(|i| &i.body), Some(Body::User(_) | Body::Note(_)))
        && prompts.is_multiple_of(every as usize)
}

fn is_user(item: &Item) -> bool {
    matches!(item.body, Body::User(_))
}

fn calls(kit: &Kit, item: &Item, tools: &[&String]) -> bool {
    let Body::Assistant(reply) = &item.body else { return false };
    reply.parts.iter().any(|part| match part {
        Part::Call(call) => {
            bind::resolve(kit, &call.name).is_some_and(|(name, _)| tools.iter().any(|t| *t == name))
        }
        Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => false,
    })
}
