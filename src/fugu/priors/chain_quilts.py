"""The Markov quilts of a chain with their exact leakages.

Proofs: docs/proofs/quilts.md#chains.
"""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.priors.chain import MarkovChain
from fugu.priors.counted import Floats
from fugu.priors.products import Product, padded
from fugu.priors.quilts import Quilts, assemble

_CELLS = 400_000
_NOTHING = 1e-8


class ChainQuilts:
    """The quilts {X_{t-a}, X_{t+b}}, {X_{t-a}}, {X_{t+b}} and the trivial one, a and b up to `reach`, all nodes.

    Near entries: a + b - 1, T - t + a, t + b - 1 and T. Given X_t the two sides are independent, so the leakage of (x,
    x') is [max_z log P^a(z, x) / P^a(z, x') + log mu_t(x') / mu_t(x)] + [max_y log P^b(x, y) / P^b(x', y)]; a quilt
    without a left end drops the whole first bracket. Any `reach` is sound; a larger one may need less noise.
    """

    def __init__(self, chain: MarkovChain, reach: int | None = None) -> None:
        self.chain = chain
        self.nodes = tuple(range(1, chain.length + 1))
        self.reach = min(chain.length - 1, reach or max(1, int(math.sqrt(_CELLS)) // chain.size))
        if reach is None and chain.homogeneous:  # farther entries would save less than this leakage
            self.reach = next((d for d, r in enumerate(self._right_powers, 1) if r.max() < _NOTHING), self.reach)

    @cached_property
    def _powers(self) -> list[Product]:
        found = [self.chain.step(1)]
        while len(found) < self.reach:
            found.append(found[-1].then(self.chain.step(1)))
        return found

    @cached_property
    def _right_powers(self) -> list[Floats]:
        return [p.ratios() for p in self._powers]

    def sides(self, t: int) -> tuple[Floats, Floats]:
        """Upper bounds of the left leakages, a = 1, 2, ..., and of the right ones, b = 1, 2, ...: (distance, k, k)."""
        chain, size = self.chain, self.chain.size
        lefts, rights = min(self.reach, t - 1), min(self.reach, chain.length - t)
        if chain.homogeneous:
            right = self._right_powers[:rights]
            back = self._powers[:lefts]
        else:
            right, back = [], []
            ahead = behind = None
            for d in range(rights):
                ahead = chain.step(t + d) if ahead is None else ahead.then(chain.step(t + d))
                right.append(ahead.ratios())
            for d in range(lefts):
                behind = chain.step(t - 1 - d) if behind is None else chain.step(t - 1 - d).then(behind)
                back.append(behind)
        shift = np.zeros((size, size))
        with np.errstate(invalid="ignore"):
            if not chain.free:
                logs, errors = chain.log_marginals
                row = 0 if chain.stationary else t - 1
                shift = padded(logs[row][None, :] - logs[row][:, None], 2 * float(np.ravel(errors)[row]))
            left = [b.left_ratios(self.support(t - d), chain.free) + shift for d, b in enumerate(back, 1)]
        empty = np.zeros((0, size, size))
        return (np.stack(left) if left else empty), (np.stack(right) if right else empty)

    def support(self, t: int) -> NDArray[np.bool_]:
        """Which states X_t can have."""
        return np.asarray(self.chain.supports[0 if self.chain.stationary else t - 1])

    def quilts(self, node: int) -> Quilts:
        """All quilts of X_t; pairs with a state that X_t never has are left out."""
        possible = self.support(node)
        pairs = possible[:, None] & possible[None, :]
        left, right = (np.where(pairs, np.maximum(side, 0.0), 0.0) for side in self.sides(node))
        return assemble(self.chain.length, node, left, right, np.where(pairs, 0.0, -np.inf))
