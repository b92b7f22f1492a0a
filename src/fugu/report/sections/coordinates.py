"""The noise of vectors, coordinate by coordinate, and how the coordinates hang together."""

from __future__ import annotations

from collections.abc import Sequence

from fugu.drawing import text
from fugu.drawing.charts import figure
from fugu.drawing.html import Html, joined, tag
from fugu.report import captions, words
from fugu.report.amount import Coordinate
from fugu.report.facts import Facts
from fugu.report.figures import covariance_figure
from fugu.report.sections.story import Story
from fugu.report.shell import row, section, stacked, table

_LISTED, _TABLED = 100, 8
"""Coordinates that are listed, and up to which a covariance is a table of numbers."""


def coordinates(story: Story) -> Html | None:
    """A table for every noise that may run, and of correlated noise its covariance; nothing for single numbers."""
    f = story.f
    if f.dimension == 1:
        return None
    parts = [_listed(f, listed, n) for n, listed in enumerate(f.coordinates)]
    parts += [_covariance(f, rows, n) for n, rows in enumerate(f.covariances) if len(rows) <= _TABLED]
    if heat := covariance_figure(f, [line.name for line in f.coordinates[0]]):
        which = ", of the first of the noises" if f.mixed else ""
        parts.append(figure(heat, f"Covariance of the noise between coordinates{which}: {captions.HEAT}"))
    title = "The noise, coordinate by coordinate"
    return section("coordinates-title", title, tag("p", words.together(f)), parts)


def _listed(f: Facts, listed: Sequence[Coordinate], n: int) -> Html:
    which = f", noise {n + 1} of {len(f.coordinates)}, one of which is chosen by a coin" if f.mixed else ""
    scale = "standard deviation" if f.covariances else "scale"
    head = ["coordinate", scale, "average error", f"{text.percent(0.95)} of its errors are within"]
    rows = [
        row(text.clean(line.name), text.number(line.scale, digits=4), text.number(line.error, digits=4),
            f"± {text.number(line.half, 'up', 4)}", head=head)
        for line in listed[:_LISTED]
    ]  # fmt: skip
    more = len(listed) > _LISTED
    rest = tag("p", tag("small", f"The first {_LISTED} of {len(listed):,} coordinates.")) if more else None
    return joined(stacked(f"Noise of each coordinate{which}", head, tag("tbody", rows)), rest)


def _covariance(f: Facts, rows: Sequence[Sequence[float]], n: int) -> Html:
    names = [text.clean(line.name, 20) for line in f.coordinates[0]]
    caption = f"Covariance of the noise{f' {n + 1}' if f.mixed else ''}, in squared units of the value"
    cells = [[f"{'−' if x < 0 else ''}{text.number(abs(x), digits=4)}" for x in values] for values in rows]
    lines = [row(name, *values) for name, values in zip(names, cells, strict=True)]
    return table(caption, ["coordinate", *names], tag("tbody", lines))
