"""`release_column`: from a private table to a published column, through the query the mechanism was made for."""

from __future__ import annotations

from fugu.data import Table
from fugu.errors import MissingValues, UsageError
from fugu.mechanism import Mechanism, Release
from fugu.scenario.query import Query
from fugu.scenario.units import require_one_row_each


def release_column(mechanism: Mechanism, table: Table, *, allow_no_noise: bool = False) -> Release:
    """Apply the mechanism's query to its column of `table` and release it, once.

    Only the published column and the unit's column are looked at. What is said about the private table when
    something is wrong is that it is wrong: no value, no row, no count."""
    stored = mechanism.context.query
    if stored is None:
        raise UsageError(
            "this mechanism was made for bare laws; apply your own query and call mechanism.release(values)"
        )
    query = Query.from_json(stored)
    require_one_row_each(table, mechanism.context.person)
    try:
        column = query.apply(table.exact(query.publish), strict=False)
    except MissingValues:
        raise MissingValues(
            f"column {query.publish!r} of the table to release has missing values, and missing='error' was chosen; use "
            "missing=<value> to map them as part of the query, or missing='drop' if it is public which are missing"
        ) from None
    return mechanism.release(column, allow_no_noise=allow_no_noise)
