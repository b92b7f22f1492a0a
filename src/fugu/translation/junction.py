"""Networks in which somebody has two parents: messages between groups of variables, by plans."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import combinations

import numpy as np

from fugu.errors import NotProvable
from fugu.priors.joint import STEP
from fugu.priors.network import BayesianNetwork
from fugu.translation.joint import loss
from fugu.translation.kernel import Array, up
from fugu.translation.side import Places

# Groups of variables that form a junction tree: each variable with its parents is in one, and those that hold a
# variable hang together. Given the variables S that two neighbouring groups share, what lies beyond is independent of
# the rest. Let F(s, s') bound ln E[f | S = s] / E[f | S = s'] over all f of the cells beyond whose logarithm changes by
# at most eps per cell. For the group B beyond S, r its other variables,
#
#     G(s, r) = E[f(r, rest) | s, r] <= G(s', r') exp(eps #(r, r') + sum of F_c over the groups c beyond B),
#
# #(r, r') the number of cells in which r and r' differ, and F_c at what (s, r) and (s', r') say of its own S: so F(s,
# s') is at most the loss of any plan between the laws of r given s and given s' (`joint`). A cell's total is that of a
# group that holds it: eps, and a plan between the laws of the others.
#
# Proofs: docs/proofs/trees.md#networks-with-two-parents.

_MOST_NODES, _MOST_STATES = 200, 32
_MOST_PLANS = 2000
"""Linear programs at one epsilon."""


class JunctionContraction:
    """What per-entry privacy in some variables of a network is worth to each of them.

    >>> tables = {"a": [0.5, 0.5], "b": [0.5, 0.5], "c": [[[0.9, 0.1], [0.5, 0.5]], [[0.5, 0.5], [0.1, 0.9]]]}
    >>> found = JunctionContraction(BayesianNetwork(tables, {"c": ["a", "b"]}), (0, 1, 2))(0.5)
    >>> [round(float(table.max()), 4) for table in found.values()]
    [0.7014, 0.7014, 0.897]
    """

    def __init__(self, network: BayesianNetwork, nodes: Sequence[int]) -> None:
        self.network, self.nodes = network, tuple(nodes)
        self.groups = _groups(network, self.nodes)
        self.edges = _tree(self.groups)
        self._messages: dict[tuple[int, int], Array] = {}

    @cached_property
    def fits(self) -> bool:
        """Whether groups are small, and few pairs of what they share."""
        states = [self._count(group) for group in self.groups]
        shared = [self._count(self.groups[a] & self.groups[b]) for a, b in self.edges]
        plans = 2 * sum(n**2 for n in shared) + sum(self.network.sizes[v] ** 2 for v in self.nodes)
        return max(states) <= _MOST_STATES and plans <= _MOST_PLANS

    def __call__(self, epsilon: float) -> dict[int, Array]:
        """For each variable the total of every ordered pair of its values; 0 for those that cannot occur."""
        self._messages = {}
        found = {}
        for v in self.nodes:
            home = min((g for g, group in enumerate(self.groups) if v in group), key=lambda g: len(self.groups[g]))
            found[v] = np.minimum(self._passed((v,), home, None, epsilon, own=True), up(len(self.nodes) * epsilon))
        return found

    def _count(self, variables: Iterable[int]) -> int:
        return math.prod(self.network.sizes[v] for v in variables)

    def _message(self, near: int, far: int, epsilon: float) -> Array:
        """F of what two neighbouring groups share, for all that lies beyond the edge."""
        if (near, far) not in self._messages:
            shared = tuple(sorted(self.groups[near] & self.groups[far]))
            self._messages[near, far] = self._passed(shared, far, near, epsilon)
        return self._messages[near, far]

    def _passed(self, given: tuple[int, ...], group: int, near: int | None, epsilon: float, own: bool = False) -> Array:
        """The loss between any two values of `given`, through the rest of a group and what lies beyond it."""
        rest = tuple(sorted(self.groups[group] - {*given}))
        law = self.network.joint([*given, *rest])
        size, n = self._count(given), self._count(rest)
        masses = law.values.reshape(size, n)
        sums = masses.sum(axis=1)
        rows = masses / np.where(sums > 0, sums, 1.0)[:, None]
        error = 1.01 * (2 * law.roundings + n + 2) * STEP
        beyond = self._beyond(given, rest, group, near, epsilon)
        apart = sum((rest_of[:, None] != rest_of for rest_of in _values(rest, self.network.sizes)), np.zeros((n, n)))
        out = np.zeros((size, size))
        for x, y in np.argwhere((sums[:, None] > 0) & (sums > 0) & ~np.eye(size, dtype=bool)):
            lengths = up(epsilon * (apart + own) + beyond[x, :, y, :])
            out[x, y] = loss(rows[x], rows[y], np.exp(up(lengths)), error)
        return out

    def _beyond(
        self, given: tuple[int, ...], rest: tuple[int, ...], group: int, near: int | None, epsilon: float
    ) -> Array:
        """(given, rest, given, rest): the sum of the messages beyond a group, for each two of its states."""
        variables, shape = (*given, *rest), (self._count(given), self._count(rest))
        places = dict(zip(variables, _values(variables, self.network.sizes), strict=True))
        states = shape[0] * shape[1]
        total = np.zeros((states, states))
        for a, b in self.edges:
            far = b if a == group else a if b == group else None
            if far is None or far == near:
                continue
            shared = tuple(sorted(self.groups[group] & self.groups[far]))
            index: Places = np.zeros(states, dtype=np.intp)
            for v in shared:
                index = index * self.network.sizes[v] + places[v]
            total += self._message(group, far, epsilon)[np.ix_(index, index)]
        return np.asarray(up(total * (1 + 1e-14)).reshape(*shape, *shape))


def _values(variables: Sequence[int], sizes: Sequence[int]) -> list[Places]:
    """The value of each variable in every state of all, the last one fastest."""
    if not variables:
        return []
    return [axis.ravel() for axis in np.meshgrid(*(np.arange(sizes[v]) for v in variables), indexing="ij")]


def _groups(network: BayesianNetwork, nodes: Sequence[int]) -> list[frozenset[int]]:
    """Each variable with its parents, married; then one variable after the other is taken out, whose neighbours become
    neighbours of each other, those that make the smallest group first. Groups inside others are left out."""
    near: dict[int, set[int]] = {v: set() for v in nodes}
    for v in nodes:
        for a, b in combinations((v, *network.parents[v]), 2):
            near[a].add(b)
            near[b].add(a)
    found: list[frozenset[int]] = []
    while near:
        v = min(near, key=lambda v: (math.prod(network.sizes[w] for w in near[v]), v))
        group = frozenset({v, *near[v]})
        if not any(group <= other for other in found):
            found.append(group)
        for a, b in combinations(near.pop(v), 2):
            near[a].add(b)
            near[b].add(a)
        for w in group - {v}:
            near[w].discard(v)
    return found


def _tree(groups: Sequence[frozenset[int]]) -> list[tuple[int, int]]:
    """Edges that share the most variables, without circles: those that hold a variable then hang together."""
    pairs = sorted(combinations(range(len(groups)), 2), key=lambda e: -len(groups[e[0]] & groups[e[1]]))
    home, found = list(range(len(groups))), []
    for a, b in pairs:
        if home[a] != home[b] and groups[a] & groups[b]:
            found.append((a, b))
            home = [home[a] if h == home[b] else h for h in home]
    return found


def junction(network: BayesianNetwork, nodes: Sequence[int]) -> JunctionContraction | None:
    """Of the parts of a network that are no trees; None where they or their groups are too large, or a probability is
    too small."""
    if not 0 < len(nodes) <= _MOST_NODES:
        return None
    try:
        found = JunctionContraction(network, nodes)
        if not found.fits:
            return None
        for group in found.groups:
            network.joint(sorted(group))
    except NotProvable:
        return None
    return found
