"""(epsilon, delta) per entry under a prior, also by way of the pure translation."""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from typing import Any

from flint import arb

from fugu.errors import NotProvable
from fugu.guarantee.asks import check_delta, exact, outward
from fugu.guarantee.kinds import Approx
from fugu.numbers import balls
from fugu.numbers.exact import Real, meant_up
from fugu.priors.chain import MarkovChain
from fugu.priors.prior import Recorded
from fugu.translation.influence import influence
from fugu.translation.profiles.lines import of_approx
from fugu.translation.profiles.total import epsilon_at, least_delta
from fugu.translation.pure import pure_bound, translated_pure
from fugu.translation.records import bounds

# (epsilon, delta) by way of the pure translation, for every prior that has one.
#
# Let f(D) = P(M(D) in S) for a release that is (eps, d)-DP per entry, h(D, D') the number of cells in which D and D'
# differ, and e >= eps. Lift f to F(D) = max over D' of e^(-e h(D, D')) f(D'). By the triangle inequality F changes by a
# factor of at most e^e per cell: it is a likelihood of an e-DP release. And for n cells
#
#     f <= F <= f + c,   c = max over 1 <= h <= n of e^(-e h) d_h,   d_h = d (e^(h eps) - 1) / (e^eps - 1),
#
# as f(D') <= e^(h eps) f(D) + d_h. So if e per entry is worth L under the prior,
#
#     P(S | x) <= E[F | x] <= e^L E[F | x'] <= e^L P(S | x') + e^L c.
#
# At e = eps, c <= d / (e^eps - 1): the epsilon is that of the pure translation, whatever the number of cells.
#
# Proofs: docs/proofs/profiles.md#by-the-pure-translation.

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
        with balls.precision(_BITS):  # e^L c, rounded up
            above = balls.of(exact(worth)).exp() * balls.of(exact(dp.delta)) * _share(eps, e, cells)
            delta = meant_up(balls.upper(above))
        if delta < 1 and exact(delta) <= most:
            best = Approx(worth, delta)
            break  # L grows with e
    return best


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


# If a release is (eps, d)-DP per entry on the whole product domain, then b entries give (b eps, d_b) with d_b = d (e^(b
# eps) - 1) / (e^eps - 1), and a window of b entries with leakage a(b) gives
# (docs/proofs/translation.md#epsilon-and-delta)
#
#     P(M in S | x) = sum over x_L of P(x_L | x) P(M in S | x_L, x) <= sum P(x_L | x) (e^(b eps) q(x_L) + d_b)
#                   <= e^(b eps + a) P(M in S | x') + d_b:
#
# d is not multiplied by e^a. Every pure translation L(eps) gives one with delta as well, (L, e^L d / (e^eps - 1)) and
# better (`lifted`); under a Markov chain the whole profile is carried through the kernels (`profiles`). The least
# epsilon within the delta asked for is returned.
#
# Proofs: docs/proofs/translation.md#groups-of-entries, docs/proofs/profiles.md#the-total and
# docs/proofs/profiles.md#by-the-pure-translation.

_BITS = 192
_MOST_B = 4096


def group_delta(epsilon: Fraction, delta: Fraction, b: int) -> float:
    """d (e^(b eps) - 1) / (e^eps - 1), rounded up; b d at eps = 0.

    >>> group_delta(Fraction(0), Fraction(1, 1000), 3)
    0.003
    """
    if epsilon == 0 or b == 1:
        return outward(b * delta)
    with balls.precision(_BITS):
        e = balls.of(epsilon)
        return meant_up(balls.upper(balls.of(delta) * (b * e).expm1() / e.expm1()))


def translated_approx(prior: Any, dp: Approx, most: Real | None = None) -> Approx:
    """The least epsilon found under one prior with a delta of at most `most`.

    Without `most`: at the delta of the least b eps + a(b) whose d_b is below 1."""
    if most is not None:
        check_delta(most)
    if dp.delta == 0:
        return Approx(translated_pure(prior, dp.epsilon), 0)
    if isinstance(prior, Recorded):  # independent records of known laws: delta shrinks as epsilon does
        return bounds.approx(prior.laws(), dp, most)
    return _least(prior, dp, most)


def by_windows(prior: Any, dp: Approx, most: Real | None) -> Approx:
    """The least b eps + a(b) whose d_b is at most `most` (default: below 1)."""
    if math.isinf(dp.epsilon):
        return Approx(math.inf, dp.delta)
    curve, own, limit = influence(prior), exact(dp.epsilon), Fraction(1) if most is None else exact(most)
    best: tuple[Fraction, float] | None = None
    candidates = [*range(1, min(curve.length, _MOST_B) + 1), curve.length]
    for b in candidates:
        if best is not None and b * own >= best[0]:
            break
        delta = group_delta(own, exact(dp.delta), b)
        if not (exact(delta) <= limit and delta < 1):
            break
        a = curve(b)
        if math.isfinite(a) and (best is None or b * own + Fraction(a) < best[0]):
            best = b * own + Fraction(a), delta
        if a == 0:
            break
    if best is None:
        raise NotProvable(
            f"no window gives a finite epsilon with delta at most {float(limit):g}: transitions are forbidden, or the "
            "per-entry delta is too large; use a smaller per-entry delta or a pure epsilon"
        )
    return Approx(outward(best[0]), best[1])


def _least(prior: Any, dp: Approx, most: Real | None) -> Approx:
    """The least epsilon of windows, of the pure translation lifted, and of the profile carried through a chain, all
    within one delta.

    Without `most` that of the best window, or, where no window has one, the least that the profile reaches."""
    if math.isinf(dp.epsilon):
        return by_windows(prior, dp, most)
    entry = of_approx(dp) if isinstance(prior, MarkovChain) else None
    found: list[Approx] = []
    refusal = None
    try:
        found.append(by_windows(prior, dp, most))
    except NotProvable as error:
        refusal = error
    delta = most if most is not None else found[0].delta if found else least_delta(prior, entry) if entry else 1.0
    if delta < 1:
        with suppress(NotProvable):  # the other bounds stand
            other = lifted(pure_bound(prior), dp, influence(prior).length, exact(delta)) if dp.epsilon > 0 else None
            found += [] if other is None else [other]
        epsilon = epsilon_at(prior, entry, exact(delta)) if entry else math.inf
        found += [Approx(epsilon, delta)] if math.isfinite(epsilon) else []
    if not found:
        raise refusal or NotProvable("no (epsilon, delta) is proved for this prior; use a pure epsilon")
    return min(found, key=lambda g: exact(g.epsilon))
