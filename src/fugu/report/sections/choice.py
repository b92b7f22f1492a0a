"""How the noise was chosen: every method that was tried, or why it has nothing to offer."""

from __future__ import annotations

import math
from collections.abc import Sequence

from fugu.drawing import text
from fugu.drawing.charts import figure
from fugu.drawing.html import Html, joined, tag
from fugu.report import words
from fugu.report.method_bars import methods_figure
from fugu.report.methods import Line
from fugu.report.sections.story import Story
from fugu.report.shell import row, section, stacked

USED = "used here"


def choice(story: Story) -> Html | None:
    """The methods side by side, as a table and as bars; nothing where none is known."""
    if not story.lines:
        return None
    f = story.f
    shown = methods_table(story.lines, story.comparison is not None, bool(f.covariances), f.delta > 0)
    return section("methods-title", "How the noise was chosen", tag("p", words.choosing(story.lines)), shown,
                   methods_bars(story.lines, f.query))  # fmt: skip


def methods_table(
    lines: Sequence[Line], compared: bool, correlated: bool = False, slips: bool = False, mark: str = USED
) -> Html:
    """One row per method with what it does in words, or why it is refused; the one used is marked.

    `lines`: the methods. `compared`: whether they were proved side by side, so that each has an epsilon it reaches.
    `correlated`: whether scales are root mean square sizes. `slips`: whether the promise has a remainder delta.
    `mark`: what is said of the one used."""
    reaches = ["ε it reaches" + (" without δ" if slips else "")] if compared else []
    head = ["method", "noise", "root mean square size" if correlated else "scale", "average error", *reaches, "proved"]
    bodies = [_method(line, head, compared, mark) for line in lines]
    return stacked("Methods, from the crudest to the exact one", head, bodies)


def _method(line: Line, head: Sequence[str], compared: bool, mark: str) -> Html:
    refused = math.isinf(line.scale)
    scale = "none" if refused or math.isnan(line.scale) else text.number(line.scale, "up", 4)
    error = "none" if refused else "not here" if line.error is None else text.number(line.error, digits=4)
    reached = [] if not compared else ["none" if line.epsilon is None else text.number(line.epsilon, "up", 4)]
    proved = {True: "yes", False: "no", None: "not here"}[line.proved]
    cells = [line.noise, scale, error, *reached, proved]
    name = f"{line.method} ★ {mark}" if line.used else line.method
    why = words.METHODS.get(line.method, "") + (f" ({words.noted(line.note)})" if line.note else "")
    told = tag("tr", tag("td", why, colspan=len(head)), class_="why")
    look = "used" if line.used else None
    return joined(tag("tbody", row(name, *cells, head=head, look="what"), told, class_=look), "\n")


def methods_bars(lines: Sequence[Line], query: str, mark: str = USED) -> Html | None:
    """The figure, with its caption; nothing if no method adds noise."""
    bars = methods_figure(lines, query, mark)
    if bars is None:
        return None
    without = "; methods that add no noise have no bar" if any(line.error == 0 for line in lines) else ""
    return figure(
        bars,
        f"Average error (bars) and scale of the noise (diamonds) by method, in the units of {text.quoted(query)}, on "
        f"an axis on which each step to the right is a multiple. ★: {mark}{without}.",
    )
