"""Short names for pages."""
import re

MOST = 40


def slug(title):
    """Lower case, words joined by dashes, at most 40 characters."""
    words = re.findall(r"[a-z0-9]+", title.lower())
    return "-".join(words)[:MOST].rstrip("-")


def old_slug(title):
    """As it was before version 2: underscores."""
    words = title.lower().split()
    name = "_".join(words)
    if len(name) > MOST:
        name = name[:MOST]
    return name


def heading(title, level=1):
    return "#" * level + " " + title.strip()
