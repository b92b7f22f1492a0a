"""(epsilon, delta) per entry under a prior.

If a release is (eps, d)-DP per entry on the whole product domain, then b entries give (b eps, d_b) with d_b = d (e^(b
eps) - 1) / (e^eps - 1), and a window of b entries with leakage a(b) gives
(docs/proofs/translation.md#epsilon-and-delta)

    P(M in S | x) = sum over x_L of P(x_L | x) P(M in S | x_L, x) <= sum P(x_L | x) (e^(b eps) q(x_L) + d_b)
                  <= e^(b eps + a) P(M in S | x') + d_b:

d is not multiplied by e^a. Every pure translation L(eps) gives one with delta as well, (L, e^L d / (e^eps - 1)) and
better (`lifted`); under a Markov chain the whole profile is carried through the kernels (`profiles`). The least epsilon
within the delta asked for is returned.

Proofs: docs/proofs/translation.md#groups-of-entries, docs/proofs/profiles.md#the-total and
docs/proofs/profiles.md#by-the-pure-translation.
"""

from __future__ import annotations

import math
from collections.abc import Callable
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
from fugu.translation.lifted import lifted
from fugu.translation.profiles.bounds import epsilon_at, least_delta
from fugu.translation.profiles.entry import of_approx
from fugu.translation.pure import pure_bound, translated_pure
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
    return _least(prior, dp, most, lambda delta: math.inf)  # noqa: ARG005


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
    """With the profile carried through the chain."""
    entry = of_approx(dp)
    return _least(chain, dp, most, lambda delta: epsilon_at(chain, entry, delta), lambda: least_delta(chain, entry))


def _least(
    prior: Any,
    dp: Approx,
    most: Real | None,
    profile: Callable[[Fraction], float],
    natural: Callable[[], float] | None = None,
) -> Approx:
    """The least epsilon of windows, of the pure translation lifted, and of a profile, all within one delta.

    Without `most` that of the best window, or, where no window has one, the least that the profile reaches."""
    if math.isinf(dp.epsilon):
        return by_windows(prior, dp, most)
    found: list[Approx] = []
    refusal = None
    try:
        found.append(by_windows(prior, dp, most))
    except NotProvable as error:
        refusal = error
    delta = most if most is not None else found[0].delta if found else natural() if natural is not None else 1.0
    if delta < 1:
        if dp.epsilon > 0 and (other := lifted(pure_bound(prior), dp, influence(prior).length, exact(delta))):
            found.append(other)
        if not found or dp.epsilon == 0 or exact(found[-1].epsilon) > exact(dp.epsilon):
            epsilon = profile(exact(delta))
            found += [Approx(epsilon, delta)] if math.isfinite(epsilon) else []
    if not found:
        raise refusal or NotProvable("no (epsilon, delta) is proved for this prior; use a pure epsilon")
    return min(found, key=lambda g: exact(g.epsilon))
