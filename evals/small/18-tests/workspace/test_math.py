import unittest


class Sums(unittest.TestCase):
    def test_one(self):
        self.assertEqual(1 + 1, 2)

    def test_two(self):
        self.assertEqual(2 * 2, 5)

    def test_three(self):
        self.assertEqual(3 - 1, 2)


if __name__ == "__main__":
    unittest.main()
