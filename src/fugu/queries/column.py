"""From a private table to a published column, through the query the mechanism was made for."""

from __future__ import annotations

from fugu.data.private import Private, open_private
from fugu.data.schema import Schema
from fugu.data.sources import TableLike
from fugu.errors import UsageError
from fugu.mechanism import Mechanism, Release
from fugu.scenario.query import Query
from fugu.scenario.units import require_one_row_each


def open_column(mechanism: Mechanism, table: TableLike) -> Private:
    """The private table, opened for this mechanism and checked for what is public: its columns and its unit."""
    stored, schema = mechanism.context.query, mechanism.context.schema
    if stored is None or schema is None:
        raise UsageError(
            "this mechanism was made for bare laws; apply your own query and call mechanism.release(values)"
        )
    unit = mechanism.context.person
    private = open_private(table, Schema.from_json(schema), [stored["publish"]], [] if unit is None else [unit])
    if unit is not None:
        require_one_row_each(private.table, unit)
    return private


def release_private(mechanism: Mechanism, private: Private, *, allow_no_noise: bool = False) -> Release:
    """Release the column of a table that `open_column` opened."""
    column = Query.from_json(mechanism.context.query or {}).of_private(private)
    return mechanism.release(column, allow_no_noise=allow_no_noise, already_mapped=True)
