"""Carts, and the orders they become."""


class Cart:
    """What somebody is about to buy. A credit may make its total negative."""

    def __init__(self, items, discount=0):
        self.items = list(items)
        self.discount = discount

    def total(self):
        amount = sum(price * count for price, count in self.items)
        return amount - self.discount

    def is_empty(self):
        return not self.items


class Order:
    """What somebody has bought."""

    def __init__(self, items, discount=0):
        self.items = list(items)
        self.discount = discount
        self.sent = False

    def total(self):
        amount = sum(price * count for price, count in self.items)
        return amount - self.discount

    def send(self):
        self.sent = True
