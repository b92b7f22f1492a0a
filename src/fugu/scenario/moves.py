"""A published value that moves by at most so much between two secrets: `Shifted`, read as a bound.

Let X and Y be the values under the two secrets, coupled so that |X_i - Y_i| <= w_i for sure in every coordinate (in one
dimension: W_inf <= w). Let independent noise be added to each coordinate, symmetric and unimodal (Laplace, Gaussian,
Cauchy), continuous or on a lattice of which every w_i is a whole number of steps. Then the output leaks at most what it
leaks for the two points 0 and w, in both orders, by every measure: epsilon, delta(epsilon), Renyi of any order
(docs/proofs/moves.md#a-longer-shift-leaks-more).

1. Rounding. x <= y <= x + w gives round(x) <= round(y) <= round(x) + w, so rounding onto the lattice keeps the bound.
2. Coupling. H_e(P, Q) = sup_A P(A) - e^e Q(A) is jointly convex, so the pair leaks at most the worst pair of points.
3. A longer shift leaks more. With noise of density p (counting measure on a lattice), all coordinates but one fixed,
   H_e = 1 - integral of min(a p(y - x), b p(y)) dy, and min(u, v) is the integral over t of 1{u > t} 1{v > t}. The sets
   {a p(. - x) > t} and {b p > t} are intervals centred at x and at 0, so their overlap does not grow with |x|.
4. Every measure. Step 3 holds for every real e. A divergence of order alpha is a mixture of H_e over all e
   (Liese and Vajda 2006, weights >= 0), so it does not decrease in |x| either; pure epsilon is where H_e vanishes.

For log-concave noise the same follows from the tests: the likelihood ratio of two translates is monotone, the best
tests are thresholds, and the power of a threshold grows with the shift. That argument needs no symmetry, and so also
covers normal laws that are rounded first (see `attributes`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise

from fugu.laws import Shifted
from fugu.numbers.exact import Real, as_fraction
from fugu.scenario.scenario import Scenario

DIGITS = 10
_MULTIPLES = 20_000
SYMMETRIC = "noise: independent in each coordinate, symmetric and unimodal, so a longer shift leaks more"
ONCE = "one value is published, computed from all records together"


def moves(by: Real | Sequence[Fraction], secrets: tuple[str, str], assumptions: Sequence[str]) -> Scenario:
    """Two secrets between which the published value moves by at most `by`, coordinate by coordinate, rounded up.

    >>> moves(Fraction(1, 3), ("a", "b"), ()).adversaries[0]["b"]
    Shifted(by=Fraction(1666666667, 5000000000))
    """
    several = isinstance(by, Sequence)
    bounds = tuple(outward(as_fraction(x)) for x in (by if isinstance(by, Sequence) else (by,)))
    laws = {
        secrets[0]: Shifted((0,) * len(bounds) if several else 0),
        secrets[1]: Shifted(bounds if several else bounds[0]),
    }
    return Scenario(laws, assumptions=(*assumptions, SYMMETRIC))


def outward(x: Fraction, digits: int = DIGITS) -> Fraction:
    """The decimal of at most that many digits nearest to x on the side away from 0; x itself if it is one already.

    >>> outward(Fraction(-1, 3), 3), outward(Fraction(5, 2))
    (Fraction(-167, 500), Fraction(5, 2))
    """
    if x == 0:
        return x
    unit = Fraction(10) ** (_places(abs(x)) - digits)
    return math.ceil(abs(x) / unit) * unit * (1 if x > 0 else -1)


def positions(points: Sequence[Sequence[Fraction]]) -> list[tuple[Fraction, ...]]:
    """Short decimals in place of points: in each coordinate every two are at least as far apart, and in the same order.

    All differences are whole multiples of one number, which is rounded up; where the multiples are too many, each gap
    is rounded up to a ten-thousandth of the largest difference, so that a lattice that holds all stays small."""
    moved = [[x - y for x, y in zip(point, points[0], strict=True)] for point in points]
    sizes = [abs(x) for point in moved for x in point if x]
    if not sizes:
        return [tuple(point) for point in moved]
    common = math.lcm(*(x.denominator for x in sizes))
    step = Fraction(math.gcd(*(int(x * common) for x in sizes)), common)
    if max(sizes) / step <= _MULTIPLES:
        unit = outward(step, DIGITS)
        return [tuple(x / step * unit for x in point) for point in moved]
    unit = outward(max(sizes) / 10**4, 3)
    columns = [_apart(column, unit) for column in zip(*moved, strict=True)]
    return list(zip(*columns, strict=True))


def _apart(column: Sequence[Fraction], unit: Fraction) -> list[Fraction]:
    """Multiples of the unit, every gap between neighbours rounded up."""
    ordered = sorted(set(column))
    place = {ordered[0]: Fraction(0)}
    for low, high in pairwise(ordered):
        place[high] = place[low] + math.ceil((high - low) / unit) * unit
    return [place[x] for x in column]


def said(x: Fraction) -> str:
    """The number as an assumption states it."""
    return f"{float(x):.15g}"


def _places(x: Fraction) -> int:
    """The least p with x <= 10^p."""
    p = len(str(x.numerator)) - len(str(x.denominator))
    while Fraction(10) ** p < x:
        p += 1
    while Fraction(10) ** (p - 1) >= x:
        p -= 1
    return p
