"""The public groups of a query: which rows of the private table and of the reference belong to each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.data import Table
from fugu.data.categories import Categories
from fugu.data.private import Private, label_of
from fugu.errors import BadTable, UsageError

MOST_GROUPS = 100_000
ANY = "(any group)"
"""Stands for the groups of a column of which nothing is public before the table is opened."""
Rows = NDArray[np.int64]
"""The numbers of rows, in order."""


@dataclass(frozen=True, eq=False)
class Group:
    """A group's rows in the private table and in the reference; None if the reference cannot tell its groups."""

    rows: Rows
    known: Rows | None


def find_groups(reference: Table, private: Private, by: str | None) -> dict[str, Group]:
    """The groups of the private table, which are public, each with the rows of the reference that belong to it."""
    if len(private) == 0:
        raise BadTable("the table has no rows")
    if by is None:
        return {"": Group(np.arange(len(private)), None)}
    codes, names = private.public(by).codes(strict=False)
    if len(names) > MOST_GROUPS:
        raise UsageError(f"column {by!r} makes {len(names)} groups; at most {MOST_GROUPS} are released at once")
    labels = [label_of(name) for name in names.tolist()]
    rows = rows_of(codes, len(labels))
    found: dict[str, Group] = {}
    for k, (label, known) in enumerate(known_groups(reference, by, labels)):
        own = rows[k] if label not in found else np.union1d(found[label].rows, rows[k])
        found[label] = Group(own, known)
    return found


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


def known_groups(reference: Table, by: str, labels: Sequence[str]) -> list[tuple[str, Rows | None]]:
    """Each group under the name it has in the reference, and its rows there; None if the reference has no groups."""
    if by not in reference.columns:
        return [(label, None) for label in labels]
    codes, names = reference.exact(by).codes(strict=False)
    known = [label_of(name) for name in names.tolist()]
    rows = rows_of(codes, len(known))
    there = Categories(known).places(list(labels)).tolist()
    nowhere = np.zeros(0, dtype=np.int64)
    return [  # "1.0" and "1" are one group
        (own, nowhere) if place < 0 else (known[place], rows[place]) for own, place in zip(labels, there, strict=True)
    ]


def rows_of(codes: NDArray[np.int64], count: int) -> list[Rows]:
    """The rows with each of the codes 0 ... count - 1, by sorting them once."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(count + 1))
    return [order[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]
