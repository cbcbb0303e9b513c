//! An interactive session on a terminal, for tests of it from end to end.

use serde_json::json;

use crate::kit::Tack;
use crate::server::{Reply, calls};
use crate::tty::{Shown, Tty};

/// What stands in an empty composer.
pub const EMPTY: &str = "Ask, or / for commands";

/// A reply that runs a command, in the words of harness `minimal`.
pub fn shell(id: &str, command: &str) -> Reply {
    calls(id, "bash", &json!({ "command": command }))
}

/// A session on 100 columns and 30 rows, at its composer.
pub fn start(tack: &Tack, args: &[&str]) -> Tty {
    let tty = Tty::start(&tack.command(args), 100, 30);
    tty.wait_for("the composer", idle);
    tty
}

/// Neither a turn nor a dialog is open.
pub fn idle(shown: &Shown) -> bool {
    shown.has(EMPTY) && !shown.has("esc to stop")
}
