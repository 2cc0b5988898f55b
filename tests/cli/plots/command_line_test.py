"""Proves the command line of figures.py: what it writes, that it is reproducible, and its errors and exit codes."""

import os
import subprocess
import sys

from context import PLOTS, RunFolderTest, main, rows_of

from figures import main as figures_main


class CommandLine(RunFolderTest):
    def refused(self, *arguments):
        code, _, err = self.start(figures_main, *arguments)
        self.assertEqual(code, 6, err)
        self.assertRegex(err, r"^attune plots: error: [^\n]+\n$")
        return err

    def test_writes_into_the_run_by_default_and_leaves_no_part_files(self):
        run = self.write(rows_of())
        code, out, err = self.start(figures_main, run)
        self.assertEqual((code, err), (0, ""))
        names = sorted(path.name for path in (run / "figures").iterdir())
        stem = "allreduce-f32-sum-2ranks-out_of_place-registered"
        self.assertEqual(names, [f"{stem}-{kind}.png" for kind in ("busbw", "gain", "time")] + ["overview.png"])
        self.assertIn("4 figures", out)

    def test_out_format_only_and_group(self):
        run, out = self.write(), self.folder / "deep" / "figures"
        code, _, _ = self.start(
            figures_main,
            run,
            "--out",
            out,
            "--format",
            "svg,png",
            "--only",
            "gain",
            "--group",
            "allreduce-bf16-*4ranks*",
        )
        self.assertEqual(code, 0)
        stem = "allreduce-bf16-sum-4ranks-out_of_place-registered-gain"
        self.assertEqual(sorted(path.name for path in out.iterdir()), [f"{stem}.png", f"{stem}.svg"])

    def test_the_same_run_gives_the_same_bytes_in_any_process(self):
        run = self.write(rows_of(blocks=(1, 2)))
        for name, seed in (("a", "1"), ("b", "2")):
            command = [
                sys.executable,
                str(PLOTS / "figures.py"),
                str(run),
                "--out",
                str(self.folder / name),
                "--format",
                "png,svg",
            ]
            environment = {**os.environ, "PYTHONHASHSEED": seed, "MPLCONFIGDIR": str(self.folder / f"config{name}")}
            subprocess.run(command, check=True, capture_output=True, env=environment)
        files = sorted(path.name for path in (self.folder / "a").iterdir())
        self.assertEqual(len(files), 2 * 5)
        for name in files:
            self.assertEqual((self.folder / "a" / name).read_bytes(), (self.folder / "b" / name).read_bytes(), name)

    def test_bad_usage_is_one_line_and_exit_6(self):
        run = self.write(rows_of())
        self.assertIn("unknown value 'gif'", self.refused(run, "--format", "gif"))
        self.assertIn("choose from", self.refused(run, "--only", "times"))
        self.assertIn("empty list", self.refused(run, "--only", ","))
        self.assertIn("nothing to draw", self.refused(run, "--group", "no-such-*", "--only", "time"))
        self.assertIn("--nonsense", self.refused(run, "--nonsense"))
        self.refused()

    def test_bad_folders_are_one_line_and_exit_6(self):
        self.assertIn("no such run folder", self.refused(self.folder / "none"))
        file = self.folder / "file"
        file.write_text("")
        self.assertIn("not a folder", self.refused(file))
        self.assertIn("manifest.json is missing", self.refused(self.folder))
        self.assertIn(str(file), self.refused(self.write(rows_of()), "--out", file / "below"))

    def test_a_missing_table_is_a_warning(self):
        code, _, err = self.start(figures_main, self.write(rows_of(), table=False), "--only", "gain")
        self.assertEqual(code, 0)
        self.assertRegex(err, r"^attune plots: warning: table.json is missing.*attune tune makes one\n$")

    def test_without_matplotlib_the_remedy_is_named(self):
        (self.folder / "matplotlib.py").write_text("raise ImportError('No module named matplotlib')\n")
        command = [sys.executable, str(PLOTS / "figures.py"), str(self.write(rows_of()))]
        done = subprocess.run(
            command, capture_output=True, text=True, env={**os.environ, "PYTHONPATH": str(self.folder)}
        )
        self.assertEqual(done.returncode, 5)
        self.assertRegex(done.stderr, r"^attune plots: error: [^\n]*python3-matplotlib\)\n$")


if __name__ == "__main__":
    main()
