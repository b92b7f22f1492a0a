"""One contest, fought: events are chosen on the first half of the outputs and tested on the second, in both orders.

Two families of events are tried. {ln p/q >= t} is the best there is if the mechanism does what its certificate says;
outputs that came clearly more often from one side catch it where it does not (a hole, another law). A choice made on
the first half costs nothing; all tests share the probability of error (Bonferroni)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from fractions import Fraction
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.bounds import Implied, implied_epsilon
from fugu.auditing.curve import Curve, expected
from fugu.auditing.shadows import Floats
from fugu.numbers.exact import Real

EventName = Literal["likelihood ratio", "counts"]
FAMILIES: tuple[EventName, ...] = ("likelihood ratio", "counts")
TESTS = 2 * len(FAMILIES)
"""Statements per contest: each family in both orders."""
_CANDIDATES = 400
_SURE, _SPARE = 5.0, 13.0
"""A count is taken as this many of its roots off, and some more, before one output is called telling."""
Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Attempt:
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


@dataclass(frozen=True, eq=False)
class Halves:
    """Distinct outputs, and how often each came: [half][side]."""

    outputs: Floats
    counts: tuple[tuple[Counts, Counts], tuple[Counts, Counts]]

    @staticmethod
    def of(first: Floats, second: Floats) -> Halves:
        """Outputs of both laws, cut in the middle."""
        distinct, where = _distinct(np.concatenate([first, second]))
        parts: list[Counts] = []
        for start, size in ((0, len(first)), (len(first), len(second))):
            cut = start + size // 2
            parts += [np.bincount(where[a:b], minlength=len(distinct)) for a, b in ((start, cut), (cut, start + size))]
        return Halves(distinct, ((parts[0], parts[2]), (parts[1], parts[3])))

    def measured(self, scores: Floats) -> tuple[Curve, Curve]:
        """The curves that the first half shows, for laws whose curves are not worked out."""
        one, other = self.counts[0]
        p, q = one / max(1, one.sum()), other / max(1, other.sum())
        return Curve.of(scores, p, q), Curve.of(-scores, q, p)


def fight(label: str, halves: Halves, scores: Floats, level: Fraction, delta: Real) -> Iterator[Attempt]:
    """`TESTS` attempts, each at the probability of error `level`; `scores` has one number per distinct output."""
    for order, own, other in (("first", 0, 1), ("second", 1, 0)):
        ours, theirs = halves.counts[0][own], halves.counts[0][other]
        ranked: dict[EventName, Floats] = {
            "likelihood ratio": scores if own == 0 else -scores,
            "counts": _telling(ours, theirs),
        }
        tested, against = halves.counts[1][own], halves.counts[1][other]
        for family in FAMILIES:
            event = chosen(ranked[family], ours, theirs, level, delta)
            right, wrong = int(tested[event].sum()), int(against[event].sum())
            n1, n0 = int(tested.sum()), int(against.sum())
            implied = implied_epsilon(right, n1, wrong, n0, level, delta)
            yield Attempt(label, order, family, (right, n1), (wrong, n0), implied)


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


def _telling(ours: Counts, theirs: Counts) -> Floats:
    """ln of a cautious ratio of the counts of one output; -inf where it does not tell."""
    low, high = ours - _SURE * np.sqrt(ours), theirs + _SURE * np.sqrt(theirs) + _SPARE
    return np.where(low > 0, np.log(np.maximum(low, 1e-9)) - np.log(high), -np.inf)


def _distinct(outputs: Floats) -> tuple[Floats, NDArray[np.int64]]:
    """Different outputs, bit by bit, and the number of each; rows are told apart by a 64-bit mix of their bits."""
    bits = np.ascontiguousarray(outputs + 0.0, dtype=np.float64).view(np.uint64)
    if bits.ndim > 1:
        keys = np.zeros(len(bits), dtype=np.uint64)
        for column in bits.T:
            keys = (keys ^ (column + (keys << np.uint64(6)) + (keys >> np.uint64(2)))) * np.uint64(0x9E3779B97F4A7C15)
            keys ^= keys >> np.uint64(29)
        bits = keys
    _, first, where = np.unique(bits, return_index=True, return_inverse=True)
    return outputs[first], where
