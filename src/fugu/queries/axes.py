"""`Axis`: the cells that one column of a histogram or a cross-tabulation has, from public information."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.cells import OTHER
from fugu.data.private import numbers, places
from fugu.errors import CertificateError
from fugu.visible import Json

Codes = NDArray[np.int64]


@final
@dataclass(frozen=True)
class Axis:
    """The cells of one column: labels and one more cell for everything else, or edges of numbers.

    Without edges the cell of a record is the place of its label, or the last one. With edges it is the interval that
    holds its number; what lies outside goes to the first or the last one."""

    column: str
    labels: tuple[str, ...]
    edges: tuple[float, ...] | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all its cells."""
        if self.edges is not None:
            return tuple(f"{a:g} to {b:g}" for a, b in pairwise(self.edges))
        return (*self.labels, OTHER)

    def of(self, schema: Schema, table: Table) -> Codes:
        """The cell of each row."""
        if self.edges is not None:
            inner = np.asarray(self.edges[1:-1], dtype=np.float64)
            return np.searchsorted(inner, numbers(schema, table, self.column), "right").astype(np.int64)
        found = places(schema, table, self.column, self.labels)
        return np.where(found < 0, len(self.labels), found).astype(np.int64)

    def to_json(self) -> Json:
        """The axis in JSON types."""
        told: Json = {"column": self.column, "labels": list(self.labels)}
        return told if self.edges is None else told | {"edges": [float(edge).hex() for edge in self.edges]}


def axis_from(told: Mapping[str, Any]) -> Axis:
    """The axis that `to_json` wrote as `told`."""
    edges = told.get("edges")
    labels = tuple(map(str, told["labels"]))
    return Axis(str(told["column"]), labels, None if edges is None else increasing_from(edges))


def increasing_from(told: Sequence[str]) -> tuple[float, ...]:
    """Increasing numbers that were written as doubles in hexadecimal."""
    found = tuple(float.fromhex(text) for text in told)
    if any(not a < b for a, b in pairwise(found)):
        raise CertificateError("edges and grids increase")
    return found
