"""Starts the program under the emulator and reads what it says."""
import os
import re
import subprocess
import tempfile
import threading
import time
import unittest

PROGRAM = os.environ["ATTUNE"]
# Generous: ranks, streams and blocks are threads of a machine that may have two cores.
HANG = 120


def attune(*words, ranks=2, hang=HANG, watch=None, mpirun=(), **environment):
    """The finished process, with `seconds`; `hung` when it had to be ended. `watch(process)` runs beside it."""
    command = [*os.environ["MPIRUN"].split(), *mpirun, "-n", str(ranks), PROGRAM, *map(str, words)]
    env = {**os.environ, "ATTUNE_TABLE": "none", "ATTUNE_LOG": "none", **environment}
    start = time.monotonic()
    with tempfile.TemporaryFile("w+") as told:  # no pipe that nobody reads while `watch` reads the other
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=told, text=True, env=env)
        end = threading.Timer(hang, process.terminate)
        end.start()
        if watch:
            watch(process)
        process.stdout_text, _ = process.communicate()
        process.hung = not end.is_alive()
        end.cancel()
        told.seek(0)
        process.stderr_text = told.read()
    process.seconds = time.monotonic() - start
    return process


def errors(process):
    """The error lines of all ranks."""
    return [line for line in process.stderr_text.splitlines() if "attune: error: " in line]


def wrong_columns(text):
    """What stands in the #wrong columns of bench's rows."""
    found = []
    for line in text.splitlines():
        words = line.split()
        if words and re.fullmatch(r"\d+", words[0]) and len(words) >= 13:
            found += [words[8], words[12]]
    return found


class EmulatedTest(unittest.TestCase):
    """Assertions about runs under the emulator."""

    def says(self, process):
        """Everything that a failed assertion should show."""
        return f"exit {process.returncode}, {process.seconds:.0f} s\n{process.stdout_text[-3000:]}\n{process.stderr_text[-3000:]}"

    def succeeds(self, *words, **more):
        """Runs, expects exit code 0."""
        process = attune(*words, **more)
        self.assertFalse(process.hung, "hangs: " + self.says(process))
        self.assertEqual(process.returncode, 0, self.says(process))
        return process

    def benches(self, *words, **more):
        """A bench whose every result is right, and that says that it was emulated."""
        process = self.succeeds("bench", "--device", "cuda", *words, **more)
        found = wrong_columns(process.stdout_text)
        self.assertTrue(found, self.says(process))
        self.assertEqual(set(found), {"0"}, self.says(process))
        self.assertIn("emulated", process.stdout_text)
        return process
