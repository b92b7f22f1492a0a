"""Paper 004: the printed mechanisms as noise.

Each is computed from means and covariances by its printed rule, with the printed constant sqrt(2 ln(1.25/delta)),
whatever its theorem asks for. Nothing here reaches `calibrate`; `chen_truth` says what losses they have."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.covariance import gaussian_length, group, laplace_length, record_group
from fugu_papers.chen_data import Question
from fugu_papers.normal_curve import classical_mu

Floats = NDArray[np.float64]
_FLAT = 1e-9
"""A direction with a smaller share of the largest variance gets no noise."""


@dataclass(frozen=True, eq=False)
class Added:
    """Noise that is added: z = directions' rows times independent numbers, each normal or Laplace with its scale."""

    directions: Floats
    scales: Floats
    laplace: bool = False

    @property
    def covariance(self) -> Floats:
        """That of z."""
        variances = (2 if self.laplace else 1) * self.scales**2
        found = (self.directions.T * variances) @ self.directions
        return np.asarray((found + found.T) / 2)

    @property
    def error(self) -> float:
        """E |z|_2."""
        return laplace_length(self.scales) if self.laplace else gaussian_length(self.covariance)

    @property
    def held(self) -> Floats:
        """The directions that get noise, one a row."""
        return np.asarray(self.directions[self.scales > _FLAT * max(float(self.scales.max(initial=0.0)), 1e-300)])

    @property
    def deficient(self) -> bool:
        """Whether some direction gets none."""
        return bool(len(self.held) < self.directions.shape[1])

    def draw(self, rng: np.random.Generator, count: int) -> Floats:
        """`count` rows of noise."""
        shape = (count, len(self.scales))
        numbers = rng.laplace(size=shape) if self.laplace else rng.standard_normal(shape)
        return np.asarray((numbers * self.scales) @ self.directions)


@dataclass(frozen=True, eq=False)
class Laws:
    """All that a mechanism knows: the difference of two means, both covariances, how far records can move things."""

    difference: Floats
    covariances: tuple[Floats, Floats]
    reach: Floats
    size: int

    @staticmethod
    def of(question: Question) -> Laws:
        """The exact moments of the reference."""
        reach = np.array([float(x) for x in question.model.reach])
        return Laws(question.difference, question.covariances, reach, question.model.size)

    def fitted(self, rng: np.random.Generator, subsets: int = 1000) -> Laws:
        """As fitted from so many random subsets for each share: means and covariances of normal draws."""
        found = [rng.multivariate_normal(np.zeros(len(self.reach)), cov, subsets) for cov in self.covariances]
        moved = found[1].mean(axis=0) - found[0].mean(axis=0)
        one, other = (np.atleast_2d(np.cov(each.T)) for each in found)
        return Laws(self.difference + moved, (one, other), self.reach, self.size)


def _everywhere(scale: float, laws: Laws, laplace: bool = False) -> Added:
    d = len(laws.reach)
    return Added(np.eye(d), np.full(d, scale), laplace)


def _direction(laws: Laws) -> Floats:
    return laws.difference / float(np.linalg.norm(laws.difference))


def exp_laplace(laws: Laws, epsilon: float, t: float) -> Added:
    """ExpM (L), Theorem 5.1: scale |d|_1 / epsilon on each statistic."""
    del t
    return _everywhere(float(np.abs(laws.difference).sum()) / epsilon, laws, laplace=True)


def dir_laplace(laws: Laws, epsilon: float, t: float, norm: int = 2) -> Added:
    """DirM (L), Algorithm 1: along d, scale |d|_2 / epsilon."""
    del t
    length = float(np.linalg.norm(laws.difference, norm))
    return Added(_direction(laws)[None, :], np.array([length / epsilon]), laplace=True)


def dir_laplace_l1(laws: Laws, epsilon: float, t: float) -> Added:
    """The same with |d|_1 in place of |d|_2: evidently what Table 3 shows."""
    return dir_laplace(laws, epsilon, t, 1)


def exp_gaussian(laws: Laws, epsilon: float, t: float) -> Added:
    """ExpM (G), Theorem 5.2: deviation |d|_2 / t on each statistic."""
    del epsilon
    return _everywhere(float(np.linalg.norm(laws.difference)) / t, laws)


def eig_gaussian(laws: Laws, epsilon: float, t: float) -> Added:
    """EigM (G), Algorithm 2: along eigenvectors of the mean covariance, what eigenvalues lack to |d|^2 / t^2."""
    del epsilon
    _, vectors = np.linalg.eigh((laws.covariances[0] + laws.covariances[1]) / 2)
    spread = np.min([np.diag(vectors.T @ cov @ vectors) for cov in laws.covariances], axis=0)
    lacking = float(laws.difference @ laws.difference) / t**2 - spread
    return Added(np.asarray(vectors.T), np.sqrt(np.maximum(lacking, 0.0)))


def dau_gaussian(laws: Laws, epsilon: float, t: float) -> Added:
    """DauM (G), Algorithm 3: along d, variance |d|^2 / t^2 - 1 / (v' Sigma^-1 v), the larger of both shares."""
    del epsilon
    v = _direction(laws)
    kept = min(1 / float(v @ np.linalg.solve(cov, v)) for cov in laws.covariances)
    return Added(v[None, :], np.sqrt([max(0.0, float(laws.difference @ laws.difference) / t**2 - kept)]))


def group_laplace(laws: Laws, epsilon: float, t: float) -> Added:
    """GDP (L): all records may change."""
    del t
    return _everywhere(group(laws.reach, laws.size).l1 / epsilon, laws, laplace=True)


def group_gaussian(laws: Laws, epsilon: float, t: float) -> Added:
    """GDP (G): the same with normal noise."""
    del epsilon
    return _everywhere(group(laws.reach, laws.size).l2 / t, laws)


def record_laplace(laws: Laws, epsilon: float, t: float) -> Added:
    """DP (L): one record changes. It says nothing of shares."""
    del t
    return _everywhere(record_group(laws.reach, 1).l1 / epsilon, laws, laplace=True)


def record_gaussian(laws: Laws, epsilon: float, t: float) -> Added:
    """DP (G): the same with normal noise."""
    del epsilon
    return _everywhere(record_group(laws.reach, 1).l2 / t, laws)


Rule = Callable[[Laws, float, float], Added]
L1_RULE = "DirM (L) with |d|_1"
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "ExpM (L)": exp_laplace,
        "DirM (L)": dir_laplace,
        L1_RULE: dir_laplace_l1,
        "ExpM (G)": exp_gaussian,
        "EigM (G)": eig_gaussian,
        "DauM (G)": dau_gaussian,
        "GDP (L)": group_laplace,
        "GDP (G)": group_gaussian,
        "DP (L)": record_laplace,
        "DP (G)": record_gaussian,
    }
)
"""The mechanisms by their names in Table 2; each takes the laws, epsilon, and t = epsilon / sqrt(2 ln(1.25/delta))."""


def printed_noise(method: str, laws: Laws, epsilon: float, delta: float) -> Added:
    """The noise of a printed mechanism, with the printed constant."""
    return RULES[method](laws, epsilon, classical_mu(epsilon, delta))
