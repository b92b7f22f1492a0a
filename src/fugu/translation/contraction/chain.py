"""The contraction accountant of a Markov chain: per-entry eps to Pufferfish epsilon, node by node, pair by pair."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property

import numpy as np

from fugu.errors import NotProvable
from fugu.priors.chain import MarkovChain
from fugu.priors.transitions import reachable
from fugu.translation.contraction.kernel import U, pairs_of, with_own_cell
from fugu.translation.contraction.number import Numbered, Sweep
from fugu.translation.contraction.scalar import Wide, WideLevels, levels_scalar
from fugu.translation.contraction.side import Mask, Side, SideLevels, backward_kernel, levels
from fugu.translation.contraction.start import AnyStart, GivenStart, StartLevels, WideSweep

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


class Contraction:
    """What per-entry privacy is worth under one chain; tables are kept between calls.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> round(Contraction(chain)(0.3), 8), round(Contraction(chain).node(3, 0.3), 8)
    (0.67037357, 0.67037357)
    """

    def __init__(self, chain: MarkovChain) -> None:
        self.chain = chain
        self.length = chain.length

    @cached_property
    def forward(self) -> Side:
        """The later nodes: the transition kernels."""
        chain, supports = self.chain, np.asarray(self.chain.supports)
        if chain.homogeneous and (closed := self._closed()) is not None:
            return Side([chain.transition(1)], [closed])
        kernels = [chain.transition(self.length - m) for m in range(1, self.length)]
        return Side(kernels, [supports[self.length - 1 - m] for m in range(self.length)])

    def _closed(self) -> Mask | None:
        """The values that a homogeneous chain can take, now or later; None where each place has its own.

        The set must be closed under transitions, beyond the last entry too: a value that is left out has no bound, and
        one that leads to it would seem to lose nothing there. Up to 12 values the pairs that occur cost no more for it.
        With one number for all pairs, a short chain whose values do not occur together is looked at place by place."""
        supports = np.asarray(self.chain.supports)
        closed: Mask = np.asarray(reachable(self.chain.transition(1) > 0)[supports[0]].any(axis=0))
        together = bool(np.array_equal(supports[-1], closed))
        alike = self.chain.size <= MOST_PAIRWISE or together or self.length > 4 * self.chain.size
        return closed if alike else None

    @cached_property
    def backward(self) -> Side:
        """The earlier nodes: P(X_(t-1) = y | X_t = x) = mu_(t-1)(y) P(y, x) / mu_t(x), one float for each marginal."""
        chain, supports = self.chain, np.asarray(self.chain.supports)
        logs, errors = chain.log_marginals
        if np.any(logs[supports] < _LEAST_LOG):
            raise NotProvable("a state has a probability below e^-650; leave it out or give it probability 0")
        error = float(np.max(errors)) * 1.01 + 2000 * U
        laws = np.where(supports, np.exp(np.where(supports, logs, 0.0)), 0.0)
        if chain.stationary:
            return Side([backward_kernel(laws[0], chain.transition(1), laws[0])], [supports[0]], error)
        kernels = [backward_kernel(laws[m - 1], chain.transition(m), laws[m]) for m in range(1, self.length)]
        return Side(kernels, list(supports), error)

    def node(self, i: int, epsilon: float) -> float:
        """The bound for the secrets of node i alone, i = 1 .. T."""
        return self(epsilon, i)

    @cached_property
    def _tables(self) -> dict[str, Wide | Numbered]:
        """A table for each side that is the same everywhere, where one serves all its nodes."""
        k = self.chain.size
        if k <= MOST_RECURSION or (k <= MOST_PAIRWISE and self.length <= _SHORT):
            return {}
        found: dict[str, Wide | Numbered] = {}
        kind = Numbered if k <= MOST_PAIRWISE else Wide
        if self.forward.same:
            found["later"] = kind(self.forward)
        elif kind is Wide and self.chain.homogeneous:
            other = np.flatnonzero((self._supports != self._supports[-1]).any(axis=1))
            soon = int(np.max(other, initial=-1)) + 1  # from there on an entry can take the same values
            if soon <= _MOST_FIRST:
                found["later"] = Wide(Side([self.chain.transition(1)], [self._supports[-1]]), self.length - 1 - soon)
        if self.chain.stationary:
            found["earlier"] = kind(self.backward)
        return found

    @cached_property
    def _sweep(self) -> Sweep | WideSweep | None:
        """The earlier side of a chain that is not stationary; None where its steps differ and its start is given."""
        chain = self.chain
        if chain.stationary or not (chain.free or chain.homogeneous):
            return None
        start = AnyStart(chain) if chain.free else GivenStart(chain)
        return Sweep(start) if chain.size <= MOST_PAIRWISE else WideSweep(start)

    def _levels(self, name: str, epsilon: float) -> SideBounds:
        """The losses through the later or the earlier nodes, by their number."""
        most = self.length - 1
        if name in self._tables:
            return self._tables[name].levels(epsilon, most)
        if name == "earlier" and self._sweep is not None:
            return self._sweep.levels(epsilon, most)
        side = self.forward if name == "later" else self.backward
        return levels(side, epsilon, most) if self.chain.size <= MOST_PAIRWISE else levels_scalar(side, epsilon, most)

    def __call__(self, epsilon: float, node: int | None = None) -> float:
        """The largest bound over all nodes, or for one, and ordered pairs of possible values; `epsilon`: per entry."""
        later, earlier = self._levels("later", epsilon), self._levels("earlier", epsilon)
        if node is not None:
            some = [(node, node)]
        else:  # alike also in the values that they can take, but for chains whose values never settle
            other = np.flatnonzero((self._supports[1:] != self._supports[:-1]).any(axis=1)) + 2
            changes = other.tolist() if other.size <= _MOST_CHANGES else []
            some = stretches(self.length, later.grid, earlier.grid, changes)
        return with_own_cell(epsilon, largest(later, earlier, self.length, some, self._pairs))

    @cached_property
    def _supports(self) -> Mask:
        """Which values each entry can take; one row where all entries are alike."""
        return np.asarray(self.chain.supports)

    def _pairs(self, first: int, last: int) -> Mask:
        """Ordered pairs of different values that nodes `first` to `last` can take."""
        rows = self._supports[first - 1 : last] if len(self._supports) > 1 else self._supports
        return pairs_of(np.asarray(rows.any(axis=0)))


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


SideBounds = SideLevels | WideLevels | StartLevels
"""What the nodes on one side can add, by their number m: at `most`, for each pair at little cost (`rough`), for the
pairs asked (`at`); the same between two numbers of the `grid`. `rising`: a bound for m nodes is one for fewer."""
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
