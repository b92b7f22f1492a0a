"""`Heat`: a table of numbers as colours, one for positive numbers and one for negative ones, none at 0."""

from __future__ import annotations

from dataclasses import dataclass

from fugu.drawing.charts.chart import LEADING
from fugu.drawing.charts.widths import SIZE, width_of, wrapped
from fugu.drawing.html import Html, joined, tag
from fugu.drawing.text import number

_SIDE = 6.0
_MOST_CELL = 44.0


@dataclass(frozen=True)
class Heat:
    """Rows and columns of the same names, unless `columns` names them; columns are marked by their numbers.

    `samples`: what positive and negative numbers mean, after the largest of them."""

    name: str
    title: str
    about: str
    names: tuple[str, ...]
    cells: tuple[tuple[float, ...], ...]
    columns: tuple[str, ...] = ()
    samples: tuple[str, str] = ("moved the same way", "moved opposite ways")

    @property
    def most(self) -> float:
        """The largest size of a number."""
        return max((abs(x) for row in self.cells for x in row), default=0.0) or 1.0

    def draw(self, width: float, pointed: bool = True) -> tuple[Html, float]:
        """The drawing at this width, and its height; with many rows, only some are marked."""
        labels = [f"{n + 1}. {name}" if name != str(n + 1) else name for n, name in enumerate(self.names)]
        side = max(map(width_of, labels))
        if side > 0.45 * width:
            labels = [str(n + 1) for n in range(len(labels))]
            side = max(map(width_of, labels))
        left = _SIDE + side + 8
        across = len(self.columns or labels)
        cell = min(_MOST_CELL, (width - left - _SIDE) / across)
        legend, y = self._legend(width)
        every = max(1, -int(-1.5 * SIZE // cell))
        apart = max(every, -int(-(width_of(str(across)) + 8) // cell))
        parts = [legend]
        for n in range(0, across, apart):
            at = left + cell * (n + 0.5)
            parts.append(tag("text", str(n + 1), x=at, y=y + SIZE, text_anchor="middle"))
        y += LEADING
        for n, (label, row) in enumerate(zip(labels, self.cells, strict=True)):
            if n % every == 0:
                middle = y + cell / 2 + SIZE * 0.36
                parts.append(tag("text", label, x=left - 8, y=middle, text_anchor="end"))
            parts += [self._cell(n, m, x, left + cell * m, y, cell, pointed) for m, x in enumerate(row)]
            y += cell
        return joined(parts), y + 8

    def _cell(self, n: int, m: int, x: float, left: float, top: float, cell: float, pointed: bool) -> Html:
        sign = "−" if x < 0 else ""
        other = f"to {self.columns[m]}" if self.columns else f"and {self.names[m]}"
        said = f"{self.names[n]} {other}: {sign}{number(abs(x), digits=4)}"
        told = tag("title", said) if pointed else None
        look, strength = "heat b" if x < 0 else "heat a", abs(x) / self.most
        size = {"width": cell - 1, "height": cell - 1, "fill_opacity": strength}
        return tag("rect", told, class_=look, x=left, y=top, **size)

    def _legend(self, width: float) -> tuple[Html, float]:
        """Two samples at full strength, with the number they stand for."""
        y, parts = SIZE, []
        most = number(self.most)
        samples = [("a", f"+{most}: {self.samples[0]}"), ("b", f"−{most}: {self.samples[1]}")]
        for look, said in samples if any(x < 0 for row in self.cells for x in row) else samples[:1]:
            parts.append(tag("rect", class_=f"heat {look}", x=_SIDE + 4, y=y - 10.5, width=14, height=12))
            for line in wrapped(said, width - 40):
                parts.append(tag("text", line, x=_SIDE + 29, y=y))
                y += LEADING + 2
        return tag("g", *parts, class_="legend"), y - SIZE + 6
