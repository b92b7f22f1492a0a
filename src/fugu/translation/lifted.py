"""(epsilon, delta) by way of the pure translation, for every prior that has one.

Let f(D) = P(M(D) in S) for a release that is (eps, d)-DP per entry, h(D, D') the number of cells in which D and D'
differ, and e >= eps. Lift f to F(D) = max over D' of e^(-e h(D, D')) f(D'). By the triangle inequality F changes by a
factor of at most e^e per cell: it is a likelihood of an e-DP release. And for n cells

    f <= F <= f + c,   c = max over 1 <= h <= n of e^(-e h) d_h,   d_h = d (e^(h eps) - 1) / (e^eps - 1),

as f(D') <= e^(h eps) f(D) + d_h. So if e per entry is worth L under the prior,

    P(S | x) <= E[F | x] <= e^L E[F | x'] <= e^L P(S | x') + e^L c.

At e = eps, c <= d / (e^eps - 1): the epsilon is that of the pure translation, whatever the number of cells.

Proofs: docs/proofs/profiles.md#by-the-pure-translation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from flint import arb

from fugu.guarantee.kinds import Approx
from fugu.guarantee.numbers import exact
from fugu.numbers import balls
from fugu.numbers.exact import meant_up

_BITS = 192
_TRIED = tuple(Fraction(n, 100) for n in (0, 1, 2, 4, 7, 11, 16, 25, 40, 60, 100, 160, 250))
"""By how much e is larger than eps, in shares of eps; and the same numbers again, added."""


def lifted(bound: Callable[[Fraction], float], dp: Approx, cells: int, most: Fraction) -> Approx | None:
    """The least L found whose delta e^L c is at most `most`; None if there is none.

    Parameters: `bound` is the pure translation under the prior; `dp` the guarantee per entry, its epsilon and delta
    above 0; `cells` how many cells the data has; `most` the largest delta allowed."""
    eps, best = exact(dp.epsilon), None
    for e in sorted({eps * (1 + s) for s in _TRIED} | {eps + s for s in _TRIED}):
        worth = bound(e)
        if not math.isfinite(worth) or (best is not None and exact(worth) >= exact(best.epsilon)):
            break
        delta = _delta(eps, exact(dp.delta), e, cells, exact(worth))
        if delta < 1 and exact(delta) <= most:
            best = Approx(worth, delta)
            break  # L grows with e
    return best


def _delta(eps: Fraction, d: Fraction, e: Fraction, cells: int, worth: Fraction) -> float:
    """e^L c, rounded up."""
    with balls.precision(_BITS):
        return meant_up(balls.upper(balls.of(worth).exp() * balls.of(d) * _share(eps, e, cells)))


def _share(eps: Fraction, e: Fraction, cells: int) -> arb:
    """An upper bound on c / d: e^(-e h) (e^(h eps) - 1) / (e^eps - 1) rises with h up to h*, and then falls.

    Its derivative vanishes where e^(h eps) = e / (e - eps); at e = eps it only rises. The value at the real h* bounds
    all whole ones; where h* lies beyond the last cell or before the first, the end is the largest."""
    x, y, n = balls.of(eps), balls.of(e), arb(cells)
    if e > eps:
        peak = -((y - x) / y).log() / x
        if peak <= 1:
            n = arb(1)
        elif not peak >= n:
            n = peak
    return (-y * n).exp() * (x * n).expm1() / x.expm1()
