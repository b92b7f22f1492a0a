"""What the losses of a whole composition are worth under a prior: composed first, then translated as one profile."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import suppress
from fractions import Fraction
from typing import Any

from fugu.errors import NotProvable, UsageError
from fugu.guarantee.asks import check_delta, exact, outward, plain
from fugu.guarantee.composed import Composed
from fugu.guarantee.curve import ZCDP
from fugu.guarantee.kinds import Approx
from fugu.guarantee.lines import of_approx
from fugu.numbers import balls
from fugu.numbers.exact import Real, meant_up
from fugu.priors.chain import MarkovChain
from fugu.priors.prior import Recorded
from fugu.translation.beyond_pure import translated_approx
from fugu.translation.profiles import epsilon_at
from fugu.translation.records import bounds

# Composed per entry, a release says P(S) <= e^e Q(S) + delta(e) for every e at once. Each prior takes that its own way:
#
# - a chain carries all these lines through its kernels (docs/proofs/profiles.md);
# - independent records: if E bounds the hockey stick of the laws of a record at epsilon,
#       delta(epsilon) <= E delta_M(log(1 + (e^epsilon - 1) / E))   (docs/proofs/loss-laws.md#under-a-prior);
# - any other prior translates each (e, delta(e)), of which the best is taken, or the zCDP of all.

_LINES = 60
"""(epsilon, delta) of a composition that a chain carries on."""
_LEFT_OUT = tuple(Fraction(1, 10**k) for k in (1, 2, 3))
_SHARES = tuple(Fraction(1, k) for k in (1, 2, 4, 10, 30, 100, 1000))
"""Parts of a delta that are left to the composition; the rest is for what the prior makes of it."""
_HALVINGS = 48


def translated(prior: Any, dp: Composed, delta: Real | None) -> Approx:
    """The least epsilon found at `delta` for a composition for each entry, under one prior."""
    if delta is None or not delta:
        raise UsageError("a composition is translated at a delta above 0: give delta=, or translate to_pure() of it")
    check_delta(delta)
    if isinstance(prior, Recorded):
        return Approx(_records(prior.laws(), dp, exact(delta)), delta)
    found = [_chain(prior, dp, exact(delta))] if isinstance(prior, MarkovChain) else [*_each(prior, dp, exact(delta))]
    if all(map(math.isinf, found)):
        raise NotProvable(
            "no epsilon is proved for this composition under this prior; use a larger delta, or less of it"
        )
    return Approx(min(found), delta)


def _chain(chain: MarkovChain, dp: Composed, delta: Fraction) -> float:
    """The least of a few selections of (e, delta(e)), from e = 0 to where delta(e) is a share of `delta`."""
    found = [math.inf]
    for share in _LEFT_OUT:
        high = exact(dp.to_approx(delta * share).epsilon)
        if high < exact(math.inf):
            each = [Fraction(float(high)) * k / _LINES for k in range(_LINES + 1)]
            found.append(epsilon_at(chain, of_approx(*(Approx(e, dp.delta_at(e)) for e in each)), delta))
    return min(found)


def _each(prior: Any, dp: Composed, delta: Fraction) -> Iterator[float]:
    """Of single (epsilon, delta) and of the zCDP: what the prior makes of each at this delta."""
    from fugu.translation.translate import translate

    for share in _SHARES:
        with suppress(NotProvable):
            yield _least(translated_approx(prior, dp.to_approx(delta * share), plain(delta)))
    if (rho := dp.zcdp) is not None:
        with suppress(NotProvable):
            yield _least(translate(prior, ZCDP(plain(rho))).to_approx(plain(delta)))
    yield math.inf


def at_share(dp: Composed, share: Fraction, epsilon: float) -> Fraction:
    """share delta_M(log(1 + (e^epsilon - 1) / share)), rounded up: it rises with the share, as delta_M is convex in
    e^epsilon and falls."""
    if not share:
        return share
    with balls.precision(128):
        inside = 1 + balls.of(exact(epsilon)).expm1() / balls.of(share)
        lower = max(0.0, balls.lower(inside.log()))
    return share * exact(dp.delta_at(Fraction(lower)))


def _least(found: Approx) -> float:
    return math.inf if math.isinf(found.epsilon) else outward(exact(found.epsilon))


def _records(laws: bounds.Laws, dp: Composed, delta: Fraction) -> float:
    """The least epsilon >= 0 found with E delta_M(log(1 + (e^epsilon - 1) / E)) <= delta; it falls with epsilon."""

    def enough(epsilon: float) -> bool:
        return at_share(dp, exact(bounds.share(laws, epsilon)), epsilon) <= delta

    low, high = 0.0, _least(dp.to_approx(plain(delta)))
    if math.isinf(high) or enough(low):
        return high if math.isinf(high) else low
    for _ in range(_HALVINGS):
        middle = low + (high - low) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return meant_up(high)
