"""`figure`: a drawing on a page, once for wide screens and paper and once for phones; the style sheet shows one."""

from __future__ import annotations

from typing import Protocol

from fugu.drawing.html import Html, Inside, tag

WIDE, NARROW = 760.0, 340.0
"""Widths in the units of a drawing: about pixels on a screen of the middle size, and on a phone."""


class Drawing(Protocol):
    """What can be drawn at any width."""

    @property
    def name(self) -> str:
        """A name of its own on the page."""

    @property
    def title(self) -> str:
        """What it is, in a line."""

    @property
    def about(self) -> str:
        """What is seen on it, for those who do not see it."""

    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:
        """The marks, and the height they need."""


def figure(drawing: Drawing, *caption: Inside) -> Html:
    """The figure with its caption. Both drawings carry the same title and description as alternative text."""
    return tag("figure", _svg(drawing, WIDE, "wide"), _svg(drawing, NARROW, "narrow"), tag("figcaption", *caption))


def _svg(drawing: Drawing, width: float, which: str) -> Html:
    inside, height = drawing.draw(width, pointed=width == WIDE)
    names = [f"{drawing.name}-{which}-{part}" for part in ("title", "about")]
    told = tag("title", drawing.title, id=names[0]), tag("desc", drawing.about, id=names[1])
    return tag("svg", *told, inside, class_=f"chart {which}", viewBox=f"0 0 {width:.0f} {height:.0f}", role="img",
               aria_labelledby=names[0], aria_describedby=names[1])  # fmt: skip
