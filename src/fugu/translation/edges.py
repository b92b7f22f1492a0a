"""Windows near the ends of a sequence: those that reach an end compete with those that do not."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Nodes = NDArray[np.int64]


class Edges:
    """Least leakage over the windows of b entries, for entries i <= b or i > T - b.

    Two-sided windows [i-l+1, i+r-1], l + r = b + 1, need l <= i - 1: running minima over l give them. They also need
    r <= T - i, but those beyond may stay: then l <= b - (T - i) =: m, and U_l + R_r >= U_l >= U_m, which is the window
    up to the right end. (On the left the same would be false: c_i belongs to the true start only.)
    """

    def __init__(self, length: int, b: int, left: Array, right: Array, both: Array) -> None:
        self.length, self.b, self.left, self.right = length, b, left, right
        self._both = both

    @cached_property
    def _running(self) -> Array:
        """min over 1 <= l <= n of U_l + R_{b+1-l}, for n = 1 .. b."""
        found = np.empty_like(self._both)
        found[0] = self._both[0]
        for at in range(1, len(found)):
            np.minimum(self._both[at], found[at - 1], out=found[at])
        return found

    def leaks(self, nodes: Nodes, start: Array) -> Array:
        """leak_i(x, x') for entries that all reach the same ends; `start` holds their c_i."""
        begins, ends = nodes[0] <= self.b, nodes[0] > self.length - self.b
        leak = self._running[np.clip(nodes - 2, 0, self.b - 1)]
        leak[nodes == 1] = np.inf
        if ends:  # the window up to the right end: no R
            np.minimum(leak, self.left[self.b - (self.length - nodes) - 1], out=leak)
        leak += start
        if begins:  # the window up to the left end: neither U nor c
            np.minimum(leak, self.right[self.b - nodes], out=leak)
        return leak
