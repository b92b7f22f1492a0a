"""The contraction accountant of a hidden chain, and the two sides of a hidden state."""

from __future__ import annotations

import math
from functools import cached_property
from typing import ClassVar

import numpy as np

from fugu.priors.chain import MarkovChain, StepProducts
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.products import STEP, Product, largest
from fugu.translation.contraction.kernel import (
    Array,
    KeptRows,
    RowPairs,
    U,
    pairs_of,
    passed,
    passed_scalar,
    shortest_paths,
    sort_pairs,
    sort_rows,
    up,
)
from fugu.translation.contraction.side import NEAR, Mask
from fugu.translation.contraction.start import AnyStart, most_reached, through_any

# The contraction accountant of a hidden chain: releases are per-entry DP in what is seen, the secret may be hidden.
#
# A hidden chain is a tree: X_1 - X_2 - ... with a leaf Y_t at each X_t, and only the leaves are cells. What the leaf
# adds to X_t is O(x, x') = L(E_x, E_x'; eps), E the emission: at most eps, and far less if the emission is noisy. With
# F_m for m further hidden states on one side (docs/proofs/trees.md#hidden-chains)
#
#     F_0 = 0,   F_m <= m eps,   F_m <= (d - 1) eps + L(K_x, K_x'; O + F_(m-d))   for every 1 <= d <= m,
#
#     hidden    X_t = x against x':   O(x, x') + F_later(x, x') + F_earlier(x, x'),
#     observed  Y_t = y against y':   eps + L(C_y, C_y'; F_later + F_earlier),   C = P(X_t | Y_t).
#
# For two hidden states these are attained, whatever the emission is. Levels with the same kernels and the same losses
# before them are the same, so a long chain costs as many levels as it takes to settle.
#
# Proofs: docs/proofs/trees.md#hidden-chains and docs/proofs/trees.md#rounding.

_MOST_AT_ONCE = 500_000
_EVERY = 8
_MOST_CLOSED = 64
"""With more values seen, their pairs are not compared by way of a third one."""


class HiddenContraction:
    """What per-entry privacy in the observed entries is worth under a hidden chain; tables are kept between calls.

    >>> model = HiddenMarkov([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], length=6)
    >>> found = HiddenContraction(model)(0.3)
    >>> round(max(float(table.max()) for table in found.values()), 6)
    0.340569
    """

    def __init__(self, model: HiddenMarkov) -> None:
        self.model, self.chain = model, model.chain
        self.length, self.k = self.chain.length, self.chain.size

    @cached_property
    def sides(self) -> tuple[HiddenSide, HiddenSide]:
        """The later and the earlier hidden states."""
        return LaterSide(self.chain), (EarlierAny(self.chain) if self.chain.free else Earlier(self.chain))

    def __call__(self, epsilon: float) -> dict[int, Array]:
        """For each t the total of every ordered pair of values of X_t, or of Y_t; 0 for those that cannot occur."""
        own = self.own(epsilon)
        (later, after), (earlier, before) = (side.levels(own, epsilon, self.length - 1) for side in self.sides)
        known: dict[tuple[object, ...], Array] = {}
        found = {}
        for t in range(1, self.length + 1):
            support = self.sides[0].support(t)
            names = after[self.length - t], before[t - 1]
            key: tuple[object, ...] = (*names, support.tobytes(), self._seen[min(t, len(self._seen)) - 1][0])
            if key not in known:
                beyond = up(later[names[0]] + earlier[names[1]])
                known[key] = self._total(t, own, beyond, support, epsilon)
            found[t] = known[key]
        return found

    def own(self, epsilon: float) -> Array:
        """O(x, x'): what the entry seen at X_t adds to it."""
        emission, pairs = self.model.emission, np.nonzero(~np.eye(self.k, dtype=bool))
        error = 1.01 * emission.roundings * STEP
        rows = sort_pairs(emission.values, emission.values > 0, error, pairs)
        out = np.zeros((self.k, self.k))
        out[pairs] = passed_scalar(rows, np.array([epsilon]))[0, 0]
        return out

    def _total(self, t: int, own: Array, beyond: Array, support: Mask, epsilon: float) -> Array:
        if self.model.protect == "hidden":
            every = np.minimum(up(own + beyond), up(self.length * epsilon))
            return np.where(pairs_of(support), shortest_paths(every, support), 0.0)
        beyond = np.where(pairs_of(support), shortest_paths(beyond, support), 0.0)
        _, kernel, error = self._seen[min(t, len(self._seen)) - 1]
        seen = np.asarray(kernel.any(axis=1))
        out = np.zeros((len(kernel), len(kernel)))
        apart = np.nonzero(pairs_of(seen))
        size = max(1, _MOST_AT_ONCE // self.k**2)
        for start in range(0, len(apart[0]), size):
            pairs = tuple(part[start : start + size] for part in apart)
            rows = sort_pairs(kernel, kernel > 0, error, pairs)
            out[pairs] = np.minimum(
                up(epsilon + through(rows, beyond[None], self.k <= 36)[0, 0]), up(self.length * epsilon)
            )
        return shortest_paths(out, seen) if len(out) <= _MOST_CLOSED else out

    @cached_property
    def _seen(self) -> list[tuple[bytes, Array, float]]:
        """P(X_t = x | Y_t = y) in row y for each t (one if stationary): a name, the kernel, and its relative error; an
        empty one where hidden states are protected."""
        if self.model.protect == "hidden":
            return [(b"", np.zeros((0, 0)), 0.0)]
        found = []
        for t in range(1, 2 if self.chain.stationary else self.length + 1):
            law = self.model.given_seen(t)
            error = 1.01 * coarse(law.roundings) * STEP
            found.append((law.values.tobytes() + str(error).encode(), law.values, error))
        return found


# The two sides of a hidden state: what passes from it to the states after it, and to those before it.
#
# `Later` has the transition kernels, `Earlier` the backward kernels of the chain with its start, `EarlierAny` bounds
# that hold for every start. Each names what it does at a level: levels with one name do the same.
#
# Proofs: docs/proofs/trees.md#hidden-chains, docs/proofs/contraction.md#a-given-start and
# docs/proofs/contraction.md#any-start.

_JUMPS = (1, 2, 3, 4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 30)
_MOST_WORK = 2_000_000
_FEW_STATES = 12
_MOST_PAIRWISE = 10**8
"""With more than 12 states, and more entries (t, x, x', p, q) than this, one number bounds the losses of all pairs."""


def coarse(count: float) -> float:
    """The next power of two: errors that grow slowly then have few different bounds."""
    return 2.0 ** math.ceil(math.log2(count)) if count > 0 else 0.0


def through(rows: RowPairs, losses: Array, pairwise: bool) -> Array:
    """L with a loss for each pair, or with one number for all of them."""
    return passed(rows, losses) if pairwise else passed_scalar(rows, losses.max(axis=(1, 2)))


class HiddenSide:
    """One side of the hidden states, those ahead or those before; a node with m further ones is looked at by its m."""

    ahead: ClassVar[bool] = False

    def __init__(self, chain: MarkovChain) -> None:
        self.chain, self.k = chain, chain.size
        self.pairwise = self.k <= _FEW_STATES or chain.length * self.k**4 <= _MOST_PAIRWISE
        work = self.k**4 if self.pairwise else 2 * self.k**3
        many = 1 if self.k == 2 else max(1, min(_MOST_WORK // work, len(_JUMPS)))  # near and far ones
        self.jumps = tuple(_JUMPS[n * (len(_JUMPS) - 1) // max(1, many - 1)] for n in range(many))
        self._rows, self._steps = KeptRows(), StepProducts(chain, self.jumps[-1], self.ahead)

    def time(self, m: int) -> int:
        """The time of the node with m further ones."""
        return self.chain.length - m if self.ahead else m + 1

    def name(self, m: int) -> object:
        """What decides all that is done at this level, but for the losses beyond."""
        raise NotImplementedError

    def kernel(self, m: int, d: int) -> tuple[Array, Mask, float]:
        """Logarithms of the kernel to the d-th node beyond, what is positive, and their error."""
        raise NotImplementedError

    def valid(self, m: int) -> Mask:
        """The states that the node with m further ones can take."""
        return self.support(self.time(m))

    def support(self, t: int) -> Mask:
        """The states that X_t can take."""
        return np.asarray(self.chain.supports[0 if self.chain.stationary else t - 1])

    def passed(self, m: int, losses: Array, jumps: tuple[int, ...]) -> Array:
        """What passes d kernels, for d in `jumps` and the losses beyond each: (n, k, k)."""
        return through(self.rows(m, jumps), losses, self.pairwise)

    def rows(self, m: int, jumps: tuple[int, ...]) -> RowPairs:
        """The sorted rows of the kernels; a few are kept."""

        def made() -> RowPairs:
            found = [self.kernel(m, d) for d in jumps]
            with np.errstate(under="ignore"):
                kernels = [np.where(r, np.maximum(np.exp(np.minimum(k, 0.0)), 1e-320), 0.0) for k, r, _ in found]
            errors = [coarse(1.01 * (e + 8 * U * (1 + largest(k)))) for k, _, e in found]
            reach = np.stack([r for _, r, _ in found])
            return sort_rows(np.stack(kernels), reach, np.array(errors), self.valid(m))

        return self._rows.get((self.name(m), jumps), made)

    def levels(self, own: Array, epsilon: float, most: int) -> tuple[list[Array], list[int]]:
        """F_m for m = 0, 1, ..., where `own` is O: different tables, and which of them each level is."""
        tables, names, best = [np.zeros_like(own)], [0], self.jumps
        known, steps = {tables[0].tobytes(): 0}, dict[tuple[object, ...], tuple[Array, tuple[int, ...]]]()
        for m in range(1, most + 1):
            every = m % _EVERY == 0 or m <= _EVERY  # else those that were best for some pair: any choice is a bound
            jumps, valid = tuple(d for d in (self.jumps if every else best) if d <= m), self.valid(m)
            key = (self.name(m), jumps, tuple(names[m - d] for d in jumps))
            if key not in steps:
                # min over d of (d - 1) eps + L(K^d; O + F), rounded up, and its shortest paths; and which d attain it
                losses = up(own + np.stack([tables[names[m - d]] for d in jumps]))
                held = up((np.asarray(jumps) - 1) * epsilon)[:, None, None]
                each = up(held + self.passed(m, losses, jumps))
                attained = tuple(jumps[n] for n in np.unique(each.argmin(axis=0)[pairs_of(valid)])) or self.jumps[:1]
                steps[key] = shortest_paths(each.min(axis=0), valid), attained
            table, attained = steps[key]
            best = attained if every else best
            table = np.where(pairs_of(valid), np.minimum(table, up(m * epsilon)), 0.0)
            names.append(known.setdefault(table.tobytes(), len(tables)))
            tables += [table] if names[-1] == len(tables) else []
        return tables, names

    def product(self, m: int, d: int) -> Product:
        """The d steps ahead of the node with m further ones, or before it."""
        return self._steps.of(self.time(m) - (not self.ahead), d)


class LaterSide(HiddenSide):
    """P(X_(t+d) | X_t)."""

    ahead = True

    def name(self, m: int) -> object:
        if not self.chain.homogeneous:
            return m
        return min(m, self.jumps[-1]), self.valid(m).tobytes()

    def kernel(self, m: int, d: int) -> tuple[Array, Mask, float]:
        product = self.product(m, d)
        return product.logs, product.positive, product.error


class Earlier(HiddenSide):
    """P(X_(t-d) = y | X_t = x) = mu_(t-d)(y) P^d(y, x) / mu_t(x), for the start of this chain."""

    def name(self, m: int) -> object:
        if self.chain.stationary:
            return min(m, self.jumps[-1])
        if not self.chain.homogeneous:
            return m
        first = max(0, m - self.jumps[-1])
        return tuple(self._laws[first : m + 1]), coarse(float(self.chain.log_marginals[1][m]))

    @cached_property
    def _laws(self) -> list[int]:
        """A number for each law of an entry: equal floats, equal numbers."""
        known: dict[bytes, int] = {}
        return [known.setdefault(row.tobytes(), len(known)) for row in self.chain.log_marginals[0]]

    def kernel(self, m: int, d: int) -> tuple[Array, Mask, float]:
        product = self.product(m, d)
        logs, errors = self.chain.log_marginals
        here, there = (0, 0) if self.chain.stationary else (m, m - d)
        valid, before = self.support(m + 1), self.support(m + 1 - d)
        reach = (product.positive & before[:, None] & valid[None, :]).T
        first, last = np.where(before, logs[there], 0.0), np.where(valid, logs[here], 0.0)
        whole = np.where(reach, first[None, :] + product.logs.T - last[:, None], -np.inf)
        size = largest(first) + largest(last)
        error = product.error + 2.02 * coarse(float(np.ravel(errors)[here])) + 8 * U * (1 + size)
        return whole, reach, error


class EarlierAny(HiddenSide):
    """The earlier states where every start is covered: by projective diameters, or near the stationary chain."""

    def __init__(self, chain: MarkovChain) -> None:
        super().__init__(chain)
        self.start = AnyStart(chain)

    def name(self, m: int) -> object:
        if not self.chain.homogeneous:
            return m
        first = max(0, m - self.jumps[-1])
        near = () if self.start.limit is None else tuple(self.start.limit.at(n) for n in range(first, m))
        return tuple(self.support(n + 1).tobytes() for n in range(first, m + 1)), near

    def passed(self, m: int, losses: Array, jumps: tuple[int, ...]) -> Array:
        parts = []
        for d, loss in zip(jumps, losses, strict=True):
            # Theorem 5 of contraction.md: all losses between states that x or x' reach count as the largest of them
            diameter, reach = self.start.diameter(m, d)
            most = most_reached(loss, reach) if self.pairwise else np.full_like(diameter, loss.max())
            parts.append(through_any(most, diameter))
        found = np.stack(parts)
        limit = self.start.limit
        near = [n for n, d in enumerate(jumps) if limit is not None and limit.at(m - d) < NEAR]
        if limit is None or not near:
            return found
        rows = limit.rows(tuple(jumps[n] for n in near))
        more = np.array([limit.extra(float(losses[n].max()), m - jumps[n]) for n in near])
        found[near] = np.minimum(found[near], up(through(rows, losses[near], self.pairwise) + more[:, None, None]))
        return found
