"""Laws with Gaussian components after rounding onto a lattice, and the proved losses of Laplace noise on them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import OutOfReach
from fugu.laws.components import Components
from fugu.laws.normal import Analytic
from fugu.loss.atoms import forwards
from fugu.noise.lattice import Lattice
from fugu.numbers import balls

_PRECISION = 192


@dataclass(frozen=True)
class _Sums:
    """Decayed sums of one law over the window, with enclosures of what comes from beyond the ends."""

    total: list[arb]
    left: list[arb]
    right: list[arb]
    cells: BallCells


def prove_pure_analytic(pair: Analytic, rate: Fraction) -> float:
    """An epsilon with S_i <= e^epsilon S_j at every lattice point, both orders.

    Inside the window point by point. Beyond its right end M(k) = q^{-k} S(k) grows to E q^{-K}, so
    S_i(k) / S_j(k) <= (L_i + tilted tail of i) / S_j at the last point; the left end is the mirror image
    (docs/proofs/gaussian.md#2-beyond-the-window)."""
    if pair.same:
        return 0.0
    with balls.precision(_PRECISION):
        first, second = _both(pair, rate)
        worst = arb(1)
        for a, b in ((first, second), (second, first)):
            for s, t in zip(a.total, b.total, strict=True):
                worst = balls.raised(worst, s, t)
            worst = balls.raised(worst, a.left[-1] + a.cells.right[1], b.total[-1])
            worst = balls.raised(worst, a.right[0] + a.cells.left[1], b.total[0])
        return balls.upper(worst.log())


def prove_delta_analytic(pair: Analytic, rate: Fraction, epsilon: Fraction) -> float:
    """A delta with sup_S P(S) - e^epsilon Q(S) <= delta for lattice Laplace noise, both orders.

    Inside the window the sum of positive parts; beyond an end where the ratio is at most rho, at most the mass of f_i
    there times (1 - e^epsilon / rho)_+, and that mass is at most c0 q/(1-q) L_i + P(K beyond)."""
    if pair.same:
        return 0.0
    with balls.precision(_PRECISION):
        q = (-balls.of(rate)).exp()
        norm, ratio, e = (1 - q) / (1 + q), q / (1 - q), balls.of(epsilon).exp()
        first, second = _both(pair, rate, DELTA_TILT)
        deltas = []
        for a, b in ((first, second), (second, first)):
            found = norm * balls.positive_parts(a.total, b.total, e)
            for near, tail, ball_total in (
                (a.left[-1], a.cells.right, b.total[-1]),
                (a.right[0], a.cells.left, b.total[0]),
            ):
                rho = ((near + tail[1]) / ball_total).upper() if ball_total > 0 else arb("inf")
                if not rho <= e:
                    share = 1 - e / rho if rho.is_finite() else arb(1)
                    found += (norm * ratio * near + tail[0]) * share
            deltas.append(balls.upper(found))
        return min(1.0, max(deltas))


def prove_rounding(pair: Analytic, epsilon: Fraction) -> float:
    """A delta for rounding alone, without noise: the positive parts of the cells, plus the mass beyond the window."""
    if pair.same:
        return 0.0
    assert pair.lattice is not None
    with balls.precision(_PRECISION):
        span = span_of((pair.p, pair.q), pair.lattice, 0.0)
        cells = [ball_cells(law, pair.lattice, span, None) for law in (pair.p, pair.q)]
        e = balls.of(epsilon).exp()
        deltas = []
        for a, b in (cells, cells[::-1]):
            deltas.append(balls.upper(a.left[0] + a.right[0] + balls.positive_parts(a.mass, b.mass, e)))
        return min(1.0, max(deltas))


def _both(pair: Analytic, rate: Fraction, most_tilt: float = 60.0) -> list[_Sums]:
    """L and R of both laws over the window; what comes from beyond an end lies between 0 and q times the mass there."""
    assert pair.lattice is not None
    span, q = (
        span_of((pair.p, pair.q), pair.lattice, float(pair.lattice.grid / rate), most_tilt),
        (-balls.of(rate)).exp(),
    )
    found = []
    for law in (pair.p, pair.q):
        cells = ball_cells(law, pair.lattice, span, rate)
        rows = []
        for mass, before in ((cells.mass, cells.left[0]), (cells.mass[::-1], cells.right[0])):
            top = (q * before).upper()  # the first sum with the ball [0, top] added
            first = mass[0] + (top / 2).union(arb(0)).union(top)
            rows.append(forwards([first, *mass[1:]], [q] * (len(mass) - 1)))
        left, right = rows[0], rows[1][::-1]
        total = [a + b - m for a, b, m in zip(left, right, cells.mass, strict=True)]
        found.append(_Sums(total, left, right, cells))
    return found


# A law with Gaussian components after rounding onto a lattice: the masses of the cells, as balls and as floats.
#
# Cell k of a lattice is the interval of values that round to index k, [o + (k - 1/2) g, o + (k + 1/2) g). Inside a
# window of indices the masses are computed one by one; what lies outside is bounded by closed forms: beyond each end a
# proof needs the mass, and the mass weighted by e^{rate x distance} (docs/proofs/gaussian.md#1-a-window-and-its-tails,
# docs/proofs/gaussian.md#2-beyond-the-window).


_MOST_CELLS = 100_000
DELTA_TILT = 8.0


@dataclass(frozen=True)
class Span:
    """The window of lattice indices first .. last."""

    first: int
    last: int

    def __len__(self) -> int:
        return self.last - self.first + 1


@dataclass(frozen=True)
class BallCells:
    """Masses of the window's cells, and upper bounds on what lies beyond each end: (mass, tilted mass)."""

    mass: list[arb]
    left: tuple[arb, arb]
    right: tuple[arb, arb]


def ball_cells(law: Components, lattice: Lattice, span: Span, rate: Fraction | None) -> BallCells:
    """Enclosures of P(K = k) for k in the window; beyond the ends, upper bounds on P(K < first), P(K > last) and on
    sum p_k e^{rate (first - k)}, sum p_k e^{rate (k - last)}.

    For a component N(m, s): P(K = k) = Phi(z_{k+1}) - Phi(z_k), taken from the nearer tail so that nothing cancels.
    With t = rate s / g and z the last edge, the tilted sum is at most e^{t^2/2 - t z + rate} P(Z > z - t), because a
    value in cell k is at least x_k - g/2."""
    mass = [arb(0)] * len(span)
    ends = [[arb(0), arb(0)], [arb(0), arb(0)]]
    r = balls.of(rate or Fraction(0))
    for weight, mean, std in zip(*law.exact, strict=True):
        w = balls.of(weight)
        if std == 0:
            index = int(lattice.index(np.array([float(mean)]))[0])  # a point mass: in one cell, or beyond one end
            if span.first <= index <= span.last:
                mass[index - span.first] = mass[index - span.first] + w
                continue
            side, beyond = (0, span.first - index) if index < span.first else (1, index - span.last)
            ends[side][0] += w
            ends[side][1] += w * (r * beyond).exp()
            continue
        # (o + (k - 1/2) g - mean) / std for k = first .. last + 1, exactly rational before it becomes a ball
        start = balls.of((lattice.origin + (span.first - Fraction(1, 2)) * lattice.grid - mean) / std)
        width = balls.of(lattice.grid / std)
        edges = [start + width * k for k in range(len(span) + 1)]
        tails = [_upper_tail(-edge if edge < 0 else edge) for edge in edges]
        for k, (low, high) in enumerate(pairwise(edges)):  # from the tail that both ends lie in
            near, far = (tails[k + 1], tails[k]) if high < 0 else (tails[k], tails[k + 1])
            across = low < 0 and not high < 0
            mass[k] = mass[k] + w * ((_upper_tail(low) if across else near) - far)
        tilt = balls.of(std / lattice.grid) * r
        for side, z in ((0, -edges[0]), (1, edges[-1])):
            ends[side][0] += w * _upper_tail(z)
            ends[side][1] += w * (tilt * tilt / 2 - tilt * z + r).exp() * _upper_tail(z - tilt)
    return BallCells(mass, (ends[0][0], ends[0][1]), (ends[1][0], ends[1][1]))


def _upper_tail(z: arb) -> arb:
    """P(Z > z) for a standard normal Z."""
    return (z / arb(2).sqrt()).erfc() / 2


def float_cells(law: Components, lattice: Lattice, span: Span) -> NDArray[np.float64]:
    """The same masses in floating point, for search; relative accuracy about 1e-12 in the body and the near tails."""
    from scipy.special import ndtr

    points = law.stds == 0
    index = lattice.index(law.means[points]) - span.first
    inside = (index >= 0) & (index < len(span))
    total = np.bincount(index[inside], weights=law.weights[points][inside], minlength=len(span)).astype(np.float64)
    edge = float(lattice.origin) + (np.arange(span.first, span.last + 2) - 0.5) * float(lattice.grid)
    for weight, mean, std in zip(law.weights[~points], law.means[~points], law.stds[~points], strict=True):
        z = (edge - mean) / std
        total += weight * np.where(z[1:] < 0, np.diff(ndtr(z)), -np.diff(ndtr(-z)))
    return np.maximum(total, 0)


def span_of(laws: tuple[Components, Components], lattice: Lattice, scale: float, most_tilt: float = 60.0) -> Span:
    """A window wide enough that what lies beyond is negligible even after tilting by 1 / scale.

    A normal tail beyond z standard deviations, tilted by t = std / scale, is about e^{t z - z^2 / 2}; against the
    noised body, e^{-t z}, it is below e^{-80} once z >= t + sqrt(t^2 + 160). Only sharpness depends on this, not
    soundness. For delta a tilt of 8 is plenty: what it misses weighs less than e^{-60} in all."""
    low, high = math.inf, -math.inf
    for law in laws:
        tilt = min(float(law.stds.max()) / scale, most_tilt) if scale else 0.0
        reach = tilt + math.sqrt(tilt**2 + 160)
        low = min(low, float(np.min(law.means - reach * law.stds)))
        high = max(high, float(np.max(law.means + reach * law.stds)))
    cells = (high - low) / float(lattice.grid)
    if not cells <= _MOST_CELLS:
        raise OutOfReach(
            f"{cells:,.0f} lattice cells would be needed, more than {_MOST_CELLS:,}: the grid is very small against "
            "the beliefs' spread. Choose a coarser grid, for instance a tenth of their standard deviation, or bins",
            points=cells,
            limit=_MOST_CELLS,
        )
    first, last = lattice.index(np.array([low, high])).tolist()
    return Span(int(first) - 1, int(last) + 1)
