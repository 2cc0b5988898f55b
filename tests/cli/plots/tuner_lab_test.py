"""Proves what the figure of the tuner laboratory shows, and that odd score files are drawn or refused with a line."""

from context import RunFolderTest, main

import synthetic_scores
from draw.tuner_scores import curve, mean, median, quantile, score_figure
from figures_test import inside, words
from tuner_lab import main as lab_main
from tuner_lab import read_scores


class TunerLab(RunFolderTest):
    def scores(self, **options):
        return synthetic_scores.write(self.folder / "scores.csv", **options)

    def test_medians_and_means_by_budget(self):
        self.assertEqual([quantile([4, 1, 3, 2], share) for share in (0, 0.5, 1)], [1, 2.5, 4])
        rows = [
            {"method": "racing", "budget_share": share, "regret": r} for share, r in ((1, 2), (1, 4), (0.5, 9), (1, 3))
        ]
        self.assertEqual(curve(rows, "racing", "regret", median), [(0.5, 9), (1, 3)])
        self.assertEqual(curve(rows, "racing", "regret", mean), [(0.5, 9), (1, 3)])
        self.assertEqual(curve(rows, "plain", "regret", mean), [])

    def test_every_method_is_named_and_machines_have_panels_on_one_scale(self):
        figure = score_figure(read_scores(self.scores()))
        self.assertEqual(len(figure.axes), 3 + 4)
        self.assertEqual(len({axes.get_ylim() for axes in [figure.axes[0], *figure.axes[3:]]}), 1)
        said = words(figure)
        for name in ("racing", "exhaustive", "plain"):
            self.assertEqual(said.count(name), 3)
        self.assertIn("limit 1 %", said)
        self.assertIn("528 searches of 4 simulated machines.", said)
        self.assertEqual(inside(figure), [])

    def test_the_title_is_the_finding(self):
        scores = read_scores(self.scores())
        figure = score_figure(scores)
        expected = dict(curve(scores, "racing", "regret", median))[0.25]
        self.assertIn(f"{100 * expected:.2g} %", words(figure)[0] + " ".join(words(figure)))

    def test_few_machines_methods_budgets_and_perfect_choices(self):
        for options in (
            {"machines": ("quiet_node",)},
            {"methods": ("plain",)},
            {"shares": (0.25,), "seeds": 1},
            {"methods": ("racing",), "machines": ("quiet_node",), "shares": (1.0,), "seeds": 1},
        ):
            score_figure(read_scores(self.scores(**options))).canvas.draw()
        path = self.scores()
        lines = path.read_text().splitlines()
        perfect = [lines[0]] + [",".join(line.split(",")[:4] + ["0", "0", "0", "1"]) for line in lines[1:]]
        path.write_text("\n".join(perfect))
        score_figure(read_scores(path)).canvas.draw()

    def test_an_unknown_method_is_drawn_too(self):
        path = self.scores()
        path.write_text(path.read_text().replace("plain", "bandit"))
        self.assertIn("bandit", words(score_figure(read_scores(path))))

    def test_writes_beside_the_scores_or_where_told_and_reproducibly(self):
        path = self.scores()
        self.assertEqual(self.start(lab_main, path)[0], 0)
        self.assertEqual(self.start(lab_main, path, "--out", self.folder / "figures", "--format", "png,svg")[0], 0)
        self.assertEqual(
            (self.folder / "scores.png").read_bytes(), (self.folder / "figures" / "scores.png").read_bytes()
        )
        self.assertTrue((self.folder / "figures" / "scores.svg").is_file())

    def test_faults_are_one_line_and_exit_6(self):
        path = self.scores()
        text = path.read_text()
        cases = {
            "column regret is missing": text.replace("regret", "regrets", 1),
            "scores.csv:2": text.replace("0.05,2000,", "half,2000,", 1),
            "no row with all numbers": text.splitlines()[0],
        }
        for expected, content in cases.items():
            path.write_text(content)
            code, _, err = self.start(lab_main, path)
            self.assertEqual(code, 6)
            self.assertRegex(err, r"^attune plots: error: [^\n]+\n$")
            self.assertIn(expected, err)
        self.assertIn("no such file", self.start(lab_main, self.folder / "none.csv")[2])
        self.assertIn("unknown value", self.start(lab_main, path, "--format", "bmp")[2])


if __name__ == "__main__":
    main()
