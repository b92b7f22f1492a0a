"""Windows near the ends of a sequence: those that reach an end compete with those that do not."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Nodes = NDArray[np.int64]


class Edges:
    """Least leakage over the windows of b entries, for entries i <= b or i > T - b.

    Two-sided windows [i-l+1, i+r-1] need l <= i - 1 and r = b + 1 - l <= T - i, so l runs over a range; running minima
    inside blocks as long as the longest such range give the minimum over any of them by two look-ups.
    """

    def __init__(self, length: int, b: int, left: Array, right: Array, both: Array) -> None:
        self.length, self.b, self.left, self.right = length, b, left, right
        self.width = min(b, length - b - 1)
        self._both = both

    @cached_property
    def _prefix(self) -> Array:
        """Running minima from the left inside blocks."""
        found = np.empty_like(self._both)
        for at, row in enumerate(self._both):
            if at % self.width:
                np.minimum(row, found[at - 1], out=found[at])
            else:
                found[at] = row
        return found

    @cached_property
    def _suffix(self) -> Array:
        """Running minima from the right inside blocks."""
        found = np.empty_like(self._both)
        last = len(self._both) - 1
        for at in range(last, -1, -1):
            if at < last and (at + 1) % self.width:
                np.minimum(self._both[at], found[at + 1], out=found[at])
            else:
                found[at] = self._both[at]
        return found

    def leaks(self, nodes: Nodes, start: Array) -> Array:
        """leak_i(x, x') for entries that all reach the same ends; `start` holds their c_i."""
        begins, ends = nodes[0] <= self.b, nodes[0] > self.length - self.b
        leak = self._two_sided(nodes)
        if ends:  # the window up to the right end: no R
            np.minimum(leak, self.left[self.b - (self.length - nodes) - 1], out=leak)
        leak += start
        if begins:  # the window up to the left end: neither U nor c
            np.minimum(leak, self.right[self.b - nodes], out=leak)
        return leak

    def _two_sided(self, nodes: Nodes) -> Array:
        low = np.maximum(1, self.b + 1 - self.length + nodes)
        high = np.minimum(self.b, nodes - 1)
        some = low <= high
        if not self.width or not some.any():
            return np.full((len(nodes), *self.left.shape[1:]), np.inf)
        together = (low - 1) // self.width == (high - 1) // self.width
        opens = (low - 1) % self.width == 0
        tail = some & together & ~opens  # ends where its block ends
        if tail.all():
            return np.asarray(self._suffix[low - 1])
        leak = np.asarray(self._prefix[np.maximum(high, 1) - 1])
        split = some & ~together
        if tail.any():
            leak[tail] = self._suffix[low[tail] - 1]
        if split.any():
            leak[split] = np.minimum(leak[split], self._suffix[low[split] - 1])
        leak[~some] = np.inf
        return leak
