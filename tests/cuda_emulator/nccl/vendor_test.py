"""NCCL as vendor of the cuda device: right results one by one and in graphs, its own choices as candidates, what every
cell is compared with, and what happens when it fails. The library is a stand-in (nccl.cpp).
"""
import csv
import json
import os
import tempfile
import unittest
from pathlib import Path

from emulated import EmulatedTest, attune, errors

CELLS_FAILED, NO_DEVICE, VENDOR_FAILED, UNSUPPORTED = 1, 2, 3, 5  # exit codes
CONFIG = {
    "device": "cuda", "sizes": ["1000"], "dtypes": ["bf16"], "launch_modes": ["eager", "graph"], "blocks": [2],
    "threads": [64], "search": "exhaustive", "precision": 0.5, "budget": "10s",
    "variants": ["mesh", "vendor:nccl/ring/ll/4", "vendor:nccl/nvls"],
}
WINDOWS = {**CONFIG, "variants": ["mesh", "vendor:nccl/symmetric"], "memories": ["registered", "staged"]}
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
                                  ATTUNE_EMULATED_NCCL_TOLD=str((folder / "told").resolve()), **environment)
            self.assertEqual(self.process.returncode, code, self.says(self.process))
            told = folder / "told"
            self.told = told.read_text(encoding="utf-8").splitlines() if told.exists() else []
            self.manifest = json.loads((folder / "run" / "manifest.json").read_text(encoding="utf-8"))
            journal = (folder / "run" / "journal.jsonl").read_text(encoding="utf-8")
            self.records = [json.loads(line) for line in journal.splitlines()]
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

    def test_what_it_ran_is_recorded_and_told_outside_of_what_is_timed(self):
        rows = self.sweep(CONFIG)
        ran = {"vendor": "tree/ll channels 0..1", "vendor:nccl/ring/ll/4": "ring/ll channels 0..3", "mesh": ""}
        for mode in ("eager", "graph"):
            for name, text in ran.items():
                self.assertEqual(rows[name, mode]["ran"], text, self.says(self.process))
        for record in self.records:
            if record["status"] == "ok":
                self.assertEqual(record.get("ran", ""), ran[record["plan"]["variant"]])
        self.assertEqual(self.manifest["launches"][0]["vendor_log"], "on")
        # Three validated calls of two choices in two modes, and what the vendor gives the other choice to compare with:
        # thousands are timed.
        self.assertLessEqual(len(self.told), 2 * (2 * 3 + 1), self.told)
        self.assertEqual(set(self.told), {"AllReduce 1000"})
        self.assertNotIn("Bytes ->", self.process.stdout_text + self.process.stderr_text)

    def test_a_log_of_the_user_is_left_alone(self):
        with tempfile.TemporaryDirectory(dir=".") as name:
            log = Path(name).resolve() / "log"
            rows = self.sweep({**CONFIG, "launch_modes": ["eager"]}, NCCL_DEBUG_FILE=str(log))
            self.assertFalse(log.exists())
        self.assertEqual(rows["vendor", "eager"]["ran"], "")
        self.assertRegex(self.manifest["launches"][0]["vendor_log"], "off: NCCL_DEBUG_FILE is set")

    def test_bench_says_what_it_ran(self):
        process = self.benches("-b", 4000, "-e", 4000, "--variant", "vendor:nccl/tree/simple", ranks=2)
        self.assertEqual(process.stdout_text.count("(by hand), ran tree/simple channels 0..1"), 2, self.says(process))

    def symmetric(self, rows, status):
        """Of the choice in both launch modes; all else is right."""
        for mode in ("eager", "graph"):
            for name in ("vendor", "mesh"):
                self.assertEqual(rows[name, mode]["status"], "ok", self.says(self.process))
            self.assertEqual(rows["vendor:nccl/symmetric", mode]["status"], status, self.says(self.process))
        self.assertNotIn("is freed that is a window", self.process.stderr_text)

    def reasons(self):
        return {record["reason"] for record in self.records if record["plan"]["variant"] == "vendor:nccl/symmetric"}

    def test_windows_are_a_candidate(self):
        rows = self.sweep({**WINDOWS, "memories": ["registered"]})
        self.symmetric(rows, "ok")
        for mode in ("eager", "graph"):
            self.assertEqual(rows["vendor:nccl/symmetric", mode]["ran"],
                             "symmetric/AllReduce_AGxLL_R channels 0..1 threads 512")
            self.assertEqual(rows["vendor", mode]["ran"], "tree/ll channels 0..1")

    def test_windows_are_no_staged_memory(self):
        self.symmetric(self.sweep({**WINDOWS, "memories": ["staged"]}), "unsupported")
        self.assertEqual(self.reasons(), {"windows are memory that peers can address"})

    def test_without_windows_the_reason_is_told(self):
        config = {**WINDOWS, "memories": ["registered"], "launch_modes": ["eager", "graph"]}
        for environment, reason in (
            ({"ATTUNE_NCCL_LIBRARY": os.environ["OLD_NCCL"]}, "has no ncclCommWindowRegister, which came with NCCL 2.27"),
            ({"ATTUNE_EMULATED_NCCL_WINDOWS": "none"}, "NCCL makes no symmetric windows here"),
        ):
            self.symmetric(self.sweep(config, **environment), "unsupported")
            self.assertEqual(len(self.reasons()), 1, self.reasons())
            self.assertIn(reason, self.reasons().pop())

    def test_a_window_that_fails_is_told_by_all_ranks(self):
        for call in ("ncclCommWindowRegister", "ncclCommWindowRegister@1"):
            process = attune("bench", "--device", "cuda", "-b", 64, "-e", 64, "--variant", "vendor", "-R", 2, "-T", 3,
                             ranks=2, ATTUNE_EMULATED_NCCL_FAIL=call)
            self.assertFalse(process.hung, self.says(process))
            self.assertEqual(process.returncode, VENDOR_FAILED, self.says(process))
            self.assertEqual(len(errors(process)), 1, self.says(process))
            self.assertRegex(errors(process)[0], r"vendor:nccl/symmetric: ncclCommWindowRegister at .* on rank \d, device \d: ")

    def test_bench_takes_windows_as_nccl_tests_do(self):
        process = self.benches("-b", 4000, "-e", 64000, "-f", 4, "-d", "bfloat16", "--variant", "vendor", "-R", 2, ranks=2)
        self.assertEqual(process.stdout_text.count("ran symmetric/AllReduce_AGxLL_R channels 0..1"), 6, self.says(process))
        process = self.benches("-b", 4000, "-e", 4000, "--variant", "vendor", "-R", 1, ranks=2)
        self.assertEqual(process.stdout_text.count("ran tree/ll channels 0..1"), 2, self.says(process))
        with tempfile.TemporaryDirectory(dir=".") as name:  # what is compared works on the same data
            zeros = Path(name).resolve() / "zeros"
            self.benches("-b", 4000, "-e", 4000, "-R", 2, "--against", "vendor", "-n", 2, "--variant", "mesh", ranks=2,
                         ATTUNE_EMULATED_NCCL_ZEROS=str(zeros))
            self.assertFalse(zeros.exists())

    def test_windows_are_made_for_the_vendor_alone(self):
        """Memory that NCCL does not give is missed by nobody else."""
        for words, code in ((("--variant", "mesh"), 0), (("--table", "none"), 0), (("--variant", "vendor"), NO_DEVICE),
                            (("--variant", "mesh", "--against", "vendor"), NO_DEVICE)):
            process = attune("bench", "--device", "cuda", "-b", 4000, "-e", 4000, "-R", 2, *words, ranks=2,
                             ATTUNE_EMULATED_NCCL_FAIL="ncclMemAlloc")
            self.assertFalse(process.hung, self.says(process))
            self.assertEqual(process.returncode, code, self.says(process))

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
