"""The laws of one record, read off a public table: whole numbers for each secret, and for each public group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Table
from fugu.data.secrets import Secrets
from fugu.errors import BadTable
from fugu.laws.cells import Counts
from fugu.priors.record_laws import LEAST_ROWS, RecordLaw

EVERY = "every record"
_SPARSE = 4
_MOST_CELLS = 1 << 27
_EXACT = 2.0**52
_FEW = 1 << 16


def places(table: Table, columns: Sequence[str]) -> tuple[Counts, int]:
    """Which of the combinations of cells that occur each row has, and how many occur; a missing cell is a value.

    Their order is that of the cells, so that the order of the rows does not matter."""
    total, size = np.zeros(len(table), dtype=np.int64), 1
    for name in columns:
        codes, many = _coded(table.exact(name))
        total, size = _ranked(total * many + codes, size * many)
    return total, size


def _coded(column: Column) -> tuple[Counts, int]:
    """A whole number for each cell, 0 where missing, in the order of the cells, and a number above them all."""
    if column.numeric and len(column):
        values = column.values.astype(np.int64) if column.values.dtype == bool else column.values
        low, high = values.min(), values.max()
        if abs(float(low)) <= _EXACT and float(high) - float(low) <= _SPARSE * len(column):
            codes = (values - low).astype(np.int64) + 1
            if values.dtype.kind != "f" or np.array_equal(codes + (low - 1), values):
                codes[column.missing] = 0
                return codes, int(high) - int(low) + 2
    codes, distinct = column.codes(strict=False)
    return codes + 1, len(distinct) + 1


def labels(table: Table, columns: Sequence[str], which: Counts, size: int) -> list[str]:
    """Each combination in words."""
    first = np.empty(size, dtype=np.int64)
    first[which[::-1]] = np.arange(len(which))[::-1]
    parts = [_cells(table.exact(name), first) for name in columns]
    return [", ".join(f"{n}={v!r}" for n, v in zip(columns, cells, strict=True)) for cells in zip(*parts, strict=True)]


def pooled(secrets: Secrets, states: Counts, size: int) -> RecordLaw:
    """The law of every record, whatever its group."""
    return _law(EVERY, secrets.labels, list(secrets.layers), states, size)


def grouped(table: Table, by: Sequence[str], secrets: Secrets, states: Counts) -> Iterator[RecordLaw]:
    """The laws in each public group, on the states that occur there."""
    which, size = places(table, by)
    named = labels(table, by, which, size)
    order = np.argsort(which.astype(np.uint16) if size <= _FEW else which, kind="stable")  # by digits, if they are few
    for group, rows in enumerate(np.split(order, np.cumsum(np.bincount(which, minlength=size))[:-1])):
        own, here = _ranked(states[rows], int(states[rows].max()) + 1)
        yield _law(f"records with {named[group]}", secrets.labels, [layer[rows] for layer in secrets.layers], own, here)


def _law(who: str, secrets: Sequence[str], layers: Sequence[Counts], states: Counts, size: int) -> RecordLaw:
    """The numbers of rows by secret and state; plain where a secret has fewer rows than a law needs."""
    if len(secrets) * size > _MOST_CELLS:
        raise BadTable(
            f"{len(secrets)} secrets times {size} combinations of the columns are too many to count; use fewer "
            "columns, bins, or fewer secrets"
        )
    table = np.zeros(len(secrets) * size, dtype=np.int64)
    for layer in layers:
        held = layer >= 0
        table += np.bincount(layer[held] * size + states[held], minlength=len(table))
    rows = table.reshape(len(secrets), size)
    if rows.sum(axis=1).min() < LEAST_ROWS:
        return RecordLaw(who, {}, plain=True)
    return RecordLaw(who, dict(zip(secrets, rows, strict=True)))


def _ranked(codes: Counts, size: int) -> tuple[Counts, int]:
    """The same partition of the rows, numbered without gaps, in the same order."""
    if size > _SPARSE * len(codes) + 1024:
        distinct, found = np.unique(codes, return_inverse=True)
        return found.reshape(-1).astype(np.int64), len(distinct)
    present = np.zeros(size, dtype=bool)
    present[codes] = True
    return (np.cumsum(present) - 1)[codes], int(present.sum())


def _cells(column: Column, rows: NDArray[np.int64]) -> list[object]:
    """The cells of some rows as they are shown, None where missing."""
    shown = zip(column.values[rows].tolist(), column.missing[rows].tolist(), strict=True)
    return [None if gone else value for value, gone in shown]
