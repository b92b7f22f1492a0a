"""The contraction accountant of a Markov chain: per-entry eps to Pufferfish epsilon, node by node, pair by pair."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cached_property, lru_cache

import numpy as np

from fugu.errors import NotProvable
from fugu.priors.chain import MarkovChain
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.joint import STEP
from fugu.priors.transitions import reachable
from fugu.translation.joint import joint_steps
from fugu.translation.kernel import (
    Array,
    U,
    pairs_of,
    passed,
    passed_scalar,
    shortest_paths,
    sort_pairs,
    up,
    with_own_cell,
)
from fugu.translation.number import Numbered, Wide, WideLevels
from fugu.translation.side import Mask, Own, Side, SideLevels, backward_kernel, open_cell
from fugu.translation.start import AnyStart, GivenStart, WideSweep

#     log P(output | X_i = x) / P(output | X_i = x') <= eps + F_fwd(x, x') + F_bwd(x, x')
#
# with F_fwd over the T - i later nodes and F_bwd over the i - 1 earlier ones: exchange the law of the later nodes, that
# of the earlier nodes, and the cell itself, one after the other (docs/proofs/contraction.md#the-total). The backward
# kernels are those of this chain with this start, P(X_(t-1) | X_t), not the reversal of the stationary chain. Finite
# with forbidden transitions for a finite length.
#
# Proofs: docs/proofs/contraction.md#the-total and docs/proofs/contraction.md#values-that-cannot-occur.

MOST_PAIRWISE = 12
"""Chains with at most this many values carry one loss per ordered pair; larger ones a single number."""
MOST_RECURSION = 5
"""Up to here, and for short chains, the recursion is run from m = 0; above, a bound for all m is refined."""
_SHORT = 12
_LEAST_LOG = -650.0
_MOST_FIRST = 32
"""First entries that may take other values than all later ones."""
_MOST_CHANGES = 1000
"""Where the values that entries can take change more often than this, stretches of entries are taken together."""


def later_side(chain: MarkovChain, own: Own = open_cell, pairwise: bool = True) -> Side:
    """The later nodes: the transition kernels.

    The values that a homogeneous chain can take, now or later, are taken together. The set must be closed under
    transitions, beyond the last entry too: a value that is left out has no bound, and one that leads to it would seem
    to lose nothing there. Up to 12 values the pairs that occur cost no more for it. With one number for all pairs, a
    short chain whose values do not occur together is looked at place by place."""
    supports, length = np.asarray(chain.supports), chain.length
    if chain.homogeneous:
        closed: Mask = np.asarray(reachable(chain.transition(1) > 0)[supports[0]].any(axis=0))
        together = bool(np.array_equal(supports[-1], closed))
        if chain.size <= MOST_PAIRWISE or together or length > 4 * chain.size:
            return Side([chain.transition(1)], [closed], 0.0, own, pairwise)
    kernels = [chain.transition(length - m) for m in range(1, length)]
    return Side(kernels, [supports[length - 1 - m] for m in range(length)], 0.0, own, pairwise)


def backward_side(chain: MarkovChain, own: Own = open_cell, pairwise: bool = True) -> Side:
    """The earlier nodes: P(X_(t-1) = y | X_t = x) = mu_(t-1)(y) P(y, x) / mu_t(x), one float for each marginal."""
    supports, (logs, errors) = np.asarray(chain.supports), chain.log_marginals
    if np.any(logs[supports] < _LEAST_LOG):
        raise NotProvable("a state has a probability below e^-650; leave it out or give it probability 0")
    error = float(np.max(errors)) * 1.01 + 2000 * U
    laws = np.where(supports, np.exp(np.where(supports, logs, 0.0)), 0.0)
    if chain.stationary:
        return Side([backward_kernel(laws[0], chain.transition(1), laws[0])], [supports[0]], error, own, pairwise)
    kernels = [backward_kernel(laws[m - 1], chain.transition(m), laws[m]) for m in range(1, chain.length)]
    return Side(kernels, list(supports), error, own, pairwise)


def earlier_side(chain: MarkovChain, own: Own = open_cell, pairwise: bool = True) -> Side | GivenStart | AnyStart:
    """The earlier nodes, whatever is known of the start."""
    if chain.free:
        return AnyStart(chain, own, pairwise)
    given = not chain.stationary and (chain.homogeneous or own is not open_cell)
    return GivenStart(chain, own, pairwise) if given else backward_side(chain, own, pairwise)


class Accountant:
    """What per-entry privacy is worth under a belief about a sequence that has two sides at every node.

    `supports`: which values each entry can take; the last row serves for all entries beyond."""

    length: int
    supports: Mask

    def sides(self, epsilon: float) -> tuple[SideBounds, SideBounds]:
        """The losses through the later and through the earlier nodes, by their number."""
        raise NotImplementedError

    def __call__(self, epsilon: float, node: int | None = None) -> float:
        """The largest bound over all nodes, or for one, and ordered pairs of possible values; `epsilon`: per entry."""
        later, earlier = self.sides(epsilon)
        if node is not None:
            some = [(node, node)]
        else:  # alike also in the values that they can take, but for chains whose values never settle
            other = np.flatnonzero((self.supports[1:] != self.supports[:-1]).any(axis=1)) + 2
            changes = other.tolist() if other.size <= _MOST_CHANGES else []
            some = stretches(self.length, later.grid, earlier.grid, changes)
        last = len(self.supports)

        def pairs(first: int, end: int) -> Mask:
            """Ordered pairs of different values that nodes `first` to `end` can take."""
            return pairs_of(np.asarray(self.supports[min(first, last) - 1 : end].any(axis=0)))

        return with_own_cell(epsilon, largest(later, earlier, self.length, some, pairs))


class Contraction(Accountant):
    """What per-entry privacy is worth under one chain; tables are kept between calls.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> round(Contraction(chain)(0.3), 8), round(Contraction(chain)(0.3, node=3), 8)
    (0.67037357, 0.67037357)
    """

    def __init__(self, chain: MarkovChain) -> None:
        self.chain, self.length, self.supports = chain, chain.length, np.asarray(chain.supports)

    @cached_property
    def forward(self) -> Bounded:
        """The later nodes: a table for all of them where one serves, else node by node."""
        chain, side = self.chain, later_side(self.chain)
        if (kind := self._table) is Numbered and side.same:
            return Numbered(side)
        if kind is Wide and side.same:
            return Wide(side)
        if kind is Wide and chain.homogeneous:
            other = np.flatnonzero((self.supports != self.supports[-1]).any(axis=1))
            soon = int(np.max(other, initial=-1)) + 1  # from there on an entry can take the same values
            if soon <= _MOST_FIRST:
                return Wide(Side([chain.transition(1)], [self.supports[-1]]), self.length - 1 - soon)
        return side if chain.size <= MOST_PAIRWISE else side.by_one_number()

    @cached_property
    def backward(self) -> Bounded:
        """The earlier nodes."""
        side = earlier_side(self.chain)
        if not isinstance(side, Side):
            return side if self.chain.size <= MOST_PAIRWISE else WideSweep(side)
        if self.chain.stationary and self._table is not None:
            return self._table(side)
        return side if self.chain.size <= MOST_PAIRWISE else side.by_one_number()

    @property
    def _table(self) -> type[Wide] | type[Numbered] | None:
        """What serves all nodes of a side that is the same everywhere; None: node by node."""
        if self.chain.size > MOST_PAIRWISE:
            return Wide
        return Numbered if self.chain.size > MOST_RECURSION and self.length > _SHORT else None

    def sides(self, epsilon: float) -> tuple[SideBounds, SideBounds]:
        most = self.length - 1
        return self.forward.levels(epsilon, most), self.backward.levels(epsilon, most)


# A hidden chain is a tree, X_1 - X_2 - ... with a leaf Y_t at each X_t, and only the leaves are cells: it is a chain
# whose cells are seen through the emission E. What the leaf adds to X_t is O(x, x') = L(E_x, E_x'; eps), at most eps,
# and far less if the emission is noisy. With F of the two sides, both with O in place of eps
# (docs/proofs/trees.md#hidden-chains),
#
#     hidden    X_t = x against x':   O(x, x') + F_later(x, x') + F_earlier(x, x'),
#     observed  Y_t = y against y':   eps + L(C_y, C_y'; F_later + F_earlier),   C = P(X_t | Y_t).
#
# For two hidden states these are attained, whatever the emission is.
#
# Proofs: docs/proofs/trees.md#hidden-chains and docs/proofs/trees.md#rounding.

_PAIRS_AT_ONCE = 500_000
_MOST_CLOSED = 64
"""With more values seen, their pairs are not compared by way of a third one."""
_MOST_ENTRIES = 10**8
"""With more than 12 states, and more entries (t, x, x', p, q) than this, one number bounds the losses of all pairs."""
_MOST_SEEN = 36


class HiddenContraction:
    """What per-entry privacy in the observed entries is worth under a hidden chain; tables are kept between calls.

    >>> model = HiddenMarkov([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], length=6)
    >>> found = HiddenContraction(model)(0.3)
    >>> round(max(float(table.max()) for table in found.values()), 6)
    0.340569
    """

    def __init__(self, model: HiddenMarkov) -> None:
        self.model, self.chain = model, model.chain
        self.length, k = self.chain.length, self.chain.size
        self.own = lru_cache(maxsize=2)(self._own)
        pairwise = k <= MOST_PAIRWISE or self.length * k**4 <= _MOST_ENTRIES
        self.sides = later_side(self.chain, self.own, pairwise), earlier_side(self.chain, self.own, pairwise)
        self.joint = tuple(joint_steps(side, model.emission) for side in self.sides)

    def _own(self, epsilon: float) -> Array:
        """O(x, x'): what the entry seen at X_t adds to it."""
        emission, pairs = self.model.emission, np.nonzero(~np.eye(self.chain.size, dtype=bool))
        rows = sort_pairs(emission.values, emission.values > 0, 1.01 * emission.roundings * STEP, pairs)
        out = np.zeros((self.chain.size, self.chain.size))
        out[pairs] = passed_scalar(rows, np.array([epsilon]))[0, 0]
        return out

    def __call__(self, epsilon: float) -> dict[int, Array]:
        """For each t the total of every ordered pair of values of X_t, or of Y_t; 0 for those that cannot occur."""
        nodes = self.length - 1
        later, earlier = (
            found if steps is None else steps.levels(epsilon, found, nodes)
            for found, steps in zip((side.levels(epsilon, nodes) for side in self.sides), self.joint, strict=True)
        )
        known: dict[tuple[object, ...], Array] = {}
        found = {}
        for t in range(1, self.length + 1):
            support = self.chain.supports[0 if self.chain.stationary else t - 1]
            name, seen, error = self._seen[min(t, len(self._seen)) - 1]
            ahead, behind = later.index(self.length - t), earlier.index(t - 1)
            if (key := (ahead, behind, support.tobytes(), name)) not in known:
                beyond = up(later.values[ahead] + earlier.values[behind])
                known[key] = self._total(beyond, support, epsilon, seen, error)
            found[t] = known[key]
        return found

    def _total(self, beyond: Array, support: Mask, epsilon: float, seen: Array, error: float) -> Array:
        most = up(self.length * epsilon)
        if self.model.protect == "hidden":
            every = np.minimum(up(self.own(epsilon) + beyond), most)
            return np.where(pairs_of(support), shortest_paths(every, support), 0.0)
        losses = np.where(pairs_of(support), shortest_paths(beyond, support), 0.0)[None]
        possible = np.asarray(seen.any(axis=1))
        out = np.zeros((len(seen), len(seen)))
        apart = np.nonzero(pairs_of(possible))
        size = max(1, _PAIRS_AT_ONCE // self.chain.size**2)
        for start in range(0, len(apart[0]), size):
            pairs = tuple(part[start : start + size] for part in apart)
            rows = sort_pairs(seen, seen > 0, error, pairs)
            few = self.chain.size <= _MOST_SEEN
            through = passed(rows, losses) if few else passed_scalar(rows, losses.max(axis=(1, 2)))
            out[pairs] = np.minimum(up(epsilon + through[0, 0]), most)
        return shortest_paths(out, possible) if len(out) <= _MOST_CLOSED else out

    @cached_property
    def _seen(self) -> list[tuple[bytes, Array, float]]:
        """P(X_t = x | Y_t = y) in row y for each t (one if stationary): a name, the kernel, and its relative error; an
        empty one where hidden states are protected."""
        if self.model.protect == "hidden":
            return [(b"", np.zeros((0, 0)), 0.0)]
        found = []
        for t in range(1, 2 if self.chain.stationary else self.length + 1):
            law = self.model.given_seen(t)
            # to the next power of two: errors that grow slowly then have few different bounds
            error = 1.01 * 2.0 ** math.ceil(math.log2(law.roundings)) * STEP
            found.append((law.values.tobytes() + str(error).encode(), law.values, error))
        return found


# The largest loss over all nodes and pairs of values: the sum of both sides, at the same node and for the same pair.
#
# Node i has T - i later nodes and i - 1 earlier ones, so its loss is at most eps + F_fwd + F_bwd at these two numbers
# (docs/proofs/contraction.md#the-total). Nodes whose two bounds are the same are asked once. Where bounds rise with the
# number of nodes, that for T - a later and b - 1 earlier ones holds for every node from a to b: with very many values
# such stretches are taken together, as far as little is lost by it.
#
# Proofs: docs/proofs/contraction.md#the-total and docs/proofs/contraction.md#by-number.

_AT_ONCE = 500
"""Pairs of values that are looked at closely at a time, at first."""
_MOST_STRETCHES = 64
_LARGE, _FEW = 3.0, 4
"""Above this loss, few stretches: nobody spends so much."""
_LOST = (1e-4, 1e-3, 1e-2, 3e-2, 0.1, 1.0)


SideBounds = SideLevels | WideLevels
"""What the nodes on one side can add, by their number m: at `most`, for each pair at little cost (`rough`), for the
pairs asked (`at`); the same between two numbers of the `grid`. `rising`: a bound for m nodes is one for fewer."""
Bounded = Side | GivenStart | AnyStart | Numbered | Wide | WideSweep
"""What has such bounds, by the per-entry epsilon."""
Stretch = tuple[int, int]


def largest(
    later: SideBounds, earlier: SideBounds, length: int, some: list[Stretch], pairs: Callable[[int, int], Mask]
) -> float:
    """An upper bound on F_fwd + F_bwd over the nodes of these stretches and the `pairs` that these can take."""
    most = [later.most(length - a) + earlier.most(b - 1) for a, b in some]
    if later.rising and earlier.rising and len(some) > _FEW and len(pairs(1, 1)) ** 2 > _AT_ONCE:
        some, most = _together(later, earlier, length, some, most)
    worst = 0.0
    for n in np.argsort(most)[::-1]:
        if most[n] <= worst:
            break
        a, b = some[n]
        rough = np.where(pairs(a, b), later.rough(length - a) + earlier.rough(b - 1), 0.0)
        found, size = worst, _AT_ONCE
        while most[n] > found and float(rough.max()) > found:  # the pairs that may lose most first
            size = min(size, rough.size)
            asked = (rough >= np.partition(rough, -size, axis=None)[-size]) & (rough > found)
            total = later.at(length - a, asked) + earlier.at(b - 1, asked)
            found = max(found, float(np.max(total, where=asked, initial=0.0)))
            rough[asked], size = 0.0, 4 * size
        worst = max(worst, min(found, most[n]))
    return worst


def _together(
    later: SideBounds, earlier: SideBounds, length: int, some: list[Stretch], most: list[float]
) -> tuple[list[Stretch], list[float]]:
    """Stretches taken together as far as the ends of each lose little, and the most of each, node by node."""
    allowed = _FEW if max(most) > _LARGE else _MOST_STRETCHES
    for share in _LOST:
        room, joined, tops = share * max(most), [some[0]], [most[0]]
        for (a, b), top in zip(some[1:], most[1:], strict=True):
            first = joined[-1][0]
            if later.most(length - first) + earlier.most(b - 1) - max(top, tops[-1]) <= room:
                joined[-1], tops[-1] = (first, b), max(top, tops[-1])
            else:
                joined.append((a, b))
                tops.append(top)
        if len(joined) <= allowed:
            break
    return joined, tops


def stretches(length: int, later: Sequence[int], earlier: Sequence[int], changes: Sequence[int]) -> list[Stretch]:
    """Stretches of nodes that differ in nothing: not in the bounds of T - i later nodes, nor in those of i - 1 earlier
    ones; and none goes past a node of `changes`."""
    begins = {1, *(length - m for m in later), *(m + 2 for m in earlier), *changes}
    first = sorted(i for i in begins if 1 <= i <= length)
    return list(zip(first, [*(i - 1 for i in first[1:]), length], strict=True))
