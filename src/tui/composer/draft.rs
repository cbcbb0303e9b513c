//! What was typed, as it is sent, kept and given back: text with the pastes and images in their places.
//! Knows nothing of cursors or keys.

use std::path::PathBuf;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::mention::Mention;

/// A picture that goes with a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Image {
    File(PathBuf),
    /// As the clipboard gave it.
    Bytes(Arc<[u8]>),
}

/// A piece of what was typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Part {
    Text(String),
    /// Shown as a placeholder, sent as it is.
    Paste(String),
    /// `number` as in its placeholder, `size` in bytes.
    Image {
        number: usize,
        size: u64,
        image: Image,
    },
}

/// What a draft asks for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    Prompt,
    /// `!cmd`: run, the output goes to the context.
    Shell(String),
    /// `!!cmd`: run, the output never enters the context.
    PrivateShell(String),
    /// `name` is one of the table, never an alias; `args` is trimmed, pastes expanded.
    Command {
        name: String,
        args: String,
    },
}

/// A finished text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub kind: Kind,
    /// Everything, pastes in full; images by their placeholder.
    pub text: String,
    /// As it stood on the screen: placeholders for pastes and images.
    pub shown: String,
    pub images: Vec<Image>,
    /// Files named by `@`, in order; none within pastes.
    pub mentions: Vec<Mention>,
    /// The same in pieces, so that it can be taken back into the composer.
    pub parts: Vec<Part>,
}

impl Part {
    /// What is drawn in its place, if it is no text.
    pub(super) fn label(&self) -> Option<String> {
        match self {
            Self::Text(_) => None,
            Self::Paste(text) => {
                let lines = match text.lines().count() {
                    1 => "1 line".to_owned(),
                    n => format!("{n} lines"),
                };
                Some(format!("[pasted {lines} · {}]", size(text.len() as u64)))
            }
            Self::Image { number, size: bytes, .. } => Some(format!("[image {number} · {}]", size(*bytes))),
        }
    }

    pub(super) fn full(&self) -> String {
        match self {
            Self::Text(text) | Self::Paste(text) => text.clone(),
            Self::Image { number, .. } => format!("[image {number}]"),
        }
    }

    pub(super) fn shown(&self) -> String {
        match (self, self.label()) {
            (Self::Text(text), _) => text.clone(),
            (_, label) => label.unwrap_or_default(),
        }
    }
}

pub(super) fn full(parts: &[Part]) -> String {
    parts.iter().map(Part::full).collect()
}

pub(super) fn shown(parts: &[Part]) -> String {
    parts.iter().map(Part::shown).collect()
}

/// A size as a person reads it.
fn size(bytes: u64) -> String {
    #[allow(clippy::cast_precision_loss, reason = "shown with one decimal")]
    let in_units = |unit: u64| bytes as f64 / unit as f64;
    match bytes {
        0..1_000 => format!("{bytes} B"),
        1_000..1_000_000 => format!("{:.0} KB", in_units(1_000).min(999.0)),
        _ => format!("{:.1} MB", in_units(1_000_000)),
    }
}

/// A part in a file. An image that was only in memory cannot be kept and stays as its placeholder.
#[derive(Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stored {
    Text(String),
    Paste(String),
    Image { number: usize, size: u64, path: String },
}

impl Serialize for Part {
    fn serialize<S: serde::Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        let stored = match self {
            Self::Paste(text) => Stored::Paste(text.clone()),
            Self::Image { number, size, image: Image::File(path) } if path.to_str().is_some() => {
                Stored::Image { number: *number, size: *size, path: path.to_string_lossy().into_owned() }
            }
            Self::Text(_) | Self::Image { .. } => Stored::Text(self.shown()),
        };
        stored.serialize(to)
    }
}

impl<'de> Deserialize<'de> for Part {
    fn deserialize<D: serde::Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(match Stored::deserialize(from)? {
            Stored::Text(text) => Self::Text(text),
            Stored::Paste(text) => Self::Paste(text),
            Stored::Image { number, size, path } => {
                Self::Image { number, size, image: Image::File(path.into()) }
            }
        })
    }
}
