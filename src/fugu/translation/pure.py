"""The pure translation: a per-entry epsilon and a prior -> a proved Pufferfish epsilon, the least of several bounds.

  contraction  eps + F_fwd + F_bwd, exact for chains of two values (`contraction.chain`)
  influence    min over b of b eps + a(b)  (Bai et al., Theorem 6 with the corrected Definition 7)
  trees        messages along the edges of a network that is a forest, or of a hidden chain (`trees`)
  quilts       the same as influence, pair by pair, for networks and joint tables (`quilts`)
  group        n eps for n cells
  records      T(eps; p, q) for independent records whose law is known: at most eps (`records.bounds`)

Which of them a prior supports is decided by its class, in `pure_bound`.

Proofs: docs/proofs/translation.md#pure, docs/proofs/translation.md#several-priors-and-blocks.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from contextlib import suppress
from fractions import Fraction
from functools import singledispatch
from typing import Any

from fugu.errors import NotProvable
from fugu.guarantee.numbers import check_epsilon, exact, outward
from fugu.numbers.exact import Real, float_up
from fugu.priors.chain import MarkovChain
from fugu.priors.curve import InfluenceCurve
from fugu.priors.interval_chain import IntervalChain
from fugu.priors.prior import Quilted, Recorded
from fugu.priors.quilts import Quilts
from fugu.translation.contraction.chain import MOST_PAIRWISE, Contraction
from fugu.translation.contraction.closed import group
from fugu.translation.contraction.interval import IntervalContraction
from fugu.translation.influence import influence, members
from fugu.translation.quilts import guarantee
from fugu.translation.records import bounds

Bound = Callable[[Fraction], float]
"""A per-entry epsilon -> a proved Pufferfish epsilon."""
_MOST_B = 256
_MOST_CURVE_WORK = 10**9


def translated_pure(prior: object, epsilon: Real) -> float:
    """What releases of this epsilon for each entry are worth under a prior."""
    check_epsilon(epsilon)
    return published(prior) if math.isinf(epsilon) else pure_bound(prior)(exact(epsilon))


@singledispatch
def published(prior: object) -> float:
    """What entries that go out as they are say of a secret among them: everything, but for independent records."""
    several = members(prior)
    return math.inf if several is None else max(published(p) for p in several)


@published.register
def _published_records(records: Recorded) -> float:
    return bounds.pure(records.laws(), math.inf)


@singledispatch
def pure_bound(prior: object) -> Bound:
    """The pure translation under a prior; tables are built once and serve every epsilon."""
    if (several := members(prior)) is not None:
        parts = [pure_bound(p) for p in several]
        return lambda epsilon: max(part(epsilon) for part in parts)
    if isinstance(prior, Quilted):
        listed = _AskedOnce(prior)
        return lambda epsilon: guarantee(listed, [epsilon])
    curve = influence(prior)  # type: ignore[arg-type]  # refuses what has none
    return lambda epsilon: _by_curve(curve, epsilon, group(epsilon, curve.length))


@pure_bound.register
def _records_bound(records: Recorded) -> Bound:
    """The translation under independent records of known laws."""
    return lambda epsilon: bounds.pure(records.laws(), epsilon)


class _AskedOnce:
    """A prior that lists its quilts, asked once."""

    def __init__(self, prior: Quilted) -> None:
        self.nodes: tuple[int, ...] = tuple(prior.nodes)
        self._known: dict[int, Quilts] = {node: prior.quilts(node) for node in self.nodes}

    def quilts(self, node: int) -> Quilts:
        """The quilts of one entry."""
        return self._known[node]


@pure_bound.register
def _interval_bound(chain: IntervalChain) -> Bound:
    """The translation under all chains between the limits; its tables and answers are kept with the belief."""
    return kept(chain._remembered, lambda: _new_interval_bound(chain))


def _new_interval_bound(chain: IntervalChain) -> Bound:
    solve, curve = IntervalContraction(chain), influence(chain, min(_MOST_B, chain.length))
    return lambda epsilon: _by_curve(curve, epsilon, _by_contraction(solve, epsilon, chain.length))


def _by_contraction(solve: Contraction | IntervalContraction, epsilon: Fraction, length: int) -> float:
    """The lesser of the group bound and what the recursion proves."""
    best = group(epsilon, length)
    if epsilon > 0:
        with suppress(NotProvable):  # the other bounds stand
            found = solve(float_up(epsilon))
            best = min(best, outward(epsilon) if found == float_up(epsilon) else found)
    return best


@pure_bound.register
def _chainpure_bound(chain: MarkovChain) -> Bound:
    """The translation under one chain; its tables and answers are kept with the chain."""
    return kept(chain._remembered, lambda: _new_chainpure_bound(chain))


def kept(tables: dict[str, Any], new: Callable[[], Bound]) -> Bound:
    """A bound whose tables and answers are kept in `tables`, the memory of a belief; `new` makes it."""
    if "bound" not in tables:
        tables["bound"], tables["answers"] = new(), {}
    bound: Bound = tables["bound"]
    answers: dict[Fraction, float] = tables["answers"]

    def known(epsilon: Fraction) -> float:
        if epsilon not in answers:
            answers[epsilon] = bound(epsilon)
        return answers[epsilon]

    return known


def _new_chainpure_bound(chain: MarkovChain) -> Bound:
    solve = Contraction(chain)
    steps = 1 if chain.homogeneous else chain.length
    most = min(_MOST_B, _MOST_CURVE_WORK // (chain.size**3 * steps))
    alike = chain.stationary and chain.size <= MOST_PAIRWISE  # the recursion then holds every useful window already
    curve = None if alike or most < 1 else influence(chain, min(most, chain.length))

    def bound(epsilon: Fraction) -> float:
        best = _by_contraction(solve, epsilon, chain.length)
        return best if curve is None else _by_curve(curve, epsilon, best)

    return bound


def _by_curve(curve: InfluenceCurve, epsilon: Fraction, best: float) -> float:
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


from fugu.translation import trees as _trees  # noqa: E402, F401  # registers networks and hidden chains
