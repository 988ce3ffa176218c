import unittest

from words import count


class Words(unittest.TestCase):
    def test_plain(self):
        self.assertEqual(count("a b c"), 3)

    def test_two_spaces(self):
        self.assertEqual(count("a  b"), 2)


if __name__ == "__main__":
    unittest.main()
