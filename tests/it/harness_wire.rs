//! The exact request of every harness over every wire it allows.

use tack::harness::sample_model;
use tack::model::{Model, NoteKind, WireKind};
use tack::wire::{self, provider::Quirks};

use crate::harness_kit::{ALL, Session, harness, played_by};

/// A session with calls, reasoning, images and notes.
async fn session(id: &str, wire: WireKind) -> Session {
    let name = if id == "native" { "gpt-5.5" } else { "sample-model" };
    let mut session = played_by(id, Model { wire, name: name.to_owned(), ..sample_model() }).await;
    session.note(NoteKind::Job, "The background job j1 ended.");
    session.user_with_image("Like this, but louder.");
    session
}

#[tokio::test]
async fn requests_of_every_harness_over_every_wire() {
    let quirks = Quirks { custom_tools: true, cache_key: true, ..Quirks::default() };
    for id in ALL {
        let harness = harness(id);
        for kind in harness.wires().iter().copied() {
            let wire = wire::of(kind);
            let session = session(id, kind).await;
            let mut prompt = session.prompt(&*harness).await;
            prompt.session = Some("0199".to_owned());
            let body = wire.encode(&prompt, &session.model, &quirks);
            let text = serde_json::to_string_pretty(&body).unwrap();
            insta::assert_snapshot!(format!("{id}_over_{}", kind.name()), text);
        }
    }
}

#[test]
fn every_harness_speaks_every_wire() {
    for id in ALL {
        let harness = harness(id);
        assert_eq!(harness.wires().len(), 3, "{id}");
    }
}
