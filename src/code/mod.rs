//! Source code as far as tack has to understand it: which language a file is in, whether it parses, what
//! it defines at its top level, and how an answer that holds only some of it goes into the whole.
//!
//! Pure: texts in, texts and places out. Knows no files, actions or tools. Texts come with `\n` alone. What no
//! parser here reads, and what is larger than a megabyte, is left alone: no findings, no names, and an answer
//! of about as many lines is the whole text.

mod adapt;
mod answer;
mod brackets;
mod data;
mod elide;
mod findings;
mod going;
mod imports;
mod language;
mod lost;
mod merge;
mod nodes;
mod outline;
mod parse;
mod place;
mod plain;
mod python;
mod script;

pub use adapt::{Adapted, Misfit, Why, adapt, names};
pub use findings::{Change, Finding, change, findings};
pub use going::Going;
pub use language::{Language, language};

#[cfg(test)]
mod tests;
