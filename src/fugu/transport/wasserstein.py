"""`wasserstein`: the transport distance between two laws, of numbers or of vectors, rounded up."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import UsageError
from fugu.laws import Discrete
from fugu.laws.masses import Masses
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.transport.bottleneck import bottleneck
from fugu.transport.coupling import Coupling, monotone, on_line
from fugu.transport.plan import optimal_plan
from fugu.transport.space import Space, in_plane, in_space

_BITS = 256


def wasserstein(p: Discrete, q: Discrete, order: Real = math.inf, norm: Real = 2) -> float:
    """W_r = min over couplings of (E |X - Y|^r)^(1/r); for r = inf the least W with |X - Y| <= W for sure.

    Parameters: `p`, `q` are two `Discrete` laws of one dimension; `order` is r, a number of at least 1, or infinity;
    `norm` is 1, 2 or infinity, the distance of vectors (all norms agree in one dimension).

    Returns a float at or above the exact value. Raises `UsageError` for other arguments, `BadLaw` for laws of
    different dimensions.

    Laplace noise of scale W_inf / epsilon gives Pure(epsilon) (Song, Wang, Chaudhuri 2017, Theorem 3.2). In
    one dimension the monotone coupling attains every order at once, so the Kantorovich mechanism, which takes
    the largest distance on the support of that W_1-optimal plan (Ding 2022), is the same mechanism. The mean
    cost itself, W_1 / epsilon, is not a scale that protects.

    Vectors: W_inf is exact (`bottleneck`), rounded up. A finite order is the cost of a plan with
    exact marginals, hence at or above W_r; how close depends on `optimal_plan`.

    >>> wasserstein(Discrete([0.1, 0.2], [0.9, 0.1]), Discrete([0.1, 0.4], [0.9, 0.1]))
    0.2
    >>> wasserstein(Discrete([0, 1]), Discrete([0, 5]), order=1)
    2.0
    >>> plane = Discrete([[0, 0], [3, 4]]), Discrete([[0, 0]])
    >>> wasserstein(*plane), wasserstein(*plane, norm=1), wasserstein(*plane, order=1)
    (5.0, 7.0, 2.5)
    """
    if isinstance(order, bool) or not isinstance(order, int | float | Fraction) or not order >= 1:
        raise UsageError(f"order must be a number of at least 1 (inf allowed), got {order!r}")
    if in_plane(p, q):
        space = in_space(p, q, norm)
        return bottleneck(space, Fraction(0))[0] if math.isinf(order) else planned(space, as_fraction(order))
    line = on_line(p, q, norm)
    plan = monotone(line.points, line.p, line.q)
    unit = Fraction(1) if line.unit is None else line.unit
    largest = _times(plan.distances.max(), unit)
    if math.isinf(order) or largest in (0.0, math.inf):
        return largest
    return min(largest, mean_cost(plan, as_fraction(order), unit))


def w_inf_index(points: NDArray[np.int64], p: Masses, q: Masses) -> int:
    """W_inf of two laws on lattice indices, in lattice steps, exactly."""
    return int(monotone(points, p, q).distances.max())


def planned(space: Space, order: Fraction) -> float:
    """The cost of a plan between laws of vectors, in balls; at most its largest distance."""

    def log_cost(i: NDArray[np.int64], j: NDArray[np.int64]) -> NDArray[np.float64]:
        with np.errstate(divide="ignore"):
            steps = np.log(space.keys(i, j).astype(np.float64))
        return float(order) * (steps / 2 if space.squared else steps)

    plan = optimal_plan(log_cost, Masses(space.a, Fraction(space.total)), Masses(space.b, Fraction(space.total)))
    keys = space.keys(plan.rows, plan.columns)
    largest = space.distance(keys.max())
    if largest in (0.0, math.inf):
        return largest
    unit = Fraction(1) if space.unit is None else space.unit
    with balls.precision(_BITS):
        powers = zip(plan.masses.tolist(), space.power(keys, order), strict=True)
        mean = sum((balls.of(m) * d for m, d in powers), start=arb(0)) / balls.of(plan.total)
        root = mean if order == 1 else mean ** (1 / balls.of(order))
        return min(largest, balls.upper(root * unit.numerator / unit.denominator))


def _times(distance: Any, unit: Fraction) -> float:
    """distance * unit rounded up; doubles come with unit 1 and are rounded up already."""
    return float_up(int(distance) * unit) if isinstance(distance, np.integer) else float(distance)


def mean_cost(plan: Coupling, order: Fraction, unit: Fraction) -> float:
    """unit (sum m d^r / total)^(1/r) in balls, so that the float is at or above it."""
    cells = zip(plan.masses.tolist(), plan.distances.tolist(), strict=True)
    with balls.precision(_BITS):
        r = balls.of(order)
        cost = sum((balls.of(m) * balls.of(d) ** r for m, d in cells if d), start=arb(0))
        mean = cost / balls.of(plan.total)
        root = mean if order == 1 else mean ** (1 / r)
        return balls.upper(root * unit.numerator / unit.denominator)
