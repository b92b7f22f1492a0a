"""`EntryNoise`: what is drawn for the whole numbers that one replaced entry shifts, and the exact (epsilon, delta) of
lattice Gaussian noise."""

from __future__ import annotations

import math
from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, final

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import NotProvable
from fugu.guarantee.asks import outward
from fugu.guarantee.kinds import balle_delta
from fugu.noise.bits import BitSource
from fugu.noise.gaussian import at_least, gaussian_sampler
from fugu.noise.laplace import laplace_sampler
from fugu.numbers import balls
from fugu.queries.kinds import LEVEL, half_width

if TYPE_CHECKING:
    from fugu.queries.sequence_query import SequenceQuery

_MOST_RATE = 700.0


@final
@dataclass(frozen=True)
class Shift:
    """How far one replaced entry moves the whole numbers that are noised: |v|^2 at most `square`, in steps.

    `kind`: "line" for one number, "pair" for one count up and one down by 1, "ball" for anything else."""

    kind: Literal["line", "pair", "ball"]
    square: int

    @staticmethod
    def line(steps: int) -> Shift:
        """One number that moves by at most so many steps."""
        return Shift("line", steps**2)

    def precision(self, rho: Fraction) -> Fraction:
        """p of the noise of mass ~ exp(-p k^2) that makes this shift rho-zCDP."""
        return rho / self.square


PAIR = Shift("pair", 2)


@final
@dataclass(frozen=True)
class EntryNoise:
    """What is drawn for one question: what an `amount` of epsilon for each entry allows, or of rho, with lattice
    Gaussian noise.

    Laplace noise of mass ~ exp(-epsilon |k| / S) on every number of a vector of l1 sensitivity S is epsilon-DP: sum
    over numbers of | |z - a| - |z - b| | <= ||a - b||_1 <= S (Dwork et al. 2006; Ghosh et al. 2009 on the integers).
    Gaussian noise is drawn for the l2 distance (`Shift`)."""

    amount: Fraction
    gaussian: bool = False

    def shared(self, share: Fraction) -> EntryNoise:
        """The part of it that a share of the budget has."""
        return EntryNoise(self.amount * share, self.gaussian)

    def decay(self, query: SequenceQuery) -> Fraction:
        """r of noise of mass ~ exp(-r |k|), or p of ~ exp(-p k^2), on whole numbers of steps."""
        if self.gaussian:
            return query.shift.precision(self.amount)
        return self.amount * query.grid / query.sensitivity

    def draw(self, query: SequenceQuery, size: int, source: BitSource) -> NDArray[np.int64]:
        """So many independent numbers of steps."""
        decay = self.decay(query)
        sampler = gaussian_sampler(decay) if self.gaussian else laplace_sampler(decay)
        return sampler.draw(size, source)

    def half(self, query: SequenceQuery, parts: int = 1) -> float:
        """h such that `parts` numbers of noise are all within h steps with 95 %."""
        decay, each = self.decay(query), LEVEL ** (1 / parts)
        return within(decay, each) if self.gaussian else half_width(decay, each)

    def size(self, query: SequenceQuery) -> float:
        """How large one number of noise is on average, in steps: E|N| = 1 / sinh(r) for P(N = k) ~ exp(-r |k|)."""
        decay = float(self.decay(query))
        return math.sqrt(1 / (math.pi * decay)) if self.gaussian else 1 / math.sinh(min(decay, _MOST_RATE))

    def epsilon(self, query: SequenceQuery) -> Fraction:
        """What a choice has for each entry; `NotProvable` for Gaussian noise."""
        if self.gaussian:
            raise NotProvable(query.choice.format(query.name))
        return self.amount


def within(precision: Fraction, level: float = LEVEL) -> int:
    """The least h with P(|N| <= h) >= `level` for P(N = k) ~ exp(-precision k^2), in steps; what doubles leave in doubt
    goes up."""
    outside = 1 - min(level * (1 + 1e-15), 1 - 1e-15)
    decay, allowed, high = float(min(precision, Fraction(10**4))), outside * (1 - 1e-11), 1
    while at_least(decay, high) > allowed:
        high *= 2
    return bisect_left(range(1, high), True, key=lambda k: at_least(decay, k) <= allowed)


# Lattice Gaussian noise on whole numbers: the exact (epsilon, delta) of a shift, by sums in balls.
#
# Noise of mass ~ exp(-p k^2) on every coordinate, p = 1 / (2 sigma^2). One replaced entry shifts the vector v of whole
# numbers that is noised. At order a the divergence of two such laws is at most a |v|^2 p, on the lattice too (Canonne,
# Kamath and Steinke 2020, proposition 5): rho-zCDP with rho = |v|^2 p. It is **not** that of continuous noise: between
# lattice points delta(epsilon) lies above the Gaussian's, so nothing here is taken from there.
#
# - One coordinate moved by at most n steps. The likelihood ratio is monotone, so the worst events are {k >= t}, and
#   their probabilities grow with the shift: the worst is n, and delta = P(K >= t) - e^eps P(K >= t + n), with t the
#   least k of loss p (2 k n + n^2) above eps.
# - A count up and another down by 1 (a histogram). The ratio is a function of the difference s, whose mass is
#   exp(-p s^2 / 2) theta_{s mod 2}(2 p) / theta(p)^2, the sum over k of exp(-2 p (k + s/2)^2) being theta of the
#   parity; the loss is 2 p (s + 1), and delta = P(s >= t) - e^eps P(s >= t + 2).
# - Any other vector of length |v|: by the conversion of rho-zCDP.
#
# Proofs: docs/proofs/translation.md#gaussian-noise-for-each-entry.


_BITS = 160
_WIDE = Fraction(1, 2 * 30**2)
"""Below this decay, a width of 30 steps, sums are integrals with corrections of a known sign."""


def lattice_delta(shift: Shift, rho: Fraction, epsilon: Fraction) -> float:
    """The delta at `epsilon` >= 0 of lattice Gaussian noise with |v|^2 p = rho, rounded up.

    >>> round(lattice_delta(Shift.line(1), Fraction(1, 2), Fraction(1)), 6)  # sigma = 1; continuous noise: 0.126937
    0.141351
    """
    if shift.kind == "ball":
        return zcdp_delta(rho, epsilon)
    p = shift.precision(rho)
    with balls.precision(_BITS):
        grown = balls.of(epsilon).exp()
        if shift.kind == "line":
            n = math.isqrt(shift.square)
            t = math.floor((epsilon / p - n * n) / (2 * n)) + 1
            found = (_tail(p, Fraction(t)) - grown * _tail(p, Fraction(t + n))) / _theta(p, 0)
        else:
            t, parts = math.floor(epsilon / (2 * p)), []
            for s in (t, t + 1):  # the two parities, each in steps of 2
                part = _tail(2 * p, Fraction(s, 2)) - grown * _tail(2 * p, Fraction(s, 2) + 1)
                parts.append(_theta(2 * p, s % 2) * part)
            found = (parts[0] + parts[1]) / _theta(p, 0) ** 2
        return min(1.0, max(0.0, balls.upper(found)))


def zcdp_delta(rho: Fraction, epsilon: Fraction) -> float:
    """The delta that rho-zCDP implies at `epsilon`: the least over some orders a of that of D_a <= a rho, up."""
    near = float(epsilon / rho + 1) / 2  # where (a - 1) (a rho - epsilon) is least
    orders = {Fraction(1 + max(near - 1, 1e-3) * float(x)) for x in (0.5, 0.8, 0.95, 1.0, 1.02, 1.05, 1.1, 1.25, 2.0)}
    return min(1.0, *(balle_delta(a, outward(a * rho), epsilon) for a in orders))


def largest_rho(shift: Shift, epsilon: Fraction, delta: Fraction) -> Fraction:
    """The largest rho found whose noise is (epsilon, delta)-DP for this shift, checked as returned; 0 if none is.

    Searched on a fine scale of ratios; delta need not be monotone between lattice points, so what is returned is
    itself proved, and nothing is concluded from its neighbours."""

    def holds(x: float) -> bool:
        return Fraction(lattice_delta(shift, Fraction(x), epsilon)) <= delta

    e, log_delta = float(epsilon), math.log(1 / float(delta))
    guess = (math.sqrt(log_delta + e) - math.sqrt(log_delta)) ** 2  # rho with rho + 2 sqrt(rho log(1/delta)) = epsilon
    low, high = guess / 2, guess * 4
    while not holds(low):
        low, high = low / 2, low
        if low < 1e-300:
            return Fraction(0)
    while holds(high):
        low, high = high, 2 * high
    for _ in range(40):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if holds(middle) else (low, middle)
        if high - low <= 1e-7 * low:
            break
    return Fraction(low)


@lru_cache(maxsize=64)
def _theta(p: Fraction, parity: int) -> arb:
    """The sum over all whole k of exp(-p (k + parity/2)^2), in balls.

    On wide lattices by Poisson summation: sqrt(pi / p) times a number within 4 exp(-pi^2 / p) of 1."""
    if p < _WIDE:
        off = 4 * (-(arb.pi() ** 2) / balls.of(p)).exp()
        return (arb.pi() / balls.of(p)).sqrt() * (1 + off * arb(0, 1))
    half = Fraction(parity, 2)
    return _tail(p, half) + _tail(p, 1 - half)


def _tail(p: Fraction, x: Fraction) -> arb:
    """The sum over j >= 0 of f(x + j), f(y) = exp(-p y^2), in balls; x is a multiple of 1/2.

    Term by term. On wide lattices only up to y >= 3.4 sigma: beyond, the fourth and sixth derivatives are positive (the
    largest root of the sixth Hermite polynomial is 3.324), and by Euler and Maclaurin the sum from y on is the integral
    + f/2 - f'/12 + r with r between 0 and f'''/720 = -(8 p^3 y^3 - 12 p^2 y) f / 720. On others terms are summed until
    they are below 2^-160 of the first; the rest is below a geometric sum."""
    decay, total, y = balls.of(-p), arb(0), float(x)
    width = 1 / math.sqrt(2 * float(p))

    def f(y: float) -> arb:
        return (decay * arb(y) ** 2).exp()

    end = 3.4 * width if p < _WIDE else max(y, 0.0) + math.sqrt(2 * _BITS) * width + 1
    while y < end:
        total += f(y)
        y += 1
    if p >= _WIDE:
        return total + f(y) / -(decay * arb(2 * y + 1)).expm1() * arb(0.5, 0.5)
    at, rate, root = arb(y), balls.of(p), balls.of(p).sqrt()
    integral = (root * at).erfc() * arb.pi().sqrt() / (2 * root)
    most = (8 * (rate * at) ** 3 - 12 * rate**2 * at) / 720
    return total + integral + f(y) * (arb(0.5) + rate * at / 6 - most * arb(0.5, 0.5))
