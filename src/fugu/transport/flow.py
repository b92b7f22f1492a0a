"""Maximum flow between two lists of integer masses of any size, along allowed pairs.

scipy's `maximum_flow` works in 32 bits and drops the higher bits without a word (2^40 becomes 0), so it is asked
only about capacities below 2^30. Larger ones are settled in phases (capacity scaling, Edmonds and Karp 1972): flow
on the leading bits, then on what is left over. Unit masses take the same way: on point clouds scipy's flow
(Dinic) was found a hundred times faster than its matching (Hopcroft and Karp).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

_BITS = 30


def max_flow(
    a: NDArray[Any], b: NDArray[Any], rows: NDArray[np.int64], columns: NDArray[np.int64], needed: int = 0
) -> NDArray[Any]:
    """The flow on each pair (rows[e], columns[e]) that moves as much of a to b as can be; pairs are distinct.

    In a phase all capacities are cut to the bound on what can still flow, divided by 2^k and rounded down. A
    minimal cut of that phase has less than 2^k left on each of its arcs of finite capacity, or the whole bound
    went through: so at most (arcs of finite capacity) 2^k can flow afterwards. The phase with k = 0 is exact. As
    soon as it is clear that less than `needed` can flow, the flow found so far is returned.

    >>> one = np.array([2**40, 1], dtype=object)
    >>> max_flow(one, one, np.array([0, 0, 1]), np.array([0, 1, 1])).tolist()
    [1099511627776, 0, 1]
    """
    flow = np.zeros(len(rows), dtype=a.dtype)
    left_a, left_b = a.copy(), b.copy()
    bound = min(int(a.sum()), int(b.sum())) if len(rows) else 0
    place = _Places(rows, columns, len(b))
    moved = 0
    while bound > 0 and moved + bound >= needed:
        k = max(0, bound.bit_length() - _BITS)
        back = np.flatnonzero(flow)
        network = (_cut(left_a, bound, k), _cut(left_b, bound, k), bound >> k, back, _cut(flow[back], bound, k))
        more = place.solve(rows, columns, *network).astype(a.dtype) * (1 << k)
        flow, moved = flow + more, moved + int(more.sum())
        np.subtract.at(left_a, rows, more)
        np.subtract.at(left_b, columns, more)
        if k == 0:
            break
        arcs = len(a) + len(b) + len(back)
        bound = min(int(left_a.sum()), int(left_b.sum()), arcs << k)
    return flow


def _cut(capacity: NDArray[Any], bound: int, k: int) -> NDArray[np.int32]:
    cut: NDArray[np.int32] = (np.minimum(capacity, bound) // (1 << k)).astype(np.int32)
    return cut


class _Places:
    """Where the pairs stand in the matrix that comes back."""

    def __init__(self, rows: NDArray[np.int64], columns: NDArray[np.int64], width: int) -> None:
        key = rows * width + columns
        self.order = np.argsort(key, kind="stable")
        self.key, self.width = key[self.order], width

    def solve(
        self,
        rows: NDArray[np.int64],
        columns: NDArray[np.int64],
        supply: NDArray[np.int32],
        demand: NDArray[np.int32],
        most: int,
        back: NDArray[np.int64],
        backward: NDArray[np.int32],
    ) -> NDArray[np.int64]:
        """The net flow on each pair in one phase: nodes are the rows, the columns, the source and the sink."""
        from scipy.sparse import coo_array
        from scipy.sparse.csgraph import maximum_flow

        n, m = len(supply), len(demand)
        source, sink = n + m, n + m + 1
        tails = np.concatenate([np.full(n, source), rows, n + columns[back], n + np.arange(m)])
        heads = np.concatenate([np.arange(n), n + columns, rows[back], np.full(m, sink)])
        capacity = np.concatenate([supply, np.full(len(rows), most, np.int32), backward, demand])
        open_ = capacity > 0
        arcs = (capacity[open_], (tails[open_], heads[open_]))
        network: Any = coo_array(arcs, shape=(n + m + 2, n + m + 2)).tocsr()
        found = maximum_flow(network, source, sink).flow.tocoo()
        tail, head = found.coords
        inner = (tail < n) & (head >= n) & (head < source) & (found.data != 0)
        net = np.zeros(len(rows), dtype=np.int64)
        at = np.searchsorted(self.key, tail[inner].astype(np.int64) * self.width + (head[inner] - n))
        net[self.order[at]] = found.data[inner]
        return net
