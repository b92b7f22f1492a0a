"""Normal laws of sums of records of two classes, as exact rationals: mean and covariance from those of one record."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from fugu.laws.multinormal import Matrix, Row


@final
@dataclass(frozen=True)
class RecordLaw:
    """Mean and covariance of what one record of a class adds to the statistics."""

    mean: Row
    cov: Matrix

    @staticmethod
    def scaled(mean: Sequence[Fraction], cov: Sequence[Sequence[Fraction]], factors: Sequence[Fraction]) -> RecordLaw:
        """A m and A C A, A the diagonal matrix of the factors."""
        return RecordLaw(
            tuple(a * x for a, x in zip(factors, mean, strict=True)),
            tuple(
                tuple(a * b * x for b, x in zip(factors, row, strict=True)) for a, row in zip(factors, cov, strict=True)
            ),
        )

    def to_json(self) -> dict[str, object]:
        """The numbers exactly."""
        return {"mean": [str(x) for x in self.mean], "cov": [[str(x) for x in row] for row in self.cov]}


def mixed_law(
    one: RecordLaw, other: RecordLaw, spread_one: Fraction, spread_other: Fraction, k: int, rest: int
) -> tuple[Row, Matrix]:
    """k m_1 + rest m_0, and a C_1 + b C_0 with a, b the spreads.

    >>> unit, none = RecordLaw((Fraction(1),), ((Fraction(2),),)), RecordLaw((Fraction(0),), ((Fraction(1),),))
    >>> mixed_law(unit, none, Fraction(3), Fraction(4), 3, 4)
    ((Fraction(3, 1),), ((Fraction(10, 1),),))
    """
    mean = tuple(k * x + rest * y for x, y in zip(one.mean, other.mean, strict=True))
    cov = tuple(
        tuple(spread_one * x + spread_other * y for x, y in zip(r, s, strict=True))
        for r, s in zip(one.cov, other.cov, strict=True)
    )
    return mean, cov
