"""HTML in small pieces: everything that comes from a run is escaped here and nowhere else."""

import base64
import html
import io

from units import size_text


class Safe(str):
    """Text that is already HTML."""


def text(value):
    """Any value as HTML text; Safe stays as it is, None is a dash."""
    return value if isinstance(value, Safe) else Safe(html.escape("–" if value is None else str(value)))


def tag(name, *children, **attributes):
    """An element; a trailing underscore keeps an attribute off Python's keywords (class_)."""
    pairs = "".join(f' {key.rstrip("_")}="{html.escape(str(value))}"' for key, value in attributes.items())
    return Safe(f"<{name}{pairs}>{''.join(map(text, children))}</{name}>")


def joined(pieces):
    """Pieces one after another."""
    return Safe("".join(map(text, pieces)))


def table(columns, rows, numeric=()):
    """A table. `columns` are titles; `numeric` are the indices of columns that stand to the right."""
    side = lambda index: {"class_": "number"} if index in numeric else {}
    head = tag("tr", *(tag("th", title, scope="col", **side(index)) for index, title in enumerate(columns)))
    body = (tag("tr", *(tag("td", value, **side(index)) for index, value in enumerate(row))) for row in rows)
    return tag("div", tag("table", tag("thead", head), tag("tbody", joined(body))), class_="scroll")


def swatch(name, colour):
    """A name behind a square of its colour."""
    return joined([tag("span", class_="swatch", style=f"background:{colour}"), name])


def folded(title, *children, opened=False):
    """A section that opens on demand."""
    start = Safe("<details open>" if opened else "<details>")
    return Safe(f"{start}{tag('summary', title)}{joined(children)}</details>")


def facts_list(value, name=""):
    """A JSON value for people: objects as definition lists, lists of like objects as tables, bytes with units."""
    if isinstance(value, dict) and value:
        return tag("dl", *(joined([tag("dt", key), tag("dd", facts_list(item, key))]) for key, item in value.items()))
    if isinstance(value, list) and value:
        return _list(value, name)
    if isinstance(value, bool):
        return text("yes" if value else "no")
    if isinstance(value, int) and ("bytes" in name or name == "sizes"):
        return text(size_text(value))
    return text(None if value is None or value == "" else value if isinstance(value, (int, float, str)) else "none")


def _list(values, name):
    if all(isinstance(item, dict) and item.keys() == values[0].keys() for item in values) and _flat(values):
        return table(list(values[0]), [[facts_list(item, key) for key, item in row.items()] for row in values])
    if any(isinstance(item, (dict, list)) for item in values):
        return tag("ol", *(tag("li", facts_list(item, name)) for item in values))
    if any(isinstance(item, str) and "," in item for item in values):
        return tag("pre", "\n".join(map(str, values)))
    return text(", ".join(facts_list(item, name) for item in values))


def _flat(rows):
    return not any(isinstance(item, (dict, list)) for row in rows for item in row.values())


def picture(figure, kind, description):
    """A figure inside the page. `kind` is svg or png."""
    file = io.BytesIO()
    metadata = {"svg": {"Date": None, "Creator": "attune"}, "png": {"Software": "attune"}}[kind]
    figure.savefig(file, format=kind, dpi=110, metadata=metadata)
    code = base64.b64encode(file.getvalue()).decode("ascii")
    media = {"svg": "image/svg+xml", "png": "image/png"}[kind]
    width, height = (round(inches * 100) for inches in figure.get_size_inches())
    image = {"src": f"data:{media};base64,{code}", "alt": description, "width": width, "height": height}
    return tag("figure", Safe("<img" + "".join(f' {key}="{html.escape(str(v))}"' for key, v in image.items()) + ">"))
