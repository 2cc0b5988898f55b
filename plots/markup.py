"""HTML in small pieces: everything that comes from a run is escaped here and nowhere else."""

import base64
import html
import io


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


def facts_list(value, skip=()):
    """A JSON value as nested definition lists."""
    if isinstance(value, dict):
        pairs = (
            joined([tag("dt", key), tag("dd", facts_list(item))]) for key, item in value.items() if key not in skip
        )
        return tag("dl", joined(pairs)) if value else text("none")
    if isinstance(value, list):
        if any(isinstance(item, (dict, list)) for item in value):
            return tag("ol", joined(tag("li", facts_list(item)) for item in value))
        return text(", ".join(facts_list(item) for item in value) or "none") if value else text("none")
    return text(
        {True: "yes", False: "no", None: None}.get(value, value) if isinstance(value, (bool, type(None))) else value
    )


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
