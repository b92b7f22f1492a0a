"""`closeness`: the least distance that matches two laws up to a mass delta, exact on the line and in space."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadBudget
from fugu.laws import Discrete
from fugu.laws.masses import Masses
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.transport.bottleneck import bottleneck
from fugu.transport.coupling import monotone, on_line, one_total
from fugu.transport.space import in_plane, in_space


def closeness(p: Discrete, q: Discrete, delta: Real, norm: Real = 1) -> float:
    """The least W such that some coupling has P(|X - Y| <= W) >= 1 - delta; for delta 0 it is W_inf.

    Parameters: `p`, `q` are two `Discrete` laws of one dimension; `delta` is a number in [0, 1); `norm` is 1, 2 or
    infinity, the distance of vectors (all norms agree in one dimension).

    Returns a float at or above the exact value. Raises `BadBudget` for another delta, `BadLaw` for laws of different
    dimensions.

    Laplace noise of scale W / epsilon then gives Approx(epsilon, delta) in both orders (Chen and Ohrimenko
    2023, Theorem 4.2). The mass left over never grows with W, so W is found by bisection over the lattice
    steps, or over the doubles where there is no lattice. Vectors: by maximum flow
    (`bottleneck`).

    >>> mu, nu = Discrete([1, 2, 100], [6, 2, 2]), Discrete([1, 2, 3, 100], [4, 3, 2, 1])
    >>> closeness(mu, nu, 0), closeness(mu, nu, 0.1), closeness(mu, nu, 0.3)
    (97.0, 1.0, 0.0)
    >>> closeness(Discrete([[0, 0], [3, 4]]), Discrete([[0, 0]]), 0.1), closeness(mu, nu, 0.5)
    (7.0, 0.0)
    """
    spare = _delta(delta)
    if in_plane(p, q):
        return bottleneck(in_space(p, q, norm), spare)[0]
    line = on_line(p, q, norm)
    match = _Match(line.points, line.p, line.q)
    allowed = match.total * spare.numerator // spare.denominator
    widest = monotone(line.points, line.p, line.q).distances.max()
    if line.unit is None:
        top = int(widest.view(np.int64))
        return _double(_least(top, lambda w: match.left_over(Fraction(_double(w))) <= allowed))
    return float_up(line.unit * _least(int(widest), lambda w: match.left_over(Fraction(w)) <= allowed))


def closeness_index(points: NDArray[np.int64], p: Masses, q: Masses, delta: Fraction) -> int:
    """The least whole number of lattice steps W for which two laws on lattice indices are (W, delta)-close."""
    widest = int(monotone(points, p, q).distances.max())
    match = _Match(points, p, q)
    allowed = match.total * delta.numerator // delta.denominator
    return widest if allowed == 0 else _least(widest, lambda w: match.left_over(Fraction(w)) <= allowed)


def unmatched(points: NDArray[Any], p: Masses, q: Masses, distance: Real) -> Fraction:
    """The least delta for which two laws on sorted points are (distance, delta)-close, exactly.

    Points and distance count in the same unit: lattice steps, or doubles read as binary numbers. It is the
    largest P(A) - Q(points within the distance of A) over all sets A (Strassen 1965, Theorem 11), the same in
    both orders. The monotone coupling would not do: below it leaves everything unmatched at distance 0.

    >>> low = Masses(np.array([1] * 10 + [0]), Fraction(10))
    >>> high = Masses(np.array([0] + [1] * 10), Fraction(10))
    >>> unmatched(np.arange(11), low, high, 0), unmatched(np.arange(11), low, high, 1)
    (Fraction(1, 10), Fraction(0, 1))
    """
    match = _Match(points, p, q)
    return Fraction(match.left_over(Fraction(distance)), match.total)


class _Match:
    """Both laws as lists of integers, positions as multiples of `unit`: each question then costs one pass."""

    def __init__(self, points: NDArray[Any], p: Masses, q: Masses) -> None:
        a, b, self.total = one_total(p, q)
        at, self.unit = _positions(points)
        self.x, self.a = _held(at, a.tolist())
        self.y, self.b = _held(at, b.tolist())

    def left_over(self, distance: Fraction) -> int:
        """The mass, out of `total`, that no coupling can bring within the distance."""
        if distance < 0:
            return self.total
        reach = distance / self.unit
        return self.total - _matched(self.x, self.a, self.y, self.b, reach.numerator // reach.denominator)


def _matched(x: list[int], a: list[int], y: list[int], b: list[int], reach: int) -> int:
    """The largest mass of a sub-coupling within `reach`, by one pass from left to right.

    An atom too far left of every atom that remains on the other side is lost. If the two leftmost atoms x1
    and y1 are within reach, matching all they can is optimal: if x1 goes to y' and y1 comes from x', swap, as
    x' - y' <= x' - y1 <= reach and y' - x' <= y' - x1 <= reach; mass left unmatched there can only gain.
    """
    i = j = matched = 0
    left, right = a[0], b[0]
    last_i, last_j = len(x) - 1, len(y) - 1
    while True:
        gap = y[j] - x[i]
        if -reach <= gap <= reach:
            if left < right:
                matched, right, left = matched + left, right - left, 0
            else:
                matched, left, right = matched + right, left - right, 0
        elif gap > 0:
            left = 0
        else:
            right = 0
        if not left:
            if i == last_i:
                return matched
            i += 1
            left = a[i]
        if not right:
            if j == last_j:
                return matched
            j += 1
            right = b[j]


def _positions(points: NDArray[Any]) -> tuple[list[int], Fraction]:
    """The points as whole multiples of one unit: 1 for lattice indices, a power of two for doubles."""
    if points.dtype == np.int64:
        return points.tolist(), Fraction(1)
    ratios = [float(x).as_integer_ratio() for x in points.tolist()]
    finest = max(d for _, d in ratios)
    return [n * (finest // d) for n, d in ratios], Fraction(1, finest)


def _held(at: list[int], mass: list[int]) -> tuple[list[int], list[int]]:
    pairs = [(x, m) for x, m in zip(at, mass, strict=True) if m]
    return [x for x, _ in pairs], [m for _, m in pairs]


def _least(high: int, holds: Callable[[int], bool]) -> int:
    """The least whole number in [0, high] that holds, if holding persists upward and `high` holds."""
    low = -1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def _double(bits: int) -> float:
    """The double with this bit pattern; patterns of non-negative doubles are in the order of the numbers."""
    return float(np.int64(bits).view(np.float64))


def _delta(delta: Real) -> Fraction:
    if isinstance(delta, bool) or not isinstance(delta, int | float | Fraction) or not 0 <= delta < 1:
        raise BadBudget(f"delta must be a number in [0, 1), got {delta!r}")
    return as_fraction(delta)
