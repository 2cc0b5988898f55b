#!/usr/bin/env python3
"""ptxas' report of every kernel on every architecture: no spills, no stack frame, registers within the launch bound.

Every object has a report (OBJECT.ptxas, by keep_report.py), and every report of a variant has kernels.

usage: resources_test.py LIST (a file that names the objects, one a line)
"""
import collections
import re
import sys
from pathlib import Path

from kernels import kernel_of, kernels_in

REGISTER_FILE = 65536  # of a multiprocessor
FEWEST_KERNELS = 100


def rows_of(report):
    """(architecture, function, bytes of stack, bytes of spills, registers) in the order of a report."""
    architecture = function = ""
    stack = spills = 0
    for line in report.splitlines():
        if match := re.search(r"Compiling entry function '(\w+)' for '(\w+)'", line):
            function, architecture = match.groups()
        elif match := re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores, (\d+) bytes spill loads", line):
            stack, spills = int(match.group(1)), int(match.group(2)) + int(match.group(3))
        elif match := re.search(r"Used (\d+) registers", line):
            yield architecture, function, stack, spills, int(match.group(1))


def registers_of(kernel):
    """The register file over the threads of a full block: 256 for 8-bit types and two variants, else 512."""
    _, name, of_type, _ = kernel
    small = of_type in ("a", "h", "NS_6f8e4m3E", "NS_6f8e5m2E") or name in ("push", "staged_two_shot")
    return min(REGISTER_FILE // (256 if small else 512), 255)


def faults_of(architecture, kernel, stack, spills, registers):
    """What is too much for a kernel."""
    name = f"{architecture} {' '.join(map(str, kernel))}"
    if stack or spills:
        yield f"{name}: a stack frame of {stack} bytes, {spills} bytes of spills"
    if registers > registers_of(kernel):
        yield f"{name}: {registers} registers, at most {registers_of(kernel)}"


def read(path, kernels, faults):
    """Reads the report of one object into {architecture: registers of kernels}."""
    report = Path(path + ".ptxas")
    if not report.exists():
        faults.append(f"no report of {path}")
        return
    reported = collections.defaultdict(set)
    for architecture, function, *used in rows_of(report.read_text(encoding="utf-8")):
        if kernel := kernel_of(function):
            reported[architecture].add(kernel)
            kernels[architecture].append(used[-1])
            faults += faults_of(architecture, kernel, *used)
    expected = kernels_in(path)
    if not expected and "start_line" not in path:
        faults.append(f"no kernel in {path}")
    for architecture in reported or ["every architecture"]:
        faults += [f"{architecture}: no report of {' '.join(map(str, kernel))}"
                   for kernel in sorted(expected - reported[architecture])]


def main():
    objects = [name for name in Path(sys.argv[1]).read_text(encoding="utf-8").split() if name.endswith(".cu.o")]
    kernels, faults = collections.defaultdict(list), []
    for path in objects:
        read(path, kernels, faults)
    for architecture, registers in sorted(kernels.items()):
        registers.sort()
        print(f"{architecture}: {len(registers)} kernels, registers {registers[0]} to {registers[-1]}, "
              f"median {registers[len(registers) // 2]}")
        if len(registers) < FEWEST_KERNELS:
            faults.append(f"{architecture}: only {len(registers)} kernels found")
    if not kernels:
        faults.append("no kernel found")
    print("\n".join(faults[:40]))
    print(f"{len(objects)} objects, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
