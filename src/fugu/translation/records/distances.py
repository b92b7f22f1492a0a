"""Distances between states and prices in closed form, in doubles, and the largest rate within a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from fugu.translation.records.problem import Ints, Jump, PricingProblem, Rate
from fugu.visible import Json

# The distance Lam between states in doubles, a few rows at a time: closures of potentials and neighbours.
#
# Everything here is a search: nothing of it is believed (`checking` sums again, in balls).


Floats = NDArray[np.float64]
_BLOCK = 2**18
"""Distances at a time: they stay in the cache, which is worth a factor of three."""


class Distances:
    """Lam(x, y) of a problem, from its codes and what one step of each charge costs."""

    def __init__(self, problem: PricingProblem) -> None:
        self.size = problem.size
        self.line = [isinstance(c, Rate) for c in problem.charges]
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


# Prices in closed form, in doubles: what they are about, and how they grow with each charge.
#
# `checking` proves them; here they are compared with each other and with plans.


@dataclass(frozen=True, eq=False)
class Bound:
    """A price without what is apart: about `value`; `slopes` is its derivative in one unit of each charge.

    `exact` says that no proof gives less."""

    value: float
    proof: Json
    slopes: Floats
    exact: bool = False


def closed_forms(problem: PricingProblem) -> list[Bound]:
    """Every closed form that applies."""
    most = np.array([c.most if isinstance(c, Rate) else 1 for c in problem.charges], dtype=np.float64)
    found = [Bound(float(problem.own - problem.apart), {"how": "sum"}, most), threshold(problem)]
    rising = monotone(problem)
    return found if rising is None else [*found, rising]


def threshold(problem: PricingProblem) -> Bound:
    """All charges as one that any change costs: the best of the sets {p > c q}.

    It is the price itself for equal laws, and for one charge of cells, which tells all states apart.
    """
    p, q = problem.p / problem.p.sum(), problem.q / problem.q.sum()
    total, spans = float(problem.widest), np.array(problem.spans, dtype=np.float64)
    with np.errstate(divide="ignore"):
        order = np.argsort(-(p / q), kind="stable")
    above, below = np.cumsum(p[order]), np.cumsum(q[order])
    log_a = math.log(math.expm1(total)) if 0 < total < 700 else total
    with np.errstate(divide="ignore"):
        values = np.logaddexp(0, log_a + np.log(above)) - np.logaddexp(0, log_a + np.log(below))
    best = int(values.argmax())
    grows = _share(above[best], total) - _share(below[best], total)
    alone = len(problem.charges) == 1 and isinstance(problem.charges[0], Jump)
    value = max(0.0, float(values[best])) if total > 0 and not problem.equal else 0.0
    slopes = spans * (grows if value > 0 else 0.0)
    return Bound(value, {"how": "threshold"}, slopes, exact=alone or problem.equal or problem.size == 1)


def _share(mass: float, total: float) -> float:
    """a m / (1 + (a - 1) m) for a = e^total: the derivative of log (1 + (a - 1) m) in the total."""
    return mass / (mass + (1 - min(mass, 1.0)) * math.exp(-total))


def monotone(problem: PricingProblem) -> Bound | None:
    """One line along which p/q rises, or falls: log E_p e^(rf) / E_q e^(rf)."""
    if len(problem.charges) != 1 or not isinstance(problem.charges[0], Rate):
        return None
    if (direction := problem.direction) is None:
        return None
    sign = -1.0 if direction < 0 else 1.0
    values = sign * problem.codes[0].astype(np.float64)
    grown = np.exp(problem.units[0] * (values - values.max()))
    p, q = problem.p / problem.p.sum() * grown, problem.q / problem.q.sum() * grown
    value = math.log(p.sum()) - math.log(q.sum()) if q.sum() > 0 and p.sum() > 0 else math.inf
    slope = float(p @ values / p.sum() - q @ values / q.sum()) if math.isfinite(value) else 0.0
    return Bound(value, {"how": "monotone"}, np.array([slope]), exact=math.isfinite(value))


# The largest rate whose price stays within a target: steps by the slope, inside a bracket.


_DIGITS, _TRIALS, _PATIENCE = 9, 60, 3
"""Digits of a trial, how many there are at most, and how many in a row may fail to halve the bracket."""
_LEAST = 1e-7
"""Rates below this part of the largest one are not worth asking for."""
_LESS = (1.0, 1 - 1e-9, 1 - 1e-3, 0.95, 0.5)


class RateBracket:
    """A price that rises with a rate is known to be within the target at `low`, and is asked for up to `high`.

    Parameters:
        target: what the price may be.
        low: a rate at which the true price is within the target, though a proof may miss it.
        high: the largest rate that is asked for; it is tried first.
        precision: how near to the target, or low to high, is near enough, in proportion.
        first: a rate that is about right, tried before the largest; 0 says nothing.
    """

    def __init__(
        self, target: Fraction, low: Fraction, high: Fraction, precision: float, first: Fraction | None = None
    ) -> None:
        self.target, self.low, self.high, self.precision = target, min(low, high), high, precision
        self._proved, self._least = Fraction(0), float(high) * _LEAST
        self._first = first or high
        self._tried_high = False
        self._slow, self._width = 0, math.inf

    def run(self, price: Callable[[Fraction], tuple[Fraction, float]]) -> Fraction:
        """The largest rate found whose price, as computed, is within the target; 0 if none is.

        `price`: the price at a rate, as proved, and about how fast it rises there."""
        trial = self._first
        for _ in range(_TRIALS):
            near = float(self.high) <= max(float(self.low) * (1 + self.precision), self._least)
            if self._tried_high and near and trial != self.high:
                break
            found, slope = price(trial)
            if found <= self.target:
                self._proved = self.low = max(self.low, trial)
                if found >= self.target * Fraction(1 - self.precision) or trial == self.high:
                    break
            else:
                self.high, self._tried_high = min(self.high, trial), True
            trial = self._next(trial, float(found), slope)
        if self._proved:
            return self._proved
        for less in _LESS:  # the lower end, or a rate a little below it: so far its price is only known to exist
            rate = self.low if less == 1 else _short(float(self.low) * less)
            if rate and price(rate)[0] <= self.target:
                return rate
        return Fraction(0)

    def _next(self, trial: Fraction, found: float, slope: float) -> Fraction:
        """Where the slope meets the target, or a little before; the middle where that leads out of the bracket."""
        low, high = float(self.low), float(self.high)
        aim = float(self.target) * (1 - self.precision / 2)
        step = float(trial) + (aim - found) / slope if slope > 0 else math.inf
        if not self._tried_high and step >= high:
            return self.high
        self._slow = self._slow + 1 if high - low > 0.5 * self._width else 0
        self._width = high - low if self._slow == 0 else self._width
        if not low < step < high or self._slow > _PATIENCE:
            step, self._slow = math.sqrt(low * high) if 0 < 4 * low < high else (low + high) / 2, 0
        return max(_short(step), self.low)


def _short(x: float) -> Fraction:
    """The decimal of nine digits at or below x."""
    unit = Fraction(10) ** (math.floor(math.log10(x)) - _DIGITS + 1) if x > 0 else Fraction(1)
    return math.floor(Fraction(x) / unit) * unit
