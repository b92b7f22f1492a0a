"""The contraction accountant of a tree: per-entry eps to Pufferfish epsilon, node by node and pair by pair.

For a node i and a neighbour j let F_ij(x, x') be the largest log E[f | X_i = x] / E[f | X_i = x'] over all f of the
cells beyond the edge whose logarithm changes by at most eps per cell. Then (docs/proofs/trees.md#messages)

    F_ij <= L(K_x, K_x'; eps + sum of F_jl over the other neighbours l of j),    K = P(X_j | X_i),
    F_ij <= (number of cells beyond the edge) eps,
    F_ij <= (cells held) eps + L(K^d; ...)    for jumps along several edges at once,

with L of `kernel`, and the total of node i is eps + sum of F_ij over its neighbours. Each of the 2 (n - 1) messages is
computed once. Losses of the branches add up: they are caused by different cells, for the same pair of values. For trees
of two values the total is attained by randomised response (docs/proofs/trees.md#two-values).

Messages of one stage are computed together; those with the same kernel and the same losses are computed once.

Proofs: docs/proofs/trees.md#messages, docs/proofs/trees.md#jumps and docs/proofs/trees.md#rounding.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fugu.priors.forest import Forest
from fugu.translation.contraction.edge_kernels import Mask, Places
from fugu.translation.contraction.kernel import Array, U, passed, up
from fugu.translation.contraction.ways import Looks, Stage, Ways, ways

_MOST_AT_ONCE = 2_000_000
"""Entries (message, x, x', p, q) that are looked at together."""
_MOST_PAIRWISE = 36
"""Kernels with more values are judged by the total variation between their rows, with one number for all losses."""
_FEW = 64
"""Stages with more messages are computed without looking for equal ones."""


class TreeContraction:
    """What per-entry privacy is worth under a network whose graph is a forest; tables are kept between calls.

    >>> from fugu.priors.network import household
    >>> found = TreeContraction(household(4, 0.1, 0.5).forest)(0.5)
    >>> [round(float(table.max()), 6) for table in found.values()]
    [1.226815, 0.907659, 0.907659, 0.907659]
    """

    def __init__(self, forest: Forest) -> None:
        self.forest = forest

    @cached_property
    def ways(self) -> Ways:
        """The ways of all trees."""
        return ways(self.forest)

    def __call__(self, epsilon: float) -> dict[int, Array]:
        """For each node of the trees the total (k, k) of every ordered pair of its possible values; 0 elsewhere."""
        found = _Messages(self.ways, epsilon)
        for stage in self.ways.stages:
            found.send(stage)
        totals = found.totals()
        sizes = self.ways.sizes
        return {v: totals[n, : sizes[n], : sizes[n]] for n, v in enumerate(self.forest.order)}


class _Messages:
    """The messages along all ways for one epsilon, filled in stage by stage."""

    def __init__(self, known: Ways, epsilon: float) -> None:
        width, nodes = known.width, len(known.parent)
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
        sent = self.sent[stage.ways] = closed(best, valid)
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
            return from_variation(losses.max(axis=(1, 2))[:, None, None], apart)
        size = max(1, _MOST_AT_ONCE // width**4)
        parts = [slice(start, start + size) for start in range(0, len(which), size)]
        return np.concatenate([passed(kernels.rows(which[part], width), losses[part]) for part in parts])

    def totals(self) -> Array:
        """eps and the messages of all neighbours, at most all cells of the tree; 0 for pairs that cannot occur."""
        above = self.sent[1::2]
        every = np.minimum(
            (self.own + above + self.below) * self.pad, up(self.known.tree * self.epsilon)[:, None, None]
        )
        return np.where(self.pairs, closed(every, self.known.valid), 0.0)


def from_variation(alpha: Array, eta: Array) -> Array:
    """log (1 + (e^alpha - 1) eta), rounded up: what passes between rows of total variation at most eta."""
    with np.errstate(over="ignore", invalid="ignore"):
        found = np.log1p(np.expm1(alpha) * eta) * (1 + 16 * U) + 4e-323
    return np.where(np.isfinite(found), np.minimum(found, alpha), alpha)


def closed(tables: Array, valid: Mask) -> Array:
    """Shortest paths of a stack of tables (n, k, k), through values that can occur, rounded up."""
    width = tables.shape[-1]
    if width < 3:
        return tables
    out = tables.copy()
    out[:, range(width), range(width)] = 0.0
    for z in range(width):
        over = (out[:, :, z, None] + out[:, None, z, :]) * (1 + 2 * U)
        out = np.where(valid[:, z, None, None], np.minimum(out, over), out)
    return out
