"""What every test of plots starts with: the path to plots/, run folders in a temporary place, a main that can skip."""

import importlib.util
import io
import shutil
import sys
import tempfile
import unittest
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path

HERE = Path(__file__).resolve().parent
PLOTS = HERE.parents[2] / "plots"
sys.path[:0] = [str(PLOTS), str(HERE)]
sys.dont_write_bytecode = True

import synthetic_run  # noqa: E402
from errors import guarded  # noqa: E402

F32 = ("allreduce", "f32", "sum", 2, "out_of_place", "registered")


class RunFolderTest(unittest.TestCase):
    """Gives each test `self.folder`, which is gone afterwards, and `self.write` for a run in it."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="attune-plots-"))
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)

    def write(self, rows=None, name="run", **options):
        return synthetic_run.write(self.folder / name, rows, **options)

    def start(self, main, *arguments):
        """(exit code, stdout, stderr) of a program's main in this process."""
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            code = guarded(main, [str(argument) for argument in arguments])
        return code, out.getvalue(), err.getvalue()


def figures_of(run, kinds=None):
    """{file stem: figure} of a run, drawn in this process."""
    from drawing import draw, tasks_of
    from facts import FIGURES
    from palette import Palette

    drawn = {task.stem: draw(run, Palette([]), task) for task in tasks_of(run, kinds or tuple(FIGURES))}
    return {stem: figure for stem, figure in drawn.items() if figure is not None}


def rows_of(variants=("vendor", "mesh", "two_shot_write"), sizes=None, blocks=(1,), group=F32, seed=3):
    """Rows of one group."""
    import random

    sizes = sizes or synthetic_run.sizes(8, 1 << 20, 8)
    return synthetic_run.allreduce_rows(random.Random(seed), [group], sizes, variants, blocks)


def main():
    """unittest.main, or 77 (skipped) where matplotlib is not installed."""
    if importlib.util.find_spec("matplotlib") is None:
        print("skipped: matplotlib is not installed for", sys.executable)
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[1:]])
