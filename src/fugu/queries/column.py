"""`release_column`: from a private table to a published column, through the query the mechanism was made for."""

from __future__ import annotations

from dataclasses import replace

from fugu.data.kinds import Kind
from fugu.data.private import Private, open_private
from fugu.data.schema import Schema
from fugu.data.sources import TableLike
from fugu.errors import UsageError
from fugu.mechanism import Mechanism, Release
from fugu.scenario.query import Query
from fugu.scenario.units import require_one_row_each


def release_column(mechanism: Mechanism, table: TableLike, *, allow_no_noise: bool = False) -> Release:
    """Apply the mechanism's schema and query to its column of `table` (a path, a frame, a dict) and release it, once.

    `mechanism`: one calibrated for a scenario from a table; `table`: the private table: a path, a dict of columns, or a
    frame; `allow_no_noise`: True to publish exact values where the beliefs alone meet the budget.

    Returns a `Release`, whose `to_frame` gives a frame of the kind of `table`. Raises `AlreadyReleased`,
    `NoiselessRelease`, `PriorNotPublic`; `UsageError` for a mechanism that was made for bare laws; `BadTable` for a
    table without the column.

    Only the published column and the unit's column are looked at. No cell of the published column is refused; a unit
    that is missing or repeats is, since it is declared public, without saying where or how often."""
    if not isinstance(mechanism, Mechanism):
        raise UsageError(
            f"release_column takes a mechanism from calibrate, then the table: got {type(mechanism).__name__} first"
        )
    private, came = open_column(mechanism, table), Kind.of(table)
    return replace(release_private(mechanism, private, allow_no_noise=allow_no_noise), came=came)


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
