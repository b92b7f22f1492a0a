"""The ways out of the nodes of a tree: each edge in both directions, the kernel along it, how many cells lie beyond.

A *way* leads from a node to one of its neighbours and stands for everything beyond that edge. Way 2 v leads from the
parent of v to v, way 2 v + 1 from v to its parent. Beyond a way one may look further at once: from its far end along
the heaviest way out, and so on. A jump of d edges has the product of d kernels; it *holds* all cells on the way, side
branches included, which is (cells beyond the first way) - (cells beyond the last).

Ways come in stages: everything beyond a way is in an earlier stage. First those that lead away from the root, from the
leaves upwards; then those that lead towards it, from the root downwards.

Proofs: docs/proofs/trees.md#messages and docs/proofs/trees.md#jumps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fugu.priors.forest import Forest
from fugu.translation.contraction.edge_kernels import MOST_KERNELS, Kernels, Mask, Places
from fugu.translation.contraction.kernel import Array
from fugu.translation.contraction.limit import backward_kernel

_JUMPS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 30)
_MOST_HELD = 30
"""A jump that holds more cells is not tried."""
_MOST_WORK = 2_000_000


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
                    if self.kernels.size > MOST_KERNELS:
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
