"""Values as they come to a release: one number, one column, or vectors, read cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.data.private import open_private
from fugu.data.schema import Schema
from fugu.data.sources import framed
from fugu.errors import BadLaw
from fugu.mechanism.context import Context
from fugu.numbers.checks import is_row
from fugu.scenario.query import Query

Floats = NDArray[np.float64]
_VALUE = "value"


def as_column(values: object, context: Context, centre: float, mapped: bool) -> Floats:
    """The numbers that noise is added to: each value through the schema and, unless it was `mapped` before, the query.

    A value that is missing or no number becomes what the schema says, or `centre` where there is none; NaN only where
    it is public which are missing."""
    if context.query is None or context.schema is None or mapped:
        known = Schema({_VALUE: {"kind": "number", "typical": centre}})
        return open_private({_VALUE: _cells(values)}, known, [_VALUE]).numbers(_VALUE, context.keeps_missing)
    asked = Query.from_json(context.query)
    private = open_private({asked.publish: _cells(values)}, Schema.from_json(context.schema), [asked.publish])
    return asked.of_private(private)


def as_rows(values: object, dimension: int, centre: Sequence[float]) -> tuple[Floats, bool]:
    """A table with one vector per row, and whether a single vector was given; a coordinate that is missing or no number
    becomes that of `centre`."""
    array = values if isinstance(values, np.ndarray) else np.array(_listed(values), dtype=object)
    if array.ndim not in (1, 2) or array.shape[-1] != dimension:
        raise BadLaw(f"release takes one vector of {dimension} numbers, or one per row, got shape {array.shape}")
    rows = np.atleast_2d(array)
    if len(set(centre)) == 1:  # one column will do: every coordinate is read alike
        known = Schema({_VALUE: {"kind": "number", "typical": float(centre[0])}})
        flat = open_private({_VALUE: rows.reshape(-1)}, known, [_VALUE]).numbers(_VALUE)
        return flat.reshape(rows.shape), array.ndim == 1
    names = [f"{_VALUE} {i + 1}" for i in range(dimension)]
    known = Schema({name: {"kind": "number", "typical": float(x)} for name, x in zip(names, centre, strict=True)})
    private = open_private({name: rows[:, i] for i, name in enumerate(names)}, known, names)
    return np.column_stack([private.numbers(name) for name in names]), array.ndim == 1


def is_scalar(values: object) -> bool:
    """Whether one value was given, and not a column of them."""
    if isinstance(values, np.ndarray):
        return values.ndim == 0
    return values is None or isinstance(values, str | bytes | Number | Decimal | np.generic) or _no_length(values)


def _cells(values: object) -> object:
    if isinstance(values, Mapping) or framed(values) is not None:
        raise BadLaw(
            "release takes one number or one column, got a table: fugu.release_column(mechanism, table) takes the "
            "column that the mechanism is for, or give that column"
        )
    if is_scalar(values):
        return [values.item() if isinstance(values, np.ndarray) else values]
    if isinstance(values, np.ndarray) and values.ndim > 1:
        raise BadLaw(f"release takes one number or one column, got shape {values.shape}")
    if isinstance(values, list | tuple) and len(values) and all(map(is_row, values)):
        raise BadLaw("release takes one number or one column, got a list of lists")
    return values


def _listed(values: object) -> Any:
    """Rows as lists of equal length; the shape is public."""
    listed = values.to_numpy() if hasattr(values, "to_numpy") else values
    if not isinstance(listed, list | tuple):
        return listed
    widths = {len(row) if is_row(row) else -1 for row in listed}
    if len(widths) > 1:
        raise BadLaw("release takes one vector, or vectors of one length; the rows given differ in length")
    return [list(row) for row in listed] if widths and widths != {-1} else listed


def _no_length(values: object) -> bool:
    return type(values).__name__ in ("NAType", "NaTType", "MaskedConstant") or not hasattr(values, "__len__")
