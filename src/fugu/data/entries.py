"""What each cell of a state column becomes as an entry: a function of that cell and of the schema alone."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fugu.data.cells import number_of
from fugu.data.column import Column
from fugu.data.cuts import bin_of
from fugu.data.field import Field
from fugu.data.frame import Table
from fugu.data.layout import Layout
from fugu.data.raw import Raw
from fugu.data.schema import Schema
from fugu.errors import UsageError

EXACT = 2.0**53
"""Whole numbers up to here are doubles."""


def entries_of(known: Field, column: Column, layout: Layout) -> list[Any]:
    """Each state as a text or a number, 2 and 2.0 as one, or as a bin; a missing one as what the schema declares it to
    be, or None.

    This is a function of each cell alone."""
    cells, instead = column.values.tolist(), missing_state(known, layout)
    if known.numeric:
        cells = [_number(x, layout) for x in cells]
    return [instead if gone else cell for cell, gone in zip(cells, column.missing.tolist(), strict=True)]


def missing_state(known: Field, layout: Layout) -> Any:
    """What the schema declares a missing state to be, as an entry; None if it does not."""
    return known.missing if known.missing is None or not known.numeric else _number(float(known.missing), layout)


def _number(x: float, layout: Layout) -> Any:
    if layout.cuts:
        return bin_of(x, layout.cuts, layout.labels)
    return int(x) if x.is_integer() and abs(x) <= EXACT else x


def state_between(known: Field, layout: Layout, state: str) -> Any:
    """The state where no interval is: itself, or a number among numbers."""
    if layout.between is None or not known.numeric or layout.cuts:
        return layout.between
    number = number_of(layout.between)
    if not np.isfinite(number):
        raise UsageError(f"--between: column {state!r} holds numbers, so the state between intervals must be one")
    return _number(number, layout)


def joined(table: Table, layout: Layout) -> Raw:
    """All cells of the columns of a public wide table, one under the other."""
    raws = [table.raw(name) for name in layout.columns]
    return Raw.of("", [cell for raw in raws for cell in raw.to_list()])


def spread(schema: Schema, state: str) -> Schema:
    """With what is known of the state said of each column of a wide table."""
    if not schema.sequence.wide:
        return schema
    each = dict.fromkeys(schema.sequence.columns, schema.fields[state])
    return replace(schema, columns={**schema.fields, **each}, header=schema.dialect.names or True)


def flat(columns: list[list[Any]]) -> list[Any]:
    """Images row by row."""
    return columns[0] if len(columns) == 1 else [image for row in zip(*columns, strict=True) for image in row]
