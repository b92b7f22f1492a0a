"""`Box`: limits of every probability."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.fixed import fixed
from fugu.laws.discrete import Discrete
from fugu.laws.masses import exact_sum
from fugu.laws.sets.law_set import Floats, LawSet, hexed, law_of
from fugu.laws.sets.path import Path
from fugu.laws.sets.reading import declared, groups, limits, member
from fugu.numbers.exact import VectorLike, float_down, float_up


@final
class Box(LawSet):
    """The laws p with lower(x) <= p(x) <= upper(x) at every declared value x.

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
    lower: Floats
    upper: Floats

    def __init__(self, values: VectorLike, lower: VectorLike, upper: VectorLike) -> None:
        there = declared(values)
        low = limits(lower, len(there), "lower", up=False)
        self._hold(values=there, lower=low, upper=limits(upper, len(there), "upper", up=True))
        self._check()

    def _check(self) -> None:
        crossed = np.flatnonzero(~(self.lower <= self.upper))  # NaN too
        if crossed.size:
            raise BadLaw(f"the lower limit at position {crossed[0]} is above the upper limit: no law lies between")
        if exact_sum(self.lower) > 1:
            raise BadLaw("the lower limits sum to more than 1: no law lies above all of them")
        if exact_sum(self.upper) < 1:
            raise BadLaw("the upper limits sum to less than 1: no law lies below all of them")

    @classmethod
    def exactly(cls, values: Floats, lower: Floats, upper: Floats) -> Box:
        """A box whose limits are these doubles, as the binary numbers that they are."""
        made = cls.__new__(cls)
        made._hold(values=fixed(values), lower=fixed(lower), upper=fixed(upper))
        made._check()
        return made

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

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """max_p sum p v, exactly. `v`: one rational per declared value."""
        return self.path.top(v)

    def _filled(self, v: Floats) -> Floats:
        """For every row of v the law that attains the maximum: steepest first."""
        order = np.argsort(-v, axis=1, kind="stable")
        room = (self.upper - self.lower)[order]
        before = np.cumsum(room, axis=1) - room
        taken = np.clip(float(self.free) - before, 0.0, room)
        filled = np.empty_like(taken)
        np.put_along_axis(filled, order, taken, axis=1)
        return filled + self.lower

    def tops(self, v: Floats) -> Floats:
        """max_p sum p v in doubles, for every row of `v` (m, n)."""
        rows = np.atleast_2d(np.asarray(v, dtype=np.float64))
        best: Floats = (self._filled(rows) * rows).sum(axis=1)
        return best

    def extreme(self, v: Floats) -> Floats:
        """A law of the box that attains max_p sum p v, in doubles. `v`: (n,)."""
        law: Floats = self._filled(np.asarray(v, dtype=np.float64)[None, :])[0]
        return law

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

    def to_json(self) -> dict[str, object]:
        """Values and limits, in hexadecimal."""
        rows = {"values": self.values, "lower": self.lower, "upper": self.upper}
        return {"kind": self.kind, **{name: hexed(row) for name, row in rows.items()}}

    def _key(self) -> tuple[object, ...]:
        return self.values.tobytes(), self.lower.tobytes(), self.upper.tobytes()

    def __repr__(self) -> str:
        return f"Box({self.size} values)"
