"""Checks of the records that the book exchange takes in.

Every check gets the record and returns a list of complaints, empty when all is well.
"""


class Complaint:
    """What is wrong with one field."""

    def __init__(self, field, text):
        self.field = field
        self.text = text

    def __repr__(self):
        return f"{self.field}: {self.text}"

    def __eq__(self, other):
        return (self.field, self.text) == (other.field, other.text)


def check_title(record):
    """The title has 1 to 80 characters."""
    value = record.get("title", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("title", "is no text")]
    value = value.strip()
    if len(value) < 1:
        found.append(Complaint("title", "is too short"))
    if len(value) > 80:
        found.append(Complaint("title", "is too long"))
    return found


def check_author(record):
    """The author has 1 to 60 characters."""
    value = record.get("author", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("author", "is no text")]
    value = value.strip()
    if len(value) < 1:
        found.append(Complaint("author", "is too short"))
    if len(value) > 60:
        found.append(Complaint("author", "is too long"))
    return found


def check_subtitle(record):
    """The subtitle has 0 to 120 characters."""
    value = record.get("subtitle", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("subtitle", "is no text")]
    value = value.strip()
    if len(value) < 0:
        found.append(Complaint("subtitle", "is too short"))
    if len(value) > 120:
        found.append(Complaint("subtitle", "is too long"))
    return found


def check_publisher(record):
    """The publisher has 1 to 60 characters."""
    value = record.get("publisher", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("publisher", "is no text")]
    value = value.strip()
    if len(value) < 1:
        found.append(Complaint("publisher", "is too short"))
    if len(value) > 60:
        found.append(Complaint("publisher", "is too long"))
    return found


def check_year(record):
    """The year is a whole number from 1450 to 2100."""
    value = record.get("year")
    found = []
    if not isinstance(value, int):
        return [Complaint("year", "is no whole number")]
    if value < 1450:
        found.append(Complaint("year", "is too small"))
    if value > 2100:
        found.append(Complaint("year", "is too large"))
    return found


def check_pages(record):
    """The pages is a whole number from 1 to 5000."""
    value = record.get("pages")
    found = []
    if not isinstance(value, int):
        return [Complaint("pages", "is no whole number")]
    if value < 1:
        found.append(Complaint("pages", "is too small"))
    if value > 5000:
        found.append(Complaint("pages", "is too large"))
    return found


def check_weight(record):
    """The weight is a whole number from 10 to 9000."""
    value = record.get("weight")
    found = []
    if not isinstance(value, int):
        return [Complaint("weight", "is no whole number")]
    if value < 10:
        found.append(Complaint("weight", "is too small"))
    if value > 9000:
        found.append(Complaint("weight", "is too large"))
    return found


def check_zip(record):
    """The zip has exactly 5 digits."""
    value = record.get("zip", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("zip", "is no text")]
    value = value.replace(" ", "")
    if not value.isdigit():
        found.append(Complaint("zip", "has other signs than digits"))
    if len(value) < 5:
        found.append(Complaint("zip", "has too few digits"))
    if len(value) > 6:
        found.append(Complaint("zip", "has too many digits"))
    return found


def check_phone(record):
    """The phone has 6 to 12 digits."""
    value = record.get("phone", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("phone", "is no text")]
    value = value.replace(" ", "")
    if not value.isdigit():
        found.append(Complaint("phone", "has other signs than digits"))
    if len(value) < 6:
        found.append(Complaint("phone", "has too few digits"))
    if len(value) > 12:
        found.append(Complaint("phone", "has too many digits"))
    return found


def check_shelf(record):
    """The shelf has exactly 3 digits."""
    value = record.get("shelf", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("shelf", "is no text")]
    value = value.replace(" ", "")
    if not value.isdigit():
        found.append(Complaint("shelf", "has other signs than digits"))
    if len(value) < 3:
        found.append(Complaint("shelf", "has too few digits"))
    if len(value) > 3:
        found.append(Complaint("shelf", "has too many digits"))
    return found


def check_customer(record):
    """The customer has 5 to 6 digits."""
    value = record.get("customer", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("customer", "is no text")]
    value = value.replace(" ", "")
    if not value.isdigit():
        found.append(Complaint("customer", "has other signs than digits"))
    if len(value) < 5:
        found.append(Complaint("customer", "has too few digits"))
    if len(value) > 6:
        found.append(Complaint("customer", "has too many digits"))
    return found


def check_edition(record):
    """The edition is a whole number from 1 to 99."""
    value = record.get("edition")
    found = []
    if not isinstance(value, int):
        return [Complaint("edition", "is no whole number")]
    if value < 1:
        found.append(Complaint("edition", "is too small"))
    if value > 99:
        found.append(Complaint("edition", "is too large"))
    return found


def check_copies(record):
    """The copies is a whole number from 0 to 10000."""
    value = record.get("copies")
    found = []
    if not isinstance(value, int):
        return [Complaint("copies", "is no whole number")]
    if value < 0:
        found.append(Complaint("copies", "is too small"))
    if value > 10000:
        found.append(Complaint("copies", "is too large"))
    return found


def check_language(record):
    """The language has 2 to 3 characters."""
    value = record.get("language", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("language", "is no text")]
    value = value.strip()
    if len(value) < 2:
        found.append(Complaint("language", "is too short"))
    if len(value) > 3:
        found.append(Complaint("language", "is too long"))
    return found


def check_note(record):
    """The note has 0 to 500 characters."""
    value = record.get("note", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("note", "is no text")]
    value = value.strip()
    if len(value) < 0:
        found.append(Complaint("note", "is too short"))
    if len(value) > 500:
        found.append(Complaint("note", "is too long"))
    return found


def check_binding(record):
    """The binding has 1 to 40 characters."""
    value = record.get("binding", "")
    found = []
    if not isinstance(value, str):
        return [Complaint("binding", "is no text")]
    value = value.strip()
    if len(value) < 1:
        found.append(Complaint("binding", "is too short"))
    if len(value) > 40:
        found.append(Complaint("binding", "is too long"))
    return found


CHECKS = [
    check_title,
    check_author,
    check_subtitle,
    check_publisher,
    check_year,
    check_pages,
    check_weight,
    check_zip,
    check_phone,
    check_shelf,
    check_customer,
    check_edition,
    check_copies,
    check_language,
    check_note,
    check_binding,
]


def check(record, skip=()):
    """All complaints about a record, in the order of the fields."""
    found = []
    for one in CHECKS:
        name = one.__name__[len("check_"):]
        if name in skip:
            continue
        found.extend(one(record))
    return found


def is_sound(record, skip=()):
    return not check(record, skip)


def table(records):
    """One line for each record: its title and what is wrong with it."""
    lines = []
    for record in records:
        complaints = check(record)
        title = record.get("title", "?")
        if complaints:
            lines.append(f"{title}: " + "; ".join(map(repr, complaints)))
        else:
            lines.append(f"{title}: fine")
    return "\n".join(lines)


def summary(records):
    """How many complaints each field got, the worst first."""
    counts = {}
    for record in records:
        for complaint in check(record):
            counts[complaint.field] = counts.get(complaint.field, 0) + 1
    order = sorted(counts, key=lambda field: (-counts[field], field))
    return [(field, counts[field]) for field in order]
