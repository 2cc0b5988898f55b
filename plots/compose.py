"""Whole figures: one idea each, with title, conditions, badges and where the numbers come from."""

import facts
from caveats import caveats, source
from draw import style
from draw.by_size import bandwidth_over_size, time_over_size
from draw.fused import fused_over_rows
from draw.gain import gain_over_vendor, headline
from draw.heat_map import block_heat_map, heat_key
from series import block_sweep, swept_variants

WIDTH, LEFT, RIGHT = 8.4, 0.72, 1.7  # inches; the right margin holds the names of the lines


def _frame(run, group, cells, subtitle, height, bottom=0.62, top=0.98):
    """A figure with its heading and footer, and the box left for axes: (figure, (left, bottom, width, height))."""
    figure = style.new_figure(WIDTH, height)
    style.heading(
        figure, facts.group_title(group), f"{facts.group_conditions(group)}.  {subtitle}", caveats(run, group)
    )
    style.footer(figure, source(run, group, cells))
    return figure, (LEFT, bottom, WIDTH - LEFT - RIGHT, height - bottom - top)


def time_figure(run, group, cells, palette):
    """(a) time over size, every variant at its best plan."""
    figure, box = _frame(
        run, group, cells, "Best plan of every variant; bands: confidence interval of the median.", 5.2
    )
    time_over_size(style.axes_at(figure, *box), cells, palette, facts.vendor_name(run))
    return figure


def bandwidth_figure(run, group, cells, palette):
    """(c) bus bandwidth over size."""
    figure, box = _frame(run, group, cells, "Best plan of every variant.", 5.2)
    bandwidth_over_size(style.axes_at(figure, *box), cells, palette, facts.vendor_name(run))
    return figure


def gain_figure(run, group, cells, palette):
    """(b) gain over the vendor, the tuned choice and the rules that make it."""
    figure, (left, bottom, width, height) = _frame(
        run, group, cells, "Best plan of every variant; bold: what the table chooses.", 5.6
    )
    strip_height = 0.52
    axes = style.axes_at(figure, left, bottom + strip_height + 0.08, width, height - strip_height - 0.08)
    strip = style.axes_at(figure, left, bottom, width, strip_height)
    tuned = gain_over_vendor(axes, strip, cells, run.rules_of(group), palette, facts.vendor_name(run))
    style.axis_title(axes, "gain: vendor's time / time" + (f".  Tuned choice: {headline(tuned)}" if tuned else ""))
    return figure


def heat_figure(run, group, cells, palette):
    """(d) blocks × size for every variant whose block count was swept; None when none was."""
    names = swept_variants(cells, palette.sort(cell.plan.variant for cell in cells))
    if not names:
        return None
    rows = [len({blocks for blocks, _ in block_sweep(cells, name)}) for name in names]
    row_height, gap, bottom, top = 0.3, 0.36, 0.62, 1.2
    height = bottom + top + sum(rows) * row_height + gap * (len(names) - 1)
    figure, (left, bottom, width, _) = _frame(
        run, group, cells, "Blocks × size: time relative to the best block count of the size.", height, bottom
    )
    place = height - top
    for index, (name, count) in enumerate(zip(names, rows)):
        place -= count * row_height
        axes = style.axes_at(figure, left, place, WIDTH - left - 0.3, count * row_height)
        block_heat_map(axes, cells, name, palette, size_labels=index == len(names) - 1)
        place -= gap
    heat_key(figure, WIDTH - 1.8, height - 0.88)
    return figure


def fused_figure(run, groups, palette):
    """(e) unfused over fused for groups that differ in cols alone; None when nothing was measured on both sides."""
    group, cells = groups[0][0], [cell for _, members in groups for cell in members]
    whole = type(group)(**{**group.__dict__, "cols": 0})
    figure, box = _frame(
        run, whole, cells, "One fused launch against the vendor's collective and a separate norm.", 4.6, bottom=0.85
    )
    points = fused_over_rows(style.axes_at(figure, *box), cells)
    return figure if points else None
