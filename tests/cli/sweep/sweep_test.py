"""attune sweep as people start it: a run folder, one line for each fault, killed ranks and --resume."""

import csv
import fcntl
import json
import os
import shlex
import signal
import subprocess
import time
import unittest
from pathlib import Path

ATTUNE = os.environ["ATTUNE"]
MPIRUN = shlex.split(os.environ["MPIRUN"])
SMALL = {"sizes": ["64", "4K"], "variants": ["mesh", "two_shot"], "budget": "4s", "blocks": [1]}


def command(ranks, *arguments):
    """The command line of a sweep."""
    return [*MPIRUN, "-n", str(ranks), ATTUNE, "sweep", *map(str, arguments)]


def sweep(ranks, *arguments, timeout=100):
    """Runs a sweep to its end."""
    return subprocess.run(command(ranks, *arguments), capture_output=True, text=True, timeout=timeout, check=False)


def write_config(name, **keys):
    """A configuration file in the test's own folder."""
    path = Path(name)
    path.write_text(json.dumps(keys), encoding="utf-8")
    return path


def fresh(name):
    """A folder name that does not exist yet."""
    path = Path(f"{name}-{os.getpid()}-{time.monotonic_ns()}")
    return path


def errors_of(result):
    """The lines in which the program says what is wrong."""
    return [line for line in result.stderr.splitlines() + result.stdout.splitlines() if "attune: error:" in line]


class Sweeps(unittest.TestCase):
    def test_a_sweep_leaves_a_whole_run_folder(self):
        out = fresh("run")
        result = sweep(2, "--config", write_config("small.json", **SMALL), "--out", out)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        self.assertEqual(manifest["config"]["ranks"], [2])
        self.assertEqual(len(manifest["launches"][0]["bindings"]), 2)
        with open(out / "summary.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["variant"] for row in rows}, {"mesh", "two_shot", "vendor"})
        self.assertTrue(all(row["status"] == "ok" and float(row["median_us"]) > 0 for row in rows), rows)
        self.assertIn("table:", result.stdout)
        lookup = [ATTUNE, "lookup", "--table", out / "table.json", "--ranks", "2", "--dtype", "f32", "--op", "sum"]
        found = subprocess.run([*map(str, lookup), "--bytes", "4K", "--json"], capture_output=True, text=True, check=True)
        self.assertIn("variant", found.stdout)
        self.assertEqual(sorted(path.name for path in out.iterdir() if path.suffix == ".tmp"), [])

    def test_flags_replace_keys_of_the_configuration(self):
        out = fresh("flags")
        config = write_config("flags.json", **SMALL)
        result = sweep(2, "--config", config, "--out", out, "--ranks", "1,2", "--sizes", "64", "--dtypes", "i32,f64")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        with open(out / "summary.csv", encoding="utf-8", newline="") as file:
            rows = list(csv.DictReader(file))
        self.assertEqual({row["ranks"] for row in rows}, {"1", "2"})
        self.assertEqual({row["dtype"] for row in rows}, {"i32", "f64"})


class Launches(unittest.TestCase):
    def test_appended_launches_replicate_each_other(self):
        out = fresh("launches")
        config = write_config("launches.json", **{**SMALL, "sizes": ["4K"], "variants": ["mesh"], "search": "racing", "budget": "2s"})
        for launch in range(3):
            result = sweep(2, "--config", config, "--out", out, "--append")
            self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
            self.assertEqual("the table rests on all launches" in result.stdout, launch > 0, result.stdout)
        manifest = json.loads((out / "manifest.json").read_text(encoding="utf-8"))
        names = [launch["id"] for launch in manifest["launches"]]
        self.assertEqual(len(set(names)), 3)
        records = [json.loads(line) for line in (out / "journal.jsonl").read_text(encoding="utf-8").splitlines()]
        self.assertEqual({record["launch"] for record in records}, set(names))
        explained = subprocess.run([ATTUNE, "tune", str(out), "--explain"], capture_output=True, text=True, check=True)
        self.assertIn("3 launches", explained.stdout)
        table = json.loads((out / "table.json").read_text(encoding="utf-8"))
        self.assertEqual({rule["launches"] for rule in table["tables"][0]["rules"]}, {3})

    def test_one_sweep_at_a_time_writes_into_a_folder(self):
        out = fresh("locked")
        out.mkdir()
        folder = os.open(out, os.O_RDONLY)
        fcntl.flock(folder, fcntl.LOCK_EX)
        result = sweep(2, "--config", write_config("small.json", **SMALL), "--out", out, "--append")
        os.close(folder)
        self.assertEqual(result.returncode, 6, result.stdout + result.stderr)
        self.assertEqual(len(errors_of(result)), 1, result.stdout + result.stderr)
        self.assertIn("another sweep is writing", errors_of(result)[0])

    def test_a_short_budget_ends_the_sweep_with_the_vendor_at_every_size(self):
        """How it is spent is proved with a clock of its own (search_test); without it this takes minutes."""
        out = fresh("budget")
        keys = {"sizes": [{"from": "8", "to": "64K", "factor": 2}], "search": "racing", "blocks": [1]}
        config = write_config("budget.json", **keys, precision=0.0001, budget="6s")
        start = time.monotonic()
        result = sweep(2, "--config", config, "--out", out)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertLess(time.monotonic() - start, 60, "6 s, and all that a busy machine may add")
        with open(out / "summary.csv", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file) if row["status"] == "ok"]
        sizes = {int(row["bytes"]) for row in rows}
        self.assertGreater(len(sizes), 0)
        self.assertEqual(sizes, {int(row["bytes"]) for row in rows if row["variant"] == "vendor"}, result.stdout)


class Faults(unittest.TestCase):
    def refused(self, expected, ranks, *arguments):
        result = sweep(ranks, *arguments)
        self.assertEqual(result.returncode, 6, result.stdout + result.stderr)
        lines = errors_of(result)
        self.assertEqual(len(lines), 1, "told once: " + result.stdout + result.stderr)
        self.assertIn(expected, lines[0])

    def test_bad_configurations_are_told_once_with_exit_code_6(self):
        for text, expected in (
            ('{"bloks": [1]}', "did you mean 'blocks'?"),
            ('{"sizes": ["8Q"]}', "/sizes/0"),
            ('{"ranks": [3]}', "/ranks/0: 3 ranks, but 2 were launched"),
            ('{"dtypes": []}', "/dtypes: the list is empty"),
            ("{", "not valid JSON"),
        ):
            Path("bad.json").write_text(text, encoding="utf-8")
            self.refused(expected, 2, "--config", "bad.json", "--out", fresh("bad"))

    def test_bad_paths_are_told_once_with_exit_code_6(self):
        config = write_config("small.json", **SMALL)
        self.refused("cannot be read", 2, "--config", "missing.json", "--out", fresh("x"))
        self.refused("/proc/attune", 2, "--config", config, "--out", "/proc/attune")
        self.refused("no run to resume", 2, "--config", config, "--out", fresh("x"), "--resume")
        out = fresh("held")
        out.mkdir()
        (out / "manifest.json").write_text("{}", encoding="utf-8")
        self.refused("already holds a run", 2, "--config", config, "--out", out)

    def test_a_killed_rank_ends_the_job_and_resume_goes_on(self):
        out = fresh("killed")
        config = write_config("long.json", **{**SMALL, "budget": "60s", "precision": 0.0001, "cell_seconds": 10})
        with subprocess.Popen(
            command(2, "--config", config, "--out", out), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
        ) as job:
            journal = out / "journal.jsonl"
            deadline = time.monotonic() + 60
            while not (journal.exists() and journal.stat().st_size > 2000):
                self.assertLess(time.monotonic(), deadline, "nothing was written")
                time.sleep(0.05)
            os.kill(rank_of(job.pid), signal.SIGKILL)
            killed = time.monotonic()
            job.communicate(timeout=30)
            self.assertLess(time.monotonic() - killed, 20, "the job must end with its rank")
            self.assertNotEqual(job.returncode, 0)
        with open(journal, "ab") as file:
            file.write(b'{"status":"ok","probl')  # a line that was being written
        before = journal.read_bytes()
        short = write_config("other.json", **SMALL)
        self.refused("another configuration", 2, "--config", short, "--out", out, "--resume")
        result = sweep(2, "--config", config, "--out", out, "--resume", "--budget", "4s")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        after = journal.read_bytes()
        whole = before[: before.rindex(b"\n") + 1]
        self.assertTrue(after.startswith(whole), "what was written stays")
        self.assertGreater(len(after), len(whole))
        self.assertTrue((out / "table.json").exists())
        launches = json.loads((out / "manifest.json").read_text(encoding="utf-8"))["launches"]
        self.assertEqual(len(launches), 2)


    def test_a_rank_that_stands_still_ends_the_job(self):
        """Stopped between calls or inside one, and though it takes no part in what is measured."""
        config = write_config("still.json", **{**SMALL, "budget": "200s", "precision": 0.0001, "cell_seconds": 80})
        for ranks in ("2", "1"):
            out = fresh("still")
            words = command(2, "--config", config, "--out", out, "--ranks", ranks, "--budget", "200s" if ranks == "2" else "2s")
            environment = {**os.environ, "ATTUNE_TIMEOUT_S": "1"}
            with subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment) as job:
                wait_for(out / "journal.jsonl")
                os.kill(rank_of(job.pid), signal.SIGSTOP)
                text, trouble = job.communicate(timeout=90)
            self.assertEqual(job.returncode, 4, text + trouble)
            told = [line for line in trouble.splitlines() if "attune: error:" in line]
            self.assertEqual(len(told), 1, trouble)
            self.assertRegex(told[0], "rank")


def wait_for(journal):
    """Until a sweep has written a record."""
    deadline = time.monotonic() + 60
    while not (journal.exists() and journal.stat().st_size > 0):
        if time.monotonic() > deadline:
            raise AssertionError("nothing was written")
        time.sleep(0.05)


def rank_of(launcher):
    """The process of one rank that this launcher started."""
    listing = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(launcher)], capture_output=True, text=True, check=True)
    ranks = [int(line.split()[0]) for line in listing.stdout.splitlines() if line.split()[1] == "attune"]
    return ranks[-1]


if __name__ == "__main__":
    unittest.main()
