"""Block sweeps: blocks × size, coloured by the time relative to the best block count of that size."""

import math

from matplotlib.colors import LinearSegmentedColormap, LogNorm

from draw import style
from palette import FAINT, INK, PAPER, readable
from series import block_sweep
from units import size_text

WORST = 4.0  # ratios beyond are drawn alike
SCALE = LinearSegmentedColormap.from_list("slower", ["#F3F7FB", "#B9D3EA", "#6FA0CC", "#2E6BA3", "#0B3A66", "#061D36"])


def block_heat_map(axes, cells, variant, palette, size_labels=True):
    """One variant's sweep. Cells say the ratio in digits where they are wide enough; the best has a ring."""
    times = block_sweep(cells, variant)
    sizes, blocks = sorted({size for _, size in times}), sorted({count for count, _ in times})
    best = {size: min(times[key] for key in times if key[1] == size) for size in sizes}
    grid = [[times.get((count, size), math.nan) / best[size] for size in sizes] for count in blocks]
    axes.grid(False)
    axes.set_facecolor("#F6F8FA")
    axes.pcolormesh(
        range(len(sizes) + 1),
        range(len(blocks) + 1),
        grid,
        cmap=SCALE,
        norm=LogNorm(1, WORST, clip=True),
        edgecolors=PAPER,
        linewidth=1,
    )
    for row, line in enumerate(grid):
        for column, ratio in enumerate(line):
            if math.isfinite(ratio):
                _ratio_in_cell(axes, column, row, ratio, crowded=len(sizes) > 28)
    _ticks(axes, sizes, blocks, size_labels)
    axes.set_title(variant, loc="left", fontsize=9, fontweight="bold", color=readable(palette.colour(variant)), pad=4)


def _ratio_in_cell(axes, column, row, ratio, crowded):
    if ratio <= 1.0 + 1e-12:
        axes.plot(column + 0.5, row + 0.5, marker="o", markersize=4.5, color=INK)
    elif not crowded:
        text = f"{ratio:.1f}" if ratio < 9.95 else ">9"
        axes.text(
            column + 0.5, row + 0.5, text, ha="center", va="center", fontsize=6.2, color=PAPER if ratio > 1.75 else INK
        )


def _ticks(axes, sizes, blocks, size_labels):
    step = max(1, math.ceil(len(sizes) / 9))
    axes.set_xticks([index + 0.5 for index in range(0, len(sizes), step)])
    axes.set_xticklabels([size_text(size) for size in sizes[::step]] if size_labels else [])
    axes.set_yticks([index + 0.5 for index in range(len(blocks))])
    axes.set_yticklabels([str(count) for count in blocks])
    axes.set_ylabel("blocks", fontsize=8)
    axes.spines["bottom"].set_visible(False)
    axes.tick_params(length=0, color=FAINT)


def heat_key(figure, left, bottom, width=1.5):
    """The colour scale, placed in inches."""
    axes = style.axes_at(figure, left, bottom, width, 0.11)
    axes.grid(False)
    steps = 60
    values = [[WORST ** ((index + 0.5) / steps) for index in range(steps)]]
    edges = [WORST ** (index / steps) for index in range(steps + 1)]
    axes.pcolormesh(edges, [0, 1], values, cmap=SCALE, norm=LogNorm(1, WORST), linewidth=0, rasterized=True)
    axes.set_xscale("log", base=2)
    axes.set_xticks([1, 1.4142, 2, 4])
    axes.set_xticklabels(["best", "1.4×", "2×", "≥ 4×"], fontsize=7.5)
    axes.minorticks_off()
    axes.set_yticks([])
    axes.spines["bottom"].set_visible(False)
