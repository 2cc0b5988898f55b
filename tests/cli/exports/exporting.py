"""Tables to export, and the words that the tests of exports share."""
import json
import os
import pathlib
import subprocess

PROGRAM = os.environ["ATTUNE"]


def table(ranks, rules):
    """A dispatch table of one key: rules are pairs of smallest size and variant."""
    return {
        "format": "attune-dispatch",
        "version": 1,
        "hardware": {"device": "host", "fingerprint": "host-of-a-test"},
        "tables": [
            {
                "collective": "allreduce",
                "dtype": "f32",
                "op": "sum",
                "ranks": ranks,
                "rules": [{"min_bytes": size, "variant": variant} for size, variant in rules],
            }
        ],
    }


def export(content, *words):
    """The file that attune export writes of a table."""
    pathlib.Path("table.json").write_text(json.dumps(content))
    out = pathlib.Path("exported").resolve()
    subprocess.run([PROGRAM, "export", "--table", "table.json", "--out", out, *words], check=True)
    return out


def outcomes(text):
    """{bytes: word} of the lines of sum.c."""
    lines = [line.split() for line in text.splitlines()]
    return {int(line[0]): line[1] for line in lines if len(line) == 3 and line[0].isdigit()}
