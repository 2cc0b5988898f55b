"""Gain over the vendor: every variant quietly, the tuned choice in front, the table's rules as bands below."""

from draw import style
from draw.labels import end_labels, halo
from draw.lines import draw_line, nothing_to_draw
from draw.rule_bands import rule_bands
from palette import BAD, INK, PAPER, TUNED, tint
from series import VENDOR, best_per_size, gains, sizes_of, surest_best, tuned_cells, vendor_cells
from units import geometric_mean, ratio_text


def gain_over_vendor(axes, strip, cells, rules, palette, vendor_name="vendor", ticks=9, others=True):
    """Draws vendor time / time on `axes` and the rules on `strip` (axes below, or None).

    Returns the points of the tuned choice, [] without rules. `others` draws and labels every variant too.
    """
    vendor = vendor_cells(cells)
    sizes = sizes_of(cells)
    if not vendor or not sizes:
        if strip is not None:
            strip.set_axis_off()
        nothing_to_draw(axes, "the vendor was not measured" if sizes else "no cell gave a time")
        return []
    tuned = gains(tuned_cells(cells, rules), vendor)
    lines = _variant_gains(cells, vendor, palette) if others else []
    _scales(axes, strip, sizes, tuned + [point for _, line in lines for point in line], ticks)
    baseline(axes, "" if others else vendor_name, "slower than the vendor" if others else "")
    for name, line in lines:
        draw_line(
            axes,
            [point.bytes for point in line],
            [point.ratio for point in line],
            palette.look(name),
            quiet=bool(tuned),
        )
    _tuned_line(axes, tuned, palette, 6.4 if vendor_name else 4.4)
    if others:
        end_labels(axes, _ends(lines, tuned, palette) + [(sizes[-1], 1, vendor_name, INK, True)])
    if strip is not None:
        rule_bands(strip, rules, palette, axes.get_xlim())
    return tuned


def headline(tuned):
    """The tuned choice in one phrase: geometric mean and best gain."""
    if not tuned:
        return ""
    best = surest_best(tuned)
    mean = f"geometric mean {ratio_text(geometric_mean([point.ratio for point in tuned]))}"
    return mean + (f", up to {ratio_text(best.ratio)}" if best else "")


def _variant_gains(cells, vendor, palette):
    names = [name for name in palette.sort(cell.plan.variant for cell in cells if cell.timed) if name != VENDOR]
    lines = [(name, gains(best_per_size(cells, name), vendor)) for name in names]
    return [line for line in lines if line[1]]


def _scales(axes, strip, sizes, points, ticks):
    style.size_axis(axes, sizes, ticks, labels=strip is None)
    # A hopeless variant (naive) must not squeeze what matters: below 1/16 the axis is cut.
    style.ratio_axis(axes, [max(point.ratio, 1 / 16) for point in points])
    if strip is not None:
        style.size_axis(strip, sizes, ticks)
        axes.spines["bottom"].set_visible(False)
        axes.tick_params(axis="x", length=0)


def baseline(axes, name="", slower=""):
    """The line at 1× with its name, and the region below it, named where it is tall enough."""
    low = axes.get_ylim()[0]
    axes.axhspan(low, 1, color=tint(BAD, 0.05), linewidth=0, zorder=0)
    axes.axhline(1, color=INK, linewidth=1.6, zorder=2)
    place = {"xycoords": ("axes fraction", "data"), "textcoords": "offset points", "ha": "right", "zorder": 7}
    if name:
        halo(axes.annotate(name, (1, 1), (-3, 3), va="bottom", fontsize=8, fontweight="bold", color=INK, **place))
    if slower and low < 0.87:
        halo(axes.annotate(slower, (1, 1), (-3, -4), va="top", fontsize=7.5, color=tint(BAD, 0.8), **place))


def _tuned_line(axes, tuned, palette, size):
    """A dark line with points in the colour of the variant that the table chose."""
    if not tuned:
        return
    sizes, ratios = [point.bytes for point in tuned], [point.ratio for point in tuned]
    axes.fill_between(
        sizes,
        [point.low for point in tuned],
        [point.high for point in tuned],
        color=TUNED,
        alpha=0.12,
        linewidth=0,
        zorder=3,
    )
    axes.plot(sizes, ratios, color=TUNED, linewidth=size / 2.9, zorder=5)
    for name in palette.sort(point.plan.variant for point in tuned):
        mine = [point for point in tuned if point.plan.variant == name]
        axes.plot(
            [point.bytes for point in mine],
            [point.ratio for point in mine],
            linestyle="none",
            marker="o",
            markersize=size,
            markerfacecolor=palette.colour(name),
            markeredgecolor=PAPER,
            markeredgewidth=size / 7,
            zorder=6,
        )


def _ends(lines, tuned, palette):
    ends = [
        (line[-1].bytes, max(line[-1].ratio, 1 / 16), palette.look(name).label, palette.colour(name), False)
        for name, line in lines
    ]
    return ends + ([(tuned[-1].bytes, tuned[-1].ratio, "tuned choice", TUNED, True)] if tuned else [])
