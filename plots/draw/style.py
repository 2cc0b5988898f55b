"""Figures and axes: one look, log size axes with binary ticks, titles, badges, deterministic files."""

import math

import matplotlib
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.ticker import FixedFormatter, FixedLocator, FuncFormatter, NullFormatter

from palette import FAINT, GRID, INK, MUTED, PAPER
from units import ratio_text, significant, size_text, time_text

DPI = 200
PART = "  ·  "
SETTINGS = {
    "font.family": "DejaVu Sans",
    "font.size": 9.0,
    "text.color": INK,
    "axes.labelcolor": MUTED,
    "axes.edgecolor": FAINT,
    "xtick.color": MUTED,
    "ytick.color": MUTED,
    "axes.linewidth": 0.8,
    "axes.axisbelow": True,
    "lines.solid_capstyle": "round",
    "lines.solid_joinstyle": "round",
    "svg.hashsalt": "attune",
    "svg.fonttype": "path",
    "path.simplify": True,
}


def use_style():
    """Settles the look; independent of the user's matplotlibrc."""
    matplotlib.rcdefaults()
    matplotlib.rcParams.update(SETTINGS)


def new_figure(width, height):
    """An empty figure of width × height inches that needs no display."""
    use_style()
    figure = Figure(figsize=(width, height), facecolor=PAPER, dpi=100)
    FigureCanvasAgg(figure)
    return figure


def axes_at(figure, left, bottom, width, height, **options):
    """Axes at a place given in inches from the lower left corner."""
    total_width, total_height = figure.get_size_inches()
    axes = figure.add_axes(
        [left / total_width, bottom / total_height, width / total_width, height / total_height], **options
    )
    plain(axes)
    return axes


def plain(axes):
    """No box, horizontal grid only, short quiet ticks."""
    for side in ("top", "right", "left"):
        axes.spines[side].set_visible(False)
    axes.grid(axis="y", color=GRID, linewidth=0.8)
    axes.tick_params(length=3, width=0.8, color=FAINT, labelsize=8.5)
    axes.tick_params(axis="y", length=0)
    axes.tick_params(which="minor", length=0)


def size_ticks(low, high, most=9):
    """Powers of two between low and high, evenly spaced, about `most`; always the first, the last if it fits."""
    first, last = math.ceil(math.log2(low) - 1e-9), math.floor(math.log2(high) + 1e-9)
    if last < first:
        return [low]
    step = next(step for step in (1, 2, 3, 4, 6, 8, 10, 12, 20, 64) if (last - first) // step + 1 <= most)
    powers = list(range(first, last + 1, step))
    if last - powers[-1] >= 0.6 * step:
        powers.append(last)
    return [2**power for power in powers]


def size_axis(axes, sizes, most=9, labels=True):
    """Log-2 x axis over the sizes, with room at both ends; one size gets a factor of two around it."""
    low, high = min(sizes), max(sizes)
    room = 2 ** max(0.35, 0.02 * math.log2(high / low)) if high > low else 2
    axes.set_xscale("log", base=2)
    axes.set_xlim(low / room, high * room)
    ticks = size_ticks(low, high, most)
    axes.xaxis.set_major_locator(FixedLocator(ticks))
    axes.xaxis.set_major_formatter(FixedFormatter([size_text(tick) if labels else "" for tick in ticks]))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_minor_locator(FixedLocator([]))


def time_axis(axes, values):
    """Log y axis of times with units in the tick labels."""
    low, high = min(values), max(values)
    axes.set_yscale("log")
    axes.set_ylim(low / 1.6, high * 1.9)
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: time_text(value)))
    if math.log10(high / low * 3) < 1.6:
        axes.yaxis.set_major_locator(matplotlib.ticker.LogLocator(10, subs=(1, 2, 5)))
    axes.yaxis.set_minor_locator(FixedLocator([]))


def ratio_axis(axes, values, around=1.0):
    """Log y axis of ratios with ticks …½×, 1×, 2×, 4×… that always holds 1."""
    low, high = min(list(values) + [around]), max(list(values) + [around])
    low, high = low / 1.25, high * 1.25
    axes.set_yscale("log", base=2)
    axes.set_ylim(low, high)
    span = math.log2(high / low)
    step = 0.5 if span < 1.2 else 1 if span < 7 else 2
    powers = [step * index for index in range(math.ceil(math.log2(low) / step), math.floor(math.log2(high) / step) + 1)]
    axes.yaxis.set_major_locator(FixedLocator([2**power for power in powers]))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: ratio_text(value)))
    axes.yaxis.set_minor_locator(FixedLocator([]))


def rate_axis(axes, values):
    """Linear y axis of rates from zero."""
    axes.set_ylim(0, max(values) * 1.12)
    axes.yaxis.set_major_locator(matplotlib.ticker.MaxNLocator(6, min_n_ticks=3))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: significant(value)))


def axis_title(axes, text):
    """The y title as a line of text above the axis: it reads without turning the head."""
    axes.annotate(
        text,
        (0, 1),
        (0, 7),
        xycoords="axes fraction",
        textcoords="offset points",
        ha="left",
        va="bottom",
        fontsize=8.5,
        color=MUTED,
    )


def heading(figure, title, subtitle="", caveats=(), left=0.16, size=13):
    """Title, what is measured, and caveats (text, colour) as pills at the top right; `left` in inches."""
    width, height = figure.get_size_inches()
    name = figure.text(left / width, 1 - 0.17 / height, title, fontsize=size, fontweight="bold", va="top", ha="left")
    if subtitle:
        top = 1 - (0.2 + size / 56) / height
        figure.text(left / width, top, subtitle, fontsize=9, color=MUTED, va="top", ha="left")
    right = 1 - 0.2 / width
    for caveat in caveats:
        right = _pill(figure, right, caveat.text, caveat.colour)
    while name.get_window_extent(figure.canvas.get_renderer()).x1 > right * figure.bbox.width and size > 8:
        size -= 0.5
        name.set_fontsize(size)


def _pill(figure, right, text, colour):
    """A white text on a coloured pill that ends at `right`; returns where the next one may end."""
    width, height = figure.get_size_inches()
    box = {"boxstyle": "round,pad=0.35", "facecolor": colour, "edgecolor": "none"}
    look = {"fontsize": 8, "fontweight": "bold", "color": PAPER, "va": "top", "ha": "right", "bbox": box}
    pill = figure.text(right, 1 - 0.2 / height, text, **look)
    extent = pill.get_window_extent(figure.canvas.get_renderer())
    return right - (extent.width / figure.dpi + 0.22) / width


def footer(figure, parts, left=0.16):
    """Quiet lines at the bottom: where the numbers come from. Parts that do not fit in a line begin the next."""
    width, height = figure.get_size_inches()
    look = {"fontsize": 7.5, "color": MUTED, "va": "bottom", "ha": "left", "linespacing": 1.25}
    line = figure.text(left / width, 0.08 / height, "", **look)
    whole = ""
    for part in parts:
        line.set_text(whole.rpartition("\n")[2] + PART + part)
        fits = line.get_window_extent(figure.canvas.get_renderer()).x1 < figure.bbox.width - 8
        whole += (PART if fits and whole else "\n" if whole else "") + part
    line.set_text(whole)


def save(figure, path):
    """Writes the figure under a temporary name and renames it. Same input, same bytes: no dates, no versions."""
    kind = path.suffix.lstrip(".")
    metadata = {"svg": {"Date": None, "Creator": "attune"}, "png": {"Software": "attune"}}.get(kind)
    unfinished = path.with_name(f".{path.name}.part")
    figure.savefig(unfinished, format=kind, dpi=DPI, facecolor=PAPER, metadata=metadata)
    unfinished.replace(path)
