"""Samples of a GPU that is held below its clock are refused on all ranks, whichever rank's it is."""
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

    def noisy(self, **environment):
        """The column of summary.csv, of all cells that were measured."""
        with tempfile.TemporaryDirectory(dir=".") as name:
            config, run = Path(name) / "config.json", Path(name) / "run"
            config.write_text(json.dumps(CONFIG), encoding="utf-8")
            process = self.succeeds("sweep", "--config", config, "--out", run, ranks=2, **environment)
            with open(run / "summary.csv", encoding="utf-8", newline="") as file:
                found = [row["noisy"] for row in csv.DictReader(file) if row["status"] == "ok"]
        self.assertEqual(len(found), 2, self.says(process))
        return set(found)

    def test_samples_of_a_throttled_gpu_are_refused(self):
        self.assertEqual(self.noisy(ATTUNE_EMULATED_THROTTLED="0000:11:00.0"), {"true"})  # of rank 1

    def test_others_are_not(self):
        self.assertEqual(self.noisy(ATTUNE_EMULATED_THROTTLED="0000:17:00.0"), {"false"})  # of no rank


if __name__ == "__main__":
    unittest.main()
