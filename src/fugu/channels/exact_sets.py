"""The least and the largest mean of whole numbers over a law, or over a set of laws, exactly."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

from fugu.laws.masses import Masses

if TYPE_CHECKING:
    from fugu.laws.sets.law_set import LawSet


class Extremes:
    """max and min of sum_x p(x) v_x over p in a set of laws, in rationals; both are the mean for a single law.

    - `law`: the law, or the set; for a set the largest is `law.top`, an exact upper bound where it is not the maximum.
    """

    def __init__(self, law: Masses | LawSet) -> None:
        self.law = law
        if isinstance(law, Masses):
            parts, total = law.whole()
            self.support = [(x, part) for x, part in enumerate(parts) if part]
            self.total = total

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """The largest mean, or more."""
        return self._mean(v) if isinstance(self.law, Masses) else self.law.top(v)

    def bottom(self, v: Sequence[Fraction | int]) -> Fraction:
        """The least mean, or less."""
        return self._mean(v) if isinstance(self.law, Masses) else -self.law.top([-a for a in v])

    def _mean(self, v: Sequence[Fraction | int]) -> Fraction:
        return Fraction(sum(part * v[x] for x, part in self.support)) / self.total
