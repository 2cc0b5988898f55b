"""Proves that colours are fixed per variant, told apart by every kind of colour vision, and readable as text."""

import itertools
import unittest

from context import PLOTS, RunFolderTest, main

from palette import KNOWN, PAPER, RESERVE, Palette, channels, contrast, read_variants, readable, text_on

# Machado, Oliveira, Fernandes 2009, severity 1, on linear RGB.
VISION = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
TO_XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def lab(colour, matrix):
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
    seen = [min(1, max(0, part)) for part in times(matrix, linear)]
    x, y, z = (value / white for value, white in zip(times(TO_XYZ, seen), (0.9505, 1, 1.089)))
    f = [t ** (1 / 3) if t > 0.008856 else 7.787 * t + 16 / 116 for t in (x, y, z)]
    return 116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])


class Colours(unittest.TestCase):
    def test_any_two_variants_differ_for_every_vision(self):
        for vision, matrix in VISION.items():
            seen = {name: lab(colour, matrix) for name, (colour, _) in KNOWN.items()}
            for a, b in itertools.combinations(seen, 2):
                distance = sum((p - q) ** 2 for p, q in zip(seen[a], seen[b])) ** 0.5
                self.assertGreaterEqual(distance, 15, f"{vision}: {a} and {b}")

    def test_names_can_be_read_in_their_colour_and_on_it(self):
        for colour in [look[0] for look in KNOWN.values()] + [colour for colour, _ in RESERVE]:
            self.assertGreaterEqual(contrast(readable(colour), PAPER), 4.5)
            self.assertGreaterEqual(contrast(text_on(colour), colour), 4.5)


class Fixed(RunFolderTest):
    def test_a_colour_does_not_depend_on_what_else_is_there(self):
        alone, listed = Palette([]), Palette(["brand_new", "mesh", "another"])
        for name in KNOWN:
            self.assertEqual(alone.look(name).colour, listed.look(name).colour)
        self.assertEqual(listed.look("brand_new"), Palette(["mesh", "brand_new", "another"]).look("brand_new"))

    def test_unlisted_and_vendor_variants_have_a_look_that_depends_on_the_name_alone(self):
        for name in ("vendor:openmpi/ring", "my_own"):
            self.assertEqual(Palette([]).look(name), Palette([]).look(name))
        self.assertEqual(Palette([]).look("vendor:openmpi/ring").label, "openmpi/ring")
        self.assertTrue(Palette([]).look("my_own").dashed)

    def test_the_vendor_comes_first_then_a_fixed_order(self):
        self.assertEqual(
            Palette([]).sort(["ring", "zz", "mesh", "vendor", "vendor:openmpi/ring", "mesh"]),
            ["vendor", "mesh", "ring", "vendor:openmpi/ring", "zz"],
        )

    def test_the_list_is_read_with_comments(self):
        (self.folder / "plots").mkdir()
        (self.folder / "variants.txt").write_text("# all\nmesh\n\nring # hop by hop\n")
        self.assertEqual(read_variants(self.folder / "plots"), ["mesh", "ring"])
        self.assertEqual(read_variants(self.folder / "plots" / "deeper"), [])

    def test_every_variant_of_this_source_tree_has_a_colour_of_its_own(self):
        names = read_variants(PLOTS)
        palette = Palette(names)
        self.assertEqual(len({(palette.look(name).colour, palette.look(name).marker) for name in names}), len(names))


if __name__ == "__main__":
    main()
