"""bench prints what nccl-tests prints, to the column, validates what it measured, and compares with the vendor."""
import json
import os
import pathlib
import re
import signal
import subprocess
import unittest

from program import PROGRAM, ProgramTest, attune, errors, rows

# A row in nccl-tests' own printf format.
FORMAT = re.compile(r"^.{12}  .{12}  .{8}  .{6}  .{6}(  .{7}  .{6}  .{6}  .{6}){2}$")


class Columns(ProgramTest):
    """What parsers of nccl-tests read."""

    def test_rows_header_and_footer(self):
        text = self.succeeds("bench", "-b", 8, "-e", "64K", "-f", 8, "-n", 3, ranks=2).stdout
        found = rows(text)
        self.assertEqual([int(row["size"]) for row in found], [8, 64, 512, 4096, 32768])
        for row in found:
            self.assertEqual((row["type"], row["redop"], row["root"]), ("float", "sum", "-1"))
            self.assertEqual(int(row["count"]) * 4, int(row["size"]))
            self.assertEqual((row["out_wrong"], row["in_wrong"]), ("0", "0"))
        for line in text.splitlines():
            if not line.startswith("#"):
                self.assertRegex(line, FORMAT)
        self.assertRegex(text, r"(?m)^#\s+size\s+count\s+type\s+redop\s+root\s+time\s+algbw\s+busbw\s+#wrong")
        self.assertRegex(text, r"(?m)^#  Rank  0 Group  0 Pid +\d+ on +\S+ device  0 \[")
        self.assertRegex(text, r"(?m)^# Out of bounds values : 0 OK$")
        self.assertRegex(text, r"(?m)^# Avg bus bandwidth    : [\d.]+")

    def test_bandwidths_follow_from_the_time(self):
        row = rows(self.succeeds("bench", "-b", "1M", "-e", "1M", ranks=3).stdout)[0]
        algbw = int(row["size"]) / 1e3 / float(row["out_time"])
        self.assertAlmostEqual(float(row["out_algbw"]), algbw, delta=0.02 + 0.01 * algbw)
        self.assertAlmostEqual(float(row["out_busbw"]), algbw * 4 / 3, delta=0.02 + 0.01 * algbw)

    def test_sizes_that_are_odd_or_nothing(self):
        result = self.succeeds("bench", "-b", 0, "-e", 65, "-i", 13, "-d", "double", ranks=2)
        self.assertEqual([int(row["size"]) for row in rows(result.stdout)], [0, 8, 24, 32, 48, 64])
        self.assertIn("note: sizes are rounded down to whole elements, as nccl-tests does: 13 bytes of f64 are 8", result.stderr)
        self.assertNotIn("rounded", self.succeeds("bench", "-b", 0, "-e", 64, "-i", 16, "-d", "double", "-n", 1).stderr)
        self.assertEqual([int(row["size"]) for row in rows(self.succeeds("bench", "-b", 0, "-e", 16, "-f", 2).stdout)],
                         [0, 4, 8, 16])

    def test_cycles_cputime_and_no_check(self):
        text = self.succeeds("bench", "-b", 8, "-e", 8, "-N", 3, "-C", 1, "-c", 0, ranks=2).stdout
        self.assertEqual([row["out_wrong"] for row in rows(text)], ["N/A"] * 3)
        self.assertIn("cputime", text)

    def test_flags_of_existing_scripts_are_accepted(self):
        self.succeeds("bench", "-b", 8, "-e", 8, "-g", 1, "-t", 1, "-z", 1, "-G", 0, "-m", 2, "-w", 0, "-a", 3, "-T", 20,
                      "-p", 0, "-r", 0, ranks=2)


class Results(ProgramTest):
    """That the numbers are of right results."""

    def test_four_ranks_of_bfloat16(self):
        text = self.succeeds("bench", "-b", 8, "-e", "16M", "-f", 4, "-d", "bfloat16", "-n", 2, "-w", 0, ranks=4).stdout
        found = rows(text)
        self.assertEqual(len(found), 11)
        self.assertEqual({row["out_wrong"] for row in found} | {row["in_wrong"] for row in found}, {"0"})

    def test_all_dtypes_ops_and_variants(self):
        info = self.json_of("info")
        for memory in (0, 1):
            text = self.succeeds("bench", "-b", 40, "-e", 40, "-d", "all", "-o", "all", "-n", 1, "-R", memory, ranks=3)
            found = rows(text.stdout)
            self.assertEqual(len(found), 60)
            self.assertEqual({row["out_wrong"] for row in found} | {row["in_wrong"] for row in found}, {"0"})
        for variant in (one["variant"] for one in info["variants"] if one["runs_here"]):
            text = self.succeeds("bench", "-b", 3000, "-e", 3000, "-n", 2, "--variant", variant, ranks=3).stdout
            self.assertIn(f" {variant} blocks=1 ", text)
            self.assertEqual([row["out_wrong"] for row in rows(text)], ["0"])

    def test_too_slow_is_exit_code_7(self):
        result = attune("bench", "-b", 8, "-e", 8, ranks=2, NCCL_TESTS_MIN_BW="1000000")
        self.assertEqual(result.returncode, 7, result.stderr)
        self.assertRegex(result.stdout, r"(?m)^# Avg bus bandwidth    : \S+ FAILED$")
        self.assertEqual(errors(result), [])
        self.succeeds("bench", "-b", 8, "-e", 8, ranks=2, NCCL_TESTS_MIN_BW="0")


class Limits(ProgramTest):
    """What no node has is refused before it is allocated."""

    def test_messages_beyond_the_node_s_memory(self):
        before = set(pathlib.Path("/dev/shm").glob("attune-*"))
        says = "messages of 512.0 TiB need .* on this node .2 ranks.*(available|free)"
        for memory in (0, 1):
            self.fails(2, "bench", "-b", "512T", "-e", "512T", "-R", memory, ranks=2, says=says)
        self.fails(2, "verify", "--to", "512T", ranks=2, says=says)
        self.assertEqual(set(pathlib.Path("/dev/shm").glob("attune-*")) - before, set())

    def test_more_ranks_than_a_team_may_have(self):
        for command in ("bench", "verify"):
            self.fails(5, command, ranks=9, says="a team has 1 to 8 ranks, not 9")


class Hangs(ProgramTest):
    """Waits inside MPI have no limit of their own."""

    def test_a_rank_that_stands_still_while_the_vendor_is_measured(self):
        words = [*os.environ["MPIRUN"].split(), "-n", "2", PROGRAM, "bench", "--variant", "vendor", "-b", "8", "-e", "8"]
        environment = {**os.environ, "ATTUNE_TIMEOUT_S": "0.5"}
        with subprocess.Popen([*words, "-n", "1000000", "-N", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, env=environment) as job:
            for line in job.stdout:
                if line.startswith("#  Rank  1 "):
                    os.kill(int(line.split("Pid")[1].split()[0]), signal.SIGSTOP)
                    break
            text, trouble = job.communicate(timeout=80)
        self.assertEqual(job.returncode, 4, text + trouble)
        told = [line for line in trouble.splitlines() if line.startswith("attune: error: ")]
        self.assertEqual(len(told), 1, trouble)
        self.assertRegex(told[0], "rank 0 .*another rank hangs|rank 0 waited .* for rank 1")


class Files(ProgramTest):
    """-J and --against."""

    def test_json_holds_what_was_printed(self):
        path = self.folder / "out.json"
        words = ["bench", "-b", 8, "-e", 128, "-f", 4, "-n", 2, "-J", path]
        printed = rows(self.succeeds(*words, ranks=2).stdout)
        content = json.loads(path.read_text())
        self.assertEqual((content["version"], content["out_of_bounds"]["count"]), (3, 0))
        self.assertEqual([result["size"] for result in content["results"]], [int(row["size"]) for row in printed])
        for result in content["results"]:
            self.assertEqual((result["root"], result["in_place"]["nwrong"]), ("    -1", 0))
            self.assertIn(result["out_of_place"]["plan"]["variant"], self.variants())
        self.succeeds(*words, ranks=2)
        self.assertEqual(sorted(file.name for file in self.folder.iterdir()), ["out.json", "out.json.0"])

    def variants(self):
        """Names of all variants."""
        return [one["variant"] for one in self.json_of("info")["variants"]]

    def test_a_file_that_cannot_be_written_is_told_before_measuring(self):
        blocker = self.folder / "file"
        blocker.write_text("")
        for path in (blocker / "out.json", self.folder / "missing" / "out.json"):
            line = self.fails(6, "bench", "-b", 8, "-e", 8, "-J", path, ranks=2, says="cannot write")
            self.assertIn(str(path), line)
        self.assertEqual(blocker.read_text(), "")

    def test_against_the_vendor_gives_ratios(self):
        path = self.folder / "out.json"
        for cache in ("hot", "rewritten"):
            text = self.succeeds("bench", "-b", "4K", "-e", "64K", "-f", 16, "--against", "vendor", "--cache", cache, "-J",
                                 path, ranks=2).stdout
            self.assertIn("vendor/attune", text)
            self.assertEqual([row["out_wrong"] for row in rows(text)], ["0", "0"])
            for result in json.loads(path.read_text())["results"]:
                ratio = result["in_place"]["ratio"]
                self.assertLessEqual(ratio["ci"][0], ratio["median"])
                self.assertGreaterEqual(ratio["ci"][1], ratio["median"])
                self.assertGreater(result["in_place"]["vendor_time"], 0)
            path.unlink()

    def test_too_few_calls_for_an_interval_are_said_to_be(self):
        text = self.succeeds("bench", "-b", 64, "-e", 64, "-n", 1, "--against", "vendor", ranks=2).stdout
        self.assertIn("too few calls", text)


if __name__ == "__main__":
    unittest.main()
