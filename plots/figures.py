#!/usr/bin/env python3
"""Draws the figures of a run folder.

python3 plots/figures.py runs/today                    writes runs/today/figures/*.png
python3 plots/figures.py runs/today --only overview    the overview alone
"""

import argparse
import fnmatch
from pathlib import Path

from errors import PlotsError, guarded
from load import load_run
from units import plural

KINDS = ("overview", "time", "gain", "busbw", "heat", "fused")
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


def figures_of(run, palette, kinds=KINDS, pattern="*"):
    """Yields (file stem, figure) for everything that the run has data for, in a fixed order."""
    import compose
    import facts
    from draw.overview import overview

    makers = {
        "time": compose.time_figure,
        "gain": compose.gain_figure,
        "busbw": compose.bandwidth_figure,
        "heat": compose.heat_figure,
    }
    if "overview" in kinds:
        yield "overview", overview(run, palette)
    for group, cells in facts.ranked_groups(run):
        if not fnmatch.fnmatch(facts.group_stem(group), pattern):
            continue
        for kind in (kind for kind in kinds if kind in makers):
            figure = makers[kind](run, group, cells, palette)
            if figure is not None:
                yield f"{facts.group_stem(group)}-{kind}", figure
    if "fused" in kinds:
        for stem, members in fused_families(run, pattern).items():
            figure = compose.fused_figure(run, members, palette)
            if figure is not None:
                yield f"{stem}-fused", figure


def fused_families(run, pattern="*"):
    """{stem: [(group, cells)]}: fused groups that differ in cols alone."""
    import facts

    families = {}
    for group, cells in run.groups().items():
        if group.fused and fnmatch.fnmatch(facts.group_stem(group), pattern):
            whole = type(group)(**{**group.__dict__, "cols": 0})
            families.setdefault(facts.group_stem(whole), []).append((group, cells))
    return families


def main(arguments=None):
    """Writes the figures and says what it wrote. Raises PlotsError."""
    options = parse(arguments)
    run = load_run(options.run)
    if not run.cells:
        raise PlotsError("summary.csv holds no cell", str(run.path), "run attune sweep until something was measured")
    from draw.style import save
    from palette import Palette

    options.out.mkdir(parents=True, exist_ok=True)
    written = 0
    for stem, figure in figures_of(run, Palette(), options.only, options.group):
        for kind in options.format:
            save(figure, options.out / f"{stem}.{kind}")
            written += 1
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
