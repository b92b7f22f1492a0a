"""What the mechanisms of paper 000 scale their noise to, as rows: a distance, the loss it promises, the loss it has.

Every distance is worth a noise at one fixed promise, so distances of different mechanisms can be held against the noise
that these laws need: fugu's best is given as the distance that would ask for as much of the same noise.

- GWM (Theorem 3.3): W_inf. Gaussian noise of deviation sqrt(alpha / (2 epsilon)) W_inf has D_alpha <= epsilon.
- DAGWM (Corollary 4.1, alpha = k = 2, lambda read as a scale): W_2. Cauchy noise of scale W_2 / sqrt(e^epsilon - 1) has
  D_2 <= log(1 + (W_2 / scale)^2) = epsilon; the exact term is half as large.
- GAWM (Theorem 4.3, with R_inf for the R_alpha of its pure part): closeness. Laplace noise of scale W / epsilon gives
  (epsilon + log 1/(1 - delta), delta)."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from fugu.calibration.driver import NoiseName, calibrate
from fugu.guarantee import Approx, Renyi
from fugu.guarantee.curve import Guarantee
from fugu.laws import Discrete, LawPair
from fugu.laws.pair import PairsLike, as_pairs
from fugu.loss import delta, renyi
from fugu.noise import Gaussian, GeneralizedCauchy, Laplace
from fugu.transport.matching import closeness
from fugu.transport.wasserstein import wasserstein
from fugu_papers.amount import amount
from fugu_papers.experiment import Row

ORDER, BUDGET = 2, 0.1
"""The promise at which distances are compared: a divergence of order 2 of at most 0.1."""
CAUCHY_UNIT = 1 / math.sqrt(math.expm1(BUDGET))
"""How much Cauchy noise a distance of 1 asks for, by the printed rule."""
LOSS = "Rényi divergences of order 2 (of GAWM: epsilon at its delta)"
_HALVINGS = 30

CHOSEN = (
    (
        "Distances are compared at one promise: D_2 <= 0.1 with Gaussian noise for W_inf and the width, with Cauchy "
        "noise for W_2; (0.1 + log 1/(1 - delta), delta) with Laplace noise for closeness. fugu's best is the distance "
        "that would ask for as much of the same noise as it adds. On whole numbers it adds whole numbers: as much is "
        "what errs as much."
    ),
    (
        "lambda of the Cauchy mechanism is read as a scale; as a rate, which its density says it is, it protects less "
        "than it promises (fugu errata P-lemma-D.1)."
    ),
)


def discrete(pairs: PairsLike) -> list[tuple[Discrete, Discrete]]:
    """The two laws of every pair with atoms on a line."""
    both = ((pair.p, pair.q) for pair in as_pairs(pairs) if isinstance(pair, LawPair))
    return [(p, q) for p, q in both if isinstance(p, Discrete) and isinstance(q, Discrete)]


def farthest(pairs: PairsLike, order: float = math.inf) -> float:
    """The largest W of this order over the pairs."""
    return max(wasserstein(p, q, order) for p, q in discrete(pairs))


def closest(pairs: PairsLike, spare: float) -> float:
    """The largest distance within which all but `spare` of the mass of a pair is matched."""
    return max(closeness(p, q, spare) for p, q in discrete(pairs))


def beyond(pairs: PairsLike, distance: float) -> float:
    """The mass that finds no partner within the distance, to nine digits: the least delta with that closeness."""
    return _least(lambda spare: closest(pairs, spare) <= distance, 0.0, 1 - 1e-9)


def width(pairs: PairsLike) -> float:
    """How far apart two values are at most: the sensitivity of a published value under differential privacy."""
    values = [float(x) for both in discrete(pairs) for law in both for x in law.values]
    return max(values) - min(values)


def least(pairs: PairsLike, budget: Guarantee, noise: NoiseName) -> float:
    """The least of this noise that is proved to keep the budget, as an `amount`; 0 if the laws alone do."""
    return amount(calibrate(pairs, budget, noise=noise).noise)


def wasserstein_row(
    case: tuple[str, ...],
    method: str,
    pairs: PairsLike,
    distance: float,
    printed: str | None = None,
    note: str = "",
    budget: float = BUDGET,
) -> Row:
    """Gaussian noise scaled to a distance: W_inf is that of GWM, the width that of differential privacy."""
    unit = math.sqrt(ORDER / (2 * budget))
    truth = renyi(Gaussian(distance * unit), pairs, ORDER)
    best = least(pairs, Renyi(ORDER, budget), "gaussian") / unit
    return Row(case, method, printed, distance, budget, truth, best, note=note)


def cauchy_row(
    case: tuple[str, ...], method: str, pairs: PairsLike, distance: float, printed: str | None = None, note: str = ""
) -> Row:
    """Cauchy noise scaled to a distance of order 2, by the printed rule."""
    truth = renyi(GeneralizedCauchy(distance * CAUCHY_UNIT), pairs, ORDER)
    best = least(pairs, Renyi(ORDER, BUDGET), "cauchy") / CAUCHY_UNIT
    return Row(case, method, printed, distance, BUDGET, truth, best, note=note)


def approximate_row(
    case: tuple[str, ...],
    method: str,
    pairs: PairsLike,
    distance: float,
    spare: float,
    printed: str | None = None,
    note: str = "",
) -> Row:
    """Laplace noise scaled to a closeness, at delta = `spare`."""
    claim = (BUDGET if distance else 0) + math.log(1 / (1 - spare))
    truth = epsilon_at(Laplace(distance / BUDGET), pairs, spare)
    best = least(pairs, Approx(claim, spare), "laplace") * BUDGET
    return Row(case, method, printed, distance, claim, truth, best, note=note)


def epsilon_at(noise: Laplace, pairs: PairsLike, spare: float) -> float:
    """The least epsilon with delta(epsilon) <= `spare`, to nine digits, from above."""
    high = 1.0
    while delta(noise, pairs, high) > spare:
        high *= 2
    return _least(lambda epsilon: delta(noise, pairs, epsilon) <= spare, 0.0, high)


def compared(name: str, pairs: Sequence[LawPair], spare: float, cauchy: bool = True) -> list[Row]:
    """GWM, GAWM and DAGWM side by side, for the worst of the pairs; `cauchy`: whether the last is among them."""
    found = [
        wasserstein_row((name,), "GWM, W_inf", pairs, farthest(pairs)),
        approximate_row((name,), f"GAWM, delta {spare:g}", pairs, closest(pairs, spare), spare),
    ]
    return [*found, cauchy_row((name,), "DAGWM, W_2", pairs, farthest(pairs, 2))] if cauchy else found


def _least(holds: Callable[[float], bool], low: float, high: float) -> float:
    """Where something begins to hold, if it goes on to hold from there and does at `high`; the side that holds."""
    if holds(low):
        return low
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
