"""Proves that the report is one whole page, says what the run holds, trusts no text of it, and can be reproduced."""

import json
from dataclasses import replace
from html.parser import HTMLParser

from context import F32, RunFolderTest, main, rows_of

import synthetic_run
from load import load_run
from report import main as report_main

VOID = {"meta", "img", "br"}


class Page(HTMLParser):
    """Collects the tags, texts and attributes of a page, and what is not closed in order."""

    def __init__(self, text):
        super().__init__()
        self.open, self.faults, self.links, self.images, self.words, self.headings = [], [], [], [], [], []
        self.counts = {}
        self.feed(text)
        self.faults += self.open

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.counts[tag] = self.counts.get(tag, 0) + 1
        self.links += [value for key, value in attrs.items() if key in ("href", "src")]
        self.images += [attrs] if tag == "img" else []
        self.headings += [attrs["id"]] if tag == "h2" else []
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.faults.append(tag)

    def handle_data(self, data):
        if not self.open or self.open[-1] != "style":
            self.words.append(data)

    @property
    def text(self):
        return " ".join(self.words)


class Report(RunFolderTest):
    def report(self, rows=None, **options):
        run = self.write(rows, **options)
        code, out, err = self.start(report_main, run)
        self.assertEqual(code, 0, err)
        self.assertIn("report.html", out)
        text = (run / "report.html").read_text(encoding="utf-8")
        page = Page(text)
        self.assertEqual(page.faults, [])
        return text, page

    def test_nothing_is_fetched_from_elsewhere(self):
        text, page = self.report(rows_of(blocks=(1, 2)))
        self.assertTrue(page.links)
        for link in page.links:
            self.assertTrue(link.startswith("#") or link.startswith("data:image/svg+xml;base64,"), link[:60])
        for word in ("http://", "https://", "@import", "url(", "<script", "<link", "<iframe"):
            self.assertFalse(word in text, word)

    def test_clocks_of_gpus_are_told_where_there_are_any(self):
        from report_sections import clock_text  # where there is no matplotlib, main skips

        rows = [{**row, "sm_mhz": 1500 + 10 * i, "throttled": 1} for i, row in enumerate(rows_of())]
        cells = [cell for cell in load_run(self.write(rows)).cells if cell.timed]
        self.assertRegex(clock_text(cells), rf"1500 to \d+ MHz by cell, {len(cells)} samples rejected because")
        self.assertIn("MHz by cell, none held down", clock_text([replace(cell, throttled=0) for cell in cells]))
        self.assertEqual(clock_text([replace(cell, sm_mhz=0) for cell in cells]), "")  # of the host

    def test_all_parts_are_there_and_linked(self):
        _, page = self.report(rows_of())
        names = ["overview", "rules", "figures", "problems", "noise", "method", "machine"]
        self.assertEqual(page.headings, names)
        self.assertEqual([link for link in page.links if link.startswith("#")], [f"#{name}" for name in names])
        self.assertTrue(all(image["alt"] for image in page.images))
        self.assertEqual(len(page.images), 1 + 3)  # overview; time, gain, bandwidth of the one group

    def test_rules_problems_noise_and_hardware_are_told(self):
        rows = rows_of()
        noise = __import__("random").Random(1)
        rows += [
            synthetic_run.cell(noise, F32, 4096, "ring", 2, "wrong"),
            synthetic_run.cell(noise, F32, 64, "multimem", 1, "unsupported"),
        ]
        rows[2]["noisy"] = "true"
        _, page = self.report(rows)
        for words in (
            "allreduce f32 sum · 2 ranks",
            "1 cell wrong, timed out or failed",
            "Not supported here: multimem (1 cell)",
            "1 cell noisy or not converged",
            "x86-64-v4",
            "Synthetic 8-Core",
            "rewritten",
            "The journal holds",
        ):
            self.assertIn(words, page.text)
        rules = synthetic_run.build_table(rows)["tables"][0]["rules"]
        self.assertIn(f"{len(rules)} rule", page.text)

    def test_the_journal_says_what_went_wrong_even_when_it_was_cut_short(self):
        rows = rows_of() + [synthetic_run.cell(__import__("random").Random(1), F32, 4096, "ring", 2, "wrong")]
        run = self.write(rows)
        record = {
            "status": "wrong",
            "problem": {"count": 1024},
            "plan": {"variant": "ring", "blocks": 2},
            "message": "rank 1 index 7 got 3 want 4",
        }
        with open(run / "journal.jsonl", "a", encoding="utf-8") as file:
            file.write(json.dumps(record) + '\n{"status": "ok", "pro')
        self.start(report_main, run)
        said = Page((run / "report.html").read_text(encoding="utf-8")).text
        self.assertIn("rank 1 index 7 got 3 want 4", said)
        self.assertIn("1 line cannot be read", said)
        (run / "journal.jsonl").unlink()
        self.assertEqual(self.start(report_main, run)[0], 0)

    def test_text_of_a_run_is_never_markup(self):
        evil = '<script>alert("x")</script>&'
        hardware = {**synthetic_run.MANIFEST["hardware"], "name": evil}
        rows = rows_of() + [dict(row, variant=evil) for row in rows_of() if row["variant"] == "mesh"]
        text, page = self.report(rows, manifest={"hardware": hardware, evil: [evil, {evil: None}]})
        self.assertFalse("<script" in text)
        self.assertIn(evil, page.text)

    def test_facts_of_the_machine_are_for_people(self):
        caches = [{"name": "L1", "bytes": 32768}, {"name": "L3", "bytes": 33554432}]
        tree = ["machine, CPUs 0-1", "  core 0"]
        machine = {"caches": caches, "memory_bytes": 1 << 34, "tree": tree, "gpus": [], "odd": [[1], {}]}
        _, page = self.report(rows_of(), manifest={"machine": machine, "config": {"sizes": [8, 65536], "driver": ""}})
        for words in ("32 MiB", "16 GiB", "8 B, 64 KiB", "  core 0", "none", "No cell was wrong"):
            self.assertIn(words, page.text)

    def test_badges_stand_at_the_top(self):
        _, page = self.report(rows_of(), manifest={"oversubscribed": [8]})
        self.assertIn("oversubscribed", page.text)

    def test_odd_runs(self):
        wrong = [dict(row, status="wrong", median_us="", vendor_us="") for row in rows_of()]
        self.report(wrong, table=False)
        self.report(rows_of(sizes=[64]))
        self.report(rows_of(("mesh",)))
        self.report(rows_of(), table=False, manifest={"hardware": None, "software": "odd", "config": []})

    def test_many_groups_make_png_and_the_page_stays_light(self):
        text, page = self.report()
        self.assertTrue(all(image["src"].startswith("data:image/png") for image in page.images))
        self.assertLess(len(text), 6 << 20)
        self.assertIn("Fused against unfused", page.text)

    def test_the_same_run_gives_the_same_page(self):
        first, _ = self.report(rows_of())
        second, _ = self.report(rows_of())
        self.assertTrue(first == second)

    def test_errors_are_one_line_and_exit_6(self):
        for arguments in ((self.folder / "none",), (self.write([]),), (self.folder,), (), (self.folder, "--bad")):
            code, _, err = self.start(report_main, *arguments)
            self.assertEqual(code, 6)
            self.assertRegex(err, r"^attune plots: error: [^\n]+\n$")


if __name__ == "__main__":
    main()
