//! Integration tests, one binary. Each module says what part of tack it looks at.

mod server;
mod wire;
mod wire_client;
mod wire_encode;
