"""Flows of integer masses of any size: the most that can pass along allowed pairs, and the cheapest way for all of
it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

# The transport simplex: a least-cost plan with exact integer masses; costs are doubles and only steer the search.
#
# The masses are made non-degenerate (Orden 1956): n rows, a' = K a + 1, b' = K b, and n more on the last column, with
# K > 2 n. No part of the rows then balances a part of the columns, so every basis is a spanning tree with positive
# flow, and dropping the extra mass leaves integers >= 0. All plans are exact; rounding can only make one dearer.


_TOLERANCE = 2.0**-46
_ROOT = -1


class Tree:
    """A spanning tree of rows 0 .. n - 1 and columns n .. n + m - 1, the mass on its arcs, and the potentials."""

    def __init__(self, a: list[int], b: list[int]) -> None:
        n, m = len(a), len(b)
        self.n, self.m, self.scale = n, m, 2 * n + 1
        self.left = [self.scale * mass + 1 for mass in a] + [self.scale * mass for mass in b]
        self.left[-1] += n
        self.links: list[list[int]] = [[] for _ in range(n + m)]
        self.mass: dict[tuple[int, int], int] = {}
        self.parent, self.depth = [_ROOT] * (n + m), [0] * (n + m)
        self.flow, self.cost = [0] * (n + m), [0.0] * (n + m)
        self.potential = [0.0] * (n + m)
        self.children: list[set[int]] = [set() for _ in range(n + m)]

    def pour(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Fill the cells (row, column) in the order given, each as far as it goes; each closes a row or a column."""
        for i, j in pairs:
            if self.left[i] and self.left[self.n + j]:
                moved = min(self.left[i], self.left[self.n + j])
                self.left[i] -= moved
                self.left[self.n + j] -= moved
                self.mass[i, j] = moved
                self.links[i].append(self.n + j)
                self.links[self.n + j].append(i)

    def pour_rest(self) -> None:
        """What is left, from the first open row and column on (the north-west rule)."""
        rows = [i for i in range(self.n) if self.left[i]]
        columns = [j for j in range(self.m) if self.left[self.n + j]]
        s = t = 0
        while s < len(rows) and t < len(columns):
            self.pour([(rows[s], columns[t])])
            s, t = s + (not self.left[rows[s]]), t + (not self.left[self.n + columns[t]])

    def hang(self, costs: NDArray[np.float64]) -> None:
        """Hang the tree from row 0; `costs` belong to the cells in the order of `mass`."""
        price = dict(zip(self.mass, costs.tolist(), strict=True))
        order = [0]
        for node in order:
            for other in self.links[node]:
                if other != self.parent[node]:
                    cell = (node, other - self.n) if node < self.n else (other, node - self.n)
                    self.parent[other], self.depth[other] = node, self.depth[node] + 1
                    self.flow[other], self.cost[other] = self.mass[cell], price[cell]
                    self.children[node].add(other)
                    order.append(other)
        self.refresh()

    def arcs(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The cells (row, column) of the arcs above the nodes 1, 2, ..."""
        nodes, above = np.arange(1, self.n + self.m), np.array(self.parent[1:], dtype=np.int64)
        return np.where(nodes < self.n, nodes, above), np.where(nodes < self.n, above, nodes) - self.n

    def refresh(self) -> None:
        """The potentials afresh from the root: u_i + v_j = cost on every arc."""
        potential, cost, children = self.potential, self.cost, self.children
        stack = [0]
        while stack:
            node = stack.pop()
            for child in children[node]:
                potential[child] = cost[child] - potential[node]
                stack.append(child)

    def improve(self, i: int, j: int, cost: float) -> bool:
        """Bring the cell (i, j) into the tree if that makes the plan cheaper."""
        other = self.n + j
        u, v = self.potential[i], self.potential[other]
        gain = cost - u - v
        if gain >= -_TOLERANCE * (abs(cost) + abs(u) + abs(v)):
            return False
        parent, depth, flow = self.parent, self.depth, self.flow
        up: tuple[list[int], list[int]] = ([], [])
        x, y = i, other
        while x != y:
            if depth[x] >= depth[y]:
                up[0].append(x)
                x = parent[x]
            else:
                up[1].append(y)
                y = parent[y]
        moved, side, place = min((flow[path[k]], s, k) for s, path in enumerate(up) for k in range(0, len(path), 2))
        for path in up:
            for k, node in enumerate(path):
                flow[node] += moved if k % 2 else -moved
        # turn the arcs along the path round and hang its first node onto another; the last arc leaves
        onto, mass, price = i if side else other, moved, cost
        for node in up[side][: place + 1]:
            old = parent[node], flow[node], self.cost[node]
            self.children[old[0]].remove(node)
            self.children[onto].add(node)
            parent[node], flow[node], self.cost[node] = onto, mass, price
            onto, mass, price = node, old[1], old[2]
        # new depths and potentials below it: its own side moves by the gain, the other by minus the gain
        n, potential, children, top = self.n, self.potential, self.children, up[side][0]
        depth[top] = depth[parent[top]] + 1
        stack, row = [top], top < n
        while stack:
            node = stack.pop()
            potential[node] += gain if (node < n) == row else -gain
            below = depth[node] + 1
            for child in children[node]:
                depth[child] = below
                stack.append(child)
        return True

    def plan(self) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[Any]]:
        """The cells that hold mass once the extra mass is dropped: K f + c with |c| <= n, so f is a floor."""
        n, found = self.n, []
        for node in range(1, n + self.m):
            mass = (self.flow[node] + n) // self.scale
            if mass:
                other = self.parent[node]
                found.append((node, other - n, mass) if node < n else (other, node - n, mass))
        found.sort()
        rows, columns, masses = zip(*found, strict=True)
        return np.array(rows, np.int64), np.array(columns, np.int64), np.array(masses, dtype=object)


def optimise(
    tree: Tree, rows: NDArray[np.int64], columns: NDArray[np.int64], costs: NDArray[np.float64], most: int
) -> int:
    """Pivot among the given cells until none makes the plan cheaper, or `most` pivots are spent; the pivots made.

    In each round the best cells of all rows and columns are found, and the best third of these is tried, best first."""
    by_row, by_column = np.lexsort((columns, rows)), np.lexsort((rows, columns))
    groups = [(order, starts(key[order])) for order, key in ((by_row, rows), (by_column, columns))]
    pivots = 0
    while pivots < most:
        tree.refresh()
        potential = np.array(tree.potential)
        u, v = potential[rows], potential[tree.n + columns]
        gain = costs - u - v
        slack = _TOLERANCE * (np.abs(costs) + np.abs(u) + np.abs(v))
        best = []
        for order, begin in groups:  # the place of the least gain in each group
            sorted_gain = gain[order]
            group = np.cumsum(np.bincount(begin, minlength=len(order))) - 1
            hit = np.flatnonzero(sorted_gain == np.minimum.reduceat(sorted_gain, begin)[group])
            best.append(order[hit[np.unique(group[hit], return_index=True)[1]]])
        tried = np.unique(np.concatenate(best))
        tried = tried[gain[tried] < -slack[tried]]
        tried = tried[np.argsort(gain[tried], kind="stable")][: max(64, len(tried) // 3)]
        cells = zip(rows[tried].tolist(), columns[tried].tolist(), costs[tried].tolist(), strict=True)
        made = sum(tree.improve(*cell) for cell in cells)
        pivots += made
        if not made:
            break
    return pivots


def starts(keys: NDArray[np.int64]) -> NDArray[np.int64]:
    """Where each group of equal keys begins, of keys that are sorted."""
    return np.flatnonzero(np.diff(keys, prepend=keys[0] - 1))


# Maximum flow between two lists of integer masses of any size, along allowed pairs.
#
# scipy's `maximum_flow` works in 32 bits and drops the higher bits without a word (2^40 becomes 0), so it is asked
# only about capacities below 2^30. Larger ones are settled in phases (capacity scaling, Edmonds and Karp 1972): flow
# on the leading bits, then on what is left over. Unit masses take the same way: on point clouds scipy's flow
# (Dinic) was found a hundred times faster than its matching (Hopcroft and Karp).


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
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import maximum_flow

    n, m = len(a), len(b)  # nodes are the rows, the columns, the source and the sink
    source, sink = n + m, n + m + 1
    flow = np.zeros(len(rows), dtype=a.dtype)
    left_a, left_b = a.copy(), b.copy()
    bound = min(int(a.sum()), int(b.sum())) if len(rows) else 0
    moved = 0
    while bound > 0 and moved + bound >= needed:
        k = max(0, bound.bit_length() - _BITS)
        back = np.flatnonzero(flow)
        supply, backward, demand = (
            (np.minimum(capacity, bound) // (1 << k)).astype(np.int32) for capacity in (left_a, flow[back], left_b)
        )
        tails = np.concatenate([np.full(n, source), rows, n + columns[back], n + np.arange(m)])
        heads = np.concatenate([np.arange(n), n + columns, rows[back], np.full(m, sink)])
        capacity = np.concatenate([supply, np.full(len(rows), bound >> k, np.int32), backward, demand])
        open_ = capacity > 0
        network: Any = coo_array((capacity[open_], (tails[open_], heads[open_])), shape=(n + m + 2, n + m + 2)).tocsr()
        passed: Any = maximum_flow(network, source, sink).flow
        more = np.asarray(passed[rows, n + columns]).ravel().astype(np.int64).astype(a.dtype) * (1 << k)
        flow, moved = flow + more, moved + int(more.sum())
        np.subtract.at(left_a, rows, more)
        np.subtract.at(left_b, columns, more)
        if k == 0:
            break
        arcs = len(a) + len(b) + len(back)
        bound = min(int(left_a.sum()), int(left_b.sum()), arcs << k)
    return flow
