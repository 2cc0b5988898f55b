#!/usr/bin/env python3
"""Draws the score of search methods on simulated machines.

  python3 plots/tuner_lab.py results/tuner-lab/scores.csv       writes scores.png beside it

Columns: machine, method, budget_share (samples over those of exhaustive measuring), samples, regret (chosen time over
best time, minus 1), wrong_winner, false_switch (0/1 or shares), seed. One row is one search of one machine.
"""

import argparse
import csv
from pathlib import Path

from errors import PlotsError, guarded
from load import number, read_text
from units import plural

REQUIRED = ("machine", "method", "budget_share", "regret", "wrong_winner", "false_switch")
FORMATS = ("png", "svg", "pdf")


def parse(arguments):
    """The command line; a bad value is a PlotsError."""
    parser = argparse.ArgumentParser(
        prog="attune plots", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.error = lambda message: (_ for _ in ()).throw(PlotsError(message, "command line", "see --help"))
    parser.add_argument("scores", type=Path, help="CSV that the tuner laboratory wrote")
    parser.add_argument("--out", type=Path, help="folder for the figure (default: that of the CSV)")
    parser.add_argument("--format", default="png", help="png, svg, pdf, separated by commas (default: png)")
    options = parser.parse_args(arguments)
    options.format = [value.strip() for value in options.format.split(",") if value.strip()]
    for value in options.format:
        if value not in FORMATS:
            raise PlotsError(f"unknown value '{value}'", "--format", f"choose from {', '.join(FORMATS)}")
    return options


def read_scores(path):
    """The rows as dicts with numbers; PlotsError names column and line."""
    rows = csv.DictReader(read_text(path).splitlines())
    missing = [name for name in REQUIRED if name not in (rows.fieldnames or [])]
    if missing:
        raise PlotsError(f"column {missing[0]} is missing", str(path), f"expected {','.join(REQUIRED)}")
    scores = []
    for row in rows:
        try:
            values = {name: number(row, name) for name in REQUIRED[2:]}
        except ValueError as error:
            raise PlotsError(str(error), f"{path}:{rows.line_num}", "write it again") from error
        if all(value is not None for value in values.values()) and values["budget_share"] > 0:
            scores.append({"machine": row["machine"], "method": row["method"], **values})
    if not scores:
        raise PlotsError("no row with all numbers", str(path), "run the tuner laboratory again")
    return scores


def main(arguments=None):
    """Writes the figure and says where. Raises PlotsError."""
    options = parse(arguments)
    if not options.scores.is_file():
        raise PlotsError("no such file", str(options.scores), "name the CSV of the tuner laboratory")
    scores = read_scores(options.scores)
    from draw.style import save
    from draw.tuner_scores import score_figure

    folder = options.out or options.scores.parent
    folder.mkdir(parents=True, exist_ok=True)
    figure = score_figure(scores)
    for kind in options.format:
        save(figure, folder / f"{options.scores.stem}.{kind}")
    print(f"attune plots: {plural(len(options.format), 'figure')} in {folder}")
    return 0


if __name__ == "__main__":
    raise SystemExit(guarded(main))
