"""Bad usage is one line that says what, where and what to do, from one rank, with exit code 6; help and --json work."""
import unittest

from program import SOURCE, ProgramTest, attune, errors

COMMANDS = ["info", "sweep", "tune", "verify", "bench", "lookup", "cost"]


class Help(ProgramTest):
    """Texts for people."""

    def test_every_command_has_help_with_an_example(self):
        listed = self.succeeds("--help").stdout
        for command in COMMANDS:
            self.assertIn(f"  {command} ", listed)
            text = self.succeeds(command, "--help").stdout
            self.assertRegex(text, r"(?m)Examples?:\n.*attune " + command)

    def test_help_is_printed_once_under_mpirun(self):
        self.assertEqual(self.succeeds("bench", "--help", ranks=4).stdout.count("--minbytes"), 1)

    def test_version(self):
        self.assertRegex(self.succeeds("--version").stdout, r"^attune \d+\.\d+\.\d+")

    def test_exit_codes_are_documented(self):
        text = self.succeeds("--help").stdout
        for code in range(8):
            self.assertRegex(text, rf"\b{code} \w+")


class BadUsage(ProgramTest):
    """What is mistyped."""

    def test_no_or_unknown_command(self):
        self.fails(6, says="no command; known: .*bench")
        self.fails(6, "swep", says="'swep', did you mean 'sweep'")

    def test_unknown_flags_suggest_the_nearest(self):
        self.fails(6, "bench", "--varient", "mesh", says="--varient.*--variant")
        self.fails(6, "lookup", "--bites", "3", says="--bites.*--bytes")
        self.fails(6, "cost", "--rank=2", says="'--rank', did you mean '--ranks'")
        self.fails(6, "bench", "-q", "3", says="unknown flag '-q'; see attune bench --help")
        self.fails(6, "info", "please", says="unexpected word 'please'")

    def test_one_rank_speaks_for_all(self):
        self.fails(6, "bench", "--varient", "mesh", ranks=4, says="--variant")
        self.fails(6, "bench", "-b", "8Q", ranks=4, says="8Q")
        self.fails(6, "lookup", "--bytes", "8Q", ranks=4, says="8Q")
        self.fails(6, "bench", "--table", "no/such.json", ranks=4, says="no/such.json")

    def test_sizes(self):
        for size in ["8Q", "-8", "1.5", "", "K", "1e400", "9999999T", "0x10"]:
            self.fails(6, "lookup", f"--bytes={size}", says="not a size|--bytes")
        for size, bytes_ in [("1M", 1 << 20), ("1.5k", 1536), ("64KiB", 65536), ("0", 0), ("8B", 8)]:
            self.assertEqual(self.json_of("lookup", "--bytes", size)["bytes"], bytes_)

    def test_bench_numbers_and_words(self):
        cases = [
            (["-b", "4", "-e", "2"], "more than -e"), (["-n", "-3"], "--iters"), (["-n", "x"], "--iters"),
            (["-d", "flaot"], "did you mean 'float'"), (["-o", "sun"], "did you mean 'sum'"),
            (["--variant", "rang"], "'rang'.*ring"), (["--variant", "mesh", "--chunk", "8"], "--chunk"),
            (["--variant", "mesh", "--blocks", "0"], "--blocks"), (["--blocks", "3"], "--variant"),
            (["--variant", "ring", "--chunk", "3"], "--chunk 3.*whole packs.*multiple of"),
            (["-J", "out.txt"], r"\.json"), (["-i", "0"], "-i 0"), (["--cache", "warm"], "'warm'"),
            (["--against", "nobody"], "vendor"), (["--numerics", "exact"], "'exact'"),
        ]
        for words, says in cases:
            self.fails(6, "bench", *words, says=says)

    def test_a_word_that_resembles_none_lists_them(self):
        line = self.fails(6, "lookup", "--dtype", "x", "--bytes", "8", says="--dtype 'x', expected one of ")
        for dtype in ("f64", "bf16", "f8e5m2", "u64"):
            self.assertIn(f" {dtype}", line)

    def test_what_the_host_device_lacks_is_unsupported(self):
        for words in (["-g", "2"], ["-t", "2"], ["-G", "10"], ["-z", "3"]):
            self.fails(5, "bench", *words, says=words[0])


class Json(ProgramTest):
    """What machines read."""

    def test_info(self):
        info = self.json_of("info")
        self.assertGreaterEqual(info["machine"]["cpus"], info["machine"]["cores"])
        names = [variant["variant"] for variant in info["variants"]]
        listed = [word.strip() for word in (SOURCE / "kernels/variants/variants.txt").read_text().splitlines()]
        for word in listed:
            if word and not word.startswith("#"):
                self.assertIn(word, names)
        for variant in info["variants"]:
            self.assertEqual(variant["runs_here"], not variant["why_not"])

    def test_info_tells_where_ranks_run(self):
        ranks = self.json_of("info", ranks=3)["ranks"]
        self.assertEqual([rank["rank"] for rank in ranks], [0, 1, 2])

    def test_cost_per_rank_is_the_team_s_share(self):
        for card in self.json_of("cost", "--ranks", 4, "--bytes", "1M")["variants"]:
            if "team" in card:
                for key, total in card["team"].items():
                    self.assertAlmostEqual(card["per_rank"][key] * 4, total)
        mesh = self.json_of("cost", "--ranks", 4, "--bytes", "1M", "--variant", "mesh")["variants"]
        self.assertEqual([card["team"]["peer_read_bytes"] for card in mesh], [4 * 3 * (1 << 20)])

    def test_the_columns_of_cost_stand_below_their_titles(self):
        text = self.succeeds("cost", "--ranks", 8, "--bytes", "1M").stdout
        header = next(line for line in text.splitlines() if "peer write" in line)
        cards = [line for line in text.splitlines() if line.endswith(("rank_order", "per_hop", "in_switch"))]
        self.assertGreater(len(cards), 20)
        for line in cards:
            for title in ("peer read", "peer write", "local write", "rounds"):
                end = header.index(title) + len(title)
                self.assertEqual((line[end - 1].isspace(), line[end].isspace()), (False, True), f"{title}\n{header}\n{line}")

    def test_one_rank_is_said_to_measure_nothing(self):
        result = attune("bench", "-b", 8, "-e", 8)
        self.assertEqual((result.returncode, errors(result)), (0, []))
        self.assertIn("one rank measures nothing", result.stderr)


if __name__ == "__main__":
    unittest.main()
