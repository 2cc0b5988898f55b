#!/usr/bin/env python3
"""The mutation check: takes one line at a time out of the algorithms, the vocabulary or the runtime (mutations.py), builds
tests/mutation/probe.cpp over the result with ThreadSanitizer, runs it, and demands that it fails. A probe that runs into
the time limit has noticed, too. Prints caught / tried; exits with 1 when a mutation passes unnoticed.

    tests/mutation/run.py --generated build/release/kernels/generated [--only TEXT] [--jobs 2] [--list]
"""
import argparse
import concurrent.futures
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

import mutations

HERE = pathlib.Path(__file__).resolve().parent
RUNTIME = ["bootstrap", "host_team", "host_wait", "node_memory", "shared_segment", "workers", "call"]


class Builder:
    """Builds and runs probes over one copy of kernels/."""

    def __init__(self, options, folder, objects=None):
        self.options = options
        self.folder = folder
        self.kernels = folder / "kernels"
        shutil.copytree(options.source / "kernels", self.kernels)
        self.objects = objects or {name: self.compile(self.kernels / f"runtime/{name}.cpp") for name in RUNTIME}

    def compile(self, source, *flags):
        target = self.folder / f"{source.stem}-{time.monotonic_ns()}.o"
        command = [self.options.compiler, "-std=c++20", "-O1", "-g1", "-fsanitize=thread", "-ffp-contract=off", "-w",
                   "-pthread", "-DATTUNE_ONE_ISA", f"-I{self.kernels}", f"-I{self.options.generated}", *flags, "-c",
                   str(source), "-o", str(target)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"does not compile: {done.stderr.strip().splitlines()[:3]}")
        return target

    def probe(self, variant, objects):
        """How a probe of this variant ends: '' or what it noticed."""
        main = self.compile(HERE / "probe.cpp", f"-DATTUNE_PROBE={variant}")
        program = self.folder / "probe"
        subprocess.run([self.options.compiler, "-fsanitize=thread", "-pthread", str(main), *map(str, objects.values()),
                        "-lfmt", "-o", str(program)], check=True)
        main.unlink()
        # Without address randomisation: ThreadSanitizer does not know the address spaces of newer kernels.
        command = ["setarch", "-R", str(program)] if shutil.which("setarch") else [str(program)]
        environment = dict(os.environ, TSAN_OPTIONS="halt_on_error=1:report_bugs=1")
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=self.options.timeout, env=environment)
        except subprocess.TimeoutExpired:
            return "time limit"
        if done.returncode == 0:
            return ""
        lines = [line for line in done.stderr.splitlines() if "probe:" in line or "WARNING" in line]
        return lines[0].strip()[:90] if lines else f"exit status {done.returncode}"

    def try_mutation(self, mutation):
        path = self.kernels / mutation.file
        right = path.read_text()
        try:
            path.write_text(mutation.apply(right))
            objects = dict(self.objects)
            sources = [mutation.file] * mutation.file.endswith(".cpp") + mutation.rebuild
            for source in sources:
                objects[pathlib.Path(source).stem] = self.compile(self.kernels / source)
            for variant in mutation.probes:
                noticed = self.probe(variant, objects)
                if noticed:
                    return noticed
            return ""
        finally:
            path.write_text(right)


def all_mutations(source, variants):
    found = []
    for name in variants:
        found += mutations.of_variant(name, (source / f"kernels/variants/{name}.h").read_text())
    return found + mutations.listed()


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=pathlib.Path, default=HERE.parent.parent)
    parser.add_argument("--generated", type=pathlib.Path, required=True)
    parser.add_argument("--compiler", default="g++")
    parser.add_argument("--only", default="", help="mutations whose name holds this text")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=40)
    parser.add_argument("--list", action="store_true")
    return parser.parse_args(arguments)


def run(options, chosen, folder):
    """Results by name; the unharmed probes first, which must pass."""
    first = Builder(options, folder / "0")
    builders = [first] + [Builder(options, folder / str(k), first.objects) for k in range(1, options.jobs)]
    free = list(builders)

    def with_builder(work):
        builder = free.pop()
        try:
            return work(builder)
        finally:
            free.append(builder)

    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        needed = sorted({variant for mutation in chosen for variant in mutation.probes})
        healthy = pool.map(lambda v: with_builder(lambda b: b.probe(v, b.objects)), needed)
        sick = [f"{variant}: {noticed}" for variant, noticed in zip(needed, healthy) if noticed]
        if sick:
            sys.exit(f"the probe fails on the unharmed code: {sick}")
        missed = []
        results = pool.map(lambda m: with_builder(lambda b: b.try_mutation(m)), chosen)
        for mutation, noticed in zip(chosen, results):
            print(f"{'caught' if noticed else 'MISSED':7} {mutation.name}  [{noticed}]", flush=True)
            if not noticed:
                missed.append(mutation.name)
    return missed


def main():
    options = parse(None)
    variants = [line for line in (options.source / "kernels/variants/variants.txt").read_text().split() if line]
    chosen = [m for m in all_mutations(options.source, variants) if options.only in m.name]
    if options.list:
        print("\n".join(m.name for m in chosen))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        missed = run(options, chosen, pathlib.Path(folder))
    print(f"caught {len(chosen) - len(missed)} / tried {len(chosen)}")
    return 1 if missed or not chosen else 0


if __name__ == "__main__":
    sys.exit(main())
