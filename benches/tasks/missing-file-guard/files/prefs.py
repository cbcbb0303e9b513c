"""Preferences, kept as JSON."""
import json

DEFAULTS = {"theme": "light", "size": 12}


def load(path):
    """The preferences in `path`, with defaults for what it lacks."""
    with open(path, encoding="utf-8") as source:
        found = json.load(source)
    return {**DEFAULTS, **found}


def save(path, prefs):
    with open(path, "w", encoding="utf-8") as out:
        json.dump(prefs, out, indent=2)
