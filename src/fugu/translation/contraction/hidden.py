"""The contraction accountant of a hidden chain: releases are per-entry DP in what is seen, the secret may be hidden.

A hidden chain is a tree: X_1 - X_2 - ... with a leaf Y_t at each X_t, and only the leaves are cells. What the leaf adds
to X_t is O(x, x') = L(E_x, E_x'; eps), E the emission: at most eps, and far less if the emission is noisy. With F_m for
m further hidden states on one side (docs/proofs/trees.md#hidden-chains)

    F_0 = 0,   F_m <= m eps,   F_m <= (d - 1) eps + L(K_x, K_x'; O + F_(m-d))   for every 1 <= d <= m,

    hidden    X_t = x against x':   O(x, x') + F_later(x, x') + F_earlier(x, x'),
    observed  Y_t = y against y':   eps + L(C_y, C_y'; F_later + F_earlier),   C = P(X_t | Y_t).

For two hidden states these are attained, whatever the emission is. Levels with the same kernels and the same losses
before them are the same, so a long chain costs as many levels as it takes to settle.

Proofs: docs/proofs/trees.md#hidden-chains and docs/proofs/trees.md#rounding.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fugu.priors.counted import STEP
from fugu.priors.hidden import HiddenMarkov
from fugu.translation.contraction.kernel import Array, passed_scalar, shortest_paths, sort_pairs, up
from fugu.translation.contraction.sides import Earlier, EarlierAny, HiddenSide, Later, Mask, coarse, through

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
        return Later(self.chain), (EarlierAny(self.chain) if self.chain.free else Earlier(self.chain))

    def __call__(self, epsilon: float) -> dict[int, Array]:
        """For each t the total of every ordered pair of values of X_t, or of Y_t; 0 for those that cannot occur."""
        own = self.own(epsilon)
        later, earlier = (_Levels(side, own, epsilon, self.length - 1) for side in self.sides)
        known: dict[tuple[object, ...], Array] = {}
        found = {}
        for t in range(1, self.length + 1):
            support = self._support(t)
            after, before = later.names[self.length - t], earlier.names[t - 1]
            key: tuple[object, ...] = (after, before, support.tobytes(), self._given_seen(t)[0])
            if key not in known:
                beyond = up(later.tables[after] + earlier.tables[before])
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
            return np.where(_pairs(support), shortest_paths(every, support), 0.0)
        beyond = np.where(_pairs(support), shortest_paths(beyond, support), 0.0)
        _, kernel, error = self._given_seen(t)
        seen = np.asarray(kernel.any(axis=1))
        out = np.zeros((len(kernel), len(kernel)))
        apart = np.nonzero(_pairs(seen))
        size = max(1, _MOST_AT_ONCE // self.k**2)
        for start in range(0, len(apart[0]), size):
            pairs = tuple(part[start : start + size] for part in apart)
            rows = sort_pairs(kernel, kernel > 0, error, pairs)
            out[pairs] = np.minimum(
                up(epsilon + through(rows, beyond[None], self.k <= 36)[0, 0]), up(self.length * epsilon)
            )
        return shortest_paths(out, seen) if len(out) <= _MOST_CLOSED else out

    def _support(self, t: int) -> Mask:
        return np.asarray(self.chain.supports[0 if self.chain.stationary else t - 1])

    @cached_property
    def _seen(self) -> list[tuple[bytes, Array, float]]:
        """P(X_t = x | Y_t = y) in row y for each t (one if stationary): a name, the kernel, and its relative error."""
        if self.model.protect == "hidden":
            return []
        found = []
        for t in range(1, 2 if self.chain.stationary else self.length + 1):
            law = self.model.given_seen(t)
            error = 1.01 * coarse(law.roundings) * STEP
            found.append((law.values.tobytes() + str(error).encode(), law.values, error))
        return found

    def _given_seen(self, t: int) -> tuple[bytes, Array, float]:
        return self._seen[0 if self.chain.stationary else t - 1] if self._seen else (b"", np.zeros((0, 0)), 0.0)


class _Levels:
    """F_m of one side for m = 0, 1, ...: the names of the levels, and the table of each name."""

    def __init__(self, side: HiddenSide, own: Array, epsilon: float, most: int) -> None:
        self.side, self.own, self.epsilon = side, own, epsilon
        self.tables: list[Array] = [np.zeros_like(own)]
        self.names = [0]
        self._known = {self.tables[0].tobytes(): 0}
        self._steps: dict[tuple[object, ...], tuple[Array, tuple[int, ...]]] = {}
        self._best = side.jumps
        for m in range(1, most + 1):
            self.names.append(self._name(self._level(m)))

    def _level(self, m: int) -> Array:
        """All jumps now and then, else those that were best for some pair lately: any choice is a bound."""
        every = m % _EVERY == 0 or m <= _EVERY
        jumps = tuple(d for d in (self.side.jumps if every else self._best) if d <= m)
        key = (self.side.name(m), jumps, tuple(self.names[m - d] for d in jumps))
        if key not in self._steps:
            self._steps[key] = self._step(m, jumps)
        table, best = self._steps[key]
        self._best = best if every else self._best
        return np.where(_pairs(self.side.valid(m)), np.minimum(table, up(m * self.epsilon)), 0.0)

    def _step(self, m: int, jumps: tuple[int, ...]) -> tuple[Array, tuple[int, ...]]:
        """min over d of (d - 1) eps + L(K^d; O + F), rounded up, and its shortest paths; and which d attain it."""
        losses = up(self.own + np.stack([self.tables[self.names[m - d]] for d in jumps]))
        held = up((np.asarray(jumps) - 1) * self.epsilon)[:, None, None]
        each, valid = up(held + self.side.passed(m, losses, jumps)), self.side.valid(m)
        best = tuple(jumps[n] for n in np.unique(each.argmin(axis=0)[_pairs(valid)])) or self.side.jumps[:1]
        return shortest_paths(each.min(axis=0), valid), best

    def _name(self, table: Array) -> int:
        key = table.tobytes()
        if key not in self._known:
            self._known[key] = len(self.tables)
            self.tables.append(table)
        return self._known[key]


def _pairs(valid: Mask) -> Mask:
    apart: Mask = valid[:, None] & valid[None, :] & ~np.eye(len(valid), dtype=bool)
    return apart
