#!/usr/bin/env python3
"""Holds the tuner to its promises on the machine at hand: a racing sweep keeps its budget, and at sizes that it did not
measure its table loses neither to the best plan nor to the vendor.

  .ci/check_tuner.py                              2 ranks, configs/full.json, its budget
  .ci/check_tuner.py --budget 20m --launches 3    three launches into one run folder, 20 minutes each

Nothing else may run on the machine. Prints one line for each promise and ends with 1 if one is broken; verify.json in
the run folder says which sizes broke it.
"""

import argparse
import json
import os
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNITS = {"s": 1, "m": 60, "h": 3600}


def parse():
    """The command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--attune", default=ROOT / "build/release/attune", help="the program")
    parser.add_argument("--mpirun", default=os.environ.get("MPIRUN", "mpirun --bind-to core"), help="the launcher")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--config", default=ROOT / "configs/full.json", type=Path)
    parser.add_argument("--budget", help="of each launch: 90s, 20m, 2h (default: the configuration's)")
    parser.add_argument("--launches", type=int, default=1)
    parser.add_argument("--points", type=int, default=24, help="sizes to verify at")
    parser.add_argument("--to", default="64M", help="the largest of them")
    parser.add_argument("--out", type=Path, help="run folder (default: runs/check-<time>)")
    options = parser.parse_args()
    options.budget = options.budget or json.loads(options.config.read_text(encoding="utf-8"))["budget"]
    options.out = options.out or ROOT / "runs" / time.strftime("check-%Y%m%d-%H%M%S")
    return options


def attune(options, *words, **more):
    """Runs the program on all ranks; its result."""
    command = [*shlex.split(options.mpirun), "-n", str(options.ranks), options.attune, *words]
    return subprocess.run([str(word) for word in command], check=True, text=True, **more)


def check(holds, promise):
    """Prints a promise and whether it holds."""
    print(f"{'holds ' if holds else 'BROKEN'}  {promise}", flush=True)
    return holds


def sweeps(options):
    """All launches; whether each kept its budget."""
    budget = float(options.budget[:-1]) * UNITS[options.budget[-1]]
    kept = True
    for launch in range(options.launches):
        start = time.monotonic()
        attune(options, "sweep", "--config", options.config, "--search", "racing", "--budget", options.budget, "--append",
               "--out", options.out)
        took = time.monotonic() - start
        text = f"launch {launch + 1}: {took:.1f} s of {budget:.0f} s ({100 * (took / budget - 1):+.1f} %, promised 5 %)"
        kept = check(abs(took / budget - 1) <= 0.05, text) and kept
    return kept


def verified(options):
    """Whether the table holds at sizes that were not tuned on."""
    text = attune(options, "verify", "--table", options.out / "table.json", "--points", options.points, "--to", options.to,
                  "--json", stdout=subprocess.PIPE).stdout
    (options.out / "verify.json").write_text(text, encoding="utf-8")
    found = json.loads(text)
    regret, worst = 100 * found["regret_geomean"], 100 * (found["worst_vs_vendor"] - 1)
    print(f"        {len(found['points'])} unseen sizes, gain over the vendor {found['gain_geomean']:.2f}x (geometric mean), "
          f"largest regret {100 * found['regret_max']:.2f} %")
    good = check(regret <= 3, f"geometric mean of the regret {regret:.2f} % (promised 3 %)")
    return check(worst <= 3, f"never slower than the vendor by more than 3 %: at worst {worst:+.2f} %") and good


def main():
    """0 if all promises hold."""
    options = parse()
    kept = sweeps(options)
    return 0 if verified(options) and kept else 1


if __name__ == "__main__":
    sys.exit(main())
