"""Sets of cells that tell two laws apart best, with proofs: the hockey stick, what a per-record epsilon is worth, and
the per-record epsilon that another allows (docs/proofs/histograms.md).

Laws are whole-number counts p, q on the same cells (int64 arrays; the totals may differ). Sums over sets of cells are
exact integers; the few cells that doubles cannot place are placed in balls, where e^epsilon is irrational for every
rational epsilon but 0, so that each sign is decided."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.numbers import balls
from fugu.numbers.exact import float_down, float_up

Counts = NDArray[np.int64]
_BITS = 192
_NEAR = 2.0**-44
"""Cells whose p and e^epsilon q agree to this are placed in balls: far more than doubles err."""
_NUDGES = (0.0, 4e-16, 1e-15, 1e-14, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9)
_ROUNDS = 200


def hockey_stick(p: Counts, q: Counts, epsilon: Fraction) -> float:
    """sum over cells of (p - e^epsilon q)_+ as a double at or above it; 0.0 if and only if it is 0.

    `p`, `q`: counts on the same cells. `epsilon`: a rational >= 0."""
    with balls.precision(_BITS):
        return max(0.0, balls.upper(excess(p, q, epsilon)))


def excess(p: Counts, q: Counts, epsilon: Fraction) -> arb:
    """The same as a ball: the exact P(S) - e^epsilon Q(S) of S = {p > e^epsilon q}; the ball 0 if S is empty."""
    inside = above(p, q, epsilon)
    if not inside.any():
        return arb(0)
    grown = balls.of(epsilon).exp()
    return balls.of(share(p, inside)) - grown * balls.of(share(q, inside))


def above(p: Counts, q: Counts, epsilon: Fraction) -> NDArray[np.bool_]:
    """The cells with p > e^epsilon q, each decided."""
    with balls.precision(_BITS):
        grown = balls.of(epsilon).exp()
        least = float(grown.mid()) if grown < 1e300 else math.inf
        mine, other = p / float(p.sum()), q / float(q.sum())
        with np.errstate(invalid="ignore", over="ignore"):
            weighed = np.where(q > 0, least * other, 0.0)
            inside = mine > weighed
            near = np.flatnonzero((np.abs(mine - weighed) <= _NEAR * mine) & (p > 0) & (q > 0))
        if len(near):
            whole, other_whole = int(p.sum()), int(q.sum())
            for x in near.tolist():
                inside[x] = _exceeds(int(p[x]) * other_whole, int(q[x]) * whole, epsilon)
    return np.asarray(inside, dtype=np.bool_)


def worth(p: Counts, q: Counts, epsilon: Fraction) -> float:
    """The most that any release loses of p against q if it loses at most `epsilon` when one record is replaced, up:

        T = max over sets S of ln (P(S) + t) / (Q(S) + t),  t = 1 / (e^epsilon - 1);  never above `epsilon`.

    Found in doubles by Dinkelbach's iteration on S = {p > e^T q}; proved by T' <= x if (e^epsilon - 1) HS_x <= e^x - 1
    (`holds`), which is monotone in x. One order: take the larger of the two."""
    most = float_up(epsilon)
    if epsilon <= 0 or np.array_equal(p, q):
        return 0.0
    found = _search(p, q, epsilon)
    for nudge in _NUDGES:
        x = found * (1 + nudge) + 5e-324
        if x >= most:
            break
        if holds(p, q, epsilon, Fraction(x)):
            return x
    return most


def holds(p: Counts, q: Counts, epsilon: Fraction, claimed: Fraction) -> bool:
    """Whether surely (e^epsilon - 1) HS_claimed(p||q) <= e^claimed - 1, which is: T(epsilon; p, q) <= claimed."""
    if claimed >= epsilon:
        return True
    with balls.precision(_BITS + _more(epsilon)):
        stick = excess(p, q, claimed)
        return bool(stick == 0 or balls.of(epsilon).expm1() * stick <= balls.of(claimed).expm1())


def largest(p: Counts, q: Counts, epsilon: Fraction) -> float:
    """The largest per-record epsilon whose worth is at most `epsilon`, down: ln(1 + (e^epsilon - 1) / HS); inf if the
    hockey stick is 0. One order: take the smaller of the two."""
    with balls.precision(_BITS):
        stick = excess(p, q, epsilon)
        if stick == 0:
            return math.inf
        # T <= epsilon_0 always: the quotient may be rounded below that, never has to be
        return max(float_down(epsilon), balls.lower((1 + balls.of(epsilon).expm1() / stick).log()))


def divergence(p: Counts, q: Counts) -> float:
    """ln max p / q without any noise, up; inf where q = 0 < p."""
    there = p > 0
    if np.any(q[there] == 0):
        return math.inf
    ratio = p[there] / q[there]
    near = np.flatnonzero(ratio >= ratio.max() * (1 - _NEAR))
    mine, other = p[there][near].tolist(), q[there][near].tolist()
    top = max(Fraction(a, b) for a, b in zip(mine, other, strict=True)) * Fraction(int(q.sum()), int(p.sum()))
    with balls.precision(_BITS):
        return max(0.0, balls.upper(balls.of(top).log()))


def share(p: Counts, inside: NDArray[np.bool_]) -> Fraction:
    """P(S), exactly."""
    return Fraction(int(p[inside].sum()), int(p.sum()))


def _search(p: Counts, q: Counts, epsilon: Fraction) -> float:
    """T in doubles. Each round exchanges S for the best one at the present ratio: the ratio only rises, and there are
    finitely many sets."""
    large = float(min(epsilon, Fraction(10**6)))
    t = 1 / math.expm1(large) if large < 700 else math.exp(-min(large, 745.0))
    mine, other = p / float(p.sum()), q / float(q.sum())
    only = (p > 0) & (q == 0)
    gain = 0.0  # e^T - 1
    for _ in range(_ROUNDS):
        with np.errstate(invalid="ignore", over="ignore"):
            inside = (mine > (1 + gain) * other) | only
        apart, down = float((mine[inside] - other[inside]).sum()), float(other[inside].sum()) + t
        if down == 0:
            return large
        if not apart / down > gain * (1 + 1e-15):
            break
        gain = apart / down
    return math.log1p(gain)


def _exceeds(a: int, b: int, epsilon: Fraction) -> bool:
    """Whether a > e^epsilon b, for whole a, b > 0."""
    if epsilon == 0:
        return a > b
    bits = _BITS
    while True:
        with balls.precision(bits):
            grown = balls.of(epsilon).exp() * balls.of(b)
            if balls.of(a) > grown:
                return True
            if balls.of(a) <= grown:
                return False
        bits *= 2


def _more(epsilon: Fraction) -> int:
    """Bits that e^epsilon takes before the point."""
    return min(20_000, math.ceil(epsilon * 3 / 2))
