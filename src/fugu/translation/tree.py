"""The contraction accountant of a tree: node by node, along the ways out of its nodes and the kernels on its edges."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fugu.priors.network import Forest
from fugu.translation.kernel import (
    Array,
    RowPairs,
    U,
    by_variation,
    passed,
    shortest_paths,
    sort_rows,
    times,
    up,
    variations,
)
from fugu.translation.side import Mask, backward_kernel

# For a node i and a neighbour j let F_ij(x, x') be the largest log E[f | X_i = x] / E[f | X_i = x'] over all f of the
# cells beyond the edge whose logarithm changes by at most eps per cell. Then (docs/proofs/trees.md#messages)
#
#     F_ij <= L(K_x, K_x'; eps + sum of F_jl over the other neighbours l of j),    K = P(X_j | X_i),
#     F_ij <= (number of cells beyond the edge) eps,
#     F_ij <= (cells held) eps + L(K^d; ...)    for jumps along several edges at once,
#
# with L of `kernel`, and the total of node i is eps + sum of F_ij over its neighbours. Each of the 2 (n - 1) messages
# is computed once. Losses of the branches add up: they are caused by different cells, for the same pair of values. For
# trees of two values the total is attained by randomised response (docs/proofs/trees.md#two-values).
#
# Messages of one stage are computed together; those with the same kernel and the same losses are computed once.
#
# Proofs: docs/proofs/trees.md#messages, docs/proofs/trees.md#jumps and docs/proofs/trees.md#rounding.

_MOST_AT_ONCE = 2_000_000
"""Entries (message, x, x', p, q) that are looked at together."""
_MOST_PAIRWISE = 36
"""Kernels with more values are judged by the total variation between their rows, with one number for all losses."""
_FEW = 64
"""Stages with more messages are computed without looking for equal ones."""


# The ways out of the nodes of a tree: each edge in both directions, the kernel along it, how many cells lie beyond.
#
# A *way* leads from a node to one of its neighbours and stands for everything beyond that edge. Way 2 v leads from the
# parent of v to v, way 2 v + 1 from v to its parent. Beyond a way one may look further at once: from its far end along
# the heaviest way out, and so on. A jump of d edges has the product of d kernels; it *holds* all cells on the way, side
# branches included, which is (cells beyond the first way) - (cells beyond the last).
#
# Ways come in stages: everything beyond a way is in an earlier stage. First those that lead away from the root, from
# the leaves upwards; then those that lead towards it, from the root downwards.
#
# Proofs: docs/proofs/trees.md#messages and docs/proofs/trees.md#jumps.

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


class TreeContraction:
    """What per-entry privacy is worth under a network whose graph is a forest; tables are kept between calls.

    >>> from fugu.priors.network import household
    >>> found = TreeContraction(household(4, 0.1, 0.5).forest)(0.5)
    >>> [round(float(table.max()), 6) for table in found.values()]
    [1.226815, 0.907659, 0.907659, 0.907659]
    """

    def __init__(self, forest: Forest) -> None:
        place = {v: n for n, v in enumerate(forest.order)}
        self.order = forest.order
        self.parent = np.array([place.get(forest.parent[v], -1) for v in forest.order], dtype=np.intp)
        """The parent of each node, by its place in the order of the forest; -1 for a root."""
        self.below = [[place[c] for c in forest.below[v]] for v in forest.order]
        laws = [forest.laws[v] for v in forest.order]
        self.sizes = np.array([len(law) for law in laws], dtype=np.intp)
        self.valid = np.zeros((len(laws), int(self.sizes.max(initial=1))), dtype=bool)
        """(nodes, width): which values can occur."""
        for n, law in enumerate(laws):
            self.valid[n, : len(law)] = law > 0
        around = forest.around()
        self.tree = np.array([around[v] for v in forest.order], dtype=np.float64)
        """For each node the number of cells of its tree."""
        cells = np.ones(len(laws))
        for n in range(len(laws) - 1, -1, -1):
            if self.parent[n] >= 0:
                cells[self.parent[n]] += cells[n]
        self.beyond = np.stack([cells, self.tree - cells], axis=1).ravel()
        """For each way the number of cells beyond it."""
        self.kernels, self.along = Kernels(forest.error), np.full(2 * len(laws), -1, dtype=np.intp)
        for n, v in enumerate(forest.order):
            if self.parent[n] >= 0:
                table, above = forest.tables[v], laws[self.parent[n]]
                back = np.ascontiguousarray(backward_kernel(above, table, laws[n]))
                self.along[2 * n] = self.kernels.one(table, above > 0)
                self.along[2 * n + 1] = self.kernels.one(back, laws[n] > 0)
        self.degree = np.array([len(b) for b in self.below], dtype=np.float64) + (self.parent >= 0)
        # away from the root by the height of the far end, then towards the root by the depth of the near end
        height, depth = (np.zeros(len(laws), dtype=np.intp) for _ in range(2))
        for v in range(len(laws) - 1, -1, -1):
            if self.parent[v] >= 0:
                height[self.parent[v]] = max(height[self.parent[v]], height[v] + 1)
        for v in range(len(laws)):
            if self.parent[v] >= 0:
                depth[v] = depth[self.parent[v]] + 1
        self.stages: list[Stage] = []
        inner = self.parent >= 0
        for group in _alike(np.flatnonzero(inner), height[inner]):
            self.stages.append(Stage(2 * group, self.parent[group], (), self._looks(2 * group)))
        for group in _alike(np.flatnonzero(inner), depth[inner]):
            parents = sorted({int(self.parent[v]) for v in group})
            families = tuple((p, np.array(self.below[p], dtype=np.intp)) for p in parents)
            self.stages.append(Stage(2 * group + 1, group, families, self._looks(2 * group + 1)))

    def __call__(self, epsilon: float) -> dict[int, Array]:
        """For each node of the trees the total (k, k) of every ordered pair of its possible values; 0 elsewhere."""
        found = _Messages(self, epsilon)
        for stage in self.stages:
            found.send(stage)
        totals, sizes = found.totals(), self.sizes
        return {v: totals[n, : sizes[n], : sizes[n]] for n, v in enumerate(self.order)}

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
        width = int(self.valid.shape[1])
        jumps = _JUMPS[: max(1, _MOST_WORK // width**4)] if width > 2 else (1,)
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
        return tuple(Looks(width, *map(np.array, zip(*rows, strict=True))) for width, rows in sorted(found.items()))


class _Messages:
    """The messages along all ways for one epsilon, filled in stage by stage."""

    def __init__(self, known: TreeContraction, epsilon: float) -> None:
        nodes, width = known.valid.shape
        self.known, self.epsilon = known, epsilon
        self.pairs = known.valid[:, :, None] & known.valid[:, None, :] & ~np.eye(width, dtype=bool)
        self.own = np.where(np.eye(width, dtype=bool), 0.0, epsilon)
        self.pad = (1 + 2 * (known.degree + 4) * U)[:, None, None]
        """Past the roundings of a sum over the neighbours of a node."""
        self.sent = np.zeros((2 * nodes, width, width))
        """F of each way."""
        self.losses = np.zeros((2 * nodes, width, width))
        """What the far end of each way loses with its own cell and all beyond."""
        self.below = np.zeros((nodes, width, width))
        """The sum of F over the children of each node."""
        self.memory: dict[tuple[int, bytes], Array] = {}

    def send(self, stage: Stage) -> None:
        """The messages of one stage."""
        if stage.families:
            self._above(stage)
        else:
            nodes = stage.ways // 2
            self.losses[stage.ways] = (self.own + self.below[nodes]) * self.pad[nodes]
        valid, pairs = self.known.valid[stage.near], self.pairs[stage.near]
        best = np.where(pairs, up(self.known.beyond[stage.ways] * self.epsilon)[:, None, None], 0.0)
        for look in stage.looks:
            new = up(look.held * self.epsilon)[:, None, None] + self._passed(look)
            part = best[:, : look.width, : look.width]
            np.minimum.at(part, look.at, up(new))
        sent = self.sent[stage.ways] = shortest_paths(best, valid)
        if not stage.families:
            np.add.at(self.below, stage.near, sent)

    def _above(self, stage: Stage) -> None:
        """For each child of a parent: the parent's own cell, what lies above it, and its other children."""
        for parent, children in stage.families:
            rest = self.own + self.sent[2 * parent + 1]
            if len(children) > 1:
                each = self.sent[2 * children]
                before, after = np.zeros_like(each), np.zeros_like(each)
                before[1:] = np.cumsum(each[:-1], axis=0)
                after[:-1] = np.cumsum(each[:0:-1], axis=0)[::-1]
                rest = rest + before + after
            self.losses[2 * children + 1] = rest * self.pad[parent]

    def _passed(self, look: Looks) -> Array:
        """What passes the kernels, of the losses beyond them; equal ones once."""
        losses = self.losses[look.beyond, : look.width, : look.width]
        if len(losses) > _FEW:
            return self._through(look.kernels, losses)
        keys = [(int(k), loss.tobytes()) for k, loss in zip(look.kernels, losses, strict=True)]
        new = {key: n for n, key in enumerate(keys) if key not in self.memory}
        if new:
            some = np.array(list(new.values()), dtype=np.intp)
            self.memory.update(zip(new, self._through(look.kernels[some], losses[some]), strict=True))
        return np.stack([self.memory[key] for key in keys])

    def _through(self, which: Places, losses: Array) -> Array:
        kernels, width = self.known.kernels, losses.shape[-1]
        if width > _MOST_PAIRWISE:
            apart = np.stack([kernels.variation(int(k), width) for k in which])
            return by_variation(losses.max(axis=(1, 2))[:, None, None], apart)
        size = max(1, _MOST_AT_ONCE // width**4)
        parts = [slice(start, start + size) for start in range(0, len(which), size)]
        return np.concatenate([passed(kernels.rows(which[part], width), losses[part]) for part in parts])

    def totals(self) -> Array:
        """eps and the messages of all neighbours, at most all cells of the tree; 0 for pairs that cannot occur."""
        above = self.sent[1::2]
        every = np.minimum(
            (self.own + above + self.below) * self.pad, up(self.known.tree * self.epsilon)[:, None, None]
        )
        return np.where(self.pairs, shortest_paths(every, self.known.valid), 0.0)


def _alike(nodes: Places, key: Places) -> list[Places]:
    """The nodes grouped by a key, in its order."""
    order = np.argsort(key, kind="stable")
    cuts = np.flatnonzero(np.diff(key[order])) + 1
    return [part for part in np.split(nodes[order], cuts) if len(part)]


# The kernels along the edges of a tree, and their products: ways with the same floats share them.
#
# Rows are sorted once for all epsilons, as long as there is room. The relative error of a product counts the roundings
# of its kernels and of their sums; the laws of the nodes in between cancel (docs/proofs/trees.md#rounding).

Places = NDArray[np.intp]
MOST_KERNELS = 3 * 10**6
"""Entries of sorted rows; beyond, no further jumps are tried, and rows are sorted anew when they are asked for."""


@dataclass
class Kernels:
    """Kernels (k, k') with what is positive, which rows can occur, and how often their entries were rounded."""

    error: float
    made: list[tuple[Array, Mask, Mask, int]] = field(default_factory=list)
    """The last: roundings behind each entry, those of the laws left out."""
    size: int = 0
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)
    _rows: dict[tuple[bytes, int], RowPairs] = field(default_factory=dict)
    _apart: dict[int, Array] = field(default_factory=dict)
    _kept: int = 0

    def one(self, kernel: Array, valid: Mask) -> int:
        """The number of a kernel of one edge; `valid`: the values its near end can take."""
        key = (kernel.shape, kernel.tobytes(), valid.tobytes())
        if key not in self._known:
            self._known[key] = self._add(kernel, kernel > 0, valid, 2 * max(kernel.shape) + 10)
        return self._known[key]

    def then(self, first: int, second: int) -> int:
        """The number of the product of two kernels; positive entries are found without arithmetic."""
        key = (first, second)
        if key not in self._known:
            (one, here, valid, before), (two, there, _, after) = self.made[first], self.made[second]
            product, reach = times((one, here), (two, there))
            self._known[key] = self._add(product, reach, valid, before + after + len(two) + 1)
        return self._known[key]

    def _add(self, kernel: Array, reach: Mask, valid: Mask, units: int) -> int:
        self.made.append((kernel, reach, valid, units))
        self.size += max(kernel.shape) ** 3
        return len(self.made) - 1

    def width(self, kernel: int) -> int:
        """The side of the square that holds a kernel."""
        return int(max(self.made[kernel][0].shape))

    def relative(self, kernel: int) -> float:
        """A bound on the relative error of its entries; the laws of the nodes in between cancel."""
        return 1.01 * self.made[kernel][3] * U + 2.02 * self.error

    def rows(self, which: Places, width: int) -> RowPairs:
        """The sorted rows of some kernels, each filled up to a square of this width; kept while there is room."""
        key = (which.tobytes(), width)
        if key in self._rows:
            return self._rows[key]
        names, places = np.unique(which, return_inverse=True)
        values, reach = np.zeros((len(names), width, width)), np.zeros((len(names), width, width), dtype=bool)
        valid = np.zeros((len(names), width), dtype=bool)
        for n, name in enumerate(names):
            kernel, positive, can, _ = self.made[name]
            k, far = kernel.shape
            values[n, :k, :far], reach[n, :k, :far], valid[n, :k] = kernel, positive, can
        errors = np.array([self.relative(name) for name in names])
        found = sort_rows(values, reach, errors, np.ones(width, dtype=bool))
        pairs = valid[:, :, None] & valid[:, None, :] & ~np.eye(width, dtype=bool)
        rows = RowPairs(found.u[places], found.v[places], found.order[places], found.dead[places], pairs[places])
        if self._kept + rows.u.size <= MOST_KERNELS:
            self._kept += rows.u.size
            self._rows[key] = rows
        return rows

    def variation(self, which: int, width: int) -> Array:
        """The total variation between any two rows of one kernel, rounded up; in a square of this width."""
        if which not in self._apart:
            kernel, reach, _, _ = self.made[which]
            self._apart[which] = np.ones((width, width))
            self._apart[which][: len(kernel), : len(kernel)] = variations(kernel, reach, self.relative(which))
        return self._apart[which]
