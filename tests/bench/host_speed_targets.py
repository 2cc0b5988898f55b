#!/usr/bin/env python3
"""host_speed_targets.py FOLDER: what was aimed at beside what host_speed.sh has measured. Ratios are the vendor's time
over attune's; the least of a range of sizes is shown, with its size, and what the machine itself leaves there: the ratio
of the best exchange by hand (bound.h), and attune's time over that of all ranks copying the same bytes with memcpy."""
import csv
import math
import pathlib
import sys

KI, MI = 1024, 1024 * 1024
REGISTERED = [(8, 512, 1.3), (2 * KI, 2 * KI, 2.5), (8 * KI, 512 * KI, 4), (2 * MI, 8 * MI, 3), (32 * MI, 256 * MI, 6)]
STAGED = [(8, 256 * MI, 1), (8 * KI, 2 * MI, 2), (32 * MI, 256 * MI, 3.5)]


def read(path):
    if not path.exists():
        return []
    with path.open(encoding="utf-8") as file:
        return [dict(row, bytes=int(row["bytes"]), us=float(row["median_us"]), ratio=float(row["vendor_over_it"]),
                     low=float(row["ratio_low"]), high=float(row["ratio_high"])) for row in csv.DictReader(file)]


def pick(rows, **wanted):
    return [row for row in rows if all(row[key] == value for key, value in wanted.items())]


def size(count):
    for unit, name in ((MI, " MiB"), (KI, " KiB")):
        if count >= unit:
            return f"{count / unit:g}{name}"
    return f"{count} B"


def line(what, target, measured, met, note=""):
    print(f"{'met   ' if met else 'MISSED'} {what:58} target {target:10} measured {measured:10} {note}")


def by_hand(rows, bytes_):
    """The best ratio of the exchanges by hand at a size, as a note; they are left out where they do not apply."""
    ratios = [row["ratio"] for row in pick(rows, bytes=bytes_) if row["candidate"].startswith("bound_")]
    return f" by hand {max(ratios):.2f}" if ratios else ""


def over_copying(rows, worst):
    """Attune's time over memcpy's at a size where copying is what counts, as a note."""
    copies = pick(rows, bytes=worst["bytes"], candidate="memcpy")
    if worst["bytes"] < 8 * KI or not copies or worst["memory"] != "registered":
        return ""
    return f" time over memcpy's {worst['us'] / copies[0]['us']:.2f}"


def least_ratios(rows, name, ranges):
    for low, high, target in ranges:
        inside = [row for row in pick(rows, candidate="auto") if low <= row["bytes"] <= high]
        if not inside:
            continue
        worst = min(inside, key=lambda row: row["ratio"])
        span = size(low) if low == high else f"{size(low)} .. {size(high)}"
        line(f"{name}, {span}: vendor/attune", f">= {target:g}", f"{worst['ratio']:.2f}", worst["ratio"] >= target,
             f"at {size(worst['bytes'])} [{worst['low']:.2f}, {worst['high']:.2f}]{by_hand(rows, worst['bytes'])}"
             f"{over_copying(rows, worst)}")


def mean_ratio(rows, name, target):
    if not rows:
        return
    mean = math.exp(sum(math.log(row["ratio"]) for row in rows) / len(rows))
    line(f"{name}: geometric mean over sizes", f">= {target:g}", f"{mean:.2f}", mean >= target)


def against_copies(rows, name):
    """Times against memcpy of the same bytes on all ranks at once, and against the floor of 2pn bytes."""
    for large in sorted({row["bytes"] for row in rows if row["bytes"] >= 32 * MI}):
        us = {row["candidate"]: row["us"] for row in pick(rows, bytes=large)}
        if not {"auto", "memcpy", "floor"} <= us.keys():
            continue
        line(f"{name}, {size(large)}: time over memcpy's", "<= 1.00", f"{us['auto'] / us['memcpy']:.2f}",
             us["auto"] <= us["memcpy"])
        line(f"{name}, {size(large)}: efficiency (copying past the cache)", ">= 0.90",
             f"{us['floor'] / us['auto']:.2f}", us["floor"] >= 0.9 * us["auto"])


def bf16(rows):
    for count in sorted({row["bytes"] for row in rows}):
        us = {row["candidate"]: row["us"] for row in pick(rows, bytes=count)}
        if count == 64 * KI:
            line("bf16 over f32, 64 KiB, the same bytes: time", "<= 1.10", f"{us['bf16'] / us['auto']:.2f}",
                 us["bf16"] <= 1.1 * us["auto"])
        elif count >= 32 * MI:
            line(f"bf16 over f32, {size(count)} of f32, the same count: time", "<= 0.60",
                 f"{us['bf16_half'] / us['auto']:.2f}", us["bf16_half"] <= 0.6 * us["auto"])


def main():
    folder = pathlib.Path(sys.argv[1])
    rows = read(folder / "speed.csv")
    for memory, ranges, mean in (("registered", REGISTERED, 4), ("staged", STAGED, 2.5)):
        for cache in ("hot", "rewritten"):
            cell = pick(rows, ranks="2", memory=memory, cache=cache)
            name = f"{memory}, {cache}"
            least_ratios(cell, name, ranges)
            mean_ratio(pick(cell, candidate="auto"), name, mean)
            if memory == "registered":
                against_copies(cell, name)
    bf16(read(folder / "bf16.csv"))
    for ranks in ("4", "8"):
        for memory in ("registered", "staged"):
            cell = pick(rows, ranks=ranks, memory=memory)
            least_ratios(cell, f"{ranks} ranks oversubscribed, {memory}", [(8, 256 * MI, 0.5)])


if __name__ == "__main__":
    main()
