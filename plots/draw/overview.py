"""The figure of the README: the main problem in full, the others as small multiples of gain and rules."""

import facts
from caveats import caveats, source
from draw import style
from draw.by_size import time_over_size
from draw.gain import gain_over_vendor, headline
from series import gains, surest_best, tuned_cells, vendor_cells
from units import geometric_mean, plural, ratio_text

WIDTH = 10.8  # inches, as all lengths here
LEFT = 0.62
MOST_SMALL = 6
COLUMNS = (1, 1, 2, 3, 2, 3, 3)  # by the number of small panels: no row with one of them
HEADING, HERO, SMALL = 1.28, 3.0, 1.42  # heights: title to hero axes, hero axes, small axes with strip
GAP, FOOT = 1.0, 0.66  # axes to axes of the next row, last axes to the lower edge
BESIDE, EDGE = 0.7, 0.2  # between small axes, right of the last


def overview(run, palette):
    """Left: time of everything; right: gain of the tuned choice with its rules; below: up to six other groups."""
    groups = facts.ranked_groups(run)
    small = groups[1 : 1 + MOST_SMALL]
    columns = COLUMNS[len(small)]
    rows = -(-len(small) // columns)
    height = HEADING + HERO + rows * (SMALL + GAP) + FOOT
    figure = style.new_figure(WIDTH, height)
    _heading(figure, run, groups)
    _hero(figure, run, groups[0], palette, height - HEADING - HERO)
    panels = []
    for index, (group, cells) in enumerate(small):
        row, column = divmod(index, columns)
        width = (WIDTH - LEFT - EDGE + BESIDE) / columns - BESIDE
        place = LEFT + column * (width + BESIDE), FOOT + (rows - 1 - row) * (SMALL + GAP), width
        panels.append(_small(figure, run, group, cells, palette, place))
    _share_ratio_axis([axes for axes in panels if axes.get_yscale() == "log"])
    left_out = len(groups) - 1 - len(small)
    more = [f"{plural(left_out, 'more group')} in the report"] if left_out > 0 else []
    style.footer(figure, source(run) + more)
    return figure


def _heading(figure, run, groups):
    points = [
        point
        for group, cells in groups
        for point in gains(tuned_cells(cells, run.rules_of(group)), vendor_cells(cells))
    ]
    title = f"attune against {facts.vendor_name(run)}"
    if points:
        best = surest_best(points)
        title += f": {ratio_text(geometric_mean([point.ratio for point in points]))} as fast"
        title += f", up to {ratio_text(best.ratio)}" if best else ""
    scope = f"; geometric mean over {plural(len(points), 'case')} (all sizes and groups of the run)" if points else ""
    style.heading(figure, title, f"{facts.hardware_name(run)}.  Median time of one call{scope}.", caveats(run), size=14)


def _hero(figure, run, first, palette, bottom):
    group, cells = first
    vendor = facts.vendor_name(run)
    axes = style.axes_at(figure, LEFT, bottom, 4.0, HERO)
    time_over_size(axes, cells, palette, vendor, ticks=6, title=facts.group_conditions(group), room=1.4)
    _name(axes, f"{facts.group_title(group)}: time of one call")
    left, width, strip_height = 6.5, WIDTH - 6.5 - 0.2, 0.46
    strip = style.axes_at(figure, left, bottom, width, strip_height)
    axes = style.axes_at(figure, left, bottom + strip_height + 0.06, width, HERO - strip_height - 0.06)
    tuned = gain_over_vendor(axes, strip, cells, run.rules_of(group), palette, vendor, ticks=6, others=False)
    _name(axes, "What the table chooses, and what it gains", headline(tuned))


def _small(figure, run, group, cells, palette, place):
    (left, bottom, width), strip_height = place, 0.4
    strip = style.axes_at(figure, left, bottom, width, strip_height)
    axes = style.axes_at(figure, left, bottom + strip_height + 0.05, width, SMALL - strip_height - 0.05)
    ticks = min(11, round(width * 1.7))
    tuned = gain_over_vendor(axes, strip, cells, run.rules_of(group), palette, "", ticks=ticks, others=False)
    mean = f": {ratio_text(geometric_mean([point.ratio for point in tuned]))}" if tuned else ""
    operation = (
        f"{group.collective}, {group.cols} columns" if group.fused else f"{group.op}, {facts.group_conditions(group)}"
    )
    _name(axes, f"{group.dtype} · {plural(group.ranks, 'rank')}{mean}", operation)
    return axes


def _share_ratio_axis(panels):
    """Small multiples compare by eye only on one scale."""
    if panels:
        limits = [axes.get_ylim() for axes in panels]
        low, high = min(limit[0] for limit in limits), max(limit[1] for limit in limits)
        for axes in panels:
            style.ratio_axis(axes, [low * 1.25, high / 1.25])


def _name(axes, text, conditions=""):
    if conditions:
        style.axis_title(axes, conditions)
    axes.annotate(
        text,
        (0, 1),
        (0, 20),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="left",
        va="bottom",
        fontsize=10,
        fontweight="bold",
    )
