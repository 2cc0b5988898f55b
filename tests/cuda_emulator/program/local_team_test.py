"""Ranks as streams of one GPU, driven by one process: bench and sweep are right, end with clear errors, and say in every
file and table that no node stands behind them.
"""
import json
import tempfile
import unittest
from pathlib import Path

from emulated import EmulatedTest, attune, errors

CELLS_FAILED, NO_DEVICE, USAGE = 1, 2, 6  # exit codes
CONFIG = {
    "device": "cuda", "sizes": ["1000"], "dtypes": ["bf16"], "launch_modes": ["eager", "graph"], "blocks": [2],
    "threads": [64], "search": "exhaustive", "precision": 0.5, "budget": "10s", "ranks": [2, 4],
    "variants": ["mesh", "two_shot_write", "push"],
}


class LocalTeam(EmulatedTest):
    """One process without mpirun's help."""

    def sweep(self, folder, config, local, **environment):
        """The finished process, the folder of its run and what its journal says."""
        file, run = Path(folder) / "config.json", Path(folder) / "run"
        file.write_text(json.dumps(config), encoding="utf-8")
        process = attune("sweep", "--config", file, "--out", run, "--local", local, ranks=1, **environment)
        self.assertFalse(process.hung, "hangs: " + self.says(process))
        journal = (run / "journal.jsonl").read_text(encoding="utf-8")
        return process, run, [json.loads(line) for line in journal.splitlines()]

    def test_bench_of_many_variants(self):
        for variant in ("mesh", "two_shot", "ring", "naive"):
            process = self.benches("-b", 4000, "-e", 4000, "--local", 4, "--variant", variant, ranks=1)
            self.assertIn("# local team: 4 streams of one GPU", process.stdout_text)
        self.benches("-b", 4000, "-e", 4000, "--local", 3, "-G", 2, "-n", 2, "-R", 0, ranks=1)

    def test_a_sweep_is_right_and_labelled(self):
        with tempfile.TemporaryDirectory(dir=".") as name:
            process, run, records = self.sweep(name, CONFIG, 4)
            self.assertEqual(process.returncode, 0, self.says(process))
            manifest = json.loads((run / "manifest.json").read_text(encoding="utf-8"))
            table = json.loads((run / "table.json").read_text(encoding="utf-8"))
            again = attune("sweep", "--config", Path(name) / "config.json", "--out", run, "--append", ranks=4)
            self.table_fits_local_teams_alone(run / "table.json", table["hardware"]["fingerprint"])
        self.assertIn("local team: 4 streams of one GPU", process.stdout_text)
        ok = [record for record in records if record["status"] == "ok"]
        self.assertEqual({record["plan"]["variant"] for record in ok}, set(CONFIG["variants"]))
        self.assertEqual({record["problem"]["ranks"] for record in ok}, {2, 4})
        for record in records:
            if record["plan"]["variant"] == "vendor":
                self.assertEqual(record["reason"], "a team of streams on one GPU has no vendor")
        for hardware in (manifest["hardware"], table["hardware"]):
            self.assertEqual(hardware["links"], "streams of one GPU")
            self.assertRegex(hardware["fingerprint"], "-x4-streams-")
        self.assertEqual(manifest["launches"][0]["ranks_are"], "streams of one GPU")
        self.assertEqual(again.returncode, USAGE, self.says(again))  # a node's launch does not go into that folder
        self.assertEqual(len(errors(again)), 1, self.says(again))
        self.assertIn("the run was made on", errors(again)[0])

    def table_fits_local_teams_alone(self, path, fingerprint):
        """Named or found in a folder; the ranks of a node are other hardware."""
        words = ("bench", "--device", "cuda", "-b", 2000, "-e", 2000, "-d", "bfloat16", "--strict")
        named = self.succeeds(*words, "--local", 4, "--table", path, ranks=1)
        self.assertNotIn("warning", named.stderr_text)
        self.assertIn("(exact)", named.stdout_text)
        found = path.rename(path.parent / f"{fingerprint}.json")
        self.assertIn(str(found), self.succeeds(*words, "--local", 4, ranks=1, ATTUNE_TABLE="",
                                                ATTUNE_TABLE_PATH=str(path.parent)).stdout_text)
        node = attune(*words, "--table", found, ranks=4)
        self.assertEqual(node.returncode, USAGE, self.says(node))
        self.assertIn("streams", "".join(errors(node)))

    def test_a_graph_that_fails_on_one_rank_is_a_cell_that_failed(self):
        """That rank leaves no barrier out: the sweep goes on and ends with its table."""
        config = {**CONFIG, "launch_modes": ["graph"], "ranks": [2], "variants": ["mesh", "push"], "budget": "3s",
                  "timeout_s": 4}
        calls = ("cudaGraphInstantiate:1", "cudaStreamBeginCapture:2",  # a graph that is validated,
                 "cudaGraphInstantiate:7")  # and the first that is timed
        for call in calls:
            with self.subTest(call), tempfile.TemporaryDirectory(dir=".") as name:
                process, run, records = self.sweep(name, config, 2, ATTUNE_EMULATOR_FAIL=call)
                self.assertEqual(process.returncode, CELLS_FAILED, self.says(process))
                failed = [record for record in records if record["status"] == "failed"]
                self.assertEqual(len(failed), 1, failed)
                self.assertIn(call.split(":", maxsplit=1)[0] + " at ", failed[0]["reason"])
                fine = {record["plan"]["variant"] for record in records if record["status"] == "ok"}
                self.assertEqual(len(fine), len(config["variants"]) - 1, records)
                self.assertTrue((run / "table.json").exists(), self.says(process))

    def test_what_is_no_local_team_is_refused(self):
        for words, ranks, text in (
            (("--device", "cuda", "--local", 2), 2, "--local is one process, 2 were started"),
            (("--device", "cuda", "--local", 9), 1, "a team has 1 to 8 ranks"),
            (("--local", 2), 1, "--local is a team of streams of one GPU"),
        ):
            process = attune("bench", "-b", 64, "-e", 64, *words, ranks=ranks)
            self.assertEqual(process.returncode, USAGE, self.says(process))
            self.assertEqual(len(errors(process)), 1, self.says(process))
            self.assertIn(text, errors(process)[0])

    def test_a_call_that_fails_ends_with_its_error(self):
        process = attune("bench", "--device", "cuda", "-b", 64, "-e", 64, "--local", 2, "--variant", "mesh", "-T", 3,
                         ranks=1, ATTUNE_EMULATOR_FAIL="cudaLaunchKernel:9")  # those before it probe
        self.assertFalse(process.hung, self.says(process))
        self.assertEqual(process.returncode, NO_DEVICE, self.says(process))
        self.assertEqual(len(errors(process)), 1, self.says(process))
        self.assertRegex(errors(process)[0], r"cudaLaunchKernel at cuda_calls.cpp:\d+ on rank \d, device 0: ")


if __name__ == "__main__":
    unittest.main()
