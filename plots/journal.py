"""What only the journal tells: why a cell gave no time. The journal may be absent, cut short or damaged."""

import json

MESSAGE_KEYS = ("reason", "message", "error")


def failure_notes(path):
    """{(variant, blocks, status, count): message} of the records that are not ok, and the number of readable records.

    Lines that are no JSON (a run that was killed) are counted apart: returns (notes, records, unreadable).
    """
    notes, records, unreadable = {}, 0, 0
    if not path.is_file():
        return notes, records, unreadable
    with open(path, encoding="utf-8", errors="replace") as file:
        for line in file:
            if not line.strip():
                continue
            record = _parse(line)
            if record is None:
                unreadable += 1
                continue
            records += 1
            message = next(
                (record[key] for key in MESSAGE_KEYS if isinstance(record.get(key), str) and record[key]), ""
            )
            if message and record.get("status") != "ok":
                notes[
                    note_key(record.get("plan") or {}, record.get("status"), (record.get("problem") or {}).get("count"))
                ] = message
    return notes, records, unreadable


def crowded_plans(path):
    """{(ranks, blocks)} that were measured with more workers than cores. Only those lines are parsed."""
    found = set()
    if path.is_file():
        with open(path, encoding="utf-8", errors="replace") as file:
            for line in file:
                if '"oversubscribed":true' in line.replace(" ", ""):
                    record = _parse(line) or {}
                    ranks, plan = (record.get("problem") or {}).get("ranks"), record.get("plan") or {}
                    found |= {(ranks, plan.get("blocks", 1))} if isinstance(ranks, int) else set()
    return found


def note_key(plan, status, count):
    """What joins a journal record and a row of the summary."""
    return plan.get("variant"), plan.get("blocks", 1), status, count


def _parse(line):
    try:
        value = json.loads(line)
    except json.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None
