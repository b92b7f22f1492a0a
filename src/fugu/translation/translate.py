"""`fugu.translate` and `fugu.dp_budget`: what per-entry privacy is worth when the entries depend on each other.

A per-entry guarantee compares datasets that differ in one cell. Under a prior that ties the cells together a secret
value of one cell moves the law of the others too, so the Pufferfish epsilon is larger; how much, the prior says. Any
number of per-entry releases is composed first, by the rules of differential privacy, and translated once.

Several proved bounds are computed and the least is returned:
  contraction  eps + F_fwd + F_bwd, exact for chains of two values (`contraction_chain`)
  influence    min over b of b eps + a(b)  (Bai et al., Theorem 6 with the corrected Definition 7)
  quilts       the same, pair by pair, for networks and joint tables (`quilts`)
  group        n eps for n cells
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from typing import Any

from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.curve import Guarantee, RenyiCurve
from fugu.guarantee.kinds import Approx, Pure, Renyi
from fugu.guarantee.numbers import check_epsilon, exact, is_number, outward
from fugu.numbers.exact import Real, float_up
from fugu.priors.chain import MarkovChain
from fugu.priors.chains import ChainSet
from fugu.priors.groups import IndependentBlocks
from fugu.translation.contraction.chain import MOST_PAIRWISE, Contraction
from fugu.translation.contraction.closed import group
from fugu.translation.influence import influence
from fugu.translation.quilts import Quilts, guarantee

FULL_DOMAIN = (
    "The per-entry guarantee must hold for all pairs of datasets in the whole product domain that differ in one cell, "
    "also for datasets that the prior considers impossible. Restricted to the possible ones it proves nothing: if two "
    "cells are always equal, no two possible datasets are neighbours, and publishing everything would count as private."
)
INDEPENDENT_BLOCKS = (
    "Blocks (users) are independent under every belief; a common unknown parameter would tie them together."
)
Bound = Callable[[Fraction], float]
"""A per-entry epsilon -> a proved Pufferfish epsilon."""
_MOST_B = 256
_MOST_CURVE_WORK = 10**9


def translate(prior: Any, dp: Any, *, delta: Real | None = None) -> Any:
    """The least proved Pufferfish guarantee of a release that is `dp` per entry, for data that follow `prior`.

    `dp` must hold on the whole product domain, also for datasets that the prior considers impossible. A number (pure
    epsilon) gives a number; Pure, Approx, Renyi and RenyiCurve give their own kind. The answer is a proved upper
    bound, rounded up, over every entry, both orders of every pair of its possible values, and every belief in the set.

    prior: a MarkovChain, a ChainSet (any of them may be true), IndependentBlocks or a list or mapping of priors
    (independent users: the worst one), DependentGroups, a network or joint table (quilts), or anything that
    `fugu.influence` knows. (eps, d) with window b gives (b eps + a(b), d (e^(b eps) - 1) / (e^eps - 1)): the least
    epsilon is returned whose delta does not exceed `delta` (default: any below 1). The contraction bound is proved for
    pure epsilon only.

    >>> from fugu.priors.chain import MarkovChain
    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=1000)
    >>> round(translate(chain, 0.2), 6)
    0.478713
    >>> translate(chain, Approx(0.2, 1e-9), delta=1e-6).delta <= 1e-6
    True
    """
    if delta is not None and not isinstance(dp, Approx):
        raise UsageError("delta= chooses among (epsilon, delta) answers; it goes with Approx only")
    if is_number(dp):
        check_epsilon(dp)
        return math.inf if math.isinf(dp) else _bound(prior)(exact(dp))
    if isinstance(dp, Pure):
        return Pure(translate(prior, dp.epsilon))
    if isinstance(dp, Approx):
        from fugu.translation.translate_approx import translate_approx

        return translate_approx(prior, dp, delta)
    if isinstance(dp, Renyi | RenyiCurve):
        return _renyi(prior, dp)
    raise UsageError(
        f"dp must be a number (pure epsilon per entry) or Pure, Approx, Renyi, RenyiCurve; got {type(dp).__name__}"
    )


def dp_budget(prior: Any, epsilon: Real) -> float:
    """The largest per-entry epsilon found whose translation is at most `epsilon`; rounded down, checked as returned.

    The release that spends it must be private per entry on the whole product domain, also for datasets that the prior
    considers impossible. Never below epsilon / n for n cells. The answer x satisfies translate(prior, x) <= epsilon.

    >>> from fugu.priors.chain import MarkovChain
    >>> round(dp_budget(MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=1000), 1), 8)
    0.41336353
    """
    if not is_number(epsilon) or not epsilon > 0 or math.isinf(epsilon):
        raise BadBudget(f"epsilon must be a finite number above 0, got {epsilon!r}")
    wanted, bound = exact(epsilon), _bound(prior)

    def over(x: float) -> float:
        """How far the translation of x exceeds the budget; compared exactly, so <= 0 is a proof."""
        excess = exact(bound(exact(x))) - wanted
        return float(excess) or (5e-324 if excess > 0 else 0.0)

    high = float_up(wanted)
    while high > 0 and exact(high) > wanted:
        high = math.nextafter(high, 0)
    if over(high) <= 0:
        return high
    low = high
    while over(low) > 0:  # the group bound n eps makes this end
        low /= 2
        if low == 0:
            raise NotProvable("no per-entry epsilon above 0 is proved for this budget; give a larger epsilon")
    return _largest(over, low, high)


def _largest(over: Callable[[float], float], low: float, high: float) -> float:
    """The largest x found with over(x) <= 0, by interpolation that keeps the bracket (Illinois); relative 1e-13."""
    at_low, at_high = over(low), over(high)
    side = 0
    for _ in range(100):
        if high - low <= 1e-13 * high:
            break
        weight = at_low / (at_low - at_high) if at_high > at_low else 0.5
        x = low + (high - low) * min(max(weight, 0.0), 1.0)
        x = min(max(x, low + 5e-14 * high), high - 5e-14 * high)
        if not low < x < high:
            x = low + (high - low) / 2
            if not low < x < high:
                break
        value = over(x)
        if value <= 0:
            low, at_low = x, value
            at_high = at_high / 2 if side == 1 else at_high
            side = 1
        else:
            high, at_high = x, value
            at_low = at_low / 2 if side == -1 else at_low
            side = -1
    return low


def _bound(prior: Any) -> Bound:
    """The pure translation under a prior; tables are built once and serve every epsilon."""
    if (several := members(prior)) is not None:
        parts = [_bound(p) for p in several]
        return lambda epsilon: max(part(epsilon) for part in parts)
    if isinstance(prior, MarkovChain):
        return _chain_bound(prior)
    if callable(getattr(prior, "quilts", None)):
        kept = _Kept(prior)
        return lambda epsilon: guarantee(kept, [epsilon])
    curve = influence(prior)
    return lambda epsilon: _by_curve(curve, epsilon, group(epsilon, curve.length))


class _Kept:
    """A prior that lists its quilts, asked once."""

    def __init__(self, prior: Any) -> None:
        self.nodes: tuple[int, ...] = tuple(prior.nodes)
        self._known: dict[int, Quilts] = {node: prior.quilts(node) for node in self.nodes}

    def quilts(self, node: int) -> Quilts:
        """The quilts of one entry."""
        return self._known[node]


def members(prior: Any) -> list[Any] | None:
    """The priors of which the worst counts: a set of beliefs, or independent blocks; None for a single prior."""
    if not isinstance(prior, Mapping | list | tuple | ChainSet | IndependentBlocks):
        return None
    if isinstance(prior, Mapping):
        found = list(prior.values())
    else:
        found = list(prior.priors if isinstance(prior, IndependentBlocks) else prior)
    if not found:
        raise UsageError("give at least one prior")
    return found


def _chain_bound(chain: MarkovChain) -> Bound:
    """The translation under one chain; its tables and answers are kept with the chain."""
    kept = chain._kept
    if "bound" not in kept:
        kept["bound"], kept["answers"] = _new_chain_bound(chain), {}
    bound: Bound = kept["bound"]
    answers: dict[Fraction, float] = kept["answers"]

    def known(epsilon: Fraction) -> float:
        if epsilon not in answers:
            answers[epsilon] = bound(epsilon)
        return answers[epsilon]

    return known


def _new_chain_bound(chain: MarkovChain) -> Bound:
    solve = Contraction(chain)
    steps = 1 if chain.homogeneous else chain.length
    most = min(_MOST_B, _MOST_CURVE_WORK // (chain.size**3 * steps))
    alike = chain.stationary and chain.size <= MOST_PAIRWISE  # the recursion then holds every useful window already
    curve = None if alike or most < 1 else influence(chain, min(most, chain.length))

    def bound(epsilon: Fraction) -> float:
        best = group(epsilon, chain.length)
        if epsilon > 0:
            with suppress(NotProvable):  # the other bounds stand
                found = solve(float_up(epsilon))
                best = min(best, outward(epsilon) if found == float_up(epsilon) else found)
        return best if curve is None else _by_curve(curve, epsilon, best)

    return bound


def _by_curve(curve: Any, epsilon: Fraction, best: float) -> float:
    """min of `best` and b eps + a(b), exact and rounded up; b stops where b eps alone is no better."""
    last = curve.length if curve.max_b is None else curve.max_b
    for b in range(1, min(last, _MOST_B) + 1):
        if b * epsilon >= Fraction(best) if math.isfinite(best) else False:
            break
        a = curve(b)
        if math.isfinite(a):
            best = min(best, outward(b * epsilon + Fraction(a)))
        if a == 0:
            break
    return best


def _renyi(prior: Any, dp: Renyi | RenyiCurve) -> Guarantee:
    """At the orders given; at order inf the pure translation."""
    from fugu.translation.renyi_translate import translated_curve

    if isinstance(dp, Renyi):
        if math.isinf(dp.alpha):
            if dp.delta:
                raise NotProvable("Renyi(inf, epsilon, delta) is Approx(epsilon, delta); translate that")
            return Renyi(dp.alpha, translate(prior, dp.epsilon))
        found = _renyi(prior, RenyiCurve({dp.alpha: dp.epsilon}, dp.delta))
        return Renyi(dp.alpha, found.epsilons[dp.alpha]) if isinstance(found, RenyiCurve) else found
    if (several := members(prior)) is not None:
        known = [_renyi(p, dp).epsilons for p in several]  # type: ignore[union-attr]
        common = {a: max((k[a] for k in known), key=exact) for a in known[0] if all(a in k for k in known)}
        if not common:
            raise NotProvable("the priors have no order at which all of them have a finite bound; list more orders")
        return RenyiCurve(common)
    pure = dp(math.inf)
    at_inf: dict[Real, Real] = {math.inf: translate(prior, pure)} if math.isfinite(pure) and not dp.delta else {}
    if at_inf and len(dp.points) == 1:
        return RenyiCurve(at_inf)
    return RenyiCurve({**translated_curve(prior, dp).epsilons, **at_inf})
