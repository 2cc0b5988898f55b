#!/usr/bin/env python3
"""check_symbols.py BUILD: the archives of kernels and tuner neither print nor end the process.

Read from what they link to, so that no spelling in the source slips through.
"""
import pathlib
import subprocess
import sys

FORBIDDEN = {
    **{name: "ends the process" for name in ("exit", "_exit", "_Exit", "quick_exit", "abort", "MPI_Abort")},
    **{name: "prints" for name in ("printf", "vprintf", "puts", "putchar", "__printf_chk", "__vprintf_chk", "perror")},
    **{name: "prints" for name in ("stdout", "stderr", "std::cout", "std::cerr", "std::clog")},
}


def undefined_symbols(archive):
    """(object file, symbol) of everything that an archive wants from elsewhere."""
    output = subprocess.run(["nm", "-uCA", archive], check=True, capture_output=True, text=True).stdout
    for line in output.splitlines():
        where, _, symbol = line.partition(" U ")
        yield where.split(":")[1], symbol.strip().split("@")[0]


def main():
    """Prints each forbidden symbol once for each object file that wants it."""
    build = pathlib.Path(sys.argv[1])
    archives = sorted(path for folder in ("kernels", "tuner") for path in (build / folder).rglob("*.a"))
    faults = 0
    for archive in archives:
        for member, symbol in sorted(set(undefined_symbols(archive))):
            if symbol in FORBIDDEN:
                print(f"{archive.relative_to(build)}: {member} wants {symbol}: {FORBIDDEN[symbol]}; throw attune::Error")
                faults += 1
    print(f"symbols: {len(archives)} archives, {faults} faults")
    return 1 if faults or not archives else 0


if __name__ == "__main__":
    sys.exit(main())
