"""What a manifest says about a run, in words for titles and footers."""

from series import sizes_of
from units import plural, words

FIGURES = {
    "overview": "time and gain by message size",
    "time": "time over message size",
    "gain": "gain over the vendor",
    "busbw": "bus bandwidth over message size",
    "heat": "blocks by size",
    "fused": "unfused over fused time",
}


def dig(value, *path, default=None):
    """value[path[0]][path[1]]…, `default` where a step is missing."""
    for step in path:
        if not isinstance(value, dict) or step not in value:
            return default
        value = value[step]
    return value


def find(value, name):
    """The first value under this key anywhere in nested objects, breadth first; None when there is none."""
    level = [value]
    while level:
        for item in level:
            if isinstance(item, dict) and name in item:
                return item[name]
        level = [
            child
            for item in level
            if isinstance(item, (dict, list))
            for child in (item.values() if isinstance(item, dict) else item)
            if isinstance(child, (dict, list))
        ]
    return None


def vendor_name(run):
    """The vendor's collective by its product name: Open MPI 4.1.4, NCCL 2.27.3."""
    name = (
        dig(run.manifest, "software", "vendor") or dig(run.table, "software", "vendor") or find(run.manifest, "vendor")
    )
    return name if isinstance(name, str) and name else "vendor"


def hardware_name(run):
    """The machine: AMD EPYC 7763 (host)."""
    hardware = dig(run.manifest, "hardware") or dig(run.table, "hardware") or {}
    name = " ".join(str(dig(hardware, "name", default="unnamed machine")).split())
    return f"{name} ({hardware['device']})" if isinstance(hardware, dict) and hardware.get("device") else name


def group_title(group):
    """allreduce f32 sum · 2 ranks."""
    parts = [
        f"{words(group.collective) if not group.fused else group.collective} {group.dtype} {group.op}",
        plural(group.ranks, "rank"),
    ]
    return " · ".join(parts + ([f"{group.cols} columns"] if group.cols else []))


def group_conditions(group):
    """out of place, registered, and what is not the default."""
    parts = [words(group.placement), f"{words(group.memory)} buffers"]
    if group.launch_mode != "eager":
        parts.append(f"launch mode {group.launch_mode}")
    if group.epilogue != "none":
        parts.append(f"epilogue {group.epilogue}")
    parts += ["back to back"] if group.mode == "throughput" else []
    parts += [f"{group.cache} caches"] if group.cache != "rewritten" else []
    return ", ".join(parts)


def group_stem(group):
    """The file name of a group's figures, without what is the default."""
    parts = [group.collective, group.dtype, group.op, f"{group.ranks}ranks", group.placement, group.memory]
    parts += [group.launch_mode] if group.launch_mode != "eager" else []
    parts += [group.epilogue] if group.epilogue != "none" else []
    parts += [f"{group.cols}cols"] if group.cols else []
    parts += [group.mode] if group.mode != "latency" else []
    parts += [group.cache] if group.cache != "rewritten" else []
    return "-".join(parts)


def ranked_groups(run):
    """[(group, cells)], likeliest wish first: allreduce, f32 sum, registered, out of place, most sizes."""

    def rank(item):
        group, cells = item
        return (
            not sizes_of(cells),
            group.collective != "allreduce",
            group.epilogue != "none",
            group.memory != "registered",
            group.placement != "out_of_place",
            group.launch_mode != "eager",
            group.mode != "latency",
            group.cache != "rewritten",
            group.op != "sum",
            group.dtype != "f32",
            -len(sizes_of(cells)),
            group.ranks,
        )

    return sorted(run.groups().items(), key=rank)


def provenance(run):
    """Machine, vendor, version, date: those that are known."""
    version = dig(run.manifest, "software", "attune")
    created = str(find(run.manifest, "created") or find(run.manifest, "started") or "")[:10]
    parts = [hardware_name(run), vendor_name(run), f"attune {version}" if version else "", created]
    return [part for part in parts if part]


def trouble(cells):
    """Cells that are not drawn because they gave no right result: "2 wrong, 1 timed out", or ""."""
    counts = {}
    for cell in cells:
        if cell.status not in ("ok", "unsupported"):
            counts[cell.status] = counts.get(cell.status, 0) + 1
    return ", ".join(f"{count} {words(status)}" for status, count in sorted(counts.items()))
