"""Proves that drawing on several cores gives the figures of one core, in order, and that a fault is not swallowed."""

import os

from context import RunFolderTest, main, rows_of

from drawing import draw_all, tasks_of
from load import load_run
from palette import Palette


def facts_of(figure, task):
    """What can be told of a figure, and where it was drawn."""
    return task.stem, len(figure.axes), os.getpid()


def refuse(_figure, task):
    raise ValueError(task.stem)


class Drawing(RunFolderTest):
    def drawn(self, workers):
        run = load_run(
            self.write(rows_of(blocks=(1, 2)) + rows_of(group=("allreduce", "bf16", "sum", 4, "in_place", "staged")))
        )
        return list(draw_all(run, Palette([]), tasks_of(run), facts_of, workers))

    def test_several_processes_draw_what_one_draws(self):
        one, many = self.drawn(1), self.drawn(2)
        self.assertEqual([result[:2] for _, result in one], [result[:2] for _, result in many])
        self.assertEqual({result[2] for _, result in one}, {os.getpid()})
        self.assertNotIn(os.getpid(), {result[2] for _, result in many})

    def test_tasks_without_data_are_left_out(self):
        heat = [task.stem for task, _ in self.drawn(2) if task.kind == "heat"]
        self.assertEqual(len(heat), 1)  # blocks were swept in one of the two groups

    def test_a_fault_in_a_process_reaches_the_caller(self):
        run = load_run(self.write())
        for workers in (1, 2):
            with self.assertRaises(ValueError):
                list(draw_all(run, Palette([]), tasks_of(run, ("time",)), refuse, workers))


if __name__ == "__main__":
    main()
