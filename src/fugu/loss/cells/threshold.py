"""What an epsilon for each record says of one record's secret: T, its inverse, and the hockey stick.

For the laws p, q of a record given two secrets, and a = e^epsilon0, all releases that are together epsilon0-private
for each record are worth at most, in this order of the secrets,

    T(epsilon0; p, q) = max over S of log (1 + (a - 1) p(S)) / (1 + (a - 1) q(S)),

and some such release attains it. The best S is a threshold set {p > c q} with c = e^T. Equivalently T <= epsilon iff
(a - 1) HS <= e^epsilon - 1 with the hockey stick HS = sum over x of (p(x) - e^epsilon q(x))+, so that the largest
epsilon0 that an epsilon buys is log(1 + (e^epsilon - 1) / HS): no search.

Searches are in doubles; sets are decided exactly (`Ratios.above`), sums are whole numbers, the rest is in balls. What
is returned is rounded to the safe side, also as the decimal that a float means. The time is that of a few passes over
the states.

Proofs: docs/proofs/records.md#one-epsilon-for-each-record, docs/proofs/records.md#the-inverse.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from fugu.guarantee.numbers import check_epsilon, exact, outward
from fugu.laws.cells import Counts
from fugu.loss.cells.ratios import BEYOND, Mask, Ratios
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, meant_up

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
        found = _best(ratios, ratios.search(_offset(own)), own)
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
    wanted = exact(epsilon)
    least, found, step = as_meant(wanted, -outward(-wanted)), _inverse(Ratios(p, q), epsilon), 2.0**-52
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


def _inverse(ratios: Ratios, epsilon: Real) -> float:
    """log(1 + (e^epsilon - 1) / HS), rounded down: HS from above, the numerator from below."""
    with balls.precision(_BITS):
        stick = ratios.stick(_excess(epsilon))[0]
        if stick <= 0:
            return math.inf
        if epsilon > _HUGE:
            return 0.0
        bought = (_excess(epsilon) / stick.upper()).log1p()
        return -meant_up(balls.upper(-bought))


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


def _offset(epsilon0: Fraction) -> float:
    """1 / (a - 1) in doubles."""
    return 0.0 if epsilon0 > 700 else 1 / max(math.expm1(float(epsilon0)), 1e-300)
