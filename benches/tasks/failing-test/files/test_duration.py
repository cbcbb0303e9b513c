import unittest

import duration


class Parse(unittest.TestCase):
    def test_one_unit(self):
        self.assertEqual(duration.parse("45m"), 2700)
        self.assertEqual(duration.parse("20s"), 20)

    def test_several_units(self):
        self.assertEqual(duration.parse("1h30m"), 5400)
        self.assertEqual(duration.parse("1h1m1s"), 3661)

    def test_bare_number(self):
        self.assertEqual(duration.parse("90"), 90)

    def test_nonsense(self):
        with self.assertRaises(ValueError):
            duration.parse("h")


class Show(unittest.TestCase):
    def test_it_is_read_back(self):
        for seconds in [0, 59, 60, 3600, 5400, 3661]:
            self.assertEqual(duration.parse(duration.show(seconds)), seconds)


if __name__ == "__main__":
    unittest.main()
