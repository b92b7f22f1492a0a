"""A Gaussian AR(1) sequence truncated to a box: pure epsilon, with leakages that decay with distance.

x_1, ..., x_T is a stationary AR(1) sequence of variance 1 and correlation r, conditioned on |x_t| <= g for all t. With
r > 0 (r < 0: flip the sign of every second entry) the kernels e^(c x y), c = r / (1 - r^2), are totally positive, and
so are their products over the box. Hence the law of x_{t+d} given x_t = u has a likelihood ratio monotone in u: log p(z
| u) / p(z | v) is largest at u = -v = z = g, and there the normalisers cancel by symmetry. The leakage at distance d is

    log M(g) / M(-g),   M(u) = int e^(c u x_1) w(x_1) e^(c x_1 x_2) ... w(x_{d-1}) e^(c x_{d-1} g) dx_1 ... dx_{d-1},

w(x) = e^(-k x^2), k = (1 + r^2) / (2 (1 - r^2)); for d = 1 it is 2 c g^2. The same number holds on the left, for any T,
and for secrets that are intervals or any other events about x_t (mixtures):
docs/proofs/quilts.md#truncated-gaussian-sequences.

The integrals are Gauss-Legendre sums in balls, with the error of N points for a function bounded by B on the ellipse of
radius s: 64/15 B s^-(2N-2) / (1 - s^-2) (Trefethen 2013, Theorem 19.3).
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cached_property

import numpy as np
from flint import arb

from fugu.errors import BadLaw, UsageError
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, is_whole, meant_up
from fugu.priors.joint import Quilts, assemble
from fugu.priors.prior import Belief

_BITS = 256
_POINTS = 80
_MANY_POINTS = 240
_REACH = 64
_RADII = (2, 3, 4, 6, 8, 12)


class TruncatedAR1(Belief):
    """A prior on sequences of numbers in [-box, box]; secrets are any two values of one entry.

    `box` is in units of the standard deviation before truncation. It has quilts, so `fugu.influence` and the quilt
    functions take it.

    >>> sequence = TruncatedAR1(length=5, correlation=0.5, box=2)
    >>> [round(sequence.leak(d), 6) for d in (1, 2)]
    [5.333333, 1.782537]
    """

    length: int
    correlation: Fraction
    box: Fraction
    nodes: tuple[int, ...]

    def __init__(self, length: int, correlation: Real, box: Real) -> None:
        if not is_whole(length, least=2):
            raise UsageError("length must be a whole number, at least 2")
        size, wide = abs(as_fraction(correlation)), as_fraction(box)
        if not size < 1 or not 0 < wide <= 20:
            raise BadLaw("a truncated AR(1) needs -1 < correlation < 1 and 0 < box <= 20 standard deviations")
        vars(self).update(correlation=size, box=wide, length=int(length), nodes=tuple(range(1, length + 1)))

    def __repr__(self) -> str:
        return f"TruncatedAR1(length {self.length}, correlation {self.correlation}, box {self.box})"

    @classmethod
    def example(cls) -> TruncatedAR1:
        return cls(5, 0.25, 1)

    @property
    def assumptions(self) -> tuple[str, ...]:
        """What is taken for granted."""
        rho, box = float(self.correlation), float(self.box)
        told = (
            f"the {self.length} entries are a stationary normal sequence, correlation of neighbours {rho:g} or -{rho:g}"
        )
        return (f"{told}, given that all of them lie within {box:g} standard deviations",)

    @cached_property
    def _known(self) -> list[float]:
        """The leakages computed so far."""
        return []

    @cached_property
    def _more(self) -> Iterator[float]:
        """Those at the distances that follow."""
        return _leaks(self.correlation, self.box)

    def leak(self, distance: int) -> float:
        """max over u, v, z of log p(x_{t+d} = z | x_t = u) / p(x_{t+d} = z | x_t = v), from above.

        Where the quadrature does not resolve it (strong correlation in a wide box), the leakage of the nearest distance
        that it does resolve: a further Markov step only loses.
        """
        while len(self._known) < distance:
            self._known.append(min(next(self._more), *self._known[-1:], math.inf))
        return self._known[distance - 1]

    def quilts(self, node: int) -> Quilts:
        """Two-sided, one-sided and trivial quilts; given x_t the sides are independent, so their leakages add."""
        sides = [np.array([self.leak(d) for d in range(1, min(_REACH, n) + 1)]) for n in (node - 1, self.length - node)]
        left, right = (s.reshape(-1, 1, 1) for s in sides)
        return assemble(self.length, node, left, right, np.zeros((1, 1)))


def _leaks(correlation: Fraction, box: Fraction) -> Iterator[float]:
    """The leakages at distances 1, 2, ... (each also bounds the later ones: a Markov step only loses)."""
    c = correlation / (1 - correlation**2)
    with balls.precision(_BITS):
        yield meant_up(balls.upper(balls.of(2 * c * box**2)))
        count = _POINTS if c * box**2 < 20 else _MANY_POINTS
        k, g, rate = balls.of((1 + correlation**2) / (2 * (1 - correlation**2))), balls.of(box), balls.of(c)
        pairs = [arb.legendre_p_root(count, j, weight=True) for j in range(count)]
        points = [g * x for x, _ in pairs]
        weights = [g * m * (-k * (g * x) ** 2).exp() for x, m in pairs]
        kernel = [[(rate * x * y).exp() * m for x, m in zip(points, weights, strict=True)] for y in points]
        last = [(rate * x * g).exp() * m for x, m in zip(points, weights, strict=True)]
        plus, minus = [(rate * g * x).exp() for x in points], [(-rate * g * x).exp() for x in points]
        size, error = (rate * g * g).exp(), arb(0)  # a bound of the functions on the box, and of their error there
        growth = 2 * g * (rate * g * g).exp()
        passed = sum(last, arb(0))  # sum of the weights times e^(c x y) is convex and even in y: largest at y = g
    while True:
        with balls.precision(_BITS):
            slips = [_slip(rate, k, g, size, s, count) for s in _RADII]
            slip = min(slips, key=lambda e: balls.upper(e.log()))
            error = slip + passed * error
            top, low = _dot(last, plus) + error, _dot(last, minus) - error
            yield meant_up(max(0.0, balls.upper((top / low).log()))) if low > 0 else math.inf
            plus, minus = [_dot(row, plus) for row in kernel], [_dot(row, minus) for row in kernel]
            size = size * growth


def _slip(rate: arb, k: arb, g: arb, size: arb, radius: int, count: int) -> arb:
    """The error of one quadrature of e^(c x y) w(x) I(x), |y| <= g.

    On the ellipse |Re x| <= X, |Im x| <= Y: |e^(c x y)| <= e^(c X g), |w| <= e^(k Y^2), and |I(x)| <= e^(c X g) size,
    because I is an average of e^(c x t), |t| <= g, with a weight of total at most `size` (for the first one, e^(c x g)
    itself).
    """
    s = arb(radius)
    wide, high = g * (s + 1 / s) / 2, g * (s - 1 / s) / 2
    most = (2 * rate * wide * g + k * high**2).exp() * size
    return g * arb(64) / 15 * most * s ** (2 - 2 * count) / (1 - s**-2)


def _dot(a: list[arb], b: list[arb]) -> arb:
    return sum((x * y for x, y in zip(a, b, strict=True)), arb(0))
