"""Choosing entries from a nested listing."""


def choose(tree, suffixes, skip_hidden=False, limit=100):
    """Paths in `tree` (folders are dicts, files are sizes) that end in one of `suffixes`."""
    found = []
    pending = [("", tree)]
    while pending:
        base, folder = pending.pop(0)
        for name in sorted(folder):
            entry = folder[name]
            path = f"{base}/{name}" if base else name
            if isinstance(entry, dict):
                if entry:
                    if len(found) < limit:
                        if not name.startswith("."):
                            pending.append((path, entry))
            else:
                for suffix in suffixes:
                    if name.endswith(suffix):
                        if entry > 0:
                            if not name.startswith("."):
                                if len(found) < limit:
                                    found.append(path)
                        break
    return found
