#!/usr/bin/env python3
"""Writes one HTML page about a run: figures inside, nothing fetched from elsewhere.

python3 plots/report.py runs/today                     writes runs/today/report.html
"""

import argparse
from pathlib import Path

from errors import PlotsError, guarded
from load import load_run

MANY_GROUPS = 8  # beyond, figures are PNG: dozens of SVG with outlined text make a heavy page


def parse(arguments):
    """The command line; a bad value is a PlotsError."""
    parser = argparse.ArgumentParser(
        prog="attune plots", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.error = lambda message: (_ for _ in ()).throw(PlotsError(message, "command line", "see --help"))
    parser.add_argument("run", help="run folder that attune sweep wrote")
    parser.add_argument("--out", type=Path, help="the page (default: RUN/report.html)")
    options = parser.parse_args(arguments)
    options.out = options.out or Path(options.run) / "report.html"
    return options


def page(run):
    """The whole page as text."""
    import facts
    import report_sections as sections
    from markup import Safe, joined, tag
    from palette import Palette

    palette = Palette()
    kind = "svg" if len(run.groups()) <= MANY_GROUPS else "png"
    style = (Path(__file__).resolve().parent / "report.css").read_text(encoding="utf-8")
    title = f"attune on {facts.hardware_name(run)}"
    head = tag(
        "head",
        Safe('<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'),
        tag("title", title),
        tag("style", Safe(style)),
    )
    body = joined(part(run, palette, kind) for part in sections.PARTS)
    return f'<!DOCTYPE html>\n<html lang="en">{head}<body>{body}</body></html>\n'


def main(arguments=None):
    """Writes the page and says where. Raises PlotsError."""
    options = parse(arguments)
    run = load_run(options.run)
    if not run.cells:
        raise PlotsError("summary.csv holds no cell", str(run.path), "run attune sweep until something was measured")
    text = page(run)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    unfinished = options.out.with_name(f".{options.out.name}.part")
    unfinished.write_text(text, encoding="utf-8")
    unfinished.replace(options.out)
    print(f"attune plots: {options.out}")
    return 0


if __name__ == "__main__":
    raise SystemExit(guarded(main))
