"""`fugu.epsilon` and `fugu.delta`: the tight loss of a noise on law pairs, as floats at or above the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np

from fugu.errors import BadNoise
from fugu.exact import Real, as_fraction, decimal_step, float_down, integers
from fugu.guarantee import Approx
from fugu.laws.family import Family, families
from fugu.laws.pair import PairsLike, as_pairs
from fugu.loss.fast import delta_loss, pure_loss
from fugu.noise.laplace import Laplace


def epsilon(noise: Laplace, pairs: PairsLike) -> float:
    """The tight pure epsilon, max over pairs and both orders; inf if no finite epsilon holds.

    >>> from fugu import Discrete, Laplace, LawPair
    >>> round(epsilon(Laplace(2.0), LawPair(Discrete([0]), Discrete([3]))), 9)
    1.5
    """
    _check(noise)
    worst = 0.0
    for family in families(as_pairs(pairs)):
        whole, unit = in_units(family)
        if noise.grid is not None and noise.scale > 0:  # off the lattice nothing is finite; on it, both noises agree
            require_lattice(whole, noise.grid / unit)
        worst = max(worst, pure_loss(whole, _ratio(noise.scale, unit)).value)
    return worst


def delta(noise: Laplace, pairs: PairsLike, epsilon: Real) -> float:
    """The tight delta(epsilon), max over pairs and both orders of sup_S P(S) - e^epsilon Q(S).

    The lattice noise has its own, larger, delta: Lap(b) = DLap + R makes the continuous one a post-processing.

    >>> from fugu import Discrete, Laplace, LawPair
    >>> pair = LawPair(Discrete([0]), Discrete([3]))
    >>> round(delta(Laplace(2.0), pair, 1.0), 9), round(delta(Laplace(2.0, grid=1), pair, 1.0), 9)
    (0.221199217, 0.244918662)
    """
    _check(noise)
    Approx(epsilon, 0)  # validates epsilon
    worst = 0.0
    for family in families(as_pairs(pairs)):
        whole, unit = in_units(family)
        grid = None
        if noise.grid is not None and noise.scale > 0:
            require_lattice(whole, noise.grid / unit)
            grid = float(noise.grid / unit)
        worst = max(worst, delta_loss(whole, _ratio(noise.scale, unit), float(epsilon), grid).value)
    return worst


def in_units(family: Family) -> tuple[Family, Fraction]:
    """The family with whole-number points and their unit where all atoms are decimals; else as it is, unit 1.

    1000000.2 - 1000000.1 is 0.1 for the user and not for the doubles: distances are taken between whole numbers."""
    step = decimal_step(family.points)
    if step is None:
        return family, Fraction(1)
    return Family(integers(family.points, step), family.laws, family.pairs, family.labels), step


def require_lattice(family: Family, grid: Fraction) -> None:
    """Refuse unless all atoms lie on one lattice of this grid, decided exactly."""
    points = family.points
    if points.dtype == np.int64 and grid.denominator == 1:
        aligned = not np.any((points - points[0]) % int(grid))
    else:
        first = Fraction(points[0].item())
        aligned = all(((Fraction(x) - first) / grid).denominator == 1 for x in points.tolist())
    if not aligned:
        raise BadNoise(
            "some atoms are off the lattice of this grid: no epsilon is finite there. Round the laws onto the "
            "lattice first (calibrate does), or choose a grid that divides every distance"
        )


def _ratio(scale: Real, unit: Fraction) -> float:
    """scale / unit, rounded down: a smaller scale loses more, so the loss stays an upper bound."""
    return max(0.0, float_down(as_fraction(scale) / unit))


def _check(noise: object) -> None:
    if not isinstance(noise, Laplace):
        raise BadNoise(f"expected a noise such as fugu.Laplace(scale), got {type(noise).__name__}")
    if math.isinf(float(noise.scale)):
        raise BadNoise("the scale is beyond the range of doubles")
