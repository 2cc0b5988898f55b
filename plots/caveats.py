"""What a reader must know before believing a figure: pills at its top, their meaning in its footer.

Oversubscription is taken from where it is told most exactly: cells and journal records, else the manifest.
"""

from dataclasses import dataclass

from facts import find, provenance, trouble
from palette import BAD

EMULATED = "#6F42C1"


@dataclass(frozen=True)
class Caveat:
    """A pill: its text, its colour, and what it means ("" where the text says it all)."""

    text: str
    colour: str
    meaning: str = ""


CROWDED = Caveat("oversubscribed", BAD, "ranks × blocks exceed the cores")
PARTLY = Caveat("partly oversubscribed", BAD, "some plans have more ranks × blocks than cores")


def caveats(run, group=None):
    """The caveats of a group; of the whole run without one."""
    found = [_crowding(run, group)]
    if _applies(find(run.manifest, "emulated"), group):
        found.append(Caveat("emulated device", EMULATED))
    return [caveat for caveat in found if caveat]


def source(run, group=None, cells=()):
    """The parts of a figure's footer: provenance, what the caveats mean, what is not drawn."""
    told = [f"{caveat.text}: {caveat.meaning}" for caveat in caveats(run, group) if caveat.meaning]
    lost = trouble(cells)
    return provenance(run) + told + ([f"not drawn: {lost}"] if lost else [])


def _crowding(run, group):
    if not run.crowded and not any(cell.oversubscribed for cell in run.cells):
        return CROWDED if _applies(find(run.manifest, "oversubscribed"), group) else None
    cells = [cell for cell in run.cells if cell.timed and (group is None or _same_kind(cell.group, group))]
    crowded = [cell.oversubscribed or (cell.group.ranks, cell.plan.blocks) in run.crowded for cell in cells]
    return CROWDED if crowded and all(crowded) else PARTLY if any(crowded) else None


def _same_kind(one, other):
    """Equal but for cols: a figure of fused kernels holds several row lengths."""
    return all(getattr(one, name) == getattr(other, name) for name in one.__dict__ if name != "cols")


def _applies(value, group):
    """A flag of the manifest: true for all, or the rank counts that it is true for."""
    if isinstance(value, (list, tuple)):
        return bool(value) if group is None else group.ranks in value
    return str(value).lower() in ("true", "1", "yes")
