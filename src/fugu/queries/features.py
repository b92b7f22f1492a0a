"""Features: total functions of one record, with whole numbers for values, that statistics are made of; their axes."""

from __future__ import annotations

import hashlib
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from itertools import count, pairwise, product
from typing import Any, ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.data import Schema, Table
from fugu.data.cells import OTHER, number_text
from fugu.data.moments import days_text
from fugu.data.private import label_of, numbers, places, why_text
from fugu.documents.document import canonical_json
from fugu.documents.sentences import RANGED, ranges_said
from fugu.errors import BadTable, CertificateError, UsageError
from fugu.numbers.exact import as_fraction, read_number, read_whole
from fugu.visible import Json

# Features: total functions of one record, with whole numbers for values, that statistics are made of.
#
# Each is fixed by public information (the schema, the reference, the question) before the private table is opened, is
# the same function on both tables, looks at one record alone, and has a value for every record there can be: what is
# missing, odd, huge or of another kind than its column included. The law of a record's features is all that a session
# believes.


class Feature(ABC):
    """A function from one record to 0 .. `top`; code k stands for the number low + step k."""

    KIND: ClassVar[str]
    column: str
    low: Fraction = Fraction(0)
    step: Fraction = Fraction(1)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that it looks at."""
        return (self.column,)

    @property
    @abstractmethod
    def top(self) -> int:
        """The largest value there can be: the largest difference of two records."""

    @abstractmethod
    def of(self, schema: Schema, table: Table) -> Codes:
        """The value of each row of a `table` that was read through the `schema`; no cell is refused."""

    @abstractmethod
    def told(self) -> Json:
        """What it is made of, in JSON types."""

    def to_json(self) -> Json:
        """The feature in JSON types, as `feature_from` reads it."""
        return {"kind": self.KIND, **self.told()}

    def number(self, code: int) -> float:
        """The number that a code stands for."""
        return float(self.low + self.step * code)

    def total(self, codes: float, rows: int) -> float:
        """The sum of the numbers of `rows` records whose codes add up to `codes`."""
        return float(self.low) * rows + float(self.step) * codes

    @cached_property
    def name(self) -> str:
        """A name for people, with a digest: one name is one function."""
        digest = hashlib.sha256(canonical_json(self.to_json()).encode()).hexdigest()
        return f"{self.KIND} {', '.join(self.columns)} {digest[:12]}"


@final
@dataclass(frozen=True)
class Coded(Feature):
    """The number of steps above the lower bound: clip, then round. The same function on the reference and on the
    private table.

    >>> Coded("age", Fraction(0), Fraction(5), 20).codes(np.array([-3.0, 12.0, 400.0]))
    array([ 0,  2, 20])
    """

    KIND = "coded"
    column: str
    low: Fraction = field()
    step: Fraction = field()
    steps: int

    @property
    def top(self) -> int:
        return self.steps

    def codes(self, values: NDArray[np.float64]) -> Codes:
        """Clip, then round to the nearest step."""
        clipped = np.clip(values, float(self.low), float(self.low + self.step * self.top))
        steps: NDArray[np.int64] = np.floor((clipped - float(self.low)) / float(self.step) + 0.5).astype(np.int64)
        return np.asarray(np.clip(steps, 0, self.top), dtype=np.int64)

    def of(self, schema: Schema, table: Table) -> Codes:
        return self.codes(numbers(schema, table, self.column))

    def told(self) -> Json:
        return {"column": self.column, "low": str(self.low), "step": str(self.step), "top": self.top}


@final
@dataclass(frozen=True)
class SquaredFeature(Feature):
    """The square of a coded number's distance from a public centre: (code - centre)^2."""

    KIND = "squared"
    coded: Coded

    @property
    def columns(self) -> tuple[str, ...]:
        return self.coded.columns

    @property
    def centre(self) -> int:
        """The middle code: no other centre has a smaller largest square."""
        return self.coded.top // 2

    @property
    def top(self) -> int:
        return (self.coded.top - self.centre) ** 2

    def of(self, schema: Schema, table: Table) -> Codes:
        return np.asarray((self.coded.of(schema, table) - self.centre) ** 2, dtype=np.int64)

    def told(self) -> Json:
        return self.coded.told()


@final
@dataclass(frozen=True)
class Is(Feature):
    """1 where the column has this label, else 0."""

    KIND = "is"
    column: str
    label: str

    @property
    def top(self) -> int:
        return 1

    def of(self, schema: Schema, table: Table) -> Codes:
        return np.asarray(places(schema, table, self.column, [self.label]) == 0, dtype=np.int64)

    def told(self) -> Json:
        return {"column": self.column, "label": self.label}


@final
@dataclass(frozen=True)
class Placed(Feature):
    """The cell of a histogram or of a cross-tabulation that a record falls into."""

    KIND = "placed"
    axes: tuple[CellAxis, ...]

    @property
    def columns(self) -> tuple[str, ...]:
        return tuple(axis.column for axis in self.axes)

    @property
    def top(self) -> int:
        return int(np.prod([len(axis.names) for axis in self.axes])) - 1

    @property
    def labels(self) -> list[str]:
        """The names of all cells, also of empty ones."""
        return [" / ".join(parts) for parts in product(*(axis.names for axis in self.axes))]

    def of(self, schema: Schema, table: Table) -> Codes:
        found = np.zeros(len(table), dtype=np.int64)
        for axis in self.axes:
            found = found * len(axis.names) + axis.of(schema, table)
        return found

    def told(self) -> Json:
        return {"axes": [axis.to_json() for axis in self.axes]}


@final
@dataclass(frozen=True)
class Gridded(Feature):
    """The place of the nearest point of a public grid, the lower one if two are equally near."""

    KIND = "gridded"
    column: str
    points: tuple[float, ...]

    @property
    def top(self) -> int:
        return len(self.points) - 1

    def of(self, schema: Schema, table: Table) -> Codes:
        grid = np.asarray(self.points, dtype=np.float64)
        middles = grid[:-1] / 2 + grid[1:] / 2
        return np.searchsorted(middles, numbers(schema, table, self.column), "left").astype(np.int64)

    def number(self, code: int) -> float:
        return self.points[code]

    def told(self) -> Json:
        return {"column": self.column, "points": [float(point).hex() for point in self.points]}


@final
@dataclass(frozen=True)
class Whole(Feature):
    """A column as it was read, cell by cell: for mechanisms from outside, which may use all of it.

    It is worked out on the reference alone, whose different cells it numbers 0 .. top."""

    KIND = "whole"
    column: str
    values: int
    """How many different cells the reference has."""

    @property
    def top(self) -> int:
        return max(self.values - 1, 0)

    def of(self, schema: Schema, table: Table) -> Codes:
        return np.unique(whole(schema, table, self.column), return_inverse=True)[1].reshape(-1).astype(np.int64)

    def told(self) -> Json:
        return {"column": self.column, "values": self.values}


def whole(schema: Schema, table: Table, column: str) -> NDArray[Any]:
    """A column as a mechanism from outside gets it: numbers, or texts, with every missing cell filled in."""
    known = schema.fields[column]
    if known.numeric:
        return numbers(schema, table, column)
    return np.asarray([str(cell) for cell in known.filled(table.exact(column)).values.tolist()], dtype=object)


def _coded(told: Mapping[str, Any]) -> Coded:
    low, step, top = read_number(told["low"]), read_number(told["step"]), read_whole(told["top"])
    if step <= 0 or top < 1:
        raise CertificateError("a coding has a positive step and at least one step")
    return Coded(str(told["column"]), low, step, top)


_READERS: dict[str, Callable[[Mapping[str, Any]], Feature]] = {
    "coded": _coded,
    "squared": lambda told: SquaredFeature(_coded(told)),
    "is": lambda told: Is(str(told["column"]), str(told["label"])),
    "placed": lambda told: Placed(tuple(map(CellAxis.read, told["axes"]))),
    "gridded": lambda told: Gridded(str(told["column"]), _increasing(told["points"])),
    "whole": lambda told: Whole(str(told["column"]), read_whole(told["values"])),
}


def feature_from(told: object) -> Feature:
    """The feature that `to_json` wrote as `told`; `CertificateError` for anything else."""
    try:
        found: Mapping[str, Any] = told  # type: ignore[assignment]
        return _READERS[found["kind"]](found)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CertificateError("a feature of a record cannot be read") from error


# `Axis`: the cells that one column of a histogram or a cross-tabulation has, from public information.


Codes = NDArray[np.int64]
MOST_CELLS, _MOST_NUMBERS, _BINS, _STEPS = 10_000, 50, 20, 100
HALF = 0.5
FINER = (_STEPS, 400, 4000)
"""Parts of a range that are tried; the last is for quantiles, of which a question takes no longer for it."""
_EXACT, _LEAST = 2**53, Fraction(1, 10**300)


@final
@dataclass(frozen=True)
class CellAxis:
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

    @staticmethod
    def read(told: Mapping[str, Any]) -> CellAxis:
        """The axis that `to_json` wrote as `told`."""
        edges = told.get("edges")
        labels = tuple(map(str, told["labels"]))
        return CellAxis(str(told["column"]), labels, None if edges is None else _increasing(edges))


def _increasing(told: Sequence[str]) -> tuple[float, ...]:
    """Increasing numbers that were written as doubles in hexadecimal."""
    found = tuple(float.fromhex(text) for text in told)
    if any(not a < b for a, b in pairwise(found)):
        raise CertificateError("edges and grids increase")
    return found


def require_numbers(reading: Schema, column: str) -> None:
    """Refuse edges for a column that holds no numbers."""
    known = reading.fields[column]
    if not known.numeric:
        raise BadTable(f"column {column!r} holds text{why_text(known.values or ())}; bins of numbers do not fit it")


def axis_of(reading: Schema, reference: Table, column: str) -> CellAxis:
    """The cells of a column without edges: its declared categories, or the few numbers that the reference has.

    Whatever the private table holds besides goes to "(other)": which cells there are says nothing about it."""
    known = reading.fields[column]
    if known.values is not None:
        return CellAxis(column, tuple(label for label in known.values if label != OTHER))
    if column not in reference.columns:
        raise UsageError(f"the reference lacks column {column!r}, so its cells are not known; give bins, or its values")
    _, found = reference.exact(column).codes(strict=False)
    if known.numeric and len(found) > _MOST_NUMBERS:
        if known.dated:
            raise UsageError(f"column {column!r} holds many different dates; give bins (edges) for its histogram")
        return CellAxis(column, (), _edges(*reference_range(reading, reference, column, None, _BINS)))
    return CellAxis(column, tuple(label for label in map(label_of, found.tolist()) if label != OTHER))


def placed_by(axes: Iterable[CellAxis]) -> Placed:
    """The table of counts with these columns, if it is not too large."""
    placed = Placed(tuple(axes))
    if placed.top + 1 > MOST_CELLS:
        raise UsageError(f"there would be {placed.top + 1} cells; at most {MOST_CELLS} are released at once")
    return placed


# Bounds and edges that nobody gave: the range of the reference, which is public. The private table has no part in them,
# so a feature is the same total function of one record as with bounds that were given.


def reference_range(
    reading: Schema, reference: Table, column: str, step: Fraction | None = None, parts: int = _STEPS
) -> tuple[Fraction, Fraction, Fraction]:
    """The least and the largest number of a column of the reference, rounded outward to the step, and the step.

    `step`: None for the least 1, 2 or 5 times a power of ten of which `parts` cover the range. Of whole numbers it is
    an odd multiple of what divides them all, so that none lies halfway between two steps, which would be rounded up and
    move a mean. `UsageError` where the reference shows no range."""
    give = "; give bounds, such as bounds=(0, 400)"
    if column not in reference.columns or not len(reference):
        raise UsageError(f"the reference has no numbers in column {column!r}, so its range is not known{give}")
    values = numbers(reading, reference, column)
    if reading.fields[column].numeric and reference.exact(column).missing.all():
        comma = "; one schema reads both tables: write both with commas, or both with points"
        why = f' with decimal = ","{comma}' if reading.decimal == "," else give
        raise UsageError(f"no cell of column {column!r} could be read as a number in the reference{why}")
    low, high = as_fraction(values.min()), as_fraction(values.max())
    if max(-low, high) > _EXACT:
        raise UsageError(f"column {column!r} of the reference holds numbers beyond 2^53, so its range is useless{give}")
    if high - low < _LEAST:
        raise UsageError(f"column {column!r} has one value in the reference, so its range says nothing{give}")
    if step is None:
        least = (high - low) / parts
        power = Fraction(10) ** math.floor(math.log10(least))
        step = next(step for m in (1, 2, 5, 10) if (step := m * power) >= least)
        if np.all(values == np.floor(values)):
            own = Fraction(int(np.gcd.reduce(values.astype(np.int64))))
            odd = (m * 5**k * own for k in count() for m in (1, 3))
            step = max(step, own) if parts == _BINS else next(step for step in odd if step >= least)
    return math.floor(low / step) * step, math.ceil(high / step) * step, step


def fine_range(reading: Schema, reference: Table, column: str, quantile: bool) -> tuple[Fraction, Fraction, Fraction]:
    """`reference_range` with the first step of `FINER` that moves what is asked by little on the reference.

    Little is a twentieth of what half of its rows lie apart: of a mean the rounding that is measured, of a quantile
    half a step, which is the most that it can move. What more steps cost is time, not noise: a sum is priced over its
    laws on all steps, and a quantile chooses among points."""
    values = numbers(reading, reference, column) if column in reference.columns else np.zeros(0)
    for parts in FINER[: None if quantile else -1]:
        low, high, step = reference_range(reading, reference, column, None, parts)
        quarter, rest = np.quantile(values, (0.25, 0.75))
        little = (rest - quarter or values.std()) / 20
        made = Coded(column, low, step, int((high - low) / step))
        if (float(step) / 2 if quantile else abs(moved_by_rounding(made, values))) <= little:
            break
    return low, high, step


def moved_by_rounding(feature: Coded, values: NDArray[np.float64], at: Fraction | None = None) -> float:
    """How far clipping to the bounds and rounding to the step moves the mean of these numbers, or their quantile `at`.

    >>> moved_by_rounding(Coded("x", Fraction(0), Fraction(10), 9), np.array([1.0, 2.0, 3.0, 94.0]))
    -2.5
    """
    rounded = float(feature.low) + float(feature.step) * feature.codes(values)
    if at is None:
        return float(rounded.mean() - values.mean())
    each = (np.quantile(x, float(at), method="inverted_cdf") for x in (rounded, values))
    return float(next(each) - next(each))


def coarse_said(query: str, feature: Feature, reading: Schema, reference: Table) -> tuple[str, ...]:
    """A sentence where rounding and clipping move the mean of the reference by more than a hundredth of it, or one cell
    of edges that nobody gave holds more than half of it."""
    if not len(reference) or any(name not in reference.columns for name in feature.columns):
        return ()
    if isinstance(feature, Placed) and len(feature.axes) == 1 and feature.axes[0].edges is not None:
        counts = np.bincount(feature.of(reading, reference))
        share, name = counts.max() / counts.sum(), feature.axes[0].names[int(counts.argmax())]
        return () if share <= HALF else (f"{query}: one cell, {name}, holds {share:.0%} of the reference; give bins",)
    if not isinstance(feature, Coded):
        return ()
    values = numbers(reading, reference, feature.column)
    moved, part = moved_by_rounding(feature, values), abs(float(values.mean())) / 100
    if abs(moved) <= part:
        return ()
    how = f"rounding {feature.column!r} to steps of {number_text(float(feature.step))}, and clipping,"
    far, mean = (float(f"{x:.4g}") for x in (moved, float(values.mean())))
    beside = "intervals are about the noise and do not hold that. A finer step helps"
    return (f"{query}: {how} moves the mean of the reference by {far:g}, from {mean:g}; {beside}",)


def _edges(low: Fraction, high: Fraction, width: Fraction) -> tuple[float, ...]:
    return tuple(float(low + k * width) for k in range(int((high - low) / width) + 1))


def ranged(reading: Schema, reference: Table, features: Iterable[Feature]) -> tuple[str, ...]:
    """A sentence for each column whose bounds, or edges, are the range of the reference, rounded outward."""
    parts = [
        part for f in features for part in (f.axes if isinstance(f, Placed) else [f] if isinstance(f, Coded) else [])
    ]
    return tuple(dict.fromkeys(said for part in parts if (said := _range_said(reading, reference, part))))


def check_ranges(stated: Iterable[str], reading: Schema, reference: Table, features: Iterable[Feature]) -> None:
    """CertificateError where an assumption calls bounds this table's range that are not."""
    if not set(ranges_said(stated)) <= set(ranged(reading, reference, features)):
        raise CertificateError("the bounds that are said to be this table's range are not")


def _range_said(reading: Schema, reference: Table, part: Coded | CellAxis) -> str | None:
    known = reading.fields.get(part.column)
    if known is None or not known.numeric or known.bounds is not None or part.column not in reference.columns:
        return None
    try:
        if isinstance(part, Coded):
            low, high, step = reference_range(reading, reference, part.column, part.step)
            same, how = (part.low, part.low + step * part.top) == (low, high), "counts in steps of"
        else:
            low, high, step = reference_range(reading, reference, part.column, None, _BINS)
            same, how = part.edges == _edges(low, high, step), "is counted in bins of"
    except UsageError:  # it has no range
        return None
    ends = [number_text(float(x)) if known.origin is None else days_text(known.origin, float(x)) for x in (low, high)]
    return f"{part.column!r} {how} {number_text(float(step))} from {ends[0]} to {ends[1]}: {RANGED}" if same else None
