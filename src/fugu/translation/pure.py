"""The pure translation: a per-entry epsilon and a prior to a proved Pufferfish epsilon, the least of several bounds."""

from __future__ import annotations

import heapq
import math
from collections.abc import Callable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np

from fugu.errors import NotProvable
from fugu.guarantee.asks import check_epsilon, exact, outward
from fugu.numbers.exact import Real, float_up, meant_up
from fugu.priors.chain import MarkovChain
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.interval_chain import IntervalChain
from fugu.priors.joint import Quilts
from fugu.priors.network import BayesianNetwork
from fugu.priors.prior import Belief, InfluenceCurve, Quilted, Recorded
from fugu.translation.influence import guarantee, influence, members
from fugu.translation.interval import IntervalContraction
from fugu.translation.junction import junction
from fugu.translation.kernel import Array, group, shortest_paths, up
from fugu.translation.records import bounds
from fugu.translation.sequence import MOST_PAIRWISE, Contraction, HiddenContraction
from fugu.translation.tree import TreeContraction

#   contraction  eps + F_fwd + F_bwd, exact for chains of two values (`sequence`)
#   influence    min over b of b eps + a(b)  (Bai et al., Theorem 6 with the corrected Definition 7)
#   trees        messages along the edges of a network that is a forest, or of a hidden chain (`tree`)
#   quilts       the same as influence, pair by pair, for networks and joint tables (`influence`)
#   group        n eps for n cells
#   records      T(eps; p, q) for independent records whose law is known: at most eps (`records.bounds`)
#
# Which of them a prior supports is decided by its class, in `pure_bound`.
#
# Proofs: docs/proofs/translation.md#pure, docs/proofs/translation.md#several-priors-and-blocks.

Bound = Callable[[Fraction], float]
"""A per-entry epsilon -> a proved Pufferfish epsilon."""
_MOST_B = 256
_MOST_CURVE_WORK = 10**9


def translated_pure(prior: object, epsilon: Real) -> float:
    """What releases of this epsilon for each entry are worth under a prior."""
    check_epsilon(epsilon)
    return published(prior) if math.isinf(epsilon) else pure_bound(prior)(exact(epsilon))


def published(prior: object) -> float:
    """What entries that go out as they are say of a secret among them: everything, but for independent records."""
    if isinstance(prior, Recorded):
        return bounds.pure(prior.laws(), math.inf)
    several = members(prior)
    return math.inf if several is None else max(published(p) for p in several)


def pure_bound(prior: object) -> Bound:
    """The pure translation under a prior; tables are built once and serve every epsilon.

    Those of a chain, a network or a hidden chain are kept with the belief, and so are the answers."""
    if isinstance(prior, Recorded):
        laws = prior.laws()
        return lambda epsilon: bounds.pure(laws, epsilon)
    if isinstance(prior, Belief):
        for kind, new in TABLED:
            if isinstance(prior, kind):
                if "bound" not in prior._remembered:
                    prior._remembered["bound"] = cache(new(prior))
                kept: Bound = prior._remembered["bound"]
                return kept
    if (several := members(prior)) is not None:
        parts = [pure_bound(p) for p in several]
        return lambda epsilon: max(part(epsilon) for part in parts)
    if isinstance(prior, Quilted):
        return _by_quilts(prior, tuple(prior.nodes))
    curve = influence(prior)  # type: ignore[arg-type]  # refuses what has none
    return lambda epsilon: _by_curve(curve, epsilon, group(epsilon, curve.length))


def _by_quilts(prior: Quilted, nodes: tuple[int, ...]) -> Bound:
    """By the quilts of some entries; each entry is asked once, when it is needed."""
    listed = SimpleNamespace(nodes=nodes, quilts=cache(prior.quilts))
    return lambda epsilon: guarantee(listed, [epsilon])


def _sequence_bound(chain: MarkovChain | IntervalChain) -> Bound:
    """The translation under one chain, or under all chains between limits: the least of the group bound, of what the
    recursion proves, and of the influence curve."""
    solve: Contraction | IntervalContraction
    if isinstance(chain, IntervalChain):
        solve, most = IntervalContraction(chain), _MOST_B
    else:
        solve, steps = Contraction(chain), 1 if chain.homogeneous else chain.length
        most = min(_MOST_B, _MOST_CURVE_WORK // (chain.size**3 * steps))
        if chain.stationary and chain.size <= MOST_PAIRWISE:  # the recursion then holds every useful window already
            most = 0
    curve = None if most < 1 else influence(chain, min(most, chain.length))

    def bound(epsilon: Fraction) -> float:
        best = group(epsilon, chain.length)
        if epsilon > 0:
            with suppress(NotProvable):  # the other bounds stand
                found = solve(float_up(epsilon))
                best = min(best, outward(epsilon) if found == float_up(epsilon) else found)
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


# The pure translation under networks and hidden chains: contraction on trees, quilts elsewhere, the better of both.
#
# For each entry and each ordered pair of its values the lesser of the two bounds counts, as each is proved for one pair
# at a time, and then the shortest paths of what is left. Quilts are asked of an entry only while it is the worst of
# all: the rest cannot change the answer. On trees of two values the contraction is attained, so they are not asked at
# all.
#
# A network may have several independent parts. Where somebody has two parents, groups of variables stand for nodes.
#
# Proofs: docs/proofs/trees.md#messages and docs/proofs/trees.md#the-better-of-both.

_MOST_QUILTED = 24
"""Networks with more variables are too large to list the quilts of an entry."""
_MOST_ENTRIES = 2 * 10**7
"""Nodes times values squared; where there are more, a tree is worth its group bound."""


def _network_bound(network: BayesianNetwork) -> Bound:
    """The translation under a network."""
    try:
        forest = network.forest
    except NotProvable:  # a probability below what floats can tell: the quilts say so, or do without it
        return _by_quilts(network, network.nodes)
    trees, few = forest.around(), len(network.nodes) <= _MOST_QUILTED
    rest = tuple(v for v in network.nodes if v not in trees)
    others = _others(network, rest, few)
    values = max((network.sizes[v] for v in trees), default=0)
    large = len(trees) * values**2 > _MOST_ENTRIES
    if not trees:
        return others
    if large and few:
        return _by_quilts(network, network.nodes)
    solve, most = None if large else TreeContraction(forest), max(trees.values())
    quilts = cache(network.quilts) if few and values > 2 else None

    def bound(epsilon: Fraction) -> float:
        best = group(epsilon, most)
        if epsilon > 0 and solve is not None:
            found = worst(solve(float_up(epsilon)), float_up(epsilon), quilts)
            best = min(best, found if found > epsilon else outward(epsilon))
        return max(best, others(epsilon)) if rest else best

    return bound


def _others(network: BayesianNetwork, nodes: tuple[int, ...], few: bool) -> Bound:
    """That of variables whose part of the network is no tree."""
    groups, by_quilts = junction(network, nodes), _by_quilts(network, nodes)
    if groups is None:
        return by_quilts
    quilts = cache(network.quilts) if few else None

    def bound(epsilon: Fraction) -> float:
        if epsilon == 0:
            return by_quilts(epsilon)
        found = worst(groups(float_up(epsilon)), float_up(epsilon), quilts)
        return found if found > epsilon else outward(epsilon)

    return bound


def _hidden_bound(model: HiddenMarkov) -> Bound:
    """The translation under a hidden chain."""
    solve, quilts = HiddenContraction(model), cache(model.quilts)
    others = _by_quilts(model, model.nodes)
    exact = model.chain.size == 2 and not model.chain.free

    def bound(epsilon: Fraction) -> float:
        best = group(epsilon, model.chain.length)
        if epsilon == 0:
            return best
        try:
            tables = solve(float_up(epsilon))
        except NotProvable:  # a state of a probability below what floats can tell
            return min(best, others(epsilon))
        return min(best, worst(tables, float_up(epsilon), None if exact else quilts))

    return bound


TABLED: tuple[tuple[type[Belief], Callable[[Any], Bound]], ...] = (
    (MarkovChain, _sequence_bound),
    (IntervalChain, _sequence_bound),
    (BayesianNetwork, _network_bound),
    (HiddenMarkov, _hidden_bound),
)
"""Beliefs whose translations take tables."""


def worst(tables: Mapping[int, Array], epsilon: float, quilts: Callable[[int], Quilts] | None) -> float:
    """The largest loss over entries and pairs, each the lesser of `tables` and of what `quilts` say; rounded up.

    `tables`: the totals of each entry for one per-entry `epsilon`, 0 for pairs that cannot occur. `quilts`: the quilts
    of an entry, None to do without."""
    heap = [(-float(table.max(initial=0.0)), node, quilts is None) for node, table in tables.items()]
    heapq.heapify(heap)
    while not heap[0][2] and quilts is not None:
        loss, node, _ = heap[0]
        table = lesser(tables[node], quilts(node), epsilon)
        heapq.heapreplace(heap, (max(loss, -float(table.max(initial=0.0))), node, True))
    loss = -heap[0][0]
    return meant_up(loss)


def lesser(table: Array, quilts: Quilts, epsilon: float) -> Array:
    """Pair by pair the lesser of a total and of card(N) eps + leak over the quilts, and its shortest paths."""
    costs = up(up(quilts.cards * epsilon)[:, None, None] + quilts.leaks).min(axis=0)
    valid = ~np.isneginf(np.diagonal(costs))
    least = np.minimum(table, np.where(np.isneginf(costs), 0.0, costs))
    return shortest_paths(np.where(table > 0, least, 0.0), valid)
