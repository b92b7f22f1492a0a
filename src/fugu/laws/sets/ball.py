"""`Ball`: the laws near one law; `Hull`: the mixtures of named laws; sets of every kind read back from JSON."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw, CertificateError, UnknownName, UsageError
from fugu.fixed import fixed
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses
from fugu.laws.sets.box import Band, Box, Intersection
from fugu.laws.sets.law_set import (
    Floats,
    LawSet,
    declared,
    exact,
    groups,
    hexed,
    law_json,
    law_of,
    member,
    radius_up,
    vector,
)
from fugu.numbers.balls import of, precision
from fugu.numbers.exact import Real, VectorLike, echelon, read_whole
from fugu.visible import several

_KINDS = ("tv", "kl")


@final
class Ball(LawSet):
    """The laws p near a centre c: TV(c, p) = max_A |c(A) - p(A)| <= radius, or KL(c, p) = sum c ln(c / p) <= radius.

    - `centre`: a `Discrete` law of numbers, known without error; its values are the declared ones, so declare a value
      that was not seen with the weight 0.
    - `radius`: at least 0, for total variation at most 1; rounded up where a double cannot hold it.
    - `kind`: "tv", or "kl" for the divergence *from* the centre, under which values of weight 0 may take mass.

    Raises `BadLaw` for others. The maximum is exact for "tv"; for "kl" it is a rational above it by about 1e-30 of the
    spread of v, by its dual (docs/proofs/sets.md): for every nu above v,
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
        (numbers, common), (masses, total) = vector(v, self.size), self.masses
        if self.distance == "kl":
            return top_in_divergence(masses, total, self.radius, numbers) / common
        # p = c - z + z', z <= c and both of mass r <= radius: the mass with the least v moves to the largest
        best, gain, left = max(numbers), Fraction(0), Fraction(self.radius) * total
        for x, mass in sorted(zip(numbers, masses, strict=True)):
            step = min(left, Fraction(mass))
            gain, left = gain + step * (best - x), left - step
            if left <= 0:
                break
        return (sum(m * x for m, x in zip(masses, numbers, strict=True)) + gain) / total / common

    def extremes(self, rows: Floats) -> Floats:
        """For every row of vectors a law of the ball that attains the maximum, in doubles."""
        if self.distance == "kl":
            return extremes_in_divergence(self.weights, self.radius, rows)
        order = np.argsort(rows, axis=1, kind="stable")
        there = self.weights[order]
        before = np.cumsum(there, axis=1) - there
        moved = np.clip(self.radius - before, 0.0, there)
        left = there - moved
        left[:, -1] += moved.sum(axis=1)
        found = np.empty_like(left)
        np.put_along_axis(found, order, left, axis=1)
        return found

    def at(self, places: NDArray[np.int64], values: VectorLike) -> Ball:
        """Values joined: the centre's masses add up, the radius stays. Exact: joining brings no two laws farther apart,
        and a law near the joined centre splits its masses as the centre does."""
        index, onto = groups(places, values, self.size)
        centre = Discrete._with_error(onto, self._centre.masses.scatter(index, len(onto)), 0.0)
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
        if centre == law or any(c and not p for c, p in zip(centre, law, strict=True)):
            return centre == law
        bits = 64
        while bits <= _SHARPEST:
            with precision(bits):
                terms = (of(c) * (of(c) / of(p)).log() for c, p in zip(centre, law, strict=True) if c)
                gap = arb(self.radius) - sum(terms, arb(0))
                if gap > 0 or gap < 0:
                    return bool(gap > 0)
            bits *= 2
        return False

    def centre(self) -> Discrete:
        """The centre."""
        return self._centre

    def to_json(self) -> dict[str, object]:
        """Values and radius in hexadecimal, the centre's masses over their total as whole numbers."""
        shared = {"values": hexed(self.values), "centre": law_json(self._centre), "radius": float(self.radius).hex()}
        return {"kind": self.kind, "distance": self.distance, **shared}

    def _key(self) -> tuple[object, ...]:
        return self._centre, self.radius, self.distance

    def __repr__(self) -> str:
        return f"Ball({self._centre!r}, {self.radius:.6g}, kind={self.distance!r})"


@final
class Hull(LawSet):
    """The mixtures of finitely many laws: what holds for each of them holds for every adversary who doubts which.

    - `laws`: one `Discrete` law of numbers or several, each known without error.
    - `values`: the declared values; by default all values of the laws. Every atom must be among them.

    Raises `BadLaw` for others. A linear function is largest at one of the laws, so the maximum is exact.

    >>> hull = Hull([Discrete([0, 1], [3, 1]), Discrete([1, 2], [1, 1])])
    >>> hull.top([0, 0, 1]), hull.top([0, 1, 0])
    (Fraction(1, 2), Fraction(1, 2))
    """

    kind: ClassVar[str] = "hull"
    laws: tuple[Discrete, ...]

    def __init__(self, laws: Iterable[Discrete], values: VectorLike | None = None) -> None:
        given = tuple(laws)
        if not given:
            raise BadLaw("a hull needs at least one law")
        for law in given:
            if not isinstance(law, Discrete) or law.dimension != 1:
                raise BadLaw(f"a hull holds Discrete laws of numbers, got {type(law).__name__}")
            if law.error:
                raise BadLaw("a hull holds laws that are known without error; use a Ball around one that is not")
        there = declared(np.unique(np.concatenate([law.values for law in given])) if values is None else values)
        spread = []
        for law in given:  # with every declared value among its atoms
            at = np.searchsorted(there, law.values)
            if np.any(at == len(there)) or np.any(there[np.minimum(at, len(there) - 1)] != law.values):
                raise BadLaw(
                    "a law has an atom that is not among the declared values; declare every value that may occur"
                )
            spread.append(Discrete._with_error(there, law.masses.scatter(at, len(there)), 0.0))
        self._hold(values=there, laws=tuple(spread))

    @cached_property
    def weights(self) -> Floats:
        """All probabilities in doubles, one row per law."""
        return fixed(np.stack([law.weights for law in self.laws]))

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """max_p sum p v, exactly. `v`: one rational per declared value."""
        numbers, common = vector(v, self.size)
        whole = (law.masses.whole() for law in self.laws)
        return max(
            Fraction(sum(m * x for m, x in zip(mass, numbers, strict=True)), total * common) for mass, total in whole
        )

    def extremes(self, rows: Floats) -> Floats:
        """For every row of vectors the law that attains the maximum, in doubles."""
        best: Floats = self.weights[np.argmax(rows @ self.weights.T, axis=1)]
        return best

    def at(self, places: NDArray[np.int64], values: VectorLike) -> Hull:
        """Values joined: the masses of every law add up, exactly."""
        index, onto = groups(places, values, self.size)
        moved = (law.masses.scatter(index, len(onto)) for law in self.laws)
        return Hull([Discrete._with_error(onto, mass, 0.0) for mass in moved], onto)

    def contains(self, weights: Sequence[Fraction | int]) -> bool:
        """Whether the law with these exact probabilities is a mixture of the laws."""
        law = member(weights, self.size)
        return law is not None and is_mixture(law, [_fractions(each.masses) for each in self.laws])

    def centre(self) -> Discrete:
        """The mean of the laws."""
        rows = [_fractions(law.masses) for law in self.laws]
        return Discrete(self.values, [sum(column, Fraction(0)) / len(rows) for column in zip(*rows, strict=True)])

    def to_json(self) -> dict[str, object]:
        """Values, and every law's masses over their total as whole numbers."""
        return {"kind": self.kind, "values": hexed(self.values), "laws": [law_json(law) for law in self.laws]}

    def _key(self) -> tuple[object, ...]:
        return self.values.tobytes(), self.laws

    def __repr__(self) -> str:
        return f"Hull({several(len(self.laws), 'law')} on {self.size} values)"


# Linear functions over a ball in Kullback-Leibler divergence, KL(c, p) = sum c ln(c / p) <= r.
#
# For every nu > max v and every p in the ball, with Jensen's inequality for the logarithm,
#
#     nu - sum p v >= sum c (p / c) (nu - v) >= exp( sum c ln(p (nu - v) / c) ) >= exp( sum c ln(nu - v) - r ),
#
# so any nu gives an upper bound nu - exp(sum c ln(nu - v) - r) of sum p v; nu = max v is allowed where c has no mass
# there. The search in doubles only chooses nu. The bound is attained by p = k c / (nu - v) with k = exp(sum c ln(nu -
# v)
# - r), where that is a law; with nu = max v the rest of the mass is put on the maximum.


_BITS = 160
_SHARPEST = 2000
_STEPS = 66
_CLOSE = 2.0**-600


def top_in_divergence(masses: Sequence[int], total: int, radius: float, v: Sequence[int]) -> Fraction:
    """A rational at or above max { sum p v : KL(c, p) <= radius }, with c = masses / total."""
    low, high = min(v), max(v)
    if low == high:
        return Fraction(high)
    if radius == 0:
        return Fraction(sum(m * x for m, x in zip(masses, v, strict=True)), total)
    spread = high - low
    shares = np.array([Fraction(high - x, spread) for x in v], dtype=np.float64)  # 0 at the maximum, 1 at the minimum
    gap = float(_gaps(np.array([m / total for m in masses]), radius, shares[None, :])[0])
    if gap == 0 and any(m for m, x in zip(masses, v, strict=True) if x == high):
        gap = _CLOSE  # mass at the maximum that doubles do not see: any positive gap is a bound
    exact_gap = Fraction(gap)
    with precision(_BITS + max(0, math.frexp(gap)[1])):
        gaps = [of(exact_gap + Fraction(high - x, spread)) for x in v]  # positive where c has mass
        mean = sum((gap.log() * m for m, gap in zip(masses, gaps, strict=True) if m), arb(0)) / total
        bound = (mean - arb(radius)).exp()
        found = min(exact((of(exact_gap) - bound).upper()), Fraction(0))  # in units of the spread, above `high`
    return high + found * spread


def _gaps(centre: Floats, radius: float, shares: Floats) -> Floats:
    """nu - max v for every row of shares (max v - v) / spread: where the bound is least, in doubles.

    The derivative of the bound vanishes where ln sum c / (nu - v) + sum c ln(nu - v) = radius; the left-hand side falls
    in nu, to 0. With mean share m and t = (share - m) / (gap + m) it is sum c ln(1 + t) + ln(1 - sum c t / (1 + t))."""
    mean = shares @ centre
    low, high = np.full(len(shares), -600.0), np.full(len(shares), 60.0)
    if radius > 0:
        high = np.minimum(high, np.maximum(0.0, 2.0 - 0.5 * math.log(radius)) + 1.0)

    def excess(gap: Floats) -> Floats:
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            t = (shares - mean[:, None]) / (gap + mean)[:, None]
            there = np.where(centre > 0, t, 0.0)
            one = np.log1p(there) @ centre
            two = np.log1p(-((there / (1.0 + there)) @ centre))
            direct = np.where(centre > 0, np.log(gap[:, None] + shares), 0.0) @ centre
            direct = direct + np.log(np.where(centre > 0, 1.0 / (gap[:, None] + shares), 0.0) @ centre)
            far = np.abs(there).max(axis=1) < 0.5  # where logarithms near 0 would cancel
            found: Floats = np.where(far, one + two, direct) - radius
        return np.where(np.isnan(found), np.inf, found)

    unseen = excess(np.zeros(len(shares))) <= 0  # the maximum has no mass in the centre, and the radius reaches it
    for _ in range(_STEPS):
        middle = 0.5 * (low + high)
        above = excess(np.exp(middle)) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.where(unseen, 0.0, np.exp(high))


def extremes_in_divergence(centre: Floats, radius: float, rows: Floats) -> Floats:
    """For every row of v a law of the ball that attains the maximum, in doubles."""
    high, low = rows.max(axis=1), rows.min(axis=1)
    spread = np.where(high > low, high - low, 1.0)
    shares = (high[:, None] - rows) / spread[:, None]
    gap = _gaps(centre, radius, shares) if radius > 0 else np.full(len(rows), np.inf)
    found = np.repeat(centre[None, :], len(rows), axis=0)
    moves = np.isfinite(gap) & (high > low)
    above = gap[moves, None] + shares[moves]
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.where(centre > 0, np.log(above), 0.0) @ centre - radius
        tilted = np.where(centre > 0, centre * np.exp(logs[:, None] - np.log(above)), 0.0)
    rest = np.maximum(0.0, 1.0 - tilted.sum(axis=1))
    tilted[np.arange(len(tilted)), np.argmin(shares[moves], axis=1)] += rest
    found[moves] = tilted / tilted.sum(axis=1, keepdims=True)
    return found


def _fractions(masses: Masses) -> list[Fraction]:
    parts, total = masses.whole()
    return [Fraction(p, total) for p in parts]


def is_mixture(law: Sequence[Fraction], laws: Sequence[Sequence[Fraction]]) -> bool:
    """Whether law = sum_k c_k laws[k] for some c >= 0 (which then sum to 1, as all are laws).

    Gaussian elimination leaves as many equations as the laws have independent ones; the first phase of the simplex
    method, with Bland's rule, then finds c or proves that there is none.

    >>> half, third = Fraction(1, 2), Fraction(1, 3)
    >>> is_mixture([half, half], [[1, 0], [third, 2 * third]]), is_mixture([0, 1], [[1, 0], [third, 2 * third]])
    (True, False)
    """
    count = len(laws)
    found = echelon([[Fraction(row[i]) for row in laws] + [Fraction(law[i])] for i in range(len(law))])
    if any(pivot == count for pivot, _ in found):
        return False
    table = [[-x for x in row] if row[-1] < 0 else row for _, row in found]
    basis = [count + i for i in range(len(table))]  # artificial variables, one per equation
    while True:
        gains = [
            sum((row[j] for row, b in zip(table, basis, strict=True) if b >= count), Fraction(0))
            for j in range(count + 1)
        ]
        if not gains[-1]:
            return True
        enter = next((j for j in range(count) if gains[j] > 0 and j not in basis), -1)
        if enter < 0:
            return False
        ratios = [(row[-1] / row[enter], basis[i], i) for i, row in enumerate(table) if row[enter] > 0]
        out = min(ratios)[2]
        scale = table[out][enter]
        table[out] = [x / scale for x in table[out]]
        for i, row in enumerate(table):
            if i != out and row[enter]:
                table[i] = [x - row[enter] * y for x, y in zip(row, table[out], strict=True)]
        basis[out] = enter


def law_set_from(found: dict[str, Any]) -> LawSet:
    """The set that `to_json` wrote, checked like one that a user gives; `CertificateError` for anything else.

    `found`: the JSON object of one set."""
    try:
        kind = found["kind"]
        if kind == Intersection.kind:
            sets = [law_set_from(part) for part in found["sets"]]
            return Intersection(sets, _law(sets[0].values, found["middle"]) if "middle" in found else None)
        values = declared([float.fromhex(x) for x in found["values"]])
        if kind == Ball.kind:
            return Ball(_law(values, found["centre"]), Fraction(float.fromhex(found["radius"])), found["distance"])
        if kind == Hull.kind:
            return Hull([_law(values, law) for law in found["laws"]], values)
        lower, upper = (np.array([float.fromhex(x) for x in found[name]]) for name in ("lower", "upper"))
        if not len(values) == len(lower) == len(upper):
            raise BadLaw("values and limits differ in number")
        if not all(np.all((row >= 0) & (row <= 1)) for row in (lower, upper)):
            raise BadLaw("a limit is outside its range")
        return {Box.kind: Box, Band.kind: Band}[kind].exactly(values, lower, upper)
    except (KeyError, TypeError, AttributeError, OverflowError, UsageError, ValueError, RecursionError) as error:
        why = f": {error}" if isinstance(error, BadLaw) else ""
        raise CertificateError(f"a set of laws in the document cannot be read{why}") from None


def _law(values: Floats, found: dict[str, Any]) -> Discrete:
    parts, total = [read_whole(p) for p in found["parts"]], read_whole(found["total"])
    if len(parts) != len(values) or min(parts) < 0 or sum(parts) != total or total <= 0:
        raise BadLaw("its masses are not those of a law")
    return law_of(values, parts, total)
