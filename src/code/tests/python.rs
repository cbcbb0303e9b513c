//! Answers for files of Python.

use super::*;

const CART: &str = r#"""" Carts. """
import os

RATE = 0.2


# Adds two.
def add(a, b):
    return a + b


class Cart:
    """Holds items."""

    size = 3

    def __init__(self):
        self.items = []

    @property
    def total(self):
        return sum(self.items)

    def clear(self):
        self.items = []


if __name__ == "__main__":
    print(add(1, 2))
"#;

#[test]
fn what_becomes_of_an_answer() {
    for (answer, want) in [
        // (1) All names: the whole, also with something renamed.
        (CART, "whole"),
        (&CART.replace("RATE", "TAX"), "whole"),
        (&CART.replace("add", "plus"), "whole"),
        (&CART.replace("clear", "empty"), "whole"),
        (&CART.replace("import os\n", ""), "whole"),
        // (2) Known definitions.
        ("def add(a, b):\n    return b + a\n", "parts: add"),
        ("import sys\n\ndef add(a, b):\n    return b + a\n", "parts: add"),
        ("    def add(a, b):\n        return b + a\n", "parts: add"),
        ("RATE = 0.3\n", "parts: RATE"),
        ("def add(a, b):\n    return b + a\n\n\ndef sub(a, b):\n    return a - b\n", "parts: add, sub"),
        ("def add(a, b):\n    return b + a\n\nprint(add(1, 2))\n", "parts: add"),
        // Classes in part.
        ("class Cart:\n    def clear(self):\n        self.items.clear()\n", "parts: clear"),
        ("class Cart:\n    def count(self):\n        return 1\n", "parts: count"),
        (
            "class Cart:\n    # ... existing methods ...\n\n    def clear(self):\n        pass\n",
            "parts: clear",
        ),
        ("class Cart:\n    ...\n    def clear(self):\n        pass\n", "parts: clear"),
        ("class Cart(Base):\n    def clear(self):\n        pass\n", "parts: Cart, clear"),
        // (3) A method without its class.
        ("def clear(self):\n    self.items.clear()\n", "parts: clear"),
        ("    def clear(self):\n        self.items.clear()\n", "parts: clear"),
        ("def clear(items):\n    items.clear()\n", "missing: RATE, add, Cart; unknown: clear"),
        // (4) Neither.
        ("def mul(a, b):\n    return a * b\n", "missing: RATE, add, Cart; unknown: mul"),
        ("add(1, 2)\n", "missing: RATE, add, Cart; unknown: add(1, 2)"),
        ("", "missing: RATE, add, Cart; unknown: "),
        ("def add(a, b)\n    return 1\n", "broken: 1: syntax error in `def add(a, b)`"),
        // Left out code.
        ("def add(a, b):\n    # ... rest unchanged\n", "elided: # ... rest unchanged"),
        ("def add(a, b):\n    check(a)\n    # rest of the function\n", "elided: # rest of the function"),
        ("def add(a, b): ...\n", "elided: def add(a, b): ..."),
        ("def add(a, b):\n    check(a)\n    ...\n", "elided: ..."),
        ("# ... existing code ...\n\ndef add(a, b):\n    return 1\n", "parts: add"),
    ] {
        assert_eq!(said("cart.py", CART, answer), want, "{answer}");
    }
}

#[test]
fn only_the_replaced_definition_changes() {
    for (answer, old, new) in [
        ("def add(a, b):\n    return b + a\n", "return a + b", "return b + a"),
        ("def total(self):\n    return 1\n", "return sum(self.items)", "return 1"),
        ("# Sums.\ndef add(a, b):\n    return a + b\n", "# Adds two.", "# Sums."),
        ("import sys\n\ndef add(a, b):\n    return a + b\n", "import os\n", "import os\nimport sys\n"),
        ("import os\n\ndef add(a, b):\n    return a - b\n", "return a + b", "return a - b"),
        (
            "class Cart:\n    def clear(self):\n        pass\n\n    def count(self):\n        return 1\n",
            "    def clear(self):\n        self.items = []\n",
            "    def clear(self):\n        pass\n\n    def count(self):\n        return 1\n",
        ),
        (
            "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n",
            "    return a + b\n",
            "    return a + b\n\n\ndef sub(a, b):\n    return a - b\n",
        ),
    ] {
        assert_eq!(fitted("cart.py", CART, answer), CART.replace(old, new), "{answer}");
    }
}
