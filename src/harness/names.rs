//! What the templates of a manifest's tables are called among a kit's texts. Knows nothing else.

pub(super) const WRAP: &str = "notes.wrap";

/// The wrap of the reminder in this place.
pub(super) fn wrap_name(at: usize) -> String {
    format!("reminder.{at}.wrap")
}

pub(super) fn result_name(tool: &str) -> String {
    format!("tools.{tool}.result")
}

pub(super) fn status_name(tool: &str) -> String {
    format!("tools.{tool}.status")
}

/// `which` is the key under `[messages]`.
pub(super) fn bad_call_name(which: &str) -> String {
    format!("messages.{which}")
}

pub(super) fn error_name(error: &str) -> String {
    format!("errors.{error}")
}

/// A field's template of a tool, or of one of its variants.
pub(super) fn fill_name(tool: &str, variant: Option<&str>, field: &str) -> String {
    format!("fill.{tool}.{}.{field}", variant.unwrap_or_default())
}

pub(super) fn absent_name(tool: &str) -> String {
    format!("absent.{tool}")
}

pub(super) fn opening_name(at: usize) -> String {
    format!("opening.{at}")
}
