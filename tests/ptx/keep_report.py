#!/usr/bin/env python3
"""Runs a compiler and keeps what ptxas tells of its kernels beside the object, as OBJECT.ptxas; all else is printed.

usage: keep_report.py COMPILER ARGUMENTS... (a compiler launcher of CMake's)
"""
import os
import re
import subprocess
import sys

OF_PTXAS = re.compile(r"ptxas info\s*:|\s+\d+ bytes stack frame|\s*Function properties for |\s*\w+ bytes gmem")


def main():
    command = sys.argv[1:]
    done = subprocess.run(command, stderr=subprocess.PIPE, text=True, errors="replace", check=False)
    lines = done.stderr.splitlines(keepends=True)
    sys.stderr.writelines(line for line in lines if not OF_PTXAS.match(line))
    if "-o" in command and done.returncode == 0:
        report = command[command.index("-o") + 1] + ".ptxas"
        with open(report + ".part", "w", encoding="utf-8") as file:
            file.writelines(line for line in lines if OF_PTXAS.match(line))
        os.replace(report + ".part", report)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
