//! What each provider replies, on each of its wires: short streams after its documentation and after
//! the recordings in public clients made for it, with values of our own.

use tack::model::{Stop, WireKind};
use tack::wire::fold::{Broken, Fold};
use tack::wire::sse::Parser;
use tack::wire::{Answer, AnswerPart, of, provider};

const FOLDER: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/fixtures/wire/providers");

/// Provider, wire and case of each stream, by the file's name.
fn streams() -> Vec<(String, WireKind, String)> {
    let mut names: Vec<String> = std::fs::read_dir(FOLDER)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .filter_map(|name| name.strip_suffix(".sse").map(str::to_owned))
        .collect();
    names.sort();
    let wires = [WireKind::Chat, WireKind::Responses, WireKind::Messages];
    let split = |name: String| {
        let found = wires.iter().find_map(|wire| {
            let (id, _) = name.split_once(&format!("-{}-", wire.name()))?;
            Some((id.to_owned(), *wire))
        });
        let (id, wire) = found.unwrap_or_else(|| panic!("{name} names no wire"));
        (id, wire, name)
    };
    names.into_iter().map(split).collect()
}

pub fn read(name: &str, wire: WireKind) -> Result<Answer, Broken> {
    let bytes = std::fs::read(format!("{FOLDER}/{name}.sse")).unwrap();
    let (mut parser, mut events) = (Parser::default(), Vec::new());
    parser.feed(&bytes, &mut events).unwrap();
    parser.finish(&mut events);
    let (mut decoder, mut fold) = (of(wire).decoder(), Fold::default());
    for event in &events {
        for delta in decoder.event(&event.name, &event.data) {
            fold.push(delta);
        }
    }
    fold.finish()
}

/// An answer in one line a part.
fn show(result: &Result<Answer, Broken>) -> String {
    let answer = match result {
        Ok(answer) => answer,
        Err(Broken { error, partial, .. }) => {
            let (message, kind) = error.clone().unwrap_or_default();
            return format!("    broken after {partial:?}: {message} ({})\n", kind.unwrap_or_default());
        }
    };
    let part = |part: &AnswerPart| match part {
        AnswerPart::Text(text) => format!("    says {text}\n"),
        AnswerPart::Thinking { text, field, seal } => {
            let (field, seal) = (field.as_deref().unwrap_or("-"), seal.as_ref().map(ToString::to_string));
            format!("    thinks {text} [{field}] {}\n", seal.unwrap_or_default()).replace("] \n", "]\n")
        }
        AnswerPart::Call { id, name, args } => {
            format!("    calls {name} {args} as {}\n", id.as_deref().unwrap_or("-"))
        }
    };
    let parts: String = answer.parts.iter().map(part).collect();
    let (usage, stop) = (&answer.usage, &answer.stop);
    let stop = match stop {
        Stop::Other(reason) => reason.clone(),
        known => serde_json::to_value(known).unwrap().as_str().unwrap_or_default().to_owned(),
    };
    format!(
        "{parts}    {stop}; {} in ({} cached, {} written), {} out ({} reasoning)\n",
        usage.input, usage.cached, usage.cache_write, usage.output, usage.reasoning
    )
}

#[test]
fn every_reply_reads_as_its_service_means_it() {
    let mut shown = String::new();
    for (id, wire, name) in streams() {
        let known = provider::builtin(&id).unwrap_or_else(|| panic!("{name}: no such provider"));
        assert!(known.over(wire).is_some(), "{name}: not one of its wires");
        shown += &format!("{name}\n{}", show(&read(&name, wire)));
    }
    insta::assert_snapshot!(shown);
}

/// No provider is left without a reply of its usual wire.
#[test]
fn every_provider_has_a_reply() {
    let streams = streams();
    for id in provider::ids() {
        let usual = provider::builtin(id).unwrap().wire;
        assert!(streams.iter().any(|(of, wire, _)| of == id && *wire == usual), "{id}");
    }
}

/// However a stream is cut, nothing is handed out that its service did not mean.
#[test]
fn a_reply_cut_after_any_event_is_whole_or_broken() {
    for (_, wire, name) in streams() {
        let whole = read(&name, wire);
        let bytes = std::fs::read(format!("{FOLDER}/{name}.sse")).unwrap();
        let (mut parser, mut events) = (Parser::default(), Vec::new());
        parser.feed(&bytes, &mut events).unwrap();
        for end in 0..events.len() {
            let (mut decoder, mut fold) = (of(wire).decoder(), Fold::default());
            for event in &events[..end] {
                for delta in decoder.event(&event.name, &event.data) {
                    fold.push(delta);
                }
            }
            if let Ok(answer) = fold.finish() {
                let whole =
                    whole.as_ref().unwrap_or_else(|_| panic!("{name} is whole at {end}, and breaks later"));
                let calls = |answer: &Answer| {
                    let is_call = |part: &&AnswerPart| matches!(part, AnswerPart::Call { .. });
                    answer.parts.iter().filter(is_call).cloned().collect::<Vec<_>>()
                };
                assert_eq!(calls(&answer), calls(whole), "{name} at {end}");
            }
        }
    }
}
