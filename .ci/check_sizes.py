#!/usr/bin/env python3
"""The size budget: functions of at most 40 lines, files of at most 400, variants of at most 120.

universal-ctags knows where a function ends. The worst ten of each kind are printed either way, so that
a budget which is nearly spent is seen.
"""
import json
import subprocess
import sys

from sources import CPP, ROOT, listed

FUNCTION_LINES, FILE_LINES, VARIANT_LINES = 40, 400, 120
SHOWN = 10


def functions(paths):
    """(lines, "path:line name") of every function of `paths`."""
    kinds = ["--kinds-C++=f", "--kinds-C=f", "--kinds-CUDA=f", "--kinds-Python=fm"]
    command = ["ctags", "--output-format=json", "--fields=+ne", *kinds, "-L", "-", "-f", "-"]
    names = "\n".join(map(str, paths))
    output = subprocess.run(command, cwd=ROOT, input=names, check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        tag = json.loads(line)
        if "end" in tag:
            yield tag["end"] - tag["line"] + 1, f"{tag['path']}:{tag['line']} {tag['name']}"


def files(paths):
    """(lines, path) of every file."""
    for path in paths:
        yield len((ROOT / path).read_text(encoding="utf-8").splitlines()), str(path)


def report(title, rows, limit_of):
    """Prints the longest rows and returns how many are over their limit."""
    rows = sorted(rows, reverse=True)
    over = [row for row in rows if row[0] > limit_of(row[1])]
    median = rows[len(rows) // 2][0] if rows else 0
    print(f"{title}: {len(rows)}, median {median}, over the limit {len(over)}")
    for lines, name in (over if len(over) > SHOWN else rows[:SHOWN]):
        print(f"  {lines:4} {name}{'  <-- at most ' + str(limit_of(name)) if lines > limit_of(name) else ''}")
    return len(over)


def file_limit(name):
    """The limit for a file by where it lies."""
    return VARIANT_LINES if name.startswith("kernels/variants/") else FILE_LINES


def main():
    """Exit code 1 when anything is over its limit."""
    sources = listed(suffixes=CPP | {".py"}) + [path for path in listed(suffixes={""}) if path.name in ("quickstart", "run")]
    over = report("functions", functions(sources), lambda name: FUNCTION_LINES)
    over += report("files", files(sources), file_limit)
    return 1 if over else 0


if __name__ == "__main__":
    sys.exit(main())
