import unittest

from ledger import Ledger


def filled():
    ledger = Ledger()
    ledger.add(1, 100, "wages")
    ledger.add(3, -30, "bread")
    ledger.add(3, -5, "salt")
    ledger.add(7, 20, "eggs sold")
    return ledger


class Balance(unittest.TestCase):
    def test_now(self):
        self.assertEqual(filled().balance(), 85)

    def test_after_a_day(self):
        self.assertEqual(filled().balance(3), 65)

    def test_nothing_yet(self):
        self.assertEqual(filled().balance(0), 0)


class Rest(unittest.TestCase):
    def test_spent(self):
        self.assertEqual(filled().spent(), 35)

    def test_days(self):
        self.assertEqual(filled().days(), [1, 3, 7])


if __name__ == "__main__":
    unittest.main()
