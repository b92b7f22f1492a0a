"""`Band`: limits of the distribution function."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.fixed import fixed
from fugu.laws.discrete import Discrete
from fugu.laws.sets.law_set import Floats, LimitedLaws, Path, declared, groups, law_of, member, radius_up, whole
from fugu.numbers.exact import Real, VectorLike, as_fraction


@final
class Band(LimitedLaws):
    """The laws with lower(x) <= P(X <= x) <= upper(x) at every declared value x.

    - `values`: the declared values, strictly increasing.
    - `lower`, `upper`: one number in [0, 1] per value, rounded outward; those at the last value are 1 for every law, so
      its `upper` must be 1 and its `lower` is taken as 1.

    Raises `BadLaw` if no law lies between. Limits are carried over by monotonicity (`lower` to the right, `upper` to
    the left), which changes no law of the band.

    The maximum is exact (`Path`).

    >>> band = Band([0, 1, 2], [0.25, 0.5, 1], [0.5, 0.75, 1])
    >>> band.top([1, 0, 0]), band.top([0, 1, 0]), band.bottom([0, 1, 0])
    (Fraction(1, 2), Fraction(1, 2), Fraction(0, 1))
    """

    kind: ClassVar[str] = "band"

    def _narrow(self, values: Floats, lower: Floats, upper: Floats) -> None:
        if upper[-1] != 1:
            raise BadLaw("the upper limit at the last declared value must be 1: every law has all its mass there")
        low = np.maximum.accumulate(lower)
        low[-1] = 1.0
        high = np.minimum.accumulate(upper[::-1])[::-1]
        crossed = np.flatnonzero(~(low <= high))  # NaN too
        if crossed.size:
            raise BadLaw(f"the limits of the band cross at position {crossed[0]}: no law lies between them")
        self._hold(values=values, lower=fixed(low), upper=fixed(high))

    @cached_property
    def path(self) -> Path:
        """The same laws as paths of their cumulated probabilities."""
        return Path.of(np.zeros(self.size), np.ones(self.size), self.lower, self.upper)

    def extremes(self, rows: Floats) -> Floats:
        """For every row of vectors the law that attains the maximum, in doubles."""
        return np.stack([self.path.extreme(row) for row in rows])

    def at(self, places: NDArray[np.int64], values: VectorLike) -> Band:
        """Values joined: the limits at the last value of each group. Exact: limits in between can be kept by a law
        whose distribution function rises, within each group, no earlier than it must."""
        index, onto = groups(places, values, self.size)
        ends = np.append(np.flatnonzero(np.diff(index)), self.size - 1)
        return Band.exactly(onto, self.lower[ends], self.upper[ends])

    def contains(self, weights: Sequence[Fraction | int]) -> bool:
        """Whether the law with these exact probabilities lies between the limits."""
        law = member(weights, self.size)
        if law is None:
            return False
        total = Fraction(0)
        for p, low, high in zip(law, self.lower.tolist(), self.upper.tolist(), strict=True):
            total += p
            if not Fraction(low) <= total <= Fraction(high):
                return False
        return True

    def centre(self) -> Discrete:
        """The law midway between the limits."""
        (low, high), total = whole(self.lower, self.upper)
        middle = [a + b for a, b in zip(low, high, strict=True)]
        return law_of(self.values, [b - a for a, b in zip([0, *middle[:-1]], middle, strict=True)], 2 * total)


def winf_ball(law: Discrete, radius: Real, values: VectorLike) -> Band:
    """The laws on the declared values within a distance of `law`: W_inf(p, law) <= radius.

    P(X <= x - r) <= F(x) <= P(X <= x + r): mass may move by at most r, so the laws are those of this band, exactly.

    - `law`: the centre, without error; its atoms need not be among the values.
    - `radius`: how far mass may move, at least 0.
    - `values`: the declared values, strictly increasing; at least one must be within the radius of each atom.

    >>> winf_ball(Discrete([0, 1, 2, 3]), 1, [0, 1, 2, 3]).upper
    array([0.5 , 0.75, 1.  , 1.  ])
    """
    there, reach = declared(values), as_fraction(radius)
    radius_up(radius, "the radius of a W_inf ball", None)
    if law.dimension != 1 or law.error:
        raise BadLaw("a W_inf ball here needs a law of numbers that is known without error")
    masses, total = law.masses.whole()
    atoms = [as_fraction(x) for x in law.values.tolist()]
    sums = [0]
    for mass in masses:
        sums.append(sums[-1] + mass)
    exact = [as_fraction(x) for x in there.tolist()]
    for atom, mass in zip(atoms, masses, strict=True):
        if mass and not any(abs(atom - x) <= reach for x in exact):
            raise BadLaw("no declared value is within the radius of some atom of the centre: the ball is empty")
    low, high = [], []
    for i, x in enumerate(exact):
        nxt = exact[i + 1] if i + 1 < len(exact) else None
        must = bisect_left(atoms, nxt - reach) if nxt is not None else len(atoms)  # those that reach no later value
        low.append(Fraction(sums[must], total))
        high.append(Fraction(sums[bisect_right(atoms, x + reach)], total))
    return Band(there, low, [*high[:-1], Fraction(1)])
