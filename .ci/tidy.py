#!/usr/bin/env python3
"""tidy.py BUILD: clang-tidy over the translation units of kernels, tuner and src in BUILD's compile database.

A unit that has passed is not read again as long as its preprocessed text, its command and the checks are the
same: the proof is an empty file in the cache folder (ATTUNE_TIDY_CACHE, default ~/.cache/attune-tidy).
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys

from sources import ROOT

TIDY = "clang-tidy-14"
CACHE = pathlib.Path(os.environ.get("ATTUNE_TIDY_CACHE") or pathlib.Path.home() / ".cache/attune-tidy")


def units(build):
    """The database's entries for the project's own sources (generated ones repeat what their headers show)."""
    for entry in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        path = pathlib.Path(entry["file"])
        if path.suffix == ".cpp" and any(path.is_relative_to(ROOT / folder) for folder in ("kernels", "tuner", "src")):
            yield entry


def key_of(entry, rules):
    """What the result depends on, as a name."""
    words = shlex.split(entry["command"])
    if "-o" in words:
        del words[words.index("-o") : words.index("-o") + 2]
    done = subprocess.run([*words, "-E", "-P", "-o", "-"], cwd=entry["directory"], capture_output=True, check=False)
    text = done.stdout if done.returncode == 0 else os.urandom(16)
    return hashlib.sha256(b"\0".join([rules, entry["command"].encode(), text])).hexdigest()[:40]


def findings(build, entry, rules):
    """The findings in one unit, as lines."""
    key = key_of(entry, rules)
    if (CACHE / key).exists():
        return []
    command = [TIDY, "-p", str(build), "--quiet", entry["file"]]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    found = re.findall(r"^.*: (?:error|warning): .*$", done.stdout, re.MULTILINE)
    if done.returncode == 0:
        (CACHE / key).touch()
    return [line.replace(f"{ROOT}/", "") for line in found] or ([done.stderr] if done.returncode else [])


def main():
    """Prints each finding once (a header's is seen by every unit that includes it)."""
    build = pathlib.Path(sys.argv[1]).resolve()
    CACHE.mkdir(parents=True, exist_ok=True)
    version = subprocess.run([TIDY, "--version"], capture_output=True, check=True).stdout
    rules = version + (ROOT / ".clang-tidy").read_bytes()
    entries = list(units(build))
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        found = {line for lines in pool.map(lambda entry: findings(build, entry, rules), entries) for line in lines}
    print(*sorted(found), f"tidy: {len(entries)} units, {len(found)} findings", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
