"""Two laws of one record, told apart by their ratio: hockey sticks, thresholds, and how much each cell speaks."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import final

import numpy as np
from flint import arb, fmpq, fmpz
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.guarantee.asks import check_epsilon, exact, outward
from fugu.laws.cells import MOST_ROWS, Counts
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, meant_up

# What an epsilon for each record says of one record's secret: T, its inverse, and the hockey stick.
#
# For the laws p, q of a record given two secrets, and a = e^epsilon0, all releases that are together epsilon0-private
# for each record are worth at most, in this order of the secrets,
#
#     T(epsilon0; p, q) = max over S of log (1 + (a - 1) p(S)) / (1 + (a - 1) q(S)),
#
# and some such release attains it. The best S is a threshold set {p > c q} with c = e^T. Equivalently T <= epsilon iff
# (a - 1) HS <= e^epsilon - 1 with the hockey stick HS = sum over x of (p(x) - e^epsilon q(x))+, so that the largest
# epsilon0 that an epsilon buys is log(1 + (e^epsilon - 1) / HS): no search.
#
# Searches are in doubles; sets are decided exactly (`Ratios.above`), sums are whole numbers, the rest is in balls. What
# is returned is rounded to the safe side, also as the decimal that a float means. The time is that of a few passes over
# the states.
#
# Proofs: docs/proofs/records.md#one-epsilon-for-each-record, docs/proofs/records.md#the-inverse.


_BITS = 160
_HUGE = 10**6
"""Beyond it, T is as good as its limit log max p / q; where that is infinite, epsilon0 is less than 37 above T."""


def hockey_stick(p: Counts, q: Counts, epsilon: Real) -> float:
    """sum over x of (p(x) - e^epsilon q(x))+, rounded up; 0 only where it is 0.

    Parameters: `p`, `q` are laws as whole numbers on the same states; `epsilon` is at least 0, or inf.

    >>> import numpy as np
    >>> round(hockey_stick(np.array([7, 3]), np.array([4, 6]), 0.1), 9)
    0.257931633
    """
    check_epsilon(epsilon)
    with balls.precision(_BITS):
        return min(1.0, meant_up(balls.upper(Ratios(p, q).stick(_excess(epsilon))[0])))


def worth(p: Counts, q: Counts, epsilon0: Real) -> float:
    """T(epsilon0; p, q), rounded up, never above epsilon0: what epsilon0 for each record says of s (law p) against t.

    Parameters: `p`, `q` are laws as whole numbers on the same states; `epsilon0` is at least 0. inf stands for records
    that are published as they are: log max p / q. This is one order of the secrets; a guarantee is the larger of both.

    >>> import numpy as np
    >>> p, q = np.array([7, 3]), np.array([4, 6])
    >>> round(worth(p, q, 1), 8), round(worth(q, p, 1), 8)
    (0.26659088, 0.29277785)
    """
    check_epsilon(epsilon0)
    ratios, own = Ratios(p, q), exact(epsilon0)
    if own == 0:
        return 0.0
    most = math.inf if math.isinf(epsilon0) else as_meant(own, outward(own))
    with balls.precision(_BITS):
        if own > _HUGE:
            top = ratios.largest()
            return most if top is None else min(most, meant_up(balls.upper(arb(top).log())))
        # 1 / (a - 1) in doubles
        found = _best(ratios, ratios.search(0.0 if own > 700 else 1 / max(math.expm1(float(own)), 1e-300)), own)
        return min(most, max(0.0, meant_up(balls.upper(found))))


def largest(p: Counts, q: Counts, epsilon: Real) -> float:
    """The largest epsilon0 with T(epsilon0; p, q) <= epsilon, rounded down; inf where HS = 0: publish as it is.

    Parameters: `p`, `q` are laws as whole numbers on the same states; `epsilon` is at least 0.
    `worth(p, q, largest(p, q, epsilon)) <= epsilon` holds as computed, and the answer is never below epsilon.

    >>> import numpy as np
    >>> round(largest(np.array([7, 3]), np.array([4, 6]), 0.1), 8)
    0.34199074
    """
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        return math.inf
    wanted, step = exact(epsilon), 2.0**-52
    least = as_meant(wanted, -outward(-wanted))
    with balls.precision(_BITS):  # log(1 + (e^epsilon - 1) / HS), rounded down: HS from above, the numerator from below
        stick = Ratios(p, q).stick(_excess(epsilon))[0]
        if stick <= 0:
            return math.inf
        found = 0.0 if epsilon > _HUGE else -meant_up(balls.upper(-(_excess(epsilon) / stick.upper()).log1p()))
    while found > least and exact(worth(p, q, found)) > wanted:  # the two roundings may meet in the last digit
        found, step = min(found * (1 - step), math.nextafter(found, 0)), 2 * step
    return max(found, least) + 0.0


def holds(p: Counts, q: Counts, epsilon0: Fraction, epsilon: Fraction) -> bool:
    """Whether T(epsilon0; p, q) <= epsilon, proved: (a - 1) HS <= e^epsilon - 1, or epsilon0 <= epsilon.

    Parameters: `p`, `q` are laws as whole numbers on the same states; `epsilon0`, `epsilon` are rationals >= 0."""
    if epsilon0 <= epsilon:
        return True
    with balls.precision(_BITS):
        excess = balls.of(epsilon).expm1()
        return bool(balls.of(epsilon0).expm1() * Ratios(p, q).stick(excess)[0] <= excess)


def as_meant(x: Fraction, rounded: float) -> float:
    """The float that means x, if there is one; otherwise `rounded`: what is asked for again is not refused.

    >>> as_meant(Fraction(3, 10), outward(Fraction(3, 10)))
    0.3
    """
    nearest = float(x) if abs(x) < 2**1000 else math.inf
    return nearest if math.isfinite(nearest) and as_fraction(nearest) == x else rounded


def _excess(epsilon: Real) -> arb:
    """e^epsilon - 1; far out a number beyond every finite ratio, which selects the same states."""
    return arb(BEYOND) if epsilon > _HUGE else balls.of(exact(epsilon)).expm1()


def _best(ratios: Ratios, chosen: Mask, epsilon0: Fraction) -> arb:
    """log max over S of (b + p(S)) / (b + q(S)), b = 1 / (a - 1), from above: Dinkelbach's iteration from a good S.

    Let D be the states that are surely above c, the others having p <= (c + slack) q, and let the value of D be at most
    c. Then b + p(S) - c (b + q(S)) is at most 0 + slack q(S) for every S: no set has a value above c + slack. As long
    as the value of D is above c, it takes the place of c."""
    offset = 1 / balls.of(epsilon0).expm1()
    best = _value(ratios, chosen, offset)
    while True:
        chosen, slack = ratios.above(best)
        further = _value(ratios, chosen, offset)
        if not further > best:
            return (best.max(further) + slack).log1p()
        best = further


def _value(ratios: Ratios, chosen: Mask, offset: arb) -> arb:
    """(b + p(S)) / (b + q(S)) - 1."""
    p, q = ratios.mass(chosen)
    return arb(p - q) / (offset + arb(q))


# Two laws of one record, told apart by their ratio: which states have p(x) > c q(x), decided exactly where it matters.
#
# Doubles decide what is clear. The few states whose ratio is within some roundings of c are decided in balls, and what
# even balls leave open is returned as a bound. Sums of whole numbers below 2^53 are exact in doubles, in any order.


Mask = NDArray[np.bool_]
BEYOND = 2.0**120
"""Above every finite ratio of two laws of numbers below 2^53."""
_MARGIN = 2.0**-49
"""Sixteen roundings: more than the quotient, the threshold and its conversion to a double make together."""


@final
class Ratios:
    """The ratios p(x) / q(x) of two laws given as whole numbers on the same states."""

    def __init__(self, p: Counts, q: Counts) -> None:
        if p.shape != q.shape or p.ndim != 1 or not p.size:
            raise BadLaw("two laws of one record must be on the same states, at least one")
        self._p, self._q = p.astype(np.float64), q.astype(np.float64)
        self._sums = float(self._p.sum()), float(self._q.sum())
        if not all(0 < total < MOST_ROWS for total in self._sums) or min(p.min(), q.min()) < 0:
            raise BadLaw("the whole numbers of a law must be at least 0, and sum to more than 0 and less than 2^53")
        with np.errstate(divide="ignore", invalid="ignore"):  # q(x) = 0: infinite; neither law has x: not a number
            self._ratios = self._p / self._q
        self._scale = self._sums[0] / self._sums[1]

    def mass(self, chosen: Mask) -> tuple[fmpq, fmpq]:
        """p(S) and q(S), exactly."""
        weights = chosen.astype(np.float64)
        p, q = int(weights @ self._p), int(weights @ self._q)
        return fmpq(p, int(self._sums[0])), fmpq(q, int(self._sums[1]))

    def search(self, offset: float) -> Mask:
        """The set S that makes (offset + p(S)) / (offset + q(S)) largest, as far as doubles can tell.

        Dinkelbach's iteration: S -> {p > c q}, with c the value of S, raises c until it stays."""
        best, chosen = 1.0, self._ratios > self._scale
        for _ in range(64):
            weights = chosen.astype(np.float64)
            p, q = float(weights @ self._p) / self._sums[0], float(weights @ self._q) / self._sums[1]
            value = (offset + p) / (offset + q) if offset + q > 0 else BEYOND
            if not value > best:
                break
            best, chosen = value, self._ratios > min(value, BEYOND) * self._scale
        return chosen

    def above(self, excess: arb) -> tuple[Mask, arb]:
        """The states with p(x) > c q(x), c = 1 + excess, and a bound on what p(x) / q(x) - c is where that is open.

        States left open are not among the chosen ones. The ball must be exact to 64 bits."""
        cut = min(1.0 + float(excess.mid()), BEYOND) * self._scale
        chosen = self._ratios > cut * (1 + _MARGIN)
        near = np.flatnonzero((self._ratios <= cut * (1 + _MARGIN)) & (self._ratios >= cut * (1 - _MARGIN)))
        slack = arb(0)
        while near.size:
            same = self._alike(near)
            # p(x) / q(x) - c for one state with q(x) > 0, so near to c that doubles cannot tell
            place = int(near[0])
            p_sum, q_sum = (fmpz(int(total)) for total in self._sums)
            p, q = fmpz(int(self._p[place])), fmpz(int(self._q[place]))
            further = arb(fmpq(p * q_sum - q * p_sum, q * p_sum)) - excess
            if further > 0:
                chosen[near[same]] = True
            elif not further <= 0:
                slack = slack.max(further.upper())
            near = near[~same]
        return chosen, slack

    def stick(self, excess: arb) -> tuple[arb, arb]:
        """sum of (p(x) - c q(x))+, c = 1 + excess: from above and from below (any set gives a lower bound)."""
        chosen, slack = self.above(excess)
        p, q = self.mass(chosen)
        least = arb(p - q) - excess * arb(q)
        return least + slack, least

    def level(self, alpha: float, rho: float) -> float:
        """The l with w sum (p - l e^(rho / alpha) q)+ = sum (l q - p)+, w = e^((alpha - 1) rho / alpha), in doubles."""
        p, q = self._p / self._sums[0], self._q / self._sums[1]
        step, weight = math.exp(rho / alpha), math.exp((alpha - 1) * rho / alpha)
        low, high = 0.0, weight
        for _ in range(200):
            middle = low + (high - low) / 2 if low else high / 2
            if not low < middle < high or high - low < 1e-15 * high:
                break
            short = weight * np.maximum(p - middle * step * q, 0).sum() - np.maximum(middle * q - p, 0).sum()
            low, high = (middle, high) if short > 0 else (low, middle)
        return high

    def cut(self, low: float, high: float) -> tuple[fmpq, list[tuple[fmpq, fmpq]], fmpq]:
        """q(r > high), the ratios r between with their q, and q(r < low).

        States within some roundings of a limit count as between. States of q(x) = 0 are beyond; with an infinite
        limit their p is returned in place of their q, which is 0."""
        ends = low * self._scale, high * self._scale
        beyond = self._ratios > ends[1] * (1 + _MARGIN) if high < math.inf else np.isinf(self._ratios)
        below = self._ratios < ends[0] * (1 - _MARGIN)
        rest = np.flatnonzero(~beyond & ~below & (self._q > 0))
        between = []
        if rest.size:
            pairs, counts = np.unique(np.stack([self._p[rest], self._q[rest]]), axis=1, return_counts=True)
            scale, whole = fmpq(int(self._sums[1]), int(self._sums[0])), int(self._sums[1])
            for (p, q), count in zip(pairs.T.tolist(), counts.tolist(), strict=True):
                between.append((fmpq(int(p), int(q)) * scale, fmpq(int(q) * count, whole)))
        taken = self.mass(beyond)
        return taken[1] if high < math.inf else taken[0], between, self.mass(below)[1]

    def largest(self) -> fmpq | None:
        """max over x of p(x) / q(x), exactly; None for infinity."""
        top = float(np.nanmax(self._ratios))
        if top == np.inf:
            return None
        near, found = np.flatnonzero(self._ratios >= top * (1 - _MARGIN)), fmpq(0)
        while near.size:
            place, same = int(near[0]), self._alike(near)
            found = max(found, fmpq(int(self._p[place]), int(self._q[place])))
            near = near[~same]
        return found * fmpq(int(self._sums[1]), int(self._sums[0]))

    def _alike(self, places: NDArray[np.intp]) -> Mask:
        """Which of the states, all within the margin of one ratio, have exactly the ratio of the first of them.

        The products p q' and q p' differ by less than 2^-47 times 2^106, so they are equal iff they are modulo 2^64."""
        p, q = self._p[places].astype(np.int64), self._q[places].astype(np.int64)
        return np.asarray(p * q[0] == q * p[0])


Floats = NDArray[np.float64]
UNIT = 2.0**-53


def tilt(p: Counts, q: Counts, epsilon: Fraction) -> tuple[Floats, Floats, Mask]:
    """|c| of every cell with c != 0, the largest first, from below and from above, and whether c > 0.

    A quotient errs by 2 units, e^epsilon by 1, a product and a difference by 1 each: 8 units of p + e^epsilon q are
    more than all of it. A cell whose sign doubles do not tell has |c| within its error."""
    grown = math.exp(float(epsilon))
    mine, other = p / float(p.sum()), grown * (q / float(q.sum()))
    c, error = mine - other, 8 * UNIT * (mine + other)
    order = np.argsort(-np.abs(c), kind="stable")
    order = order[(mine + other)[order] > 0]
    size, off = np.abs(c)[order], error[order]
    return np.maximum(size - off, 0.0), size + off, c[order] > 0
