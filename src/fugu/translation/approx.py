"""(epsilon, delta) per entry under a prior.

If a release is (eps, d)-DP per entry on the whole product domain, then b entries give (b eps, d_b) with d_b = d (e^(b
eps) - 1) / (e^eps - 1), and a window of b entries with leakage a(b) gives
(docs/proofs/translation.md#epsilon-and-delta)

    P(M in S | x) = sum over x_L of P(x_L | x) P(M in S | x_L, x) <= sum P(x_L | x) (e^(b eps) q(x_L) + d_b)
                  <= e^(b eps + a) P(M in S | x') + d_b:

d is not multiplied by e^a. Under a Markov chain the whole profile is carried through the kernels as well (`profiles`),
and the lesser epsilon is returned.

Proofs: docs/proofs/translation.md#groups-of-entries and docs/proofs/profiles.md#the-total.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import singledispatch
from typing import Any

from fugu.errors import NotProvable
from fugu.guarantee.kinds import Approx
from fugu.guarantee.numbers import check_delta, exact, outward
from fugu.numbers import balls
from fugu.numbers.exact import Real, meant_up
from fugu.priors.chain import MarkovChain
from fugu.priors.prior import Recorded
from fugu.translation.influence import influence, members
from fugu.translation.profiles.bounds import epsilon_at, least_delta
from fugu.translation.profiles.entry import of_approx
from fugu.translation.pure import translated_pure
from fugu.translation.records import bounds

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
    """The least epsilon found with a delta of at most `most`, over independent blocks the worst.

    Without `most`: at the delta of the least b eps + a(b) whose d_b is below 1."""
    if most is not None:
        check_delta(most)
    if dp.delta == 0:
        return Approx(translated_pure(prior, dp.epsilon), 0)
    return _translated(prior, dp, most)


@singledispatch
def _translated(prior: Any, dp: Approx, most: Real | None) -> Approx:
    if (several := members(prior)) is not None:
        found = [translated_approx(p, dp, most) for p in several]
        return Approx(max((f.epsilon for f in found), key=exact), max((f.delta for f in found), key=exact))
    return by_windows(prior, dp, most)


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


@_translated.register
def _of_records(records: Recorded, dp: Approx, most: Real | None) -> Approx:
    """Independent records of known laws: delta shrinks as epsilon does."""
    return bounds.approx(records.laws(), dp, most)


@_translated.register
def _of_chain(chain: MarkovChain, dp: Approx, most: Real | None) -> Approx:
    """The lesser of what windows and what the profile say; a window that is refused may still have a profile."""
    if math.isinf(dp.epsilon):
        return by_windows(chain, dp, most)
    entry, known = of_approx(dp), None
    try:
        known = by_windows(chain, dp, most)
    except NotProvable as refusal:
        delta = most if most is not None else least_delta(chain, entry)
        epsilon = epsilon_at(chain, entry, exact(delta)) if delta < 1 else math.inf
        if math.isinf(epsilon):
            raise refusal
        return Approx(epsilon, delta)
    delta = known.delta if most is None else most
    epsilon = epsilon_at(chain, entry, exact(delta))
    return known if exact(known.epsilon) <= exact(epsilon) else Approx(epsilon, delta)
