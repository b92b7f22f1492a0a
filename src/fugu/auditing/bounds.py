"""What counts of guesses prove at a stated confidence; how likely the best events are under both laws; and one contest,
fought in halves: events are chosen on the first half of the outputs and tested on the second, in both orders."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from statistics import NormalDist
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.fixed import fixed
from fugu.guarantee import Guarantee
from fugu.guarantee.asks import check_delta
from fugu.laws.sets.levels import binomial_limit
from fugu.noise.kind import Floats, finite_or_none
from fugu.numbers import balls
from fugu.numbers.checks import is_share
from fugu.numbers.exact import Real, as_fraction
from fugu.visible import Json

# What counts of right and wrong guesses prove about a mechanism, at a stated confidence: lower bounds on its loss.
#
# n1 outputs under the first hypothesis, n0 under the second; k1 and k0 of them are guessed to be of the first. The
# guess must have been fixed on other data. Clopper and Pearson (1934): with probability at least 1 - a each, the rate
# of right guesses is at least Beta^-1(a; k1, n1 - k1 + 1), and that of wrong ones at most Beta^-1(1 - a; k0 + 1, n0 -
# k0). Both are proved in balls (`fugu.laws.sets.levels`). A low bound never proves privacy.


_BITS = 128


@dataclass(frozen=True)
class Implied:
    """What the counts imply at once with one confidence: a bound on each rate, and the epsilon they leave possible."""

    tpr_lower: float
    fpr_upper: float
    forward: float
    """P(guess) <= e^epsilon Q(guess) + delta refutes any epsilon below this; 0 if it refutes none."""
    reverse: float
    """The same for the event "not guessed", with the two laws swapped."""

    @property
    def epsilon(self) -> float:
        """The larger of the two: the guarantee is for both orders."""
        return max(self.forward, self.reverse)

    @property
    def mu(self) -> float:
        """Phi^-1(TPR_lo) - Phi^-1(FPR_hi): two Gaussians N(0, 1), N(m, 1) need m at least this; 0 if it is negative."""
        if self.tpr_lower <= 0 or self.fpr_upper >= 1:
            return 0.0
        normal = NormalDist()
        return max(0.0, (normal.inv_cdf(self.tpr_lower) - normal.inv_cdf(self.fpr_upper)) * (1 - 1e-12) - 1e-12)


def rate_limit(count: int, trials: int, alpha: Real, *, up: bool) -> float:
    """A bound at confidence 1 - alpha. Up: the least p, nearly, with P(Bin(trials, p) <= count) <= alpha; else the
    largest, nearly, with P(Bin(trials, p) >= count) <= alpha.

    >>> round(rate_limit(90, 100, 0.025, up=False), 11), round(rate_limit(10, 100, 0.025, up=True), 11)
    (0.82377740226, 0.17622259774)
    """
    for name, value in (("count", count), ("number of trials", trials)):
        if isinstance(value, bool) or not hasattr(value, "__index__"):
            raise UsageError(f"the {name} must be a whole number, got {value!r}")
    if trials < 1 or not 0 <= count <= trials:
        raise UsageError(f"a count lies between 0 and the number of trials, at least 1; got {count} of {trials}")
    if not is_share(alpha):
        raise UsageError(f"alpha, the probability of error, lies strictly between 0 and 1, got {alpha!r}")
    if count == (trials if up else 0):
        return float(up)
    return binomial_limit(int(count), int(trials), as_fraction(alpha), up=up)


def implied_epsilon(k1: int, n1: int, k0: int, n0: int, alpha: Real, delta: Real = 0.0) -> Implied:
    """epsilon >= max(0, ln((TPR_lo - delta) / FPR_hi), ln((1 - FPR_hi - delta) / (1 - TPR_lo))), confidence 1 - alpha.

    TPR <= e^epsilon FPR + delta, and the same of the complements in the other order; alpha / 2 for each rate serves
    both (Kairouz, Oh, Viswanath 2015, Theorem 2.1). Terms without a positive numerator say nothing.

    >>> found = implied_epsilon(99, 1000, 3, 1000, alpha=0.01, delta=0.001)
    >>> round(found.tpr_lower, 10), round(found.fpr_upper, 10), round(found.epsilon, 9)
    (0.0761351802, 0.0109337774, 1.92743205)
    """
    check_delta(delta)
    half = as_fraction(alpha) / 2 if is_share(alpha) else alpha
    tpr, fpr = rate_limit(k1, n1, half, up=False), rate_limit(k0, n0, half, up=True)
    right, wrong, slack = Fraction(tpr), Fraction(fpr), as_fraction(delta)
    return Implied(tpr, fpr, _log_ratio(right - slack, wrong), _log_ratio(1 - wrong - slack, 1 - right))


def accuracy_implies(accuracy: float, delta: Real = 0.0) -> float:
    """max(0, ln((accuracy - delta) / (1 - accuracy))): the least epsilon that allows this accuracy on fair labels, as
    accuracy <= (e^epsilon + delta) / (1 + e^epsilon).

    For labels drawn by a fair coin for each output. It uses both orders of the pair, so it refutes the guarantee for
    the pair, never for one order alone.

    >>> round(accuracy_implies(rate_limit(180, 200, 0.05, up=False)), 9)
    1.798865265
    """
    check_delta(delta)
    return _log_ratio(Fraction(accuracy) - as_fraction(delta), 1 - Fraction(accuracy))


def _log_ratio(top: Fraction, bottom: Fraction) -> float:
    """max(0, ln(top / bottom)), rounded down; 0 where the ratio says nothing, inf where nothing is below."""
    if top <= 0 or top <= bottom:
        return 0.0
    if bottom <= 0:
        return math.inf
    with balls.precision(_BITS):
        return max(0.0, balls.lower(balls.of(top / bottom).log()))


def error_of(confidence: Real) -> Fraction:
    """1 - confidence, the probability of error; UsageError for what is no confidence."""
    if not is_share(confidence):
        raise UsageError(f"a confidence lies strictly between 0 and 1, got {confidence!r}")
    return 1 - as_fraction(confidence)


# `EventCurve`: how likely the events {ln p/q > t} are under both laws, best first, and what draws can show of them.
#
# By Neyman and Pearson (1933) no event as likely under q is likelier under p. P(E) <= e^epsilon Q(E) + delta
# refutes every epsilon below ln((P(E) - delta) / Q(E)).


LIKELY = 1e-4
"""Events less likely than this under the law they speak for are hardly ever seen."""
_FEW = 400
_MOST_DRAWS = 1e18


@dataclass(frozen=True, eq=False)
class EventCurve:
    """P and Q of the events, from the smallest to the whole; in doubles."""

    p: Floats
    q: Floats

    def __post_init__(self) -> None:
        for name in ("p", "q"):
            object.__setattr__(self, name, fixed(np.minimum(getattr(self, name), 1.0)))

    @staticmethod
    def of(scores: Floats, p: Floats, q: Floats) -> EventCurve:
        """The events {score >= t} for all t, of outputs with these probabilities."""
        order = np.argsort(-scores, kind="stable")
        last = np.append(scores[order][1:] != scores[order][:-1], True)
        return EventCurve(np.cumsum(p[order])[last], np.cumsum(q[order])[last])

    @staticmethod
    def both(scores: Floats, p: Floats, q: Floats) -> tuple[EventCurve, EventCurve]:
        """P against Q, and Q against P."""
        return EventCurve.of(scores, p, q), EventCurve.of(-scores, q, p)

    def loss(self, delta: float, least: float = 0.0) -> float:
        """max ln((P - delta) / Q) over the events with P >= least; 0 if none is above."""
        return float(np.max(_log_ratios(self.p - delta, self.q)[self.p >= least], initial=0.0))

    def reach(self, draws: float, alpha: float, delta: float) -> float:
        """The largest bound that `draws` outputs of each law are expected to show at confidence 1 - alpha."""
        p, q = self._few
        seen = p * draws >= 1  # what is hardly ever seen shows nothing
        return float(np.max(expected(p[seen] * draws, q[seen] * draws, draws, alpha, delta), initial=0.0))

    def needed(self, target: float, alpha: float, delta: float) -> float:
        """The least number of outputs of each law for which `reach` is the target; infinite if none is."""
        low, high = 1.0, 2.0
        while self.reach(high, alpha, delta) < target:
            low, high = high, 2 * high
            if high > _MOST_DRAWS:
                return math.inf
        while high / low > 1.01:
            middle = math.sqrt(low * high)
            low, high = (low, middle) if self.reach(middle, alpha, delta) >= target else (middle, high)
        return high

    @cached_property
    def _few(self) -> tuple[Floats, Floats]:
        """P and Q of no more than some hundred events, spread evenly over ln P."""
        if len(self.p) <= _FEW:
            return self.p, self.q
        at = np.unique(np.searchsorted(self.p, np.geomspace(max(self.p[0], 1e-15), self.p[-1], _FEW)))
        return self.p[at.clip(max=len(self.p) - 1)], self.q[at.clip(max=len(self.q) - 1)]


def expected(k1: Floats, k0: Floats, n: float, alpha: float, delta: float) -> Floats:
    """ln((TPR_lo - delta) / FPR_hi), nearly, of Clopper and Pearson at alpha / 2 each; counts need not be whole.

    Good enough to choose by, and quick; what is stated is proved in `auditing.bounds`."""
    z = -NormalDist().inv_cdf(alpha / 2)
    low = np.where(2 * k1 <= n, _below(k1, n, z), n - _above(n - k1, n, z))
    high = np.where(2 * k0 <= n, _above(k0, n, z), n - _below(n - k0, n, z))
    return _log_ratios(np.maximum(low, 0.0) / n - delta, high / n)


def _above(k: Floats, n: float, z: float) -> Floats:
    """The upper end of a count (Wilson and Hilferty 1931), its spread that of a binomial."""
    a = np.maximum(k, 0.0) + 1
    return np.asarray(a * (1 - 1 / (9 * a) + z * np.sqrt(np.clip(1 - k / n, 0, 1) / a) / 3) ** 3)


def _below(k: Floats, n: float, z: float) -> Floats:
    """The lower end of a count, 0 where it is too small to have one."""
    a = np.maximum(k, 1e-9)
    return np.asarray(a * np.maximum(1 - 1 / (9 * a) - z * np.sqrt(np.clip(1 - k / n, 0, 1) / a) / 3, 0.0) ** 3)


def ceiling(draws: int, alpha: float, delta: float) -> float:
    """What `draws` outputs of each law show if every guess is right: ln((r - delta) / (1 - r)), r^draws = alpha / 2."""
    rate = math.exp(math.log(alpha / 2) / draws)
    return float(_log_ratios(np.array([rate - delta]), np.array([-math.expm1(math.log(alpha / 2) / draws)]))[0])


def _log_ratios(top: Floats, bottom: Floats) -> Floats:
    with np.errstate(divide="ignore", invalid="ignore"):
        found = np.log(top) - np.log(bottom)
    return np.where((top > 0) & (found > 0), found, 0.0)


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

    def measured(self, scores: Floats) -> tuple[EventCurve, EventCurve]:
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
