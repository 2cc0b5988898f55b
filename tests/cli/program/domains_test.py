"""Teams that fall into domains: what ATTUNE_DOMAINS says is used, shown, and refused where it is nonsense."""
import json
import unittest

from program import ProgramTest, rows, table

TWO_BY_TWO = "0,0,1,1"
SIZES = ("-b", 8, "-e", "2M", "-f", 64, "-n", 1, "-w", 1)


class Domains(ProgramTest):
    """On one machine, by ATTUNE_DOMAINS; what a machine's own domains are is for tests/unit/runtime."""

    def bench(self, *words, **more):
        result = self.succeeds("bench", *SIZES, *words, **more)
        for row in rows(result.stdout):
            self.assertEqual((row["out_wrong"], row["in_wrong"]), ("0", "0"), result.stdout)
        return result

    def test_two_levels_are_right_on_any_grouping(self):
        for domains, memory in ((TWO_BY_TWO, 1), ("0,1,2,3", 0)):
            self.bench("--variant", "two_level", "-d", "bfloat16", "-R", memory, ranks=4, ATTUNE_DOMAINS=domains)

    def test_one_domain_is_refused_with_the_reason(self):
        """By this machine, where ranks are not bound to anything, and by hand."""
        for domains, ranks, says in ((None, 2, "needs ranks in several domains: "),
                                     ("0,1,0,1", 4, r"not consecutive or not equally many \(0,1,0,1\)")):
            self.fails(5, "bench", *SIZES, "--variant", "two_level", ranks=ranks, ATTUNE_DOMAINS=domains, says=says)

    def test_nonsense_is_bad_usage(self):
        self.fails(6, "bench", *SIZES, ranks=2, ATTUNE_DOMAINS="0,x", says="ATTUNE_DOMAINS=0,x is not a list of domains")
        self.fails(6, "info", ranks=2, ATTUNE_DOMAINS="0", says="names the domains of 1 ranks, this team has 2")

    def test_info_shows_them_and_what_can_run(self):
        info = self.json_of("info", ranks=4, ATTUNE_DOMAINS=TWO_BY_TWO)
        self.assertEqual((info["domains"]["count"], info["domains"]["ranks_each"]), (2, 2))
        can = {one["variant"]: one["why_not"] for one in info["variants"]}
        self.assertEqual(can["two_level"], "")
        self.assertEqual(info["domains"]["text"], "2 domains (given by hand) of 2 ranks each")
        text = self.succeeds("info").stdout
        self.assertRegex(text, r"(?m)^domains       one: one rank; mpirun")
        self.assertRegex(text, "two_level .*cannot run here: needs ranks in several domains: one rank")

    def test_built_in_defaults_take_two_levels_for_large_messages(self):
        result = self.bench("--table", "none", ranks=4, ATTUNE_DOMAINS=TWO_BY_TWO)
        plans = [line for line in result.stdout.splitlines() if line.startswith("#") and " blocks=" in line]
        self.assertEqual(["two_level" in line for line in plans], [False, False] * 3 + [True, True], plans)

    def test_a_table_of_two_levels_is_one_level_in_one_domain(self):
        """And the log names the plan that ran, with the reason."""
        path = self.table_of_two_levels()
        why = r", in place of two_level: needs ranks in several domains: all ranks are in one given domain\)$"
        for domains, variant, end in (("0,0", "two_shot_write", why), ("0,1", "two_level", r"\((exact|[^:]*)\)$")):
            taken = self.bench("--table", path, ranks=2, ATTUNE_DOMAINS=domains, ATTUNE_LOG="dispatch")
            self.assertIn(f"{variant} blocks=1", taken.stdout)
            logged = [line for line in taken.stderr.splitlines() if " out_of_place " in line and "dispatch:" in line]
            self.assertTrue(logged)
            for line in logged:
                self.assertRegex(line, rf" -> {variant} blocks=1 .*{end}")

    def table_of_two_levels(self):
        path = self.folder / "table.json"
        rules = [{"min_bytes": 0, "variant": "two_level", "blocks": 1, "threads": 1}]
        path.write_text(json.dumps(table(rules=rules)))
        return path

    def test_lookup_answers_what_such_a_team_would_run(self):
        words = ("lookup", "--bytes", "2M", "--ranks", 4)
        for domains, variant, count in ((None, "two_shot_write", 1), (TWO_BY_TWO, "two_level", 2), ("0,1,0,1", "two_shot_write", 1)):
            found = self.json_of(*words, ATTUNE_DOMAINS=domains)
            self.assertEqual((found["plan"]["variant"], found["runs_as"]["variant"], found["domains"]["count"]),
                             (variant, variant, count), found)
        self.assertRegex(self.succeeds(*words).stdout, "(?m)^team      of one domain: ATTUNE_DOMAINS is not set; ")
        text = self.succeeds(*words, ATTUNE_DOMAINS=TWO_BY_TWO).stdout
        self.assertRegex(text, r"(?m)^team      of 2 domains \(given by hand\) of 2 ranks each$")
        self.assertNotIn("runs as", text)

    def test_lookup_of_a_table_of_two_levels(self):
        words = ("lookup", "--table", self.table_of_two_levels(), "--bytes", "2M")
        text = self.succeeds(*words).stdout
        self.assertRegex(text, r"(?m)^plan      two_level blocks=1 .*\nruns as   two_shot_write blocks=1 ")
        found = self.json_of(*words, ATTUNE_DOMAINS="0,1")
        self.assertEqual((found["plan"]["variant"], found["runs_as"]["variant"]), ("two_level", "two_level"))

    def test_lookup_refuses_nonsense(self):
        for domains, says in (("0,x", "ATTUNE_DOMAINS=0,x is not a list of domains"),
                              ("0", "names the domains of 1 ranks, this team has 2")):
            self.fails(6, "lookup", "--bytes", 8, ATTUNE_DOMAINS=domains, says=says)

    def test_a_sweep_leaves_two_levels_out_of_one_domain(self):
        config = self.folder / "config.json"
        config.write_text(json.dumps({"sizes": ["8"], "variants": ["two_level", "mesh"], "budget": "5s"}))
        self.succeeds("sweep", "--config", config, "--out", self.folder / "run", ranks=2, ATTUNE_DOMAINS="0,0")
        summary = (self.folder / "run" / "summary.csv").read_text().splitlines()
        of_two_levels = [line for line in summary if "two_level" in line]
        self.assertTrue(of_two_levels and all("unsupported" in line for line in of_two_levels), summary)


if __name__ == "__main__":
    unittest.main()
