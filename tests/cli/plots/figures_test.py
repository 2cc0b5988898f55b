"""Proves what the figures of an ordinary run show: lines, limits, labels, bands, badges, all inside the paper."""

import itertools

from context import RunFolderTest, figures_of, main, rows_of

import synthetic_run
from load import load_run
from palette import Palette


def texts(figure):
    """Every visible non-empty text of a figure."""
    from matplotlib.text import Text

    return [item for item in figure.findobj(Text) if item.get_visible() and item.get_text().strip()]


def words(figure):
    return [item.get_text() for item in texts(figure)]


def inside(figure):
    """Texts whose box leaves the paper by more than a pixel."""
    renderer = figure.canvas.get_renderer()
    figure.canvas.draw()
    width, height = figure.canvas.get_width_height()
    ghosts = undrawn(figure)
    boxes = [(item, item.get_window_extent(renderer)) for item in texts(figure) if item not in ghosts]
    return [
        item.get_text()
        for item, box in boxes
        if box.x0 < -1 or box.y0 < -1 or box.x1 > width + 1 or box.y1 > height + 1
    ]


def undrawn(figure):
    """Labels of ticks outside the limits, and of ticks no longer needed: they exist but are not drawn."""
    found = []
    for axis in (axis for axes in figure.axes for axis in (axes.xaxis, axes.yaxis)):
        current = axis.get_ticklabels()
        low, high = sorted(axis.get_view_interval())
        for tick in axis.majorTicks + axis.minorTicks:
            if not (low <= tick.get_loc() <= high and tick.label1 in current):
                found += [tick.label1, tick.label2]
    return found


class Figures(RunFolderTest):
    def figures(self, rows=None, kinds=("time", "gain", "busbw", "heat", "fused", "overview"), **options):
        run = load_run(self.write(rows, **options))
        return figures_of(run, kinds)

    def one(self, kind, rows, **options):
        found = self.figures(rows, (kind,), **options)
        self.assertEqual(len(found), 1)
        return next(iter(found.values()))

    def test_time_has_a_line_per_variant_and_the_vendor_is_heaviest(self):
        figure = self.one("time", rows_of(("vendor", "mesh", "ring"), synthetic_run.sizes(8, 64 << 20, 2)))
        axes = figure.axes[0]
        self.assertEqual(len(axes.lines), 3)
        self.assertEqual(
            max(axes.lines, key=lambda line: line.get_linewidth()).get_color(), Palette([]).colour("vendor")
        )
        self.assertEqual((axes.get_xscale(), axes.get_yscale()), ("log", "log"))
        low, high = axes.get_xlim()
        self.assertTrue(4 <= low < 8 and 64 << 20 < high <= 128 << 20)
        labels = [tick.get_text() for tick in axes.get_xticklabels()]
        self.assertEqual((labels[0], labels[-1]), ("8 B", "64 MiB"))
        for name in ("Open MPI 4.1.4", "mesh", "ring", "allreduce f32 sum · 2 ranks"):
            self.assertIn(name, words(figure))
        self.assertEqual(len(axes.collections), 3)  # the intervals

    def test_every_time_lies_inside_the_axes(self):
        axes = self.one("time", rows_of()).axes[0]
        low, high = axes.get_ylim()
        values = [value for line in axes.lines for value in line.get_ydata()]
        self.assertTrue(all(low < value < high for value in values))

    def test_gain_highlights_the_tuned_choice_and_names_its_rules(self):
        rows = rows_of(("vendor", "push", "mesh", "two_shot_write"), synthetic_run.sizes(8, 64 << 20, 2))
        figure = self.one("gain", rows)
        axes, strip = figure.axes
        said = words(figure)
        for name in ("tuned choice", "Open MPI 4.1.4", "push", "mesh", "two_shot_write"):
            self.assertIn(name, said)
        self.assertIn("geometric mean", " ".join(said))
        low, high = axes.get_ylim()
        self.assertTrue(low < 1 < high)
        heaviest = max(axes.lines, key=lambda line: line.get_linewidth())
        self.assertEqual(len(heaviest.get_xdata()), 24)
        self.assertEqual(axes.get_xlim(), strip.get_xlim())
        variants = {rule["variant"] for rule in synthetic_run.build_table(rows)["tables"][0]["rules"]}
        fills = {tuple(fill.get_facecolor()[0][:3]) for fill in strip.collections}
        self.assertEqual(len(fills), len(variants))

    def test_bandwidth_starts_at_zero_and_says_its_unit(self):
        figure = self.one("busbw", rows_of())
        self.assertEqual(figure.axes[0].get_ylim()[0], 0)
        self.assertIn("GB/s", " ".join(words(figure)))

    def test_heat_map_only_for_swept_blocks_and_the_best_is_marked(self):
        self.assertEqual(self.figures(rows_of(blocks=(1,)), ("heat",)), {})
        sizes = synthetic_run.sizes(8, 1 << 20, 8)
        figure = self.one("heat", rows_of(("vendor", "mesh"), sizes, (1, 2, 4)))
        axes = figure.axes[0]
        self.assertEqual([tick.get_text() for tick in axes.get_yticklabels()], ["1", "2", "4"])
        self.assertEqual(len(axes.lines), len(sizes))  # one mark per size
        self.assertEqual(len(axes.texts), 2 * len(sizes))  # and a ratio in every other cell

    def test_fused_ratio_has_a_line_per_row_length(self):
        found = self.figures(None, ("fused",))
        self.assertEqual(list(found), ["reduce_scatter_rms_norm-bf16-sum-2ranks-out_of_place-registered-fused"])
        said = words(next(iter(found.values())))
        for cols in (5120, 7168, 8192):
            self.assertIn(f"{cols} columns", said)

    def test_flags_of_the_manifest_are_shown_where_they_apply(self):
        shout = "oversubscribed"
        self.assertNotIn(shout, words(self.one("time", rows_of())))
        self.assertIn(shout, words(self.one("time", rows_of(), manifest={"oversubscribed": True})))
        self.assertIn(shout, words(self.one("time", rows_of(), manifest={"oversubscribed": [2, 8]})))
        self.assertNotIn(shout, words(self.one("time", rows_of(), manifest={"oversubscribed": [4, 8]})))
        some = [dict(row, oversubscribed=str(row["blocks"] == 2).lower()) for row in rows_of(blocks=(1, 2))]
        every = [dict(row, oversubscribed="true") for row in rows_of()]
        self.assertIn(f"partly {shout}", words(self.one("time", some, manifest={"oversubscribed": True})))
        self.assertIn(shout, words(self.one("time", every)))
        self.assertIn("emulated device", words(self.one("overview", rows_of(), manifest={"emulated": True})))

    def test_long_names_and_all_badges_stay_on_the_paper(self):
        hardware = {"name": "A Processor With 64 Cores And A Very Long Marketing Name At 3.40 GHz", "device": "host"}
        manifest = {"hardware": hardware, "oversubscribed": True, "emulated": True}
        for stem, figure in self.figures(rows_of(blocks=(1, 2)), manifest=manifest).items():
            self.assertEqual(inside(figure), [], stem)

    def test_cells_that_gave_nothing_are_counted(self):
        noise = __import__("random").Random(1)
        rows = rows_of() + [
            synthetic_run.cell(
                noise, ("allreduce", "f32", "sum", 2, "out_of_place", "registered"), 64, "ring", 1, "wrong"
            )
        ]
        figure = self.one("time", rows)
        self.assertIn("1 wrong", " ".join(words(figure)))
        self.assertNotIn("ring", words(figure))

    def test_no_text_leaves_the_paper_and_no_names_lie_on_each_other(self):
        for stem, figure in self.figures().items():
            self.assertEqual(inside(figure), [], stem)
            self.assertEqual(self.collisions(figure), [], stem)

    @staticmethod
    def collisions(figure):
        from matplotlib.text import Annotation, Text

        renderer = figure.canvas.get_renderer()
        names = [item for item in figure.findobj(Annotation) if item.arrow_patch is not None]
        boxes = [(item.get_text(), item.axes, Text.get_window_extent(item, renderer).shrunk(1, 0.8)) for item in names]
        return [(a[0], b[0]) for a, b in itertools.combinations(boxes, 2) if a[1] is b[1] and a[2].overlaps(b[2])]

    def test_overview_shows_the_main_problem_and_the_others(self):
        figure = self.figures(None, ("overview",))["overview"]
        said = " ".join(words(figure))
        for text in (
            "attune against Open MPI 4.1.4",
            "allreduce f32 sum · 2 ranks",
            "bf16 · 4 ranks",
            "staged buffers",
            "2 more groups",
            "Synthetic 8-Core",
        ):
            self.assertIn(text, said)
        self.assertEqual(len(figure.axes), 3 + 6 * 2)


if __name__ == "__main__":
    main()
