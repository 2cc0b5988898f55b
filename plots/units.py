"""Numbers as people read them: binary sizes, microseconds, rates, ratios."""

import math

BINARY = ("B", "KiB", "MiB", "GiB", "TiB")


def size_text(size):
    """Bytes with a binary unit: 8 B, 64 KiB, 1.5 MiB."""
    value, unit = float(size), 0
    while value >= 1024 and unit < len(BINARY) - 1:
        value, unit = value / 1024, unit + 1
    number = f"{value:.0f}" if value == int(value) else f"{value:.3g}"
    return f"{number} {BINARY[unit]}"


def time_text(microseconds):
    """A time with the unit that keeps it short: 180 ns, 12.4 µs, 3.1 ms."""
    if microseconds is None or not math.isfinite(microseconds):
        return "–"
    for limit, scale, unit in ((1, 1e3, "ns"), (1e3, 1, "µs"), (1e6, 1e-3, "ms")):
        if microseconds < limit:
            return f"{significant(microseconds * scale)} {unit}"
    return f"{significant(microseconds * 1e-6)} s"


def significant(value, digits=3):
    """`digits` significant digits without an exponent or trailing zeros after the point."""
    if value is None or not math.isfinite(value):
        return "–"
    if value == 0:
        return "0"
    decimals = max(0, digits - 1 - math.floor(math.log10(abs(value))))
    text = f"{value:.{decimals}f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def ratio_text(ratio):
    """A speed-up: 4.2×, 0.85×, 12×."""
    if ratio is None or not math.isfinite(ratio):
        return "–"
    return f"{significant(ratio, 2 if ratio < 100 else 3)}×"


def percent_text(share, digits=2):
    """A share of one as a percentage: 0.034 is 3.4 %."""
    return "–" if share is None else f"{significant(share * 100, digits)} %"


def plural(count, noun):
    """1 cell, 2 cells."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def words(name):
    """A public name as prose: out_of_place is "out of place"."""
    return str(name).replace("_", " ")


def geometric_mean(values):
    """Geometric mean of positive numbers; None when there is none."""
    logs = [math.log(value) for value in values if value and value > 0 and math.isfinite(value)]
    return math.exp(sum(logs) / len(logs)) if logs else None
