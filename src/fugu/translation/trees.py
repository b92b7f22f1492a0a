"""The pure translation under networks and hidden chains: contraction on trees, quilts elsewhere, the better of both.

For each entry and each ordered pair of its values the lesser of the two bounds counts, as each is proved for one pair
at a time, and then the shortest paths of what is left. Quilts are asked of an entry only while it is the worst of all:
the rest cannot change the answer. On trees of two values the contraction is attained, so they are not asked at all.

A network may have several independent parts. Those in which somebody has two parents are left to the quilts.

Proofs: docs/proofs/trees.md#messages and docs/proofs/trees.md#the-better-of-both.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Mapping
from fractions import Fraction

import numpy as np

from fugu.errors import NotProvable
from fugu.guarantee.numbers import outward
from fugu.numbers.exact import float_up, meant_up
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.network import BayesianNetwork
from fugu.priors.prior import Quilted
from fugu.priors.quilts import Quilts
from fugu.translation.contraction.closed import group
from fugu.translation.contraction.hidden import HiddenContraction
from fugu.translation.contraction.kernel import Array, shortest_paths, up
from fugu.translation.contraction.tree import TreeContraction
from fugu.translation.pure import Bound, kept, pure_bound
from fugu.translation.quilts import guarantee

_MOST_QUILTED = 24
"""Networks with more variables are too large to list the quilts of an entry."""
_MOST_ENTRIES = 2 * 10**7
"""Nodes times values squared; where there are more, a tree is worth its group bound."""
Ask = Callable[[int], Quilts]


class _Listed:
    """Some entries of a prior that lists their quilts; each is asked once, when it is needed."""

    def __init__(self, prior: Quilted, nodes: tuple[int, ...]) -> None:
        self.prior, self.nodes = prior, nodes
        self._known: dict[int, Quilts] = {}

    def quilts(self, node: int) -> Quilts:
        """The quilts of one entry."""
        if node not in self._known:
            self._known[node] = self.prior.quilts(node)
        return self._known[node]


@pure_bound.register
def network_bound(network: BayesianNetwork) -> Bound:
    """The translation under a network; its tables and answers are kept with it."""
    return kept(network._remembered, lambda: _network_bound(network))


def _network_bound(network: BayesianNetwork) -> Bound:
    try:
        forest = network.forest
    except NotProvable:  # a probability below what floats can tell: the quilts say so, or do without it
        return _by_quilts(network, network.nodes)
    trees, few = forest.around(), len(network.nodes) <= _MOST_QUILTED
    values = max((network.sizes[v] for v in trees), default=0)
    large = len(trees) * values**2 > _MOST_ENTRIES
    if not trees or (large and few):
        return _by_quilts(network, network.nodes)
    solve, most = None if large else TreeContraction(forest), max(trees.values())
    quilts = _Listed(network, network.nodes).quilts if few and values > 2 else None
    rest = tuple(v for v in network.nodes if v not in trees)
    others = _by_quilts(network, rest)

    def bound(epsilon: Fraction) -> float:
        best = group(epsilon, most)
        if epsilon > 0 and solve is not None:
            found = worst(solve(float_up(epsilon)), float_up(epsilon), quilts)
            best = min(best, found if found > epsilon else outward(epsilon))
        return max(best, others(epsilon)) if rest else best

    return bound


def _by_quilts(network: BayesianNetwork, nodes: tuple[int, ...]) -> Bound:
    listed = _Listed(network, nodes)
    return lambda epsilon: guarantee(listed, [epsilon])


@pure_bound.register
def hidden_bound(model: HiddenMarkov) -> Bound:
    """The translation under a hidden chain; its tables and answers are kept with it."""
    return kept(model._remembered, lambda: _hidden_bound(model))


def _hidden_bound(model: HiddenMarkov) -> Bound:
    solve, listed = HiddenContraction(model), _Listed(model, model.nodes)
    exact = model.chain.size == 2 and not model.chain.free

    def bound(epsilon: Fraction) -> float:
        best = group(epsilon, model.chain.length)
        if epsilon == 0:
            return best
        try:
            tables = solve(float_up(epsilon))
        except NotProvable:  # a state of a probability below what floats can tell
            return min(best, guarantee(listed, [epsilon]))
        return min(best, worst(tables, float_up(epsilon), None if exact else listed.quilts))

    return bound


def worst(tables: Mapping[int, Array], epsilon: float, quilts: Ask | None) -> float:
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
