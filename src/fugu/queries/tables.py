"""Histograms and cross-tabulations of public groups: their cells, what is believed of one record's, the noise."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations, pairwise, product

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.driver import calibrate
from fugu.data import Schema, Table, private
from fugu.data.cells import OTHER
from fugu.data.private import label_of, why_text
from fugu.documents.plain_json import frozen
from fugu.documents.sentences import ONE_RECORD
from fugu.errors import BadTable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.laws import CellLaw, LawPair, Shifted
from fugu.loss.histograms import gaussian_delta
from fugu.mechanism import Mechanism
from fugu.mechanism.release import Once
from fugu.noise.gaussian import Gaussian
from fugu.queries.groups import LEAST_ROWS, TWO, Beliefs, Group, Mask, Rows, lacking
from fugu.visible import Json

# Histograms and cross-tabulations of public groups: what is believed of one record's cell, and the noise that follows.
#
# One record's secret tilts the law of its own cell and nothing else, so the loss is that of two laws of a cell,
# whatever the other records are, known ones included (docs/proofs/histograms.md). Two adversaries are protected
# against, as for sums: pooled laws, and laws given the group. Where the reference is too thin for laws, no belief is
# used at all.


CELLS = (
    "beliefs: the law of one record's cell given its secret, as the reference shows it; the other records may be "
    "anything that is independent of the record and its secret, even known"
)
NO_TOTALS = "no other exact count or total of this table is public, but its number of rows and those of its groups"
PLAIN = (
    "plain differential privacy: one record may be in any cell, and no belief is used, since a secret has fewer than "
    f"{LEAST_ROWS} rows of the reference here; changing one record changes the counts by at most 2 in all"
)
_ROUGH = 5e4
"""How finely sums are kept to see whether Gaussian noise could be the better one."""


@dataclass(frozen=True, eq=False)
class Tables:
    """The cells and secrets of the reference, from which every group's mechanism is worked out."""

    codes: NDArray[np.int64]
    """The cell of every row of the reference."""
    secrets: Mapping[str, Mask]
    cells: int
    budget: Pure | Approx
    stated: tuple[str, ...]
    schema: Schema
    by: str | None
    asked: Json
    """What is asked, in JSON types, for the certificates."""
    found: dict[Hashable, Mechanism] = field(default_factory=dict)
    """What was calibrated so far, by the laws: groups that share them share the work."""

    def mechanism(self, name: str, group: Group) -> Mechanism:
        """The least noise for the counts of a group."""
        laws = self._laws(group)
        key = tuple((who, *(law.tobytes() for law in given.values())) for who, given in laws.items())
        if key not in self.found:
            self.found[key] = self._calibrated(laws, group)
        found = self.found[key]
        told = {**self._told, "by": self.by, "group": name, "rows": len(group.rows)}
        sealed = found.certificate.amended(found.context.assumptions, ONE_RECORD, self._reading, told)
        return replace(found, certificate=sealed, once=Once())

    def beliefs(self, group: Group) -> Beliefs:
        """The laws of one record's cell for every adversary; that it moves two counts, where there are none."""
        return self._pairs(self._laws(group))

    def _laws(self, group: Group) -> dict[str, dict[str, NDArray[np.int64]]]:
        """{adversary: {secret: counts}}; empty where no belief is used."""
        if self._pooled is None or self.cells < 2:
            return {}
        if self.by is None or group.known is None:
            return {"": self._pooled}
        inside = self._counts(group.known)
        return {} if inside is None else {"adversary 1: ": self._pooled, "adversary 2: ": inside}

    @cached_property
    def _pooled(self) -> dict[str, NDArray[np.int64]] | None:
        return self._counts(None)

    @cached_property
    def _told(self) -> Json:
        return frozen(self.asked)  # type: ignore[no-any-return]

    @cached_property
    def _reading(self) -> Json:
        return frozen(self.schema.to_json())  # type: ignore[no-any-return]

    def _counts(self, rows: Rows | None) -> dict[str, NDArray[np.int64]] | None:
        """Counts of cells given each secret, among these rows of the reference; None if a secret has too few rows. A
        secret that has none is as protected as the others: then too no belief is used."""
        codes = self.codes if rows is None else self.codes[rows]
        masks = {label: mask if rows is None else mask[rows] for label, mask in self.secrets.items()}
        if len(masks) < 2 or any(int(mask.sum()) < LEAST_ROWS for mask in masks.values()):
            return None
        return {label: np.bincount(codes[mask], minlength=self.cells) for label, mask in masks.items()}

    def _pairs(self, laws: Mapping[str, Mapping[str, NDArray[np.int64]]]) -> Beliefs:
        if not laws and (self.cells < 2 or not self.budget.delta):
            return [Shifted(2)]
        if not laws:
            one, other = (CellLaw(np.eye(self.cells, dtype=np.int64)[k]) for k in (0, 1))
            return [LawPair(one, other, "any cell vs any other")]
        known = [(who, {label: CellLaw(counts) for label, counts in given.items()}) for who, given in laws.items()]
        return [
            LawPair(given[a], given[b], f"{who}{a} vs {b}") for who, given in known for a, b in combinations(given, 2)
        ]

    def _calibrated(self, laws: Mapping[str, Mapping[str, NDArray[np.int64]]], group: Group) -> Mechanism:
        """With its assumptions. Counts are what they are: no support of a law is used to move them."""
        found = self._least(self._pairs(laws), [list(given.values()) for given in laws.values()])
        more = (TWO,) if len(laws) > 1 else ()
        if laws and self.by is not None and group.known is None:
            more = (lacking(self.by),)
        beliefs = (CELLS, NO_TOTALS) if laws else (PLAIN,)
        context = replace(found.context, assumptions=(*self.stated, *more, *beliefs), unit=ONE_RECORD)
        return replace(found, context=context)

    def _least(self, pairs: Beliefs, laws: list[list[NDArray[np.int64]]]) -> Mechanism:
        """Laplace noise, or Gaussian noise where that has the smaller error: with a delta that is not small."""
        found = calibrate(pairs, self.budget, noise="laplace", grid=1)
        if self.budget.delta and self.cells > 1 and self._gaussian_may_win(found, laws):
            other = calibrate(pairs, self.budget, noise="gaussian", grid=1)
            return min(found, other, key=lambda m: m.noise.expected_error())
        return found

    def _gaussian_may_win(self, found: Mechanism, laws: list[list[NDArray[np.int64]]]) -> bool:
        """Whether Gaussian noise of the same expected error comes near the budget, seen roughly."""
        if found.noise.silent:
            return False
        ask = self.budget.asks()
        same = Gaussian(found.noise.expected_error() * math.sqrt(math.pi / 2), 1)
        pairs = [pair for given in laws for pair in combinations(given, 2)] or [(np.array([1, 0]), np.array([0, 1]))]
        target = float(ask.delta)
        rough = (
            gaussian_delta(p, q, same.precision, ask.epsilon, target, _ROUGH)
            for one, other in pairs
            for p, q in ((one, other), (other, one))
        )
        return all(value <= 1.5 * target for value in rough)


# The cells of a histogram or a cross-tabulation: public labels, and the cell of every row, reference or private.


_MOST = 10_000
Codes = NDArray[np.int64]


@dataclass(frozen=True)
class CountAxis:
    """One column of a table of counts: the labels of its cells, and how a row finds its own."""

    column: str
    labels: tuple[str, ...]
    edges: tuple[float, ...] | None = None

    def places(self, schema: Schema, table: Table) -> Codes:
        """The cell of every row, the last one where it is in none."""
        if self.edges is not None:
            inner = np.asarray(self.edges[1:-1], dtype=np.float64)
            return np.searchsorted(inner, private.numbers(schema, table, self.column), "right").astype(np.int64)
        codes = private.places(schema, table, self.column, self.labels[:-1])
        return np.where(codes < 0, len(self.labels) - 1, codes).astype(np.int64)


@dataclass(frozen=True)
class CountLayout:
    """All cells of a table of counts, also the empty ones, and each row's cell: the same function on both tables."""

    axes: tuple[CountAxis, ...]

    @property
    def labels(self) -> list[str]:
        """One label for each cell, the first column varying slowest."""
        return [" / ".join(parts) for parts in product(*(axis.labels for axis in self.axes))]

    @property
    def shape(self) -> tuple[int, ...]:
        """How many cells each column has."""
        return tuple(len(axis.labels) for axis in self.axes)

    def places(self, schema: Schema, table: Table) -> Codes:
        """The number of each row's cell."""
        place = np.zeros(len(table), dtype=np.int64)
        for axis in self.axes:
            place = place * len(axis.labels) + axis.places(schema, table)
        return place


def layout(reference: Table, schema: Schema, columns: tuple[str, ...], bins: Sequence[float] | None) -> CountLayout:
    """The cells that a reference and a schema make.

    Categories are those of the schema, or the numbers of the reference, and whatever the private table holds besides
    goes to "(other)": which cells there are says nothing about the private table. Many numbers need edges."""
    found = CountLayout(
        tuple(_axis(reference, schema, column, bins if len(columns) == 1 else None) for column in columns)
    )
    count = int(np.prod(found.shape))
    if count > _MOST:
        raise UsageError(f"there would be {count} cells; at most {_MOST} are released at once")
    return found


def _axis(reference: Table, schema: Schema, column: str, bins: Sequence[float] | None) -> CountAxis:
    known = schema.fields[column]
    if bins is not None:
        return _binned(schema, column, bins)
    if known.values is None:
        _, found = reference.exact(column).codes(strict=False)
        if known.numeric and len(found) > 50:
            raise UsageError(f"column {column!r} holds many different numbers; give bins (edges) for its histogram")
        labels = [label_of(value) for value in found.tolist()]
    else:
        labels = list(known.values)
    return CountAxis(column, (*(label for label in labels if label != OTHER), OTHER))


def _binned(schema: Schema, column: str, bins: Sequence[float]) -> CountAxis:
    if len(bins) < 2 or any(a >= b for a, b in pairwise(bins)):
        raise UsageError("bins must be at least two increasing edges")
    if not schema.fields[column].numeric:
        why = why_text(schema.fields[column].values or ())
        raise BadTable(f"column {column!r} holds text{why}; bins of numbers do not fit it")
    return CountAxis(column, tuple(f"{a:g} to {b:g}" for a, b in pairwise(bins)), tuple(float(edge) for edge in bins))
