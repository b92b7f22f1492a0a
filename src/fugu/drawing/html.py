"""`Html` and `tag`: markup that is built, never pasted. What is not markup already becomes text that cannot act.

Every text passes `visible` first: names from tables and certificates can hide nothing, turn no direction of writing
around and end no element."""

from __future__ import annotations

import html
from collections.abc import Iterable

from fugu.visible import visible


class Html(str):
    """Markup of fugu's own, in which every text from outside is escaped already."""

    __slots__ = ()


Inside = str | int | float | None | Iterable["Inside"]
"""What can stand in an element: text, markup, nothing, or several of these."""
_VOID = {"meta", "input", "br", "col"}
"""Elements of HTML that have no end."""


def escaped(text: object) -> Html:
    """A text as markup that shows exactly it; markup as it is.

    >>> escaped("<b>A&B</b>"), escaped(Html("<b>x</b>"))
    ('&lt;b&gt;A&amp;B&lt;/b&gt;', '<b>x</b>')
    """
    return text if isinstance(text, Html) else Html(html.escape(visible(text, keep="\n")))


def joined(*parts: Inside) -> Html:
    """Parts one after another; None is nothing.

    >>> joined("a<", None, [1, Html("<br>")])
    'a&lt;1<br>'
    """
    return Html("".join(_flat(parts)))


def _flat(parts: Iterable[Inside]) -> Iterable[str]:
    for part in parts:
        if part is None:
            continue
        if isinstance(part, str | int | float):
            yield escaped(part)
        else:
            yield from _flat(part)


def tag(element: str, /, *inside: Inside, **attributes: str | int | float | bool | None) -> Html:
    """One element. Attributes: a last `_` is dropped, others become `-`; None and False are left out, True has no
    value; numbers are written with at most two decimals.

    >>> tag("p", "a < b", class_="lead", aria_label='"')
    '<p class="lead" aria-label="&quot;">a &lt; b</p>'
    >>> tag("input", type="radio", checked=True, disabled=False)
    '<input type="radio" checked>'
    """
    written = "".join(_attribute(name, value) for name, value in attributes.items())
    start = f"<{element}{written}>"
    return Html(start if element in _VOID else f"{start}{joined(*inside)}</{element}>")


def _attribute(name: str, value: str | int | float | bool | None) -> str:
    name = name.removesuffix("_").replace("_", "-")
    if value is None or value is False:
        return ""
    if value is True:
        return f" {name}"
    return f' {name}="{short(value) if isinstance(value, int | float) else escaped(value)}"'


def short(x: float) -> str:
    """A number of a drawing: at most two decimals.

    >>> short(1.0), short(-0.001), short(12.345)
    ('1', '0', '12.35')
    """
    text = f"{x:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text
