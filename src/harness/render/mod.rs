//! Rendering: items become a prompt.
//!
//! The log is neutral and never changes; what is sent is made from it anew each time, for this
//! harness, model and wire. The result is valid by construction: every call is followed by exactly
//! one answer. An item added at the end only adds to the end, save where `forget` or a mask applies.

mod again;
mod carry;
mod forget;
mod mask;
mod replay;
mod said;
mod thread;

use serde_json::{Map, Value, json};

use crate::model::{Body, Image, Item, Note, NoteKind, Part, Reply, Summary, ToolResult, Watch, WireKind};
use crate::wire::prompt::{LIMITS, Piece, Prompt, Role, Style, ToolSpec, lay};

use super::kit::{Kit, WRAP, opening_name, wrap_name};
use super::manifest::{Again, DialectKind, NoteRole, Offer, Reminder, Spot};
use super::template::Values;
use super::{Carried, Masked, View};
use carry::{Fate, Tally};
use mask::Masks;
use replay::Replay;
use said::Sayer;
use thread::Thread;

pub(super) use again::holds;
pub(super) use mask::NAMES as MASKED;

pub(super) fn prompt(kit: &Kit, view: &View<'_>) -> anyhow::Result<Prompt> {
    let manifest = &kit.manifest;
    let values = kit.values(view);
    let blocks = manifest.system.blocks.iter().chain(&manifest.system.append);
    let mut system: Vec<String> =
        blocks.map(|file| kit.render(file, &values)).collect::<anyhow::Result<_>>()?;
    let dialect = &manifest.dialect;
    // Who writes blocks of code for a bare tool is shown those by its own template.
    if dialect.offer == Offer::Prompt && dialect.bare.is_none() && !kit.shows.offer {
        system.push(kit.common("tools", &values));
    }
    let mut thread = Thread::new(manifest.messages.merge);
    for (at, opening) in manifest.opening.iter().enumerate() {
        let name = opening.file.clone().unwrap_or_else(|| opening_name(at));
        let text = kit.render(&name, &values)?;
        if !text.trim().is_empty() {
            thread.push(opening.role, vec![Piece::Text(text)]);
        }
    }
    History { kit, view, values }.render(&mut thread)?;
    let again = again::entry(kit, view);
    let held = again.is_some_and(|again| again.schema);
    let tools = match (manifest.dialect.kind, manifest.dialect.offer) {
        (DialectKind::Calls | DialectKind::External, Offer::Wire) if !held => specs(kit, view.items),
        (DialectKind::Calls | DialectKind::External, Offer::Wire | Offer::Prompt)
        | (DialectKind::Fenced | DialectKind::Json, _) => Vec::new(),
    };
    Ok(Prompt {
        system: system.into_iter().filter(|block| !block.trim().is_empty()).collect(),
        messages: thread.messages,
        tools,
        body: body(kit, view, again),
        stream: manifest.wire.stream,
        style: style(kit),
        answer: held.then(|| again::schema(kit)),
        session: None,
        effort: effort(kit, view.items),
        watch: watch(kit),
    })
}

/// What becomes of the history in this view.
pub(super) fn carried(kit: &Kit, view: &View<'_>) -> anyhow::Result<Carried> {
    let mut thread = Thread::new(kit.manifest.messages.merge);
    Ok(History { kit, view, values: kit.values(view) }.render(&mut thread)?.sum())
}

fn watch(kit: &Kit) -> Watch {
    let (stream, most) = (&kit.manifest.stream, kit.manifest.thinking.most);
    let set = |limit: u32| (limit > 0).then_some(limit);
    Watch { blank_lines: set(stream.blank_lines), same_lines: set(stream.same_lines), thinking: set(most) }
}

/// The tools of a request: what was found in this session comes last, so that what is before it stays as it is.
fn specs(kit: &Kit, items: &[Item]) -> Vec<ToolSpec> {
    let spec = |(name, tool): (&str, &super::tool::Tool)| ToolSpec {
        name: name.to_owned(),
        about: tool.about.clone(),
        schema: tool.schema(),
        strict: tool.strict,
        free: kit.free(tool),
    };
    let at_once = kit.tools.iter().filter(|(_, tool)| tool.at_once());
    at_once.chain(super::bind::found(kit, items)).map(spec).collect()
}

fn style(kit: &Kit) -> Style {
    let messages = &kit.manifest.messages;
    Style {
        system_role: kit.manifest.system.role.unwrap_or(Role::System),
        user: messages.user,
        result: messages.result,
        empty: messages.empty,
        empty_with_thinking: messages.empty_with_thinking,
    }
}

/// How hard to think: more where a turn begins, and where what was done turned out not to do.
fn effort(kit: &Kit, items: &[Item]) -> Option<String> {
    let thinking = &kit.manifest.thinking;
    let begins = items.iter().rev().find_map(|item| match &item.body {
        Body::User(_) => Some(true),
        Body::Note(note) => (note.kind == NoteKind::Check).then_some(true),
        Body::Assistant(_) => Some(false),
        Body::Result(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => None,
    });
    let first = thinking.effort_first.as_ref().filter(|_| begins != Some(false));
    first.or(thinking.effort.as_ref()).cloned()
}

/// What of the history is only hinted at.
pub(super) fn masked(kit: &Kit, view: &View<'_>) -> Masked {
    if kit.manifest.context.results == 0 {
        return Masked::default();
    }
    let items = summarized(view.items).map_or(view.items, |(_, _, rest)| rest);
    Masks::new(kit, items).count()
}

/// Body fields. A limit of the answer that the user set wins over the manifest's; none is more than the
/// window leaves, and one of 0 stands for the model's own.
fn body(kit: &Kit, view: &View<'_>, again: Option<&Again>) -> Map<String, Value> {
    let request = &kit.manifest.request;
    let mut body = request.all.clone();
    let own = match view.wire {
        WireKind::Chat => &request.chat,
        WireKind::Responses => &request.responses,
        WireKind::Messages => &request.messages,
    };
    let mut over =
        |fields: &Map<String, Value>| fields.iter().for_each(|(key, value)| lay(&mut body, key, value));
    over(own);
    for only in &request.only {
        if only.is_for(view.model, view.wire) {
            over(&only.body);
        }
    }
    if let Some(again) = again {
        over(&again.body);
        if again.schema {
            // They speak of tools, and none are sent.
            body.shift_remove("tool_choice");
            body.shift_remove("parallel_tool_calls");
        }
    }
    if let Some(most) = view.model.max_output {
        for key in LIMITS {
            if let Some(limit) = body.get_mut(key) {
                *limit = json!(most);
            }
        }
    }
    let left = left(view);
    for key in LIMITS {
        match body.get_mut(key) {
            Some(limit) if *limit == 0 => drop(body.shift_remove(key)),
            Some(limit) if left.is_some_and(|left| limit.as_u64().is_some_and(|limit| limit > left)) => {
                *limit = json!(left);
            }
            Some(_) | None => {}
        }
    }
    body
}

/// Tokens of the window that the session had not used by its last reply. None: nobody knows.
fn left(view: &View<'_>) -> Option<u64> {
    let used = view.items.iter().rev().find_map(|item| match &item.body {
        Body::Assistant(reply) => Some(reply.usage.input + reply.usage.output),
        _ => None,
    });
    Some(view.model.window?.saturating_sub(used.unwrap_or(0)).max(1))
}

struct History<'a> {
    kit: &'a Kit,
    view: &'a View<'a>,
    values: Values,
}

impl History<'_> {
    fn render(&self, thread: &mut Thread) -> anyhow::Result<Tally> {
        let mut tally = Tally::default();
        let mut sayer = Sayer::new(self.kit, self.view);
        let mut items = self.view.items;
        if let Some((item, summary, rest)) = summarized(items) {
            self.summary(thread, (item, summary), &mut sayer)?;
            items = rest;
        }
        let masks = Masks::new(self.kit, items);
        let forgotten = forget::forgotten(items, self.kit.manifest.turn.forget, self.kit.surface);
        let (vain, newest) = forget::vain(items, self.kit.manifest.turn.vain);
        let mut replay = Replay::new(self.kit, self.view);
        for (at, item) in items.iter().enumerate().filter(|(at, _)| !forgotten.contains(at)) {
            match &item.body {
                Body::User(said) => {
                    tally.message(item.turn, Fate::Kept);
                    sayer.said(thread, item, said)?;
                }
                Body::Note(note) => self.note(thread, note)?,
                Body::Assistant(_) if vain.contains(&at) => {
                    let told = results(items, at).into_iter().flatten().filter(|_| newest == Some(at));
                    for result in told {
                        thread.push(Role::User, pieces_of_parts(self.kit, self.view, &result.shown));
                    }
                }
                Body::Assistant(reply) => {
                    let results = results(items, at);
                    if let Some(fate) = replay.reply(thread, reply, &masks.over(at, results.clone())) {
                        let open = results.iter().filter(|result| result.is_none()).count();
                        tally.message(item.turn, fate);
                        tally.calls(results.len(), open);
                    }
                }
                // Results are told right after their reply, wherever they lie.
                Body::Result(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => {}
            }
        }
        Ok(tally)
    }

    /// What the person said and is kept, then the summary, then the words that lead on from it.
    fn summary<'a>(
        &'a self,
        thread: &mut Thread,
        (item, summary): (&Item, &Summary),
        sayer: &mut Sayer<'a>,
    ) -> anyhow::Result<()> {
        for item in self.view.items.iter().filter(|item| summary.kept.contains(&item.id)) {
            if let Body::User(said) = &item.body {
                sayer.said(thread, item, said)?;
            }
        }
        let (text, request) = (&summary.text, &summary.request);
        let back = self.kit.say(&super::Saying::SummaryBack { summary: text, request });
        match sayer.is_first() {
            true => sayer.say(thread, item, (&back, Vec::new()))?,
            false => thread.push(Role::User, vec![Piece::Text(back)]),
        }
        let values = || self.values.clone().with("summary", text).with("request", request);
        let compact = &self.kit.manifest.compact;
        let next = next_message(self.view.items, summary);
        let go_on = compact.go_on.as_ref().filter(|_| next.is_none());
        // The model has the word only where the person has it next.
        let reply = compact.reply.as_ref().filter(|_| next == Some(Role::User) || go_on.is_some());
        for (role, file) in
            reply.map(|file| (Role::Assistant, file)).into_iter().chain(go_on.map(|file| (Role::User, file)))
        {
            thread.push(role, vec![Piece::Text(self.kit.render(file, &values())?)]);
        }
        Ok(())
    }

    fn note(&self, thread: &mut Thread, note: &Note) -> anyhow::Result<()> {
        if note.harness.as_ref().is_some_and(|id| *id != self.kit.id) {
            return Ok(());
        }
        let reminders = || self.kit.manifest.reminder.iter().enumerate();
        let reminder = note.file.as_ref().and_then(|file| reminders().find(|(_, r)| r.file == *file));
        let loud = match note.kind {
            NoteKind::Correction | NoteKind::Guard | NoteKind::Check | NoteKind::Shown => true,
            NoteKind::Reminder | NoteKind::Job | NoteKind::Ran | NoteKind::Fact => false,
        };
        let own = reminder.and_then(|(_, r)| r.role);
        let role = match (note.kind, own.unwrap_or(self.kit.manifest.notes.role)) {
            (NoteKind::Correction, _) => Role::User,
            (_, NoteRole::User) => Role::User,
            (_, NoteRole::System) => Role::System,
            (_, NoteRole::Developer) => Role::Developer,
            (_, NoteRole::None) if loud => Role::User,
            (_, NoteRole::None) => return Ok(()),
        };
        let text = self.wrapped(note, reminder)?;
        match reminder {
            Some((_, Reminder { place: Spot::Result, .. })) if thread.add_to_result(&text) => {}
            _ => thread.push(role, vec![Piece::Text(text)]),
        }
        Ok(())
    }

    fn wrapped(&self, note: &Note, reminder: Option<(usize, &Reminder)>) -> anyhow::Result<String> {
        let own = reminder.filter(|(_, r)| r.wrap.is_some()).map(|(at, _)| wrap_name(at));
        let all = self.kit.manifest.notes.wrap.as_ref().map(|_| WRAP.to_owned());
        match own.or(all).filter(|_| note.kind != NoteKind::Correction) {
            Some(wrap) => {
                self.kit.render(&wrap, &self.values.clone().with("text", &note.text).with("kind", note.kind))
            }
            None => Ok(note.text.clone()),
        }
    }
}

/// The last summary, and the items that it does not stand for.
fn summarized(items: &[Item]) -> Option<(&Item, &Summary, &[Item])> {
    let (item, summary) = items.iter().rev().find_map(|item| match &item.body {
        Body::Summary(summary) => Some((item, summary)),
        _ => None,
    })?;
    let rest = items.iter().position(|item| item.id > summary.upto).unwrap_or(items.len());
    Some((item, summary, &items[rest..]))
}

/// Whose is the first message that stayed when the history was summed up.
fn next_message(items: &[Item], summary: &Summary) -> Option<Role> {
    let made = |item: &&Item| !matches!(&item.body, Body::Summary(other) if other == summary);
    let stayed = items.iter().take_while(made).skip_while(|item| item.id <= summary.upto);
    stayed.into_iter().find_map(|item| match &item.body {
        Body::User(_) => Some(Role::User),
        Body::Assistant(_) => Some(Role::Assistant),
        Body::Note(_) | Body::Result(_) | Body::Scene(_) | Body::Summary(_) | Body::Mark(_) => None,
    })
}

/// The results of the reply at `at`: those before the next reply, in the order of their calls.
fn results(items: &[Item], at: usize) -> Vec<Option<&ToolResult>> {
    let Body::Assistant(reply) = &items[at].body else { return Vec::new() };
    let until = items[at + 1..].iter().take_while(|item| !matches!(item.body, Body::Assistant(_)));
    let mut found: Vec<&ToolResult> = until
        .filter_map(|item| match &item.body {
            Body::Result(result) => Some(result),
            _ => None,
        })
        .collect();
    let mut take = |part: &Part| match part {
        Part::Call(call) => {
            let place = found.iter().position(|result| result.call == call.id);
            Some(place.map(|place| found.remove(place)))
        }
        Part::Text { .. } | Part::Thinking { .. } | Part::Image(_) => None,
    };
    reply.parts.iter().filter_map(&mut take).collect()
}

/// The image's bytes, or a text that it was left out.
fn piece_of_image(kit: &Kit, view: &View<'_>, image: &Image) -> Piece {
    let blind = view.drop_images || view.model.vision == Some(false);
    let bytes = (!blind).then(|| view.blobs.base64(&image.blob)).flatten();
    match bytes {
        Some(base64) => Piece::Image { mime: image.mime.clone(), base64 },
        None => Piece::Text(kit.say(&super::Saying::ImageLeftOut)),
    }
}

fn pieces_of_parts(kit: &Kit, view: &View<'_>, parts: &[Part]) -> Vec<Piece> {
    let piece = |part: &Part| match part {
        Part::Text { text } => Some(Piece::Text(text.clone())),
        Part::Image(image) => Some(piece_of_image(kit, view, image)),
        Part::Thinking { .. } | Part::Call(_) => None,
    };
    let pieces: Vec<Piece> = parts.iter().filter_map(piece).collect();
    if pieces.is_empty() { vec![Piece::Text(String::new())] } else { pieces }
}

/// A reply was made here: by this model, at this provider, over this wire.
fn is_own(view: &View<'_>, reply: &Reply) -> bool {
    let origin = &reply.origin;
    origin.provider == view.model.provider && origin.model == view.model.name && origin.wire == view.wire
}

#[cfg(test)]
mod tests;
