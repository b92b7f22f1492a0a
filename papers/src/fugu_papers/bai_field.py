"""Theorem 9 as printed, and the exact influence in a truncated Gaussian field of three entries.

x is normal with Cov(x_j, x_k) = exp(-(j - k)^2 / l), given |x_j| <= g for all j; a secret is an interval of width w
that holds x_i. The theorem takes x_i given the seen entries as normal, N(mu, s^2), and sweeps mu. Over the means that
seen entries in the box can cause, |mu| <= g |weights|_1, the sweep ends at the two end intervals of the box and the
largest mu. For b >= 2 the true density of x_i has another factor, the chance that the entries set aside stay inside."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from flint import arb, arb_mat
from numpy.typing import NDArray

from fugu.numbers import balls

_BITS = 512
_POINTS = 60
WIDTH = 0.1


def kernel(size: int, decay: float) -> list[list[float]]:
    """The covariance of the field."""
    return [[math.exp(-((j - k) ** 2) / decay) for k in range(size)] for j in range(size)]


def conditional(decay: float, node: int, seen: Sequence[int]) -> tuple[arb, arb]:
    """Of x_i given the seen entries: the l1 norm of the weights of its mean, and what they explain of its variance."""
    rate = arb(decay)

    def near(j: int, k: int) -> arb:
        return (-arb((j - k) ** 2) / rate).exp()

    inner = arb_mat([[near(j, k) for k in seen] for j in seen])
    cross = arb_mat([[near(j, node)] for j in seen])
    weights = inner.solve(cross)
    explained = sum((cross[j, 0] * weights[j, 0] for j in range(len(seen))), arb(0))
    return sum((abs(weights[j, 0]) for j in range(len(seen))), arb(0)), explained


def precision_gained(decay: float, node: int, seen: Sequence[int]) -> float:
    """kappa = 1 / Var(x_i | x_L) - 1 / Var(x_i)."""
    with balls.precision(_BITS):
        _, explained = conditional(decay, node, seen)
        return float((explained / (1 - explained)).mid())


def farthest(size: int, node: int, aside: int) -> tuple[int, ...]:
    """The entries that stay seen when `aside` of them, x_i among them, are set aside: the farthest ones."""
    order = sorted(range(size), key=lambda j: (-abs(j - node), j))
    return tuple(sorted(order[: size - aside]))


def theorem_9(size: int, decay: float, box: float, node: int, aside: int, width: float = WIDTH) -> float:
    """The printed influence a(b) of entry `node`, b = `aside`, over the means that can occur."""
    with balls.precision(_BITS):
        norm, explained = conditional(decay, node, farthest(size, node, aside))
        mean, spread = box * float(norm.mid()), float((1 - explained).sqrt().mid())
    return log_between(box - width, box, mean, spread) - log_between(-box, width - box, mean, spread)


def log_between(low: float, high: float, mean: float, spread: float) -> float:
    """log P(low <= N(mean, spread^2) <= high), also far out in a tail, by quadrature of the density."""
    points, weights = _rule(low, high)
    return _log_sum(-(((points - mean) / spread) ** 2) / 2, weights) - math.log(spread * math.sqrt(2 * math.pi))


def exact_of_three(decay: float, box: float, width: float = WIDTH) -> float:
    """The true log-ratio of the end intervals of x_2 at x_1 = g, x_3 set aside (b = 2): a lower bound of a(2).

    By symmetry the end intervals are equally likely, so the ratio given x_1 is the influence there."""
    from scipy.special import log_ndtr

    near, far = math.exp(-1 / decay), math.exp(-4 / decay)
    first, second = (far - near * near) / (1 - near**2), (near - near * far) / (1 - near**2)
    spread = math.sqrt(1 - first * far - second * near)

    def inside(y: NDArray[np.float64]) -> NDArray[np.float64]:
        """log P(|x_3| <= g | x_1 = g, x_2 = y)."""
        mean = first * box + second * y
        near_end, far_end = (box - np.abs(mean)) / spread, (-box - np.abs(mean)) / spread
        return np.asarray(log_ndtr(near_end) + np.log1p(-np.exp(log_ndtr(far_end) - log_ndtr(near_end))))

    def held(low: float) -> float:
        points, weights = _rule(low, low + width)
        return _log_sum(-((points - near * box) ** 2) / (2 * (1 - near**2)) + inside(points), weights)

    return held(box - width) - held(-box)


def _rule(low: float, high: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    x, w = np.polynomial.legendre.leggauss(_POINTS)
    return (low + high) / 2 + (high - low) / 2 * x, (high - low) / 2 * w


def _log_sum(logs: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    top = float(logs.max())
    return top + math.log(float(weights @ np.exp(logs - top)))
