"""`Figure`: a drawing that stands alone, with its title on it, in a notebook or in a file."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import final

from fugu.drawing.charts.show import WIDE, Drawing
from fugu.drawing.charts.widths import SIZE, wrapped
from fugu.drawing.html import Html, joined, tag
from fugu.drawing.style import alone
from fugu.files import write_text

_SCOPE = "fugu-figure"
_TITLE = 1.5 * SIZE


@final
@dataclass(frozen=True, eq=False, repr=False)
class Figure:
    """A figure in plain SVG: notebooks show it, `save` writes it. Nothing runs, and nothing is loaded.

    `drawing`: what is drawn. `title` and `about` say what is seen, in words; both are part of the picture."""

    drawing: Drawing

    @property
    def title(self) -> str:
        """What the figure shows, in a line."""
        return self.drawing.title

    @property
    def about(self) -> str:
        """What is seen on it, for those who do not see it."""
        return self.drawing.about

    @property
    def svg(self) -> str:
        """The figure as an SVG document."""
        inside, height = self.drawing.draw(WIDE)
        lines = wrapped(self.title, WIDE - 12, bold=True)
        top = _TITLE * len(lines) + 8
        heading = [tag("text", line, class_="heading", x=6, y=_TITLE * (n + 1)) for n, line in enumerate(lines)]
        told = tag("title", self.title), tag("desc", self.about), tag("style", Html(alone(_SCOPE)))
        box = f"0 0 {WIDE:.0f} {height + top:.0f}"
        moved = tag("g", inside, transform=f"translate(0 {top:.1f})")
        drawn = tag("g", heading, moved, class_="chart")
        return tag("svg", *told, drawn, xmlns="http://www.w3.org/2000/svg", class_=_SCOPE, viewBox=box, role="img",
                   aria_label=f"{self.title}. {self.about}")  # fmt: skip

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the figure to `path`, an SVG file."""
        write_text(path, self.svg + "\n")

    def _repr_html_(self) -> str:
        return joined(tag("figure", Html(self.svg), style="margin: .5rem 0"))

    def __repr__(self) -> str:
        return f"Figure({self.title!r})"
