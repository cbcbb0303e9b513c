//! What the demo's model says under any harness: actions, said in the harness's own words as it says those of a
//! session that moves to it. Of the ways to do a step, the first is taken that it has words for.

use std::sync::Arc;

use futures_util::FutureExt;
use serde::Deserialize;

use crate::harness::{Blobs, Harness, NoPrograms, Verdict, View, sample_scene};
use crate::model::{
    Action, BlobId, Body, CallId, Item, ItemId, Model, Origin, Outcome, Part, Reply, Said, Scene, Stop,
    ToolCall, ToolResult, Usage,
};
use crate::wire::prompt::{Message, Piece, Role};
use crate::wire::recorded::{Called, Line};

const STEPS: &str = include_str!("words.json");

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Step {
    text: String,
    ways: Vec<Vec<Action>>,
}

/// The replies; None where the harness has no words for one of the steps, or a program has to be asked.
pub(in crate::cli) fn said(harness: &dyn Harness, model: &Model) -> Option<Vec<Line>> {
    let steps: Vec<Step> =
        serde_json::from_str(STEPS).expect("the steps ship with tack and a test reads them");
    let scene = sample_scene();
    let speaker = Speaker { harness, model, scene: &scene };
    let mut lines = Vec::new();
    for step in steps {
        let (said, read) = step.ways.iter().find_map(|way| speaker.say(&step.text, way))?;
        // Some harnesses ask once more whether it is the end.
        let again = if read.iter().any(is_end) { said.clone() } else { Vec::new() };
        lines.extend(said.into_iter().chain(again));
    }
    Some(lines)
}

struct Speaker<'a> {
    harness: &'a dyn Harness,
    model: &'a Model,
    scene: &'a Scene,
}

impl Speaker<'_> {
    /// A step and the actions that the harness reads in it, if they are as many. To do nothing may be said by
    /// handing in.
    fn say(&self, text: &str, way: &[Action]) -> Option<(Vec<Line>, Vec<Action>)> {
        let mut items = vec![item(1, Body::User(Said { text: "go".to_owned(), images: Vec::new() }))];
        let before = self.replies(&items)?.len();
        items.extend(self.done(text, way));
        let lines: Vec<Line> = self.replies(&items)?.into_iter().skip(before).map(line).collect();
        let read: Option<Vec<_>> = lines.iter().map(|line| self.read(line, &items[..1])).collect();
        let read = read?.concat();
        (read.len() == way.len() || way.is_empty() && read.iter().all(is_end)).then_some((lines, read))
    }

    /// The reply as another harness made it, with what came of it.
    fn done(&self, text: &str, way: &[Action]) -> Vec<Item> {
        let id = |nth: usize| CallId::of(ItemId(2), nth + 1);
        let calls = way.iter().enumerate().map(|(nth, action)| {
            let (name, args) = (action.kind().to_owned(), "{}".to_owned());
            let action = action.clone();
            Part::Call(ToolCall {
                id: id(nth),
                given: None,
                name,
                args,
                action,
                span: None,
                recovered: false,
            })
        });
        let parts = std::iter::once(Part::Text { text: text.to_owned() }).chain(calls).collect();
        let results = (0..way.len()).map(|nth| {
            let shown = vec![Part::Text { text: "done".to_owned() }];
            Body::Result(ToolResult { call: id(nth), outcome: Outcome::ok("done"), shown })
        });
        let bodies = std::iter::once(Body::Assistant(self.reply("", parts))).chain(results);
        bodies.zip(2..).map(|(body, id)| item(id, body)).collect()
    }

    fn reply(&self, harness: &str, parts: Vec<Part>) -> Reply {
        let (provider, model) = (self.model.provider.clone(), self.model.name.clone());
        let origin =
            Origin { provider, model, wire: self.model.wire, harness: harness.to_owned(), surface: 0 };
        Reply::new(origin, parts, Usage::default(), Stop::Done)
    }

    fn view<'a>(&'a self, items: &'a [Item]) -> View<'a> {
        let (scene, model, wire) = (self.scene, self.model, self.model.wire);
        View { items, scene, model, wire, blobs: &NoBlobs, drop_images: false, programs: &NoPrograms }
    }

    /// The model's messages of a request. A manifest's answer is there at once; a program's is not waited for.
    fn replies(&self, items: &[Item]) -> Option<Vec<Message>> {
        let view = self.view(items);
        let prompt = self.harness.prompt(&view).now_or_never()?.ok()?;
        Some(prompt.messages.into_iter().filter(|message| message.role == Role::Assistant).collect())
    }

    /// What the harness reads in a line; None where it would not have it.
    fn read(&self, line: &Line, items: &[Item]) -> Option<Vec<Action>> {
        let text = Part::Text { text: line.text.clone() };
        let calls = line.calls.iter().zip(1..).map(|(call, nth)| {
            let (id, name, args) = (CallId::of(ItemId(2), nth), call.name.clone(), call.args.to_string());
            let action = Action::Unknown { name: name.clone(), why: String::new() };
            Part::Call(ToolCall { id, given: None, name, args, action, span: None, recovered: false })
        });
        let mut reply = self.reply(self.harness.id(), std::iter::once(text).chain(calls).collect());
        let verdict = self.harness.interpret(&mut reply, &self.view(items)).now_or_never()?.ok()?;
        let read: Vec<Action> = reply.calls().map(|call| call.action.clone()).collect();
        let known = !read.iter().any(|action| matches!(action, Action::Unknown { .. }));
        (known && !matches!(verdict, Verdict::Retry(_))).then_some(read)
    }
}

fn is_end(action: &Action) -> bool {
    matches!(action, Action::Submit { .. })
}

fn item(id: u64, body: Body) -> Item {
    Item { id: ItemId(id), turn: 1, at: jiff::Timestamp::UNIX_EPOCH, body }
}

fn line(message: Message) -> Line {
    let (mut text, mut calls) = (String::new(), Vec::new());
    for piece in message.pieces {
        match piece {
            Piece::Text(more) => text.push_str(&more),
            Piece::Call { name, args, .. } => {
                calls.push(Called { name, args: serde_json::from_str(&args).unwrap_or_default() });
            }
            Piece::Image { .. } | Piece::Thinking { .. } | Piece::Result { .. } => {}
        }
    }
    Line { text, calls }
}

struct NoBlobs;

impl Blobs for NoBlobs {
    fn base64(&self, _: &BlobId) -> Option<Arc<str>> {
        None
    }
}
