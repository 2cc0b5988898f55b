"""Clocks of the GPUs stand in the journal and the manifest, and samples of a GPU that is held below its clock are refused
on all ranks, whichever rank's it is.
"""
import csv
import json
import tempfile
import unittest
from pathlib import Path

from emulated import EmulatedTest

CONFIG = {
    "device": "cuda", "sizes": ["64"], "dtypes": ["f32"], "blocks": [1], "threads": [32], "variants": ["mesh", "push"],
    "search": "exhaustive", "precision": 0.5, "budget": "5s",
}


class Clocks(EmulatedTest):
    """With a stand-in for libnvidia-ml.so.1."""

    def sweep(self, **environment):
        """{column: what stands there} of the cells that were measured, the clocks of their records, the manifest."""
        with tempfile.TemporaryDirectory(dir=".") as name:
            config, run = Path(name) / "config.json", Path(name) / "run"
            config.write_text(json.dumps(CONFIG), encoding="utf-8")
            process = self.succeeds("sweep", "--config", config, "--out", run, ranks=2, **environment)
            with open(run / "summary.csv", encoding="utf-8", newline="") as file:
                rows = [row for row in csv.DictReader(file) if row["status"] == "ok"]
            lines = (run / "journal.jsonl").read_text(encoding="utf-8").splitlines()
            manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
        self.assertEqual(len(rows), 2, self.says(process))
        found = {name: {row[name] for row in rows} for name in ("noisy", "sm_mhz", "throttled")}
        records = [record for record in map(json.loads, lines) if record["status"] == "ok"]
        return found, records, manifest["launches"][0]["sm_clocks"]

    def test_samples_of_a_throttled_gpu_are_refused_and_counted(self):
        found, records, clocks = self.sweep(ATTUNE_EMULATED_THROTTLED="0000:11:00.0")  # of rank 1
        self.assertEqual((found["noisy"], found["sm_mhz"]), ({"true"}, {"1200"}))
        for record in records:
            clock = record["clock"]
            self.assertEqual((clock["sm_mhz"], clock["least_mhz"], clock["reasons"]), (1200, 1200, "heat"))
            self.assertEqual(clock["throttled"], record["rejected"])  # nothing was accepted
            self.assertGreater(clock["throttled"], 0)
        self.assertEqual(clocks[0], "[0000:10:00.0] 1980 MHz")
        self.assertEqual(clocks[1], "[0000:11:00.0] 1200 MHz, held down by heat")

    def test_others_are_not(self):
        found, records, _ = self.sweep(ATTUNE_EMULATED_THROTTLED="0000:17:00.0")  # of no rank
        self.assertEqual(found, {"noisy": {"false"}, "sm_mhz": {"1980"}, "throttled": {"0"}})
        for record in records:
            self.assertEqual(record["clock"], {"sm_mhz": 1980, "least_mhz": 1980, "throttled": 0})


if __name__ == "__main__":
    unittest.main()
