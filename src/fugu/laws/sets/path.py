"""Laws between limits of single probabilities and of the cumulated ones: the exact maximum of a linear function.

With P_i = p_1 + ... + p_i the laws are the paths 0 = P_0, P_i - P_{i-1} in [l_i, u_i], P_i in [L_i, U_i], P_k = 1. Let
f_i(P) be the largest sum_{j <= i} p_j v_j with P_i = P. Then f_i is f_{i-1} convolved (in the sense of suprema) with
the segment of slope v_i over [l_i, u_i], and cut to [L_i, U_i]. So f_i is concave and piecewise linear: it is held as
its segments sorted by slope, a convolution inserts one, a cut removes length at an end. Removed on the left, where
slopes are steepest, is mass that is used; removed on the right is mass that no path may use. How much is cut depends
on the limits alone, so it is found once; each maximum then takes n insertions into a sorted list.
"""

from __future__ import annotations

from bisect import insort
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.laws.sets.reading import vector, whole

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Path:
    """The laws with lower <= p <= upper and low <= P <= high, in integers over `total`; at least one, or `BadLaw`.

    `used[i]` and `lost[i]` are the lengths that step i cuts off on the left and on the right."""

    lower: list[int]
    width: list[int]
    used: list[int]
    lost: list[int]
    total: int

    @classmethod
    def of(cls, lower: Floats, upper: Floats, low: Floats, high: Floats) -> Path:
        """From doubles: the limits of probabilities, and those of cumulated probabilities, whose last ones are 1."""
        (a, b, c, d), total = whole(lower, upper, low, high)
        used, lost = [], []
        left = right = 0
        for i, (least, most, floor, roof) in enumerate(zip(a, b, c, d, strict=True)):
            left, right = left + least, right + most
            used.append(max(0, floor - left))
            lost.append(max(0, right - roof))
            left, right = max(left, floor), min(right, roof)
            if left > right:
                raise BadLaw(f"the set of laws is empty: its limits contradict each other up to declared value {i}")
        return cls(a, [y - x for x, y in zip(a, b, strict=True)], used, lost, total)

    def best(self, v: Sequence[int] | Sequence[float]) -> list[int]:
        """The law that attains max_p sum p v, as integers over `total`; `v` is any list that can be ordered."""
        mass, room = list(self.lower), list(self.width)
        waiting: list[tuple[float, int]] = []  # by slope; those before `start` are used up from below
        start = 0
        for i, slope in enumerate(v):
            insort(waiting, (slope, i), lo=start)
            use, lose = self.used[i], self.lost[i]
            while use:
                j = waiting[-1][1]
                step = min(use, room[j])
                mass[j], room[j], use = mass[j] + step, room[j] - step, use - step
                if not room[j]:
                    waiting.pop()
            while lose:
                j = waiting[start][1]
                step = min(lose, room[j])
                room[j], lose = room[j] - step, lose - step
                start += not room[j]
        return mass

    def top(self, v: Sequence[Fraction | int]) -> Fraction:
        """max_p sum p v, exactly."""
        numbers, common = vector(v, len(self.lower))
        mass = self.best(numbers)
        return Fraction(sum(m * x for m, x in zip(mass, numbers, strict=True)), self.total * common)

    def extreme(self, v: Floats) -> Floats:
        """The law that attains max_p sum p v, in doubles."""
        return np.array([m / self.total for m in self.best(np.asarray(v).tolist())], dtype=np.float64)

    def tops(self, v: Floats) -> Floats:
        """max_p sum p v for every row of v, in doubles."""
        return np.array([self.extreme(row) @ row for row in np.atleast_2d(v)], dtype=np.float64)

    @cached_property
    def middle(self) -> list[int]:
        """A law between the limits, as integers over `total`: each path point as central as the next one allows."""
        left, right, ends = 0, 0, [(0, 0)]
        for least, width, use, lose in zip(self.lower, self.width, self.used, self.lost, strict=True):
            left, right = left + least + use, right + least + width - lose
            ends.append((left, right))
        here, mass = self.total, []
        for i in range(len(self.lower) - 1, -1, -1):
            left, right = ends[i]
            left, right = max(left, here - self.lower[i] - self.width[i]), min(right, here - self.lower[i])
            before = (left + right) // 2
            mass.append(here - before)
            here = before
        return mass[::-1]
