"""Jointly normal records moved by one coupling (corrected Proposition 6.4)."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from fugu.errors import UsageError
from fugu.guarantee.asks import plain
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, as_fraction, float_up, read_number
from fugu.priors.coupling import Case, Coupled, Floats, Price, Run, positions
from fugu.priors.gaussian_field import GaussianField
from fugu.priors.transitions import UNIT
from fugu.visible import Json

# If the records are jointly normal, then given X_i = a and X_i = b their laws differ by the fixed vector
# Cov(X, X_i) Var(X_i)^{-1} (b - a), so X' = X + that vector couples the two, and every record j moves by exactly
# |Cov(X_j, X_i)| / Var(X_i) |b - a|. Functions of a record that do not stretch distances (clipping) keep this bound.
#
# `AR1` is a stationary sequence of any length, of which the correlation of neighbours is known; `Correlated` is a
# `GaussianField`, one entry a record, with secrets that are a bounded distance apart. `TruncatedAR1` is another belief:
# it conditions on every entry lying in a box, which changes the law, and then pure epsilon exists.
#
# Proofs: docs/proofs/iterations.md#6-gaussian-data.


@dataclass(frozen=True)
class AR1(Coupled):
    """Stationary normal records with correlation `rho`^|i-j|, -1 < rho < 1; two secret values of one record are at most
    `distance` > 0 apart. Vectors: the same correlation in time for all coordinates, Cov(X_i, X_j) = rho^|i-j| S, norm
    l2."""

    rho: Real
    distance: Real = 1
    kind = "ar1"

    def __post_init__(self) -> None:
        if not is_number(self.rho) or not -1 < self.rho < 1:
            raise UsageError(
                f"rho, the correlation of neighbours, must lie strictly between -1 and 1, got {self.rho!r}"
            )
        _check_distance(self.distance)

    @classmethod
    def example(cls) -> AR1:
        return cls(Fraction(3, 10))

    def field(self, records: int) -> GaussianField:
        """The same law of that many `records`, with variance 1, entry by entry and exact."""
        return GaussianField.ar1(records, self.rho)

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        records = run.records
        moved = self._moved(records)

        def near(r: int) -> Case:
            return Case.sure(np.arange(records), moved[np.abs(np.arange(records) - (records - 1 - r))])

        def rest(r: int) -> Case:  # two-sided around record n - 1 - r, what lies beyond the end gathered at the last
            apart = np.arange(-(records - 1 - r), records)
            return Case.sure(np.minimum(records - 1 - r + apart, records - 1), moved[np.abs(apart)])

        return positions(run, near, rest, weigh)

    def _moved(self, records: int) -> Floats:
        """How far records 0, 1, 2, ... away move, from above."""
        rho, distance = abs(as_fraction(self.rho)), float_up(as_fraction(self.distance))
        with np.errstate(under="ignore", over="ignore"):
            powers = float_up(rho) ** np.arange(records)
            return np.asarray(distance * powers * (1 + (8 + np.arange(records)) * UNIT) + (5e-324 if rho else 0.0))

    def words(self) -> str:
        rho, distance = (plain(as_fraction(x)) for x in (self.rho, self.distance))
        return (
            f"the records are jointly normal with correlation {rho}^|i-j| between records i and j, the same for all "
            f"their coordinates; two values of a record are at most {distance} apart"
        )


class Correlated(Coupled):
    """Normal records with any covariance.

    `field`: a `GaussianField`, one entry per record; `distance`: how far apart two secret values of one record are at
    most, a finite number above 0. Raises `UsageError` for others."""

    kind = "correlated"
    field: GaussianField
    distance: Real

    def __init__(self, field: GaussianField, distance: Real = 1) -> None:
        if not isinstance(field, GaussianField):
            raise UsageError("give a fugu.GaussianField, one entry per record")
        _check_distance(distance)
        vars(self).update(field=field, distance=distance)

    def __repr__(self) -> str:
        return f"Correlated({self.field.size} records, distance {plain(as_fraction(self.distance))})"

    @classmethod
    def example(cls) -> Correlated:
        return cls(GaussianField.example(), Fraction(1, 2))

    @classmethod
    def of(cls, covariance: list[list[str]], distance: str) -> Correlated:
        return cls(GaussianField([[read_number(x) for x in row] for row in covariance]), read_number(distance))

    @property
    def entries(self) -> int:
        """One for each row of the covariance."""
        return self.field.size

    def weigh(self, run: Run, weigh: Callable[[Case], Price]) -> list[Price]:
        records = run.records
        if self.field.size != records:
            raise UsageError(f"the field has {self.field.size} entries for {records} records; give one for each")
        distance, found = as_fraction(self.distance), []
        for i, row in enumerate(self.field.covariance):
            moved = [float_up(abs(x) / row[i] * distance) for x in row]
            found.append(weigh(Case.sure(np.arange(records), moved)))
        return found

    def words(self) -> str:
        return (
            f"the {self.field.size} records are jointly normal with the stated covariance; two values of a record are "
            f"at most {plain(as_fraction(self.distance))} apart"
        )

    def parameters(self) -> Json:
        covariance = [[str(x) for x in row] for row in self.field.covariance]
        return {"kind": self.kind, "covariance": covariance, "distance": str(as_fraction(self.distance))}


def _check_distance(distance: Any) -> None:
    if not is_number(distance) or not 0 < distance < math.inf:
        raise UsageError("distance, between two values of one record, must be a finite number above 0")
