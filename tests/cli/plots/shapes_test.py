"""Proves that no odd run folder stops the figures: each is drawn, or refused with a line."""

from context import F32, RunFolderTest, figures_of, main, rows_of

import synthetic_run
from figures import main as figures_main
from load import load_run


class OddRuns(RunFolderTest):
    def draw(self, rows, **options):
        """Draws everything, to the last pixel."""
        run = load_run(self.write(rows, **options))
        found = figures_of(run)
        for figure in found.values():
            figure.canvas.draw()
        self.assertIn("overview", found)
        return found

    def said(self, figure):
        from figures_test import words

        return " ".join(words(figure))

    def test_one_size(self):
        found = self.draw(rows_of(sizes=[4096], blocks=(1, 2)))
        axes = next(figure for stem, figure in found.items() if stem.endswith("time")).axes[0]
        low, high = axes.get_xlim()
        self.assertTrue(low < 4096 < high)

    def test_one_variant_without_the_vendor(self):
        rows = rows_of(("mesh",))
        for row in rows:
            row["vendor_us"] = row["vs_vendor"] = ""
        found = self.draw(rows)
        gain = next(figure for stem, figure in found.items() if stem.endswith("gain"))
        self.assertIn("the vendor was not measured", self.said(gain))

    def test_the_vendor_alone(self):
        self.draw(rows_of(("vendor",)))

    def test_the_vendor_known_from_its_column_only(self):
        rows = [row for row in rows_of() if row["variant"] != "vendor"]
        found = self.draw(rows)
        time = next(figure for stem, figure in found.items() if stem.endswith("time"))
        self.assertEqual(len(time.axes[0].lines), 3)

    def test_nothing_was_right(self):
        rows = rows_of()
        for row in rows:
            row.update(status="wrong", median_us="", vendor_us="")
        found = self.draw(rows, table=False)
        for stem, figure in found.items():
            self.assertIn("no cell", self.said(figure), stem)

    def test_nan_zero_and_negative_times_are_left_out(self):
        rows = rows_of(sizes=[8, 64, 512])
        for row, text in zip(rows, ("nan", "0", "-1")):
            row["median_us"] = text
        self.draw(rows, table=False)

    def test_empty_messages_have_no_place_on_a_log_axis(self):
        rows = rows_of(sizes=[8, 64])
        rows += [dict(row, bytes=0, count=0) for row in rows[:3]]
        self.draw(rows, table=False)

    def test_only_empty_messages(self):
        self.draw([dict(row, bytes=0, count=0) for row in rows_of(sizes=[8])], table=False)

    def test_unknown_and_vendor_variants_and_long_names(self):
        rows = rows_of()
        for name in ("vendor:openmpi/recursive_doubling", "a_variant_with_a_name_that_is_longer_than_the_margin", "zz"):
            rows += [dict(row, variant=name) for row in rows if row["variant"] == "mesh"]
        from figures_test import inside

        for stem, figure in self.draw(rows).items():
            self.assertEqual(inside(figure), [], stem)

    def test_many_variants_on_one_spot(self):
        rows = rows_of(("vendor", "mesh"), sizes=[1024])
        rows += [dict(row, variant=f"new_{index}") for index in range(20) for row in rows if row["variant"] == "mesh"]
        self.draw(rows)

    def test_rules_that_name_plans_nobody_measured(self):
        folder = self.write(rows_of())
        table = (folder / "table.json").read_text().replace('"blocks": 1', '"blocks": 77')
        (folder / "table.json").write_text(table)
        for figure in figures_of(load_run(folder)).values():
            figure.canvas.draw()

    def test_fifty_rules_and_a_rule_beyond_the_sizes(self):
        import json

        folder = self.write(rows_of(sizes=synthetic_run.sizes(8, 64 << 20, 2)))
        table = json.loads((folder / "table.json").read_text())
        names = ("push", "mesh", "two_shot", "ring", "vendor")
        table["tables"][0]["rules"] = [
            {"min_bytes": 0 if k == 0 else int(8 * 1.4**k), "variant": names[k % 5], "blocks": 1, "threads": 1}
            for k in range(80)
        ]
        (folder / "table.json").write_text(json.dumps(table))
        for figure in figures_of(load_run(folder)).values():
            figure.canvas.draw()

    def test_extreme_ratios_and_sizes(self):
        rows = rows_of(sizes=[8, 1 << 20, 1 << 33])
        for row in rows:
            if row["variant"] == "mesh":
                row["median_us"] = str(float(row["median_us"]) * 1e5)
        self.draw(rows)

    def test_an_empty_summary_is_refused(self):
        code, _, err = self.start(figures_main, self.write([]))
        self.assertEqual(code, 6)
        self.assertRegex(err, r"^attune plots: error: summary.csv holds no cell.*\n$")

    def test_fused_cells_without_a_baseline_draw_no_ratio(self):
        import random

        rows = [row for row in synthetic_run.fused_rows(random.Random(1)) if row["variant"] != "vendor"]
        found = self.draw(rows_of() + rows)
        self.assertFalse([stem for stem in found if stem.endswith("fused")])

    def test_graph_mode_and_epilogues_are_groups_of_their_own(self):
        rows = rows_of(group=F32)
        rows += [dict(row, launch_mode="graph") for row in rows] + [dict(row, epilogue="relu") for row in rows]
        rows += [dict(row, mode="throughput", cache="hot") for row in rows if row["launch_mode"] == "graph"]
        stems = [stem for stem in self.draw(rows) if stem.endswith("time")]
        self.assertEqual(len(stems), 4)
        self.assertTrue(any(stem.endswith("-graph-throughput-hot-time") for stem in stems))
        self.assertTrue(any("-graph-" in stem for stem in stems) and any("-relu-" in stem for stem in stems))


if __name__ == "__main__":
    main()
