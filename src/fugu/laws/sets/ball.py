"""`Ball`: the laws near one law, in total variation or in Kullback-Leibler divergence."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cached_property
from typing import ClassVar, Literal, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw, UnknownName
from fugu.laws.discrete import Discrete
from fugu.laws.sets import divergence, variation
from fugu.laws.sets.law_set import Floats, LawSet, hexed
from fugu.laws.sets.reading import groups, member, radius_up, vector
from fugu.numbers.exact import Real, VectorLike

_KINDS = ("tv", "kl")


@final
class Ball(LawSet):
    """The laws p near a centre c: TV(c, p) = max_A |c(A) - p(A)| <= radius, or KL(c, p) = sum c ln(c / p) <= radius.

    - `centre`: a `Discrete` law of numbers, known without error; its values are the declared ones, so declare a value
      that was not seen with the weight 0.
    - `radius`: at least 0, for total variation at most 1; rounded up where a double cannot hold it.
    - `kind`: "tv", or "kl" for the divergence *from* the centre, under which values of weight 0 may take mass.

    Raises `BadLaw` for others. The maximum is exact for "tv"; for "kl" it is a rational above it by about 1e-30 of the
    spread of v, from the dual line of the confidence notes: for every nu above v,
    sum p (nu - v) >= exp(sum c ln(nu - v) - radius), by Jensen.

    >>> Ball(Discrete([0, 1, 2], [2, 1, 1]), 0.25).top([0, 0, 1])
    Fraction(1, 2)
    """

    kind: ClassVar[str] = "ball"
    radius: float
    distance: Literal["tv", "kl"]
    _centre: Discrete

    def __init__(self, centre: Discrete, radius: Real, kind: Literal["tv", "kl"] = "tv") -> None:
        if kind not in _KINDS:
            raise UnknownName("kind of ball", kind, _KINDS)
        if not isinstance(centre, Discrete) or centre.dimension != 1:
            raise BadLaw(f"the centre of a ball is a Discrete law of numbers, got {type(centre).__name__}")
        if centre.error:
            raise BadLaw("the centre of a ball must be known without error; add its error to the radius")
        size = radius_up(radius, "the radius of a ball", 1 if kind == "tv" else None)
        self._hold(values=centre.values, _centre=centre, radius=size, distance=kind)

    @cached_property
    def masses(self) -> tuple[list[int], int]:
        """The centre's masses as integers over a total."""
        return self._centre.masses.whole()

    @cached_property
    def weights(self) -> Floats:
        """The centre's probabilities in doubles."""
        return self._centre.weights

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """max_p sum p v: exact for "tv", a rational just above it for "kl". `v`: one rational per declared value."""
        numbers, common = vector(v, self.size)
        if self.distance == "tv":
            return variation.top(*self.masses, Fraction(self.radius), numbers) / common
        return divergence.top(*self.masses, self.radius, numbers) / common

    def tops(self, v: Floats) -> Floats:
        """max_p sum p v in doubles, for every row of `v` (m, n)."""
        rows = np.atleast_2d(np.asarray(v, dtype=np.float64))
        best: Floats = (self._extremes(rows) * rows).sum(axis=1)
        return best

    def extreme(self, v: Floats) -> Floats:
        """A law of the ball that attains max_p sum p v, in doubles. `v`: (n,)."""
        law: Floats = self._extremes(np.asarray(v, dtype=np.float64)[None, :])[0]
        return law

    def _extremes(self, rows: Floats) -> Floats:
        if self.distance == "tv":
            return variation.extremes(self.weights, self.radius, rows)
        return divergence.extremes(self.weights, self.radius, rows)

    def top_ball(self, v: Sequence[arb]) -> arb:
        """A proved upper bound of max_p sum p v for every vector in the balls."""
        if self.distance == "tv" or not all(x.is_finite() for x in v):
            return super().top_ball(v)
        return divergence.top_ball(*self.masses, self.radius, [x.upper() for x in v])

    def at(self, places: NDArray[np.int64], values: VectorLike) -> Ball:
        """Values joined: the centre's masses add up, the radius stays. Exact: joining brings no two laws farther apart,
        and a law near the joined centre splits its masses as the centre does."""
        index, onto = groups(places, values, self.size)
        centre = Discrete._with_error(onto, self._centre.masses.scatter(index, len(onto)), 0.0)
        return self._with(centre)

    def _with(self, centre: Discrete) -> Ball:
        made = Ball.__new__(Ball)
        made._hold(values=centre.values, _centre=centre, radius=self.radius, distance=self.distance)
        return made

    def contains(self, weights: Sequence[Fraction | int]) -> bool:
        """Whether the law with these exact probabilities is in the ball; for "kl" proved in balls of 2,000 bits, and
        False in the unseen case that these cannot decide."""
        law = member(weights, self.size)
        if law is None:
            return False
        centre = [Fraction(m, self.masses[1]) for m in self.masses[0]]
        if self.distance == "tv":
            return sum(abs(a - b) for a, b in zip(centre, law, strict=True)) <= 2 * Fraction(self.radius)
        return divergence.within(centre, law, self.radius)

    def centre(self) -> Discrete:
        """The centre."""
        return self._centre

    def to_json(self) -> dict[str, object]:
        """Values and radius in hexadecimal, the centre's masses over their total as whole numbers."""
        parts, total = self.masses
        centre = {"parts": [hex(p) for p in parts], "total": hex(total)}
        shared = {"values": hexed(self.values), "centre": centre, "radius": float(self.radius).hex()}
        return {"kind": self.kind, "distance": self.distance, **shared}

    def _key(self) -> tuple[object, ...]:
        return self._centre, self.radius, self.distance

    def __repr__(self) -> str:
        return f"Ball({self._centre!r}, {self.radius:.6g}, kind={self.distance!r})"
