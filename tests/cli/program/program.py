"""Starts the built program, alone or under mpirun, and looks at what it says."""
import copy
import json
import os
import pathlib
import re
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ["ATTUNE_SOURCE_DIR"])
PROGRAM = os.environ["ATTUNE"]
QUIET = {"ATTUNE_TABLE": "none", "ATTUNE_LOG": "none", "NCCL_TESTS_MIN_BW": None}


def attune(*words, ranks=0, **environment):
    """The finished process of `attune words...`; ranks > 0: under mpirun. An environment value of None unsets."""
    command = os.environ["MPIRUN"].split() + ["-n", str(ranks)] if ranks else []
    env = dict(os.environ)
    for name, value in {**QUIET, **environment}.items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    return subprocess.run([*command, PROGRAM, *map(str, words)], capture_output=True, text=True, env=env, timeout=100)


def errors(result):
    """The error lines of a process."""
    return [line for line in result.stderr.splitlines() if line.startswith("attune: error: ")]


class ProgramTest(unittest.TestCase):
    """Assertions about the program, and a folder of one's own."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=".")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def succeeds(self, *words, **more):
        """Runs, expects exit code 0."""
        result = attune(*words, **more)
        self.assertEqual(result.returncode, 0, f"{words}\n{result.stdout}\n{result.stderr}")
        return result

    def fails(self, code, *words, says=".", ranks=0, **more):
        """Runs, expects this exit code and exactly one error line, which matches `says`."""
        result = attune(*words, ranks=ranks, **more)
        self.assertEqual(result.returncode, code, f"{words}\n{result.stdout}\n{result.stderr}")
        lines = errors(result)
        self.assertEqual(len(lines), 1, f"{words}\n{result.stderr}")
        self.assertRegex(lines[0], says)
        return lines[0]

    def json_of(self, *words, **more):
        """Runs with --json; the object."""
        return json.loads(self.succeeds(*words, "--json", **more).stdout)


RULES = [
    {"min_bytes": 0, "variant": "mesh", "blocks": 1, "threads": 1},
    {"min_bytes": 4096, "variant": "two_shot", "blocks": 1, "threads": 1, "chunk_bytes": 0},
]


def table(rules=None, fingerprint=None, **key):
    """A dispatch table of one key for this machine."""
    info = json.loads(attune("info", "--json").stdout)
    hardware = {
        "device": "host",
        "name": info["hardware"]["name"],
        "arch": info["hardware"]["arch"],
        "ranks_per_node": info["machine"]["cpus"],
        "links": "shared-memory",
        "fingerprint": fingerprint or info["hardware"]["fingerprint"],
    }
    keys = {
        "collective": "allreduce", "dtype": "f32", "op": "sum", "ranks": 2, "placement": "out_of_place",
        "memory": "registered", "launch_mode": "eager", "numerics": "rank_order", **key,
    }
    return {
        "format": "attune-dispatch",
        "version": 1,
        "hardware": hardware,
        "software": {"attune": "0.1.0", "vendor": "any", "driver": ""},
        "source": {"run": "by hand", "journal_sha256": "0" * 64, "created": "2026-01-01T00:00:00Z"},
        "tables": [{**keys, "rules": copy.deepcopy(rules or RULES)}],
    }


ROW = re.compile(
    r"^\s+(?P<size>\d+)\s+(?P<count>\d+)\s+(?P<type>\S+)\s+(?P<redop>\S+)\s+(?P<root>-?\d+)"
    r"\s+(?P<out_time>[\d.e+]+)\s+(?P<out_algbw>[\d.e+]+)\s+(?P<out_busbw>[\d.e+]+)\s+(?P<out_wrong>\S+)"
    r"\s+(?P<in_time>[\d.e+]+)\s+(?P<in_algbw>[\d.e+]+)\s+(?P<in_busbw>[\d.e+]+)\s+(?P<in_wrong>\S+)\s*$"
)


def rows(text):
    """The data rows of nccl-tests' text, as its parsers read them: whatever does not begin with '#'."""
    found = []
    for line in text.splitlines():
        if line.startswith("#") or not line.strip():
            continue
        match = ROW.match(line)
        if match is None:
            raise AssertionError(f"not a row of nccl-tests: {line!r}")
        found.append(match.groupdict())
    return found
