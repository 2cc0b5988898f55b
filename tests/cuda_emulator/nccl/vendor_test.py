"""NCCL as vendor of the cuda device: right results one by one and in graphs, its own choices as candidates, what every
cell is compared with, and what happens when it fails. The library is a stand-in (nccl.cpp).
"""
import csv
import json
import tempfile
import unittest
from pathlib import Path

from emulated import EmulatedTest, attune, errors

CELLS_FAILED, UNSUPPORTED = 1, 5  # exit codes
CONFIG = {
    "device": "cuda", "sizes": ["1000"], "dtypes": ["bf16"], "launch_modes": ["eager", "graph"], "blocks": [2],
    "threads": [64], "search": "exhaustive", "precision": 0.5, "budget": "10s",
    "variants": ["mesh", "vendor:nccl/ring/ll/4", "vendor:nccl/nvls"],
}
FUSED = {
    "device": "cuda", "collectives": ["reduce_scatter_rms_norm", "allreduce_rms_norm"], "shapes": [[6, 80], [5, 64]],
    "dtypes": ["bf16"], "blocks": [2], "threads": [64], "search": "exhaustive", "precision": 0.5, "budget": "10s",
}


class Vendor(EmulatedTest):
    """With a stand-in for libnccl.so.2."""

    def sweep(self, config, ranks=2, code=0, **environment):
        """{(variant, launch mode): row} of a sweep."""
        with tempfile.TemporaryDirectory(dir=".") as name:
            folder = Path(name)
            (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
            self.process = attune("sweep", "--config", folder / "config.json", "--out", folder / "run", ranks=ranks,
                                  **environment)
            self.assertEqual(self.process.returncode, code, self.says(self.process))
            with open(folder / "run" / "summary.csv", encoding="utf-8", newline="") as file:
                return {(row["variant"], row["launch_mode"]): row for row in csv.DictReader(file)}

    def test_bench_of_every_type_and_op(self):
        self.benches("-b", 4000, "-e", 4000, "-d", "all", "-o", "all", "--variant", "vendor", ranks=3)
        self.benches("-b", "3M", "-e", "3M", "--variant", "vendor:nccl/tree/simple", ranks=2)
        self.benches("-b", 4000, "-e", 4000, "-G", 2, "-n", 2, "--variant", "vendor", ranks=2)

    def test_a_choice_that_nccl_refuses_is_told(self):
        process = attune("bench", "--device", "cuda", "-b", 64, "-e", 64, "--variant", "vendor:nccl/nvls", ranks=2)
        self.assertFalse(process.hung, self.says(process))
        self.assertEqual(process.returncode, UNSUPPORTED, self.says(process))
        self.assertEqual(len(errors(process)), 1, self.says(process))
        self.assertRegex(errors(process)[0], r"vendor:nccl/nvls: ncclCommInitRankConfig at .* on rank 0, device 0: invalid usage")

    def test_a_sweep_compares_with_it_and_measures_its_choices(self):
        rows = self.sweep(CONFIG)
        for mode in ("eager", "graph"):
            for name in ("vendor", "mesh", "vendor:nccl/ring/ll/4"):
                self.assertEqual(rows[name, mode]["status"], "ok", self.says(self.process))
            self.assertEqual(rows["vendor:nccl/nvls", mode]["status"], "unsupported", self.says(self.process))

    def test_fused_baselines(self):
        for row in self.sweep(FUSED, ranks=2).values():
            self.assertEqual(row["status"], "ok", self.says(self.process))

    def test_where_it_cannot_start_all_else_goes_on(self):
        for call in ("ncclGetUniqueId", "ncclCommInitRankConfig@1"):
            rows = self.sweep(CONFIG, ATTUNE_EMULATED_NCCL_FAIL=call)
            self.assertEqual(rows["mesh", "eager"]["status"], "ok", self.says(self.process))
            self.assertEqual(rows["vendor", "eager"]["status"], "unsupported", self.says(self.process))

    def test_where_its_calls_fail_results_are_still_proved(self):
        rows = self.sweep(CONFIG, code=CELLS_FAILED, ATTUNE_EMULATED_NCCL_FAIL="ncclAllReduce")
        for mode in ("eager", "graph"):
            self.assertEqual(rows["mesh", mode]["status"], "ok", self.says(self.process))
            self.assertEqual(rows["vendor", mode]["status"], "failed", self.says(self.process))

    def test_a_call_that_fails_on_one_rank_ends_the_job(self):
        process = attune("bench", "--device", "cuda", "-b", 64, "-e", 64, "--variant", "vendor", "-T", 3, ranks=2,
                         ATTUNE_EMULATED_NCCL_FAIL="ncclAllReduce@1")
        self.assertFalse(process.hung, self.says(process))
        self.assertNotEqual(process.returncode, 0, self.says(process))
        self.assertRegex("\n".join(errors(process)), r"ncclAllReduce at \w+\.\w+:\d+ on rank 1, device 1: ")


if __name__ == "__main__":
    unittest.main()
