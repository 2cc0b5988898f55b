"""Fused kernels: time of the unfused pair (vendor's collective, then the norm) over the fused kernel's, by rows."""

from matplotlib.ticker import FixedFormatter, FixedLocator, NullFormatter

from draw import style
from draw.gain import baseline
from draw.labels import end_labels
from draw.lines import nothing_to_draw
from palette import PAPER
from series import VENDOR, gain

# One hue per row length, dark to light as rows get shorter: order is what matters here, not identity.
HUES = ("#08306B", "#08519C", "#2171B5", "#4292C6", "#6BAED6", "#9ECAE1")
MARKERS = "osD^vP"


def unfused(variant):
    """What a fused kernel is measured against."""
    return variant == VENDOR or variant.startswith("unfused")


def fused_gains(cells):
    """{(rows, cols): Point}: the fastest fused plan against the unfused pair, where both were measured."""
    fused, baseline = {}, {}
    for cell in cells:
        if not cell.timed:
            continue
        side, key = baseline if unfused(cell.plan.variant) else fused, (cell.rows, cell.cols)
        if key not in side or cell.median < side[key].median:
            side[key] = cell
    return {key: gain(fused[key], baseline[key]) for key in sorted(fused) if key in baseline}


def fused_over_rows(axes, cells):
    """One line per row length (cols). Returns the points drawn."""
    points = fused_gains(cells)
    if not points:
        nothing_to_draw(axes, "no shape was measured both fused and unfused")
        return points
    rows = sorted({max(1, count) for count, _ in points})
    style.ratio_axis(axes, [point.ratio for point in points.values()])
    _rows_axis(axes, rows)
    baseline(axes, "unfused", "slower than unfused")
    ends = []
    for index, cols in enumerate(sorted({cols for _, cols in points}, reverse=True)):
        line = [(max(1, count), points[count, width]) for count, width in sorted(points) if width == cols]
        colour, marker = HUES[index % len(HUES)], MARKERS[index % len(MARKERS)]
        xs, ratios = [x for x, _ in line], [point.ratio for _, point in line]
        errors = [[p.ratio - p.low for _, p in line], [p.high - p.ratio for _, p in line]]
        axes.errorbar(
            xs,
            ratios,
            errors,
            color=colour,
            linewidth=1.6,
            elinewidth=1,
            marker=marker,
            markersize=5.5,
            markeredgecolor=PAPER,
            zorder=4,
        )
        ends.append((xs[-1], ratios[-1], f"{cols} columns", colour, False))
    style.axis_title(axes, "unfused time / fused time")
    end_labels(axes, ends)
    return points


def _rows_axis(axes, rows):
    room = 1.25 if rows[-1] > rows[0] else 2
    axes.set_xscale("log", base=2)
    axes.set_xlim(rows[0] / room, rows[-1] * room)
    ticks, last = [], 0
    for count in rows:
        if count >= last * (rows[-1] / rows[0]) ** 0.06:
            ticks.append(count)
            last = count
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([str(tick) for tick in ticks]))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_minor_locator(FixedLocator([]))
    axes.set_xlabel("rows", fontsize=8.5)
