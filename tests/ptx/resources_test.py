#!/usr/bin/env python3
"""ptxas' report of every kernel on every architecture: no spills, no stack frame, registers within the launch bound.

usage: resources_test.py FOLDER (searched for the *.ptxas that keep_report.py has written)
"""
import collections
import re
import sys
from pathlib import Path

from kernels import kernel_of

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


def main():
    reports = sorted(Path(sys.argv[1]).rglob("*.ptxas"))
    kernels = collections.defaultdict(list)
    faults = []
    for architecture, function, stack, spills, registers in (row for file in reports for row in rows_of(file.read_text())):
        kernel = kernel_of(function)
        if kernel is None:
            continue
        kernels[architecture].append(registers)
        name = f"{architecture} {' '.join(str(part) for part in kernel)}"
        if stack or spills:
            faults.append(f"{name}: a stack frame of {stack} bytes, {spills} bytes of spills")
        if registers > registers_of(kernel):
            faults.append(f"{name}: {registers} registers, at most {registers_of(kernel)}")
    for architecture, registers in sorted(kernels.items()):
        registers.sort()
        print(f"{architecture}: {len(registers)} kernels, registers {registers[0]} to {registers[-1]}, "
              f"median {registers[len(registers) // 2]}")
        if len(registers) < FEWEST_KERNELS:
            faults.append(f"{architecture}: only {len(registers)} kernels found")
    if not kernels:
        faults.append("no kernel found")
    print("\n".join(faults[:40]))
    print(f"{len(reports)} reports, {len(faults)} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
