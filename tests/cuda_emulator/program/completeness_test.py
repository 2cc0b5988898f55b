"""The stand-in has every symbol of the CUDA runtime that the program wants: a missing one ends a run in the middle."""
import os
import subprocess
import unittest


def symbols(*words):
    """Names of nm's output without their versions."""
    text = subprocess.run(["nm", "-D", *words], capture_output=True, text=True, check=True).stdout
    return {line.split()[-1].split("@")[0] for line in text.splitlines()}


class Completeness(unittest.TestCase):
    """Against the program as it was linked."""

    def test_every_call_of_the_program_is_there(self):
        wanted = {name for name in symbols("--undefined-only", os.environ["ATTUNE"]) if name.lstrip("_").startswith("cuda")}
        self.assertGreater(len(wanted), 10, "the program does not use the shared CUDA runtime")
        self.assertEqual(wanted - symbols("--defined-only", os.environ["ATTUNE_EMULATOR"]), set())


if __name__ == "__main__":
    unittest.main()
