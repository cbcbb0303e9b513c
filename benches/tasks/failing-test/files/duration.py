"""Durations as people write them: `1h30m`, `45m`, `20s`."""

UNITS = {"h": 3600, "m": 60, "s": 1}


def parse(text):
    """Seconds in `text`. A number without a unit counts as seconds."""
    total = 0
    digits = ""
    for char in text.strip():
        if char.isdigit():
            digits += char
        elif char in UNITS and digits:
            total += int(digits) * UNITS[char]
        else:
            raise ValueError(f"not a duration: {text!r}")
    if digits:
        total += int(digits)
    return total


def show(seconds):
    """The shortest text that `parse` reads back."""
    parts = []
    for unit, size in UNITS.items():
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts) or "0s"
