#!/usr/bin/env python3
"""Draws the figures of a run folder.

python3 plots/figures.py runs/today                    writes runs/today/figures/*.png
python3 plots/figures.py runs/today --only overview    the overview alone
"""

import argparse
from functools import partial
from pathlib import Path

from errors import PlotsError, guarded
from facts import FIGURES
from load import load_run
from units import plural

KINDS = tuple(FIGURES)
FORMATS = ("png", "svg", "pdf")


def parse(arguments):
    """The command line; a bad value is a PlotsError, so that every error looks alike."""
    parser = argparse.ArgumentParser(
        prog="attune plots", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.error = lambda message: (_ for _ in ()).throw(PlotsError(message, "command line", "see --help"))
    parser.add_argument("run", help="run folder that attune sweep wrote")
    parser.add_argument("--out", type=Path, help="folder for the figures (default: RUN/figures)")
    parser.add_argument("--format", default="png", help="png, svg, pdf, separated by commas (default: png)")
    parser.add_argument("--only", default=",".join(KINDS), help=f"which figures: {','.join(KINDS)} (default: all)")
    parser.add_argument(
        "--group", default="*", help="pattern of the groups to draw, as in allreduce-bf16-* (default: all)"
    )
    options = parser.parse_args(arguments)
    options.format = _list(options.format, FORMATS, "--format")
    options.only = _list(options.only, KINDS, "--only")
    options.out = options.out or Path(options.run) / "figures"
    return options


def _list(text, allowed, option):
    values = [value.strip() for value in text.split(",") if value.strip()]
    for value in values:
        if value not in allowed:
            raise PlotsError(f"unknown value '{value}'", option, f"choose from {', '.join(allowed)}")
    if not values:
        raise PlotsError("empty list", option, f"choose from {', '.join(allowed)}")
    return values


def save_all(figure, task, folder, formats):
    """Writes one figure in every format and returns how many files that were."""
    from draw.style import save

    for kind in formats:
        save(figure, folder / f"{task.stem}.{kind}")
    return len(formats)


def main(arguments=None):
    """Writes the figures and says what it wrote. Raises PlotsError."""
    options = parse(arguments)
    run = load_run(options.run)
    if not run.cells:
        raise PlotsError("summary.csv holds no cell", str(run.path), "run attune sweep until something was measured")
    from drawing import draw_all, tasks_of
    from palette import Palette

    options.out.mkdir(parents=True, exist_ok=True)
    finish = partial(save_all, folder=options.out, formats=options.format)
    tasks = tasks_of(run, options.only, options.group)
    written = sum(count for _, count in draw_all(run, Palette(), tasks, finish))
    if written == 0:
        raise PlotsError(
            f"nothing to draw for --only {','.join(options.only)} --group {options.group}",
            str(run.path),
            "see the groups in summary.csv",
        )
    print(f"attune plots: {plural(written, 'figure')} in {options.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(guarded(main))
