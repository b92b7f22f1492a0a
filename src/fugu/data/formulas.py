"""Texts in a CSV file that a spreadsheet would run as formulas, or a terminal obey: fugu says so. The first are written
as they are; of the others, what cannot be seen is spelled out in the published file, as it is on the screen."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fugu.visible import visible

_STARTS = ("=", "+", "-", "@", "\t", "\r")


def formula_columns(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns whose name, or one of whose texts, begins as formulas do; numbers, also negative ones, are none.

    >>> formula_columns({"ward": ["=1+1", "b"], "change": [-1.5, 2.0], "shift": ["-1", "+2e3"]})
    ('ward',)
    """
    return tuple(name for name, cells in columns.items() if any(map(_runs, (name, *_texts(cells)))))


def hidden_columns(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns whose name, or one of whose texts, has characters that cannot be seen: of control or of direction.

    >>> hidden_columns({"ward": ["a\\x1b[31m", "b"], "n": [1.0, 2.0]})
    ('ward',)
    """
    named = ((name, {name, *_texts(cells)}) for name, cells in columns.items())
    return tuple(name for name, texts in named if any(visible(text) != text for text in texts))


def shown_columns(columns: Mapping[str, Any]) -> dict[str, Any]:
    """The columns as they are published: what cannot be seen in a name or a text is spelled out.

    >>> shown_columns({"ward": ["a\\x1b[31m", "b", None], "n": [1.0, 2.0, 3.0]})
    {'ward': ['a\\\\x1b[31m', 'b', None], 'n': [1.0, 2.0, 3.0]}
    """
    unseen = set(hidden_columns(columns))
    return {
        visible(name): [visible(cell) if isinstance(cell, str) else cell for cell in cells] if name in unseen else cells
        for name, cells in columns.items()
    }


def _texts(cells: Any) -> set[str]:
    kind = getattr(getattr(cells, "dtype", None), "kind", "O")
    return {cell for cell in cells if isinstance(cell, str)} if kind in "OUT" else set()


def _runs(text: str) -> bool:
    if not text.startswith(_STARTS):
        return False
    try:
        float(text)
    except ValueError:
        return True
    return False
