"""What every page has in common: one style sheet, and a content policy under which nothing runs and nothing is loaded.

There is no script on any page. The style sheet is a constant file, named in the policy by its digest: a name that
breaks out of its place on the page is only text. It does not run, loads nothing, sends nothing, and styles nothing."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from fugu.drawing.html import Html, Inside, joined, tag
from fugu.drawing.style import chart_rules, palette
from fugu.drawing.text import clean
from fugu.report.views import MOST


@cache
def sheet() -> str:
    """The style sheet, with a rule for each place in the list of pairs; line ends as a browser reads them."""
    views = ",\n".join(f"main:has(#pair-{k}:checked) .view-{k}" for k in range(MOST))
    text = files("fugu.report").joinpath("sheet.css").read_text("utf-8").replace("\r\n", "\n")
    parts = {"VIEWS": f"{views} {{ display: block; }}", "PALETTE": palette(), "CHARTS": chart_rules()}
    for name, part in parts.items():
        text = text.replace(name, part)
    return text


@cache
def policy() -> str:
    """The content policy of every page: the style sheet, and nothing else."""
    digest = base64.b64encode(hashlib.sha256(sheet().encode()).digest()).decode()
    return f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"


def whole_page(title: str, *main: Inside) -> str:
    """A self-contained page. `main` is what stands under `<main>`, with one h1; halves of surrogate pairs, which are
    not text, become question marks."""
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=Html(policy())),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="referrer", content="no-referrer"),
        tag("title", clean(title, 200)),
        tag("style", Html(sheet())),
    )
    body = tag("body", tag("main", "\n", *main, "\n"))
    return joined(Html("<!DOCTYPE html>\n"), tag("html", head, "\n", body, lang="en"), "\n")


def section(name: str, title: str, *inside: Inside) -> Html:
    """A section of the page with a heading that names it."""
    return joined("\n", tag("section", tag("h2", title, id=name), "\n", *inside, aria_labelledby=name))


def table(caption: str, head: Sequence[str], *body: Inside) -> Html:
    """A table with a caption and named columns; `body`: what `row` makes, in `tbody`. A table that is wider than the
    screen scrolls by itself."""
    columns = tag("tr", [tag("th", name, scope="col") for name in head])
    inside = tag("table", tag("caption", caption), tag("thead", columns), "\n", *body)
    return joined("\n", tag("div", inside, class_="scroll", tabindex=0, role="region", aria_label=caption))


def stacked(caption: str, head: Sequence[str], *body: Inside) -> Html:
    """The same, where phones show each line as a card; its cells must come from `row` with `head`."""
    columns = tag("tr", [tag("th", name, scope="col") for name in head])
    return joined("\n", tag("table", tag("caption", caption), tag("thead", columns), "\n", *body, class_="stack"))


def row(name: Inside, *cells: Inside, head: Sequence[str] = (), look: str | None = None) -> Html:
    """A line of a table: its name, then its cells; with `head`, each says which column it is of."""
    names = head[1:] or (None,) * len(cells)
    found = [tag("td", cell, data_name=column) for cell, column in zip(cells, names, strict=True)]
    return tag("tr", tag("th", name, scope="row"), "\n", found, class_=look)


def note(look: str, title: str, *inside: Inside) -> Html:
    """A box: "loud" for what must not be overlooked, "aside" for what stands beside the promise."""
    return joined("\n", tag("div", tag("b", title), *inside, class_=look, role="note"))


def listed(items: list[Inside]) -> Html:
    """A list."""
    return tag("ul", [tag("li", item) for item in items])


def defined(*pairs: tuple[str, Inside]) -> Html:
    """Terms, each with what is said of it; those of which nothing is said are left out."""
    return tag("dl", [(tag("dt", term), tag("dd", said), "\n") for term, said in pairs if said not in ("", None)])
