"""Markov quilts: which far-away entries shield a secret, and what per-entry privacy then gives."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadBudget, UsageError
from fugu.guarantee.asks import outward
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.priors.chain import MarkovChain
from fugu.priors.hidden import ChainQuilts
from fugu.priors.joint import Quilts
from fugu.priors.prior import Curved, InfluenceCurve, Prior, Quilted, SeveralPriors, whole
from fugu.priors.transitions import UNIT, Array, Mask, Product, largest
from fugu.translation.kernel import pairs_of

# A quilt of entry i splits the other entries into N (near, with i in it), Q (the quilt) and R (remote) such that X_R is
# independent of X_i given X_Q. With leak(x, x') = max_q log P(X_Q = q | X_i = x) / P(X_Q = q | X_i = x'), a release
# that is eps-DP per entry on the whole product domain satisfies (Bai et al., Theorem 6, corrected; Song et al. 2017)
#
#     log P(output | X_i = x) / P(output | X_i = x') <= card(N) eps + leak(x, x')
#
# and each ordered pair may use its own quilt: the proof is about one pair at a time. Because only the sum of the
# per-entry epsilons enters, any number of releases is composed first and translated once.
#
# Proofs: docs/proofs/quilts.md#quilts and docs/proofs/quilts.md#noise-from-quilts.


@dataclass(frozen=True)
class QuiltNoise:
    """Noise from quilts: Laplace of scale (L1 sensitivity per entry) x sigma; the release is 1 / sigma-DP per entry."""

    epsilon: float
    sigma: float
    per_node: tuple[float, ...]
    dp_epsilon: float


def curve(prior: Quilted, max_b: int | None = None) -> tuple[tuple[int, float], ...]:
    """The influence curve a(b): max over entries and ordered pairs of the least leakage with card(N) <= b.

    >>> from fugu.priors.joint import JointTable
    >>> curve(JointTable([[0.5, 0.0], [0.0, 0.5]]))
    ((1, inf), (2, 0.0))
    """
    found: dict[int, float] = {}
    for node in _entries(prior):
        quilts = prior.quilts(node)
        for b in range(1, min(max_b or quilts.length, quilts.length) + 1):
            fits = quilts.leaks[quilts.cards <= b]
            here = float(fits.min(axis=0).max()) if len(fits) else math.inf
            found[b] = max(found.get(b, 0.0), here)
    return tuple(sorted(found.items()))


def guarantee(prior: Quilted, dp_epsilons: Iterable[Real], per_pair: bool = True) -> float:
    """What releases with these per-entry epsilons give together: max over entries and pairs of min_Q card E + leak.

    E is the sum of the epsilons, exact: composing first and translating once is never worse than adding translated
    epsilons (docs/proofs/composition.md#compose-first), and K runs of one mechanism cost at most K times one run.
    """
    total = sum((_nonnegative(e) for e in dp_epsilons), Fraction(0))
    return outward(max(_cost(prior.quilts(node), total, per_pair) for node in _entries(prior)))


def _cost(quilts: Quilts, total: Fraction, per_pair: bool) -> Fraction:
    """max over pairs of min over quilts of card E + leak: chosen in floats (any choice is sound), valued exactly."""
    leaks = quilts.leaks.reshape(len(quilts.cards), -1) if per_pair else quilts.worst()[:, None]
    costs = quilts.cards[:, None] * float(total) + leaks
    chosen = np.argmin(costs, axis=0)
    found = costs[chosen, np.arange(len(chosen))]
    if found.max() == -math.inf:
        return Fraction(0)
    close = np.flatnonzero(found >= found.max() * (1 - 1e-12))
    picked = {(int(quilts.cards[chosen[p]]), float(leaks[chosen[p], p])) for p in close}
    return max(card * total + Fraction(leak) for card, leak in picked)


def quilt_noise(prior: Quilted, epsilon: Real, per_pair: bool = False) -> QuiltNoise:
    """The Markov Quilt Mechanism: sigma_i = min_Q card(N) / (epsilon - leak), sigma = max_i sigma_i, rounded up.

    With `per_pair` every ordered pair of values uses its own quilt, which is as sound and never noisier. The trivial
    quilt keeps sigma finite: at most n / epsilon. All entries count, the two ends of a chain included.
    """
    budget = _nonnegative(epsilon)
    if budget == 0:
        raise BadBudget("epsilon must be above 0: no finite noise makes the output independent of the data")
    allowed = [_allowed(prior.quilts(node), budget, per_pair) for node in _entries(prior)]
    return QuiltNoise(
        epsilon=float_up(budget),
        sigma=max(outward(1 / a) for a in allowed),
        per_node=tuple(outward(1 / a) for a in allowed),
        dp_epsilon=-outward(-min(allowed)),
    )


def _allowed(quilts: Quilts, budget: Fraction, per_pair: bool) -> Fraction:
    """The largest per-entry epsilon e with card e + leak <= budget for some quilt, of each pair or common to all."""
    leaks = quilts.leaks.reshape(len(quilts.cards), -1) if per_pair else quilts.worst()[:, None]
    slack = (float(budget) - leaks) / quilts.cards[:, None]
    found: Fraction | None = None
    for pair, at in enumerate(np.argmax(slack, axis=0)):  # chosen in floats, valued exactly: any choice is sound
        if leaks[at, pair] == -math.inf:
            continue
        here = (budget - Fraction(float(leaks[at, pair]))) / int(quilts.cards[at])
        here = max(here, budget / quilts.length)
        found = here if found is None else min(found, here)
    return budget if found is None else found


def _entries(prior: Quilted) -> tuple[int, ...]:
    """The entries that are protected: without one nothing would be checked, and everything would hold."""
    if not prior.nodes:
        raise UsageError("a prior needs at least one entry to protect")
    return prior.nodes


def _nonnegative(x: Real) -> Fraction:
    try:
        found = as_fraction(x)
    except (TypeError, ValueError):
        raise BadBudget("an epsilon must be a finite number >= 0") from None
    if found < 0:
        raise BadBudget("an epsilon must be a finite number >= 0")
    return found


# Proofs: docs/proofs/quilts.md#chains.


def mqm_exact(chain: MarkovChain, epsilon: Real, per_pair: bool = False, reach: int | None = None) -> QuiltNoise:
    """MQMExact: the least noise over two-sided, one-sided and trivial quilts with their exact leakages.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> [round(s, 8) for s in mqm_exact(chain, 3).per_node[:3]]
    [0.52593166, 1.05186332, 1.24567839]
    """
    return quilt_noise(ChainQuilts(chain, reach), epsilon, per_pair)


# Proofs: docs/proofs/influence.md#the-influence-curve.


def influence(prior: Prior | Curved | Quilted, max_b: int | None = None) -> InfluenceCurve:
    """How much the entries outside the best set of b can tell about one entry: a(b) = max over entries, ordered pairs
    of their values and priors of min over |H| <= b of the leakage.

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
        self._most_start: Array | None = None

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
            edge = -(-low // _CORE) * _CORE
            far = edge + 1 < self.length - edge <= high and not self.chain.stationary
            if far and high - low + 1 == len(inner):  # entries far from both ends are looked at once for 32 values of b
                if edge not in self._cores:
                    self._cores[edge] = self._most(np.arange(edge + 1, self.length - edge + 1))
                rest = np.concatenate([np.arange(low, edge + 1), np.arange(self.length - edge + 1, high + 1)])
                start = np.maximum(self._cores[edge], self._most(rest))
            else:
                start = self._most(inner)
            worst = _worst(both.min(axis=0) + start, pairs)
        # an entry near an end may use the window up to that end, whose leakage has a bound known in advance
        first, last = nodes <= b, nodes > self.length - b
        known = np.full(len(nodes), np.inf)
        known[first] = self._right_most[b - nodes[first]]
        if last.any():
            reach = b - (self.length - nodes[last]) - 1
            # max over pairs and entries of U_l + c_i for l = 1, 2, ...; kept where all entries share one table
            old = self._left_bounds if len(self._kinds) == 1 else np.empty(0)
            if self._most_start is None:
                self._most_start = self._most(np.arange(1, self.length + 1))
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
