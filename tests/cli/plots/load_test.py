"""Proves that a run folder is read for what it holds, and refused with one line that names the fault."""

import json
from dataclasses import replace

from context import RunFolderTest, main, rows_of

from errors import PlotsError
from load import load_run


class Load(RunFolderTest):
    def fault(self, folder):
        with self.assertRaises(PlotsError) as caught:
            load_run(folder)
        self.assertEqual(caught.exception.code, 6)
        self.assertNotIn("\n", caught.exception.line())
        return caught.exception.line()

    def test_reads_cells_rules_and_manifest(self):
        run = load_run(self.write())
        self.assertEqual(run.manifest["software"]["vendor"], "Open MPI 4.1.4")
        groups = run.groups()
        self.assertEqual(len(groups), 6 + 3)  # six allreduce groups, three row lengths of the fused kernel
        for group, cells in groups.items():
            self.assertTrue(run.rules_of(group), group)
            self.assertTrue(all(cell.group == group for cell in cells))
        self.assertEqual({cell.status for cell in run.cells}, {"ok", "wrong", "timed_out", "unsupported"})

    def test_missing_pieces_are_named(self):
        self.assertIn("no such run folder", self.fault(self.folder / "nowhere"))
        for name in ("manifest.json", "summary.csv"):
            run = self.write()
            (run / name).unlink()
            self.assertIn(f"{name} is missing", self.fault(run))

    def test_a_run_without_table_is_drawn_without_rules(self):
        run = load_run(self.write(rows_of(), table=False))
        self.assertIsNone(run.table)
        self.assertEqual(run.rules_of(next(iter(run.groups()))), [])

    def test_broken_files_are_named_with_their_place(self):
        run = self.write(rows_of())
        (run / "manifest.json").write_text('{"a": ')
        self.assertIn("manifest.json:1:", self.fault(run))
        run = self.write(rows_of())
        (run / "manifest.json").write_text("[]")
        self.assertIn("expected a JSON object", self.fault(run))
        run = self.write(rows_of())
        (run / "table.json").write_text(json.dumps({"tables": [{"collective": "allreduce"}]}))
        self.assertIn("table.json#/tables/0", self.fault(run))
        (run / "table.json").write_text(json.dumps({"tables": {"collective": "allreduce"}}))
        self.assertIn("table.json#/tables", self.fault(run))
        run = self.write(rows_of())
        (run / "summary.csv").write_bytes(b"\xff\xfe\x00bad")
        self.assertIn("not UTF-8", self.fault(run))

    def test_summary_faults_name_column_and_line(self):
        run = self.write(rows_of())
        text = (run / "summary.csv").read_text()
        (run / "summary.csv").write_text(text.replace("median_us", "middle_us"))
        self.assertIn("column median_us is missing", self.fault(run))
        lines = text.splitlines()
        lines[3] = lines[3].replace(",ok,", ",ok,many", 1)
        (run / "summary.csv").write_text("\n".join(lines))
        self.assertIn("summary.csv:4", self.fault(run))

    def test_optional_columns_may_be_absent_and_new_ones_present(self):
        run = self.write(rows_of())
        lines = [line.split(",") for line in (run / "summary.csv").read_text().splitlines()]
        keep = [lines[0].index(name) for name in "collective dtype op bytes ranks variant status median_us".split()]
        thin = [
            ",".join([row[index] for index in keep] + ["brand_new" if number == 0 else "7"])
            for number, row in enumerate(lines)
        ]
        (run / "summary.csv").write_text("\n".join(thin))
        cell = load_run(run).cells[0]
        self.assertEqual((cell.low, cell.high), (cell.median, cell.median))
        self.assertEqual((cell.group.placement, cell.group.memory, cell.plan.blocks), ("out_of_place", "registered", 1))

    def test_tables_of_an_epilogue_and_of_several_numerics_classes(self):
        folder = self.write(rows_of())
        table = json.loads((folder / "table.json").read_text())
        entry = table["tables"][0]
        rule = {"min_bytes": 0, "variant": "ring", "time_us": 0}
        table["tables"] = [
            {**entry, "numerics": "per_hop", "rules": [rule]},
            entry,
            {**entry, "numerics": "in_switch", "rules": [rule]},
            {**entry, "epilogue": "relu", "rules": [rule]},
        ]
        (folder / "table.json").write_text(json.dumps(table))
        run = load_run(folder)
        group = next(iter(run.groups()))
        self.assertNotEqual(run.rules_of(group)[0].plan.variant, "ring")
        self.assertEqual(run.rules_of(replace(group, epilogue="relu"))[0].plan.variant, "ring")
        self.assertIsNone(run.rules_of(replace(group, epilogue="relu"))[0].time)
        self.assertEqual(run.rules_of(replace(group, epilogue="bias")), run.rules_of(group))
        self.assertEqual(run.rules_of(replace(group, cache="hot", mode="throughput")), run.rules_of(group))

    def test_oversubscribed_records_are_found_in_the_journal(self):
        folder = self.write(rows_of())
        self.assertEqual(load_run(folder).crowded, frozenset())
        with open(folder / "journal.jsonl", "a", encoding="utf-8") as file:
            line = '{"problem":{"ranks":8},"plan":{"blocks":2},"oversubscribed":true,"crc":"0"}'
            file.write(line + '\n{"oversubscribed":true,"pro')
        self.assertEqual(load_run(folder).crowded, {(8, 2)})

    def test_values_that_are_no_numbers_are_absent(self):
        rows = rows_of()
        for index, text in enumerate(("", "nan", "NaN", "inf", "N/A", "-")):
            rows[index]["median_us"] = text
        run = load_run(self.write(rows, table=False))
        self.assertEqual([cell.median for cell in run.cells[:6]], [None] * 6)
        self.assertFalse(any(cell.timed for cell in run.cells[:6]))


if __name__ == "__main__":
    main()
