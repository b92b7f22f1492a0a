"""delta of discrete Gaussian noise: the sum of positive parts over all lattice points, fast and proved.

The two noised laws are convolutions of cell masses with exp(-precision k^2). There is no closed form between atoms, so
every lattice point of a window is computed; what the noise or the law puts beyond the window is added to delta."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb, arb_poly
from numpy.typing import NDArray

from fugu import balls
from fugu.errors import NotProvable
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.loss.decay import Reader
from fugu.loss.rounded import Span, ball_cells, float_cells, span_of
from fugu.loss.slack import slack

_PRECISION = 128
_REACH = 16.0
"""The window reaches this many standard deviations of the noise: beyond lies less than e^-120 of it."""
_LARGEST = 4_000_000


def reach_of(precision: float) -> int:
    """Lattice steps beyond which the noise is negligible: 16 standard deviations, sigma = 1 / sqrt(2 precision)."""
    return math.ceil(_REACH / math.sqrt(2 * precision)) + 1


def fast_gaussian_delta(item: Family | Analytic, precision: float, epsilon: float) -> float:
    """max over pairs and orders of the tight delta in floating point; within 1e-12 of the truth, to search with."""
    from scipy.signal import fftconvolve

    reach = reach_of(precision)
    kernel = np.exp(-precision * np.arange(-reach, reach + 1, dtype=np.float64) ** 2)
    kernel /= kernel.sum()
    rows, pairs = _dense(item, reach)
    noised = [np.maximum(fftconvolve(row, kernel), 0) for row in rows]
    e = math.exp(min(epsilon, 700.0))
    worst = 0.0
    for a, b in pairs:
        for i, j in ((a, b), (b, a)):
            worst = max(worst, float(np.maximum(noised[i] - e * noised[j], 0).sum()) + _slack(item, (i, j), arb(e)))
    return min(1.0, worst)


def prove_gaussian_delta(item: Family | Analytic, precision: Fraction, epsilon: Fraction) -> list[tuple[str, float]]:
    """For each pair a delta with sup_S P(S) - e^epsilon Q(S) <= delta for noise P(k) ~ exp(-precision k^2), both
    orders.

    The convolution is a product of polynomials with ball coefficients. The normaliser is bounded below by the window's
    part of it and the rest of the noise, at most 2 e^{-c h^2} / (1 - e^{-2 c h}) beyond h steps, goes to delta."""
    with balls.precision(_PRECISION):
        c = balls.of(precision)
        reach = reach_of(float(precision))
        kernel = [(-c * (k * k)).exp() for k in range(-reach, reach + 1)]
        inside = sum(kernel, arb(0))
        beyond = 2 * (-c * ((reach + 1) ** 2)).exp() / (1 - (-2 * c * (reach + 1)).exp())
        noise = arb_poly(kernel)
        laws, outside, pairs = _ball_rows(item, reach)
        noised = [_padded((arb_poly(row) * noise).coeffs(), len(row) + len(kernel) - 1) for row in laws]
        e = balls.of(epsilon).exp()
        most, least = 1 / inside, e / (inside + beyond)
        found = []
        for label, (a, b) in pairs:
            deltas = []
            for i, j in ((a, b), (b, a)):
                total = arb(0)
                for s, t in zip(noised[i], noised[j], strict=True):
                    part = (s * most - t * least).upper()
                    if part > 0:
                        total += part
                deltas.append(balls.upper(total + outside[i] + beyond / inside + _slack(item, (i, j), e)))
            found.append((label, min(1.0, max(deltas))))
        return found


def _slack(item: Family | Analytic, order: tuple[int, int], e: arb) -> float:
    """What the errors of the laws themselves cost."""
    return balls.upper(slack(item, order, e)) if isinstance(item, Family) else 0.0


def _padded(coefficients: list[arb], length: int) -> list[arb]:
    """Polynomials drop zeros at their end; put them back."""
    return coefficients + [arb(0)] * (length - len(coefficients))


def _dense(item: Family | Analytic, reach: int) -> tuple[list[NDArray[np.float64]], list[tuple[int, int]]]:
    """The laws as dense rows over consecutive lattice points, and the pairs that differ."""
    if isinstance(item, Analytic):
        assert item.lattice is not None
        span = span_of((item.p, item.q), item.lattice, 0.0)
        _check_size(len(span) + 2 * reach)
        return [float_cells(law, item.lattice, span) for law in (item.p, item.q)], [] if item.same else [(0, 1)]
    offsets = (item.points - item.points[0]).astype(np.int64)
    _check_size(int(offsets[-1]) + 2 * reach)
    rows = []
    for weights in item.weights:
        row = np.zeros(int(offsets[-1]) + 1)
        row[offsets] = weights
        rows.append(row)
    return rows, [pair for pair, _ in item.different]


def _ball_rows(
    item: Family | Analytic, reach: int
) -> tuple[list[list[arb]], list[arb], list[tuple[str, tuple[int, int]]]]:
    """The same in balls, with the mass of each law that lies beyond its row."""
    if isinstance(item, Analytic):
        assert item.lattice is not None
        span: Span = span_of((item.p, item.q), item.lattice, 0.0)
        _check_size(len(span) + 2 * reach)
        cells = [ball_cells(law, item.lattice, span, None) for law in (item.p, item.q)]
        return (
            [c.mass for c in cells],
            [c.left[0] + c.right[0] for c in cells],
            [] if item.same else [(item.label, (0, 1))],
        )
    offsets = (item.points - item.points[0]).tolist()
    _check_size(offsets[-1] + 2 * reach)
    rows = []
    for law in item.laws:
        row = [arb(0)] * (offsets[-1] + 1)
        read, share = Reader(law), balls.of(1 / law.total)
        for k, offset in enumerate(offsets):
            row[offset] = read(k) * share
        rows.append(row)
    return rows, [arb(0)] * len(rows), [(label, pair) for pair, label in item.different]


def _check_size(points: int) -> None:
    if points > _LARGEST:
        raise NotProvable(
            f"Gaussian noise needs every lattice point, and there are {points:,}; choose a coarser grid, bins, or "
            "Laplace noise"
        )
