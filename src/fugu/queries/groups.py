"""The public groups of a query: their rows in the table and in the reference, and that they tell no secret."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Table
from fugu.data.private import label_of
from fugu.data.secrets import Secrets
from fugu.errors import UsageError

ANY = "(any group)"
"""Stands for the groups of a column of which nothing is public before the table is opened."""
Rows = NDArray[np.int64]
"""The numbers of rows, in order."""


def expected_groups(known: Mapping[str, int], declared: Iterable[str], rows: int) -> dict[str, int]:
    """The groups to expect in a table of so many rows, and their sizes: an estimate, from public facts only.

    `known`: the groups of the reference and their numbers of rows, whose shares are taken; `declared`: those that a
    schema names. A group has at least one row; of a column that neither knows there is one group, `ANY`.

    >>> expected_groups({"a": 30, "b": 10}, ["a", "c"], 100)
    {'a': 75, 'b': 25, 'c': 1}
    """
    ends = np.rint(np.cumsum([*known.values()], dtype=np.float64) * (rows / max(sum(known.values()), 1)))
    sizes = dict(zip(known, np.diff(ends, prepend=0).astype(np.int64).tolist(), strict=True))
    more = [name for name in declared if name not in sizes]
    share = 1 if sizes or not more else rows // len(more)
    found = {name: max(size, 1) for name, size in (sizes | dict.fromkeys(more, share)).items()}
    return found or {ANY: rows}


def rows_of(codes: NDArray[np.int64], count: int) -> list[Rows]:
    """The rows with each of the codes 0 ... count - 1, by sorting them once."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(count + 1))
    return [order[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


def same_rows(one: Sequence[Column], two: Sequence[Column]) -> bool:
    """Whether two tables hold the same rows, in any order, as far as these columns of them show."""
    if len(one[0]) != len(two[0]):
        return False
    first, second = (Counter(zip(*map(_labels, columns), strict=True)) for columns in (one, two))
    return first == second


def _labels(column: Column) -> list[str | None]:
    return [None if gone else label_of(cell) for cell, gone in zip(column.values, column.missing, strict=True)]


# Groups are public, so a column that makes them must not tell the secret.


def require_public_groups(by: str | None, secrets: Secrets, reference: Table) -> None:
    """Refuse to group by what the secret is worked out from, or by a column that determines it in the reference.

    secrets.columns are those that the conditions looked at, functions included. A column determines the secret if no
    group of the reference with at least two rows that hold a secret holds two different ones, and there is such a
    group: a recoding of the secret, or a finer one. Groups of one row show nothing either way."""
    if by is None:
        return
    if by in secrets.columns:
        raise UsageError(
            f"column {by!r} groups the rows, which makes it public, and the secret is worked out from it; group by "
            "another"
        )
    if by in reference.columns and _determines(by, secrets, reference):
        raise UsageError(
            f"column {by!r} groups the rows, which makes it public, and in the reference it determines the secret: no "
            "group holds two different ones. Group by another column, or by a coarser one"
        )


def _determines(by: str, secrets: Secrets, reference: Table) -> bool:
    groups, names = reference.exact(by).codes(ordered=False)
    used = (groups >= 0) & (secrets.covered() > 0)
    if not used.any():
        return False
    kinds = np.unique(np.stack(secrets.layers, axis=1)[used], axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.bincount(groups[used], minlength=len(names))
    cells = np.unique(np.stack([groups[used], kinds], axis=1), axis=0)
    different = np.bincount(cells[:, 0], minlength=len(names))
    several = rows >= 2
    return bool(several.any() and np.all(different[several] == 1) and len(np.unique(kinds)) > 1)
