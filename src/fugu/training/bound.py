"""What the last iterate of a noisy contraction reveals about all that was fed into it (corrected Theorem 5.2)."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

from fugu.errors import BadNoise, UsageError
from fugu.guarantee import Renyi
from fugu.guarantee.numbers import check_alpha, outward
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, VectorLike, as_fraction, is_whole
from fugu.training.allocation import squares
from fugu.training.laplace import price
from fugu.training.restart import least
from fugu.training.steps import UNIT, Steps

_FAR = 1e60
StepNoise = Real | VectorLike | Gaussian | Laplace
"""What each step adds to the iterate: a standard deviation, one per step, or continuous noise."""


def shift_bound(
    shifts: VectorLike,
    noise: StepNoise,
    alpha: Real,
    contraction: Real | VectorLike = 1.0,
    *,
    dimension: int = 1,
    diameter: Real | None = None,
) -> Renyi:
    """D_alpha between the last iterates of two runs, W_t = psi_t(W_{t-1}, x_t) + noise, is at most the least of

        sum_t R_alpha(noise_t, a_t),   z_t = c_t z_{t-1} + s_t - a_t >= 0,   z_0 = z_T = 0.

    Parameters:

    - `shifts`: s_t = sup_w |psi_t(w, x_t) - psi_t(w, x'_t)| (l2), one per step, under ONE coupling of the two whole
      data sequences, for all coupled values at once. Distances of single records are not that unless the records are
      independent: see `fugu.iterate.from_marginals` for the counterexample.
    - `noise`: the standard deviation of Gaussian noise added to the iterate, one number or one per step; or
      `fugu.Gaussian`, `fugu.Laplace` (independent in each of `dimension` coordinates).
    - `alpha`: a number above 1, or infinity (where only Laplace noise has a finite bound).
    - `contraction`: psi_t(., x) is c_t-Lipschitz, c_t <= 1; one number or one per step.
    - `diameter`: of the convex set onto which each step projects before the gradient, and the end; None without one.

    Returns `Renyi(alpha, epsilon)`, rounded up. Raises `UsageError`, `BadBudget` and `BadNoise` for other arguments.

    >>> [round(shift_bound(s, 1, 2).epsilon, 9) for s in ([4, 0, 0, 0], [0, 0, 0, 4])]  # early is hidden, late is not
    [4.0, 16.0]
    """
    check_alpha(alpha)
    if alpha != math.inf:
        above(alpha)
    laplace = isinstance(noise, Laplace)
    steps = Steps.read(shifts, scales_of(noise), contraction)
    width = read_diameter(diameter)
    if not is_whole(dimension, least=1):
        raise UsageError(f"dimension must be a whole number of at least 1, got {dimension!r}")
    if laplace:
        order = math.inf if math.isinf(alpha) else above(alpha)
        found = least(steps, width, lambda some: price(some, order, dimension))
        return Renyi(alpha, up(found))
    found = least(steps, width, squares)
    if math.isinf(alpha):
        return Renyi(alpha, math.inf if found else 0)
    return Renyi(alpha, up(found, as_fraction(alpha) / 2))


def above(x: Real) -> float:
    """A float at or above the number that is meant; R_alpha does not decrease in alpha."""
    if x > _FAR:
        raise UsageError(f"orders and diameters above {_FAR:g} are not offered; alpha=inf is the pure guarantee")
    return float(x) * (1 + 2 * UNIT)


def up(value: float, factor: Fraction = Fraction(1)) -> float:
    """value * factor, from above."""
    return outward(Fraction(value) * factor) if math.isfinite(value) else math.inf


def scales_of(noise: Any) -> Any:
    """The scale of the noise, or of each step's."""
    if isinstance(noise, Laplace | Gaussian):
        if noise.grid is not None:
            raise BadNoise("training noise is continuous (in the real-arithmetic model); leave the grid out")
        return float(noise.scale)
    if noise is None or isinstance(noise, bool | str) or hasattr(noise, "expected_error"):
        raise BadNoise("noise must be the standard deviation added to the iterate, or fugu.Gaussian or fugu.Laplace")
    return noise


def read_diameter(diameter: Real | None) -> float | None:
    """The diameter of the domain, checked; None for no domain."""
    if diameter is None:
        return None
    if not is_number(diameter) or not 0 < diameter < math.inf:
        raise UsageError("the diameter of the domain must be a finite number above 0, or None for no domain")
    return above(diameter)
