//! Integration tests, one binary. Each module says what part of tack it looks at.

mod server;
mod wire;
