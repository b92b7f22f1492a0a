"""The cells of a histogram or a cross-tabulation: public labels, and the cell of every private row."""

from __future__ import annotations

from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Table
from fugu.errors import BadTable, MissingValues, UsageError

OTHER = "(other)"
_MOST = 10_000


def tabulate(
    reference: Table, private: Table, columns: tuple[str, ...], bins: list[float] | None
) -> tuple[list[str], NDArray[np.int64]]:
    """Labels of all cells, also the empty ones, and each private row's cell.

    Categories are those of the reference, and whatever the private table holds besides goes to "(other)": which cells
    there are says nothing about the private table. Numbers need edges."""
    labelled = [_cells(reference, private, column, bins if len(columns) == 1 else None) for column in columns]
    labels = [" / ".join(parts) for parts in product(*(names for names, _ in labelled))]
    if len(labels) > _MOST:
        raise UsageError(f"there would be {len(labels)} cells; at most {_MOST} are released at once")
    place = np.zeros(len(private), dtype=np.int64)
    for names, codes in labelled:
        place = place * len(names) + codes
    return labels, place


def _cells(
    reference: Table, private: Table, column: str, bins: list[float] | None
) -> tuple[list[str], NDArray[np.int64]]:
    found = private.exact(column)
    if found.missing.any():
        raise MissingValues(f"column {column!r} has missing values; fill them in first")
    if bins is not None:
        return _binned(found, column, bins)
    _, names = reference.exact(column).codes()
    if reference.exact(column).numeric and len(names) > 50:
        raise UsageError(f"column {column!r} holds many different numbers; give bins (edges) for its histogram")
    labels = [str(name) for name in names.tolist()]
    place = {label: k for k, label in enumerate(labels)}
    own, values = found.codes()
    moved = np.array([place.get(str(value), len(labels)) for value in values.tolist()], dtype=np.int64)
    return [*labels, OTHER], moved[own] if moved.size else np.zeros(len(private), dtype=np.int64)


def _binned(found: Column, column: str, bins: list[float]) -> tuple[list[str], NDArray[np.int64]]:
    if len(bins) < 2 or any(a >= b for a, b in pairwise(bins)):
        raise UsageError("bins must be at least two increasing edges")
    if not found.numeric:
        raise BadTable(f"column {column!r} holds text; bins of numbers do not fit it")
    codes = np.searchsorted(np.asarray(bins[1:-1], dtype=np.float64), found.floats(), "right")
    return [f"{a:g} to {b:g}" for a, b in pairwise(bins)], codes.astype(np.int64)
