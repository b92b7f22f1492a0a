"""Paper 004: the loss that the printed mechanisms really have.

Normal noise: proved in the Gaussian model with the two true covariances, which the paper takes for one. Noise that
leaves a direction out: none is left of it where the lattice decoder reads the statistics. Laplace noise: from the
records themselves, without any model."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from numpy.typing import NDArray

from fugu.auditing.attack import drawn, steps_of
from fugu.auditing.guessers import decode
from fugu.errors import UsageError
from fugu.laws import LawPair
from fugu.loss import delta as true_delta
from fugu.noise import Gaussian
from fugu_papers.chen_data import Question, laws
from fugu_papers.chen_noise import Added
from fugu_papers.normal_curve import gaussian_epsilon

Floats = NDArray[np.float64]
_FAR = 4.0
"""The decoder looks for statistics within so many deviations of their means."""
_READ = 0.9
"""Noise of which so large a share is decoded counts for nothing."""
_GRID = 2_000_000
"""The most points of a product grid."""
_SAME = 1e-6


def normal_delta(question: Question, covariance: Floats, epsilon: float) -> float:
    """delta(epsilon) of normal laws with the two true covariances and this normal noise, the worse order; proved."""
    return true_delta(Gaussian(0.0), LawPair(*laws(question, covariance)), epsilon)


def normal_epsilon(question: Question, covariance: Floats, delta: float) -> float:
    """The least epsilon with delta(epsilon) <= delta in the Gaussian model, up to 1e-10 of itself."""
    from scipy.optimize import brentq

    def over(epsilon: float) -> float:
        return math.log(max(normal_delta(question, covariance, epsilon), 1e-300) / delta)

    if over(0.0) <= 0:
        return 0.0
    noisy = (question.covariances[0] + question.covariances[1]) / 2 + covariance
    apart = math.sqrt(float(question.difference @ np.linalg.solve(noisy, question.difference)))
    low, high = 0.0, max(1.1 * gaussian_epsilon(delta, apart), 1e-3)  # of one covariance, and a little more
    while over(high) > 0:
        low, high = high, 1.5 * high
    return float(brentq(over, low, high, xtol=1e-12, rtol=1e-11)) * (1 + 1e-10)


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


def swap_epsilon(question: Question, scale: float) -> float:
    """An upper bound on the same epsilon, often the same number; inf where the grid below is too large.

    Exchange the k records one after the other. Each step changes the density of F + z at y from E g_1(y - R) to
    E g_0(y - R), R the rest of the records, g_1 and g_0 the densities of one record's part plus z: by a factor of at
    most sup_w g_1(w) / g_0(w), either way. Between the records' values that ratio is monotone in each coordinate, and
    beyond them constant, so its extremes are on the product grid of these values. For records drawn independently."""
    model = question.model
    factors = [float(a) for a in model.factors]
    axes = [np.unique(column) for column in np.concatenate([model.having, model.lacking]).T]
    if math.prod(map(len, axes)) > _GRID:
        return math.inf

    def log_density(records: Floats) -> Floats:
        spread = np.zeros([len(axis) for axis in axes])
        places = tuple(np.searchsorted(axis, column) for axis, column in zip(axes, records.T, strict=True))
        np.add.at(spread, places, 1 / len(records))
        for at, (axis, factor) in enumerate(zip(axes, factors, strict=True)):
            kernel = np.exp(-np.abs(axis[:, None] - axis[None, :]) * factor / scale)
            spread = np.moveaxis(np.tensordot(kernel, spread, axes=(1, at)), 0, at)
        return np.asarray(np.log(spread))

    return model.swapped * float(np.abs(log_density(model.having) - log_density(model.lacking)).max())


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
    themselves. Laplace noise for two means: between `corner_epsilon` and `swap_epsilon`; None if the claim lies
    between them. For a group: `model.swapped` records are exchanged, not all."""
    if noise.deficient:
        read = decoded_share(question, noise, rng)
        if read >= _READ:
            return _bare(question, noise, read, delta)
    if not noise.laplace:
        left = (
            "noise leaves a direction out, and was not decoded; true: in the Gaussian model" if noise.deficient else ""
        )
        return Truth(normal_epsilon(question, noise.covariance, delta), left)
    return _laplace(question, method, noise, claim)


def _laplace(question: Question, method: str, noise: Added, claim: float) -> Truth:
    """The pure epsilon of Laplace noise, from the records themselves."""
    model = question.model
    scale = float(noise.scales[0])
    group = model.swapped * sum(float(x) for x in model.reach) / scale
    if method == "GDP (L)":
        return Truth(group, f"true: at most this, as {model.swapped} records are exchanged, not all {model.size}")
    if noise.deficient:
        return Truth(None, "noise leaves a direction out, and was not decoded")
    least, most = corner_epsilon(question, scale), min(group, swap_epsilon(question, scale))
    if least > claim:
        known = "exactly this" if most <= least * (1 + _SAME) else "at least this"
        return Truth(least, f"true: {known}, from the records themselves: the two laws are not translates")
    if most <= claim:
        return Truth(most, "true: at most this, from the records themselves")
    return Truth(None, f"not settled: the true epsilon is at least {least:.3g} and at most {most:.3g}")


def _bare(question: Question, noise: Added, read: float, delta: float) -> Truth:
    told = f"the lattice decoder reads {read:.0%} of outputs exactly" if len(noise.held) else "no noise is added"
    if noise.laplace and ends_differ(question):
        return Truth(math.inf, f"{told} (D-theorem-5.3): no pure epsilon holds for the bare statistics")
    return Truth(bare_epsilon(question, delta), f"{told}: the loss is that of the bare statistics (D-theorem-5.3)")
