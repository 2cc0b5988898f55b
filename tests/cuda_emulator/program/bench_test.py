"""attune bench with every variant on emulated GPUs, a process for each: launched one by one and in graphs, with memory
that peers can address and with any other; nothing may be wrong. With ATTUNE_EMULATED_FULL at all sizes.
"""
import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from emulated import PROGRAM, EmulatedTest

FULL = bool(os.environ.get("ATTUNE_EMULATED_FULL"))
RANKS = 4
FACTOR = 4 if FULL else 362
ONCE = ("-n", 1, "-w", 0, "-c", 1)
# What no emulated device has: a switch that adds, NCCL, other nodes, sockets.
WITHOUT = {"vendor", "hierarchical", "multimem_one_shot", "multimem_two_shot", "two_level"}
MOST = {"push": "4K"}  # of variants for small messages alone


def variants():
    """Names of all variants, as the program lists them."""
    cards = json.loads(subprocess.run([PROGRAM, "cost", "--json"], capture_output=True, text=True, check=True).stdout)
    names = [card["variant"] for card in cards["variants"]]
    return [name for name in names if name not in WITHOUT and not name.endswith("_rms_norm")]


class Bench(EmulatedTest):
    """Right results, and no times."""

    def test_every_variant(self):
        names = variants()
        self.assertGreater(len(names), 9, names)
        for name in names:
            with self.subTest(variant=name):
                self.benches("-b", 8, "-e", MOST.get(name, "1M"), "-f", FACTOR, *ONCE, "-d", "bfloat16", "--variant", name,
                             "--blocks", 2, "--block-threads", 64, ranks=RANKS)

    def test_the_tables_choice(self):
        # As users start it. Few multiprocessors: fewer blocks fit than the plan asks for.
        process = self.benches("-b", 8, "-e", "1M", "-f", 4, "-d", "bfloat16", ranks=RANKS, ATTUNE_EMULATOR_SMS="2")
        self.assertIn("blocks=36 threads=512", process.stdout_text)
        self.assertIn("N/A", process.stdout_text)
        self.assertIn("iters: 1 ", process.stdout_text, "calls are repeated although no time is shown")
        self.assertRegex(process.stdout_text, r"(?m)^# Avg bus bandwidth    : 0\s*$")

    def test_graphs_and_memory_of_any_kind(self):
        for name in variants() if FULL else ["push", "two_shot_write", "ring"]:
            for registered in (0, 1):
                with self.subTest(variant=name, registered=registered):
                    if name == "naive":
                        continue  # waits for messages of the host
                    self.benches("-b", 4096, "-e", 4096, *ONCE, "-G", 2, "-R", registered, "--variant", name,
                                 "--block-threads", 32, ranks=2)

    def test_the_file_holds_no_times_either(self):
        with tempfile.TemporaryDirectory(dir=".") as folder:
            out = Path(folder) / "bench.json"
            self.benches("-b", 64, "-e", 64, *ONCE, "-J", out, ranks=2)
            half = json.loads(out.read_text(encoding="utf-8"))["results"][0]["out_of_place"]
        self.assertEqual([half["time"], half["alg_bw"], half["bus_bw"]], [None, None, None])


if __name__ == "__main__":
    unittest.main()
