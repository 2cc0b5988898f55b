"""Direct labels: names at the ends of their lines, kept apart, joined by thin leaders."""

from matplotlib.text import Text

from palette import PAPER, readable


def spread(wanted, gap, low, high):
    """Positions nearest to `wanted` (least squares) at least `gap` apart inside [low, high], in the same order.

    Pool-adjacent-violators on wanted[i] - i*gap (sorted by wanted, ties by index). When the room is too small
    the gap shrinks to what fits.
    """
    count = len(wanted)
    if count == 0:
        return []
    gap = min(gap, (high - low) / (count - 1)) if count > 1 else gap
    order = sorted(range(count), key=lambda index: (wanted[index], index))
    pools = []  # [sum, members]
    for rank, index in enumerate(order):
        pools.append([wanted[index] - rank * gap, 1])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, members = pools.pop()
            pools[-1][0] += total
            pools[-1][1] += members
    flat = [total / members for total, members in pools for _ in range(members)]
    shifted = [min(max(value, low), high - (count - 1) * gap) + rank * gap for rank, value in enumerate(flat)]
    result = [0.0] * count
    for rank, index in enumerate(order):
        result[index] = shifted[rank]
    return result


def end_labels(axes, ends, fontsize=8.5, offset=10, room=None):
    """Labels right of the axes. `ends` is a list of (x, y, text, colour, bold) in data coordinates.

    `room` is the width for names in inches (default: up to the edge of the figure); longer names lose their middle.
    Leaders run from the end of the line to its name.
    """
    pixels = axes.figure.dpi / 72
    box = axes.get_window_extent()
    room = room * axes.figure.dpi if room else axes.figure.bbox.width - box.x1 - (offset + 3) * pixels
    starts = [axes.transData.transform((x, y)) for x, y, *_ in ends]
    bounds = box.y0 + fontsize * 0.4 * pixels, box.y1 + fontsize * 0.5 * pixels
    places = spread([start[1] for start in starts], fontsize * 1.28 * pixels, *bounds)
    for (x, y, text, colour, bold), start, place in zip(ends, starts, places):
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "alpha": 0.6, "shrinkA": 1, "shrinkB": 3}
        artist = axes.annotate(
            text,
            (x, y),
            ((box.x1 - start[0]) / pixels + offset, (place - start[1]) / pixels),
            textcoords="offset points",
            ha="left",
            va="center",
            fontsize=fontsize,
            color=readable(colour),
            fontweight="bold" if bold else "normal",
            annotation_clip=False,
            arrowprops={**leader, "relpos": (0, 0.5)},
        )
        fit(artist, room)


def fit(artist, room):
    """Cuts letters out of the middle of a text until it is at most `room` pixels wide."""
    renderer, name = artist.figure.canvas.get_renderer(), artist.get_text()
    for kept in range(len(name) - 1, 3, -1):
        if Text.get_window_extent(artist, renderer).width <= room:
            return
        head = (kept + 1) // 2
        artist.set_text(f"{name[:head]}…{name[len(name) - (kept - head):]}")


def halo(artist, width=2.5):
    """A paper-coloured outline, so that text can lie over lines."""
    from matplotlib import patheffects

    artist.set_path_effects([patheffects.withStroke(linewidth=width, foreground=PAPER)])
    return artist
