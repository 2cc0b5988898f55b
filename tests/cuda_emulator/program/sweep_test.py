"""attune sweep on emulated GPUs: every variant is validated and "timed", eager and in graphs, the fused kernels too; no
time is shown, and all files say that the GPUs were emulated.
"""
import csv
import json
import tempfile
import unittest
from pathlib import Path

from emulated import EmulatedTest, attune, errors

UNSUPPORTED = 5  # the exit code
TIMES = ("median_us", "ci_low_us", "ci_high_us", "p5_us", "p95_us", "min_us", "algbw_gbs", "busbw_gbs", "vendor_us")
CONFIG = {
    "device": "cuda", "sizes": ["8", "10000"], "dtypes": ["bf16"], "placements": ["out_of_place", "in_place"],
    "launch_modes": ["eager", "graph"], "blocks": [2], "threads": [64], "search": "exhaustive", "precision": 0.5,
    "budget": "20s",
}
FUSED = {
    "device": "cuda", "collectives": ["reduce_scatter_rms_norm", "allreduce_rms_norm"], "shapes": [[6, 80]],
    "dtypes": ["bf16"], "blocks": [2], "threads": [64], "search": "exhaustive", "precision": 0.5, "budget": "10s",
}


class Sweep(EmulatedTest):
    """One small run of 2 ranks."""

    def sweep(self, config):
        """The run folder of a sweep that succeeds."""
        holder = tempfile.TemporaryDirectory(dir=".")
        self.addCleanup(holder.cleanup)
        folder = Path(holder.name)
        (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
        self.process = self.succeeds("sweep", "--config", folder / "config.json", "--out", folder / "run", ranks=2)
        return folder / "run"

    def rows(self, run):
        """summary.csv"""
        with open(run / "summary.csv", encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def test_all_variants_eager_and_in_graphs(self):
        run = self.sweep(CONFIG)
        rows = self.rows(run)
        right = {(row["variant"], row["launch_mode"]) for row in rows if row["status"] == "ok"}
        for name in ("mesh", "push", "two_shot", "two_shot_write", "two_shot_push", "ring", "halving_doubling", "tree"):
            for mode in ("eager", "graph"):
                self.assertIn((name, mode), right, self.says(self.process))
        self.assertEqual({row["status"] for row in rows}, {"ok", "unsupported"}, self.says(self.process))

    def test_no_time_is_shown_and_every_file_says_why(self):
        run = self.sweep({**CONFIG, "sizes": ["64"], "launch_modes": ["eager"], "variants": ["mesh", "push"]})
        for row in self.rows(run):
            self.assertEqual([row[name] for name in TIMES], [""] * len(TIMES), row)
        self.assertIn("emulated", self.process.stdout_text)
        self.assertNotRegex(self.process.stdout_text, r"\d us")
        manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        self.assertTrue(manifest["emulated"])
        table = json.loads((run / "table.json").read_text(encoding="utf-8"))
        self.assertTrue(table["hardware"]["name"].startswith("emulated"))
        for keyed in table["tables"]:
            for rule in keyed["rules"]:
                self.assertFalse({"time_us", "ci_us", "vendor_us"} & set(rule), rule)

    def test_tune_shows_no_times_either(self):
        run = self.sweep({**CONFIG, "sizes": ["64"], "launch_modes": ["eager"], "variants": ["mesh", "push"]})
        again = run / "again.json"
        self.succeeds("tune", run, "--out", again, "--previous", run / "table.json", ranks=1)
        for keyed in json.loads(again.read_text(encoding="utf-8"))["tables"]:
            for rule in keyed["rules"]:
                self.assertFalse({"time_us", "ci_us", "vendor_us"} & set(rule), rule)
        self.refuses("tune", run, "--out", run / "explained.json", "--explain", ranks=1)
        self.assertFalse((run / "explained.json").exists())

    def test_verify_is_refused(self):
        self.refuses("verify", "--device", "cuda", ranks=2)

    def refuses(self, *words, **more):
        """Runs, expects to be told in one line that there are no times."""
        process = attune(*words, **more)
        self.assertEqual(process.returncode, UNSUPPORTED, self.says(process))
        self.assertEqual(len(errors(process)), 1, self.says(process))
        self.assertIn("emulated GPUs have no times", errors(process)[0])

    def test_fused_kernels(self):
        rows = self.rows(self.sweep(FUSED))
        right = {row["variant"] for row in rows if row["status"] == "ok"}
        self.assertLessEqual({"reduce_scatter_rms_norm", "allreduce_rms_norm"}, right, self.says(self.process))


if __name__ == "__main__":
    unittest.main()
