"""The distance Lam between states in doubles, a few rows at a time: closures of potentials and neighbours.

Everything here is a search: nothing of it is believed (`checking` sums again, in balls).
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fugu.translation.records.charges import Line
from fugu.translation.records.problem import Ints, Problem

Floats = NDArray[np.float64]
_BLOCK = 2**18
"""Distances at a time: they stay in the cache, which is worth a factor of three."""


class Distances:
    """Lam(x, y) of a problem, from its codes and what one step of each charge costs."""

    def __init__(self, problem: Problem) -> None:
        self.size = problem.size
        self.line = [isinstance(c, Line) for c in problem.charges]
        self.units = problem.units
        self.codes = problem.codes.astype(np.float64)

    def between(self, i: Ints, j: Ints) -> Floats:
        """Lam for pairs."""
        found = np.zeros(len(i))
        for code, step, line in zip(self.codes, self.units, self.line, strict=True):
            found += step * (np.abs(code[i] - code[j]) if line else code[i] != code[j])
        return found

    def rows(self, start: Floats | None = None) -> Iterator[tuple[slice, Floats]]:
        """Blocks of rows of the matrix Lam(x, y) + start(y); each block is written over by the next."""
        height = max(1, _BLOCK // self.size)
        whole, part = np.empty((2, height, self.size))
        for first in range(0, self.size, height):
            taken = slice(first, min(first + height, self.size))
            found, work = whole[: taken.stop - first], part[: taken.stop - first]
            found[:] = 0.0 if start is None else start
            for code, step, line in zip(self.codes, self.units, self.line, strict=True):
                if line:
                    np.subtract(code[taken, None], code, out=work)
                    np.abs(work, out=work)
                    work *= step
                else:
                    np.multiply(code[taken, None] != code, step, out=work)
                found += work
            yield taken, found

    def closure(self, h: Floats) -> Floats:
        """min over y of Lam(x, y) + h(y): the largest Lipschitz function below h."""
        found = np.empty(self.size)
        for taken, block in self.rows(h):
            found[taken] = block.min(axis=1)
        return found

    def steepest(self, h: Floats) -> tuple[Ints, Ints, Floats]:
        """For every x the y != x with the least Lam(x, y) + h(y) - h(x), and for every y such an x: both as pairs."""
        everywhere = np.arange(self.size)
        to, best, source = np.empty(self.size, dtype=np.int64), np.full(self.size, np.inf), np.zeros_like(everywhere)
        for taken, block in self.rows(h):
            inside = np.arange(taken.stop - taken.start)
            block[inside, everywhere[taken]] = np.inf
            to[taken] = block.argmin(axis=1)
            slack = np.subtract(block, h[taken, None], out=block)
            nearest = slack.argmin(axis=0)
            value = slack[nearest, everywhere]
            lower = value < best
            best[lower], source[lower] = value[lower], taken.start + nearest[lower]
        i, j = np.concatenate([everywhere, source]), np.concatenate([to, everywhere])
        return i, j, self.between(i, j) + h[j] - h[i]

    def neighbours(self, near: int) -> tuple[Ints, Ints]:
        """Pairs that are close: the `near` closest, and the closest of those that move along each charge.

        A chain through all states is among them, so that every state can be reached from every other.
        """
        near, everywhere = min(near, self.size - 1), np.arange(self.size)
        pairs = [(everywhere[:-1], everywhere[1:])]
        for taken, block in self.rows():
            rows = everywhere[taken]
            inside = np.arange(rows.size)
            block[inside, rows] = np.inf
            if near == 1:
                pairs.append((rows, block.argmin(axis=1)))
            elif near:
                closest = np.argpartition(block, near - 1, axis=1)[:, :near]
                pairs.append((np.repeat(rows, near), closest.ravel()))
            for code, line in zip(self.codes, self.line, strict=True):
                step = code[taken, None] - code
                for moves in (step > 0, step < 0) if line else (step != 0,):
                    masked = np.where(moves, block, np.inf)
                    found = masked.argmin(axis=1)
                    there = np.isfinite(masked[inside, found])
                    pairs.append((rows[there], found[there]))
        i, j = (np.concatenate([pair[side] for pair in pairs]) for side in (0, 1))
        return distinct(np.concatenate([i, j]), np.concatenate([j, i]), self.size)


def distinct(i: Ints, j: Ints, size: int) -> tuple[Ints, Ints]:
    """Every pair once, and none of a state with itself."""
    keys = np.unique((i * size + j)[i != j])
    return keys // size, keys % size
