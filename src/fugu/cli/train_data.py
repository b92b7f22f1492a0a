"""What `fugu train` reads: the columns and rows, and what is believed about the other rows."""

from __future__ import annotations

import re
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.data import Column, Schema, Table
from fugu.data.cells import OTHER
from fugu.data.column import Raw
from fugu.data.field import Field
from fugu.data.private import open_private
from fugu.data.sequences import ranks
from fugu.errors import BadTable, MissingValues, NotProvable, UnknownName, UsageError

Floats = NDArray[np.float64]
Bounds = dict[str, tuple[float, float]]
_BOUNDS = re.compile(r"\s*(?P<name>[^:]+?)\s*:(?P<low>[^:,]+):(?P<high>[^:,]+)(?:,|$)")


@dataclass(frozen=True, eq=False)
class TrainingRows:
    """Features, target and, if rows belong to groups, the number of the group of each row."""

    features: Floats
    target: NDArray[Any]
    groups: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.target)

    def take(self, places: NDArray[np.int64]) -> TrainingRows:
        """Some of the rows."""
        groups = None if self.groups is None else self.groups[places]
        return TrainingRows(self.features[places], self.target[places], groups)

    def same(self, other: TrainingRows) -> bool:
        """Whether both hold the same rows, in any order."""
        if self.features.shape != other.features.shape or self.target.dtype.kind != other.target.dtype.kind:
            return False
        one, two = (rows.take(np.lexsort((*rows.features.T, rows.target))) for rows in (self, other))
        return np.array_equal(one.features, two.features) and np.array_equal(one.target, two.target)


@dataclass(frozen=True)
class TrainingColumns:
    """Which columns are used as what."""

    target: str
    features: tuple[str, ...] = ()
    order: str | None = None
    by: str | None = None
    left_out: tuple[str, ...] = ()
    """Columns that are no features since they hold no numbers."""

    @property
    def public(self) -> tuple[str, ...]:
        """The columns that are declared public: times and groups."""
        return tuple(name for name in (self.order, self.by) if name is not None)


@dataclass(frozen=True, eq=False)
class Rules:
    """How cells are read: `schema` for features and target, `beside` for the columns of times and groups."""

    wanted: TrainingColumns
    schema: Schema
    beside: Schema
    labels: list[Any] | None

    @property
    def told(self) -> Schema:
        """Both in one, for the certificate."""
        return replace(self.schema, columns={**self.beside.fields, **self.schema.fields})

    def rows(self, table: str | Table, where: str, distinct: bool) -> TrainingRows:
        """The rows of a table in order, each read by itself; `distinct`: no two at one time.

        Only the columns of times and groups, which are declared public, are refused for what they hold."""
        wanted, whole = self.wanted, self.schema.open(table)
        opened = open_private(whole, self.schema, (*wanted.features, wanted.target))
        if len(opened) < 2:
            raise BadTable(f"{where!r} has fewer than two rows, so there is nothing to learn")
        features = np.column_stack([opened.numbers(name) for name in wanted.features])
        known = self.schema.fields[wanted.target]
        if self.labels is None:
            target = opened.numbers(wanted.target)
        else:
            target = np.array(self.labels)[opened.places(wanted.target, known.values or ())]
        beside = open_private(whole, self.beside, (), wanted.public) if wanted.public else opened
        groups = None if wanted.by is None else beside.public(wanted.by).codes()[0]
        rows = TrainingRows(features, target, groups)
        if wanted.order is None:
            return rows
        return rows.take(places(beside.public(wanted.order), where, distinct, self.schema.decimal))

    def public_rows(self, table: Table, where: str, distinct: bool) -> TrainingRows:
        """The same of rows that are public."""
        self._check_public(table, where)
        return self.rows(table, where, distinct)

    def _check_public(self, table: Table, where: str) -> None:
        """Public rows may be refused for what they hold: cells that no rule was given for, a third label."""
        wanted, schema = self.wanted, self.schema
        for name in (*wanted.features, wanted.target):
            known, label = schema.fields[name], self.labels is not None and name == wanted.target
            strict = replace(known, outside=OTHER, missing=None) if label else known
            column = strict.read(name, table.raw(name), schema.decimal, schema.absent)
            said = f"column {name!r} of {where!r}"
            if column.missing.any() and strict.missing is None:
                raise MissingValues(f"{said} has missing cells; fill them in or remove these rows")
            if label and bool(np.any(column.values == OTHER)):
                raise BadTable(f"{said} holds a label that is neither of the two; correct it, or --classes")
            if name == wanted.target and not label and len(np.unique(column.values)) < 2:
                raise BadTable(f"{said} has one value only, so there is nothing to learn")


def names_of(text: str | None, option: str) -> tuple[str, ...]:
    """Names with commas between them, no two alike."""
    if text is None:
        return ()
    found = tuple(name.strip() for name in text.split(","))
    if not all(found) or len(set(found)) < len(found):
        raise UsageError(f"{option} needs different names with commas between them, got {text!r}")
    return found


def places(column: Column, where: str, distinct: bool, decimal: str = ".") -> NDArray[np.int64]:
    """The places of the rows in order of time; rows of one time stay as they are, or are refused.

    Times are numbers if all of them are, else ISO 8601: a column that is public may decide that as a whole."""
    texts = [text.replace(decimal, ".") for text in column.values.tolist()]
    found = Column.of(column.name, Raw.of(column.name, texts))
    found.require_exact()
    times = ranks(found)
    order = np.argsort(times, kind="stable")
    if distinct and np.any(np.diff(times[order]) == 0):
        raise BadTable(
            f"column {column.name!r} of {where!r} repeats a time, so the order that the prior speaks of is unknown; "
            "give finer times, or keep one row for each, or group the rows (--prior groups --by)"
        )
    return order


def read_bounds(texts: list[str]) -> Bounds:
    """ "age:0:100,bmi:10:60" as numbers by column."""
    found: Bounds = {}
    for text in texts:
        at = 0
        while at < len(text):
            part = _BOUNDS.match(text, at)
            if part is None:
                raise UsageError(f'--bounds are columns with two numbers, such as "age:0:100,bmi:10:60", got {text!r}')
            name, low, high = part["name"], *(_bound(part[side], part["name"]) for side in ("low", "high"))
            if name in found:
                raise UsageError(f"--bounds of column {name!r} are given twice")
            if not low < high:
                raise UsageError(f"--bounds of column {name!r} need low < high")
            found[name] = (low, high)
            at = part.end()
    return found


def _bound(text: str, name: str) -> float:
    with suppress(ValueError):
        found = float(text)
        if np.isfinite(found):
            return found
    raise UsageError(f"--bounds of column {name!r} must be two finite numbers")


if TYPE_CHECKING:
    from fugu.priors.coupling import Coupled as Prior

PRIVATE = ("both", "features", "target")
_NEEDING = ("groups", "markov")
"""Priors that need a column: of groups, of states."""
_FITTED = "fitted"


@dataclass(frozen=True)
class RowBelief:
    """The prior as it was written, and the columns it needs."""

    text: str
    order: str | None
    state: str | None
    smoothing: float
    ordered: bool
    start: str = "fitted"

    @staticmethod
    def of(
        text: str,
        order: str | None,
        by: str | None,
        state: str | None,
        smoothing: float,
        source: str | None,
        start: str = _FITTED,
    ) -> RowBelief:
        """Checked: what the prior needs is there, and nothing that it does not know."""
        from fugu.training.accountant import prior_from

        name = text.strip()
        grouped, chained = (name == needing for needing in _NEEDING)
        if grouped != (by is not None):
            raise UsageError("--prior groups and --by COLUMN, the group of each row, go together; give both")
        if chained != (state is not None):
            raise UsageError("--prior markov and --state COLUMN, the state of each row, go together; give both")
        if not chained and (smoothing or start != _FITTED):
            raise UsageError("--smoothing and --start are for --prior markov; leave them out")
        if chained and source is None:
            raise UsageError(
                "--prior markov is fitted on --reference rows, never on the private ones; give --reference"
            )
        try:
            ordered = chained or (not grouped and prior_from(name).ordered)
        except UsageError as error:
            more = ', "groups" (with --by), "markov" (with --state)' if str(error).startswith("no prior") else ""
            raise UsageError(f"{error}{more}") from None
        if ordered and order is None:
            raise UsageError(f"--prior {name} speaks of rows in order: give --order COLUMN, the public column of times")
        return RowBelief(name, order, state, smoothing, ordered, start)

    def prior(self, rows: TrainingRows, known: Table | None) -> Prior:
        """The prior of these rows; the chain of states is that of the public table."""
        from fugu.priors.groups import Groups
        from fugu.training.accountant import prior_from

        if rows.groups is not None:
            return Groups(rows.groups)
        if self.state is None or self.order is None or known is None:
            return prior_from(self.text)
        from fugu.queries.sequence_prior import chain_of

        column = known.exact(self.state)
        if column.missing.any():
            raise BadTable(f"column {self.state!r} of the reference has missing cells; fill them in")
        times = Field("time").read(self.order, known.raw(self.order))
        states = column.values[places(times, "reference", True)].tolist()
        return prior_from(chain_of({"reference": states}, self.state, self.smoothing, len(rows), self.start))


def check_private(private: str, numbers: bool, belief: RowBelief) -> None:
    """A label cannot be normal."""
    if private not in PRIVATE:
        raise UnknownName("part of a row for --private", private, PRIVATE)
    if belief.text.startswith("ar1") and not numbers and private != "features":
        raise NotProvable(
            f"--prior {belief.text} is about normal numbers, and a label is none: for a classifier give --prior "
            "mixing:0.3, markov or groups, or keep it with --private features if the labels are public"
        )
