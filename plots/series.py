"""From cells to the lines of a figure: best plan per size, the tuned choice, gains, block sweeps."""

from bisect import bisect_right
from dataclasses import dataclass

from model import Cell, Plan

VENDOR = "vendor"


@dataclass(frozen=True)
class Point:
    """A ratio at a size with its interval, and the plan that it belongs to."""

    bytes: int
    ratio: float
    low: float
    high: float
    plan: Plan


@dataclass(frozen=True)
class Band:
    """Sizes [start, end) that one variant holds in a table; `rules` are the rules it is made of."""

    start: int
    end: int
    variant: str
    rules: tuple


def sizes_of(cells):
    """The positive sizes that were timed, sorted. A log axis has no place for a message of 0 bytes."""
    return sorted({cell.bytes for cell in cells if cell.timed and cell.bytes > 0})


def best_per_size(cells, variant):
    """The fastest timed cell of a variant at each size, sorted by size."""
    best = {}
    for cell in cells:
        if cell.plan.variant == variant and cell.timed and cell.bytes > 0:
            known = best.get(cell.bytes)
            if known is None or (cell.median, cell.plan.blocks) < (known.median, known.plan.blocks):
                best[cell.bytes] = cell
    return [best[size] for size in sorted(best)]


def vendor_cells(cells):
    """The vendor by size: its own cells, else cells made from the vendor_us of other rows."""
    found = {cell.bytes: cell for cell in best_per_size(cells, VENDOR)}
    for cell in cells:
        if cell.bytes > 0 and cell.bytes not in found and cell.vendor and cell.vendor > 0:
            found[cell.bytes] = Cell(
                cell.group,
                Plan(VENDOR),
                cell.bytes,
                cell.rows,
                cell.cols,
                "ok",
                median=cell.vendor,
                low=cell.vendor,
                high=cell.vendor,
            )
    return dict(sorted(found.items()))


def gain(cell, vendor):
    """vendor/cell as a Point. The interval is conservative: both at their worst; the vendor over itself is 1."""
    if cell.plan == vendor.plan:
        return Point(cell.bytes, 1.0, 1.0, 1.0, cell.plan)
    return Point(
        cell.bytes,
        vendor.median / cell.median,
        vendor.low / (cell.high or cell.median),
        vendor.high / (cell.low or cell.median),
        cell.plan,
    )


def gains(line, vendor):
    """Gains over the vendor for a line of cells, where the vendor was measured."""
    return [gain(cell, vendor[cell.bytes]) for cell in line if cell.bytes in vendor]


def surest_best(points):
    """The highest gain among those whose interval lies above 1: a lucky median is no record. None without one."""
    return max((point for point in points if point.low > 1), key=lambda point: point.ratio, default=None)


def rule_at(rules, size):
    """The rule that holds at a size, or None without rules."""
    index = bisect_right([rule.min_bytes for rule in rules], size) - 1
    return rules[index] if index >= 0 else None


def tuned_cells(cells, rules):
    """The measured cell of the table's choice at each size; sizes where it was not measured are left out."""
    by_plan = {(cell.bytes, cell.plan): cell for cell in cells if cell.timed}
    vendor, chosen = vendor_cells(cells), []
    for size in sizes_of(cells):
        rule = rule_at(rules, size)
        if rule is None:
            continue
        cell = by_plan.get((size, rule.plan)) or (vendor.get(size) if rule.plan.variant == VENDOR else None)
        if cell is not None:
            chosen.append(cell)
    return chosen


def bands(rules, low, high):
    """Runs of rules with one variant, cut to the sizes [low, high]; nothing outside is kept."""
    result = []
    for index, rule in enumerate(rules):
        end = rules[index + 1].min_bytes if index + 1 < len(rules) else float("inf")
        start, end = max(rule.min_bytes, low), min(end, high)
        if start >= end:
            continue
        last = result[-1] if result else None
        if last and last.variant == rule.plan.variant:
            result[-1] = Band(last.start, end, last.variant, last.rules + (rule,))
        else:
            result.append(Band(start, end, rule.plan.variant, (rule,)))
    return result


def block_sweep(cells, variant):
    """{(blocks, bytes): best median} of a variant over its other plan axes."""
    times = {}
    for cell in cells:
        if cell.plan.variant == variant and cell.timed and cell.bytes > 0:
            key = (cell.plan.blocks, cell.bytes)
            times[key] = min(times.get(key, cell.median), cell.median)
    return times


def swept_variants(cells, order):
    """Variants that were measured with more than one block count, in the order given."""
    return [name for name in order if len({blocks for blocks, _ in block_sweep(cells, name)}) > 1]


def problem_cells(cells):
    """Cells that were asked for and gave no time: {status: count}."""
    counts = {}
    for cell in cells:
        if cell.status != "ok":
            counts[cell.status] = counts.get(cell.status, 0) + 1
    return counts
