//! Reminders: which of the manifest's are due.

use crate::model::{Body, Item, NoteKind, Part};

use super::View;
use super::bind;
use super::kit::Kit;
use super::manifest::{Reminder, When};

pub(super) fn due(kit: &Kit, view: &View<'_>) -> anyhow::Result<Vec<String>> {
    let values = kit.values(view);
    let mut texts = Vec::new();
    for Reminder { when, file } in &kit.manifest.reminder {
        let text = kit.render(file, &values)?;
        if is_due(kit, view.items, when, &text) {
            texts.push(text);
        }
    }
    Ok(texts)
}

fn is_due(kit: &Kit, items: &[Item], when: &When, text: &str) -> bool {
    let reminded =
        |item: &Item| matches!(&item.body, Body::Note(n) if n.kind == NoteKind::Reminder && n.text == text);
    if let Some(tool) = &when.results_since {
        if kit.tool(tool).is_none() {
            return false;
        }
        let since = items.iter().rev().take_while(|item| !reminded(item) && !calls(kit, item, tool));
        let results = since.filter(|item| matches!(item.body, Body::Result(_))).count();
        return results >= when.count.max(1) as usize;
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

fn calls(kit: &Kit, item: &Item, tool: &str) -> bool {
    let Body::Assistant(reply) = &item.body else { return false };
    reply.parts.iter().any(|part| match part {
        Part::Call(call) => bind::resolve(kit, &call.name).is_some_and(|(name, _)| name == tool),
        Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => false,
    })
}
