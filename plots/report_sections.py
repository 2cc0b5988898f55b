"""The parts of the report, top to bottom. Each takes (run, palette, picture kind) and returns HTML."""

import json
from functools import partial

import facts
from caveats import caveats
from drawing import draw_all, tasks_of
from journal import failure_notes, note_key
from markup import facts_list, folded, joined, picture, swatch, table, tag
from series import gains, surest_best, tuned_cells, vendor_cells
from units import geometric_mean, percent_text, plural, ratio_text, size_text, time_text, words

MOST_ROWS = 400  # of a list of cells
SECTIONS = (
    ("overview", "Overview"),
    ("rules", "What to use when"),
    ("figures", "Figures"),
    ("problems", "Cells without a result"),
    ("noise", "Noise"),
    ("method", "How it was measured"),
    ("machine", "Machine and software"),
)


def heading(anchor):
    return tag("h2", dict(SECTIONS)[anchor], id=anchor)


def title(run, _palette, _kind):
    """Name, badges, navigation."""
    look = {"class_": "badge"}
    badges = (
        tag("span", caveat.text, title=caveat.meaning, style=f"background:{caveat.colour}", **look)
        for caveat in caveats(run)
    )
    links = (tag("a", name, href=f"#{anchor}") for anchor, name in SECTIONS)
    return joined(
        [
            tag("h1", f"attune on {facts.hardware_name(run)}"),
            tag("p", " · ".join(facts.provenance(run)[1:]), class_="muted"),
            *badges,
            tag("nav", *links),
        ]
    )


def tiles(run, _palette, _kind):
    """The numbers that are asked for first."""
    points = tuned_points(run)
    ok = [cell for cell in run.cells if cell.status == "ok"]
    bad = [cell for cell in run.cells if cell.status not in ("ok", "unsupported")]
    samples, rejected = sum(cell.samples for cell in ok), sum(cell.rejected for cell in ok)
    vendor = facts.vendor_name(run)
    shown = []
    if points:
        best, worst = surest_best(points), min(points, key=lambda p: p.ratio)
        shown = [
            (
                ratio_text(geometric_mean([p.ratio for p in points])),
                f"tuned choice against {vendor}, geometric mean",
                False,
            ),
            *([(ratio_text(best.ratio), f"best gain, at {size_text(best.bytes)}", False)] if best else []),
            (ratio_text(worst.ratio), f"least gain, at {size_text(worst.bytes)}", worst.ratio < 0.97),
        ]
    shown += [
        (len(ok), "cells measured", False),
        (len(bad), "cells wrong, timed out or failed", bool(bad)),
        (percent_text(rejected / (samples + rejected)) if samples else "–", "of the samples rejected", False),
    ]
    return tag(
        "div",
        *(tag("div", tag("b", v), tag("span", t), class_=f"tile{' bad' * b}") for v, t, b in shown),
        class_="tiles",
    )


def tuned_points(run):
    """Gains of the tuned choice over all groups."""
    groups = run.groups().items()
    return [p for group, cells in groups for p in gains(tuned_cells(cells, run.rules_of(group)), vendor_cells(cells))]


def pictures(run, palette, kind, kinds):
    """[(task, picture)] of all figures of these kinds."""
    tasks = tasks_of(run, kinds)
    return list(draw_all(run, palette, tasks, partial(pictured, kind=kind)))


def pictured(figure, task, kind):
    return picture(figure, kind, f"{task.stem}: {facts.FIGURES[task.kind]}")


def overview(run, palette, kind):
    """The figure of the README."""
    return joined([heading("overview"), *(shown for _, shown in pictures(run, palette, kind, ("overview",)))])


def rules(run, palette, _kind):
    """The dispatch table, a fold for each of its tables."""
    if not run.rules:
        return joined([heading("rules"), tag("p", "This run has no dispatch table; attune tune makes one.")])
    parts = []
    order = [group for group, _ in facts.ranked_groups(run)]
    place = lambda item: order.index(item[0]) if item[0] in order else len(order)
    for index, (group, listed) in enumerate(sorted(run.rules.items(), key=place)):
        name = f"{facts.group_title(group)}, {facts.group_conditions(group)}: {plural(len(listed), 'rule')}"
        parts.append(folded(name, rules_table(listed, palette), opened=index == 0))
    note = "A rule holds from its size up to the next. Times are those at the first measured size in its range."
    return joined([heading("rules"), tag("p", note, class_="muted"), *parts])


def rules_table(listed, palette):
    rows = []
    for rule in listed:
        interval = f"{time_text(rule.low)} … {time_text(rule.high)}" if rule.low is not None else None
        gain = ratio_text(rule.vendor / rule.time) if rule.vendor and rule.time else None
        plan = (
            rule.plan.blocks,
            rule.plan.threads,
            size_text(rule.plan.chunk_bytes) if rule.plan.chunk_bytes else None,
        )
        name = swatch(rule.plan.variant, palette.colour(rule.plan.variant))
        rows.append(
            (
                size_text(rule.min_bytes),
                name,
                *plan,
                time_text(rule.time),
                interval,
                time_text(rule.vendor),
                gain,
                rule.confidence,
            )
        )
    columns = ("from", "variant", "blocks", "threads", "chunk", "time", "interval", "vendor", "gain", "confidence")
    if not any(rule.confidence for rule in listed):
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    return table(columns, rows, numeric=(0, 2, 3, 4, 5, 6, 7, 8))


def figures(run, palette, kind):
    """A fold for each group with its figures, the fused kernels' ratios first."""
    folds, fused = {}, []
    for task, shown in pictures(run, palette, kind, ("time", "gain", "busbw", "heat", "fused")):
        if task.kind == "fused":
            fused.append(shown)
        else:
            folds.setdefault(task.groups[0], []).append(shown)
    parts = [folded("Fused against unfused", *fused, opened=True)] if fused else []
    for index, (group, shown) in enumerate(folds.items()):
        name = f"{facts.group_title(group)}, {facts.group_conditions(group)}"
        parts.append(folded(name, *shown, opened=index == 0))
    return joined([heading("figures"), *parts])


def problems(run, palette, _kind):
    """Cells that are wrong, timed out, failed; and what cannot run here."""
    notes, _, _ = failure_notes(run.path / "journal.jsonl")
    bad = [cell for cell in run.cells if cell.status not in ("ok", "unsupported")]
    missing = {}
    for cell in run.cells:
        if cell.status == "unsupported":
            missing[cell.plan.variant] = missing.get(cell.plan.variant, 0) + 1
    found = f"{plural(len(bad), 'cell')} wrong, timed out or failed. They are drawn nowhere and enter no table."
    parts = [heading("problems"), tag("p", found if bad else "No cell was wrong, timed out or failed.")]
    if bad:
        rows = [problem_row(cell, palette, notes) for cell in bad[:MOST_ROWS]]
        parts.append(table(("status", "problem", "size", "variant", "blocks", "what happened"), rows, numeric=(2, 4)))
        parts += [tag("p", f"… and {len(bad) - MOST_ROWS} more in summary.csv.")] if len(bad) > MOST_ROWS else []
    if missing:
        listed = ", ".join(f"{name} ({plural(count, 'cell')})" for name, count in sorted(missing.items()))
        parts.append(tag("p", f"Not supported here: {listed}."))
    return joined(parts)


def problem_row(cell, palette, notes):
    plan = {"variant": cell.plan.variant, "blocks": cell.plan.blocks}
    problem = f"{facts.group_title(cell.group)}, {facts.group_conditions(cell.group)}"
    name = swatch(cell.plan.variant, palette.colour(cell.plan.variant))
    note = cell.note or notes.get(note_key(plan, cell.status, cell.count), "")
    return tag("b", words(cell.status)), problem, size_text(cell.bytes), name, cell.plan.blocks, note


def noise(run, palette, _kind):
    """Samples, rejections and intervals by variant, and the cells that are least sure."""
    ok = [cell for cell in run.cells if cell.timed]
    rows = []
    for name in palette.sort(cell.plan.variant for cell in ok):
        mine = [cell for cell in ok if cell.plan.variant == name]
        rows.append((swatch(name, palette.colour(name)), *noise_numbers(mine)))
    columns = ("variant", "cells", "samples", "rejected", "noisy cells", "not converged", "median half interval")
    parts = [heading("noise"), table(columns, rows + [(tag("b", "all"), *noise_numbers(ok))], numeric=range(1, 7))]
    parts += [tag("p", clocks)] if (clocks := clock_text(ok)) else []
    unsure = sorted((cell for cell in ok if cell.noisy or not cell.converged), key=half_interval, reverse=True)
    if unsure:
        rows = [unsure_row(cell, palette) for cell in unsure[:MOST_ROWS]]
        columns = ("problem", "size", "variant", "blocks", "median", "half interval", "samples", "rejected", "flags")
        shown = table(columns, rows, numeric=range(1, 8))
        parts.append(folded(f"{plural(len(unsure), 'cell')} noisy or not converged, the widest interval first", shown))
    return joined(parts)


def clock_text(cells):
    """The clocks of GPUs, "" where none is known (on host)."""
    known = [cell.sm_mhz for cell in cells if cell.sm_mhz > 0]
    if not known:
        return ""
    held = sum(cell.throttled for cell in cells)
    share = f"{plural(held, 'sample')} rejected because a GPU was held below its clock" if held else "none held down"
    return f"Clock of the GPUs' multiprocessors: {min(known)} to {max(known)} MHz by cell, {share}."


def noise_numbers(cells):
    samples, rejected = sum(cell.samples for cell in cells), sum(cell.rejected for cell in cells)
    share = f"{rejected} ({percent_text(rejected / (samples + rejected))})" if samples + rejected else "–"
    halves = sorted(half_interval(cell) for cell in cells)
    middle = percent_text(halves[len(halves) // 2]) if halves else "–"
    return len(cells), samples, share, sum(c.noisy for c in cells), sum(not c.converged for c in cells), middle


def half_interval(cell):
    """Half the interval's width as a share of the median."""
    return (cell.high - cell.low) / 2 / cell.median


def unsure_row(cell, palette):
    flags = ", ".join(name for name, on in (("noisy", cell.noisy), ("not converged", not cell.converged)) if on)
    name = swatch(cell.plan.variant, palette.colour(cell.plan.variant))
    problem = f"{facts.group_title(cell.group)}, {facts.group_conditions(cell.group)}"
    half = percent_text(half_interval(cell))
    return (
        problem,
        size_text(cell.bytes),
        name,
        cell.plan.blocks,
        time_text(cell.median),
        half,
        cell.samples,
        cell.rejected,
        flags,
    )


def method(run, _palette, _kind):
    """The words of the measurement and the configuration of this run."""
    _, records, unreadable = failure_notes(run.path / "journal.jsonl")
    lines = [
        "A sample is the time of one call, from a common start until the last rank has finished. Times are medians "
        "with an order-statistic interval. Samples that started late or were interrupted are rejected and counted. "
        "Bus bandwidth uses nccl-tests' formula; sizes are binary, rates decimal."
    ]
    if records or unreadable:
        lines.append(
            f"The journal holds {plural(records, 'record')}"
            + (f"; {plural(unreadable, 'line')} cannot be read." if unreadable else ".")
        )
    config = facts.dig(run.manifest, "config")
    parts = [heading("method"), *(tag("p", line) for line in lines)]
    return joined(parts + ([tag("h3", "Configuration"), facts_list(config)] if config else []))


def machine(run, _palette, _kind):
    """Everything else that the manifest says."""
    parts = [heading("machine")]
    for key, value in run.manifest.items():
        if key != "config" and isinstance(value, (dict, list)):
            parts += [tag("h3", words(key).capitalize()), facts_list(value)]
    plain = {key: value for key, value in run.manifest.items() if not isinstance(value, (dict, list))}
    parts += [tag("h3", "Run"), facts_list(plain)] if plain else []
    parts.append(folded("manifest.json", tag("pre", json.dumps(run.manifest, indent=2, ensure_ascii=False))))
    return joined(parts)


PARTS = (title, tiles, overview, rules, figures, problems, noise, method, machine)
