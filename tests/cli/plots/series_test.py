"""Proves the arithmetic behind the figures: best plans, gains and their intervals, rules, bands, sweeps, labels."""

import math
import unittest

from context import main

import units
from draw.labels import spread
from model import Cell, Group, Plan, Rule
from series import (
    bands,
    best_per_size,
    block_sweep,
    gain,
    rule_at,
    surest_best,
    swept_variants,
    tuned_cells,
    vendor_cells,
)

GROUP = Group("allreduce", "f32", "sum", 2, "out_of_place", "registered")


def cell(variant, size, median, blocks=1, status="ok", **more):
    return Cell(
        GROUP,
        Plan(variant, blocks),
        size,
        status=status,
        median=median,
        low=more.pop("low", median),
        high=more.pop("high", median),
        **more
    )


class Series(unittest.TestCase):
    def test_best_plan_ignores_wrong_untimed_and_empty_messages(self):
        cells = [
            cell("mesh", 8, 3.0),
            cell("mesh", 8, 2.0, 2),
            cell("mesh", 8, 1.0, 4, "wrong"),
            cell("mesh", 0, 0.1),
            cell("mesh", 16, None),
        ]
        self.assertEqual([(best.bytes, best.plan.blocks) for best in best_per_size(cells, "mesh")], [(8, 2)])

    def test_equal_times_go_to_fewer_blocks(self):
        best = best_per_size([cell("mesh", 8, 2.0, 4), cell("mesh", 8, 2.0, 1)], "mesh")
        self.assertEqual(best[0].plan.blocks, 1)

    def test_gain_interval_is_conservative(self):
        point = gain(cell("mesh", 8, 2.0, low=1.8, high=2.5), cell("vendor", 8, 10.0, low=9.0, high=11.0))
        self.assertAlmostEqual(point.ratio, 5.0)
        self.assertAlmostEqual(point.low, 9.0 / 2.5)
        self.assertAlmostEqual(point.high, 11.0 / 1.8)

    def test_the_best_gain_is_one_that_is_sure(self):
        lucky = gain(cell("mesh", 8, 1.0, low=0.5, high=30.0), cell("vendor", 8, 25.0))
        sure = gain(cell("mesh", 64, 5.0), cell("vendor", 64, 20.0))
        self.assertEqual(surest_best([lucky, sure]).bytes, 64)
        self.assertIsNone(surest_best([lucky]))

    def test_vendor_from_the_column_where_it_has_no_row(self):
        vendor = vendor_cells(
            [cell("mesh", 8, 2.0, vendor=6.0), cell("vendor", 16, 9.0), cell("mesh", 16, 2.0, vendor=99.0)]
        )
        self.assertEqual({size: found.median for size, found in vendor.items()}, {8: 6.0, 16: 9.0})

    def test_rules_hold_until_the_next(self):
        rules = [Rule(0, Plan("push")), Rule(1024, Plan("mesh", 2))]
        self.assertEqual(
            [rule_at(rules, size).plan.variant for size in (0, 8, 1023, 1024, 1 << 40)], ["push"] * 3 + ["mesh"] * 2
        )
        self.assertIsNone(rule_at([], 8))

    def test_tuned_choice_is_the_cell_of_exactly_that_plan(self):
        cells = [cell("mesh", 8, 1.0, 1), cell("mesh", 8, 0.5, 2), cell("mesh", 16, 1.0, 2), cell("vendor", 8, 3.0)]
        chosen = tuned_cells(cells, [Rule(0, Plan("mesh", 1))])
        self.assertEqual([(found.bytes, found.median) for found in chosen], [(8, 1.0)])

    def test_a_vendor_rule_is_a_gain_of_one(self):
        cells = [cell("vendor", 8, 3.0, low=2.0, high=4.0), cell("mesh", 8, 4.0)]
        chosen = tuned_cells(cells, [Rule(0, Plan("vendor", 1))])
        point = gain(chosen[0], vendor_cells(cells)[8])
        self.assertEqual((point.low, point.ratio, point.high), (1.0, 1.0, 1.0))

    def test_bands_merge_plans_of_one_variant_and_stay_inside(self):
        rules = [Rule(0, Plan("push")), Rule(64, Plan("mesh", 1)), Rule(512, Plan("mesh", 2)), Rule(4096, Plan("push"))]
        found = [(band.start, band.end, band.variant, len(band.rules)) for band in bands(rules, 8, 1024)]
        self.assertEqual(found, [(8, 64, "push", 1), (64, 1024, "mesh", 2)])

    def test_block_sweep_takes_the_best_over_other_axes(self):
        cells = [cell("ring", 8, 3.0), cell("ring", 8, 2.0), cell("ring", 8, 5.0, 2), cell("mesh", 8, 1.0)]
        self.assertEqual(block_sweep(cells, "ring"), {(1, 8): 2.0, (2, 8): 5.0})
        self.assertEqual(swept_variants(cells, ["mesh", "ring"]), ["ring"])


class Labels(unittest.TestCase):
    def test_spread_keeps_order_distance_and_bounds(self):
        places = spread([50, 50, 51, 90], 10, 0, 95)
        self.assertEqual(places, sorted(places))
        self.assertTrue(all(b - a >= 10 - 1e-9 for a, b in zip(places, places[1:])))
        self.assertTrue(0 <= places[0] and places[-1] <= 95)

    def test_spread_leaves_alone_what_is_apart_and_squeezes_when_full(self):
        self.assertEqual(spread([10, 40], 10, 0, 100), [10, 40])
        self.assertEqual(spread([5, 5, 5], 100, 0, 20), [0, 10, 20])
        self.assertEqual(spread([], 10, 0, 1), [])


class Units(unittest.TestCase):
    def test_sizes_times_and_ratios_as_people_read_them(self):
        self.assertEqual(
            [units.size_text(size) for size in (8, 65536, 1536, 64 << 20, 3 << 30)],
            ["8 B", "64 KiB", "1.5 KiB", "64 MiB", "3 GiB"],
        )
        self.assertEqual(
            [units.time_text(t) for t in (0.18, 12.44, 3100, 2.5e6, math.nan)],
            ["180 ns", "12.4 µs", "3.1 ms", "2.5 s", "–"],
        )
        self.assertEqual(
            [units.ratio_text(r) for r in (1, 4.21, 0.852, 15.6, 1234)], ["1×", "4.2×", "0.85×", "16×", "1234×"]
        )
        self.assertEqual([units.significant(v) for v in (0, 100, 0.00123, 999.6)], ["0", "100", "0.00123", "1000"])
        self.assertAlmostEqual(units.geometric_mean([1, 4, None, math.nan, -3]), 2)
        self.assertIsNone(units.geometric_mean([]))


if __name__ == "__main__":
    main()
