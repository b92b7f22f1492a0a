"""Rényi divergences from the definition alone: the lattice noise, the convolution, the sum, in 50 digits.

Nothing here uses fugu's losses, couplings or searches: laws are dictionaries of Fractions on lattice indices, a noise
is a kind and a scale in lattice steps. Every answer is an interval (low, high): points that weigh less than e^-45 of
the largest term are left out of `low` and added at that size to `high`; the tails beyond the window are bounded."""

from __future__ import annotations

import math
from fractions import Fraction

import mpmath as mp
import numpy as np

DIGITS = 50
CUT = 45.0
Law = dict[int, Fraction]


def number(x) -> mp.mpf:
    x = Fraction(x)
    return mp.mpf(x.numerator) / x.denominator


def meant(x) -> Fraction:
    """A user's float is the decimal it is written as."""
    return Fraction(repr(float(x))) if isinstance(x, float) else Fraction(x)


def law(values, weights, grid=1, origin=0) -> Law:
    """The law of the value rounded onto the lattice: index floor((x - origin) / grid + 1/2)."""
    total = sum(Fraction(w) for w in weights)
    found: Law = {}
    for value, weight in zip(values, weights, strict=True):
        k = math.floor((meant(value) - Fraction(origin)) / Fraction(grid) + Fraction(1, 2))
        if weight:
            found[k] = found.get(k, Fraction(0)) + Fraction(weight) / total
    return found


def worst(p: Law, q: Law, kind: str, steps: Fraction, alpha: Fraction) -> tuple[mp.mpf, mp.mpf]:
    """The larger of both orders of `divergences`, from below and from above."""
    one, two = divergences(p, q, kind, steps, alpha)
    return max(one[0], two[0]), max(one[1], two[1])


def divergences(p: Law, q: Law, kind: str, steps: Fraction, alpha: Fraction) -> tuple[tuple, tuple]:
    """D_alpha(P * noise || Q * noise) and the other order, each as (low, high); the scale is in lattice steps."""
    with mp.workdps(DIGITS):
        a = number(alpha)
        if steps == 0:
            return _without_noise(p, q, a), _without_noise(q, p, a)
        if kind == "cauchy":
            return _cauchy(p, q, number(steps), a), _cauchy(q, p, number(steps), a)
        both = _lattice_sums(p, q, kind, Fraction(steps), a, float(alpha))
        one, two = ((mp.log(low) / (a - 1), mp.log(high) / (a - 1)) for low, high in both)
        return one, two


def _without_noise(p: Law, q: Law, a: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    if any(k not in q for k in p):
        return mp.inf, mp.inf
    total = mp.fsum(number(w) ** a * number(q[k]) ** (1 - a) for k, w in p.items())
    return mp.log(total) / (a - 1), mp.log(total) / (a - 1)


def _lattice_sums(p, q, kind, steps, a, alpha, tails=True) -> list[tuple[mp.mpf, mp.mpf]]:
    """sum over the lattice of P^a Q^(1-a) and of Q^a P^(1-a), from below and from above.

    Laplace noise: beyond the first and the last atom both noised laws are divided by e^(1/steps) at each step, so the
    terms are, too, and their sum is geometric; without `tails` they are summed one by one instead."""
    first, last = min(*p, *q), max(*p, *q)
    span, size = last - first, float(steps)
    if kind == "laplace":
        reach = 0 if tails else math.ceil((CUT + 5) * size) + 2
        rate = 1 / number(steps)
        log_shape, exact = (lambda d: -np.abs(d) / size), (lambda d: mp.exp(-rate * abs(d)))
        ratio = mp.exp(-rate)
        norm = (1 + ratio) / (1 - ratio)
    else:
        reach = math.ceil(alpha * span + 15 * size) + 3
        c = 1 / (2 * number(steps) ** 2)
        log_shape, exact = (lambda d: -(d * d) / (2 * size * size)), (lambda d: mp.exp(-c * d * d))
        far = math.ceil(math.sqrt(2 * 130) * size) + 2
        norm = mp.fsum(exact(k) for k in range(-far, far + 1))
    ends = kind == "laplace" and tails
    points = np.arange(first - reach, last + reach + 1)
    rough = [_rough(side, points, log_shape) for side in (p, q)]
    shapes: dict[int, mp.mpf] = {}
    logs: dict[int, tuple[mp.mpf, mp.mpf, mp.mpf]] = {}
    cells = [[(k, number(w)) for k, w in side.items()] for side in (p, q)]

    def shape(d: int) -> mp.mpf:
        if d not in shapes:
            shapes[d] = exact(d)
        return shapes[d]

    def term(x: int, order: int) -> mp.mpf:
        """P e^{(a-1) ln(P / Q)}, or with the sides exchanged."""
        if x not in logs:
            one, two = (mp.fsum(w * shape(abs(x - k)) for k, w in side) for side in cells)
            logs[x] = (one, two, mp.log(one / two))
        one, two, tilt = logs[x]
        return two * mp.exp((1 - a) * tilt) if order else one * mp.exp((a - 1) * tilt)

    found = []
    for order in (0, 1):
        sizes = alpha * rough[order] + (1 - alpha) * rough[1 - order]
        top = float(sizes.max())
        assert ends or (sizes[0] < top - CUT and sizes[-1] < top - CUT), "the window is too small"
        terms = [term(x, order) for x in points[np.flatnonzero(sizes > top - CUT)].tolist()]
        if ends:
            terms += [term(x, order) * ratio / (1 - ratio) for x in (first, last)]
        low = mp.fsum(terms) / norm
        # outside these points every term is below e^(top - CUT), and beyond the window they fall at least like
        # e^(-1 / size) a step (Laplace: exactly; Gaussian: faster)
        rest = (len(points) + 2 * (size + 1)) * mp.exp(mp.mpf(top) - CUT + 1) / norm
        found.append((low, low + rest))
    return found


def _rough(side: Law, points, log_shape):
    """ln of the convolution in doubles: only to see which points matter."""
    rows = np.stack([math.log(w) + log_shape((points - k).astype(float)) for k, w in side.items()])
    top = rows.max(axis=0)
    return top + np.log(np.exp(rows - top).sum(axis=0))


def _cauchy(p: Law, q: Law, s: mp.mpf, a: mp.mpf) -> tuple[mp.mpf, mp.mpf]:
    """Cauchy noise (tail 2): x = s tan t turns both densities into smooth functions of period pi, for which the
    trapezoidal rule converges geometrically; in doubles, good to 1e-11 (`test_the_oracle_agrees_with_quadrature`)."""
    centre = sum(w * k for k, w in p.items())
    u = [[(float(k - centre) / float(s), float(w)) for k, w in side.items()] for side in (p, q)]
    farthest = max(abs(d) for side in u for d, _ in side)
    count = 2 ** max(8, math.ceil(math.log2(4 * (1 + farthest**2))))
    before, total = math.inf, 0.0
    while abs(total - before) > 1e-12 * (abs(total) + min(1.0, float(a - 1))):
        if count > 2**22:
            raise TooFar
        t = (np.arange(count) + 0.5) * (math.pi / count)
        sin, cos = np.sin(t), np.cos(t)
        one, two = (sum(w / (cos * cos + (sin - d * cos) ** 2) for d, w in side) / math.pi for side in u)
        tilt = float(a - 1) * (np.log(one) - np.log(two))
        # the sum less 1, so that nothing is lost for a near 1
        before, total = total, math.fsum((one * np.expm1(tilt)).tolist()) * math.pi / count
        count *= 2
    slack = 1e-11 * (abs(total) + min(1.0, float(a - 1)))
    return mp.log1p(mp.mpf(total - slack)) / (a - 1), mp.log1p(mp.mpf(total + slack)) / (a - 1)


class TooFar(Exception):
    """Cauchy noise so narrow that the trapezoidal rule would need millions of points."""


def normal_law(components, grid, origin, reach=40) -> Law:
    """A normal mixture [(weight, mean, std)] rounded onto the lattice: cell masses in 50 digits, as Fractions."""
    with mp.workdps(60):
        low = min(m - reach * s for _, m, s in components)
        high = max(m + reach * s for _, m, s in components)
        grid, origin = Fraction(grid), Fraction(origin)
        first, last = math.floor((low - origin) / grid), math.ceil((high - origin) / grid)
        found = {}
        for k in range(first, last + 1):
            mass = mp.mpf(0)
            for w, m, s in components:
                left, right = (number((origin + (k + e) * grid - m) / s) for e in (Fraction(-1, 2), Fraction(1, 2)))
                side = 1 if left < 0 else -1
                near, far = (right, left) if side == 1 else (-left, -right)
                mass += number(w) * (mp.ncdf(near) - mp.ncdf(far))
            if mass > 0:
                found[k] = Fraction(int(mp.floor(mass * mp.mpf(2) ** 400)), 2**400)
        return {k: w for k, w in found.items() if w}


def conditioned(p: Law, q: Law, cells, delta: Fraction) -> tuple[Law, Law]:
    """The two normalised margins of cells (x, y, mass), after checking that they are laws given likely events.

    p' is the law of X given an event of probability 1 - delta, the coins being free, if and only if
    p'(x) (1 - delta) <= p(x) for every x: accept x with probability p'(x) (1 - delta) / p(x)."""
    total = sum(mass for _, _, mass in cells)
    rows: Law = {}
    columns: Law = {}
    for x, y, mass in cells:
        assert mass > 0
        rows[x] = rows.get(x, Fraction(0)) + Fraction(mass, total)
        columns[y] = columns.get(y, Fraction(0)) + Fraction(mass, total)
    for whole, part in ((p, rows), (q, columns)):
        assert sum(part.values()) == 1
        assert all(w * (1 - delta) <= whole.get(k, 0) for k, w in part.items()), "no event is as likely as that"
    return rows, columns
