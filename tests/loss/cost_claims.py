"""What is claimed of the transport cost in doubles: how exact it is, and where it is convex."""

from __future__ import annotations

from fugu.loss.cost import ShiftNoise, finite_order
from fugu.noise.cauchy import GeneralizedCauchy
from fugu.noise.gaussian import Gaussian
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, as_fraction

_ULP = 2.0**-53


def convex_cost(noise: ShiftNoise, alpha: Real) -> bool:
    """Whether c is proved convex in u, so that in one dimension the monotone coupling minimises E c.

    >>> convex_cost(GeneralizedCauchy(1), 1.5), convex_cost(GeneralizedCauchy(1), 1.4)
    (True, False)
    """
    a = finite_order(alpha)
    if isinstance(noise, GeneralizedCauchy):
        return as_fraction(noise.tail) * (a - 1) >= 1
    return isinstance(noise, Laplace | Gaussian)


def log_cost_error(noise: ShiftNoise, alpha: Real) -> float:
    """A relative error that `log_cost` keeps, provided that numpy's exp, expm1, log and log1p are within 4 ulp.

    Laplace: each of the three positive terms is a product of at most 4 rounded numbers and an e2, whose condition in
    its argument (3 roundings) is at most max(2, x); e2 itself is a positive series, or a difference that loses at most
    a factor 5; log1p divides the error by its condition, at least 1 and at least x: below 128 roundings. Gaussian: 5.
    Cauchy, whole nu: each Horner step rounds 4 times, all terms positive, and in logarithms 3 nu roundings of the
    result: (8 nu + 64). Other nu: the balls, rounded once.
    """
    a = finite_order(alpha)
    if not isinstance(noise, GeneralizedCauchy):
        return 512 * _ULP
    nu = as_fraction(noise.tail) * (a - 1) / 2
    return (8 * int(nu) + 64) * _ULP if nu.denominator == 1 else 8 * _ULP
