"""The ways out of the nodes of a tree: each edge in both directions, the kernel along it, and how many cells lie beyond.

A *way* leads from a node to one of its neighbours and stands for everything beyond that edge. Way 2 v leads from the
parent of v to v, way 2 v + 1 from v to its parent. Beyond a way one may look further at once: from its far end along
the heaviest way out, and so on. A jump of d edges has the product of d kernels; it *holds* all cells on the way, side
branches included, which is (cells beyond the first way) - (cells beyond the last).

Ways come in stages: everything beyond a way is in an earlier stage. First those that lead away from the root, from the
leaves upwards; then those that lead towards it, from the root downwards.

Kernels are kept once: ways with the same floats share them, and with them their messages.

Proofs: docs/proofs/trees.md#messages and docs/proofs/trees.md#rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fugu.priors.forest import Forest
from fugu.translation.contraction.kernel import Array, Rows, U, sort_rows
from fugu.translation.contraction.limit import backward_kernel

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]
_JUMPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30)
_MOST_HELD = 30
"""A jump that holds more cells is not tried."""
_MOST_KERNELS = 3 * 10**6
"""Entries of sorted rows; beyond, no further jumps are tried, and rows are sorted anew when they are asked for."""
_MOST_WORK = 2_000_000


@dataclass
class Kernels:
    """Kernels (k, k') with what is positive, which rows can occur, and from how many edges they were made."""

    error: float
    values: list[Array] = field(default_factory=list)
    reach: list[Mask] = field(default_factory=list)
    valid: list[Mask] = field(default_factory=list)
    edges: list[int] = field(default_factory=list)
    size: int = 0
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)
    _rows: dict[tuple[bytes, int], Rows] = field(default_factory=dict)
    _apart: dict[int, Array] = field(default_factory=dict)
    _kept: int = 0

    def one(self, kernel: Array, valid: Mask) -> int:
        """The number of a kernel of one edge; `valid`: the values its near end can take."""
        key = (kernel.shape, kernel.tobytes(), valid.tobytes())
        if key not in self._known:
            self._known[key] = self._add(kernel, kernel > 0, valid, 1)
        return self._known[key]

    def then(self, first: int, second: int) -> int:
        """The number of the product of two kernels; positive entries are found without arithmetic."""
        key = (first, second)
        if key not in self._known:
            with np.errstate(under="ignore"):
                product = self.values[first] @ self.values[second]
            reach = (self.reach[first].astype(np.float32) @ self.reach[second].astype(np.float32)) > 0
            edges = self.edges[first] + self.edges[second]
            self._known[key] = self._add(product, reach, self.valid[first], edges)
        return self._known[key]

    def _add(self, kernel: Array, reach: Mask, valid: Mask, edges: int) -> int:
        self.values.append(kernel)
        self.reach.append(reach)
        self.valid.append(valid)
        self.edges.append(edges)
        self.size += max(kernel.shape) ** 3
        return len(self.values) - 1

    def width(self, kernel: int) -> int:
        """The side of the square that holds a kernel."""
        return max(self.values[kernel].shape)

    def relative(self, kernel: int) -> float:
        """A bound on the relative error of its entries: laws in between cancel, each edge loses 2 k + 10 units."""
        return 1.01 * self.edges[kernel] * (2 * self.width(kernel) + 10) * U + 2.02 * self.error

    def rows(self, which: Places, width: int) -> Rows:
        """The sorted rows of some kernels, each filled up to a square of this width; kept while there is room."""
        key = (which.tobytes(), width)
        if key in self._rows:
            return self._rows[key]
        names, places = np.unique(which, return_inverse=True)
        values, reach = np.zeros((len(names), width, width)), np.zeros((len(names), width, width), dtype=bool)
        valid = np.zeros((len(names), width), dtype=bool)
        for n, name in enumerate(names):
            k, far = self.values[name].shape
            values[n, :k, :far], reach[n, :k, :far] = self.values[name], self.reach[name]
            valid[n, :k] = self.valid[name]
        errors = np.array([self.relative(name) for name in names])
        found = sort_rows(values, reach, errors, np.ones(width, dtype=bool))
        pairs = valid[:, :, None] & valid[:, None, :] & ~np.eye(width, dtype=bool)
        rows = Rows(*(part[places] for part in (found.u, found.v, found.order, found.dead, pairs)))
        if self._kept + rows.u.size <= _MOST_KERNELS:
            self._kept += rows.u.size
            self._rows[key] = rows
        return rows

    def variation(self, which: int, width: int) -> Array:
        """The total variation between any two rows of one kernel, rounded up; in a square of this width."""
        if which not in self._apart:
            rows = self.values[which]
            apart = np.stack([np.maximum(row - rows, 0.0).sum(axis=1) for row in rows])
            apart = np.minimum(apart + 2 * self.relative(which) + (2 * rows.shape[1] + 8) * U, 1.0)
            self._apart[which] = np.ones((width, width))
            self._apart[which][: len(rows), : len(rows)] = apart
        return self._apart[which]


@dataclass(frozen=True)
class Looks:
    """What is looked at in one stage with kernels of one width: along a way, the losses beyond another, cells held."""

    width: int
    at: Places
    """Which of the ways of the stage."""
    beyond: Places
    """The last way of the jump."""
    held: Array
    kernels: Places


@dataclass(frozen=True)
class Stage:
    """Ways whose far sides are known by now."""

    ways: Places
    near: Places
    """The nodes that the ways leave."""
    families: tuple[tuple[int, Places], ...]
    """Towards the root: parents, each with its children. Empty if the ways lead away from the root."""
    looks: tuple[Looks, ...]


@dataclass(frozen=True)
class Ways:
    """All ways of the trees; nodes are numbered by their place in the order of the forest."""

    kernels: Kernels
    parent: Places
    sizes: Places
    valid: Mask
    """(nodes, width): which values can occur."""
    degree: Array
    beyond: Array
    """For each way the number of cells beyond it."""
    tree: Array
    """For each node the number of cells of its tree."""
    stages: tuple[Stage, ...]

    @property
    def width(self) -> int:
        """The most values of a node."""
        return int(self.valid.shape[1])


def ways(forest: Forest) -> Ways:
    """The ways of all trees of a forest."""
    place = {v: n for n, v in enumerate(forest.order)}
    parent = np.array([place.get(forest.parent[v], -1) for v in forest.order], dtype=np.intp)
    below = [[place[c] for c in forest.below[v]] for v in forest.order]
    laws = [forest.laws[v] for v in forest.order]
    sizes = np.array([len(law) for law in laws], dtype=np.intp)
    valid = np.zeros((len(laws), int(sizes.max(initial=1))), dtype=bool)
    for n, law in enumerate(laws):
        valid[n, : len(law)] = law > 0
    around = forest.around()
    tree = np.array([around[v] for v in forest.order], dtype=np.float64)
    cells = np.ones(len(laws))
    for n in range(len(laws) - 1, -1, -1):
        if parent[n] >= 0:
            cells[parent[n]] += cells[n]
    beyond = np.stack([cells, tree - cells], axis=1).ravel()
    kernels, along = Kernels(forest.error), np.full(2 * len(laws), -1, dtype=np.intp)
    for n, v in enumerate(forest.order):
        if parent[n] >= 0:
            table, above = forest.tables[v], laws[parent[n]]
            along[2 * n] = kernels.one(table, above > 0)
            along[2 * n + 1] = kernels.one(np.ascontiguousarray(backward_kernel(above, table, laws[n])), laws[n] > 0)
    degree = np.array([len(b) for b in below], dtype=np.float64) + (parent >= 0)
    steps = _Steps(parent, below, beyond, along, kernels, int(valid.shape[1]))
    return Ways(kernels, parent, sizes, valid, degree, beyond, tree, tuple(steps.stages()))


@dataclass
class _Steps:
    """Where one can go from the far end of a way."""

    parent: Places
    below: list[list[int]]
    beyond: Array
    along: Places
    kernels: Kernels
    width: int

    def stages(self) -> list[Stage]:
        """Away from the root by the height of the far end, then towards the root by the depth of the near end."""
        n = len(self.parent)
        height, depth = np.zeros(n, dtype=np.intp), np.zeros(n, dtype=np.intp)
        for v in range(n - 1, -1, -1):
            if self.parent[v] >= 0:
                height[self.parent[v]] = max(height[self.parent[v]], height[v] + 1)
        for v in range(n):
            if self.parent[v] >= 0:
                depth[v] = depth[self.parent[v]] + 1
        found = []
        inner = self.parent >= 0
        for group in _alike(np.flatnonzero(inner), height[inner]):
            found.append(Stage(2 * group, self.parent[group], (), self._looks(2 * group)))
        for group in _alike(np.flatnonzero(inner), depth[inner]):
            parents = sorted({int(self.parent[v]) for v in group})
            families = tuple((p, np.array(self.below[p], dtype=np.intp)) for p in parents)
            found.append(Stage(2 * group + 1, group, families, self._looks(2 * group + 1)))
        return found

    def _further(self, way: int) -> int:
        """The heaviest way out of the far end but the one back; -1 if there is none, or too many cells are held."""
        v = way // 2
        p = v if way % 2 == 0 else int(self.parent[v])
        if len(self.below[p]) > _MOST_HELD + 2:
            return -1
        if way % 2 == 0:
            out = [2 * c for c in self.below[v]]
        else:
            out = [2 * c for c in self.below[p] if c != v] + ([2 * p + 1] if self.parent[p] >= 0 else [])
        return max(out, key=lambda w: self.beyond[w], default=-1)

    def _looks(self, ways: Places) -> tuple[Looks, ...]:
        jumps = _JUMPS[: max(1, _MOST_WORK // self.width**4)] if self.width > 2 else (1,)
        found: dict[int, list[tuple[int, int, float, int]]] = {}
        for at, way in enumerate(ways):
            last, kernel = int(way), int(self.along[way])
            for d in range(1, jumps[-1] + 1):
                if d > 1:
                    last = self._further(last)
                    if last < 0 or self.beyond[way] - self.beyond[last] > _MOST_HELD:
                        break
                    if self.kernels.size > _MOST_KERNELS:
                        break
                    kernel = self.kernels.then(kernel, int(self.along[last]))
                if d in jumps:
                    held = float(self.beyond[way] - self.beyond[last])
                    found.setdefault(self.kernels.width(kernel), []).append((at, last, held, kernel))
        return tuple(_column(width, rows) for width, rows in sorted(found.items()))


def _column(width: int, rows: list[tuple[int, int, float, int]]) -> Looks:
    at, last, held, kernel = zip(*rows, strict=True)
    return Looks(width, np.array(at), np.array(last), np.array(held), np.array(kernel))


def _alike(nodes: Places, key: Places) -> list[Places]:
    """The nodes grouped by a key, in its order."""
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    return [part for part in np.split(nodes[order], cuts) if len(part)]
