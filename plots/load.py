"""Reads a run folder: manifest.json, summary.csv and table.json become plain data for the figures.

Columns and keys that this version does not know are ignored, optional ones may be absent or empty.
What must be there and is not, or is not what it claims to be, raises PlotsError.
"""

import csv
import json
import math
from dataclasses import dataclass, field, replace
from pathlib import Path

from errors import PlotsError, warn
from journal import crowded_plans
from model import Cell, Group, Plan, Rule

REQUIRED_COLUMNS = ("collective", "dtype", "ranks", "variant", "status", "median_us")
ELEMENT_BYTES = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2}
NOTE_COLUMNS = ("message", "error", "reason", "detail", "note")
MAKE_ONE = "name the folder that attune sweep wrote"


@dataclass
class Run:
    """A run folder in memory. `rules` maps a Group (mode and cache always the default) to its sorted rules."""

    path: Path
    manifest: dict
    cells: list
    table: dict = None
    rules: dict = field(default_factory=dict)
    crowded: frozenset = frozenset()  # (ranks, blocks) that the journal calls oversubscribed
    _groups: dict = field(default_factory=dict, repr=False)

    def groups(self):
        """Every group with its cells, sorted by its axes; a group without one timed cell is kept."""
        if not self._groups:
            found = {}
            for cell in self.cells:
                found.setdefault(cell.group, []).append(cell)
            self._groups = dict(sorted(found.items(), key=lambda item: item[0]))
        return self._groups

    def rules_of(self, group):
        """The rules that answer for this group: those of its epilogue, else those without one."""
        asked = replace(group, mode="latency", cache="rewritten")
        return self.rules.get(asked) or self.rules.get(replace(asked, epilogue="none"), [])


def load_run(folder):
    """The run in `folder`. Raises PlotsError when the folder, manifest or summary is missing or malformed."""
    path = Path(folder)
    if not path.is_dir():
        raise PlotsError("no such run folder" if not path.exists() else "not a folder", str(path), MAKE_ONE)
    manifest = read_json(path / "manifest.json")
    cells = read_summary(path / "summary.csv")
    table = read_table(path / "table.json")
    rules = table_rules(table, path / "table.json")
    return Run(path, manifest, cells, table, rules, frozenset(crowded_plans(path / "journal.jsonl")))


def read_json(path):
    """The JSON object in a file that must exist."""
    try:
        value = json.loads(read_text(path))
    except json.JSONDecodeError as error:
        raise PlotsError(f"not JSON ({error.msg})", f"{path}:{error.lineno}:{error.colno}", "write it again") from error
    if not isinstance(value, dict):
        raise PlotsError("expected a JSON object", str(path), "write it again")
    return value


def read_text(path):
    """The text of a file that must exist and be UTF-8."""
    try:
        return path.read_text(encoding="utf-8")
    except FileNotFoundError as error:
        raise PlotsError(f"{path.name} is missing", str(path.parent), MAKE_ONE) from error
    except UnicodeDecodeError as error:
        raise PlotsError("not UTF-8 text", str(path), "write it again") from error


def read_summary(path):
    """The cells of a summary.csv."""
    text = read_text(path)
    rows = csv.DictReader(text.splitlines())
    missing = [name for name in REQUIRED_COLUMNS if name not in (rows.fieldnames or [])]
    if missing:
        raise PlotsError(
            f"column {missing[0]} is missing", str(path), "write it again with attune sweep or attune tune"
        )
    cells = []
    for row in rows:
        try:
            cells.append(_cell(row))
        except ValueError as error:
            raise PlotsError(str(error), f"{path}:{rows.line_num}", "write the summary again") from error
    return cells


def read_table(path):
    """The dispatch table, or None with a warning: a run that was cut short has none."""
    if not path.exists():
        warn(f"table.json is missing, {path.parent}, figures lack the tuned choice; attune tune makes one")
        return None
    return read_json(path)


def table_rules(table, path):
    """The rules of a dispatch table by group; of several numerics classes, rank_order is what is used by default."""
    result, classes = {}, {}
    for index, entry in enumerate((table or {}).get("tables", [])):
        try:
            group = _table_group(entry)
            if classes.get(group) == "rank_order":
                continue
            classes[group] = entry.get("numerics", "rank_order")
            result[group] = sorted((_rule(rule) for rule in entry["rules"]), key=lambda rule: rule.min_bytes)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            place = f"{path}#/tables/{index}"
            raise PlotsError(f"malformed entry ({error!r})", place, "write it again with attune tune") from error
    return result


def _table_group(entry):
    return Group(
        entry["collective"],
        entry["dtype"],
        entry.get("op", "sum"),
        int(entry["ranks"]),
        entry.get("placement", "out_of_place"),
        entry.get("memory", "registered"),
        entry.get("launch_mode", "eager"),
        entry.get("epilogue", "none"),
        int(entry.get("cols") or 0),
    )


def _rule(rule):
    low, high = (list(rule.get("ci_us") or []) + [None, None])[:2]
    count = lambda name, default: int(rule.get(name) or default)
    return Rule(
        int(rule["min_bytes"]),
        Plan(rule["variant"], count("blocks", 1), count("threads", 1), count("chunk_bytes", 0)),
        rule.get("time_us") or None,
        low,
        high,
        rule.get("vendor_us") or None,
        str(rule.get("confidence") or ""),
        count("at_bytes", rule["min_bytes"]),
    )


def _group(row):
    fused = row["collective"].endswith("rms_norm")
    return Group(
        row["collective"],
        row["dtype"],
        row.get("op") or "sum",
        integer(row, "ranks"),
        row.get("placement") or "out_of_place",
        row.get("memory") or "registered",
        row.get("launch_mode") or "eager",
        row.get("epilogue") or "none",
        integer(row, "cols") if fused else 0,
        row.get("mode") or "latency",
        row.get("cache") or "rewritten",
    )


def _cell(row):
    """A Cell from one row of strings; ValueError names the column that is not a number."""
    median = number(row, "median_us")
    return Cell(
        group=_group(row),
        plan=Plan(row["variant"], integer(row, "blocks", 1), integer(row, "threads", 1), integer(row, "chunk_bytes")),
        bytes=integer(row, "bytes", integer(row, "count") * ELEMENT_BYTES.get(row["dtype"], 1)),
        rows=integer(row, "rows"),
        cols=integer(row, "cols"),
        status=row["status"] or "failed",
        samples=integer(row, "samples"),
        rejected=integer(row, "rejected"),
        median=median,
        low=number(row, "ci_low_us", median),
        high=number(row, "ci_high_us", median),
        p5=number(row, "p5_us"),
        p95=number(row, "p95_us"),
        busbw=number(row, "busbw_gbs"),
        vendor=number(row, "vendor_us"),
        converged=flag(row, "converged", True),
        noisy=flag(row, "noisy", False),
        oversubscribed=flag(row, "oversubscribed", False),
        count=integer(row, "count"),
        sm_mhz=integer(row, "sm_mhz"),
        throttled=integer(row, "throttled"),
        note=next((row[name] for name in NOTE_COLUMNS if row.get(name)), ""),
    )


def integer(row, name, default=0):
    """A whole number of a row, `default` where there is none."""
    return int(number(row, name, default))


def number(row, name, default=None):
    """A finite number of a row, `default` where the column is absent, empty or NaN."""
    text = (row.get(name) or "").strip()
    if text.lower() in ("", "nan", "-nan", "inf", "-inf", "n/a", "null", "-"):
        return default
    try:
        value = float(text)
    except ValueError as error:
        raise ValueError(f"{name} is not a number: '{text}'") from error
    return value if math.isfinite(value) else default


def flag(row, name, default):
    """A boolean of a row: true/false, 1/0, yes/no."""
    text = (row.get(name) or "").strip().lower()
    return default if text == "" else text in ("true", "1", "yes")
