"""What there is to draw in a run, and drawing it on as many cores as there are."""

import fnmatch
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace

import compose
import facts
from draw.overview import overview

FEW = 4  # figures that are not worth a second process
MAKERS = {
    "time": compose.time_figure,
    "gain": compose.gain_figure,
    "busbw": compose.bandwidth_figure,
    "heat": compose.heat_figure,
}


@dataclass(frozen=True)
class Task:
    """One figure to draw. `stem` is its file name; `groups` is what it is about (none for the overview)."""

    stem: str
    kind: str
    groups: tuple = ()


def tasks_of(run, kinds=tuple(facts.FIGURES), pattern="*"):
    """Every figure that the run may have data for, in a fixed order."""
    tasks = [Task("overview", "overview")] if "overview" in kinds else []
    groups = [group for group, _ in facts.ranked_groups(run) if fnmatch.fnmatch(facts.group_stem(group), pattern)]
    for group in groups:
        stem = facts.group_stem(group)
        tasks += [Task(f"{stem}-{kind}", kind, (group,)) for kind in kinds if kind in MAKERS]
    if "fused" in kinds:
        families = {}  # groups that differ in cols alone share a figure
        for group in sorted(group for group in groups if group.fused):
            families.setdefault(facts.group_stem(replace(group, cols=0)), []).append(group)
        tasks += [Task(f"{stem}-fused", "fused", tuple(members)) for stem, members in families.items()]
    return tasks


def draw(run, palette, task):
    """The figure of a task, or None where the run has no data for it."""
    if task.kind == "overview":
        return overview(run, palette)
    cells = run.groups()
    if task.kind == "fused":
        return compose.fused_figure(run, [(group, cells[group]) for group in task.groups], palette)
    return MAKERS[task.kind](run, task.groups[0], cells[task.groups[0]], palette)


def draw_all(run, palette, tasks, finish, workers=None):
    """Yields (task, finish(figure, task)) in the order of the tasks; tasks without data are left out.

    `finish` runs in the process that drew the figure: it saves it or turns it into text.
    """
    workers = min(workers or os.cpu_count() or 1, len(tasks))
    if workers < 2 or len(tasks) <= FEW or "fork" not in multiprocessing.get_all_start_methods():
        results = (_finished(run, palette, finish, task) for task in tasks)
        yield from ((task, result) for task, result in zip(tasks, results) if result is not None)
        return
    context = multiprocessing.get_context("fork")  # the run goes over with the fork, not through a pipe
    with ProcessPoolExecutor(workers, context, _adopt, (run, palette, finish)) as pool:
        for task, result in zip(tasks, pool.map(_work, tasks)):
            if result is not None:
                yield task, result


_adopted = []


def _adopt(*shared):
    _adopted[:] = shared


def _work(task):
    return _finished(*_adopted, task)


def _finished(run, palette, finish, task):
    figure = draw(run, palette, task)
    return None if figure is None else finish(figure, task)
