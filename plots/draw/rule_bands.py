"""The dispatch table as a strip under a size axis: which variant holds where, names inside or above their band."""

from draw.labels import spread
from palette import MUTED, PAPER, readable, text_on
from series import bands

BAND_TOP = 0.56  # of the strip's height; above it is the gutter for names that do not fit inside
NOTCH = 0.1  # a new plan of the same variant is a notch in its band
FONT = 7.8


def rule_bands(strip, rules, palette, limits):
    """Fills the strip between the axis limits. Plans of one variant share a band, parted by notches."""
    strip.set_ylim(0, 1)
    strip.set_yticks([])
    strip.grid(False)
    strip.spines["bottom"].set_visible(False)
    strip.tick_params(axis="x", length=0, pad=3)
    runs = bands(rules, *limits)
    if not runs:
        strip.text(
            0.5,
            BAND_TOP / 2,
            "no rules in the table for this",
            transform=strip.transAxes,
            ha="center",
            va="center",
            fontsize=FONT,
            color=MUTED,
        )
        return
    outside = []
    for run in runs:
        strip.fill_between([run.start, run.end], 0, BAND_TOP, color=palette.colour(run.variant), linewidth=0)
        for rule in run.rules[1:]:
            strip.plot([rule.min_bytes] * 2, [0, NOTCH], color=PAPER, linewidth=1.2, solid_capstyle="butt")
        strip.plot([run.start] * 2, [0, BAND_TOP], color=PAPER, linewidth=1.8, solid_capstyle="butt")
        if not _name_inside(strip, run, palette):
            outside.append(run)
    _names_above(strip, outside, palette)


def _middle(strip, run):
    """Centre and width of a band in pixels."""
    left, right = (strip.transData.transform((x, 0))[0] for x in (run.start, run.end))
    return (left + right) / 2, right - left


def _name_inside(strip, run, palette):
    centre, width = _middle(strip, run)
    x = strip.transData.inverted().transform((centre, 0))[0]
    colour = palette.colour(run.variant)
    for text in (_with_blocks(run), run.variant):
        artist = strip.text(
            x, BAND_TOP / 2, text, ha="center", va="center", fontsize=FONT, color=text_on(colour), fontweight="bold"
        )
        if artist.get_window_extent(strip.figure.canvas.get_renderer()).width < width - 4:
            return True
        artist.remove()
    return False


def _with_blocks(run):
    blocks = {rule.plan.blocks for rule in run.rules}
    if run.variant.startswith("vendor") or blocks == {1}:
        return run.variant
    low, high = min(blocks), max(blocks)
    return f"{run.variant} · {low if low == high else f'{low}–{high}'} blocks"


def _names_above(strip, runs, palette):
    """Names of narrow bands in the gutter, spread sideways, each over its band as near as may be."""
    if not runs:
        return
    box, renderer = strip.get_window_extent(), strip.figure.canvas.get_renderer()
    artists = [
        strip.text(
            0,
            BAND_TOP + 0.08,
            run.variant,
            ha="center",
            va="bottom",
            fontsize=FONT - 0.6,
            fontweight="bold",
            color=readable(palette.colour(run.variant)),
        )
        for run in runs
    ]
    width = max(artist.get_window_extent(renderer).width for artist in artists)
    places = spread([_middle(strip, run)[0] for run in runs], width + 6, box.x0 + width / 2, box.x1 - width / 2)
    for artist, place in zip(artists, places):
        artist.set_x(strip.transData.inverted().transform((place, 0))[0])
