"""Time over size and bus bandwidth over size: the best plan of every variant, the vendor emphasised."""

from draw import style
from draw.labels import end_labels
from draw.lines import draw_line, nothing_to_draw
from series import VENDOR, best_per_size, sizes_of, vendor_cells


def variant_lines(cells, palette):
    """[(variant, cells by size)] in the fixed order; the vendor also where only vendor_us tells it."""
    names = palette.sort(cell.plan.variant for cell in cells if cell.timed)
    lines = [(name, best_per_size(cells, name)) for name in names if name != VENDOR]
    vendor = list(vendor_cells(cells).values())
    return ([(VENDOR, vendor)] if vendor else []) + [line for line in lines if line[1]]


def time_over_size(axes, cells, palette, vendor_name="vendor", ticks=9, title="time of one call (median)", room=None):
    """Median time of one call, log-log, with the interval of the median as a band. `room`: inches for names."""
    lines = variant_lines(cells, palette)
    if not lines:
        return nothing_to_draw(axes, "no cell gave a time")
    style.size_axis(axes, sizes_of(cells) or [cell.bytes for _, line in lines for cell in line], ticks)
    style.time_axis(axes, [cell.median for _, line in lines for cell in line])
    for name, line in lines:
        draw_line(
            axes,
            [cell.bytes for cell in line],
            [cell.median for cell in line],
            palette.look(name),
            [cell.low for cell in line],
            [cell.high for cell in line],
            heavy=name == VENDOR,
        )
    style.axis_title(axes, title)
    _label_ends(axes, lines, palette, vendor_name, lambda cell: cell.median, room)


def bandwidth_over_size(axes, cells, palette, vendor_name="vendor", ticks=9):
    """Bus bandwidth (nccl-tests' formula) in GB/s from zero."""
    lines = [(name, [cell for cell in line if cell.busbw is not None]) for name, line in variant_lines(cells, palette)]
    lines = [(name, line) for name, line in lines if line]
    if not lines:
        return nothing_to_draw(axes, "no cell has a bandwidth")
    style.size_axis(axes, sizes_of(cells), ticks)
    style.rate_axis(axes, [cell.busbw for _, line in lines for cell in line])
    for name, line in lines:
        draw_line(
            axes, [cell.bytes for cell in line], [cell.busbw for cell in line], palette.look(name), heavy=name == VENDOR
        )
    style.axis_title(axes, "bus bandwidth, GB/s (1 GB = 10⁹ B)")
    _label_ends(axes, lines, palette, vendor_name, lambda cell: cell.busbw)


def _label_ends(axes, lines, palette, vendor_name, value, room=None):
    ends = [
        (
            line[-1].bytes,
            value(line[-1]),
            vendor_name if name == VENDOR else palette.look(name).label,
            palette.colour(name),
            name == VENDOR,
        )
        for name, line in lines
    ]
    end_labels(axes, ends, room=room)
