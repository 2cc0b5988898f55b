#!/usr/bin/env python3
"""No kernel object of a wider instruction set defines a function that another object may share.

The linker keeps one copy of a weak function, whichever object it comes from. One that was compiled with AVX2 would then
run on machines without it. Every weak symbol of such an object must name its instruction set, so that it is its own.

usage: isa_symbols.py ISA LIBRARY.a
"""
import subprocess
import sys


def main() -> int:
    isa, archive = sys.argv[1:]
    listing = subprocess.run(["nm", "-C", "--defined-only", archive], capture_output=True, text=True, check=True).stdout
    member, members, shared = "", 0, []
    for line in listing.splitlines():
        if line.endswith(":"):
            member = line[:-1]
            members += f"_{isa}." in member
        elif line and f"_{isa}." in member:
            kind, name = line.split(maxsplit=2)[1:]
            if kind in "WVu" and f"isa::{isa}" not in name:
                shared.append(f"{member}: {name}")
    print(f"{members} objects of {isa}, {len(shared)} shared weak symbols")
    print("\n".join(shared[:20]))
    return 1 if shared or members == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
