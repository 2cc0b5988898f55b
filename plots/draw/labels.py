"""Direct labels: names at the ends of their lines, kept apart, joined by thin leaders."""

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


def end_labels(axes, ends, fontsize=8.5, offset=10):
    """Labels right of the axes. `ends` is a list of (x, y, text, colour, bold) in data coordinates.

    Returns the text artists. The caller leaves room at the right; leaders run from the end of the line.
    """
    figure = axes.figure
    pixels = figure.dpi / 72
    box = axes.get_window_extent()
    heights = [axes.transData.transform((x, y))[1] for x, y, *_ in ends]
    places = spread(
        heights, fontsize * 1.28 * pixels, box.y0 + fontsize * 0.4 * pixels, box.y1 + fontsize * 0.5 * pixels
    )
    artists = []
    for (x, y, text, colour, bold), place in zip(ends, places):
        start = axes.transData.transform((x, y))
        target = ((box.x1 - start[0]) / pixels + offset, (place - start[1]) / pixels)
        leader = {"arrowstyle": "-", "color": colour, "linewidth": 0.7, "alpha": 0.6, "shrinkA": 2, "shrinkB": 3}
        artists.append(
            axes.annotate(
                text,
                (x, y),
                target,
                textcoords="offset points",
                ha="left",
                va="center",
                fontsize=fontsize,
                color=readable(colour),
                fontweight="bold" if bold else "normal",
                annotation_clip=False,
                arrowprops=leader,
            )
        )
    return artists


def halo(artist, width=2.5):
    """A paper-coloured outline, so that text can lie over lines."""
    from matplotlib import patheffects

    artist.set_path_effects([patheffects.withStroke(linewidth=width, foreground=PAPER)])
    return artist
