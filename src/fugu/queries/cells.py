"""The cells of a histogram or a cross-tabulation: public labels, and the cell of every private row."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product

import numpy as np
from numpy.typing import NDArray

from fugu.data import Table
from fugu.data.cells import OTHER
from fugu.data.private import Private, label_of
from fugu.errors import BadTable, UsageError

_MOST = 10_000


def tabulate(
    reference: Table, private: Private, columns: tuple[str, ...], bins: Sequence[float] | None
) -> tuple[list[str], NDArray[np.int64]]:
    """Labels of all cells, also the empty ones, and each private row's cell.

    Categories are those of the schema, or the numbers of the reference, and whatever the private table holds besides
    goes to "(other)": which cells there are says nothing about the private table. Many numbers need edges."""
    labelled = [_cells(reference, private, column, bins if len(columns) == 1 else None) for column in columns]
    labels = [" / ".join(parts) for parts in product(*(names for names, _ in labelled))]
    if len(labels) > _MOST:
        raise UsageError(f"there would be {len(labels)} cells; at most {_MOST} are released at once")
    place = np.zeros(len(private), dtype=np.int64)
    for names, codes in labelled:
        place = place * len(names) + codes
    return labels, place


def _cells(
    reference: Table, private: Private, column: str, bins: Sequence[float] | None
) -> tuple[list[str], NDArray[np.int64]]:
    known = private.schema.fields[column]
    if bins is not None:
        return _binned(private, column, bins)
    if known.values is None:
        _, found = reference.exact(column).codes(strict=False)
        if known.numeric and len(found) > 50:
            raise UsageError(f"column {column!r} holds many different numbers; give bins (edges) for its histogram")
        labels = [label_of(value) for value in found.tolist()]
    else:
        labels = list(known.values)
    labels = [label for label in labels if label != OTHER]
    codes = private.places(column, labels)
    return [*labels, OTHER], np.where(codes < 0, len(labels), codes).astype(np.int64)


def _binned(private: Private, column: str, bins: Sequence[float]) -> tuple[list[str], NDArray[np.int64]]:
    if len(bins) < 2 or any(a >= b for a, b in pairwise(bins)):
        raise UsageError("bins must be at least two increasing edges")
    if not private.schema.fields[column].numeric:
        raise BadTable(f"column {column!r} holds text; bins of numbers do not fit it")
    codes = np.searchsorted(np.asarray(bins[1:-1], dtype=np.float64), private.numbers(column), "right")
    return [f"{a:g} to {b:g}" for a, b in pairwise(bins)], codes.astype(np.int64)
