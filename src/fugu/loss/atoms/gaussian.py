"""delta of discrete Gaussian noise: the sum of positive parts over all lattice points, proved.

The two noised laws are convolutions of cell masses with exp(-precision k^2). There is no closed form between atoms, so
every lattice point of a window is computed; what the noise or the law puts beyond the window is added to delta."""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb, fmpz, fmpz_poly

from fugu.errors import NotProvable, OutOfReach
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.loss.atoms.decay import Reader
from fugu.loss.atoms.slack import slack
from fugu.loss.smooth.rounded import Span, ball_cells, span_of
from fugu.numbers import balls

_PRECISION = 128
_REACH = 16.0
"""The window reaches this many standard deviations of the noise: beyond lies less than e^-120 of it."""
LARGEST = 1_000_000
"""Most lattice points for one pair of laws; more laws share twice as many. A million take 10 s and 0.9 GB to prove."""


def reach_of(precision: float) -> int:
    """Lattice steps beyond which the noise is negligible: 16 standard deviations, sigma = 1 / sqrt(2 precision)."""
    return math.ceil(_REACH / math.sqrt(2 * precision)) + 1


def prove_gaussian_delta(item: Family | Analytic, precision: Fraction, epsilon: Fraction) -> list[tuple[str, float]]:
    """For each pair a delta with sup_S P(S) - e^epsilon Q(S) <= delta for noise ~ exp(-precision k^2), both orders.

    Masses and noise are enclosed between integers times 2^-128; products of polynomials with integer coefficients are
    exact, so the upper ones bound one noised law from above and the lower ones the other from below. The normaliser
    lies between the window's part of it and that plus the rest, at most 2 e^{-c h^2} / (1 - e^{-2 c h}) beyond h steps;
    what the noise and the law put beyond the window goes to delta."""
    with balls.precision(_PRECISION + 64):
        c = balls.of(precision)
        reach = reach_of(float(precision))
        laws, outside, pairs = _ball_rows(item, reach)  # refuses what is out of reach before anything is allocated
        kernel = [(-c * (k * k)).exp() for k in range(-reach, reach + 1)]
        beyond = 2 * (-c * ((reach + 1) ** 2)).exp() / (1 - (-2 * c * (reach + 1)).exp())
        inside = sum(kernel, arb(0))
        low, high = _enclosed(kernel)
        rows = [_enclosed(row) for row in laws]
        length = len(laws[0]) + len(kernel) - 1
        below = [_product(row[0], low, length) for row in rows]
        above = [_product(row[1], high, length) for row in rows]
        e = balls.of(epsilon).exp()
        (most,), (least,) = _enclosed([1 / inside])[1], _enclosed([e / (inside + beyond)])[0]
        found = []
        for label, (a, b) in pairs:
            deltas = []
            for i, j in ((a, b), (b, a)):
                total = sum(
                    (max(fmpz(0), s * most - t * least) for s, t in zip(above[i], below[j], strict=True)), fmpz(0)
                )
                unit = balls.of(Fraction(1, 2 ** (3 * _PRECISION)))
                deltas.append(balls.upper(total * unit + outside[i] + beyond / inside + errors_cost(item, (i, j), e)))
            found.append((label, min(1.0, max(deltas))))
        return found


def _enclosed(numbers: list[arb]) -> tuple[list[fmpz], list[fmpz]]:
    """Integers below and above 2^128 times each non-negative number."""
    scale = arb(2) ** _PRECISION
    low = [_whole((x * scale).lower().floor()) for x in numbers]
    return [max(fmpz(0), k) for k in low], [_whole((x * scale).upper().ceil()) for x in numbers]


def _whole(x: arb) -> fmpz:
    found = x.unique_fmpz()
    if found is None:
        raise NotProvable("a mass of the noise or of a law cannot be enclosed; the scale is out of range")
    return found


def _product(row: list[fmpz], kernel: list[fmpz], length: int) -> list[fmpz]:
    """The coefficients of the product of two polynomials, exactly."""
    return _padded((fmpz_poly(row) * fmpz_poly(kernel)).coeffs(), length)


def errors_cost(item: Family | Analytic, order: tuple[int, int], e: arb) -> float:
    """What the errors of the laws themselves cost."""
    return balls.upper(slack(item, order, e)) if isinstance(item, Family) else 0.0


def _padded(coefficients: list[fmpz], length: int) -> list[fmpz]:
    """Polynomials drop zeros at their end; put them back."""
    return coefficients + [fmpz(0)] * (length - len(coefficients))


def _ball_rows(
    item: Family | Analytic, reach: int
) -> tuple[list[list[arb]], list[arb], list[tuple[str, tuple[int, int]]]]:
    """The same in balls, with the mass of each law that lies beyond its row."""
    if isinstance(item, Analytic):
        span = window(item, reach)
        assert item.lattice is not None
        cells = [ball_cells(law, item.lattice, span, None) for law in (item.p, item.q)]
        return (
            [c.mass for c in cells],
            [c.left[0] + c.right[0] for c in cells],
            [] if item.same else [(item.label, (0, 1))],
        )
    check_size(width_of(item) + 2 * reach, len(item.laws))
    offsets = (item.points - item.points[0]).tolist()
    rows = []
    for law in item.laws:
        row = [arb(0)] * (offsets[-1] + 1)
        read, share = Reader(law), balls.of(1 / law.total)
        for k, offset in enumerate(offsets):
            row[offset] = read(k) * share
        rows.append(row)
    return rows, [arb(0)] * len(rows), [(label, pair) for pair, label in item.different]


def window(pair: Analytic, reach: int) -> Span:
    """The lattice points that rounded laws with Gaussian components are computed on."""
    assert pair.lattice is not None
    span = span_of((pair.p, pair.q), pair.lattice, 0.0)
    check_size(len(span) + 2 * reach, 2)
    return span


def width_of(item: Family | Analytic) -> int:
    """How many lattice points the laws themselves take."""
    if isinstance(item, Analytic):
        assert item.lattice is not None
        return len(span_of((item.p, item.q), item.lattice, 0.0))
    return int(item.points[-1]) - int(item.points[0]) + 1


def widest_scale(item: Family | Analytic) -> float:
    """The largest scale, in lattice steps, whose window is within reach; refused if the laws alone are not."""
    width, laws = width_of(item), 2 if isinstance(item, Analytic) else len(item.laws)
    check_size(width, laws)
    return max(0.0, (LARGEST / max(1.0, laws / 2) - width - 4) / (2 * _REACH))


def check_size(points: int, laws: int) -> None:
    limit = LARGEST / max(1.0, laws / 2)
    if points > limit:
        raise OutOfReach(
            f"Gaussian noise needs every lattice point, and there are {points:,}, more than {limit:,.0f}; choose a "
            "coarser grid, bins, or Laplace noise",
            points=points,
            limit=limit,
        )
