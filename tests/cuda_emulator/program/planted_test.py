"""Every call of the CUDA runtime that a run makes is made to fail once, on one rank: the job must end with a clear
error that names the call, or go on with right results where there is another way; it must never hang.
"""
import glob
import pathlib
import re
import tempfile
import unittest

from emulated import EmulatedTest, attune, errors

BENCH = ("bench", "--device", "cuda", "-b", 4096, "-e", 4096, "-n", 2, "-w", 1)
RANKS = 2
# Calls that have another way behind them, or that are made a different number of times in every run: right results or
# an error, both are fine.
QUESTIONS = {"cudaGetDevice", "cudaGetDeviceCount", "cudaGetDriverEntryPointByVersion", "cudaGetDriverEntryPoint",
             "cudaPointerGetAttributes", "cudaEventQuery", "cudaStreamQuery", "cudaDeviceCanAccessPeer",
             "cudaIpcOpenMemHandle", "cudaIpcGetMemHandle", "cudaDeviceGetP2PAttribute"}


class Planted(EmulatedTest):
    """Failures on rank 1."""

    def calls_of_a_run(self):
        """Calls by name, of rank 1."""
        with tempfile.TemporaryDirectory(dir=".") as folder:
            trace = pathlib.Path(folder) / "calls"
            self.succeeds(*BENCH, ranks=RANKS, ATTUNE_EMULATOR_TRACE=str(trace))
            self.assertEqual(len(glob.glob(f"{trace}.*")), RANKS)
            lines = pathlib.Path(f"{trace}.1").read_text(encoding="utf-8").splitlines()
        return {name: int(count) for name, count in map(str.split, lines)}

    def expect_an_end(self, name, nth):
        """One planted failure."""
        process = attune(*BENCH, ranks=RANKS, ATTUNE_EMULATOR_FAIL=f"{name}:{nth}@1", ATTUNE_TIMEOUT_S="5")
        self.assertFalse(process.hung, f"{name}:{nth} hangs: {self.says(process)}")
        if process.returncode == 0:
            told = f"no peer access: {name} at " in process.stderr_text  # and the slow path was taken
            harmless = told or name in QUESTIONS or re.search(r"Destroy|Free|Close", name)
            self.assertTrue(harmless, f"{name}:{nth} goes unnoticed: {self.says(process)}")
            self.assertRegex(process.stdout_text, r"# Out of bounds values : 0 OK")
            return
        self.assertLess(process.returncode, 128, f"{name}:{nth} crashes: {self.says(process)}")
        self.assertTrue(errors(process), f"{name}:{nth} ends without an error: {self.says(process)}")
        if name != "kernel":  # which is no call
            said = "no CUDA device: " if name == "cudaGetDeviceCount" else name
            self.assertIn(said, process.stderr_text, f"{name}:{nth} is not named: {self.says(process)}")

    def test_every_call_can_fail(self):
        calls = self.calls_of_a_run()
        self.assertGreater(len(calls), 15, calls)
        for name, count in sorted(calls.items()):
            for nth in sorted({1, count}):
                with self.subTest(call=name, nth=nth):
                    self.expect_an_end(name, nth)


if __name__ == "__main__":
    unittest.main()
