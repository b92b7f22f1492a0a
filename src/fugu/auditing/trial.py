"""One contest, fought in halves: events are chosen on the first half of the outputs and tested on the second, in both
orders; Rényi promises; and what the bits of outputs give away."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.bounds import EventCurve, Implied, expected, implied_epsilon
from fugu.auditing.contest import Contest, Curves
from fugu.guarantee import Guarantee
from fugu.noise.kind import Floats, finite_or_none
from fugu.noise.lattice import Lattice
from fugu.numbers.exact import Real
from fugu.visible import Json

# Two families of events are tried. {ln p/q >= t} is the best there is if the mechanism does what its certificate says;
# outputs that came clearly more often from one side catch it where it does not (a hole, another law). A choice made on
# the first half costs nothing; all tests share the probability of error (Bonferroni).


EventName = Literal["likelihood ratio", "counts"]
FAMILIES: tuple[EventName, ...] = ("likelihood ratio", "counts")
TESTS = 2 * len(FAMILIES)
"""Statements per contest: each family in both orders."""
_CANDIDATES = 400
_SURE, _SPARE = 5.0, 13.0
"""A count is taken as this many of its roots off, and some more, before one output is called telling."""
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class EventAttempt:
    """One event: how often it came under the law it speaks for and under the other, and what that proves."""

    pair: str
    order: str
    """Which law the event speaks for: "first" or "second"."""
    event: EventName
    right: tuple[int, int]
    """How many test outputs of that law fell into the event, of how many."""
    wrong: tuple[int, int]
    """The same of the other law."""
    implied: Implied

    @property
    def epsilon_lower(self) -> float:
        """No smaller epsilon holds, at the confidence of the whole audit."""
        return self.implied.forward

    def to_json(self) -> Json:
        """Plain data; an infinite epsilon as null."""
        return {
            "pair": self.pair, "order": self.order, "event": self.event, "right": list(self.right),
            "wrong": list(self.wrong), "tpr_lower": self.implied.tpr_lower, "fpr_upper": self.implied.fpr_upper,
            "epsilon_lower": finite_or_none(self.epsilon_lower),
        }  # fmt: skip


@dataclass(frozen=True, eq=False)
class Halves:
    """Distinct outputs, and how often each came: [half][side]."""

    outputs: Floats
    counts: tuple[tuple[Counts, Counts], tuple[Counts, Counts]]

    @staticmethod
    def of(first: Floats, second: Floats) -> Halves:
        """Outputs of both laws, cut in the middle; told apart bit by bit, rows by a 64-bit mix of their bits."""
        outputs = np.concatenate([first, second])
        bits = np.ascontiguousarray(outputs + 0.0, dtype=np.float64).view(np.uint64)
        if bits.ndim > 1:
            keys = np.zeros(len(bits), dtype=np.uint64)
            for column in bits.T:
                mixed = keys ^ (column + (keys << np.uint64(6)) + (keys >> np.uint64(2)))
                keys = mixed * np.uint64(0x9E3779B97F4A7C15)
                keys ^= keys >> np.uint64(29)
            bits = keys
        _, once, where = np.unique(bits, return_index=True, return_inverse=True)
        distinct = outputs[once]
        parts: list[Counts] = []
        for start, size in ((0, len(first)), (len(first), len(second))):
            cut = start + size // 2
            parts += [np.bincount(where[a:b], minlength=len(distinct)) for a, b in ((start, cut), (cut, start + size))]
        return Halves(distinct, ((parts[0], parts[2]), (parts[1], parts[3])))

    def measured(self, scores: Floats) -> Curves:
        """The curves that the first half shows, for laws whose curves are not worked out."""
        one, other = self.counts[0]
        return EventCurve.both(scores, one / max(1, one.sum()), other / max(1, other.sum()))


def fight(label: str, halves: Halves, scores: Floats, level: Fraction, delta: Real) -> Iterator[EventAttempt]:
    """`TESTS` attempts, each at the probability of error `level`; `scores` has one number per distinct output."""
    for order, own, other in (("first", 0, 1), ("second", 1, 0)):
        ours, theirs = halves.counts[0][own], halves.counts[0][other]
        # ln of a cautious ratio of the counts of one output; -inf where it does not tell
        low, high = ours - _SURE * np.sqrt(ours), theirs + _SURE * np.sqrt(theirs) + _SPARE
        ranked: dict[EventName, Floats] = {
            "likelihood ratio": scores if own == 0 else -scores,
            "counts": np.where(low > 0, np.log(np.maximum(low, 1e-9)) - np.log(high), -np.inf),
        }
        tested, against = halves.counts[1][own], halves.counts[1][other]
        for family in FAMILIES:
            event = chosen(ranked[family], ours, theirs, level, delta)
            right, wrong = int(tested[event].sum()), int(against[event].sum())
            n1, n0 = int(tested.sum()), int(against.sum())
            implied = implied_epsilon(right, n1, wrong, n0, level, delta)
            yield EventAttempt(label, order, family, (right, n1), (wrong, n0), implied)


def chosen(scores: Floats, ours: Counts, theirs: Counts, level: Fraction, delta: Real) -> NDArray[np.bool_]:
    """The outputs with score >= t, t the threshold of the largest bound that these counts would give."""
    order = np.argsort(-scores, kind="stable")
    last = np.append(scores[order][1:] != scores[order][:-1], True) & (scores[order] > -np.inf)
    if not last.any():
        return np.zeros(len(scores), dtype=bool)
    at = np.flatnonzero(last)
    k1, k0 = np.cumsum(ours[order])[at], np.cumsum(theirs[order])[at]
    if len(at) > _CANDIDATES:
        spread = np.searchsorted(k1, np.geomspace(1, max(2, k1[-1]), _CANDIDATES)).clip(max=len(at) - 1)
        few = np.unique(np.append(spread, len(at) - 1))
        at, k1, k0 = at[few], k1[few], k0[few]
    n = float(min(ours.sum(), theirs.sum()))
    bounds = expected(np.minimum(k1, n).astype(float), np.minimum(k0, n).astype(float), n, float(level), float(delta))
    return np.asarray(scores >= scores[order][at[int(np.argmax(bounds))]])


# What counts prove of a Rényi promise directly: no event's two rates may lie further apart than the laws do.
#
# By data processing D_a(P || Q) is at least that of the two coins [E], and for p > q that grows with p and falls with q
# (van Erven and Harremoës 2014, Theorem 9): so it may be taken at the lower bound of one rate and the upper of the
# other.


_DOWN = 1e-12


@dataclass(frozen=True)
class Divergence:
    """One order: what is promised, and what the attack proves it to be at least."""

    order: float
    promised: float
    attacked: float


def divergences(guarantee: Guarantee, attempts: Iterable[EventAttempt]) -> tuple[Divergence, ...]:
    """Every finite order of a Rényi promise that holds for all events; nothing for other promises."""
    if not guarantee.renyi or guarantee.delta > 0:
        return ()
    rates = [(a.implied.tpr_lower, a.implied.fpr_upper) for a in attempts]
    return tuple(
        Divergence(float(order), float(epsilon), max((of_coins(float(order), p, q) for p, q in rates), default=0.0))
        for order, epsilon in guarantee.orders
        if math.isfinite(order)
    )


def of_coins(order: float, p: float, q: float) -> float:
    """ln(p^a q^(1-a) + (1-p)^a (1-q)^(1-a)) / (a - 1) for p > q, a little down; 0 otherwise.

    >>> round(of_coins(2, 0.5, 0.25), 9), of_coins(2, 0.2, 0.3)
    (0.287682072, 0.0)
    """
    if not 0 < q < p <= 1:
        return 0.0
    heads = order * math.log(p) + (1 - order) * math.log(q)
    tails = -math.inf if p == 1 else order * math.log1p(-p) + (1 - order) * math.log1p(-q)
    total = max(heads, tails) + math.log1p(math.exp(-abs(heads - tails)))
    return max(0.0, total / (order - 1) * (1 - _DOWN) - _DOWN)


# What the bits of outputs give away: holes, precision, patterns; and those of textbook noise, for contrast.
#
# Mironov (2012): value + Laplace noise in doubles leaves holes, doubles that no random number leads to, and they lie
# elsewhere for every value. Lattice outputs are value(k) for whole numbers k, whatever the value was.


EXPECTED = 50
"""An output that should come this often and never does is a hole: chance leaves one out with e^-50."""
_NAIVE = 200_000


@dataclass(frozen=True)
class Patterns:
    """Counts of outputs; all but `outputs`, `distinct` and `expected` are 0 for lattice noise."""

    outputs: int
    distinct: int
    """Different bit patterns among them."""
    off_lattice: int
    """Outputs that are not the double of a lattice point: their last bits say where they come from."""
    expected: int | None
    """Lattice points that each law should have hit at least 50 times; None where they are not listed."""
    holes: int | None
    """How many of these a law never hit."""
    one_sided: int
    """Bit patterns that came often from one law and never from the other, though the guarantee says they must."""

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not (self.off_lattice or self.holes or self.one_sided)


@dataclass(frozen=True)
class Naive:
    """The same attack on value + numpy Laplace noise of the same scale in doubles, never released."""

    outputs: int
    betrayed: int
    """Outputs that one value can give and the other cannot: each tells for certain which it was."""
    finer: tuple[float, float]
    """The shares of outputs, of both values, with bits finer than 2^-53: a sum with a large value has none."""


def look(contest: Contest, halves: Halves, lattices: tuple[Lattice, ...], epsilon: float, delta: float) -> Patterns:
    """Patterns in all outputs of a contest, both halves together; one lattice per half of a mixture."""
    seen = [halves.counts[0][side] + halves.counts[1][side] for side in (0, 1)]
    on = np.zeros(len(halves.outputs), dtype=bool) if lattices else np.ones(len(halves.outputs), dtype=bool)
    for lattice in lattices:
        exact = lattice.value(lattice.index(halves.outputs)) == halves.outputs
        on |= exact if exact.ndim == 1 else exact.all(axis=1)
    total = seen[0] + seen[1]
    apart = delta * max(int(side.sum()) for side in seen)  # outputs that the guarantee says nothing about
    often = EXPECTED * math.exp(min(epsilon, 50.0)) + apart + 10 * math.sqrt(apart)
    one_sided = sum(int(np.sum((seen[a] >= often) & (seen[b] == 0))) for a, b in ((0, 1), (1, 0)))
    expected, holes = None, None
    if contest.masses is not None:
        points, *masses = contest.masses
        due = [points[mass * counts.sum() >= EXPECTED] for counts, mass in zip(seen, masses, strict=True)]
        expected = sum(map(len, due))
        hit = [np.isin(own, halves.outputs[counts > 0]) for own, counts in zip(due, seen, strict=True)]
        holes = sum(int(np.sum(~own)) for own in hit)
    return Patterns(int(total.sum()), len(halves.outputs), int(total[~on].sum()), expected, holes, one_sided)


def contrast(values: tuple[float, float], scale: float, rng: np.random.Generator) -> Naive:
    """Draw value + rng.laplace(scale) for two values, and ask of every output whether the other could have given it."""
    betrayed, finer = 0, []
    for own, other in (values, values[::-1]):
        drawn = rng.laplace(own, scale, _NAIVE // 2)
        betrayed += int(np.sum(numpy_can_give(drawn, own, scale) & ~numpy_can_give(drawn, other, scale)))
        finer.append(float(np.mean(np.mod(drawn * 2.0**53, 1.0) != 0)))
    return Naive(2 * (_NAIVE // 2), betrayed, (finer[0], finer[1]))


def numpy_can_give(outputs: Floats, value: float, scale: float) -> NDArray[np.bool_]:
    """Whether some 53-bit uniform makes numpy's Laplace sampler return the output: invert, then try its neighbours."""
    noise = (outputs - value) / scale
    rare = np.rint(np.exp(-np.abs(noise)) * 2.0**52)
    guess = np.where(noise < 0, rare, 2.0**53 - rare)
    found = np.zeros(outputs.shape, dtype=bool)
    for step in range(-2, 3):
        u = (guess + step) * 2.0**-53
        with np.errstate(all="ignore"):
            found |= outputs == np.where(u >= 0.5, value - scale * np.log(2.0 - u - u), value + scale * np.log(u + u))
    return found
