"""Paper 004: the printed mechanisms as noise, and the loss that they really have.

A mechanism is computed from means and covariances by its printed rule, with the printed constant sqrt(2 ln(1.25/delta)),
whatever its theorem asks for. Nothing here reaches `calibrate`."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import product
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.decoder import decode
from fugu.auditing.property_attack import drawn, steps_of
from fugu.calibration.covariance import dp, gaussian_length, group, laplace_length
from fugu.errors import UsageError
from fugu.loss.search.normal import fast_normal_delta
from fugu.loss.shifts.gaussian import classical_mu
from fugu.papers.chen_data import Question

Floats = NDArray[np.float64]
_FLAT = 1e-9
"""A direction with a smaller share of the largest variance gets no noise."""
_FAR = 4.0
"""The decoder looks for statistics within so many deviations of their means."""
_READ = 0.9


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
        return np.asarray((self.directions.T * variances) @ self.directions)

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
        return len(self.held) < self.directions.shape[1]

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
    """EigM (G), Algorithm 2: along the eigenvectors of the mean covariance, what its eigenvalues lack to |d|^2 / t^2."""
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
    return _everywhere(dp(laws.reach).l1 / epsilon, laws, laplace=True)


def record_gaussian(laws: Laws, epsilon: float, t: float) -> Added:
    """DP (G): the same with normal noise."""
    del epsilon
    return _everywhere(dp(laws.reach).l2 / t, laws)


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


def normal_delta(question: Question, covariance: Floats, epsilon: float) -> float:
    """delta(epsilon) of normal laws with the two true covariances and this normal noise, the worse order."""
    (m0, m1), (c0, c1) = question.means, question.covariances
    return fast_normal_delta(m0, c0 + covariance, m1, c1 + covariance, epsilon)


def normal_epsilon(question: Question, covariance: Floats, delta: float) -> float:
    """The least epsilon with delta(epsilon) <= delta in the Gaussian model, found in doubles and 1e-9 above its root."""
    from scipy.optimize import brentq

    def over(epsilon: float) -> float:
        return math.log(max(normal_delta(question, covariance, epsilon), 1e-300) / delta)

    if over(0.0) <= 0:
        return 0.0
    high = 1.0
    while over(high) > 0:
        high *= 2
    return float(brentq(over, 0.0, high, xtol=1e-12, rtol=1e-11)) * (1 + 1e-9)


@cache
def bare_epsilon(question: Question, delta: float) -> float:
    """The same without noise."""
    return normal_epsilon(question, np.zeros_like(question.covariances[0]), delta)


def ends_differ(question: Question) -> bool:
    """Whether the values that can occur depend on the share: then no pure epsilon holds for the bare statistics.

    Along s the largest value of n records, k of them with the property, is k h_1(s) + (n - k) h_0(s), with h the
    largest of one record; where h_1 and h_0 differ, one share reaches values that the other cannot."""
    having, lacking = question.model.having, question.model.lacking
    wide = np.maximum(np.ptp(np.concatenate([having, lacking]), axis=0), 1e-300)
    signs = _signs(len(wide), (-1.0, 0.0, 1.0)).T
    largest = [(records / wide @ signs).max(axis=0) for records in (having, lacking)]
    return bool(np.any(np.abs(largest[0] - largest[1]) > 1e-9))


def _signs(dimension: int, of: tuple[float, ...]) -> Floats:
    return np.array(list(product(of, repeat=dimension)))


def corner_epsilon(question: Question, scale: float) -> float:
    """A lower bound on the pure epsilon of independent Laplace noise of this scale b on the statistics as they are.

    Far out along signs s the ratio of the two densities of F + z tends to E_p e^(s'F/b) / E_q e^(s'F/b). With records
    drawn independently and k of them exchanged this is k |ln M_1(s/b) - ln M_0(s/b)|, where M_1 and M_0 are the moment
    generating functions of one record with the property, and of one without."""
    model = question.model
    factors = np.array([float(a) for a in model.factors])
    signs = _signs(len(factors), (-1.0, 1.0))

    def logs(records: Floats) -> Floats:
        parts = (records * factors) @ signs.T / scale
        top = parts.max(axis=0)
        return np.asarray(top + np.log(np.exp(parts - top).mean(axis=0)))

    return model.swapped * float(np.abs(logs(model.having) - logs(model.lacking)).max())


def decoded_share(question: Question, noise: Added, rng: np.random.Generator, outputs: int = 40) -> float:
    """Which share of outputs the lattice decoder reads exactly; 0 if there is noise in every direction.

    Statistics must lie on a lattice. Noise in several directions leaves many candidates: then fewer outputs are tried,
    and none where there are too many."""
    steps = steps_of(question.model)
    if not noise.deficient or steps is None:
        return 0.0
    if len(noise.held) == 0:
        return 1.0
    count = outputs if len(noise.held) == 1 else 4
    clean = drawn(question.model, question.model.counts[0])(rng, count)
    middle = np.mean(question.means, axis=0)
    spread = _FAR * np.sqrt(np.diag(question.covariances[0])) + np.abs(question.difference)
    ends = np.column_stack([np.floor((middle - spread) / steps) * steps, np.ceil((middle + spread) / steps) * steps])
    inside = np.all((clean >= ends[:, 0]) & (clean <= ends[:, 1]), axis=1)
    try:
        found = decode(clean + noise.draw(rng, count), noise.held, steps, ends)
    except UsageError:
        return 0.0
    exactly = np.abs(found.values - clean).max(axis=1) < steps.min() / 1000
    return float((found.decoded & exactly)[inside].mean())


@dataclass(frozen=True)
class Truth:
    """The loss of a printed mechanism: epsilon, None if only too little is known of it; and in words what it is."""

    epsilon: float | None
    note: str = ""


def true_loss(
    question: Question, method: str, noise: Added, claim: float, delta: float, rng: np.random.Generator
) -> Truth:
    """The epsilon that a mechanism really has: at delta for normal noise, the pure one for Laplace noise.

    Noise that leaves a direction out and is decoded counts for nothing: what is left is the loss of the statistics
    themselves. Laplace noise for two means: the bound of `corner_epsilon`, if it refutes the claim. For a group:
    `model.swapped` records are exchanged, not all."""
    model = question.model
    if noise.deficient:
        read = decoded_share(question, noise, rng)
        if read >= _READ:
            return _bare(question, noise, read, delta)
    if not noise.laplace:
        return Truth(normal_epsilon(question, noise.covariance, delta))
    scale = float(noise.scales[0])
    most = model.swapped * sum(float(x) for x in model.reach) / scale
    if method == "GDP (L)":
        return Truth(most, f"true: at most this, as {model.swapped} records are exchanged, not all {model.size}")
    least = 0.0 if noise.deficient else corner_epsilon(question, scale)
    if least > claim:
        return Truth(least, "true: at least this, as the two laws are not translates (their ratio far out)")
    return Truth(None, f"not settled: the true epsilon is at least {least:.3g} and at most {most:.3g}")


def _bare(question: Question, noise: Added, read: float, delta: float) -> Truth:
    told = f"the lattice decoder reads {read:.0%} of outputs exactly" if len(noise.held) else "no noise is added"
    if noise.laplace and ends_differ(question):
        return Truth(math.inf, f"{told} (D-theorem-5.3): no pure epsilon holds for the bare statistics")
    return Truth(bare_epsilon(question, delta), f"{told}: the loss is that of the bare statistics (D-theorem-5.3)")
