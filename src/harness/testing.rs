//! For tests of this module: built-in kits, models, replies, views.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use super::kit::{Kit, Loaded};
use super::load::{Library, LoadError};
use super::{Blobs, NoPrograms, View, sample};
use crate::model::{
    Action, BlobId, Body, CallId, Class, Item, ItemId, Model, Origin, Outcome, Part, Reply, Said, Scene,
    Stop, ToolCall, ToolResult, Usage, WireKind,
};

/// A built-in harness, loaded once: property tests ask often.
pub(super) fn loaded(id: &str) -> Arc<Loaded> {
    static LOADED: Mutex<BTreeMap<String, Arc<Loaded>>> = Mutex::new(BTreeMap::new());
    let load = || Arc::new(Library::new(Vec::new()).load(id).unwrap_or_else(|e| panic!("{e}")));
    LOADED.lock().unwrap().entry(id.to_owned()).or_insert_with(load).clone()
}

/// A built-in harness with more in its manifest.
pub(super) fn forked(base: &str, more: &str) -> Loaded {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("fork")).unwrap();
    let manifest = format!("schema = 1\nid = \"fork\"\nextends = {base:?}\n{more}");
    std::fs::write(dir.path().join("fork/harness.toml"), manifest).unwrap();
    Library::new(vec![dir.path().to_owned()]).load("fork").unwrap_or_else(|e| panic!("{e}"))
}

pub(super) fn model(class: Class) -> Model {
    Model { class, ..sample::model() }
}

pub(super) struct Bench {
    pub scene: Scene,
    pub model: Model,
}

impl Bench {
    pub fn new() -> Self {
        Self { scene: sample::scene(), model: model(Class::F) }
    }

    pub fn view<'a>(&'a self, items: &'a [Item]) -> View<'a> {
        let (scene, model) = (&self.scene, &self.model);
        let (blobs, programs) = (&Pixel, &NoPrograms);
        View { items, scene, model, wire: WireKind::Chat, blobs, drop_images: false, programs }
    }
}

struct Pixel;

impl Blobs for Pixel {
    fn base64(&self, id: &BlobId) -> Option<Arc<str>> {
        (id.0 != "gone").then(|| Arc::from("AAAA"))
    }
}

pub(super) fn text(text: &str) -> Part {
    Part::Text { text: text.to_owned() }
}

/// A call as a wire brings it.
pub(super) fn call(id: &str, name: &str, args: &str) -> Part {
    Part::Call(ToolCall {
        id: CallId(id.to_owned()),
        given: None,
        name: name.to_owned(),
        args: args.to_owned(),
        action: Action::Unknown { name: name.to_owned(), why: String::new() },
        span: None,
        recovered: false,
    })
}

pub(super) fn reply(kit: &Kit, parts: Vec<Part>, stop: Stop) -> Reply {
    let origin = Origin {
        provider: "sample".to_owned(),
        model: "sample-model".to_owned(),
        wire: WireKind::Chat,
        harness: kit.id.clone(),
        surface: kit.surface,
    };
    Reply::new(origin, parts, Usage::default(), stop)
}

pub(super) fn calls(reply: &Reply) -> Vec<&ToolCall> {
    reply.calls().collect()
}

pub(super) fn item(id: u64, body: Body) -> Item {
    Item { id: ItemId(id), turn: 1, at: jiff::Timestamp::UNIX_EPOCH, body }
}

pub(super) fn user(id: u64, text: &str) -> Item {
    item(id, Body::User(Said { text: text.to_owned(), images: Vec::new() }))
}

pub(super) fn result(id: u64, call: &str, shown: &str) -> Item {
    let (call, shown) = (CallId(call.to_owned()), vec![text(shown)]);
    item(id, Body::Result(ToolResult { call, outcome: Outcome::ok("raw"), shown }))
}

/// A harness of these tools only, with more in its manifest.
pub(super) fn toolset(manifest: &str, tools: &str) -> Loaded {
    try_toolset(manifest, tools).unwrap_or_else(|e| panic!("{e}"))
}

pub(super) fn try_toolset(manifest: &str, tools: &str) -> Result<Loaded, LoadError> {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("own")).unwrap();
    std::fs::write(dir.path().join("own/harness.toml"), format!("schema = 1\nid = \"own\"\n{manifest}"))
        .unwrap();
    std::fs::write(dir.path().join("own/tools.toml"), tools).unwrap();
    Library::new(vec![dir.path().to_owned()]).load("own")
}
