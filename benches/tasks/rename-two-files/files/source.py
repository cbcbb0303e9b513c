"""Rows from a text."""


def fetch(text):
    """Non-empty lines, split at commas."""
    return [line.split(",") for line in text.splitlines() if line]


def fetch_first(text):
    rows = fetch(text)
    return rows[0] if rows else None
