"""Writes a run folder of a machine that does not exist: deterministic, with every kind of cell in it.

Times follow latency + bytes/bandwidth curves with crossovers; the table is the argmin with a tie for the vendor.
"""

import csv
import json
import math
import random
import sys
import zlib
from pathlib import Path

COLUMNS = (
    "collective dtype op count bytes rows cols ranks placement memory launch_mode epilogue variant blocks threads "
    "chunk_bytes status samples rejected median_us ci_low_us ci_high_us p5_us p95_us min_us algbw_gbs busbw_gbs "
    "vendor_us vs_vendor converged noisy"
).split()
# variant: (latency µs per rank step, in-cache GB/s, memory GB/s, cost grows with ranks)
CURVES = {
    "vendor": (0.24, 5.5, 1.9, 1.0),
    "push": (0.13, 2.2, 1.2, 1.6),
    "mesh": (0.18, 17.0, 5.4, 1.5),
    "two_shot": (0.30, 24.0, 7.5, 1.0),
    "two_shot_write": (0.27, 30.0, 12.0, 1.0),
    "ring": (0.42, 21.0, 8.8, 1.1),
    "naive": (3.1, 1.6, 0.9, 1.3),
}
ELEMENT = {"f32": 4, "bf16": 2, "f64": 8}


def model_time(variant, size, ranks, blocks):
    """Noise-free time in µs."""
    latency, cache, memory, growth = CURVES[variant]
    steps = latency * (1 + 0.35 * (ranks - 2)) * (1 + 0.18 * (blocks - 1))
    lanes = blocks**0.55 if variant != "vendor" else 1
    rate = (cache if size < 2 << 20 else memory) * 1e3 * lanes / (1 if blocks < 4 or size > 1 << 18 else 1.3)
    bump = 1 + 1.6 / (1 + (math.log2(size / 8192) / 2) ** 2) if variant == "vendor" else 1
    return steps * bump + size * (ranks / 2) ** (growth - 1) * bump / rate


def cell(noise, group, size, variant, blocks, status="ok", shape=(0, 0)):
    """One row of summary.csv."""
    row = dict.fromkeys(COLUMNS, "")
    row.update(zip(("collective", "dtype", "op", "ranks", "placement", "memory"), group))
    row.update(count=size // ELEMENT[row["dtype"]], bytes=size, rows=shape[0], cols=shape[1])
    row.update(launch_mode="eager", epilogue="none", variant=variant, blocks=blocks, threads=1)
    row.update(chunk_bytes=65536 if variant == "ring" else 0, status=status, samples=0, rejected=0)
    row.update(converged="true", noisy="false")
    if status == "ok":
        row.update(measured(noise, row))
    return row


def measured(noise, row):
    """The columns that a measurement fills."""
    size, ranks, variant = row["bytes"], row["ranks"], row["variant"]
    slow = (1.35 if row["memory"] == "staged" else 1) * (1.08 if row["placement"] == "in_place" else 1)
    median = model_time(variant, size, ranks, row["blocks"]) * (1 if variant == "vendor" else slow)
    median *= math.exp(noise.gauss(0, 0.025))
    half = median * abs(noise.gauss(0.012, 0.01))
    times = {
        "median_us": median,
        "ci_low_us": median - half,
        "ci_high_us": median + half * 1.3,
        "p5_us": median * 0.96,
        "p95_us": median * 1.18,
        "min_us": median * 0.93,
        "algbw_gbs": size / median / 1e3,
        "busbw_gbs": size * 2 * (ranks - 1) / ranks / median / 1e3,
    }
    flags = {"noisy": half > 0.03 * median, "converged": half < 0.035 * median}
    counts = {"samples": noise.randrange(30, 400), "rejected": noise.randrange(0, 9)}
    return (
        {name: f"{value:.4f}" for name, value in times.items()}
        | {name: str(value).lower() for name, value in flags.items()}
        | counts
    )


def allreduce_rows(noise, groups, sizes, variants, blocks):
    """Cells of every group, with the vendor's time beside each."""
    rows = []
    for group in groups:
        for size in sizes:
            here = [
                cell(noise, group, size, name, count)
                for name in variants
                for count in (blocks if name != "vendor" else (1,))
            ]
            vendor = next((row["median_us"] for row in here if row["variant"] == "vendor"), "")
            for row in here:
                row["vendor_us"] = vendor
                row["vs_vendor"] = f"{float(vendor) / float(row['median_us']):.4f}" if vendor else ""
            rows += here
    return rows


def fused_rows(noise):
    """The fused kernel and its unfused baseline (the vendor's row) over a few shapes."""
    rows = []
    for cols in (5120, 7168, 8192):
        for count in (1, 8, 64, 512):
            group = ("reduce_scatter_rms_norm", "bf16", "sum", 2, "out_of_place", "registered")
            base = cell(noise, group, count * cols * 2, "vendor", 1, shape=(count, cols))
            fused = cell(noise, group, count * cols * 2, "two_shot", 1, shape=(count, cols))
            for row in (base, fused):
                row["vendor_us"] = base["median_us"]
            rows += [base, fused]
    return rows


KEYS = ("collective", "dtype", "op", "ranks", "placement", "memory", "launch_mode")


def build_table(rows):
    """A dispatch table: the fastest plan of each size (never naive), equal neighbours merged."""
    groups = {}
    for row in rows:
        if row["status"] == "ok":
            fused = row["collective"] != "allreduce"
            key = tuple(row[name] for name in KEYS) + ((row["cols"],) if fused else ())
            groups.setdefault(key, {}).setdefault(row["bytes"], []).append(row)
    tables = []
    for key, by_size in groups.items():
        entry = dict(zip(KEYS + ("cols",), key))
        tables.append({**entry, "numerics": "rank_order", "rules": build_rules(by_size)})
    source = {"run": "synthetic", "created": MANIFEST["created"]}
    about = {name: MANIFEST[name] for name in ("hardware", "software")}
    return {"format": "attune-dispatch", "version": 1, **about, "source": source, "tables": tables}


def build_rules(by_size):
    """The rules of one table; the vendor wins ties of 2 %."""
    rules = []
    for size in sorted(by_size):
        here = [row for row in by_size[size] if row["variant"] != "naive"] or by_size[size]
        best = min(here, key=lambda row: float(row["median_us"]) * (0.98 if row["variant"] == "vendor" else 1))
        plan = {name: best[name] for name in ("variant", "blocks", "threads", "chunk_bytes")}
        if rules and all(rules[-1][name] == value for name, value in plan.items()):
            continue
        times = {"time_us": float(best["median_us"]), "ci_us": [float(best["ci_low_us"]), float(best["ci_high_us"])]}
        vendor = float(best["vendor_us"]) if best["vendor_us"] else None
        rules.append({"min_bytes": size if rules else 0, **plan, **times, "vendor_us": vendor})
    return rules


MANIFEST = {
    "created": "2026-11-29T12:00:00Z",
    "hardware": {
        "device": "host",
        "name": "Synthetic 8-Core",
        "arch": "x86-64-v4",
        "ranks_per_node": 4,
        "links": "shared-memory",
        "fingerprint": "0123abcd",
        "cores": 8,
    },
    "software": {"attune": "0.1.0", "vendor": "Open MPI 4.1.4", "driver": ""},
    "config": {"search": "exhaustive", "precision": 0.03, "cache": "rewritten", "seed": 7},
    "oversubscribed": False,
    "emulated": False,
}


def sizes(low=8, high=64 << 20, factor=2):
    """low, low·factor, … up to high."""
    result = [low]
    while result[-1] * factor <= high:
        result.append(result[-1] * factor)
    return result


def all_rows(seed=7):
    """A rich run: three dtypes and rank counts, staged and in place, a block sweep, fused shapes, bad cells."""
    noise = random.Random(seed)
    full = list(CURVES)
    groups = [
        ("allreduce", dtype, "sum", ranks, "out_of_place", "registered")
        for dtype in ("f32", "bf16")
        for ranks in (2, 4)
    ]
    groups += [
        ("allreduce", "f32", "sum", 2, "out_of_place", "staged"),
        ("allreduce", "f32", "sum", 2, "in_place", "registered"),
    ]
    rows = allreduce_rows(noise, groups, sizes(), full, (1, 2, 4))
    bad = groups[0]
    rows += [
        cell(noise, bad, 4096, "ring", 8, "wrong"),
        cell(noise, bad, 8192, "ring", 8, "wrong"),
        cell(noise, bad, 1 << 20, "mesh", 8, "timed_out"),
        cell(noise, bad, 64, "multimem", 1, "unsupported"),
    ]
    return rows + fused_rows(noise)


def write(folder, rows=None, manifest=None, table=True):
    """Writes manifest, journal, table and summary; returns the folder as a Path."""
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rows = all_rows() if rows is None else rows
    (folder / "manifest.json").write_text(json.dumps({**MANIFEST, **(manifest or {})}, indent=1), encoding="utf-8")
    with open(folder / "summary.csv", "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(dict.fromkeys([*COLUMNS, *(name for row in rows for name in row)])))
        writer.writeheader()
        writer.writerows(rows)
    if table:
        (folder / "table.json").write_text(json.dumps(build_table(rows), indent=1), encoding="utf-8")
    with open(folder / "journal.jsonl", "w", encoding="utf-8") as file:
        for row in rows:
            record = json.dumps(
                {
                    "status": row["status"],
                    "problem": {"collective": row["collective"], "count": row["count"]},
                    "plan": {"variant": row["variant"]},
                    "samples_us": [row["median_us"]] * 3 if row["median_us"] else [],
                    "rejected": row["rejected"],
                }
            )
            file.write(f'{record[:-1]}, "crc": "{zlib.crc32(record.encode()):08x}"}}\n')
    return folder


if __name__ == "__main__":
    print(write(sys.argv[1]))
