"""Limits of order statistics of very many rows: exponential bounds of binomial tails, one rank at a time.

P(Binomial(n, a) >= r) <= exp(-n kl(r/n, a)) for a <= r/n, P(Binomial(n, b) <= r) <= exp(-n kl(r/n, b)) for b >= r/n,
with kl(p, q) = p ln(p/q) + (1-p) ln((1-p)/(1-q)) (Chernoff 1952; Hoeffding 1963). Above a few million rows the exact
recursion takes too long, and limits some tenths wider than the narrowest ones are narrower than anybody needs."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.numbers.balls import of, precision

Floats = NDArray[np.float64]
_BITS = 160
_NUDGES = (1e-9, 1e-7, 1e-5, 1e-3, 1e-1)


def chernoff_limits(ranks: NDArray[np.int64], n: int, error: Fraction) -> tuple[Floats, Floats]:
    """Doubles with low[i] <= U_(ranks[i]) <= high[i] for all i, together with probability at least 1 - error: each side
    of each rank is broken with probability at most error / (2 len(ranks)), proved in balls."""
    with precision(_BITS):
        least = -(of(error) / (2 * len(ranks))).log()
        low = [_limit(int(r), n, least, x, -1) for r, x in zip(ranks, _guesses(ranks, n, least, -1), strict=True)]
        high = [
            _limit(int(r) - 1, n, least, x, 1) for r, x in zip(ranks, _guesses(ranks - 1, n, least, 1), strict=True)
        ]
    return np.maximum.accumulate(low), np.minimum.accumulate(high[::-1])[::-1]


def _guesses(counts: NDArray[np.int64], n: int, least: arb, side: int) -> Floats:
    """Where n kl(count / n, .) reaches `least`, by bisection in doubles."""
    p, goal = counts / n, float(least) / n
    near, far = p.copy(), np.full(len(p), 0.5 + 0.5 * side)
    with np.errstate(divide="ignore", invalid="ignore"):
        for _ in range(80):
            q = 0.5 * (near + far)
            one, other = p * np.log(p / q), (1 - p) * np.log((1 - p) / (1 - q))
            beyond = np.where(p > 0, one, 0.0) + np.where(p < 1, other, 0.0) >= goal
            near, far = np.where(beyond, near, q), np.where(beyond, q, far)
    return far


def _limit(count: int, n: int, least: arb, guess: float, side: int) -> float:
    """The guess, moved away from count / n until the bound is proved; else the end of the range on that side."""
    share = Fraction(count, n)
    for nudge in _NUDGES:
        q = guess + (guess - count / n) * nudge
        there = 0 < q < 1 and (Fraction(q) - share) * side > 0
        if there and _divergence(of(share), arb(q), count, n) * n >= least:
            return q
    return float(side > 0)


def _divergence(p: arb, q: arb, count: int, n: int) -> arb:
    """kl(p, q) with p = count / n."""
    found = p * (p / q).log() if count else arb(0)
    return found + ((1 - p) * ((1 - p) / (1 - q)).log() if count < n else 0)
