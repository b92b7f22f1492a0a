"""`fugu.influence`: the influence curve of any prior, for chains by the best window around every entry."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.priors.chain import MarkovChain
from fugu.priors.prior import Curved, InfluenceCurve, Prior, Quilted, SeveralPriors, whole
from fugu.priors.products import Array, Mask, Product, largest
from fugu.priors.transitions import UNIT
from fugu.translation.contraction.kernel import pairs_of
from fugu.translation.quilts import curve

# Proofs: docs/proofs/influence.md#the-influence-curve.


def influence(prior: Prior | Curved | Quilted, max_b: int | None = None) -> InfluenceCurve:
    """a(b) = max over entries, ordered pairs of their values and priors of min over |H| <= b of the leakage.

    Parameters: `prior` is a `MarkovChain`, a `ChainSet`, `DependentGroups`, `IndependentBlocks`, a `BayesianNetwork`, a
    `JointTable`, a `HiddenMarkov`, or any object with `influence_curve` or `quilts`; `max_b` is how far the curve is
    worth computing, a whole number of entries, and how far its `points` go (None: 64).

    Returns an `InfluenceCurve`, whose values are computed when asked for. Raises `UsageError` for a prior without one.

    The leakage of H, which holds the entry i, is the largest log P(x_L | X_i = x) / P(x_L | X_i = x') over all x_L
    outside H that are possible given x; +inf if some of them is impossible given x' (Bai et al., Definition
    7 as corrected: the reading "possible under both" makes Theorem 6 false). H may differ by entry, pair and prior.
    Exact for chains up to rounding, which is upwards; values of probability 0 are skipped.

    >>> curve = influence(MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=100))
    >>> [round(curve(b), 9) for b in (1, 2, 3, 100)]
    [2.197224577, 1.550597412, 0.903970247, 0.0]
    """
    if max_b is not None:
        whole(max_b, "max_b")
    if isinstance(prior, MarkovChain):
        windows = Windows(prior) if prior.homogeneous else VaryingWindows(prior)
        return InfluenceCurve(windows.value, prior.length, max_b)
    if isinstance(prior, SeveralPriors):  # the largest value at every b
        curves = [influence(one, max_b) for one in prior.members]
        caps = [found.max_b for found in curves if found.max_b is not None]
        length = max(found.length for found in curves)
        return InfluenceCurve(lambda b: max(found(b) for found in curves), length, max(caps) if caps else None)
    if isinstance(prior, Curved):
        given = prior.influence_curve(max_b)
        if not isinstance(given, InfluenceCurve):
            raise UsageError("influence_curve(max_b) of a prior must return an InfluenceCurve")
        return given
    if isinstance(prior, Quilted):
        points = curve(prior, max_b)  # a step function of the sizes of quilts
        least = lambda b: min((a for size, a in points if size <= b), default=float("inf"))  # noqa: E731
        return InfluenceCurve(least, len(prior.nodes), max_b)
    raise UsageError(
        f"no influence curve for {type(prior).__name__}: expected a MarkovChain, a ChainSet, DependentGroups, "
        "IndependentBlocks, a network or a joint table"
    )


def members(prior: object) -> tuple[Any, ...] | None:
    """The priors of which the worst counts: a set of beliefs, or independent blocks; None for a single prior."""
    if isinstance(prior, SeveralPriors):
        return prior.members
    several = tuple(prior.values()) if isinstance(prior, Mapping) else prior
    if not isinstance(several, list | tuple):
        return None
    if not several:
        raise UsageError("give at least one prior")
    return tuple(several)


# Exact influence of a chain: the best window of b entries around every entry, for every ordered pair of values.
#
# Set H = [i-l+1, i+r-1] aside, b = l + r - 1. Given X_i the two sides are independent, and of what is left only the
# nearest entries X_{i-l} and X_{i+r} matter, so (docs/proofs/influence.md#windows; Bai et al., Definition 7 and Theorem
# 8, corrected)
#
#     leak_i(x, x') = U_l(x, x') + c_i(x, x') + R_r(x, x'),
#     R_r(x, x') = max_y log P^r(x, y) / P^r(x', y),    U_l(x, x') = max_z log P^l(z, x) / P^l(z, x'),
#     c_i(x, x') = log mu_i(x') - log mu_i(x),
#
# z over the values that X_{i-l} can take, x and x' over those of X_i. If every start is to be covered, U_l + c_i
# becomes its supremum over them (`Product.left_ratios`, docs/proofs/influence.md#any-start). A window that reaches the
# left end drops U_l and c_i together; one that reaches the right end drops R_r. H that is no window is never better:
# the window between its nearest outsiders is smaller and leaks the same. Leaks fall as l or r grow, so windows of
# exactly b entries suffice.

Nodes = NDArray[np.int64]
_CHUNK = 1 << 16
_CORE = 32
_MOST_NUMBERS = 1 << 27
"""Kept for a chain whose steps differ."""


def edge_leaks(nodes: Nodes, start: Array, length: int, left: Array, right: Array, running: Array) -> Array:
    """Least leakage over the windows of b entries, for entries i <= b or i > T - b: near the ends of the sequence.

    leak_i(x, x') for entries that all reach the same ends; `start` holds their c_i; `running`: min over 1 <= l <= n of
    U_l + R_{b+1-l}, for n = 1 .. b. Two-sided windows [i-l+1, i+r-1], l + r = b + 1, need l <= i - 1: the running
    minima give them. They also need r <= T - i, but those beyond may stay: then l <= b - (T - i) =: m, and U_l + R_r >=
    U_l >= U_m, which is the window up to the right end. (On the left the same would be false: c_i belongs to the true
    start only. docs/proofs/influence.md#ends.)
    """
    b = len(running)
    leak = running[np.clip(nodes - 2, 0, b - 1)]
    leak[nodes == 1] = np.inf
    if nodes[0] > length - b:  # the window up to the right end: no R
        np.minimum(leak, left[b - (length - nodes) - 1], out=leak)
    leak += start
    if nodes[0] <= b:  # the window up to the left end: neither U nor c
        np.minimum(leak, right[b - nodes], out=leak)
    return leak


class Windows:
    """The influence of a homogeneous chain. Entries that see the same supports to their left share one table U."""

    def __init__(self, chain: MarkovChain) -> None:
        self.chain = chain
        self.length = chain.length
        self._power: Product | None = None
        self._right: list[Array] = []  # for the distances 1, 2, ...
        self._left: list[list[Array]] = []
        self._groups = np.zeros(0 if chain.stationary else chain.length, dtype=np.int64)
        self._cores: dict[int, Array] = {}
        self._right_most = np.empty(0)
        self._left_bounds = np.empty(0)

    def value(self, b: int) -> float:
        """max over entries i and ordered pairs (x, x') of min over windows of b entries of leak_i(x, x'); b < T."""
        if self.chain.independent:
            return 0.0
        self._extend(b)
        if self.chain.stationary or len(self._kinds) == 1:
            nodes = np.arange(1, self.length + 1)
            if self.chain.stationary and self.length > 2 * b:
                nodes = np.array([b + 1])  # those farther than b from both ends are alike; nearer, they leak no more
            return self._group(b, nodes, np.stack(self._left[0][:b]), pairs_of(self.chain.supports[0]))
        worst = 0.0
        for group in range(int(self._groups.max()) + 1):
            nodes = np.flatnonzero(self._groups == group) + 1
            last = int(nodes[-1])  # of entries that see the same, the one that sees farthest
            table = np.full((b, self.chain.size, self.chain.size), np.inf)
            for d in range(1, min(b, last - 1) + 1):
                table[d - 1] = self._left[self._support[last - 1 - d]][d - 1]
            worst = max(worst, self._group(b, nodes, table, pairs_of(self.chain.supports[last - 1])))
        return worst

    @cached_property
    def _kinds(self) -> Mask:
        return np.asarray(np.unique(self.chain.supports, axis=0))

    @cached_property
    def _support(self) -> Nodes:
        return np.asarray(np.unique(self.chain.supports, axis=0, return_inverse=True)[1]).ravel()

    def _extend(self, b: int) -> None:
        """Tables for the distances up to b; one more matrix product each."""
        kinds = self._kinds
        if not self._left:
            self._left = [[] for _ in kinds]
        for d in range(len(self._right) + 1, b + 1):
            step = self.chain.step(1)
            self._power = step if self._power is None else step.then(self._power)
            self._right.append(_own(self._power.ratios()))
            self._right_most = np.append(self._right_most, self._right[-1].max())
            for table, kind in zip(self._left, kinds, strict=True):
                table.append(_own(self._power.left_ratios(kind, self.chain.free)))
            if len(kinds) > 1:
                back = self._support[np.maximum(np.arange(self.length) - d, 0)]
                old = self._support if d == 1 else self._groups
                self._groups = np.asarray(np.unique(old * len(kinds) + back, return_inverse=True)[1]).ravel()

    def _start(self, nodes: Nodes) -> Array:
        """c_i for the entries i, rounded up; 0 where it means nothing, or where U covers every start."""
        if self.chain.free:
            return np.zeros((len(nodes), self.chain.size, self.chain.size))
        logs, errors = self.chain.log_marginals
        at = np.zeros(1, dtype=np.int64) if self.chain.stationary else nodes - 1
        law = np.where(np.isfinite(logs[at]), logs[at], 0.0)
        pad = 2.02 * errors[at] + 16 * UNIT * largest(law)
        return np.asarray(law[:, None, :] - (law - pad[:, None])[:, :, None])

    @cached_property
    def _most_start(self) -> Array:
        return self._most(np.arange(1, self.length + 1))

    def _start_most(self, low: int, high: int) -> Array:
        """max of c_i over low <= i <= high; the entries far from both ends are looked at once for 32 values of b."""
        edge = -(-low // _CORE) * _CORE
        if edge + 1 >= self.length - edge or high < self.length - edge or self.chain.stationary:
            return self._most(np.arange(low, high + 1))
        if edge not in self._cores:
            self._cores[edge] = self._most(np.arange(edge + 1, self.length - edge + 1))
        rest = np.concatenate([np.arange(low, edge + 1), np.arange(self.length - edge + 1, high + 1)])
        return np.maximum(self._cores[edge], self._most(rest))

    def _most(self, nodes: Nodes) -> Array:
        size = max(1, _CHUNK // self.chain.size**2)
        return np.asarray(
            np.maximum.reduce([self._start(nodes[at : at + size]).max(axis=0) for at in range(0, len(nodes), size)])
        )

    def _group(self, b: int, nodes: Nodes, left: Array, pairs: Mask) -> float:
        """The worst of these entries, which share the table `left`."""
        if not pairs.any():
            return 0.0
        right = np.stack(self._right[:b])
        both = left + right[::-1]  # both[l - 1] = U_l + R_{b+1-l}
        inner = nodes[(nodes > b) & (nodes <= self.length - b)]
        worst = 0.0
        if len(inner):
            low, high = int(inner[0]), int(inner[-1])
            start = self._start_most(low, high) if high - low + 1 == len(inner) else self._most(inner)
            worst = _worst(both.min(axis=0) + start, pairs)
        # an entry near an end may use the window up to that end, whose leakage has a bound known in advance
        first, last = nodes <= b, nodes > self.length - b
        known = np.full(len(nodes), np.inf)
        known[first] = self._right_most[b - nodes[first]]
        if last.any():
            reach = b - (self.length - nodes[last]) - 1
            # max over pairs and entries of U_l + c_i for l = 1, 2, ...; kept where all entries share one table
            old = self._left_bounds if len(self._kinds) == 1 else np.empty(0)
            more = [float((table + self._most_start).max()) for table in left[len(old) : int(reach.max()) + 1]]
            self._left_bounds = np.concatenate([old, more])
            known[last] = np.minimum(known[last], self._left_bounds[reach])
        open_ = (first | last) & (known > worst)
        if open_.any():
            running = np.minimum.accumulate(both, axis=0)
            for ends in (first & ~last, last & ~first, first & last):
                part = nodes[open_ & ends]
                size = max(1, _CHUNK // self.chain.size**2)
                for at in range(0, len(part), size):
                    some = part[at : at + size]
                    leaks = edge_leaks(some, self._start(some), self.length, left, right, running)
                    worst = max(worst, _worst(leaks, pairs))
        return worst


class VaryingWindows:
    """The influence of a chain whose steps differ: K_{t, t+d} in place of P^d, each stretch of each length formed once.

    T b k^3 work, T b k^2 memory."""

    def __init__(self, chain: MarkovChain) -> None:
        self.chain = chain
        self.length = chain.length
        self.most_b = max(1, _MOST_NUMBERS // (2 * chain.length * chain.size**2))
        self._kernels: list[Product] = [chain.step(t) for t in range(1, chain.length)]
        self._right: list[list[Array]] = [[] for _ in range(chain.length + 1)]
        self._left: list[list[Array]] = [[] for _ in range(chain.length + 1)]
        self._distance = 0

    def value(self, b: int) -> float:
        """max over entries and ordered pairs of min over windows of b entries (at most `most_b`) of the leakage."""
        b = min(b, self.most_b)
        while self._distance < b:
            self._extend()
        return max(self._node(i, b) for i in range(1, self.length + 1))

    def _extend(self) -> None:
        self._distance += 1
        d = self._distance
        if d > 1:
            self._kernels = [
                kernel.then(self.chain.step(t + d - 1)) for t, kernel in enumerate(self._kernels[: self.length - d], 1)
            ]
        for t, kernel in enumerate(self._kernels, 1):
            self._right[t].append(kernel.ratios())
            self._left[t + d].append(kernel.left_ratios(self.chain.supports[t - 1], self.chain.free))

    def _node(self, i: int, b: int) -> float:
        seen = self.chain.supports[i - 1]
        pairs = pairs_of(seen)
        if not pairs.any():
            return 0.0
        left, right = self._left[i], self._right[i]
        start = np.zeros(pairs.shape)
        if not self.chain.free:
            logs, errors = self.chain.log_marginals
            law = np.where(seen, logs[i - 1], 0.0)
            start = law[None, :] - law[:, None] + (2.02 * errors[i - 1] + 16 * UNIT * largest(law))
        leak = np.full(pairs.shape, np.inf)
        for d in range(max(1, b + 1 - self.length + i), min(b, i - 1) + 1):
            leak = np.minimum(leak, left[d - 1] + right[b - d])
        leak = leak + start
        if i > self.length - b:  # the window reaches the right end
            leak = np.minimum(leak, left[b - (self.length - i) - 1] + start)
        if i <= b:  # it reaches the left end: what X_i says about its past is gone, and with it the start law
            leak = np.minimum(leak, right[b - i])
        return max(0.0, float(np.nextafter(leak[pairs].max(), np.inf)))


def _own(matrix: Array) -> Array:
    """A value against itself leaks nothing."""
    np.fill_diagonal(matrix, 0.0)
    return matrix


def _worst(leaks: Array, pairs: Mask) -> float:
    """The largest leakage of a pair that can happen, rounded up; the diagonal holds roundings of 0 only."""
    every = pairs.sum() == len(pairs) * (len(pairs) - 1)
    found = max(0.0, float(leaks.max())) if every else float(leaks.max(where=pairs, initial=0.0))
    return float(np.nextafter(found, np.inf))
