#!/usr/bin/env python3
"""The one-way order of the code, and what each layer may not do.

A file includes only what stands before its own layer: core, device, variants, runtime, dispatch, the public
API, tuner, src. Printing and leaving the process is the driver's business; MPI and CUDA stay below runtime;
variants are written in the vocabulary alone.
"""
import re
import sys

from sources import ROOT, code_of, listed

# Folder -> place in the order. Longest match wins.
LAYERS = {
    "kernels/core": 0,
    "kernels/device": 1,
    "kernels/variants": 2,
    "kernels/runtime": 3,
    "kernels/dispatch": 4,
    "kernels/include/attune": 5,
    "kernels/api": 5,
    "tuner": 6,
    "src": 7,
}
ORDER = "core -> device -> variants -> runtime -> dispatch -> public API -> tuner -> src"

# (folders, pattern in the code without comments and strings, what is wrong with it)
RULES = [
    (
        ["kernels", "tuner"],
        r"\b(?:v?f?printf|puts|putchar|perror)\s*\(|\bstd\s*::\s*(?:cout|cerr|clog)\b|\bfmt\s*::\s*print\b",
        "prints: return or throw attune::Error, only src/ prints",
    ),
    (
        ["kernels", "tuner"],
        r"(?<![\w.>])(?:std\s*::\s*)?(?:exit|abort|_exit|_Exit|quick_exit|terminate|MPI_Abort)\s*\(",
        "ends the process: throw attune::Error, only src/ exits",
    ),
    (
        ["kernels/core", "kernels/variants", "tuner"],
        r'#\s*include\s*[<"](?:mpi|cuda|nccl|cooperative_groups)[\w/]*(?:\.h)?[>"]',
        "uses MPI, CUDA or NCCL: that begins in kernels/runtime (MPI) and kernels/device (CUDA)",
    ),
    (["kernels/variants"], r"^\s*#\s*(?:if|ifdef|ifndef|elif|else)\b", "#if in an algorithm"),
    (["kernels/variants"], r"%", "divides: spans are cut by core/partition.h alone"),
]


def layer_of(path):
    """The layer of a path, or None where it has none (tests, plots)."""
    parts = str(path).split("/")
    for size in range(len(parts) - 1, 0, -1):
        folder = "/".join(parts[:size])
        if folder in LAYERS:
            return LAYERS[folder]
    return None


def target_of(include):
    """The repository path that an include of ours means, or None for a library's."""
    if include.startswith("attune/"):
        return "kernels/include/" + include
    if re.match(r"(?:core|device|variants|runtime|dispatch|api)/", include):
        return "kernels/" + include
    if re.match(r"(?:tuner|src|tests)/", include):
        return include
    return None


def order_faults(path, text):
    """Includes of a file that point up the order."""
    mine = layer_of(path)
    for number, line in enumerate(text.splitlines(), 1):
        match = re.match(r'\s*#\s*include\s*[<"]([^">]+)[">]', line)
        target = target_of(match.group(1)) if match else None
        if target is None:
            continue
        theirs = 99 if target.startswith("tests/") else layer_of(target)
        if theirs is not None and theirs > mine:
            yield number, f"includes {match.group(1)}, against the order {ORDER}"
        if str(path).startswith("kernels/variants/") and theirs is not None and theirs > 2:
            yield number, f"includes {match.group(1)}: a variant sees core, device and other variants alone"


def rule_faults(path, text):
    """Lines of a file that break one of RULES."""
    code, with_strings = code_of(text), code_of(text, strings=True)
    for folders, pattern, fault in RULES:
        if not any(str(path).startswith(folder + "/") for folder in folders):
            continue
        searched = with_strings if "include" in pattern else code
        for match in re.finditer(pattern, searched, re.MULTILINE):
            yield searched.count("\n", 0, match.start()) + 1, fault


def first_include_faults(path, text):
    """A source file that does not begin with its own header: nothing else proves that the header stands alone."""
    header = path.with_suffix(".h")
    if path.suffix not in (".cpp", ".cu") or not (ROOT / header).is_file():
        return
    first = re.search(r'^\s*#\s*include\s*[<"]([^">]+)[">]', text, re.MULTILINE)
    if first is None or not str(header).endswith(first.group(1)):
        line = text.count("\n", 0, first.start()) + 1 if first else 1
        yield line, f"does not include {header.name} first: a header shows in its own source file that it stands alone"


def without_lambdas(code):
    """The code with the bodies of lambdas blanked out (a `return` in one does not leave the function)."""
    result, position = list(code), 0
    for match in re.finditer(r"\[[&=\w\s,]*\]\s*(?:\([^()]*\))?[^{};()]*\{", code):
        if match.start() < position:
            continue
        depth, end = 1, match.end()
        while end < len(code) and depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        body = slice(match.end(), end - 1)  # the braces stay: they are counted
        result[body] = re.sub(r"[^\n]", " ", code[body])
        position = end
    return "".join(result)


def early_returns(path, text):
    """Returns above the last barrier of a variant's run(): a block that leaves early hangs its peers."""
    if not str(path).startswith("kernels/variants/"):
        return
    code = without_lambdas(code_of(text))
    for body in re.finditer(r"\bstatic\s+void\s+run\s*\(", code):
        start = code.find("{", body.start())
        depth, end = 1, start + 1
        while end < len(code) and depth:
            depth += {"{": 1, "}": -1}.get(code[end], 0)
            end += 1
        waits = [m.start() for m in re.finditer(r"\b(?:barrier|wait|handshake)\s*\(", code[start:end])]
        for found in re.finditer(r"\breturn\b", code[start:end]):
            if waits and found.start() < waits[-1]:
                yield code.count("\n", 0, start + found.start()) + 1, "returns above the last barrier of run()"


def main():
    """Prints every fault as path:line: what; the exit code says whether there was one."""
    faults = 0
    files = listed("kernels", "tuner", "src")
    for path in files:
        text = (ROOT / path).read_text(encoding="utf-8")
        if layer_of(path) is None:
            print(f"{path}:1: belongs to no layer: {ORDER}")
            faults += 1
            continue
        for check in (order_faults, rule_faults, first_include_faults, early_returns):
            for number, fault in check(path, text):
                print(f"{path}:{number}: {fault}")
                faults += 1
    print(f"layers: {len(files)} files, {faults} faults")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
