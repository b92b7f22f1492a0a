"""The outputs that are looked at of noise on sets of laws, what is summed over them, and what lies beyond."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
from flint import arb

from fugu.errors import OutOfReach
from fugu.guarantee.asks import PairLoss
from fugu.laws.family import SetFamily
from fugu.laws.sets import LawSet
from fugu.loss.atoms import forwards, gaussian_tail
from fugu.loss.sets_extremes import PRECISION, DecayKernel, Floats, Whole
from fugu.loss.sets_reach import at_outputs, at_points
from fugu.numbers import balls
from fugu.progress import report

# The pure loss over sets of laws: exact, since at each output numerator and denominator are chosen independently.
#
# sup over p, q and outputs y of ln(P(y) / Q(y)) = max over y of ln(N(y) / D(y)), y over EVERY declared value: for fixed
# laws the ratio of Laplace noise is largest at a point of their support, which is some declared value, seen or not; and
# suprema commute.


def prove_pure(family: SetFamily, kernel: DecayKernel) -> list[PairLoss]:
    """For each pair an epsilon with N_i <= e^epsilon D_j and N_j <= e^epsilon D_i at every declared value."""
    used = sorted({k for pair in family.pairs for k in pair})
    known = {}
    for done, k in enumerate(used):
        known[k] = at_points(family)[k].proved(kernel)
        report("proving epsilon", done + 1, len(used))
    with balls.precision(PRECISION):
        return [
            PairLoss(label, max(_largest(known[i][0], known[j][1]), _largest(known[j][0], known[i][1])), (i, j))
            for (i, j), label in family.different
        ]


def _largest(most: list[arb], least: list[arb]) -> float:
    """ln of the largest ratio, rounded up: one number is raised wherever N <= m D is not certain."""
    m = arb(1)
    for n, d in zip(most, least, strict=True):
        m = balls.raised(m, n.upper(), d.lower())
    return balls.upper(m.log())


Point = tuple[float, float]


# The outputs of lattice noise on sets of laws, and N and D at each of them, normalised.
#
# Laplace: every lattice point between the first and the last declared value; beyond them all masses fall by the same
# factor, so those outputs are added to the two ends. Gaussian: every lattice point up to a reach beyond; the noise's
# mass farther out is `tail`.


MOST = 200_000
"""Most outputs of Laplace noise: its proofs take 20 s then."""
CELLS = 3_000_000
"""Most (output, declared value) cells of Gaussian noise."""


@dataclass(frozen=True, eq=False)
class SetOutputs:
    """Which outputs are looked at, how often each counts, and what lies beyond."""

    points: Whole
    at: Whole
    kernel: DecayKernel

    def times(self) -> list[arb]:
        """How often every output counts: those beyond the ends count there."""
        found = [arb(1)] * len(self.at)
        if self.kernel.power == 1 and self.kernel.decay is not None:
            beyond = 1 / balls.of(self.kernel.decay).expm1()
            found[0] += beyond
            found[-1] += beyond
        return found

    @cached_property
    def floats(self) -> tuple[float, Floats]:
        """What the kernel is multiplied by, and how often every output counts, in doubles."""
        norm, times = 1.0, np.ones(len(self.at))
        if self.kernel.decay is not None:
            c = float(self.kernel.decay)
            if self.kernel.scans:
                norm, beyond = math.tanh(c / 2), 1 / math.expm1(min(c, 700.0))
                times[0] += beyond
                times[-1] += beyond
            else:
                far = math.ceil(8.7 / math.sqrt(2 * c)) + 2
                norm = 1 / float(self.kernel.floats(np.arange(-far, far + 1)).sum())
        return norm, times

    @property
    def reach(self) -> int:
        """How far beyond the declared values outputs are looked at."""
        return int(self.points[0] - self.at[0])

    def norm(self) -> tuple[arb, arb]:
        """Numbers at or above, and at or below, what the kernel is multiplied by."""
        if self.kernel.decay is None:
            return arb(1), arb(1)
        c = balls.of(self.kernel.decay)
        if self.kernel.power == 1:
            q = (-c).exp()
            found = (1 - q) / (1 + q)
            return found.upper(), found.lower()
        far = math.ceil(16 / math.sqrt(2 * float(self.kernel.decay))) + 2
        g = self.kernel.proved()
        inside = 1 + 2 * sum((g(k) for k in range(1, far + 1)), arb(0))
        return (1 / inside).upper(), (1 / (inside + 2 * gaussian_tail(c, arb(far + 1)))).lower()

    def tail(self) -> float:
        """The noise's mass farther out than the outputs, rounded up."""
        if self.kernel.power == 1 or self.kernel.decay is None:
            return 0.0
        with balls.precision(PRECISION):
            return balls.upper(2 * gaussian_tail(balls.of(self.kernel.decay), arb(self.reach + 1)) * self.norm()[0])


def outputs(family: SetFamily, kernel: DecayKernel, reach: int = 0) -> SetOutputs:
    """The outputs to look at, refused where they are too many. `reach`: how far beyond the ends, for Gaussian noise."""
    points = np.asarray(family.points, dtype=np.int64)
    if kernel.decay is None:
        return SetOutputs(points, points, kernel)
    first, last = int(points[0]), int(points[-1])
    count = last - first + 1 + 2 * reach
    limit = MOST if kernel.power == 1 else CELLS // len(points)
    if count > limit:
        raise OutOfReach(
            f"a bound with delta, or of finite order, needs every lattice point, and there are {count:,}, more than "
            f"{limit:,}; choose a coarser grid, fewer declared values, or a pure budget",
            points=count,
            limit=limit,
        )
    return SetOutputs(points, np.arange(first - reach, last + reach + 1), kernel)


@dataclass(frozen=True, eq=False)
class Bounded:
    """At or above N, and at or below D, of every set at every output, normalised: exact numbers in proofs, doubles to
    search with."""

    where: SetOutputs
    most: list[Any]
    least: list[Any]


def bounded(family: SetFamily, where: SetOutputs) -> Bounded:
    """N and D in balls, rounded outward."""
    found = [one.proved(where.kernel) for one in at_outputs(family, where.at)]
    with balls.precision(PRECISION):
        high, low = where.norm()
        return Bounded(
            where,
            [[(high * n.upper()).upper() for n in most] for most, _ in found],
            [[(low * d.lower()).lower().max(arb(0)) for d in least] for _, least in found],
        )


def spreads(where: SetOutputs, psi: list[arb]) -> list[arb]:
    """At or above sum_y g(y - x) psi(y) at every declared value x, normalised; psi is at or above 0."""
    high = where.norm()[0]
    weighted = [high * t * p for t, p in zip(where.times(), psi, strict=True)]
    if where.kernel.decay is None:
        return weighted
    g = where.kernel.proved()
    places = (where.points - where.at[0]).tolist()
    if where.kernel.scans:
        steps = [g(1)] * (len(weighted) - 1)
        left, right = forwards(weighted, steps), forwards(weighted[::-1], steps)[::-1]
        return [left[k] + g(1) * right[k + 1] if k + 1 < len(right) else left[k] for k in places]
    there = [(y, w) for y, w in zip(where.at.tolist(), weighted, strict=True) if w != 0]
    return [sum((w * g(abs(y - x)) for y, w in there), arb(0)) for x in where.points.tolist()]


# What is bounded over all outputs: the sum of a convex function f(P, Q), homogeneous of degree 1, of two noised laws.
#
# `Excess`: f = (P - e^epsilon Q)_+, whose sum is delta. `RenyiMeasure`: f = P^a Q^(1-a), whose sum is e^{(a-1) D_a}.
# Both grow with P and fall with Q, and f(P, Q) <= P psi where psi = f(N, D) / N at the largest P and the least Q. Each
# has psi and f in doubles and, of exact numbers, in balls, which are not finite where there is no bound; how steeply f
# grows with P and falls with Q at most, where P / Q <= ratio (`steepest`); and the loss that a sum stands for, rounded
# up in balls.


@dataclass(frozen=True)
class Excess:
    """delta at epsilon."""

    epsilon: Fraction

    @property
    def _e(self) -> float:
        return math.exp(min(float(self.epsilon), 700.0))

    def psi(self, most: Floats, least: Floats) -> Floats:
        """(1 - e^epsilon D / N)_+."""
        with np.errstate(divide="ignore", invalid="ignore"):
            found = np.maximum(1 - self._e * least / most, 0.0)
        return np.where(most > 0, np.where(np.isnan(found), 1.0, found), 0.0)

    def f(self, p: Floats, q: Floats) -> Floats:
        """(P - e^epsilon Q)_+."""
        return np.maximum(p - self._e * q, 0.0)

    def proved_psi(self, most: arb, least: arb) -> arb:
        """The same in balls."""
        if most == 0:
            return arb(0)
        return (1 - balls.of(self.epsilon).exp() * least / most).upper().max(arb(0))

    def proved_f(self, p: arb, q: arb) -> arb:
        """The same in balls."""
        return (p - balls.of(self.epsilon).exp() * q).upper().max(arb(0))

    def steepest(self, ratio: float) -> tuple[float, float]:
        """1 and e^epsilon."""
        return 1.0, self._e

    def loss(self, total: float) -> float:
        """delta is the sum."""
        return total

    def proved_loss(self, total: arb) -> float:
        """delta is the sum, at most 1."""
        return min(1.0, max(0.0, balls.upper(total)))


@dataclass(frozen=True)
class RenyiMeasure:
    """The Rényi divergence of order alpha > 1."""

    alpha: Fraction

    def psi(self, most: Floats, least: Floats) -> Floats:
        """(N / D)^(a - 1)."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found: Floats = (most / least) ** float(self.alpha - 1)
        return np.where(most > 0, found, 0.0)

    def f(self, p: Floats, q: Floats) -> Floats:
        """P^a Q^(1 - a)."""
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            found: Floats = p * (p / q) ** float(self.alpha - 1)
        return np.where(p > 0, found, 0.0)

    def proved_psi(self, most: arb, least: arb) -> arb:
        """The same in balls."""
        if most == 0:
            return arb(0)
        return ((most / least).log() * balls.of(self.alpha - 1)).exp()

    def proved_f(self, p: arb, q: arb) -> arb:
        """The same in balls."""
        return p * self.proved_psi(p, q)

    def steepest(self, ratio: float) -> tuple[float, float]:
        """a r^(a - 1) and (a - 1) r^a."""
        a = float(self.alpha)
        return a * ratio ** (a - 1), (a - 1) * ratio**a

    def loss(self, total: float) -> float:
        """ln(sum) / (a - 1)."""
        return max(0.0, math.log(total)) / float(self.alpha - 1) if total < math.inf else math.inf

    def proved_loss(self, total: arb) -> float:
        """The same, rounded up."""
        return max(0.0, balls.upper((total.max(arb(1))).log() / balls.of(self.alpha - 1)))


Measure = Excess | RenyiMeasure


# How far out Gaussian noise on sets of laws matters for a sum of f(P, Q), and a bound on what lies beyond.
#
# delta: no more than the noise's own mass there. Order a, beyond the last declared value x_k by u > T steps: N <= g(u),
# and D >= m g(u + s) if every law of the second set has at least the mass m at s steps before x_k or nearer, so that
# f <= e^{c a (a-1) s^2} e^{-c (u - (a-1) s)^2} m^(1-a), c the decay; the mirror before the first value.


_NEGLIGIBLE = 60.0
"""What lies beyond is less than e^-60 of what matters."""
_REACH = 16.0


def reach(family: SetFamily, kernel: DecayKernel, measure: Measure) -> int:
    """How many lattice steps beyond the declared values must be looked at."""
    if kernel.power == 1 or kernel.decay is None:
        return 0
    wide = math.ceil(_REACH / math.sqrt(2 * float(kernel.decay))) + 1
    if not isinstance(measure, RenyiMeasure):
        return wide
    sides = (_side(one, kernel, measure, mirrored) for one in family.sets for mirrored in (False, True))
    return max(wide, *(far for far, _, _ in sides))


def outside(law_set: LawSet, where: SetOutputs, measure: Measure) -> arb:
    """At or above the sum of f beyond the outputs, for Q in the set, both ends; 0 for Laplace noise, which has none."""
    kernel = where.kernel
    if kernel.power == 1 or kernel.decay is None:
        return arb(0)
    if not isinstance(measure, RenyiMeasure):
        return arb(where.tail())
    c, total = balls.of(kernel.decay), arb(0)
    a = measure.alpha
    for mirrored in (False, True):
        _, apart, index = _side(law_set, kernel, measure, mirrored)
        far = balls.of(where.reach - (a - 1) * apart)
        held = law_set.bottom([Fraction(int(k <= index if mirrored else k >= index)) for k in range(law_set.size)])
        if not (far >= 0 and held > 0):
            return arb("inf")
        grown = (c * balls.of(a * (a - 1) * apart**2) + balls.of(1 - a) * balls.of(held).log()).exp()
        total += grown * gaussian_tail(c, far + 1)
    return total * where.norm()[0]


def _side(law_set: LawSet, kernel: DecayKernel, measure: RenyiMeasure, mirrored: bool) -> tuple[int, int, int]:
    """(reach, s, the place of the value s steps away) that needs the least reach, at one end."""
    masses = np.maximum(law_set.ends[mirrored], 0.0)
    apart = law_set.values - law_set.values[0] if mirrored else law_set.values[-1] - law_set.values
    a, c = float(measure.alpha), float(kernel.decay or 1)
    with np.errstate(divide="ignore"):
        more = (_NEGLIGIBLE - (a - 1) * np.log(masses)) / c
    far = np.where(masses > 1e-300, (a - 1) * apart + np.sqrt(a * (a - 1) * apart**2 + more), np.inf)
    best = int(np.argmin(far))
    return math.ceil(float(far[best])) + 1, int(apart[best]), best
