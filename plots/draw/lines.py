"""Lines over message size that all figures share: one per variant, the vendor emphasised, intervals as bands."""

from palette import INK, PAPER

BAND = 0.16


def draw_line(axes, sizes, values, look, lows=None, highs=None, heavy=False, quiet=False):
    """One variant's line with its marker and, where given, its interval. Quiet lines step back behind others."""
    width = 2.4 if heavy else 1.0 if quiet else 1.6
    size = 4.6 if heavy else 3.0 if quiet else 4.2
    order = 5 if heavy else 2 if quiet else 3
    if lows is not None and not quiet:
        axes.fill_between(sizes, lows, highs, color=look.colour, alpha=BAND, linewidth=0, zorder=order - 1)
    # Few marks: a line of 24 sizes with 24 markers each is a rope.
    every = max(1, len(sizes) // 12) if not heavy else max(1, len(sizes) // 24)
    axes.plot(
        sizes,
        values,
        color=look.colour,
        linewidth=width,
        marker=look.marker,
        markersize=size,
        markevery=every,
        markeredgecolor=PAPER,
        markeredgewidth=0.6,
        alpha=0.45 if quiet else 1.0,
        zorder=order,
        linestyle=(0, (4, 1.5)) if look.dashed else "-",
    )


def nothing_to_draw(axes, text):
    """Axes that say why they are empty."""
    axes.set_xticks([])
    axes.set_yticks([])
    axes.spines["bottom"].set_visible(False)
    axes.text(0.5, 0.5, text, transform=axes.transAxes, ha="center", va="center", fontsize=10, color=INK)
