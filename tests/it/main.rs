#![allow(clippy::unwrap_used)]

mod harness;
mod harness_kit;
mod harness_load;
