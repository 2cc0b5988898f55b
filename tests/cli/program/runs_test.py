"""Run folders on the command line: configurations and folders that are refused, a small sweep, tune, and bench with what
came of it."""
import json
import shutil
import unittest

from program import ProgramTest, attune, errors

SMALL = {"sizes": ["8", "64K"], "dtypes": ["f32"], "variants": ["mesh", "two_shot"], "blocks": [1], "cell_seconds": 0.2,
         "precision": 0.2, "budget": "10s"}


class Runs(ProgramTest):
    """A configuration file in a folder of one's own."""

    def config(self, **changes):
        """A small configuration with some keys changed; its path."""
        path = self.folder / "config.json"
        path.write_text(json.dumps({**SMALL, **changes}))
        return path

    def sweep(self, name, *words, **changes):
        """A small sweep of two ranks; its folder."""
        self.succeeds("sweep", "--config", self.config(**changes), "--out", self.folder / name, *words, ranks=2)
        return self.folder / name


class Refusals(Runs):
    """One line, exit code 6, nothing left behind."""

    def test_bad_configurations(self):
        cases = [
            ({"sizse": ["8"]}, "sizse.*sizes"), ({"sizes": ["8Q"]}, "/sizes/0.*8Q"), ({"sizes": [-8]}, "/sizes/0"),
            ({"sizes": []}, "/sizes.*empty"), ({"dtypes": "f32"}, "/dtypes"), ({"dtypes": ["f23"]}, "f23.*did you mean"),
            ({"ranks": [3]}, "/ranks"), ({"ranks": [0]}, "/ranks"), ({"blocks": [0]}, "/blocks/0"),
            ({"variants": ["mush"]}, "mush.*mesh"), ({"precision": "fine"}, "/precision"), ({"budget": "soon"}, "/budget"),
        ]
        for changes, says in cases:
            path = self.config(**changes)
            self.fails(6, "sweep", "--config", path, "--out", self.folder / "run", ranks=2, says=f"config.json.*{says}|{says}")
            self.assertFalse((self.folder / "run" / "journal.jsonl").exists())

    def test_files_that_are_no_configuration(self):
        path = self.config()
        path.write_text(path.read_text()[:-5])
        self.fails(6, "sweep", "--config", path, "--out", self.folder / "run", ranks=2, says="config.json")
        self.fails(6, "sweep", "--config", self.folder / "none.json", "--out", self.folder / "run", says="none.json")

    def test_folders_that_cannot_be_written(self):
        blocker = self.folder / "file"
        blocker.write_text("")
        for out in (blocker, blocker / "run"):
            line = self.fails(6, "sweep", "--config", self.config(), "--out", out, ranks=2)
            self.assertIn(str(blocker), line)

    def test_tune_without_a_run(self):
        self.fails(6, "tune", says="run.*required|required.*run")
        self.fails(6, "tune", self.folder / "missing", says="missing/manifest.json")
        self.fails(6, "tune", self.folder, "a", "--out", "x", says="manifest.json")
        self.fails(6, "tune", "a", "b", says="--out")


class Sweeps(Runs):
    """From samples to a table that is used."""

    def test_a_run_becomes_a_table_that_bench_follows(self):
        run = self.sweep("run")
        names = {file.name for file in run.iterdir()}
        self.assertLessEqual({"manifest.json", "journal.jsonl", "table.json", "summary.csv"}, names)
        self.fails(6, "sweep", "--config", self.config(), "--out", run, ranks=2, says=str(run))
        plan = self.json_of("lookup", "--table", run / "table.json", "--ranks", 2, "--bytes", "64K")
        self.assertTrue(plan["exact"], plan)
        result = self.succeeds("bench", "--table", run / "table.json", "-b", "64K", "-e", "64K", "-n", 2, ranks=2,
                               ATTUNE_LOG="dispatch")
        self.assertRegex(result.stderr, f"(?m)^attune: dispatch: .* out_of_place .* -> {plan['plan']['variant']} ")

    def test_tune_merges_runs_and_explains(self):
        runs = [self.sweep(name) for name in ("one", "two")]
        out = self.folder / "both.json"
        text = self.succeeds("tune", *runs, "--out", out, "--explain").stdout
        self.assertIn("allreduce f32 sum ranks=2 out_of_place registered", text)
        content = json.loads(out.read_text())
        self.assertIn("one", content["source"]["run"])
        self.assertIn("two", content["source"]["run"])
        again = self.folder / "again.json"
        self.succeeds("tune", *runs, "--out", again, "--previous", out)
        self.assertEqual([table["rules"] for table in json.loads(again.read_text())["tables"]],
                         [table["rules"] for table in content["tables"]])
        self.fails(6, "tune", runs[0], "--out", self.folder / "none" / "t.json", says="none/t.json")
        copied = self.folder / "copied"
        shutil.copytree(runs[0], copied)
        for again in (runs[0], f"{runs[0]}/../one", copied):
            self.fails(6, "tune", runs[0], again, "--out", out, says="holds the same samples as .*one")
        self.fails(6, "tune", runs[0], "--objective", "tiem", says="'tiem', did you mean 'time'")

    def test_runs_of_other_hardware_do_not_mix(self):
        runs = [self.sweep(name) for name in ("here", "there")]
        manifest = json.loads((runs[1] / "manifest.json").read_text())
        manifest["hardware"].update(fingerprint="host-other-x64", name="other")
        (runs[1] / "manifest.json").write_text(json.dumps(manifest))
        self.fails(6, "tune", *runs, "--out", self.folder / "t.json", says="host-other-x64")

    def test_sizes_beyond_the_node_s_memory_are_unsupported(self):
        run = self.sweep("run", "--sizes", "8,512T")
        self.assertIn("messages of 512.0 TiB need", (run / "journal.jsonl").read_text())
        self.assertNotIn("failed", (run / "summary.csv").read_text())
        self.fails(5, "sweep", "--config", self.config(sizes=["512T"]), "--out", self.folder / "none", ranks=2,
                   says="nothing of what was asked for could be timed: messages of 512.0 TiB need")

    def test_variants_that_cannot_run_here_are_no_success(self):
        """The vendor, which is always measured, does not count."""
        line = self.fails(5, "sweep", "--config", self.config(sizes=["8"]), "--variants", "multimem_two_shot", "--out",
                          self.folder / "run", ranks=2, says="needs a GPU with NVLink SHARP")
        self.assertIn("nothing of what was asked for", line)
        self.sweep("some", "--variants", "multimem_two_shot,mesh", sizes=["8"])
        self.sweep("vendor", "--variants", "vendor", sizes=["8"])

    def test_one_rank_alone(self):
        result = attune("sweep", "--config", self.config(), "--out", self.folder / "alone")
        self.assertEqual((result.returncode, errors(result)), (0, []), result.stderr)
        self.assertIn("one rank", result.stdout + result.stderr)


if __name__ == "__main__":
    unittest.main()
