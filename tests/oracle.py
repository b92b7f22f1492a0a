"""What a Laplace noise leaks about a pair of discrete laws, at 50 digits, straight from the definition.

    epsilon = max over both orders of sup_y ln(f_P(y) / f_Q(y))
    delta(epsilon) = max over both orders of sup_S f_P(S) - e^epsilon f_Q(S)

where f is the law of X + N, and N has density ~ e^{-|x|/scale}, or mass ~ e^{-|k| grid/scale} at k grid,
or is 0. Positions, masses and scales are Fractions: nothing is rounded before the exponentials. Nothing is
shared with the library: no recurrence, no theorem, only sums over all atoms at every y that is looked at.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

import numpy as np
from mpmath.ctx_mp import MPContext
from scipy.optimize import linprog
from scipy.special import logsumexp

mp = MPContext()
mp.dps = 50
FEW = 400  # lattices with at most this many steps between the outer atoms are looked at point by point

Fs, Orders, Grid = Sequence[Fraction], tuple[Any, Any], Fraction | None


def real(x: Fraction) -> Any:
    """x at 50 digits."""
    return mp.mpf(x.numerator) / x.denominator


def epsilon_grid(values: Fs, p: Fs, q: Fs, scale: Fraction, grid: Grid = None, points: int = 8) -> Any:
    """The tight pure epsilon: the larger of the two orders."""
    return max(epsilon_orders(values, p, q, scale, grid, points))


def epsilon_orders(values: Fs, p: Fs, q: Fs, scale: Fraction, grid: Grid = None, points: int = 8) -> Orders:
    """sup_y ln(f_P / f_Q) and sup_y ln(f_Q / f_P), over a dense set of y with every atom and both tails."""
    x, p, q = together(values, p, q)
    seen = [_noised(x, p, q, scale, y) for y in (places(x, scale, grid, points) if scale else x)]
    logs = [mp.log(a / b) if a and b else mp.inf if a else -mp.inf for a, b in seen]
    return max(logs), -min(logs)


def delta_quad(values: Fs, p: Fs, q: Fs, scale: Fraction, epsilon: Fraction, grid: Grid = None) -> Any:
    """delta(epsilon): the larger of the two orders."""
    return max(delta_orders(values, p, q, scale, epsilon, grid))


def delta_orders(values: Fs, p: Fs, q: Fs, scale: Fraction, epsilon: Fraction, grid: Grid = None) -> Orders:
    """The sum or integral of [f_P - e^epsilon f_Q]_+, and the same with P and Q swapped."""
    x, p, q = together(values, p, q)
    with mp.workdps(mp.dps + int(epsilon / 2)):  # terms as large as e^epsilon cancel
        e = mp.exp(real(Fraction(epsilon)))
        if scale and not _few(x, grid):
            return _positive_part(x, p, q, scale, e, grid), _positive_part(x, q, p, scale, e, grid)
        every = lattice_outcomes(x, p, q, scale, grid) if scale else [_noised(x, p, q, scale, y) for y in x]
        return sum(max(mp.zero, a - e * b) for a, b in every), sum(max(mp.zero, b - e * a) for a, b in every)


def lattice_outcomes(x: Fs, p: Fs, q: Fs, scale: Fraction, grid: Fraction) -> list[Orders]:
    """(f_P, f_Q) of each tail, and of every lattice point between the outer atoms.

    Beyond the ends both masses fall by r = e^{-grid/scale} a step: a tail weighs r / (1 - r) of its end."""
    mass, tail = mp.tanh(real(grid / scale) / 2), 1 / mp.expm1(real(grid / scale))
    ys = [x[0] + k * grid for k in range(int((x[-1] - x[0]) / grid) + 1)]
    inner = [_noised(x, p, q, scale, y, Fraction(0)) for y in ys]
    ends = [(a * tail, b * tail) for a, b in (inner[0], inner[-1])]
    return [(mass * a, mass * b) for a, b in ends + inner]


def delta_lp(outcomes: Sequence[Orders], epsilon: float) -> float:
    """max over tests 0 <= s <= 1 of sum s (f_P - e^epsilon f_Q), both orders, as a linear programme."""
    e = mp.exp(epsilon)
    gains = [float(a - e * b) for a, b in outcomes], [float(b - e * a) for a, b in outcomes]
    return max(-float(linprog([-g for g in gain], bounds=(0, 1)).fun) for gain in gains)


def together(values: Fs, p: Fs, q: Fs) -> tuple[list[Fraction], list[Fraction], list[Fraction]]:
    """Sorted atoms, equal ones joined, those without any mass dropped; masses divided by their total."""
    joined: dict[Fraction, tuple[Fraction, Fraction]] = {}
    for x, a, b in zip(values, p, q, strict=True):
        before = joined.get(x, (Fraction(0), Fraction(0)))
        joined[x] = before[0] + a, before[1] + b
    kept = sorted(x for x, mass in joined.items() if any(mass))
    return kept, [joined[x][0] / sum(p) for x in kept], [joined[x][1] / sum(q) for x in kept]


def places(x: Fs, scale: Fraction, grid: Grid, points: int) -> list[Fraction]:
    """Where to look: the atoms, points in every gap (spread, and near its ends), points beyond both ends."""
    if _few(x, grid):
        return [x[0] + k * grid for k in range(-5, int((x[-1] - x[0]) / grid) + 6)]
    near = [(grid or scale) * f for f in ((1, 2, 5) if grid else (Fraction(1, 4), 1, 4))]
    found = {*x, *(x[0] - d for d in near), *(x[-1] + d for d in near)}
    for a, b in pairwise(x):
        found |= {y for d in near for y in (a + d, b - d) if a < y < b}
        found |= {a + (b - a) * j / (points + 1) for j in range(1, points + 1)}
    return sorted({x[0] + ((y - x[0]) // grid) * grid for y in found} if grid else found)


def _few(x: Fs, grid: Grid) -> bool:
    return grid is not None and (x[-1] - x[0]) / grid <= FEW


def _noised(x: Fs, p: Fs, q: Fs, scale: Fraction, y: Fraction, near: Grid = None) -> Orders:
    """Both laws' noised mass at y, up to one factor: the noise's constant, and that of the nearest atom."""
    away = [abs(y - atom) for atom in x]
    near = min(away) if near is None else near
    kernel = [mp.exp(-real((d - near) / scale)) if scale else mp.mpf(d == 0) for d in away]
    return mp.fdot(kernel, map(real, p)), mp.fdot(kernel, map(real, q))


def _positive_part(x: Fs, p: Fs, q: Fs, scale: Fraction, e: Any, grid: Grid) -> Any:
    """f_P(S) - e f_Q(S) for S = {f_P > e f_Q}: a union of intervals whose ends are bisected.

    An end that is off by h costs O(h^2), and every S is a lower bound, so h = scale / 2^70 is beyond need."""
    r = mp.exp(-real(grid / scale)) if grid else mp.one
    gain = [real(a) - e * real(b) for a, b in zip(p, q, strict=True)]

    def positive(y: Fraction) -> bool:
        a, b = _noised(x, p, q, scale, y)
        return bool(a > e * b)

    def cdf(t: Fraction) -> Any:
        part = mp.exp(-real(abs(t) / scale)) / (1 + r)
        return 1 - r * part if t >= 0 else part

    total, begun, inside = mp.zero, mp.zero, positive(x[0])
    for edge, after in _switches(x, scale, grid, positive):
        here = mp.fdot(gain, [cdf(edge - atom) for atom in x])
        total += here - begun if inside else 0
        begun, inside = here, after
    return total + (mp.fsum(gain) - begun if inside else 0)


def _switches(x: Fs, scale: Fraction, grid: Grid, positive: Callable[[Fraction], bool]) -> Iterator[Orders]:
    """The last y before each change of sign, and the sign after it; constant beyond the outer atoms."""
    seen = [(y, positive(y)) for y in places(x, scale, grid, 8) if x[0] <= y <= x[-1]]
    for (start, left), (end, right) in pairwise(seen):
        a, b = start, end
        while left != right and b - a > (grid or scale / 2**70):
            middle = a + ((b - a) / grid // 2) * grid if grid else (a + b) / 2
            a, b = (middle, b) if positive(middle) == left else (a, middle)
        if left != right:
            yield a, right


def epsilon_float(values: Fs, p: Fs, q: Fs, scale: Fraction, grid: Grid = None) -> float:
    """`epsilon_grid` for a positive scale in float64, in the log domain, for thousands of cases."""
    x, p, q = together(values, p, q)
    a, b = _logs(*_units(x, p, q, scale), _floats(places(x, scale, grid, 4), x[0], scale))
    return float(np.max(np.abs(a - b)))


def delta_float(values: Fs, p: Fs, q: Fs, scale: Fraction, epsilon: Fraction, grid: Grid = None) -> float:
    """`delta_quad` in float64 for a positive scale, and few lattice points if there is a lattice."""
    x, p, q = together(values, p, q)
    t, lp, lq = _units(x, p, q, scale)
    y = _floats([v for v in places(x, scale, grid, 4) if x[0] <= v <= x[-1]], x[0], scale)
    if grid is None:
        return max(_float_positive_part(t, u, v, float(epsilon), y) for u, v in ((lp, lq), (lq, lp)))
    h, (a, b) = float(grid / scale), _logs(t, lp, lq, y)
    share = np.full(len(y), math.tanh(h / 2))
    np.add.at(share, [0, -1], math.tanh(h / 2) * math.exp(-h) / -math.expm1(-h))
    gains = np.exp(a) - np.exp(float(epsilon) + b), np.exp(b) - np.exp(float(epsilon) + a)
    return max(float(share @ np.maximum(gain, 0)) for gain in gains)


def _float_positive_part(t: Any, lp: Any, lq: Any, e: float, y: Any) -> float:
    a, b = _logs(t, lp, lq, y)
    signs = a > e + b
    turn = np.flatnonzero(signs[1:] != signs[:-1])
    left, right = y[turn], y[turn + 1]
    for _ in range(64 if len(turn) else 0):
        a, b = _logs(t, lp, lq, middle := (left + right) / 2)
        same = (a > e + b) == signs[turn]
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    half, gain = np.exp(-np.abs(left[:, None] - t)) / 2, np.exp(lp) - np.exp(e + lq)
    upto = np.where(left[:, None] >= t, 1 - half, half) @ gain
    return float(np.diff([0.0, *upto, gain.sum()]) @ np.concatenate((signs[:1], signs[turn + 1])))


def _units(x: Fs, p: Fs, q: Fs, scale: Fraction) -> tuple[Any, Any, Any]:
    """Atoms measured from the first in units of the scale, and the logarithms of both laws' masses."""
    logs = [[math.log(w) if w else -math.inf for w in law] for law in (p, q)]
    return _floats(x, x[0], scale), *np.array(logs)


def _floats(x: Fs, start: Fraction, scale: Fraction) -> Any:
    return np.array([float((v - start) / scale) for v in x])


def _logs(t: Any, lp: Any, lq: Any, y: Any) -> Orders:
    """ln f_P and ln f_Q at each y, up to one constant."""
    far = -np.abs(y[:, None] - t)
    return logsumexp(far + lp, axis=1), logsumexp(far + lq, axis=1)
