"""Rows of a table as sequences: one a user, in order of time."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Hashable, Mapping
from datetime import datetime
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data.column import Column
from fugu.data.files import read_table
from fugu.data.frame import Table
from fugu.errors import BadTable, MissingValues, UsageError

Sequences = dict[Hashable, list[Any]]


def read_sequences(table: object, by: str, order: str, state: str) -> Sequences:
    """{user: [state, ...]} from rows in any order: a file, a frame, or a dict of columns.

    Times are numbers, or texts in ISO 8601 ("2024-11-05", "2024-11-05T08:30"): any other text sorts by its letters,
    not by time, and is refused. So are two rows of one user at one time, whose order nobody knows, and missing cells.

    >>> rows = {"user": ["u", "v", "u"], "day": [10, 1, 9], "place": ["work", "home", "gym"]}
    >>> read_sequences(rows, by="user", order="day", state="place")
    {'u': ['gym', 'work'], 'v': ['home']}
    """
    if len({by, order, state}) < 3:
        raise UsageError("the user, the time and the state must be three different columns")
    whole = read_table(table) if isinstance(table, str | os.PathLike) else Table(table)
    found = whole.select((by, order, state))
    columns = [found.exact(name) for name in (by, order, state)]
    if len(found) == 0:
        raise BadTable("the table has no rows; sequences need at least one")
    for column in columns:
        if column.missing.any():
            raise MissingValues(
                f"column {column.name!r} has missing cells; remove these rows, or fill the cells in (a state of its "
                "own, such as 'unknown', for a missing state)"
            )
        column.require_exact()
    codes, users = columns[0].codes(ordered=False)
    times = ranks(columns[1])
    place = np.lexsort((times, codes))
    same = (np.diff(codes[place]) == 0) & (np.diff(times[place]) == 0)
    if same.any():
        raise BadTable(
            f"column {order!r} repeats a time within a user of column {by!r}, so the order of the entries is unknown; "
            "keep one row for each time, or give finer times"
        )
    ends = np.cumsum(np.bincount(codes, minlength=len(users)))[:-1]
    parts = np.split(columns[2].values[place], ends)
    return {user: part.tolist() for user, part in zip(users.tolist(), parts, strict=True)}


def sequences_digest(sequences: Mapping[Hashable, list[Any]]) -> str:
    """SHA-256 of the users with their sequences; the order of users, and of the rows they came from, does not matter.

    >>> sequences_digest({"u": [1, 2], "v": [3]}) == sequences_digest({"v": [3.0], "u": [1, 2]})
    True
    """
    told = [[_told(user), [_told(entry) for entry in entries]] for user, entries in sequences.items()]
    listed = sorted(told, key=str)
    return hashlib.sha256(json.dumps(listed).encode()).hexdigest()


def _told(cell: Any) -> str:
    return f"t{cell}" if isinstance(cell, str) else f"n{float(cell).hex()}" if abs(cell) <= 2**53 else f"n{cell}"


def ranks(column: Column) -> NDArray[Any]:
    """Whole numbers in the order of the times."""
    if column.numeric:
        return np.asarray(np.unique(column.values, return_inverse=True)[1])
    texts = column.values.tolist()
    try:
        when = {text: datetime.fromisoformat(text) for text in set(texts)}
        rank = {time: i for i, time in enumerate(sorted(set(when.values())))}
    except (ValueError, TypeError):
        raise BadTable(
            f"column {column.name!r} must hold numbers, or times in ISO 8601 such as 2024-11-05T08:30, all with or all "
            "without a time zone; other text has no order in time"
        ) from None
    return np.array([rank[when[text]] for text in texts], dtype=np.int64)
