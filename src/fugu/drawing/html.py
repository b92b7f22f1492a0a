"""`Html` and `tag`: markup that is built, never pasted; `Sheet`: what a result is, on a few lines, for a notebook."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, final

from markupsafe import Markup, escape

from fugu.numbers.text import clean
from fugu.visible import visible

Html = Markup
"""Markup of fugu's own, in which every text from outside is escaped already; what is pasted onto it is text."""
Inside = str | int | float | None | Iterable["Inside"]
"""What can stand in an element: text, markup, nothing, or several of these."""
_VOID = {"meta", "input", "br", "col"}
"""Elements of HTML that have no end."""


def escaped(text: object) -> Html:
    """A text as markup that shows exactly it; markup as it is. `visible` goes first: names from tables and certificates
    can hide nothing, turn no direction of writing around and end no element.

    >>> print(escaped("<b>A&B</b>"), escaped(Html("<b>x</b>")))
    &lt;b&gt;A&amp;B&lt;/b&gt; <b>x</b>
    """
    return escape(text if hasattr(text, "__html__") else visible(text, keep="\n"))


def joined(*parts: Inside) -> Html:
    """Parts one after another; None is nothing.

    >>> print(joined("a<", None, [1, Html("<br>")]))
    a&lt;1<br>
    """
    plain = (
        escaped(part) if isinstance(part, str | int | float) else joined(*part) for part in parts if part is not None
    )
    return Html("".join(plain))


def tag(element: str, /, *inside: Inside, **attributes: str | int | float | bool | None) -> Html:
    """One element. Attributes: a last `_` is dropped, others become `-`; None and False are left out, True has no
    value; numbers are written with at most two decimals.

    >>> print(tag("p", "a < b", class_="lead", aria_label='"'))
    <p class="lead" aria-label="&#34;">a &lt; b</p>
    >>> print(tag("input", type="radio", checked=True, disabled=False))
    <input type="radio" checked>
    """
    start = f"<{element}"
    for name, value in attributes.items():
        if value is None or value is False:
            continue
        start += f" {name.removesuffix('_').replace('_', '-')}"
        if value is not True:
            start += f'="{short(value) if isinstance(value, int | float) else escaped(value)}"'
    start += ">"
    return Html(start if element in _VOID else f"{start}{joined(*inside)}</{element}>")


def short(x: float) -> str:
    """A number of a drawing: at most two decimals.

    >>> short(1.0), short(-0.001), short(12.345)
    ('1', '0', '12.35')
    """
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


MOST = 30
"""Lines of a table that are shown; it says how many there are."""
_LONG = 200
_LEFT, _CELL = "text-align: left; padding: .15rem .7rem .15rem 0; vertical-align: top", "padding: .15rem .7rem .15rem 0"
_LOUD = "border-left: .25rem solid #8a2c00; padding-left: .6rem"
Cell = str | float | int | bool | None


@final
@dataclass(frozen=True)
class Sheet:
    """`title`: what it is. `facts`: (name, what is said of it). `head`, `rows`: a table. `notes`: remarks below.
    `warnings`: what must not be overlooked. `plot`: what draws the figure of the same thing, where it has one."""

    title: str
    facts: Sequence[tuple[str, Cell]] = ()
    head: Sequence[str] = ()
    rows: Sequence[Sequence[Cell]] = ()
    notes: Sequence[str] = ()
    warnings: Sequence[str] = ()
    plot: Callable[[], Any] | None = None

    def html(self) -> Html:
        """A block of HTML without scripts, links, or style for anything around it.

        >>> Sheet("Laws", [("secret", "<script>")]).html().count("<script>")
        0
        """
        parts = [tag("div", tag("b", clean(self.title, _LONG)))]
        parts += [tag("p", clean(text, 2 * _LONG), style=_LOUD) for text in self.warnings]
        if self.facts:
            lines = [tag("tr", tag("th", clean(name), scope="row", style=_LEFT), tag("td", shown(said), style=_LEFT))
                     for name, said in self.facts]  # fmt: skip
            parts.append(tag("table", tag("tbody", lines)))
        if self.head:
            columns = tag("tr", [tag("th", clean(name), scope="col", style=_LEFT) for name in self.head])
            rows = (
                [tag("td", shown(cell), style=_LEFT if isinstance(cell, str) else _CELL) for cell in line]
                for line in self.rows[:MOST]
            )
            parts.append(tag("table", tag("thead", columns), tag("tbody", [tag("tr", row) for row in rows])))
            if (more := len(self.rows) - MOST) > 0:
                parts.append(tag("p", tag("small", f"and {more} more; to_frame() or columns() has all")))
        parts += [tag("p", tag("small", clean(text, 2 * _LONG))) for text in self.notes]
        return joined(tag("div", "\n".join(["", ""]), parts, class_="fugu"))


def shown(cell: Cell) -> str:
    """A cell as text: numbers in six digits, truth values as words, nothing where nothing is known.

    >>> [shown(x) for x in (0.123456789, True, None, float("nan"), "a  b", 3)]
    ['0.123457', 'yes', '', '', 'a b', '3']
    """
    if cell is None or cell != cell:  # noqa: PLR0124 - NaN
        return ""
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    return clean(cell, _LONG) if isinstance(cell, str) else f"{cell:.6g}"
