//! A sample session, so that a person can see the exact request a harness makes.

use std::path::PathBuf;
use std::sync::Arc;

use crate::model::{
    BlobId, Body, Class, Entry, Git, Instructions, Item, ItemId, MOST_BYTES, MOST_LINES, Model, Said, Scene,
    Thinking, WireKind,
};
use crate::wire::prompt::{Piece, Prompt};

use super::kit::{Kit, Loaded};
use super::load::{Listing, LoadError};
use super::manifest::{DialectKind, Offer};
use super::{Blobs, Carried, Harness, NoPrograms, Programs, View, render};

/// The request of a session that has just begun, the harness's row in the list, and its ways.
pub struct Sample {
    pub prompt: Prompt,
    pub listing: Listing,
    pub traits: Traits,
}

/// What sets a harness apart, for a person who compares two.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Traits {
    /// Names of the tools, also where they are only described.
    pub tools: Vec<String>,
    /// How files are changed, in the words of [`crate::model::Action::kind`].
    pub edits: Vec<&'static str>,
    /// Calls that only read run side by side.
    pub parallel: bool,
    /// In which field earlier thinking goes back: `arrived`, `none`, or the field's name.
    pub echo: String,
    /// Calls are text and not calls of the wire.
    pub text: bool,
    /// Most of one result that is shown, in bytes and lines.
    pub output: (usize, usize),
}

/// A hosted model that nobody claims.
pub fn model() -> Model {
    Model {
        provider: "sample".to_owned(),
        name: "sample-model".to_owned(),
        wire: WireKind::Chat,
        class: Class::F,
        window: None,
        max_output: None,
        vision: None,
        probed: None,
        effort: None,
        thinking: Thinking::default(),
        local: false,
        prices: None,
    }
}

/// A small project.
pub fn scene() -> Scene {
    let entry = |path: &str, dir| Entry { path: path.to_owned(), dir };
    let text = "Run `make check` before you finish.\nKeep functions short.".to_owned();
    Scene {
        time: "2026-03-01T09:30:00+01:00[Europe/Berlin]".to_owned(),
        cwd: "/home/me/project".to_owned(),
        os: "linux".to_owned(),
        os_version: "6.12".to_owned(),
        arch: "x86_64".to_owned(),
        shell: "bash".to_owned(),
        git: Some(Git { root: "/home/me/project".to_owned(), branch: "main".to_owned() }),
        listing: vec![
            entry("AGENTS.md", false),
            entry("Makefile", false),
            entry("src", true),
            entry("src/main.py", false),
            entry("src/greet.py", false),
        ],
        instructions: vec![Instructions { path: "/home/me/project/AGENTS.md".to_owned(), text, cut: false }],
        sandbox: "workspace-write".to_owned(),
        network: false,
        reduced: None,
        unattended: false,
        project: None,
    }
}

/// The first request of the sample session as this harness really makes it: its program, where it has
/// one, is asked too.
pub async fn prompt(harness: &dyn Harness, model: &Model, programs: &dyn Programs) -> anyhow::Result<Prompt> {
    let (scene, items) = (scene(), [said()]);
    let blobs = &NoBlobs;
    let view =
        View { items: &items, scene: &scene, model, wire: model.wire, blobs, drop_images: false, programs };
    let prompt = harness.prompt(&view).await;
    harness.close().await;
    prompt
}

/// What the person asks for.
fn said() -> Item {
    let said = Said { text: "Make the greeting polite.".to_owned(), images: Vec::new() };
    Item { id: ItemId(1), turn: 1, at: jiff::Timestamp::UNIX_EPOCH, body: Body::User(said) }
}

pub(super) fn of(harness: &Loaded, model: &Model, from: Option<PathBuf>) -> Result<Sample, LoadError> {
    let (scene, items) = (scene(), [said()]);
    let wires = harness.wires();
    let wire = if wires.contains(&model.wire) { Some(model.wire) } else { wires.first().copied() };
    let wire = wire.unwrap_or(WireKind::Chat);
    let (blobs, programs) = (&NoBlobs, &NoPrograms);
    let view = View { items: &items, scene: &scene, model, wire, blobs, drop_images: false, programs };
    let kit = harness.kit(model);
    let prompt = render::prompt(kit, &view)
        .map_err(|e| LoadError::broken(format!("{}/harness.toml", kit.id), None, format!("{e:#}")))?;
    let manifest = &kit.manifest;
    let listing = Listing {
        id: kit.id.clone(),
        name: if manifest.name.is_empty() { kit.id.clone() } else { manifest.name.clone() },
        summary: manifest.summary.clone(),
        mirrors: manifest.mirrors.clone(),
        mirrored: manifest.mirrored.clone(),
        from,
        built_in: super::files::is_built_in(&kit.id),
        extends: manifest.extends.clone(),
        tokens: tokens(&prompt),
    };
    Ok(Sample { prompt, listing, traits: traits(kit) })
}

/// The kinds of action that change a file.
const EDITS: [&str; 8] = ["edit", "patch", "diff", "rewrite", "write", "insert", "notebook", "undo"];

fn traits(kit: &Kit) -> Traits {
    let manifest = &kit.manifest;
    let does = |kind: &&str| kit.tools.iter().any(|(_, tool)| tool.kinds().any(|one| one == *kind));
    let dialect = &manifest.dialect;
    Traits {
        tools: kit.tools.names().map(str::to_owned).collect(),
        edits: EDITS.into_iter().filter(does).collect(),
        parallel: manifest.turn.parallel,
        echo: manifest.thinking.echo.clone(),
        text: matches!(dialect.kind, DialectKind::Fenced | DialectKind::Json)
            || dialect.offer == Offer::Prompt,
        output: (
            manifest.output.bytes.unwrap_or(MOST_BYTES).min(MOST_BYTES),
            manifest.output.lines.unwrap_or(MOST_LINES).min(MOST_LINES),
        ),
    }
}

/// What becomes of a session's items under this harness, as for its next request. None: only its program
/// knows.
pub fn carried(harness: &dyn Harness, model: &Model, items: &[Item]) -> Option<Carried> {
    let frozen = items.iter().rev().find_map(|item| match &item.body {
        Body::Scene(scene) => Some(&**scene),
        _ => None,
    });
    let usual = scene();
    let (scene, blobs, programs) = (frozen.unwrap_or(&usual), &NoBlobs, &NoPrograms);
    harness.carried(&View { items, scene, model, wire: model.wire, blobs, drop_images: false, programs })
}

/// What the harness itself costs: system, openings and tools, by characters through 4. The one
/// sentence of the sample's prompt is in it where a template stands around it.
pub fn tokens(prompt: &Prompt) -> usize {
    let pieces = prompt.messages.iter().flat_map(|message| &message.pieces).map(|piece| match piece {
        Piece::Text(text) => text.chars().count(),
        Piece::Image { .. } | Piece::Thinking { .. } | Piece::Call { .. } | Piece::Result { .. } => 0,
    });
    let system = prompt.system.iter().map(|block| block.chars().count());
    let tools = prompt.tools.iter().map(|tool| {
        let function = serde_json::json!({
            "type": "function",
            "function": { "name": tool.name, "description": tool.about, "parameters": tool.schema },
        });
        function.to_string().chars().count()
    });
    pieces.chain(system).chain(tools).sum::<usize>().div_ceil(4)
}

struct NoBlobs;

impl Blobs for NoBlobs {
    fn base64(&self, _: &BlobId) -> Option<Arc<str>> {
        None
    }
}
