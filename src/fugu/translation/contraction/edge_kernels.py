"""The kernels along the edges of a tree, and their products: ways with the same floats share them.

Rows are sorted once for all epsilons, as long as there is room. The relative error of a product counts the roundings of
its kernels and of their sums; the laws of the nodes in between cancel (docs/proofs/trees.md#rounding).

Proofs: docs/proofs/trees.md#rounding.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from fugu.translation.contraction.kernel import Array, Rows, U, sort_rows

Mask = NDArray[np.bool_]
Places = NDArray[np.intp]
MOST_KERNELS = 3 * 10**6
"""Entries of sorted rows; beyond, no further jumps are tried, and rows are sorted anew when they are asked for."""


@dataclass
class Kernels:
    """Kernels (k, k') with what is positive, which rows can occur, and how often their entries were rounded."""

    error: float
    values: list[Array] = field(default_factory=list)
    reach: list[Mask] = field(default_factory=list)
    valid: list[Mask] = field(default_factory=list)
    units: list[int] = field(default_factory=list)
    """Roundings behind each entry, those of the laws left out."""
    size: int = 0
    _known: dict[tuple[object, ...], int] = field(default_factory=dict)
    _rows: dict[tuple[bytes, int], Rows] = field(default_factory=dict)
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
            with np.errstate(under="ignore"):
                product = self.values[first] @ self.values[second]
            reach = (self.reach[first].astype(np.float32) @ self.reach[second].astype(np.float32)) > 0
            units = self.units[first] + self.units[second] + self.values[second].shape[0] + 1
            self._known[key] = self._add(product, reach, self.valid[first], units)
        return self._known[key]

    def _add(self, kernel: Array, reach: Mask, valid: Mask, units: int) -> int:
        self.values.append(kernel)
        self.reach.append(reach)
        self.valid.append(valid)
        self.units.append(units)
        self.size += max(kernel.shape) ** 3
        return len(self.values) - 1

    def width(self, kernel: int) -> int:
        """The side of the square that holds a kernel."""
        return int(max(self.values[kernel].shape))

    def relative(self, kernel: int) -> float:
        """A bound on the relative error of its entries; the laws of the nodes in between cancel."""
        return 1.01 * self.units[kernel] * U + 2.02 * self.error

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
        rows = Rows(found.u[places], found.v[places], found.order[places], found.dead[places], pairs[places])
        if self._kept + rows.u.size <= MOST_KERNELS:
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
