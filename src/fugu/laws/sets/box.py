"""`Box`: limits of every probability; `Band`: of the distribution function; `Intersection`: what sets share."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.fixed import fixed
from fugu.laws.discrete import Discrete
from fugu.laws.masses import exact_sum
from fugu.laws.sets.law_set import (
    Floats,
    LawSet,
    LimitedLaws,
    Path,
    declared,
    groups,
    law_json,
    law_of,
    member,
    radius_up,
    whole,
)
from fugu.numbers.exact import Real, VectorLike, as_fraction, float_down, float_up


@final
class Box(LimitedLaws):
    """All laws whose probabilities lie between limits: those p with lower(x) <= p(x) <= upper(x) at every declared
    value x.

    - `values`: the declared values, strictly increasing; codes 0, 1, 2, ... for categories.
    - `lower`, `upper`: one number in [0, 1] per value, rounded outward where a double cannot hold it.

    Raises `BadLaw` if no law lies between the limits. The maximum of sum p v is exact: what the lower limits leave
    free goes to the values with the largest v first.

    >>> from fractions import Fraction
    >>> box = Box([0, 1, 2], [0.25, 0.25, 0], [0.5, 0.5, 0.5])
    >>> box.top([0, 0, 1]), box.bottom([0, 0, 1])
    (Fraction(1, 2), Fraction(0, 1))
    """

    kind: ClassVar[str] = "box"

    def _narrow(self, values: Floats, lower: Floats, upper: Floats) -> None:
        self._hold(values=values, lower=fixed(lower), upper=fixed(upper))
        crossed = np.flatnonzero(~(self.lower <= self.upper))  # NaN too
        if crossed.size:
            raise BadLaw(f"the lower limit at position {crossed[0]} is above the upper limit: no law lies between")
        if exact_sum(self.lower) > 1:
            raise BadLaw("the lower limits sum to more than 1: no law lies above all of them")
        if exact_sum(self.upper) < 1:
            raise BadLaw("the upper limits sum to less than 1: no law lies below all of them")

    @classmethod
    def everything(cls, values: VectorLike) -> Box:
        """Every law on the declared values."""
        there = declared(values)
        return cls.exactly(there, np.zeros(len(there)), np.ones(len(there)))

    @cached_property
    def path(self) -> Path:
        """The same laws as paths of their cumulated probabilities."""
        high = np.ones(self.size)
        low = np.zeros(self.size)
        low[-1] = 1.0
        return Path.of(self.lower, self.upper, low, high)

    @cached_property
    def free(self) -> Fraction:
        """1 - sum of the lower limits: the mass that may be moved."""
        return 1 - exact_sum(self.lower)

    def extremes(self, rows: Floats) -> Floats:
        """For every row of vectors the law that attains the maximum: steepest first."""
        order = np.argsort(-rows, axis=1, kind="stable")
        room = (self.upper - self.lower)[order]
        before = np.cumsum(room, axis=1) - room
        taken = np.clip(float(self.free) - before, 0.0, room)
        filled = np.empty_like(taken)
        np.put_along_axis(filled, order, taken, axis=1)
        return filled + self.lower

    def at(self, places: NDArray[np.int64], values: VectorLike) -> Box:
        """Values joined: limits add up, and none is above 1. Exact, up to outward rounding of a sum.

        Every law between the summed limits is one: split each joined mass between the limits of its parts."""
        index, onto = groups(places, values, self.size)
        if len(onto) == self.size:
            return Box.exactly(onto, self.lower, self.upper)
        parts = np.split(np.arange(self.size), np.flatnonzero(np.diff(index)) + 1)
        lower = np.array([float_down(exact_sum(self.lower[part])) for part in parts])
        upper = np.array([float_up(min(Fraction(1), exact_sum(self.upper[part]))) for part in parts])
        return Box.exactly(onto, lower, upper)

    def contains(self, weights: Sequence[Fraction | int]) -> bool:
        """Whether the law with these exact probabilities lies between the limits."""
        law = member(weights, self.size)
        ends = zip(law or (), self.lower.tolist(), self.upper.tolist(), strict=law is not None)
        return law is not None and all(Fraction(a) <= p <= Fraction(b) for p, a, b in ends)

    def centre(self) -> Discrete:
        """The law that fills every interval by the same share."""
        lower, width, total = self.path.lower, self.path.width, self.path.total
        free, room = total - sum(lower), sum(width)
        if not room:
            return law_of(self.values, lower, total)
        return law_of(self.values, [a * room + w * free for a, w in zip(lower, width, strict=True)], total * room)


@final
class Band(LimitedLaws):
    """All laws whose distribution function lies between limits: those with lower(x) <= P(X <= x) <= upper(x) at every
    declared value x.

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


@final
class Intersection(LawSet):
    """The laws that lie in every one of several sets with the same declared values.

    `sets`: `Box`, `Band`, `Ball`, `Hull` or `Intersection`, at least one. `middle`: a `Discrete` law in all of them, to
    show and to weigh errors by; None: one is looked for. Raises `BadLaw` if boxes and bands leave no law, and for a
    middle that is in not every set.

    Boxes and bands together are one set of paths (`Path`), whose maximum is exact. With balls and hulls the least of
    the parts' maxima is taken, which is an upper bound: a law of the intersection is in each part.

    >>> both = Intersection([Box([0, 1], [0, 0.25], [1, 1]), Band([0, 1], [0.5, 1], [1, 1])])
    >>> both.top([1, 0]), both.bottom([1, 0])
    (Fraction(3, 4), Fraction(1, 2))
    """

    kind: ClassVar[str] = "intersection"
    sets: tuple[LawSet, ...]
    middle: Discrete | None

    def __init__(self, sets: Iterable[LawSet], middle: Discrete | None = None) -> None:
        given = tuple(sets)
        if not given:
            raise BadLaw("an intersection needs at least one set of laws")
        for each in given:
            if not isinstance(each, LawSet):
                raise BadLaw(f"an intersection holds sets of laws (Box, Band, Ball, Hull), got {type(each).__name__}")
            if not np.array_equal(each.values, given[0].values):
                raise BadLaw("the sets of an intersection must declare the same values")
        flat = tuple(part for each in given for part in (each.sets if isinstance(each, Intersection) else (each,)))
        self._hold(values=given[0].values, sets=flat, middle=middle)
        _ = self.path  # refuses limits that contradict each other
        if middle is not None and not (np.array_equal(middle.values, self.values) and self._holds(middle)):
            raise BadLaw("the middle of an intersection must be a law that is in all of its sets")

    @cached_property
    def boxes(self) -> tuple[Box, ...]:
        """The boxes among the sets."""
        return tuple(part for part in self.sets if isinstance(part, Box))

    @cached_property
    def bands(self) -> tuple[Band, ...]:
        """The bands among the sets."""
        return tuple(part for part in self.sets if isinstance(part, Band))

    @cached_property
    def others(self) -> tuple[LawSet, ...]:
        """The balls and hulls among the sets."""
        return tuple(part for part in self.sets if not isinstance(part, Box | Band))

    @cached_property
    def path(self) -> Path | None:
        """The laws in all boxes and bands; None if there are neither."""
        if not self.boxes and not self.bands:
            return None
        zero, one = np.zeros(self.size), np.ones(self.size)
        end = zero.copy()
        end[-1] = 1.0
        lower = np.maximum.reduce([zero, *(box.lower for box in self.boxes)])
        upper = np.minimum.reduce([one, *(box.upper for box in self.boxes)])
        low = np.maximum.reduce([end, *(band.lower for band in self.bands)])
        high = np.minimum.reduce([one, *(band.upper for band in self.bands)])
        crossed = np.flatnonzero(lower > upper)
        if crossed.size:
            raise BadLaw(f"the intersection is empty: its boxes do not meet at position {crossed[0]}")
        return Path.of(lower, upper, low, high)

    @cached_property
    def exact(self) -> bool:
        """Whether `top` is the maximum itself, not only a bound: boxes and bands only, or one set."""
        return not self.others or len(self.sets) == 1

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """The maximum for boxes and bands; with others the least of the maxima. `v`: one rational per value."""
        found = [part.top(v) for part in self.others]
        return min([self.path.top(v), *found] if self.path is not None else found)

    def tops(self, v: Floats) -> Floats:
        """The same in doubles, for every row of `v` (m, n)."""
        rows = np.atleast_2d(np.asarray(v, dtype=np.float64))
        found = [part.tops(rows) for part in self.others]
        if self.path is not None:
            alone = self.sets[0] if len(self.boxes) + len(self.bands) == 1 and not self.others else self.path
            found.append(alone.tops(rows))
        best: Floats = np.minimum.reduce(found)
        return best

    def top_ball(self, v: Sequence[arb]) -> arb:
        """A proved upper bound for every vector in the balls."""
        if self.path is None:
            return min((part.top_ball(v) for part in self.others), key=lambda x: x.upper())
        return super().top_ball(v)

    def extremes(self, rows: Floats) -> Floats:
        """Laws that attain the maximum over boxes and bands; with others those of the set whose maximum is least,
        which need not lie in all of them."""
        parts: list[Any] = [*self.others, *([] if self.path is None else [self.path])]
        return np.stack([min((part.extreme(row) for part in parts), key=lambda law: float(law @ row)) for row in rows])

    def at(self, places: NDArray[np.int64], values: VectorLike) -> Intersection:
        """Values joined in every set: at least the image of the intersection."""
        there = np.asarray(values, dtype=np.float64)
        middle = self.middle
        if middle is not None:
            middle = Discrete._with_error(there, middle.masses.scatter(np.asarray(places), len(there)), 0.0)
        return Intersection([part.at(places, values) for part in self.sets], middle)

    def contains(self, weights: Sequence[Fraction | int]) -> bool:
        """Whether the law with these exact probabilities is in every set."""
        return all(part.contains(weights) for part in self.sets)

    def centre(self) -> Discrete:
        """A law of the intersection: the one stated, the centre of a part that lies in all, or a law between the
        limits."""
        if self.middle is not None:
            return self.middle
        tries = [part.centre() for part in self.others]
        if self.path is not None:
            tries.append(law_of(self.values, self.path.middle, self.path.total))
        for law in tries:
            if self._holds(law):
                return law
        raise BadLaw("no law was found that lies in all sets of the intersection; it may be empty")

    def _holds(self, law: Discrete) -> bool:
        parts, total = law.masses.whole()
        return self.contains([Fraction(p, total) for p in parts])

    def to_json(self) -> dict[str, object]:
        """The sets, one by one, and the middle if one is stated."""
        stated = {} if self.middle is None else {"middle": law_json(self.middle)}
        return {"kind": self.kind, "sets": [part.to_json() for part in self.sets], **stated}

    def _key(self) -> tuple[object, ...]:
        return (*self.sets, self.middle)

    def __repr__(self) -> str:
        return f"Intersection({', '.join(map(repr, self.sets))})"
