"""Open MPI obeys the exported rules.

Release builds say nothing about the file, so a copy in which one rule names an algorithm that there is not (99) tells:
Open MPI then fails exactly the calls that this rule decides, and only if it has read the file.
"""
import os
import re
import subprocess
import sys
import unittest

from exporting import export, outcomes, table

SUM = sys.argv[1]
MPIRUN = os.environ["MPIRUN"].split()
SIZES = [64, 16380, 16384, 1048572, 1048576, 4194304]


def run(rules_file, ranks):
    """What each size ends with under these rules."""
    rules = ["--mca", "coll_tuned_use_dynamic_rules", "1", "--mca", "coll_tuned_dynamic_rules_filename", str(rules_file)]
    done = subprocess.run([*MPIRUN, *rules, "-n", str(ranks), SUM, *map(str, SIZES)], capture_output=True, text=True, timeout=60)
    return outcomes(done.stdout)


class OpenMpi(unittest.TestCase):
    """One table for 2 ranks."""

    def test_every_rule_decides_its_sizes_and_no_others(self):
        version = subprocess.run([MPIRUN[0], "--version"], capture_output=True, text=True).stdout
        if not re.search(r"Open MPI\) [45]\.", version):
            self.skipTest("the classic rules are of Open MPI 4 and 5")
        rules = [(0, "vendor:openmpi/recursive_doubling"), (16384, "vendor:openmpi/segmented_ring/65536"), (1048576, "two_shot")]
        exported = export(table(2, rules), "--format", "openmpi")
        good = {size: "ok" for size in SIZES}
        self.assertEqual(run(exported, 2), good)
        text = exported.read_text()
        for rule, decides in (("0 3", {64, 16380}), ("16384 5", {16384, 1048572}), ("1048576 0", {1048576, 4194304})):
            canary, changed = re.subn(rf"^{rule} ", rule.split()[0] + " 99 ", text, count=1, flags=re.MULTILINE)
            self.assertEqual(changed, 1, text)
            exported.with_suffix(".canary").write_text(canary)
            told = run(exported.with_suffix(".canary"), 2)
            self.assertEqual(told, {size: "argument" if size in decides else "ok" for size in SIZES}, rule)
            if rule == "0 3":  # other numbers of ranks keep the built-in decision
                self.assertEqual(run(exported.with_suffix(".canary"), 3), good)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
