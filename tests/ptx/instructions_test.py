#!/usr/bin/env python3
"""The PTX of the kernels: 128-bit accesses, all peer loads before the first use, flags acquired and released at system
scope, mail in halves with flags, multimem instructions where the switch is promised, no read-only loads.

usage: instructions_test.py LIST (a file that names the objects, one a line)
"""
import re
import sys

from pathlib import Path

from fatbin import ptx_of
from kernels import MODELS, kernel_of, kernels_in

LOAD, STORE = r"ld\.global\.v4\.", r"st\.global\.v4\."
ACQUIRE, RELEASE = r"ld\.acquire\.sys", r"st\.release\.sys"
PULL = ["mesh", "two_shot", "two_shot_write", "two_shot_push", "ring", "halving_doubling", "tree"]
FUSED = ["allreduce_rms_norm", "reduce_scatter_rms_norm"]
IN_SWITCH = ["multimem_one_shot", "multimem_two_shot"]


def entries(ptx):
    """{mangled name: instructions} of the kernels in PTX."""
    found = {}
    for match in re.finditer(r"\.entry\s+([\w$]+)\s*\((.*?)\)\s*[^{]*\{(.*?)^\}", ptx, re.DOTALL | re.MULTILINE):
        found.setdefault(match.group(1), match.group(3))
    return found


def longest_run(body, load, use):
    """Most loads that follow each other with no use between."""
    best = run = 0
    for line in body.splitlines():
        if re.search(load, line):
            run += 1
            best = max(best, run)
        elif re.search(use, line):
            run = 0
    return best


def faults_of(name, dtype, ranks, body, multimem):
    """What is missing, or should not be there."""
    wanted = [STORE]
    if name in PULL + FUSED:
        wanted += [LOAD, ACQUIRE, RELEASE]
    if name == "push":
        wanted += [LOAD, RELEASE, r"ld\.relaxed\.sys\.global\.v2\.b64", r"st\.relaxed\.sys\.global\.v2\.b64"]
    if name in IN_SWITCH and multimem:
        of_type = {"f32": r"\.v4\.f32", "f16": r"\.acc::f32\.v4\.f16x2", "bf16": r"\.acc::f32\.v4\.bf16x2"}[dtype]
        wanted += [ACQUIRE, RELEASE, r"multimem\.ld_reduce\.relaxed\.sys\.global\.add" + of_type]
        if name == "multimem_two_shot":
            wanted.append(r"multimem\.st\.relaxed\.sys\.global\.v4")
    for pattern in wanted:
        if not re.search(pattern, body):
            yield f"no {pattern}"
    if re.search(r"ld\.global(?:\.\w+)*\.nc", body):
        yield "a read-only load of memory that peers write"
    if name in ["mesh", "two_shot", "two_shot_write", "two_shot_push"] + FUSED and ranks > 0:
        if (run := longest_run(body, LOAD, r"\b(?:add|mul|fma)\.(?:rn\.)?f\d+|cvt\.(?:rn\.)?(?:bf16|f16|f32)")) < ranks:
            yield f"only {run} loads before the first use, there are {ranks} ranks"


def main():
    objects = Path(sys.argv[1]).read_text(encoding="utf-8").split()
    ptx = "\n".join(map(ptx_of, objects))
    kernels = entries(ptx)
    target = max([int(number) for number in re.findall(r"^\.target\s+sm_(\d+)", ptx, re.MULTILINE)], default=0)
    seen, faults = set(), []
    for mangled, body in kernels.items():
        kernel = kernel_of(mangled)
        if kernel is None or kernel[2] not in MODELS:
            continue
        _, name, of_type, ranks = kernel
        seen.add(name)
        faults += [f"{name} {MODELS[of_type]} {ranks} ranks: {fault}"
                   for fault in faults_of(name, MODELS[of_type], ranks, body, target >= 90)]
    faults += [f"no kernel of {name}" for name in PULL + FUSED + IN_SWITCH + ["push"] if name not in seen]
    without = set().union(*map(kernels_in, objects)) - set(map(kernel_of, kernels))
    faults += [f"no PTX of {' '.join(map(str, kernel))}" for kernel in sorted(without)]
    print("\n".join(faults[:40]))
    print(f"sm_{target}: {len(kernels)} kernels read, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
