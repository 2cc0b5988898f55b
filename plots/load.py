"""Reads a run folder: manifest.json, summary.csv and table.json become plain data for the figures.

Columns and keys that this version does not know are ignored, optional ones may be absent or empty.
What must be there and is not, or is not what it claims to be, raises PlotsError.
"""

import csv
import json
import math
from dataclasses import dataclass, field
from pathlib import Path

from errors import PlotsError, warn

REQUIRED_COLUMNS = ("collective", "dtype", "ranks", "variant", "status", "median_us")
ELEMENT_BYTES = {"f64": 8, "i64": 8, "u64": 8, "f32": 4, "i32": 4, "u32": 4, "f16": 2, "bf16": 2}
NOTE_COLUMNS = ("message", "error", "reason", "detail", "note")
MAKE_ONE = "name the folder that attune sweep wrote"


@dataclass(frozen=True)
class Plan:
    """How a collective is done."""

    variant: str
    blocks: int = 1
    threads: int = 1
    chunk_bytes: int = 0


@dataclass(frozen=True, order=True)
class Group:
    """What a figure is about: every axis of a problem but its size. `cols` is 0 except in fused kernels."""

    collective: str
    dtype: str
    op: str
    ranks: int
    placement: str
    memory: str
    launch_mode: str = "eager"
    epilogue: str = "none"
    cols: int = 0

    @property
    def fused(self):
        return self.collective.endswith("rms_norm")


@dataclass(frozen=True)
class Cell:
    """One row of summary.csv. Times in µs, rates in GB/s; None where nothing was measured."""

    group: Group
    plan: Plan
    bytes: int
    rows: int = 0
    cols: int = 0
    status: str = "ok"
    samples: int = 0
    rejected: int = 0
    median: float = None
    low: float = None
    high: float = None
    p5: float = None
    p95: float = None
    busbw: float = None
    vendor: float = None
    converged: bool = True
    noisy: bool = False
    count: int = 0
    note: str = ""

    @property
    def timed(self):
        """Right and measured: may be drawn as a time."""
        return self.status == "ok" and self.median is not None and self.median > 0


@dataclass(frozen=True)
class Rule:
    """From `min_bytes` up to the next rule, this plan holds."""

    min_bytes: int
    plan: Plan
    time: float = None
    low: float = None
    high: float = None
    vendor: float = None
    confidence: str = ""


@dataclass
class Run:
    """A run folder in memory. `rules` maps a Group (its epilogue always none) to its sorted rules."""

    path: Path
    manifest: dict
    cells: list
    table: dict = None
    rules: dict = field(default_factory=dict)

    def groups(self):
        """Every group with its cells, sorted by its axes; a group without one timed cell is kept."""
        found = {}
        for cell in self.cells:
            found.setdefault(cell.group, []).append(cell)
        return dict(sorted(found.items(), key=lambda item: item[0]))

    def rules_of(self, group):
        """The rules that answer for this group; tables do not know epilogues."""
        return self.rules.get(_without_epilogue(group), [])


def load_run(folder):
    """The run in `folder`. Raises PlotsError when the folder, manifest or summary is missing or malformed."""
    path = Path(folder)
    if not path.is_dir():
        raise PlotsError("no such run folder" if not path.exists() else "not a folder", str(path), MAKE_ONE)
    manifest = read_json(path / "manifest.json")
    cells = read_summary(path / "summary.csv")
    table = read_table(path / "table.json")
    return Run(path, manifest, cells, table, table_rules(table, path / "table.json"))


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
    """The rules of a dispatch table by group."""
    result = {}
    for index, entry in enumerate((table or {}).get("tables", [])):
        try:
            group = Group(
                entry["collective"],
                entry["dtype"],
                entry.get("op", "sum"),
                int(entry["ranks"]),
                entry.get("placement", "out_of_place"),
                entry.get("memory", "registered"),
                entry.get("launch_mode", "eager"),
                "none",
                int(entry.get("cols") or 0),
            )
            result[group] = sorted((_rule(rule) for rule in entry["rules"]), key=lambda rule: rule.min_bytes)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise PlotsError(
                f"malformed entry ({error!r})", f"{path}#/tables/{index}", "write it again with attune tune"
            ) from error
    return result


def _rule(rule):
    low, high = (list(rule.get("ci_us") or []) + [None, None])[:2]
    plan = Plan(
        rule["variant"], int(rule.get("blocks") or 1), int(rule.get("threads") or 1), int(rule.get("chunk_bytes") or 0)
    )
    return Rule(
        int(rule["min_bytes"]),
        plan,
        rule.get("time_us"),
        low,
        high,
        rule.get("vendor_us"),
        str(rule.get("confidence") or ""),
    )


def _without_epilogue(group):
    return Group(**{**group.__dict__, "epilogue": "none"})


def _cell(row):
    """A Cell from one row of strings; ValueError names the column that is not a number."""
    integer = lambda name, default=0: int(number(row, name, default))
    fused = row["collective"].endswith("rms_norm")
    group = Group(
        row["collective"],
        row["dtype"],
        row.get("op") or "sum",
        integer("ranks"),
        row.get("placement") or "out_of_place",
        row.get("memory") or "registered",
        row.get("launch_mode") or "eager",
        row.get("epilogue") or "none",
        integer("cols") if fused else 0,
    )
    plan = Plan(row["variant"], integer("blocks", 1), integer("threads", 1), integer("chunk_bytes"))
    median = number(row, "median_us")
    size = integer("bytes", integer("count") * ELEMENT_BYTES.get(row["dtype"], 1))
    return Cell(
        group,
        plan,
        size,
        integer("rows"),
        integer("cols"),
        row["status"] or "failed",
        integer("samples"),
        integer("rejected"),
        median,
        number(row, "ci_low_us", median),
        number(row, "ci_high_us", median),
        number(row, "p5_us"),
        number(row, "p95_us"),
        number(row, "busbw_gbs"),
        number(row, "vendor_us"),
        flag(row, "converged", True),
        flag(row, "noisy", False),
        integer("count"),
        next((row[name] for name in NOTE_COLUMNS if row.get(name)), ""),
    )


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
