"""How much noise a mechanism adds, in the unit of the rules in print: the scale of continuous noise.

fugu's noise for whole numbers lives on whole numbers. There a scale says little: Laplace noise of scale 0.37 on the
integers errs by 0.14 in the mean, continuous noise of that scale by 0.37."""

from __future__ import annotations

import math

from fugu.noise import Gaussian, Laplace


def amount(noise: object) -> float:
    """The scale of continuous noise of the same kind that errs as much: E|N| of Laplace noise, the standard deviation
    of Gaussian noise; the scale itself where errors have no mean; 0 for no noise.

    >>> amount(Laplace(2)), round(amount(Laplace(2, grid=1)), 6), round(amount(Gaussian(0.5, grid=1)), 6), amount(None)
    (2.0, 1.919035, 0.463695, 0.0)
    """
    if isinstance(noise, Laplace):
        return float(noise.expected_error())
    if isinstance(noise, Gaussian):
        return math.sqrt(noise.expected_error("squared"))
    return float(getattr(noise, "scale", 0.0))
