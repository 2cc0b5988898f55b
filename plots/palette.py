"""Colours and markers, fixed per variant, so that a variant looks the same in every figure of every run.

The colours keep a distance of at least 15 (CIELAB) between any two of them for normal vision, protanopia,
deuteranopia and tritanopia; a test computes it. Markers are the second channel.
"""

from dataclasses import dataclass
from pathlib import Path

INK = "#1F2328"
MUTED = "#59636E"
FAINT = "#AFB8C1"
GRID = "#E4E8EC"
PAPER = "#FFFFFF"
BLACK = "#000000"
BAD = "#B42318"
TUNED = "#1F2328"


@dataclass(frozen=True)
class Look:
    """How a variant is drawn and in which order it stands; `label` is what people read."""

    colour: str
    marker: str
    label: str
    order: int
    dashed: bool = False


KNOWN = {
    "vendor": (INK, "o"),
    "mesh": ("#0072B2", "s"),
    "push": ("#56B4E9", "^"),
    "two_shot": ("#E69F00", "D"),
    "two_shot_write": ("#D55E00", "v"),
    "two_shot_push": ("#7A2E0E", "P"),
    "ring": ("#009E73", "o"),
    "halving_doubling": ("#B3A34A", "X"),
    "tree": ("#BC5090", "<"),
    "multimem": ("#6610C8", ">"),
    "hierarchical": ("#00535C", "p"),
    "naive": ("#AEB4BB", "h"),
}
# Variants that came later take these in the order of variants.txt, dashed to tell them from the known ones.
RESERVE = (("#0072B2", "*"), ("#D55E00", "d"), ("#009E73", "H"), ("#BC5090", "8"), ("#6610C8", "s"), ("#E69F00", "^"))


def read_variants(start=Path(__file__).resolve().parent):
    """The words of variants.txt, from the source tree or beside installed plots; [] where there is none."""
    for path in (
        start.parent / "kernels" / "variants" / "variants.txt",
        start.parent / "variants.txt",
        start / "variants.txt",
    ):
        if path.is_file():
            lines = (line.split("#")[0].split() for line in path.read_text(encoding="utf-8").splitlines())
            return [words[0] for words in lines if words]
    return []


def base_name(variant):
    """`vendor:openmpi/ring` is drawn in the family of `vendor`."""
    return variant.split(":")[0]


class Palette:
    """Looks of all variants: known names, then variants.txt, then what a run holds beside them, sorted."""

    def __init__(self, variants=None):
        listed = read_variants() if variants is None else list(variants)
        names = list(dict.fromkeys(list(KNOWN) + listed))
        self._listed = listed
        self._looks = {name: self._make(name, index, index - len(KNOWN)) for index, name in enumerate(names)}

    def look(self, variant):
        """The Look of a variant; a name that no list knows gets one that depends on the name alone."""
        if variant in self._looks:
            return self._looks[variant]
        seed = sum(ord(letter) * (index + 1) for index, letter in enumerate(variant))
        if base_name(variant) == "vendor":
            return Look(MUTED, "sdph*"[seed % 5], variant.split(":", 1)[1], len(self._looks), True)
        return self._make(variant, len(self._looks) + 1, seed)

    def colour(self, variant):
        return self.look(variant).colour

    def sort(self, variants):
        """The vendor first, then the fixed order."""
        return sorted(set(variants), key=lambda name: (self.look(name).order, name))

    @staticmethod
    def _make(name, order, reserve):
        if name in KNOWN:
            colour, marker = KNOWN[name]
            return Look(colour, marker, name, order)
        colour, marker = RESERVE[reserve % len(RESERVE)]
        return Look(colour, marker, name, order, True)


def channels(colour):
    """#RRGGBB as three numbers 0…1."""
    return tuple(int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))


def luminance(colour):
    """Relative luminance of WCAG 2."""
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels(colour)]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    """Contrast ratio of WCAG 2, 1…21."""
    light, dark = sorted((luminance(first), luminance(second)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def readable(colour, background=PAPER, ratio=4.5):
    """The colour, darkened until text in it can be read on the background."""
    red, green, blue = channels(colour)
    shade = 1.0
    while contrast(_hex(red * shade, green * shade, blue * shade), background) < ratio and shade > 0:
        shade -= 0.02
    return _hex(red * shade, green * shade, blue * shade)


def text_on(colour):
    """White or black, whichever reads better on a fill."""
    return PAPER if contrast(PAPER, colour) > contrast(BLACK, colour) else BLACK


def tint(colour, strength):
    """The colour mixed with white: strength 1 is the colour, 0 is white."""
    return _hex(*(1 - strength * (1 - c) for c in channels(colour)))


def _hex(*parts):
    return "#" + "".join(f"{round(max(0.0, min(1.0, part)) * 255):02X}" for part in parts)
