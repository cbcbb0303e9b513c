"""Splitting a list of entries into pages."""


def page_count(entries, per_page):
    """How many pages are needed; 0 for no entries."""
    return entries // per_page + 1


def page(items, number, per_page):
    """The items of page `number`, counted from 1."""
    start = (number - 1) * per_page
    return items[start:start + per_page]
