"""Record swaps under the reference's own records: Gaussian noise, and closeness, with a stated confidence.

With D_k = A (x_1 + ... + x_k - y_1 - ... - y_k) as in `fugu.scenario.swap`, joint convexity of the hockey stick gives

    HS_e(F + Z || F' + Z) <= E delta(e, |D_k|_2 / sigma),      Z ~ N(0, sigma^2 I), delta the Gaussian curve,

in both orders (delta depends on the length only). The expectation is over draws from the reference's records. It is
bounded by drawing, so what is found holds with a stated confidence over those draws: it is not a plain guarantee, and
no mechanism is made of it (the noise here is continuous, for analysis). The generator of the draws is the caller's.
The bound is for every number of swapped records 1 .. k at once, because the expectation need not grow with k
(docs/proofs/moves.md#record-swap-by-drawing)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee.numbers import check_epsilon
from fugu.loss.search.shifts import fast_gaussian_delta
from fugu.numbers.checks import is_share
from fugu.numbers.exact import Real, decimal_up, is_whole
from fugu.scenario.property_model import PropertyModel
from fugu.scenario.scenario import Scenario
from fugu.scenario.swap import model_of
from fugu.scenario.swap_draws import Floats, Uniform, from_generator, swaps

_PILOT = 100_000
_BINS = 20_000
_TABLE = 4_000_000
_TRIES = 20
_SLACK = 1 + 1e-9
"""Far above the rounding of the Gaussian curve in doubles, about 1e-12, and of the sums."""


@final
@dataclass(frozen=True)
class SwapBound:
    """What was found by drawing: with this confidence, delta is at most `bound` at this noise or distance."""

    value: float
    """sigma of the Gaussian noise, or the l1 distance W."""
    bound: float
    """An upper confidence bound of delta."""
    confidence: float
    records: int
    """The largest number of swapped records; every smaller one is covered as well."""
    draws: int
    kind: str

    def __str__(self) -> str:
        what = "Gaussian noise of sigma" if self.kind == "gaussian" else "closeness in the l1 norm within"
        return (
            f"{what} {self.value:.6g}: delta <= {self.bound:.4g} with confidence {self.confidence:.10g}, over "
            f"{self.draws} draws of up to {self.records} swapped records; not a plain guarantee"
        )


def swap_sigma(
    model: Scenario | PropertyModel,
    epsilon: Real,
    delta: Real,
    confidence: float = 1 - 1e-6,
    draws: int = 400_000,
    *,
    rng: np.random.Generator,
) -> SwapBound:
    """A small sigma for which, with this confidence, E delta(epsilon, |D_k|_2 / sigma) <= delta for every k.

    Parameters: `model`, a scenario made by `Scenario.from_property`, or its `property`; `epsilon`, a finite number >=
    0; `delta` in (0, 1); `confidence` in (0, 1); `draws`, how many swaps are drawn; `rng`, a `numpy.random.Generator`.

    Returns a `SwapBound`, which is not a guarantee by itself: it holds with the confidence stated. Raises `NotProvable`
    where so many draws prove no delta as small.

    sigma is sought on a pilot of its own. Then fresh draws bound each expectation by the empirical Bernstein inequality
    (`upper_mean`), with the error probability shared among all k and among the tries: try t = 1, 2, ... gets 2^-t."""
    found = model_of(model)
    check_epsilon(epsilon)
    if math.isinf(epsilon):
        raise BadBudget("an infinite epsilon promises nothing; give a finite one")
    error, target = _checked(delta, confidence, draws), float(delta)
    source = _source(rng)
    k = found.swapped
    farthest = float(np.linalg.norm([float(x) for x in found.reach]))
    if farthest == 0:
        return SwapBound(0.0, 0.0, confidence, k, 0, "gaussian")
    pilot = _lengths(found, min(draws, _PILOT), farthest, source)

    def bound(sigma: float, seen: NDArray[np.int64], share: float) -> float:
        """The upper bound at this sigma if all draws are distributed as those seen."""
        bins = seen.shape[1] - 1
        losses = fast_gaussian_delta(float(epsilon), farthest * k * np.arange(bins + 1) / bins / sigma)
        weights = seen / seen.sum(axis=1, keepdims=True)
        mean = weights @ losses
        variance = (weights * (losses - mean[:, None]) ** 2).sum(axis=1) * draws / (draws - 1)
        tops = losses[np.minimum(bins * np.arange(1, k + 1) // k + 2, bins)]
        return float(upper_mean(mean, variance, tops, draws, share).max())

    low, high = math.log(farthest) - 20, math.log(farthest) + 20
    for _ in range(32):
        middle = (low + high) / 2
        low, high = (middle, high) if bound(math.exp(middle), pilot, error / k / 2) > target else (low, middle)
    sigma = float(decimal_up(math.exp(high), 4))
    for attempt in range(1, _TRIES + 1):
        proved = bound(sigma, _lengths(found, draws, farthest, source), error / k / 2**attempt)
        if proved <= target:
            return SwapBound(sigma, proved, confidence, k, draws, "gaussian")
        sigma = float(decimal_up(sigma * 1.01, 4))
    raise NotProvable(f"{draws} draws bound no delta as small as {target:g} at this confidence; ask for more draws")


def swap_closeness(
    model: Scenario | PropertyModel,
    delta: Real,
    confidence: float = 1 - 1e-6,
    draws: int = 400_000,
    *,
    rng: np.random.Generator,
) -> SwapBound:
    """A distance W with, at this confidence, P(|D_k|_1 > W) <= delta for every k: the laws are (W, delta)-close.

    Of N draws W is the (j + 1)-th largest, j the largest number with P(Bin(N, delta) <= j) <= a: if W were too small,
    at most j draws would reach the true quantile, which each does with probability >= delta."""
    from scipy.stats import binom

    found = model_of(model)
    error = _checked(delta, confidence, draws)
    k = found.swapped
    level = error / k
    j = int(binom.ppf(level, draws, float(delta)))
    while j >= 0 and binom.cdf(j, draws, float(delta)) > level * (1 - 1e-9):
        j -= 1
    if j < 0:
        raise NotProvable(f"{draws} draws show no quantile of order {float(delta):g}; ask for more draws")
    source = _source(rng)
    lengths = np.concatenate([np.abs(d).sum(axis=2) for d in swaps(found, draws, source)])
    widest = float(np.partition(lengths, draws - 1 - j, axis=0)[draws - 1 - j].max())
    return SwapBound(widest * _SLACK, float(delta), confidence, k, draws, "closeness")


def upper_mean(mean: Floats, variance: Floats, top: Floats, n: int, error: float) -> Floats:
    """Above the mean of the law with probability >= 1 - error, for n independent values in [0, top].

    mean + sqrt(2 V ln(2/error) / n) + 7 top ln(2/error) / (3 (n - 1)), V the sample variance (Maurer and Pontil 2009,
    Theorem 4, scaled).

    >>> upper_mean(np.array([0.5]), np.array([0.0]), np.array([1.0]), 1001, 0.05).round(6)
    array([0.508607])
    """
    odds = math.log(2 / error)
    bound = mean + np.sqrt(2 * variance * odds / n) + 7 * top * odds / (3 * (n - 1))
    return np.asarray(np.minimum(bound, top) * _SLACK)


def _lengths(model: PropertyModel, n: int, farthest: float, source: Uniform) -> NDArray[np.int64]:
    """How many of n draws have |D_j|_2 in each of the bins, for j = 1 .. k; bin i ends at farthest k i / bins.

    Lengths are rounded up to the end of their bin, which only raises a loss that grows with the length."""
    k = model.swapped
    bins = max(2000, min(_BINS, _TABLE // k))
    found = np.zeros((k, bins + 1), dtype=np.int64)
    for drawn in swaps(model, n, source):
        ends = np.minimum(np.ceil(np.linalg.norm(drawn, axis=2) * (bins / (farthest * k))), bins).astype(np.int64)
        for j in range(k):
            found[j] += np.bincount(ends[:, j], minlength=bins + 1)
    return found


def _source(rng: object) -> Uniform:
    if not isinstance(rng, np.random.Generator):
        raise UsageError(
            f"rng must be a numpy Generator, whose draws the confidence is about, got {type(rng).__name__}"
        )
    return from_generator(rng)


def _checked(delta: Real, confidence: float, draws: int) -> float:
    """1 - confidence, once all three make sense."""
    if not is_share(delta):
        raise BadBudget(f"delta must be a number in (0, 1), got {delta!r}")
    if not is_share(confidence):
        raise UsageError(f"confidence must be a number in (0, 1), got {confidence!r}")
    if not is_whole(draws, least=1000):
        raise UsageError(f"draws must be a whole number of at least 1000, got {draws!r}")
    return 1 - float(confidence)
