"""verify measures at sizes that no table was tuned on, and its exit code follows the limit."""
import json
import math
import unittest

from program import ProgramTest, table

FEW = ["--points", 3, "--from", 64, "--to", "64K", "--rounds", 20]


class Verify(ProgramTest):
    """With a table by hand."""

    def setUp(self):
        super().setUp()
        self.path = self.folder / "table.json"
        self.path.write_text(json.dumps(table()))

    def test_points_hold_the_tuned_plan_the_vendor_and_the_best(self):
        found = self.json_of("verify", "--table", self.path, *FEW, "--dtypes", "f32,bf16", ranks=2)
        self.assertEqual(len(found["points"]), 6)
        for point in found["points"]:
            count = point["problem"]["count"]
            self.assertNotEqual(count & (count - 1), 0, "a power of two")
            expected = "mesh" if point["bytes"] < 4096 else "two_shot"
            if point["problem"]["dtype"] == "f32":
                self.assertEqual(point["tuned"]["variant"], expected)
            self.assertGreater(point["vendor_us"], 0)
            self.assertEqual(point["regret"]["median"] == 1, point["tuned"] == point["best"])
        self.assertGreaterEqual(found["regret_max"] + 1e-9, found["regret_geomean"])

    def test_the_summary_agrees_with_the_points(self):
        found = self.json_of("verify", "--table", self.path, "--from", 64, "--to", "64K", "--rounds", 16, ranks=2)
        self.assertGreaterEqual(len(found["points"]), 20, "20 sizes unless told otherwise")
        regrets = [point["regret"]["median"] for point in found["points"]]
        gains = [point["gain"]["median"] for point in found["points"]]
        self.assertAlmostEqual(found["regret_geomean"], math.exp(sum(map(math.log, regrets)) / len(regrets)) - 1, 6)
        self.assertAlmostEqual(found["regret_max"], max(0, max(regrets) - 1), 6)
        self.assertAlmostEqual(found["gain_geomean"], math.exp(sum(map(math.log, gains)) / len(gains)), 6)
        self.assertAlmostEqual(found["worst_vs_vendor"], max(1 / gain for gain in gains), 6)

    def test_the_limit_decides_the_exit_code(self):
        slow = table()
        for rule in slow["tables"][0]["rules"]:
            rule["variant"] = "naive"
        bad = self.folder / "slow.json"
        bad.write_text(json.dumps(slow))
        large = ["--points", 3, "--from", "2M", "--to", "8M", "--rounds", 16]
        self.fails(7, "verify", "--table", bad, *large, "--fail-above", "5%", ranks=2, says="above 5.00 %")
        self.succeeds("verify", "--table", self.path, *FEW, "--fail-above", "100000%", ranks=2)
        self.fails(6, "verify", "--fail-above", "much", says="'much'")
        self.fails(6, "verify", "--from", "1M", "--to", "1K", says="--from 1M")
        self.fails(5, "verify", "--table", self.path, says="one rank")


if __name__ == "__main__":
    unittest.main()
