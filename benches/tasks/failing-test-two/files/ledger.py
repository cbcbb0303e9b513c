"""A ledger of coins in and out. Amounts are whole coins."""


class Ledger:
    def __init__(self):
        self.entries = []

    def add(self, day, amount, what=""):
        """Books an amount; a negative one is spent."""
        self.entries.append((day, amount, what))

    def balance(self, day=None):
        """What is left after `day`, that day included; None is for now."""
        total = 0
        for when, amount, _ in self.entries:
            if day is None or when < day:
                total += amount
        return total

    def spent(self):
        """All that was spent, as a positive number."""
        return sum(amount for _, amount, _ in self.entries if amount < 0)

    def days(self):
        """Days with an entry, each once, in order."""
        return sorted({when for when, _, _ in self.entries})
