"""Logistic regression by Newton's method: the guesser of paper 004, without a further dependency."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
_STEPS = 60


def fit_logistic(x: Floats, y: Floats, strength: float = 1.0) -> tuple[Floats, float]:
    """w and b that minimise |w|^2 / 2 + strength sum ln(1 + e^(-s (w'x + b))), s = 2 y - 1, by Newton's method.

    `x`: one row a data set; `y`: 0 or 1. The objective is that of scikit-learn's logistic regression; steps are halved
    until it falls, so every start converges.

    >>> w, b = fit_logistic(np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([0.0, 0, 1, 1]))
    >>> round(float(w[0]), 6), round(b, 6)
    (0.958286, -1.437429)
    """
    middle = x.mean(axis=0)
    z = np.column_stack([x - middle, np.ones(len(x))])  # the intercept is free, so moving x moves it only
    ridge = np.append(np.ones(x.shape[1]), 0.0)
    sign = 2 * y - 1

    def value(theta: Floats) -> float:
        return float(ridge @ theta**2) / 2 + strength * float(np.logaddexp(0, -sign * (z @ theta)).sum())

    theta, before = np.zeros(z.shape[1]), math.inf
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-np.clip(z @ theta, -700, 700)))
        slope = ridge * theta + strength * z.T @ (p - y)
        bend = np.diag(ridge) + strength * (z.T * (p * (1 - p))) @ z
        step = np.linalg.solve(bend + 1e-12 * np.trace(bend) * np.eye(len(bend)), slope)
        now, size = value(theta), 1.0
        while value(theta - size * step) > now and size > 1e-9:
            size /= 2
        theta = theta - size * step
        if before - now <= 1e-14 * abs(now):
            break
        before = now
    return theta[:-1], float(theta[-1] - theta[:-1] @ middle)


def accuracy(theta: tuple[Floats, float], x: Floats, y: Floats) -> float:
    """The share of right guesses."""
    return float(np.mean((x @ theta[0] + theta[1] > 0) == (y > 0.5)))
