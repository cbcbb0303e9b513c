//! The terminal: entered and restored, probed, read from, drawn to. Knows nothing of sessions.
