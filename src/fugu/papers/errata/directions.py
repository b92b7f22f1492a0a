"""[D] Noise along directions: norms, eigenvectors, and what is left across them."""

from __future__ import annotations

import math

from fugu.laws import Discrete, LawPair
from fugu.loss import epsilon
from fugu.loss.shifts.gaussian import gaussian_mu
from fugu.noise import Laplace
from fugu.papers.errata.finding import Finding, above, at_most
from fugu.papers.errata.registry import erratum


@erratum(
    "D-after-theorem-5.3",
    where="after Theorem 5.3, several directions",
    verdict="unsound for several directions",
    printed="Laplace noise of scale Delta / epsilon along each of k orthogonal directions, Delta in the l2 norm.",
    corrected="Scale sup |V'b|_1 / epsilon: the loss is an l1 norm.",
    section="d-several-directions-the-wrong-norm",
)
def several_directions() -> Finding:
    shift = (1 / math.sqrt(2), 1 / math.sqrt(2))

    def loss(scale: float) -> float:
        return sum(epsilon(Laplace(scale), LawPair(Discrete([0]), Discrete([x]))) for x in shift)

    return Finding(
        "two directions, a shift of l2 length 1 along the diagonal, epsilon 1",
        at_most("epsilon at the printed scale", loss(math.hypot(*shift)), 1),
        at_most("epsilon at the scale of the l1 norm", loss(sum(shift)), 1),
    )


@erratum(
    "D-theorem-5.5",
    where="Theorem 5.5, approximate eigenvectors",
    verdict="unsound for approximate eigenvectors",
    printed="For covariances whose eigenvectors differ slightly, the mechanism may be used with approximations.",
    corrected="Add the least covariance S with Sigma + S >= d d' / t^2.",
    section="d-theorem-55-eigenvectors-must-be-eigenvectors",
)
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


@erratum(
    "D-algorithm-3",
    where="Algorithm 3, sigma^2 > 0",
    verdict="a variance of 0 must be allowed",
    printed="The variance along v is the root sigma^2 > 0 of a determinant.",
    corrected="It is max(0, a^2 / t^2 - 1 / (v' Sigma^-1 v)), which may be 0.",
    section="d-theorem-b4-noise-that-need-not-be-there",
)
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


@erratum(
    "D-section-6.1",
    where='Section 6.1, "slightly weaker guarantees"',
    verdict="false along a direction",
    printed="If the statistics are only approximately normal translates, guarantees are slightly weaker.",
    corrected="A difference of the covariances across v stays, however large the noise along v is.",
    section="d-section-61-slightly-weaker-guarantees",
)
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
