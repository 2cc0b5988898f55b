#!/usr/bin/env python3
"""Checks the synchronisation models with SPIN, exhaustively: assertions and absence of deadlock.

A model that must hold fails the run when the checker finds an error or does not finish; a configuration with a
planted bug fails the run when the checker finds nothing, or something else than announced. Exit status: 0 all as
expected, 1 not, 2 a tool is missing.

    run.py [-j JOBS] [-k WORD] [--list]
"""

import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

sys.dont_write_bytecode = True
from cases import CASES, Case  # noqa: E402

HERE = Path(__file__).resolve().parent
LIMIT_S = 240
PROOF = ["-m2000000"]
HUNT = ["-m200000", "-w18"]  # a planted bug shows early: less memory to clear, less time


@dataclass(frozen=True)
class Outcome:
    case: Case
    states: int
    depth: int
    seconds: float
    found: str  # "holds", the error found, or why there is no verdict

    @property
    def as_expected(self) -> bool:
        return self.found == (self.case.bug or "holds")


def verdict(report: str) -> str:
    """What pan's report says. Anything short of a complete search is no proof."""
    if error := re.search(r"^pan:\d+: (assertion violated|invalid end state)", report, re.MULTILINE):
        return error.group(1)
    for why in ("max search depth too small", "out of memory", "hash array full"):
        if why in report:
            return f"incomplete: {why}"
    if "Search not completed" in report or not re.search(r"errors: 0\b", report):
        return "incomplete: no verdict"
    return "holds"


def figure(pattern: str, report: str) -> int:
    found = re.search(pattern, report)
    return int(found.group(1)) if found else 0


def check(case: Case) -> Outcome:
    start = time.monotonic()
    defines = [f"-D{word}" for word in case.defines.split()]
    try:
        with tempfile.TemporaryDirectory(prefix="attune-model-") as folder:
            report = search(case, defines, folder)
    except subprocess.TimeoutExpired:
        report = "out of time: Search not completed"
    return Outcome(
        case=case,
        states=figure(r"(\d+) states, stored", report),
        depth=figure(r"depth reached (\d+)", report),
        seconds=time.monotonic() - start,
        found=verdict(report) if "pan:" in report or "State-vector" in report else report.strip().splitlines()[-1],
    )


def search(case: Case, defines: list[str], folder: str) -> str:
    """Generates, compiles and runs the checker; its report, or the message of the tool that failed."""
    optimise = "-O0" if case.bug else "-O1"  # a planted bug is found in less time than -O1 takes
    for command in (
        ["spin", "-a", *defines, str(HERE / case.model)],
        ["gcc", optimise, "-w", "-DSAFETY", "-DNOCLAIM", "-DMEMLIM=2048", "-o", "pan", "pan.c"],
    ):
        made = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
        if made.returncode:
            return made.stdout + made.stderr + "\nfailed: " + " ".join(command)
    ran = subprocess.run(["./pan", *(HUNT if case.bug else PROOF)], cwd=folder, capture_output=True, text=True, timeout=LIMIT_S)
    return ran.stdout + ran.stderr


def line_of(outcome: Outcome) -> str:
    mark = "ok  " if outcome.as_expected else "FAIL"
    expected = "" if outcome.as_expected else f" (expected: {outcome.case.bug or 'holds'})"
    caught = "caught: " if outcome.case.bug and outcome.as_expected else ""
    return (
        f"{mark} {outcome.states:>9} states  depth {outcome.depth:>8}  {outcome.seconds:5.1f} s  "
        f"{caught}{outcome.found}{expected}  [{outcome.case.name}]"
    )


def missing_tool() -> str | None:
    for tool, package in (("spin", "spin"), ("gcc", "gcc")):
        if not shutil.which(tool):
            return f"models: {tool} not found; install it (Debian: apt-get install {package}) and run again"
    return None


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("-j", "--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("-k", "--keep", metavar="WORD", default="", help="only the cases whose name contains WORD")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    options = parser.parse_args()
    cases = [case for case in CASES if options.keep in case.name]
    if options.list:
        print("\n".join(case.name for case in cases))
        return 0
    if not cases:
        print(f"models: no case contains '{options.keep}'; see --list", file=sys.stderr)
        return 2
    if problem := missing_tool():
        print(problem, file=sys.stderr)
        return 2
    start = time.monotonic()
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=options.jobs) as pool:
        for outcome in pool.map(check, cases):
            print(line_of(outcome), flush=True)
            failed += not outcome.as_expected
    bugs = sum(case.bug is not None for case in cases)
    print(
        f"{len(cases) - bugs} models, {bugs} planted bugs: "
        f"{'all as expected' if not failed else f'{failed} NOT as expected'}, {time.monotonic() - start:.0f} s"
    )
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
