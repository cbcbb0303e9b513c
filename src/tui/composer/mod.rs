//! What the person types: editing, history, paste and popups. Keys in, text out.
