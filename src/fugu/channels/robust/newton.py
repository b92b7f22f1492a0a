"""Newton steps of all outputs at once, linked by sum_y k_y = 1: block elimination, then one system of n equations."""

from __future__ import annotations

import numpy as np

from fugu.channels.robust.cone import Floats, Places
from fugu.channels.robust.layout import Layout

_FIRM = 1e-6
"""Added to the diagonal: weights of rows differ by more than doubles hold, and a step need not be exact."""
_ROUNDS = 2
_FINE = 1e-11
_CHUNK = 16


class Newton:
    """Solves H_y dz_y = right_y + A' du for every output y, with sum_y A dz_y + extra du = link.

    - `layout`: where the entries of H stand.
    - `d`: the weights of the rows, (outputs, rows).
    - `linked`: the variables that A picks: the column, and the slacks for delta if there are any.
    - `extra`: what the links have on their own diagonal, one number for each of `linked`.

    Arrays over points have the points first, then the outputs.
    """

    def __init__(self, layout: Layout, d: Floats, linked: Places, extra: Floats) -> None:
        self.layout, self.d, self.linked, self.extra = layout, d, linked, extra
        numbers, self.share = layout.weights(d)
        block, beside, side, corner = layout.blocks(numbers)
        self.block = np.ascontiguousarray(block.transpose(1, 0, 2, 3)) + _FIRM * np.eye(layout.b)
        self.beside = None if beside is None else np.ascontiguousarray(beside.transpose(1, 0, 2, 3))
        self.side = np.ascontiguousarray(side.transpose(1, 0, 2, 3))
        free = np.arange(layout.e - layout.wide.size)
        corner[:, free, free] += _FIRM
        self._eliminate()
        self.through = self._inner(self.side)
        schur = corner - np.einsum("xyae,xyaf->yef", self.side, self.through)
        size = 1 / np.sqrt(np.abs(np.einsum("yee->ye", schur)))
        scaled = size[:, :, None] * schur * size[:, None, :]
        self.corner = size[:, :, None] * np.linalg.inv(scaled) * size[:, None, :]
        self.borders = layout.node[linked[layout.n :]] - layout.n * layout.b
        self.whole = self._links()

    def _links(self) -> Floats:
        """sum_y A H_y^-1 A' + extra."""
        n, count = self.layout.n, self.linked.size
        reach = np.zeros((count, len(self.d), self.layout.e))
        reach[:n] = self.through[:, :, 0]
        reach[n + np.arange(self.borders.size), :, self.borders] = -1.0
        other = np.einsum("lyf,yfe->lye", reach, self.corner)
        whole = other.reshape(count, -1) @ reach.reshape(count, -1).T
        whole[:n, :n] += self._diagonal()
        whole[np.arange(count), np.arange(count)] += self.extra
        even: Floats = (whole + whole.T) / 2
        return even

    def _eliminate(self) -> None:
        """The pivots of the blocks along the points."""
        if self.beside is None:
            self.pivot = np.linalg.inv(self.block)
            return
        self.pivot = np.empty_like(self.block)
        self.back = np.empty_like(self.block)
        self.pivot[0] = np.linalg.inv(self.block[0])
        for x in range(1, self.layout.n):
            off = self.beside[x - 1]
            self.back[x - 1] = self.pivot[x - 1] @ off
            self.pivot[x] = np.linalg.inv(self.block[x] - off.transpose(0, 2, 1) @ self.back[x - 1])

    def _inner(self, right: Floats, some: slice = slice(None)) -> Floats:
        """The blocks of the points solved for (n, outputs, b, columns)."""
        if self.beside is None:
            return self.pivot[:, some] @ right
        right, ahead = right.copy(), np.swapaxes(self.back, 2, 3)
        for x in range(1, self.layout.n):
            right[x] -= ahead[x - 1, some] @ right[x - 1]
        found = self.pivot[:, some] @ right
        for x in range(self.layout.n - 2, -1, -1):
            found[x] -= self.back[x, some] @ found[x + 1]
        return found

    def _diagonal(self) -> Floats:
        """sum_y of the inverse of the blocks at (k, k)."""
        n, m = self.layout.n, len(self.d)
        if self.beside is None:
            return np.diag(self.pivot[:, :, 0, 0].sum(axis=1))
        total = np.zeros((n, n))
        for first in range(0, m, _CHUNK):
            some = slice(first, min(first + _CHUNK, m))
            unit = np.zeros((n, some.stop - first, self.layout.b, n))
            unit[np.arange(n), :, 0, np.arange(n)] = 1.0
            total += self._inner(unit, some)[:, :, 0].sum(axis=1)
        return total

    def _apart(self, nodes: Floats) -> tuple[Floats, Floats]:
        """H dz = right for every output, without the private variables: points (n, outputs, b) and border."""
        n, b = self.layout.n, self.layout.b
        points = nodes[:, : n * b].reshape(-1, n, b).transpose(1, 0, 2)
        first = self._inner(np.ascontiguousarray(points)[..., None])[..., 0]
        short = nodes[:, n * b :] - np.einsum("xyae,xya->ye", self.side, first)
        edge = np.einsum("yef,yf->ye", self.corner, short)
        return first - np.einsum("xyae,ye->xya", self.through, edge), edge

    def step(self, right: Floats, link: Floats) -> tuple[Floats, Floats]:
        """dz (outputs, variables) and du for right (outputs, variables) and the sums of the links, refined."""
        dz, du = self._once(right, link)
        size = max(np.abs(right).max(), np.abs(link).max())
        error = np.inf
        for _ in range(_ROUNDS):
            more, miss = self._left_over(right, link, dz, du)
            now = max(np.abs(more).max(), np.abs(miss).max())
            if not _FINE * size < now < error / 2:
                break
            error = now
            further, also = self._once(more, miss)
            dz, du = dz + further, du + also
        return dz, du

    def _left_over(self, right: Floats, link: Floats, dz: Floats, du: Floats) -> tuple[Floats, Floats]:
        matrix, seen = self.layout.matrix, self.layout.node >= 0
        more = right - (self.d * (matrix @ dz.T).T) @ matrix
        more[:, self.linked] += du
        more[:, seen] -= _FIRM * dz[:, seen]
        return more, link - dz[:, self.linked].sum(axis=0) - self.extra * du

    def _once(self, right: Floats, link: Floats) -> tuple[Floats, Floats]:
        layout, n, b = self.layout, self.layout.n, self.layout.b
        hidden, row, seen = right[:, layout.private], self.d[:, layout.own_row], layout.node >= 0
        nodes = np.zeros((len(right), n * b + layout.e))
        nodes[:, layout.node[seen]] = right[:, seen]
        nodes -= (row * self.share * hidden) @ layout.rest + (self.share * hidden) @ layout.steep
        points, edge = self._apart(nodes)
        sums = np.concatenate([points[:, :, 0].sum(axis=1), edge[:, self.borders].sum(axis=0)])
        du = np.linalg.solve(self.whole, link - sums)
        nodes[:, np.arange(n) * b] += du[:n]
        nodes[:, n * b + self.borders] += du[n:]
        points, edge = self._apart(nodes)
        found = np.concatenate([points.transpose(1, 0, 2).reshape(len(right), -1), edge], axis=1)
        dz = np.zeros_like(right)
        dz[:, seen] = found[:, layout.node[seen]]
        dz[:, layout.private] = self.share * (hidden - row * (found @ layout.rest.T) - found @ layout.steep.T)
        return dz, du
