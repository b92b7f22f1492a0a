"""Exact influence of a chain whose steps differ: the kernel of every stretch of every length is formed once."""

from __future__ import annotations

import numpy as np

from fugu.priors.chain import MarkovChain
from fugu.priors.products import Array, Product, largest
from fugu.priors.stationary import UNIT

_MOST = 1 << 27  # numbers kept


class VaryingWindows:
    """Formulas as in `fugu.translation.windows`, with K_{t, t+d} in place of P^d; T b k^3 work, T b k^2 memory."""

    def __init__(self, chain: MarkovChain) -> None:
        self.chain = chain
        self.length = chain.length
        self.most_b = max(1, _MOST // (2 * chain.length * chain.size**2))
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
        pairs = seen[:, None] & seen[None, :] & ~np.eye(len(seen), dtype=bool)
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
