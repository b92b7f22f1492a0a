"""[D] Noise along directions: norms, eigenvectors, and what is left across them."""

from __future__ import annotations

import math

from fugu.laws import Discrete, LawPair
from fugu.loss import epsilon
from fugu.loss.shifts import gaussian_mu
from fugu.noise import Laplace
from fugu_papers.errata.finding import Finding, above, at_most
from fugu_papers.errata.registry import refutes


@refutes("D-after-theorem-5.3")
def several_directions() -> Finding:
    shift = (1 / math.sqrt(2), 1 / math.sqrt(2))

    def loss(scale: float) -> float:
        return sum(epsilon(Laplace(scale), LawPair(Discrete([0]), Discrete([x]))) for x in shift)

    return Finding(
        "two directions, a shift of l2 length 1 along the diagonal, epsilon 1",
        at_most("epsilon at the printed scale", loss(math.hypot(*shift)), 1),
        at_most("epsilon at the scale of the l1 norm", loss(sum(shift)), 1),
    )


@refutes("D-theorem-5.5")
def theorem_5_5() -> Finding:
    import numpy as np

    from fugu.calibration.covariance import optimal_covariance

    t = gaussian_mu(1, 0.001)
    sigma, d = np.full((2, 2), 10.0) + 1e-9 * np.eye(2), t * math.sqrt(5) * np.array([1, -1])
    printed = np.diag(np.maximum(0, d @ d / t**2 - np.diag(sigma)))  # along the axes
    right = optimal_covariance([d], [sigma], t).covariance

    def apart(noise: np.ndarray) -> float:
        return math.sqrt(float(d @ np.linalg.solve(sigma + noise, d)))

    return Finding(
        "all entries of the covariance near 10, the axes taken for its eigenvectors, (1, 0.001)",
        at_most("the distance of the two laws with the printed noise, in deviations,", apart(printed), t),
        at_most("the same with the least covariance", apart(right), t * (1 + 1e-9)),
    )


@refutes("D-algorithm-3")
def algorithm_3() -> Finding:
    import numpy as np

    t, sigma, d = gaussian_mu(1, 0.001), np.array([[22.0, -6.0], [-6.0, 13.0]]), np.array([1.0, -1.0])
    v = d / np.linalg.norm(d)
    root = float(d @ d / t**2 - 1 / (v @ np.linalg.solve(sigma, v)))
    noisy = sigma + max(0.0, root) * np.outer(v, v)
    return Finding(
        "the paper's own covariance ((22, -6), (-6, 13)), a shift of (1, -1), (1, 0.001), by the exact curve",
        above("the variance that solves the equation", root, 0),
        at_most(
            "the distance of the laws with variance 0, in deviations,", math.sqrt(d @ np.linalg.solve(noisy, d)), t
        ),
    )


@refutes("D-section-6.1")
def section_6_1() -> Finding:
    import numpy as np

    from fugu.loss.search.normal import fast_normal_delta

    here, there, far = np.diag([1.0, 1.0]), np.diag([1.0, 1.3]), np.array([1.0, 0.0])

    def delta(noise: np.ndarray) -> float:
        return float(fast_normal_delta(np.zeros(2), here + noise, far, there + noise, 0.2))

    return Finding(
        "variances 1 and 1.3 across v, noise of variance a million, epsilon 0.2",
        at_most("delta with noise along v", delta(np.diag([1e6, 0.0])), 0.001),
        at_most("delta with noise in every direction", delta(np.diag([1e6, 1e6])), 0.001),
    )
