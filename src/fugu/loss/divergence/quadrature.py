"""Gauss-Legendre sums for positive integrands with a bounded logarithmic slope, with a proved relative error.

Let f > 0 on the line with |d ln f / dx| <= slope there, and |f(x + iy)| <= swell f(x) for |y| <= tall. On an interval
of half-length h, inside the Bernstein ellipse of parameter rho, |f| <= swell e^{slope h (rho + 1/rho)/2} f(centre),
while the integral is at least 2h e^{-slope h} f(centre). So by Trefethen (2013), Theorem 19.3, the rule with n + 1
nodes errs relatively by at most
    (32/15) rho^(-2n) / (1 - rho^-2) swell e^{slope h (1 + (rho + 1/rho)/2)}   if h (rho - 1/rho)/2 <= tall."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.numbers import balls

Floats = NDArray[np.float64]
NODES = 16
_PART = 2**16
_RHO = 6.0
TALL = (_RHO - 1 / _RHO) / 2
"""Height of the ellipse in half-lengths."""
_WIDE = (_RHO + 1 / _RHO) / 2


NODE_ERROR = 2.0**-51
"""Relative error of a weight, and error of a node in half-lengths, after rounding to doubles."""


@cache
def rule() -> tuple[Floats, Floats]:
    """Nodes and weights on [-1, 1], enclosed in balls and rounded to doubles."""
    with balls.precision(128):
        found = [arb.legendre_p_root(NODES, k, weight=True) for k in range(NODES)]
    return np.array([float(x) for x, _ in found]), np.array([float(w) for _, w in found])


def relative_error(slope: float, half: float, swell: float) -> float:
    """The bound above for half-length `half`, plus what inexact nodes (slope x half x error) and weights cost."""
    exact = 1.01 * 32 / 15 * _RHO ** (-2 * (NODES - 1)) / (1 - _RHO**-2) * swell * math.exp(slope * half * (1 + _WIDE))
    return exact + NODE_ERROR * (1 + 2 * slope * half)


def quadrature(log_f: Callable[[Floats], Floats], left: Floats, right: Floats) -> Floats:
    """ln of the rule's value on each interval [left, right], from ln f; points are computed as centre + half x node.

    Many intervals are taken in parts, so that memory stays small."""
    found = np.empty(left.size)
    for start in range(0, left.size, _PART):
        own = slice(start, start + _PART)
        found[own] = _part(log_f, left[own], right[own])
    return found


def _part(log_f: Callable[[Floats], Floats], left: Floats, right: Floats) -> Floats:
    x, w = rule()
    centre, half = 0.5 * (left + right), 0.5 * (right - left)
    nodes = centre[:, None] + half[:, None] * x[None, :]
    logs = log_f(nodes.ravel()).reshape(nodes.shape) + np.log(w)[None, :]
    top = logs.max(axis=1)
    found: Floats = np.log(np.exp(logs - top[:, None]).sum(axis=1)) + top + np.log(half)
    return found
