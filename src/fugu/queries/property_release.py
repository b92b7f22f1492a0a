"""Statistics of a private table, released once while the share of its records with a property stays hidden."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.driver import calibrate
from fugu.data import Schema, Table
from fugu.data.frame import TableLike
from fugu.data.private import Private, numbers, open_private, places
from fugu.documents.certificate import Certificate
from fugu.documents.exchange import RecordExchange
from fugu.errors import BadTable, CertificateError, PriorNotPublic, UnknownName, UsageError
from fugu.guarantee.curve import Guarantee
from fugu.mechanism.mechanism import Mechanism
from fugu.noise.kind import Noise
from fugu.noise.lattice import rounding_error
from fugu.numbers.exact import Real, as_fraction, read_number, read_whole
from fugu.queries.kinds import Cell
from fugu.scenario.property import from_property
from fugu.scenario.property_statistic import RecordStatistic, condition
from fugu.scenario.scenario import Scenario
from fugu.scenario.swap import model_of
from fugu.visible import Json

# Statistics of a private table, released once while the share of its records with a property stays hidden.
#
# The reference says how records are read, what they hold and what is believed; the private table is read by the same
# functions, record by record: every record has a number for every statistic, whatever its cells hold. The property's
# own column is never looked at in the private table.


Bounds = Mapping[str, tuple[Real, Real]]
Floats = NDArray[np.float64]
_RECIPE = ("what", "statistics", "hide", "size", "tolerance", "shares", "bounds", "replacement", "missing", "method",
           "schema")  # fmt: skip
LAW_ERROR = "law_error"
"""What was added later, and stands in a recipe only where it is given."""


@dataclass(frozen=True, eq=False, kw_only=True)
class PropertyQuestion:
    """What is published and what is hidden, as one reference completes it.

    `hide`: the property, "smoker=yes". `size`: how many records the private table has, which is public; None: as many
    as it turns out to have. `tolerance`, `shares`, `replacement`, `missing`: as in `Scenario.from_property`. `given`:
    to which columns are clipped; of what is not given, `bounds` has the range of the reference. `law_error`, `method`:
    as in `calibrate`; `schema`: how records are read, completed by the reference in `reading`."""

    statistics: tuple[RecordStatistic, ...]
    hide: str
    reading: Schema
    known: Table
    bounds: dict[str, tuple[Real, Real]]
    given: Bounds | None
    size: int | None = None
    tolerance: Real = 0.1
    shares: Sequence[Real] | None = None
    replacement: bool = True
    missing: Literal["error", "drop"] = "error"
    law_error: Real = 0
    method: str = "best"
    floor: float | None = None
    schema: Schema | None = None

    @staticmethod
    def of(
        reference: TableLike, statistics: Sequence[str], hide: str, bounds: Bounds | None = None,
        schema: Schema | None = None, **more: Any,
    ) -> PropertyQuestion:  # fmt: skip
        """The question with what this reference says of it: how records are read, and the bounds left out.

        `statistics`: "mean(age)", "sum(hours)", "count(sex=F)"; `more`: the other fields."""
        if isinstance(statistics, str) or not statistics:
            raise UsageError('statistics must be a list such as ["mean(age)", "count(sex=F)"]')
        asked = tuple(RecordStatistic.parse(text) for text in statistics)
        column, _ = condition(hide, "a property", "smoker=yes")
        averaged = tuple(dict.fromkeys(s.column for s in asked if s.equals is None))
        columns = tuple(dict.fromkeys(s.column for s in asked))
        declared = (schema or Schema({})).only((*columns, column))
        reading = declared.completed(reference, (*columns, column), numbers=averaged)
        known = reading.read(reading.open(reference), (*columns, column))
        found = {**(bounds or {})}
        for name in set(found) - set(averaged):
            raise UnknownName("column of bounds", name, averaged)
        for name in averaged:  # the bounds that a schema declares, else the range of the reference
            if name not in found and (declared_ends := reading.fields[name].bounds) is not None:
                found[name] = declared_ends
            elif name not in found:
                values = numbers(reading, known, name)[~known.exact(name).missing]
                if not len(values) or not values.min() < values.max():
                    raise BadTable(f"column {name!r} of the reference does not vary; give its bounds")
                found[name] = float(values.min()), float(values.max())
        fitted = {"reading": reading, "known": known, "bounds": found, "given": bounds}
        return PropertyQuestion(statistics=asked, hide=hide, schema=schema, **fitted, **more)  # type: ignore[arg-type]

    @staticmethod
    def again(recipe: Json, reference: TableLike) -> PropertyQuestion:
        """What a reference makes of the question that a recipe states; CertificateError if it is none."""
        if set(recipe) - {LAW_ERROR} != set(_RECIPE):
            raise CertificateError(f"the recipe of a property has the parts {', '.join(_RECIPE)}")
        size, shares, schema = read_whole(recipe["size"]), recipe["shares"], recipe["schema"]
        return PropertyQuestion.of(
            reference,
            list(recipe["statistics"]),
            bounds={name: (read_number(low), read_number(high)) for name, (low, high) in recipe["bounds"].items()},
            tolerance=read_number(recipe["tolerance"]),
            shares=None if shares is None else [read_number(x) for x in shares],
            schema=None if schema is None else Schema.from_json(schema),
            size=size,
            law_error=read_number(recipe.get(LAW_ERROR, 0)),
            **{name: recipe[name] for name in ("hide", "replacement", "missing", "method")},
        )

    def scenario(self, size: int) -> Scenario:
        """The laws of the statistics of so many records, for every share."""
        columns = {}
        for name in self.known.columns:
            column = self.known.exact(name)
            cells = zip(column.values.tolist(), column.missing, strict=True)
            columns[name] = [None if gone else value for value, gone in cells]
        made = from_property(
            columns,
            [str(s) for s in self.statistics],
            self.hide,
            size,
            values=self.shares,
            tolerance=self.tolerance,
            bounds=self.bounds,
            replacement=self.replacement,
            missing=self.missing,
        )
        model = model_of(made)
        kept = ~np.any([self.known.exact(name).missing for name in self.known.columns], axis=0)
        own, believed = self.contributions(self.known)[kept], np.concatenate([model.having, model.lacking])
        if own.shape != believed.shape or not np.array_equal(np.sort(own, axis=0), np.sort(believed, axis=0)):
            raise BadTable(  # the scenario reads the reference otherwise than the private table will be read
                "a column of the statistics is read in two ways, as numbers and as categories; declare its kind in a "
                "schema (--schema)"
            )
        return made

    def mechanism(self, size: int, budget: Guarantee) -> Mechanism:
        """The mechanism for so many records, proved; no private table is opened."""
        columns = tuple(dict.fromkeys(s.column for s in self.statistics))
        made = calibrate(
            self.scenario(size), budget, method=cast(Any, self.method), floor=self.floor, law_error=self.law_error
        )
        body = {**made.certificate.unsealed, "reading": self.reading.only(columns).to_json()}
        return replace(made, certificate=Certificate.seal(body, made.certificate.laws))

    def contributions(self, table: Table) -> Floats:
        """What each record adds to each statistic: the same function on the reference and on the private table."""
        rows = []
        for s in self.statistics:
            if s.equals is None:
                low, high = (float(as_fraction(x)) for x in self.bounds[s.column])
                rows.append(np.clip(numbers(self.reading, table, s.column), low, high))
            else:
                label = self.reading.fields[s.column].label(s.equals)
                if label is None:
                    raise BadTable(f"no record of the reference counts in {s}; check the value's spelling")
                rows.append((places(self.reading, table, s.column, [label]) == 0).astype(np.float64))
        return np.column_stack(rows)

    def exact(self, private: Private, certificate: Certificate) -> list[Fraction]:
        """The statistics of the private table, before noise, in rationals: in doubles two of them could be further
        apart than their records allow, by a rounding that crosses an edge of the lattice. Where records are exchanged,
        each of them is rounded by itself."""
        exchange, lattice, found = RecordExchange.stated(certificate), certificate.lattice, []
        for j, (s, column) in enumerate(zip(self.statistics, self.contributions(private.table).T, strict=True)):
            factor = s.factor(len(private))
            each = [(as_fraction(x) * factor, count) for x, count in Counter(column.tolist()).items()]
            if exchange is not None and lattice is not None:
                each = [(exchange.rounded(j, x, lattice.grid), count) for x, count in each]
            found.append(sum((x * count for x, count in each), Fraction(0)))
        return found

    def release(
        self, mechanism: Mechanism, private: Private, allow_no_noise: bool = False
    ) -> tuple[tuple[Cell, ...], Certificate]:
        """Draw once: the published numbers, and the certificate of this release."""
        exact, lattice = self.exact(private, mechanism.certificate), mechanism.lattice
        if lattice is not None:  # the nearest points of it, each of which rounds to its own index
            steps = [math.floor((x - lattice.origin) / lattice.grid + Fraction(1, 2)) for x in exact]
            exact = [lattice.origin + k * lattice.grid for k in steps]
        points = [float(x) for x in exact]
        values: Any = np.array(points) if len(points) > 1 else points[0]
        drawn = mechanism.release(values, allow_no_noise=allow_no_noise)
        found = np.asarray(drawn.values, dtype=np.float64).reshape(-1).tolist()
        return cells_of(mechanism, drawn.certificate, found), drawn.certificate

    def recipe(self, size: int) -> Json:
        """The question in JSON types."""
        return {
            "what": "property",
            "statistics": [str(s) for s in self.statistics],
            "hide": self.hide,
            "size": size,
            "tolerance": str(as_fraction(self.tolerance)),
            "shares": None if self.shares is None else [str(as_fraction(x)) for x in self.shares],
            "bounds": {name: [str(as_fraction(x)) for x in ends] for name, ends in self.bounds.items()},
            "replacement": self.replacement,
            "missing": self.missing,
            "method": self.method,
            "schema": None if self.schema is None else self.schema.to_json(),
            **({LAW_ERROR: str(as_fraction(self.law_error))} if self.law_error else {}),
        }


def open_property(table: TableLike, known: PropertyQuestion, budget: Guarantee) -> tuple[Mechanism, Private]:
    """Open the private table, and prove the mechanism for as many records. Refused are a table of another size than
    declared, and a reference that is the table itself."""
    columns, size = tuple(dict.fromkeys(s.column for s in known.statistics)), known.size
    private = open_private(table, known.reading, columns)
    if size is not None and size != len(private):
        raise BadTable(
            f"the table has {len(private)} records, and --size says {size}; the number of records is public, and "
            "the noise is for exactly that many"
        )
    if len(private) < 2:
        raise BadTable("the table has fewer than two records, so there is no share to hide")
    one, two = (known.contributions(t) for t in (known.known, private.table))
    same = one.shape == two.shape and np.array_equal(one[np.lexsort(one.T)], two[np.lexsort(two.T)])
    if same:  # the private records, in any order, as far as the statistics look
        raise PriorNotPublic(
            "the reference is the very table to be released, so the noise depends on it. Give another table"
        )
    return known.mechanism(len(private), budget), private


# The published statistics of one data set, each with an interval for the exact one.


def deviations_of(mechanism: Mechanism, certificate: Certificate) -> tuple[float, ...]:
    """The standard deviation of the noise on each statistic."""
    return _used(mechanism, certificate).deviations(mechanism.dimension)


def _used(mechanism: Mechanism, certificate: Certificate) -> Noise:
    """The noise of a release: what its own draws allowed, or what was calibrated."""
    return certificate.noise if mechanism.noise.prepares else mechanism.noise


def cells_of(mechanism: Mechanism, certificate: Certificate, values: Sequence[float]) -> tuple[Cell, ...]:
    """The published numbers by the names of their statistics, each with its interval cut to what is possible, and the
    standard deviation of its noise."""
    stated, rounding = certificate.body["property"], rounding_error(mechanism.lattice, mechanism.support)
    found, halves = [], _used(mechanism, certificate).each_quantile(0.95, mechanism.dimension)
    parts = (stated["statistics"], values, halves, deviations_of(mechanism, certificate), stated["limits"])
    for name, value, error, deviation, ends in zip(*parts, strict=True):
        half = error + rounding
        low, high = (-math.inf, math.inf) if ends is None else (float(read_number(x)) for x in ends)
        near, far = (min(max(x, low), high) for x in (value - half, value + half))
        found.append(Cell("", str(name), float(value), near, far, deviation))
    return tuple(found)


def statistic_columns(cells: tuple[Cell, ...]) -> dict[str, list[str] | list[float]]:
    """Published statistics as the columns of a file."""
    named: dict[str, list[str] | list[float]] = {"statistic": [cell.cell for cell in cells]}
    return named | {name: [getattr(cell, name) for cell in cells] for name in ("value", "low", "high")}
