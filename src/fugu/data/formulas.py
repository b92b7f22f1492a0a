"""Texts in a CSV file that a spreadsheet would run as formulas; fugu writes them as they are, and says so."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_STARTS = ("=", "+", "-", "@", "\t", "\r")


def formula_columns(columns: Mapping[str, Any]) -> tuple[str, ...]:
    """The columns whose name, or one of whose texts, begins as formulas do; numbers, also negative ones, are none.

    >>> formula_columns({"ward": ["=1+1", "b"], "change": [-1.5, 2.0], "shift": ["-1", "+2e3"]})
    ('ward',)
    """
    return tuple(name for name, cells in columns.items() if any(map(_runs, (name, *_texts(cells)))))


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
