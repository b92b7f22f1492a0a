"""`fugu.epsilon` and `fugu.delta`: the tight loss of a noise on law pairs, as floats at or above the truth."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np

from fugu.errors import BadNoise
from fugu.guarantee import Approx
from fugu.laws.analytic import Analytic
from fugu.laws.discrete import Discrete
from fugu.laws.family import Family
from fugu.laws.items import Item, items
from fugu.laws.normal import Belief
from fugu.laws.pair import PairsLike, as_pairs
from fugu.loss.atoms.slack import largest_slack, require_exact
from fugu.loss.atoms.subnormal import worst_reading
from fugu.loss.bounds import Noise, delta_bounds, pure_bounds
from fugu.loss.search.laplace import delta_loss, pure_loss
from fugu.noise import Gaussian, Laplace, Lattice
from fugu.numbers.exact import Real, as_fraction, decimal_step, float_down, integers

_LARGEST_EPSILON = 10**6


def epsilon(noise: Noise, pairs: PairsLike) -> float:
    """The tight pure epsilon, max over pairs and both orders; inf if no finite epsilon holds.

    Laws without atoms are rounded onto the grid of lattice noise; without a grid they are taken as they are. Laws known
    up to an error (`law.error`) have no known epsilon and are refused. Vectors: exact on the product grid of
    coordinates (`fugu.loss.vectors.exact`) where it is small enough, else the bound by W_inf.

    >>> from fugu import Discrete, Laplace, LawPair, Normal
    >>> round(epsilon(Laplace(2.0), LawPair(Discrete([0]), Discrete([3]))), 9)
    1.5
    >>> round(epsilon(Laplace(1.8228756555), LawPair(Normal(0, 1), Normal(1, 2))), 8)
    1.0
    """
    _check(noise)
    known = as_pairs(pairs)
    if known[0].dimension > 1:
        from fugu.loss.vector_api import vector_epsilon

        return vector_epsilon(noise, known)
    return max(worst_reading(item, lambda read: _pure(read, noise)) for item in items(known))


def delta(noise: Noise, pairs: PairsLike, epsilon: Real) -> float:
    """The tight delta(epsilon), max over pairs and both orders of sup_S P(S) - e^epsilon Q(S).

    The lattice noise has its own, larger, delta: Lap(b) = DLap + R makes the continuous one a post-processing. Laws
    known up to total variation a and b (`law.error`) cost a + e^epsilon b more (`fugu.loss.atoms.slack`).

    >>> from fugu import Discrete, Laplace, LawPair
    >>> pair = LawPair(Discrete([0]), Discrete([3]))
    >>> round(delta(Laplace(2.0), pair, 1.0), 9), round(delta(Laplace(2.0, grid=1), pair, 1.0), 9)
    (0.221199217, 0.244918662)
    """
    _check(noise)
    Approx(epsilon, 0)  # validates epsilon
    if math.isinf(epsilon):
        epsilon = _LARGEST_EPSILON  # delta falls with epsilon
    known = as_pairs(pairs)
    if known[0].dimension > 1:
        from fugu.loss.vector_api import vector_delta_at

        return vector_delta_at(noise, known, as_fraction(epsilon))
    return min(1.0, max(worst_reading(item, lambda read: _delta(read, noise, epsilon)) for item in items(known)))


def _pure(item: Item, noise: Noise) -> float:
    if isinstance(item, Family):
        require_exact(item)
    if isinstance(item, Family) and (isinstance(noise, Laplace) or noise.scale == 0):
        whole, unit = in_units(item)
        if noise.grid is not None and noise.scale > 0:  # off the lattice nothing is finite; on it, both noises agree
            require_lattice(whole, noise.grid / unit)
        return pure_loss(whole, _ratio(noise.scale, unit)).value
    if isinstance(item, Analytic) and isinstance(noise, Laplace) and noise.grid is None:
        from fugu.loss.smooth.continuous import pure_epsilon

        return pure_epsilon(item.p.law, item.q.law, noise.scale)
    return max(loss.value for loss in pure_bounds(_on_grid(item, noise), noise, Fraction(0)))


def _delta(item: Item, noise: Noise, epsilon: Real) -> float:
    lattice = noise.grid is not None and noise.scale > 0
    if isinstance(item, Family) and (isinstance(noise, Laplace) or noise.scale == 0):
        whole, unit = in_units(item)
        if lattice and noise.grid is not None:
            require_lattice(whole, noise.grid / unit)
        grid = float(noise.grid / unit) if lattice and noise.grid is not None else None
        return delta_loss(whole, _ratio(noise.scale, unit), float(epsilon), grid).value
    if lattice:
        return max(loss.value for loss in delta_bounds(_on_grid(item, noise), noise, as_fraction(epsilon)))
    from fugu.loss.smooth.continuous import hockey_stick

    kind = "laplace" if isinstance(noise, Laplace) else "gaussian"
    blur = largest_slack(item, epsilon) if isinstance(item, Family) else 0.0
    return min(1.0, max(hockey_stick(p, q, kind, noise.scale, epsilon) for p, q in _laws(item)) + blur)


def _on_grid(item: Item, noise: Noise) -> Item:
    """Lattice indices for lattice noise: atoms must lie on the lattice, other laws are rounded onto it."""
    if noise.grid is None:
        return item
    if isinstance(item, Analytic):
        return item.on(Lattice(noise.grid))
    whole, unit = in_units(item)
    require_lattice(whole, noise.grid / unit)
    steps = [(Fraction(x) - Fraction(whole.points[0].item())) * unit / noise.grid for x in whole.points.tolist()]
    return replace(item, points=np.array([int(s) for s in steps], dtype=np.int64))


def _laws(item: Item) -> list[tuple[Belief, Belief]]:
    """The pairs of laws behind an item, for noise without a lattice."""
    if isinstance(item, Analytic):
        return [(item.p.law, item.q.law)]
    laws = [Discrete(item.points, law.parts if law.parts.dtype != np.float64 else law.floats()) for law in item.laws]
    return [(laws[i], laws[j]) for (i, j), _ in item.different] or [(laws[0], laws[0])]


def in_units(family: Family) -> tuple[Family, Fraction]:
    """The family with whole-number points and their unit where all atoms are decimals; else as it is, unit 1.

    1000000.2 - 1000000.1 is 0.1 for the user and not for the doubles: distances are taken between whole numbers."""
    step = decimal_step(family.points)
    if step is None:
        return family, Fraction(1)
    return replace(family, points=integers(family.points, step)), step


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
    if not isinstance(noise, Laplace | Gaussian):
        raise BadNoise(f"expected a noise such as fugu.Laplace(scale), got {type(noise).__name__}")
    if math.isinf(float(noise.scale)):
        raise BadNoise("the scale is beyond the range of doubles")
