"""Tables on the command line: what a bad one is refused with, and that a good one decides what bench runs."""
import copy
import json
import unittest

from program import ProgramTest, attune, table


class Tables(ProgramTest):
    """Files that people edit."""

    def write(self, content):
        """A table file; its path."""
        path = self.folder / "table.json"
        path.write_text(content if isinstance(content, str) else json.dumps(content))
        return path

    def refused(self, content, says):
        """By lookup and, once for all ranks, by bench."""
        path = self.write(content)
        self.fails(6, "lookup", "--table", path, "--bytes", 8, says=says)
        self.fails(6, "bench", "--table", path, "-b", 8, "-e", 8, ranks=2, says=says)

    def test_broken_files_are_refused_with_a_pointer(self):
        good = table()
        self.refused(json.dumps(good)[:-20], says="table.json")
        unknown = copy.deepcopy(good)
        unknown["tables"][0]["rules"][1]["variant"] = "two_shoot"
        self.refused(unknown, says="/tables/0/rules/1/variant.*two_shoot.*two_shot")
        unsorted = copy.deepcopy(good)
        unsorted["tables"][0]["rules"].reverse()
        self.refused(unsorted, says="/tables/0/rules/0/min_bytes")

    def test_keys_blocks_and_versions_are_checked(self):
        def changed(change):
            content = table()
            change(content)
            return content

        self.refused(changed(lambda t: t.update(version=9)), says="/version")
        self.refused(changed(lambda t: t["tables"][0].update(dtipe="f32")), says="dtipe")
        self.refused(changed(lambda t: t["tables"][0].update(dtype="f23")), says="/tables/0/dtype")
        self.refused(changed(lambda t: t["tables"][0]["rules"][0].update(blocks=10000)), says="/tables/0/rules/0/blocks")
        self.refused("", says="table.json")
        self.refused("[]", says="expected")

    def test_what_can_never_run_here_is_refused_with_its_place(self):
        """Not at the first call of that size."""
        for variant, says, numerics in (
            ("multimem_two_shot", "needs a GPU", "in_switch"), ("vendor:openmpi/rong", "openmpi/ring", "rank_order"),
            ("vendor:nccl/ring", "unknown choice", "rank_order"), ("ring", "per_hop", "rank_order"),
        ):
            bad = table(numerics=numerics)
            bad["tables"][0]["rules"][1]["variant"] = variant
            self.refused(bad, says=f"table.json: /tables/0/rules/1/variant: {variant} .*{says}")
        looser = table(numerics="per_hop")
        looser["tables"][0]["rules"][1]["variant"] = "ring"
        path = self.write(looser)
        self.assertIn("ring", self.succeeds("lookup", "--table", path, "--bytes", "4K", "--numerics", "per_hop").stdout)

    def test_missing_files_and_folders(self):
        self.fails(6, "lookup", "--table", self.folder / "none.json", "--bytes", 8, says="no such dispatch table")
        self.fails(6, "lookup", "--bytes", 8, ATTUNE_TABLE="gone.json", says="gone.json.*ATTUNE_TABLE")
        self.fails(6, "lookup", "--table", self.folder, "--bytes", 8, says="table|read")

    def test_other_hardware_is_a_warning_and_an_error_if_strict(self):
        path = self.write(table(fingerprint="host-other-x64"))
        result = self.succeeds("lookup", "--table", path, "--bytes", 8)
        self.assertRegex(result.stderr, "attune: warning: .*measured on")
        self.assertEqual(result.stdout.count("mesh"), 1)
        self.fails(6, "lookup", "--table", path, "--bytes", 8, "--strict", says="measured on")
        self.assertIn("measured on", self.json_of("lookup", "--table", path, "--bytes", 8)["warning"])

    def test_lookup_says_which_step_answered(self):
        path = self.write(table())
        exact = self.json_of("lookup", "--table", path, "--bytes", "4K")
        self.assertEqual((exact["plan"]["variant"], exact["exact"]), ("two_shot", True))
        below = self.json_of("lookup", "--table", path, "--bytes", 4092)
        self.assertEqual(below["plan"]["variant"], "mesh")
        other = self.json_of("lookup", "--table", path, "--bytes", "4K", "--dtype", "i32")
        self.assertEqual((other["plan"]["variant"], other["exact"]), ("two_shot", False))
        self.assertIn("dtype f32 for i32", other["answered_by"])
        more_ranks = self.json_of("lookup", "--table", path, "--bytes", "4K", "--ranks", 3)
        self.assertEqual(more_ranks["answered_by"], "built-in default")

    def dispatched(self, path, size):
        """What ATTUNE_LOG=dispatch reports of bench for the out-of-place calls of this size."""
        result = self.succeeds("bench", "--table", path, "-b", size, "-e", size, "-n", 2, ranks=2, ATTUNE_LOG="dispatch")
        lines = [line for line in result.stderr.splitlines() if line.startswith("attune: dispatch: ")]
        return [line for line in lines if " out_of_place " in line], result.stdout

    def test_editing_a_rule_changes_what_runs(self):
        content = table()
        lines, text = self.dispatched(self.write(content), "1M")
        self.assertEqual(len(lines), 1)
        self.assertIn(" two_shot blocks=1 ", lines[0])
        self.assertIn(" two_shot blocks=1 ", text)
        content["tables"][0]["rules"][1].update(variant="two_shot_write", blocks=2)
        lines, text = self.dispatched(self.write(content), "1M")
        self.assertIn(" two_shot_write blocks=2 ", lines[0])
        self.assertIn(" two_shot_write blocks=2 ", text)

    def test_the_environment_and_the_folders_are_asked(self):
        path = self.write(table())
        found = self.json_of("lookup", "--bytes", "4K", ATTUNE_TABLE=str(path))
        self.assertEqual((found["found_by"], found["plan"]["variant"]), ("ATTUNE_TABLE", "two_shot"))
        fingerprint = json.loads(attune("info", "--json").stdout)["hardware"]["fingerprint"]
        path.rename(self.folder / f"{fingerprint}.json")
        found = self.json_of("lookup", "--bytes", "4K", ATTUNE_TABLE=None, ATTUNE_TABLE_PATH=str(self.folder))
        self.assertEqual((found["found_by"], found["plan"]["variant"]), ("table folder", "two_shot"))
        self.assertEqual(self.json_of("info", ATTUNE_TABLE=None, ATTUNE_TABLE_PATH=str(self.folder))["table"]["rules"], 2)


if __name__ == "__main__":
    unittest.main()
