"""Descent on the exact curve: the covariance of least cost above a floor, for laws of two different covariances.

Minimise cost(floor I + R R') over R, subject to ln(delta / loss) >= 0 for both orders of every pair that binds: the
cone needs no constraint, and loss and slope come from one integral (`slope`). Sequential quadratic programming (Kraft
1988) from a given start. What it ends at is enlarged until the loss is met, so a slip costs noise, never privacy."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance.cost import Cost
from fugu.calibration.covariance.optimal import roots
from fugu.calibration.covariance.scaling import excesses, raised
from fugu.calibration.covariance.slope import divergence, log_delta
from fugu.calibration.covariance.standard import Laws
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences

Array = NDArray[np.float64]
_ROUNDS = 12
"""How often a pair that is not met may join those that bind."""
_MOST = 300
_CLOSE = 1e-10
_NEAR = 0.5
"""Pairs that use at least this share of the budget at the start bind from the start."""
_SPREAD = 1e-4
"""Directions without noise start with this share of the largest variance: at 0 the slope in R vanishes."""
_CEILING = 50.0


def descend(start: Array, floor: float, laws: Laws, ask: Ask, cost: Cost) -> Array:
    """A covariance >= floor I that meets the budget and costs no more than `start`, which does both."""
    binding = [k for k, loss in enumerate(excesses(start, laws, ask)) if loss >= _NEAR]
    best, S = start, start
    for _ in range(_ROUNDS):
        S = _descended(S, floor, laws.only(binding or [0]), ask, cost)
        losses = excesses(S, laws, ask)
        best = _better(best, S, floor, laws, ask, cost)
        worst = int(np.argmax(losses))
        if losses[worst] <= 1 + 1e-6 or worst in binding:
            break
        binding.append(worst)
    return best


def _better(best: Array, S: Array, floor: float, laws: Laws, ask: Ask, cost: Cost) -> Array:
    """S, made enough, if it then costs less."""
    if cost.value(S) >= cost.value(best):
        return best
    try:
        found = raised(S, floor, laws, ask)
    except NotProvable:
        return best
    return found if cost.value(found) < cost.value(best) else best


def _descended(start: Array, floor: float, laws: Laws, ask: Ask, cost: Cost) -> Array:
    """The end of one descent, in units in which the cost of noise is of order 1."""
    from scipy.optimize import minimize

    d = len(start)
    root, back = roots(cost.weight, d)
    values, vectors = np.linalg.eigh(root @ (start - floor * np.eye(d)) @ root)
    size = max(float(values[-1]), 1e-300)
    R = vectors * np.sqrt(np.maximum(values, _SPREAD * size) / size)
    unit = max(abs(cost.value(start)), 1e-300)
    last: list[tuple[bytes, Array, Array]] = []

    def noise(x: Array) -> Array:
        Q = x.reshape(d, d)
        return np.asarray(floor * np.eye(d) + size * (back @ Q @ Q.T @ back))

    def pulled(slope: Array, x: Array) -> Array:
        """The gradient in R of a function with this gradient in S."""
        return np.asarray(2 * size * (back @ slope @ back @ x.reshape(d, d)).ravel())

    def room(x: Array) -> tuple[Array, Array]:
        key = x.tobytes()
        if not last or last[0][0] != key:
            S = noise(x)
            found = list(_rooms(S, laws, ask))
            last[:] = [(key, np.array([v for v, _ in found]), np.array([pulled(g, x) for _, g in found]))]
        return last[0][1], last[0][2]

    def price(x: Array) -> tuple[float, Array]:
        S = noise(x)
        return cost.value(S) / unit, pulled(cost.slope(S), x) / unit

    met = {"type": "ineq", "fun": lambda x: room(x)[0], "jac": lambda x: room(x)[1]}
    options = {"maxiter": _MOST, "ftol": _CLOSE}
    try:
        done = minimize(price, R.ravel(), jac=True, method="SLSQP", constraints=[met], options=options)
    except np.linalg.LinAlgError:  # a law that is flat somewhere
        return start
    found = noise(done.x)
    return np.asarray((found + found.T) / 2) if np.isfinite(found).all() else start


def _rooms(S: Array, laws: Laws, ask: Ask) -> Iterator[tuple[float, Array]]:
    """ln(budget / loss) and its gradient in S, for both orders of every pair."""
    for d, a, b in zip(laws.shift, laws.first, laws.second, strict=True):
        for sign, p, q in ((1.0, a + S, b + S), (-1.0, b + S, a + S)):
            if not isinstance(ask, Divergences):
                value, slope = log_delta(sign * d, p, q, float(ask.epsilon))
                yield min(_CEILING, math.log(ask.target) - value), -slope
                continue
            for alpha, epsilon in ask.orders:
                value, slope = divergence(sign * d, p, q, float(alpha))
                if math.isinf(value):
                    yield -_CEILING, np.eye(len(S))
                else:
                    value = max(value, 1e-300)
                    yield min(_CEILING, math.log(float(epsilon) / value)), -slope / value

