"""What goes out to other software and what comes in from it: export, import and compare on the command line."""
import json
import pathlib
import subprocess
import sys
import unittest

from program import SOURCE, ProgramTest, attune, table

HEADER = """\
# nccl-tests version 2.17.6 nccl-headers=22809 nccl-library=22809
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 1 minBytes 8 maxBytes 65536 step: 8192(factor) warmup iters: 1 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid   1000 on     node1 device  0 [0000:01:00] Some GPU
#  Rank  1 Group  0 Pid   1001 on     node1 device  1 [0000:02:00] Some GPU
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
"""
ROWS = """\
           8             2     float     sum      -1    10.00    0.00    0.00      0    11.00    0.00    0.00    N/A
       65536         16384     float     sum      -1   100.00    0.66    0.66      0   110.00    0.60    0.60      0
"""
FOOTER = "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 0.13\n"
SMALL = {"sizes": ["8", "64K"], "variants": ["mesh", "two_shot"], "blocks": [1], "cell_seconds": 0.2, "precision": 0.2, "budget": "10s"}


class Exchange(ProgramTest):
    """Files in a folder of one's own."""

    def write(self, name, content):
        """A file; its path."""
        path = self.folder / name
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def sweep(self):
        """A small run of two ranks; its folder."""
        config = self.write("config.json", SMALL)
        self.succeeds("sweep", "--config", config, "--out", self.folder / "run", ranks=2)
        return self.folder / "run"


class Exports(Exchange):
    """Exit codes and files of attune export; that others obey them is shown in tests/cli/exports."""

    def test_own_variants_are_left_to_the_other_software_in_one_line(self):
        path = self.write("table.json", table())
        result = self.succeeds("export", "--table", path, "--format", "openmpi", "--out", self.folder / "rules.conf")
        self.assertRegex(result.stderr, r"attune: note: ranks 2: 2 of 2 rules \(mesh, two_shot\).*left to Open MPI's own decision")
        self.assertIn("0 0 0 0", (self.folder / "rules.conf").read_text())
        printed = self.succeeds("export", "--table", path, "--format", "openmpi")
        self.assertEqual(printed.stdout, (self.folder / "rules.conf").read_text())

    def test_refusals_leave_no_file(self):
        path = self.write("table.json", table())
        out = self.folder / "out"
        self.fails(6, "export", "--table", path, "--format", "opnmpi", "--out", out, says="opnmpi.*openmpi")
        self.fails(6, "export", "--table", path, "--format", "mpich", "--out", out, says="--base")
        self.fails(6, "export", "--table", path, "--format", "mpich", "--base", path, "--out", out, says="table.json")
        self.fails(6, "export", "--table", path, "--format", "ucc", "--dtype", "u8", "--out", out, says="no table")
        self.fails(6, "export", "--table", path, "--format", "ucc", "--run", self.folder, "--out", out, says="both")
        self.fails(6, "export", "--format", "ucc", "--out", out, says="no table and no run")
        self.fails(6, "export", "--table", path, "--out", out, says="--format")
        path.write_text(path.read_text()[:-9])
        self.fails(6, "export", "--table", path, "--format", "ucc", "--out", out, says="table.json")
        self.assertEqual([file.name for file in self.folder.iterdir()], ["table.json"])
        self.fails(6, "export", "--table", self.write("table.json", table()), "--format", "ucc", "--out", out / "x", says="out/x")


class Examples(Exchange):
    """What README.md shows of compare and export works on the runs that it names."""

    def swept(self, config):
        """A run of a configuration of the project, at few sizes; its folder."""
        run = self.folder / config
        self.succeeds("sweep", "--config", SOURCE / "configs" / f"{config}.json", "--sizes", "8,64K", "--dtypes", "f32",
                      "--budget", "8s", "--out", run, ranks=2)
        return run

    def test_what_quickstart_leaves_can_be_compared_and_says_what_export_needs(self):
        run = self.swept("quick")
        compared = self.succeeds("compare", run, "--variants", "vendor,two_shot_write")
        self.assertRegex(compared.stdout, r"vendor .*-> two_shot_write ")
        self.fails(6, "export", "--run", run, "--format", "openmpi", says="vendor:openmpi")

    def test_the_vendors_own_algorithms_can_be_compared_and_exported(self):
        run = self.swept("openmpi")
        compared = self.succeeds("compare", run, "--variants", "vendor,vendor:openmpi/ring")
        self.assertRegex(compared.stdout, r"vendor .*-> vendor:openmpi/ring ")
        self.succeeds("export", "--run", run, "--format", "openmpi", "--out", self.folder / "rules.conf")
        self.assertIn("2  # allreduce", (self.folder / "rules.conf").read_text())

    def test_the_readme_names_what_is_tested_here(self):
        text = (SOURCE / "README.md").read_text()
        for example in (
            "attune compare runs/quick --variants vendor,two_shot_write",
            "attune sweep --config configs/openmpi.json --out runs/openmpi",
            "attune export --run runs/openmpi --format openmpi --out rules.conf",
        ):
            self.assertIn(example, text)


class Imports(Exchange):
    """From a log to a run folder."""

    def test_a_log_becomes_a_run_that_does_not_decide_by_itself(self):
        log = self.write("perf.log", HEADER + ROWS + FOOTER)
        run = self.folder / "imported"
        result = self.succeeds("import", log, "--out", run)
        self.assertIn("4 records of nccl-tests text (nccl-tests 2.17.6)", result.stdout)
        self.assertRegex(result.stderr, "note: .*perf.log: 1 results were not checked")
        manifest = json.loads((run / "manifest.json").read_text())
        self.assertEqual((manifest["imported"]["from"], manifest["hardware"]["name"]), ("perf.log", "Some GPU"))
        self.assertEqual(len((run / "journal.jsonl").read_text().splitlines()), 4)
        self.fails(6, "tune", run, says="imported.*--imported")
        self.succeeds("tune", run, "--mode", "throughput", "--imported")
        rules = json.loads((run / "table.json").read_text())["tables"][0]["rules"]
        self.assertEqual({rule["variant"] for rule in rules}, {"vendor"})
        self.fails(6, "import", log, "--out", run, says="already holds a run")

    def test_plots_read_an_imported_run(self):
        run = self.folder / "imported"
        self.succeeds("import", self.write("perf.log", HEADER + ROWS + FOOTER), "--out", run)
        drawn = subprocess.run([sys.executable, SOURCE / "plots/figures.py", run], capture_output=True, text=True, timeout=100)
        if "matplotlib" in drawn.stderr and drawn.returncode != 0:
            self.skipTest("no matplotlib")
        self.assertEqual(drawn.returncode, 0, drawn.stderr)

    def test_logs_of_any_bytes(self):
        log = self.folder / "bytes.log"
        log.write_bytes((HEADER.replace("Some GPU", "Some \x00 GPU") + ROWS).encode() + b"\xff\xfe \xf5 1\n 8 \xbc\n 8 9999999999999999999 float sum -1 1 1 1 1\n")
        run = self.folder / "imported"
        self.succeeds("import", log, "--out", run)
        self.assertEqual(json.loads((run / "manifest.json").read_text())["imported"]["kind"], "nccl-tests text")
        self.json_of("compare", log, run)

    def test_refusals_leave_no_run(self):
        out = self.folder / "run"
        for content, says in (("", "empty"), ("hello\n", "no usable row|no row"), ("{}", "no result"), (ROWS, "--ranks")):
            self.fails(6, "import", self.write("log", content), "--out", out, says=says)
        self.fails(6, "import", self.folder / "gone", "--out", out, says="gone")
        self.assertFalse((out / "manifest.json").exists())
        osu = self.write("osu.txt", "# OSU MPI Allreduce Latency Test v7.4\n8 1.5\n")
        self.fails(6, "import", osu, "--out", out, says="--ranks")
        self.succeeds("import", osu, "--out", out, "--ranks", 2, "--here")
        here = json.loads(attune("info", "--json").stdout)["hardware"]["fingerprint"]
        self.assertEqual(json.loads((out / "manifest.json").read_text())["hardware"]["fingerprint"], here)


class Compares(Exchange):
    """Old against new."""

    def test_runs_variants_logs_and_tables(self):
        run = self.sweep()
        same = self.json_of("compare", run, run)
        self.assertLessEqual({cell["verdict"] for cell in same["cells"]}, {"equal", "unsure"}, "a run against itself")
        self.assertEqual(len(same["cells"]), 6)
        text = self.succeeds("compare", run, run).stdout
        self.assertRegex(text, r"shape \| +old \(us\) \| +new \(us\) \| ratio \(%\)")
        self.assertRegex(text, r"0 faster, 0 slower, \d equal")
        pair = self.json_of("compare", run, "--variants", "vendor,mesh")
        self.assertEqual([cell["bytes"] for cell in pair["cells"]], [8, 65536])
        log = self.write("perf.log", HEADER + ROWS + FOOTER)
        against = self.json_of("compare", log, run)
        self.assertEqual({cell["verdict"] for cell in against["cells"]}, {"unsure"})
        self.assertEqual([cell["bytes"] for cell in against["cells"]], [8, 65536])
        self.assertTrue(any("back to back" in caution for caution in against["cautions"]))
        other = self.write("other.json", table())
        changes = self.json_of("compare", run / "table.json", other, "--run", run)["changes"]
        self.assertTrue(all(change["new"]["variant"] in ("mesh", "two_shot") for change in changes if change["new"]))
        self.assertEqual(self.json_of("compare", other, other)["changes"], [])
        self.fails(6, "compare", other, run, says="a table against a run")

    def test_logs_that_are_damaged_are_compared_for_what_they_hold(self):
        whole = self.write("whole.log", HEADER + ROWS + FOOTER)
        rows = ROWS.splitlines(keepends=True)
        only_in_place = HEADER.replace("out-of-place                       in-place", "in-place").replace(" #wrong     time   algbw   busbw #wrong", " #wrong")
        cases = [
            (HEADER + rows[0] + rows[1][:100], 3, "cut: no whole in-place half"),
            (HEADER + ROWS + HEADER + ROWS + FOOTER, 4, "2 runs in one file"),
            (only_in_place + "           8             2     float     sum      -1    11.00    0.00    0.00      0\n" + FOOTER, 1, None),
            (HEADER + ROWS + FOOTER, 4, "not checked"),
        ]
        for content, cells, says in cases:
            result = self.json_of("compare", whole, self.write("part.log", content))
            self.assertEqual(len(result["cells"]), cells, content)
            if says:
                self.assertTrue(any(says in note for note in result["new"]["notes"]), result["new"]["notes"])
            told = attune("compare", whole, self.folder / "part.log")
            if says:
                self.assertIn(says, told.stderr)

    def test_a_limit_and_refusals(self):
        before = self.write("before.log", HEADER + ROWS + FOOTER)
        self.succeeds("compare", before, before, "--fail-above", "5%")
        self.fails(6, "compare", before, before, "--fail-above", "much", says="much")
        self.fails(6, "compare", before, says="one side only")
        self.fails(6, "compare", before, self.folder / "gone", says="gone")
        self.fails(6, "compare", before, "--variants", "mesh", says="--variants")
        gather = self.write("gather.log", (HEADER + ROWS).replace("all_reduce_perf", "all_gather_perf"))
        self.fails(6, "compare", before, gather, says="no usable row")
        samples = [{"size": 8, "count": 2, "type": "float", "redop": "sum", "root": "    -1",
                    "out_of_place": {"time": time, "nwrong": 0}, "in_place": {"time": time, "nwrong": 0},
                    "out_of_place_per_iter": {"times_us": [time + i * 7 % 10 / 100 for i in range(60)]}} for time in (10, 20)]
        logs = [self.write(f"{i}.json", {"config": {"devices": [{}, {}]}, "results": [sample]}) for i, sample in enumerate(samples)]
        result = attune("compare", *logs, "--fail-above", "50%")
        self.assertEqual(result.returncode, 7, result.stdout + result.stderr)
        self.assertIn("1 slower", result.stdout)
        self.assertIn("1 without an interval", result.stdout)
        self.assertEqual(attune("compare", *reversed(logs), "--fail-above", "50%").returncode, 0)


if __name__ == "__main__":
    assert pathlib.Path(SOURCE).is_dir()
    unittest.main()
