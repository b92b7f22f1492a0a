"""What one entry's privacy says about every event, as lines; and what d entries together say.

    (epsilon, delta)   P <= e^epsilon Q + delta, and the same for complements
    Gaussian noise     E_gamma = delta_mu(ln gamma), mu = l2 sensitivity / sigma; d entries: d mu (Dong, Roth, Su 2022)
    Rényi, zCDP        for the probabilities p, t of an event D_a(p || t) <= R(a) (data processing), that is
                       h(p, t) = p^a t^(1-a) + (1-p)^a (1-t)^(1-a) <= C = e^((a-1) R(a)).

h is convex, so its tangent at any (p0, t0) with h_p > 0 bounds p: p <= p0 - (h_t / h_p) (t - t0) + (C - h(p0, t0)) /
h_p. Floats look for good (p0, t0, a); each line is then evaluated in balls and rounded up, whatever was found. For
rho-zCDP, R(a) = rho a, and d entries together are d^2 rho-zCDP (Bun and Steinke 2016, Proposition 27).

Proofs: docs/proofs/profiles.md#hypotheses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from functools import lru_cache

import numpy as np
from flint import arb

from fugu.guarantee.curve import RenyiCurve
from fugu.guarantee.kinds import Approx, Pure
from fugu.guarantee.numbers import exact
from fugu.numbers import balls
from fugu.translation.contraction.kernel import Array
from fugu.translation.profiles.lines import Lines

_BITS = 256
_POINTS, _DENSE = 80, 200
_FAR = 12.0
"""Events down to a probability of Phi(-12), below 1e-32."""
_ORDERS = 1 + np.geomspace(0.02, 2e4, 56)


class Entry:
    """The profile of d entries, d = 1, 2, ...: `whole(d)` where it is known as such, else compositions of the first.

    Parameters: `one` is the profile of one entry; `whole` gives lines for d entries at once, None if nothing is known.
    """

    def __init__(self, one: Lines, whole: Callable[[int], Lines] | None = None) -> None:
        self.one = one
        self._whole = whole
        self._known: dict[int, Lines] = {0: Lines.same(), 1: one}

    def above(self, floor: float) -> Entry:
        """For a delta not far below this: fewer lines, closer to each other."""
        whole = self._whole
        return Entry(self.one.above(floor), None if whole is None else lambda d: whole(d).above(floor))

    def power(self, d: int) -> Lines:
        """P <= phi(Q) for outputs on datasets that differ in d cells."""
        if d not in self._known:
            half = self.power(d // 2).compose(self.power(d - d // 2))
            self._known[d] = half if self._whole is None else half.least(self._whole(d))
        return self._known[d]


def of_approx(*guarantees: Approx | Pure) -> Entry:
    """Of one or several (epsilon, delta) that all hold."""
    with balls.precision(_BITS):
        finite = [g for g in guarantees if math.isfinite(g.epsilon)]
        a = [balls.upper(balls.of(exact(g.epsilon)).exp()) for g in finite]
        b = [balls.upper(balls.of(exact(g.delta))) for g in finite]
    return Entry(Lines.of(a, b).mirrored())


def of_gaussian(mu: float) -> Entry:
    """Of Gaussian noise on a vector whose l2 sensitivity is mu standard deviations."""
    return Entry(gaussian_lines(mu), lambda d: gaussian_lines(balls.upper(arb(mu) * d)))


def of_zcdp(rho: Fraction) -> Entry:
    """Of rho-zCDP."""
    return Entry(zcdp_lines(rho), lambda d: zcdp_lines(d * d * rho))


def of_curve(curve: RenyiCurve) -> Entry:
    """Of a Rényi curve without delta: all its orders hold, order inf as a pure epsilon."""
    lines = _renyi_lines([(exact(a), exact(e)) for a, e in curve.points if math.isfinite(a) and math.isfinite(e)])
    pure = curve(math.inf)
    return Entry(lines if math.isinf(pure) else lines.least(of_approx(Pure(pure)).one))


@lru_cache(maxsize=256)
def gaussian_lines(mu: float) -> Lines:
    """Tangents of Phi(Phi^-1(t) + mu): at t = Phi(-z) the slope is e^(mu z - mu^2 / 2), the bound Phi(mu - z)."""
    a, b = [], []
    with balls.precision(_BITS):
        m, root = arb(mu), arb(2).sqrt()
        for z in mu / 2 + max(_FAR, mu) * np.linspace(0, 1, _DENSE) ** 1.25:
            at = arb(float(z))
            slope = (m * at - m * m / 2).exp()
            a.append(balls.upper(slope))
            b.append(balls.upper(((at - m) / root).erfc() / 2 - slope * (at / root).erfc() / 2))
    return Lines.of(a, b, most=_DENSE).mirrored(2 * _DENSE)  # thinned where a delta is asked for


@lru_cache(maxsize=512)
def zcdp_lines(rho: Fraction) -> Lines:
    """Lines of rho-zCDP: D_a <= rho a at many orders."""
    return _renyi_lines([(Fraction(float(a)), rho * Fraction(float(a))) for a in _ORDERS])


def _renyi_lines(orders: Sequence[tuple[Fraction, Fraction]]) -> Lines:
    """Lines of all these orders; where they are close to each other is searched for in floats."""
    if not orders:
        return Lines.of([], [])
    z = np.linspace(-_FAR / 3, _FAR, 2 * _POINTS)
    t = np.array([math.erfc(x / math.sqrt(2)) / 2 for x in z])
    p, best = _largest(t, np.array([float(a) for a, _ in orders]), np.array([float(r) for _, r in orders]))
    a, b = [], []
    with balls.precision(_BITS):
        for t0, p0, n in zip(t, p, best, strict=True):
            if 0 < t0 < p0 < 1 and (line := _tangent(float(p0), float(t0), *orders[n])) is not None:
                a.append(line[0])
                b.append(line[1])
    found = Lines.of(a, b)
    keep = found.a >= 1
    return found.least(Lines.of(found.a[keep], found.b[keep]).mirrored())


def _largest(t: Array, alpha: Array, bound: Array) -> tuple[Array, Array]:
    """For each t the largest p that all orders allow, and the order that says so; by bisection, a guess."""
    low, high = np.broadcast_to(t[:, None], (t.size, alpha.size)).copy(), np.ones((t.size, alpha.size))
    with np.errstate(divide="ignore"):
        one, two = (1 - alpha) * np.log(t)[:, None], (1 - alpha) * np.log1p(-t)[:, None]
        for _ in range(36):
            p = np.where(high > 4 * low, np.sqrt(low * high), (low + high) / 2)
            inside = np.logaddexp(alpha * np.log(p) + one, alpha * np.log1p(-p) + two) <= (alpha - 1) * bound
            low, high = np.where(inside, p, low), np.where(inside, high, p)
    best = np.argmin(high, axis=1)
    return high[np.arange(t.size), best], best


def _tangent(p0: float, t0: float, alpha: Fraction, bound: Fraction) -> tuple[float, float] | None:
    """The line of one order at (p0, t0), rounded up; None where it has no slope."""
    p, t, a, r = arb(p0), arb(t0), balls.of(alpha), balls.of(bound)
    up, down = p / t, (1 - p) / (1 - t)
    h = p * up ** (a - 1) + (1 - p) * down ** (a - 1)
    in_p = a * (up ** (a - 1) - down ** (a - 1))
    in_t = (1 - a) * (up**a - down**a)
    if not in_p > 0:
        return None
    slope = -in_t / in_p
    height = p - slope * t + (((a - 1) * r).exp() - h) / in_p
    found = balls.upper(slope), max(0.0, balls.upper(height))
    return found if all(math.isfinite(x) for x in found) else None
