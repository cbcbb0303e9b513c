"""Prices with tax."""


def gross(net):
    """The price with tax, rounded to cents."""
    return round(net * 1.19, 2)


def shipping(weight):
    return 4.9 if weight < 19 else 9.9


def tax(net):
    """The tax alone."""
    return round(net * 0.19, 2)
