"""delta(epsilon) of independent lattice Gaussian noise on laws of vectors: the analytic curve, averaged over a plan.

Joint convexity of the hockey stick: delta(epsilon) <= E gdelta(epsilon, |X - Y| / sigma) for every coupling. On a
lattice, sigma^2 is replaced by sigma^2 - tau grid^2 and epsilon by epsilon - 2 kappa, kappa below 1e-30: the lattice
noise is, up to factors e^kappa, a post-processing of the narrower continuous one
(docs/proofs/correlated.md#3-on-points-a-post-processing-of-narrower-continuous-noise)."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction

import numpy as np
from flint import arb, fmpz

from fugu.errors import NotProvable
from fugu.laws.masses import Masses
from fugu.loss.normal.smoothing import TAU, eta
from fugu.loss.search.shifts import fast_gaussian_log_delta
from fugu.loss.shifts.gaussian import ball_delta
from fugu.noise import Gaussian
from fugu.numbers import balls
from fugu.transport.cells import SubCoupling
from fugu.transport.plan import optimal_plan
from fugu.transport.space import Space

_PRECISION = 192
_SLACK = Fraction(1, 10**25)
"""At least 2 kappa; checked."""


def smooth_delta(space: Space, unit: int, noise: Gaussian, epsilon: Fraction, plan: SubCoupling) -> float:
    """A bound on delta(epsilon) from one plan, in balls and rounded up. `unit` is the space's unit in lattice steps.

    The space is in the norm 2. Mass that the plan leaves where it is counts in full."""
    room = 1 / (2 * noise.precision) - TAU
    if room <= TAU:
        raise NotProvable("the Gaussian noise is too narrow against its grid; choose a finer grid")
    apart = space.x[plan.rows] - space.y[plan.columns]
    squares, where = np.unique((apart * apart).sum(axis=1), return_inverse=True)  # below 2^62: `in_space`
    sums = [0] * len(squares)
    for k, mass in zip(np.asarray(where).ravel().tolist(), plan.masses.tolist(), strict=True):
        sums[k] += mass
    left, more = _left(epsilon)
    with balls.precision(_PRECISION):
        kappa = _kappa(space.x.shape[1])
        mean = arb(fmpz(plan.total - sum(sums)))
        for square, mass in zip(squares.tolist(), sums, strict=True):
            if square:
                mean += arb(fmpz(mass)) * _curve(left, square * unit**2 / room)
        found = kappa.exp() * (mean / arb(fmpz(plan.total)) + (more if squares.any() else arb(0)))
        return min(1.0, max(0.0, balls.upper(found)))


def _kappa(dimension: int) -> arb:
    """kappa with e^-kappa <= lattice noise / post-processed continuous noise <= e^kappa, 2 kappa within the slack."""
    h = eta(TAU, dimension)
    kappa = ((1 + h) / (1 - h)).log()
    if not 2 * kappa <= balls.of(_SLACK):
        raise NotProvable("too many coordinates for the smoothing bound")
    return kappa


def _left(epsilon: Fraction) -> tuple[Fraction, arb]:
    """epsilon - 2 kappa from below, and what must be added to delta where that is negative: HS_{-x} <= HS_0 + x."""
    return (epsilon - _SLACK, arb(0)) if epsilon >= _SLACK else (Fraction(0), balls.of(_SLACK))


def _curve(epsilon: Fraction, square: Fraction) -> arb:
    """gdelta(epsilon, sqrt(square))."""
    return ball_delta(epsilon, lambda: balls.of(square).sqrt())


def smooth_plan(space: Space, unit: int, noise: Gaussian, epsilon: Fraction) -> SubCoupling:
    """A plan that makes the bound small."""
    width = float(1 / (2 * noise.precision) - TAU) ** 0.5
    apart = space.x[:, None, :].astype(np.float64) - space.y[None, :, :].astype(np.float64)
    moved = np.sqrt((apart * apart).sum(axis=2)) * unit / width
    costs = np.full(moved.shape, -np.inf)
    far = moved > 0
    costs[far] = fast_gaussian_log_delta(float(epsilon), moved[far])
    total = Fraction(space.total)
    return optimal_plan(costs, Masses(space.a, total), Masses(space.b, total))


def wide(noise: Gaussian) -> bool:
    """Whether lattice Gaussian noise has enough steps for the smoothing bound."""
    return noise.grid is not None and 1 / (2 * noise.precision) > 2 * TAU


def shift_delta(steps: float, dimension: int, noise: Gaussian, epsilon: Fraction) -> float:
    """The bound where every value moves by at most that many steps in l2."""
    if not wide(noise):
        return 1.0
    with balls.precision(_PRECISION):
        return min(1.0, balls.upper(shift_curve(dimension, noise, epsilon)(Fraction(steps) ** 2))) if steps else 0.0


def shift_curve(dimension: int, noise: Gaussian, epsilon: Fraction) -> Callable[[Fraction], arb]:
    """The bound as a function of the squared number of steps > 0, in balls, for noise that is `wide`."""
    left, more = _left(epsilon)
    share, room = _kappa(dimension).exp(), 1 / (2 * noise.precision) - TAU
    return lambda square: share * (_curve(left, square / room) + more)
