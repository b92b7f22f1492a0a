"""delta and Rényi divergence of lattice Gaussian noise on laws with atoms, proved."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
from flint import arb, arb_poly, fmpz, fmpz_poly

from fugu.errors import NotProvable, OutOfReach
from fugu.guarantee.asks import PairLoss
from fugu.laws.family import Family
from fugu.laws.normal import Analytic
from fugu.loss.atoms import Pair, PowerSum, ball_masses, gaussian_tail, prove_delta, theta
from fugu.loss.rounded import Span, ball_cells, prove_rounding, span_of
from fugu.numbers import balls

BITS = 144
"""Masses are enclosed between integers times 2^-144: products of polynomials with integer coefficients are exact."""
_REACH = 16.0
"""The window reaches this many standard deviations of the noise: beyond lies less than e^-120 of it."""
LARGEST = 1_000_000
"""Most lattice points for one pair of laws; more laws share twice as many. A million take 10 s and 0.9 GB to prove."""


def reach_of(precision: float) -> int:
    """Lattice steps beyond which the noise is negligible: 16 standard deviations, sigma = 1 / sqrt(2 precision)."""
    return math.ceil(_REACH / math.sqrt(2 * precision)) + 1


def prove_bare_delta(item: Family | Analytic, epsilon: Fraction) -> list[PairLoss]:
    """The same without noise: of the laws with atoms themselves, of others after rounding."""
    if isinstance(item, Family):
        return prove_delta(item, None, epsilon)
    return [PairLoss(item.label, prove_rounding(item, epsilon))]


def enclosed(numbers: list[arb]) -> tuple[list[fmpz], list[fmpz]]:
    """Integers below and above 2^144 times each non-negative number."""
    scale = arb(2) ** BITS
    below, above = [], []
    for x in numbers:
        low, high = (x * scale).lower().floor().unique_fmpz(), (x * scale).upper().ceil().unique_fmpz()
        if low is None or high is None:
            raise NotProvable("a mass of the noise or of a law cannot be enclosed; the scale is out of range")
        below.append(max(fmpz(0), low))
        above.append(high)
    return below, above


def product(row: list[fmpz], kernel: list[fmpz], length: int) -> list[fmpz]:
    """The coefficients of the product of two polynomials, exactly."""
    found = (fmpz_poly(row) * fmpz_poly(kernel)).coeffs()
    return found + [fmpz(0)] * (length - len(found))  # polynomials drop zeros at their end


def ball_rows(
    item: Family | Analytic, reach: int
) -> tuple[list[list[arb]], list[arb], list[tuple[str, tuple[int, int]]]]:
    """Every law as a row of balls over consecutive lattice points, with its mass beyond them, and the pairs that
    differ."""
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
        for offset, mass in zip(offsets, ball_masses(law), strict=True):
            row[offset] = mass
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


def check_size(points: int, laws: int, what: str = "Gaussian noise") -> None:
    """Refuse more lattice points than are summed."""
    limit = LARGEST / max(1.0, laws / 2)
    if points > limit:
        raise OutOfReach(
            f"{what} needs every lattice point, and there are {points:,}, more than {limit:,.0f}; choose a "
            "coarser grid, bins, or Laplace noise",
            points=points,
            limit=limit,
        )


# The Rényi divergence of lattice Gaussian noise on laws with atoms, proved.
#
# Every point of a window is computed with a small relative error. Beyond the window the largest atom decides: with u
# the
# distance from Q's last atom y to P's last atom x, for k >= x
#     P(k)^alpha Q(k)^(1-alpha) <= q_y^(1-alpha) e^{c alpha (alpha-1) u^2} zeta(k - alpha x - (1-alpha) y),
# because P(k) <= zeta(k - x) and Q(k) >= q_y zeta(k - y) there
# (docs/proofs/renyi.md#4-gaussian-noise-on-atoms-beyond-the-window).


MOST_TERMS = 400_000
_MOST_BITS = 4e8
_MOST_STEPS = 2e8
_DIRECT = 1e6
_DIGITS = 64.0
"""The window ends where what lies beyond is below e^-64 of the sum."""


def prove_renyi_gaussian(family: Family, precision: Fraction, alpha: Fraction) -> list[float]:
    """For each pair that differs a bound on D_alpha, both orders, for noise ~ exp(-precision k^2)."""
    pairs = [pair for pair, _ in family.different]
    if not pairs:
        return []
    c = balls.of(precision)
    offsets = (family.points - family.points[0]).astype(np.int64).tolist()
    used = sorted({i for pair in pairs for i in pair})
    ends = {i: _ends(offsets, family, i) for i in used}
    window = gaussian_window(pairs, ends, float(precision), float(alpha))
    check_window(len(window) * len(used))
    worst = 0.0  # so many bits after the point that every noised mass of the window keeps some 128 bits of its own
    for law in family.laws:
        held = np.array(offsets, dtype=np.float64)[law.parts != 0]
        far = max(float(np.max(np.diff(held), initial=0)) / 2, held[0] - window.first, window.last - held[-1])
        logs = law.logs()
        worst = max(worst, float(precision) * float(far) ** 2 - float(logs[np.isfinite(logs)].min()))
    bits = 192 + math.ceil(worst / math.log(2))
    sums = PowerSum(pairs, alpha)
    noised: list[list[arb]] = [[] for _ in family.laws]
    for i in used:
        with balls.precision(bits + 32):
            law = family.laws[i]
            atoms = [(x, mass) for x, mass, part in zip(offsets, ball_masses(law), law.parts, strict=True) if part]
        noised[i] = convolved(atoms, window, precision, bits)
    for k in range(len(window)):
        sums.add([noised[i][k] if noised[i] else arb(0) for i in range(len(noised))])
    a, unit = balls.of(alpha), 1 / theta(c)
    found = []
    for i, j in pairs:
        both = []
        for order in ((i, j), (j, i)):
            (low, _), (high, _) = ends[order[0]]
            (bottom, least), (top, most) = ends[order[1]]
            beyond = _beyond(window.last + 1 - high, high - top, most, c, a)
            beyond += _beyond(low - window.first + 1, bottom - low, least, c, a)
            both.append(balls.divergence((sums.sums[order] + beyond) * unit, alpha))
        found.append(max(both))
    return found


def _beyond(steps: int, u: int, mass: Fraction, c: arb, a: arb) -> arb:
    """q^(1-alpha) e^{c alpha (alpha-1) u^2} sum_{k >= 0} e^{-c (steps + k - (alpha-1) u)^2}: the first point beyond
    the window is `steps` from P's last atom, which lies u beyond Q's, of mass q."""
    distance = steps - (a - 1) * u
    return ((1 - a) * balls.of(mass).log() + c * a * (a - 1) * (u * u)).exp() * gaussian_tail(c, distance)


End = tuple[int, Fraction]


def _ends(offsets: list[int], family: Family, i: int) -> tuple[End, End]:
    """The first and the last atom of a law, with their exact masses."""
    law = family.laws[i]
    held = np.flatnonzero(law.parts != 0)[[0, -1]]
    first, last = zip(held.tolist(), law.parts[held].tolist(), strict=True)
    return (offsets[first[0]], Fraction(first[1]) / law.total), (offsets[last[0]], Fraction(last[1]) / law.total)


def _log(x: Fraction) -> float:
    return math.log(x.numerator) - math.log(x.denominator)


def gaussian_window(pairs: list[Pair], ends: dict[int, tuple[End, End]], c: float, alpha: float) -> Span:
    """Where the terms may matter: to the atoms and to alpha x + (1-alpha) y on each side, and R steps on, with
    c R^2 = 64 + alpha ln(1/p) + (alpha-1) ln(1/q). Only sharpness depends on it."""
    first, last = math.inf, -math.inf
    for i, j in pairs:
        for p, q in ((i, j), (j, i)):
            for side in (0, 1):
                (x, mass), (y, other) = ends[p][side], ends[q][side]
                reach = math.sqrt((_DIGITS - alpha * _log(mass) - (alpha - 1) * _log(other)) / c) + 2
                centre = x + (alpha - 1) * (x - y)
                if side:
                    last = max(last, max(x, centre) + reach)
                else:
                    first = min(first, min(x, centre) - reach)
    check_window(last - first)
    return Span(math.floor(first), math.ceil(last))


def check_window(points: float) -> None:
    if not points <= MOST_TERMS:
        raise OutOfReach(
            f"the Rényi divergence of lattice noise needs {points:,.0f} lattice points here, more than {MOST_TERMS:,}; "
            "choose a coarser grid, or bins",
            points=points,
            limit=MOST_TERMS,
        )


def convolved(atoms: list[tuple[int, arb]], window: Span, precision: Fraction, bits: int) -> list[arb]:
    """sum_i p_i e^{-c (k - x_i)^2} for every k of the window, each with a small relative error."""
    span = atoms[-1][0] - atoms[0][0] + 1
    if len(atoms) * len(window) <= _DIRECT:
        return _direct(atoms, window, balls.of(precision))
    if (2 * span + len(window)) * bits <= _MOST_BITS:
        return _by_polynomials(atoms, window, precision, bits)
    if span * len(window) <= _MOST_STEPS:
        return _horner(atoms, window, balls.of(precision))
    raise NotProvable(
        "the Rényi divergence at this order needs masses of the noise too small to be computed at every lattice point; "
        "choose a coarser grid, a smaller alpha, or Laplace noise"
    )


def _direct(atoms: list[tuple[int, arb]], window: Span, c: arb) -> list[arb]:
    """Term by term; the powers are remembered by distance."""
    far = max(abs(window.last - atoms[0][0]), abs(atoms[-1][0] - window.first))
    known = [(-c * (d * d)).exp() for d in range(far + 1)]
    return [sum((p * known[abs(k - x)] for x, p in atoms), arb(0)) for k in range(window.first, window.last + 1)]


def _by_polynomials(atoms: list[tuple[int, arb]], window: Span, precision: Fraction, bits: int) -> list[arb]:
    """By one exact product of polynomials with integer coefficients. With p = (m + e) 2^-B and z = (n + f) 2^-B, where
    0 <= e, f <= 2: 0 <= sum p z 4^B - sum m n <= 2 sum n + 2 sum m + 4 atoms."""
    start, stop = atoms[0][0], atoms[-1][0]
    with balls.precision(bits + 32):
        scale = arb(2) ** bits
        c, far = balls.of(precision), max(abs(window.first - stop), abs(window.last - start))
        kernel = _floors([(-c * (d * d)).exp() * scale for d in range(far + 1)])
        row = [fmpz(0)] * (stop - start + 1)
        for (x, _), m in zip(atoms, _floors([p * scale for _, p in atoms]), strict=True):
            row[x - start] = m
    kernel = [kernel[abs(d)] for d in range(window.first - stop, window.last - start + 1)]
    slack = 2 * sum(kernel, fmpz(0)) + 2 * sum(row, fmpz(0)) + 4 * len(atoms)
    found = product(row, kernel, len(row) + len(kernel) - 1)
    half = arb(slack, slack)  # [0, 2 slack]: wider than need be
    unit = arb(2) ** (-2 * bits)
    return [(arb(found[k]) + half) * unit for k in range(len(row) - 1, len(row) - 1 + len(window))]


def _floors(numbers: list[arb]) -> list[fmpz]:
    """Integers m with m <= x <= m + 2 for every x of the ball."""
    found = []
    for x in numbers:
        m = x.lower().floor().unique_fmpz()
        if m is None or not x <= m + 2:
            raise NotProvable("a mass of the noise or of a law cannot be enclosed; the scale is out of range")
        found.append(max(fmpz(0), m))
    return found


def _horner(atoms: list[tuple[int, arb]], window: Span, c: arb) -> list[arb]:
    """e^{-c k^2} times the polynomial with coefficients p_i e^{-c x_i^2} at e^{2 c k}, positions from the first atom:
    all terms are positive, so Horner's rule keeps the relative error small however small the mass is."""
    start = atoms[0][0]
    row = [arb(0)] * (atoms[-1][0] - start + 1)
    for x, p in atoms:
        row[x - start] = p * (-c * ((x - start) ** 2)).exp()
    weights = arb_poly(row)
    found = []
    for k in range(window.first - start, window.last - start + 1):
        found.append((-c * (k * k)).exp() * weights((2 * c * k).exp()))
    return found
