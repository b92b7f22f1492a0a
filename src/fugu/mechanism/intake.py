"""What a mechanism knows of its scenario, and values as they come to a release."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Number
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.data.field import Field
from fugu.data.frame import framed
from fugu.data.private import open_private
from fugu.data.schema import Schema
from fugu.documents.sentences import (
    EXACT_LAWS,
    INDEPENDENT_ROWS,
    ONE_DATA_SET,
    ONE_ROW,
    ONE_VALUE,
    unit_of_person,
)
from fugu.documents.swap import MOMENTS, Stated
from fugu.errors import BadLaw
from fugu.laws.pair import LawPair
from fugu.laws.sets.confidence import Sampled
from fugu.numbers.checks import is_row
from fugu.numbers.exact import read_number

if TYPE_CHECKING:
    from fugu.scenario.property import PropertyModel

# Of a property of the whole, one release is about one data set: a vector of its statistics. Those lie between ends that
# follow from the bounds to which records are clipped (0 and n for a count); a vector outside is moved to the ends
# before noise is added, which changes nothing for statistics that were computed as the certificate says.


Floats = NDArray[np.float64]
_VALUE = "value"


@dataclass(frozen=True)
class Context:
    """The parts of a scenario that a release needs; empty for laws given directly."""

    assumptions: tuple[str, ...] = (EXACT_LAWS, INDEPENDENT_ROWS)
    unit: str = ONE_VALUE
    person: str | None = None
    """The column that names the person, who owns one row of the reference and one of the private table."""
    query: dict[str, Any] | None = None
    recipe: dict[str, Any] | None = None
    schema: dict[str, Any] | None = None
    """How private records are read; fixed with the beliefs, before any of them is seen."""
    keeps_missing: bool = False
    reference_digest: str | None = None
    reference_rows: int | None = None
    """How many rows the reference has: only a column of as many can be the one the beliefs were fitted on."""
    public_prior: bool = True
    shares: Stated | None = None
    """What is stated and enforced where the secret is a property of the whole; None otherwise."""
    sampled: Sampled | None = None
    """The counts behind sets of beliefs, and their confidence; None where beliefs are laws."""
    empirical: tuple[LawPair, ...] = ()
    """The laws behind fitted beliefs, to show what would be lost under them; never part of the guarantee."""

    @staticmethod
    def of(source: object) -> Context:
        """The context of a scenario, or the empty one for bare law pairs."""
        from fugu.scenario.scenario import Scenario

        if not isinstance(source, Scenario):
            return Context(assumptions=tuple(getattr(source, "assumptions", (EXACT_LAWS, INDEPENDENT_ROWS))))
        query, model, unit = source.query, source.property, source.unit
        if query is None:
            if model is None:
                return Context(assumptions=tuple(source.assumptions))
            told = tuple(source.assumptions)
            return Context(assumptions=told, unit=ONE_DATA_SET, shares=shares_json(model))
        return Context(
            assumptions=tuple(source.assumptions),
            unit=unit_of_person(unit) if unit else ONE_ROW,
            person=unit,
            query=query.to_json(),
            recipe=source.recipe,  # type: ignore[arg-type]
            schema=None if source.schema is None else source.schema.to_json(),
            keeps_missing=query.drops,
            reference_digest=source.reference_digest,
            reference_rows=source.report.rows,
            public_prior=bool(source.public_prior),
            sampled=source.sampled,
            empirical=source.empirical_pairs(),
        )

    @property
    def nominal(self) -> tuple[str, ...] | None:
        """The categories that are published, if they have no order; None otherwise."""
        stated = self.query or {}
        return tuple(stated["categories"]) if stated.get("nominal") else None

    @property
    def dates(self) -> Field | None:
        """How the published numbers are written as dates, if they are days; None otherwise."""
        if self.query is None or self.schema is None or self.nominal is not None:
            return None
        stated = self.schema["columns"].get(self.query["publish"])
        found = None if stated is None else Field.of(self.query["publish"], stated)
        return found if found is not None and found.dated else None

    def parts(self) -> dict[str, Any]:
        """What a certificate holds of a property of the whole, and of the counts behind sets; nothing without them."""
        shares = {} if self.shares is None else {"property": self.shares}
        return shares | ({} if self.sampled is None else {"confidence": self.sampled.to_json()})


def as_column(values: object, context: Context, centre: float, mapped: bool) -> Floats:
    """The numbers that noise is added to: each value through the schema and, unless it was `mapped` before, the query.

    A value that is missing or no number becomes what the schema says, or `centre` where there is none; NaN only where
    it is public which are missing."""
    if context.query is None or context.schema is None or mapped:
        known = Schema({_VALUE: {"kind": "number", "typical": centre}})
        return open_private({_VALUE: _cells(values)}, known, [_VALUE]).numbers(_VALUE, context.keeps_missing)
    from fugu.scenario.query import ColumnQuery

    asked = ColumnQuery.from_json(context.query)
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
    if values is None or isinstance(values, str | bytes | Number | Decimal | np.generic):
        return True
    return type(values).__name__ in ("NAType", "NaTType", "MaskedConstant") or not hasattr(values, "__len__")


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


def shares_json(model: PropertyModel) -> Stated:
    """The property, the shares and pairs that were proved, the statistics and their ends, in JSON types."""
    found: Stated = {
        "name": model.name,
        "size": model.size,
        "tolerance": str(model.tolerance),
        "statistics": [str(s) for s in model.statistics],
        "limits": [None if ends is None else [str(x) for x in ends] for ends in model.limits],
        "shares": [
            {"name": label, "from": k, "to": k + width}
            for label, k, width in zip(model.labels, model.counts, model.proved.widths, strict=True)
        ],
        "pairs": [[model.labels[i], model.labels[j]] for i, j in model.pairs],
        "every": model.proved.every,
    }
    if model.proved.every and model.replacement and len(model.statistics) > 1:
        found[MOMENTS] = [law.to_json() for law in model.records]
    return found


def require_one(column: Floats, stated: Stated | None) -> None:
    """Refuse more than one row: the guarantee is for the statistics of one data set, published once."""
    if stated is not None and len(column) > 1:
        raise BadLaw(
            f"this mechanism hides a property of one data set and publishes its statistics once, "
            f"{len(stated['statistics'])} of them; {len(column)} rows were given. Give one row"
        )


def clipped(column: Floats, stated: Stated | None) -> Floats:
    """Every statistic between its ends; those without ends as they are."""
    if stated is None or not any(stated["limits"]):
        return column
    low, high = (
        np.array([side * math.inf if ends is None else float(read_number(ends[place])) for ends in stated["limits"]])
        for place, side in ((0, -1), (1, 1))
    )
    return np.asarray(np.clip(column, low, high) if column.ndim > 1 else np.clip(column, low[0], high[0]))
