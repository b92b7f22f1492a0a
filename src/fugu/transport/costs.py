"""Costs given as logarithms, at the atoms that have mass, with or without a place to leave mass behind."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.errors import UsageError

LogCost = ArrayLike | Callable[[NDArray[np.int64], NDArray[np.int64]], NDArray[np.float64]]
_CEILING = 600.0
"""Costs are shifted so that the dearest one a useful plan can hold is e^600: the range below it is then e^-1300."""
_BLOCK = 2**21


class Costs:
    """log c(i, j) of the held atoms; with `spare`, one more row and column at cost 0, and their common cell dear."""

    def __init__(self, log_cost: LogCost, rows: NDArray[np.int64], columns: NDArray[np.int64], spare: bool) -> None:
        self.log_cost, self.rows, self.columns, self.spare = log_cost, rows, columns, spare
        self.n, self.m = len(rows), len(columns)
        self.shift, self.cap = 0.0, np.inf

    @property
    def shape(self) -> tuple[int, int]:
        """With the spare row and column."""
        return self.n + self.spare, self.m + self.spare

    def logs(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """log c of the pairs; -inf for cost 0."""
        real = (i < self.n) & (j < self.m)
        found = np.where((i == self.n) & (j == self.m), np.inf, -np.inf)
        found[real] = at_cells(self.log_cost, self.rows[i[real]], self.columns[j[real]])
        return found

    def level(self, value: float, log_total: float, logs: NDArray[np.float64]) -> None:
        """A plan of log cost `value` is known: a better one has no cell above value + log total, as masses are >= 1.

        Dearer cells are set to four times that cost for the search, so that one unit of mass there costs more than
        the whole plan; all costs are shifted. Without a finite plan the dearest finite cost stands for `value`."""
        if value == np.inf:
            value = float(logs.max(initial=-np.inf, where=np.isfinite(logs)))
        if np.isfinite(value):
            self.cap = value + log_total + 1.0
            self.shift = self.cap - _CEILING

    def of(self, i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        """The costs the search works with: doubles, shifted and cut."""
        return self._cut(self.logs(i, j))

    def _cut(self, logs: NDArray[np.float64]) -> NDArray[np.float64]:
        cap = self.cap if np.isfinite(self.cap) else 0.0
        with np.errstate(under="ignore"):
            costs = np.exp(np.minimum(np.minimum(logs, cap) - self.shift, _CEILING + 50))  # beyond 1e18 doubles jump
        return np.where(logs > cap, costs * 4, costs)

    def prices(self, lo: int, hi: int) -> NDArray[np.float64]:
        """The costs the search works with, of the real rows lo .. hi - 1 against all real columns."""
        return self._cut(self.block(lo, hi))

    def blocks(self) -> list[tuple[int, int]]:
        """Ranges of rows whose costs fit in memory at once."""
        size = max(1, _BLOCK // self.m)
        return [(lo, min(lo + size, self.n)) for lo in range(0, self.n, size)]

    def block(self, lo: int, hi: int) -> NDArray[np.float64]:
        """log c of the real rows lo .. hi - 1 against all real columns."""
        i, j = np.repeat(self.rows[lo:hi], self.m), np.tile(self.columns, hi - lo)
        return at_cells(self.log_cost, i, j).reshape(hi - lo, self.m)


def at_cells(log_cost: LogCost, rows: NDArray[np.int64], columns: NDArray[np.int64]) -> NDArray[np.float64]:
    """log c at the cells, from a matrix or from a function of two index arrays."""
    if callable(log_cost):
        found: NDArray[Any] = np.asarray(log_cost(rows, columns), dtype=np.float64)
    else:
        found = np.asarray(log_cost, dtype=np.float64)[rows, columns]
    if found.shape != rows.shape or np.isnan(found).any():
        raise UsageError("log_cost must give one number (not NaN) for each pair of atoms")
    return found
