"""Paper 001: the rules for the scale of noise as they are printed, and what fugu takes in their place.

Those for mixtures, Theorem 2 and Corollary 2, are not sound (`fugu errata G-theorem-2`). They are here to be shown
beside what they really give; nothing that calibrates imports this file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np

from fugu.calibration.driver import calibrate
from fugu.guarantee import Approx, Pure
from fugu.laws import Discrete, LawPair, Normal, NormalMixture
from fugu.laws.components import Components
from fugu.loss import delta as true_delta
from fugu.loss import epsilon as true_epsilon
from fugu.loss.search.couplings import tau
from fugu.noise import Gaussian, Laplace
from fugu_papers.amount import amount
from fugu_papers.ding_exact import least_continuous
from fugu_papers.experiment import Row

NormalLike = Normal | NormalMixture
GAUSSIAN = "Gaussian noise, (16)"
"""Condition (16) of section VI-B, solved: the paper states it and leaves it there. Values are standard deviations."""


def weights_by_w2(p: Components, q: Components) -> np.ndarray:
    """The weights w* of Theorem 2: a coupling of components, optimal for (mean gap)^2 + (std gap)^2."""
    from scipy.optimize import linprog

    cost = (p.means[:, None] - q.means) ** 2 + (p.stds[:, None] - q.stds) ** 2
    rows, columns = cost.shape
    sums = np.vstack([np.kron(np.eye(rows), np.ones(columns)), np.kron(np.ones(rows), np.eye(columns))])
    share = np.concatenate([p.weights / p.weights.sum(), q.weights / q.weights.sum()])
    found: Any = linprog(cost.ravel() / max(float(cost.max()), 1e-300), A_eq=sums, b_eq=share, method="highs")
    plan: np.ndarray = found.x.reshape(rows, columns)
    return plan


def theorem_2(p: NormalLike, q: NormalLike, epsilon: float, delta: float) -> float:
    """(13): the mean over coupled components of |mean gap| + tau |std gap|, over epsilon. Not sound.

    >>> nobody, somebody = NormalMixture([3, 1], [0, 0], [1, 1]), NormalMixture([3, 1], [0, 100], [1, 1])
    >>> round(theorem_2(nobody, somebody, 1, 0.01), 9), true_delta(Laplace(25), LawPair(nobody, somebody), 1) > 0.15
    (25.0, True)
    """
    mine, theirs = p.components(), q.components()
    spread = np.abs(mine.stds[:, None] - theirs.stds)
    reach = tau(delta) * spread if spread.any() else spread
    moved = np.abs(mine.means[:, None] - theirs.means) + reach
    return float((weights_by_w2(mine, theirs) * moved).sum()) / epsilon


def corollary_2(weights: Sequence[float], here: Sequence[float], there: Sequence[float], epsilon: float) -> float:
    """(15): the mean of |mean gap| over components of equal weights and spreads, over epsilon. Not sound."""
    return sum(w * abs(a - b) for w, a, b in zip(weights, here, there, strict=True)) / epsilon


def equation_11(mean: float, std: float, users: int, epsilon: float, delta: float) -> float:
    """(11): (|mean| + (sqrt K - sqrt(K - 1)) std tau) / epsilon, for one of K users with the same law.

    >>> round(equation_11(1, 5, 10, 1, 0.3), 8)
    1.84094993
    """
    return (abs(mean) + (math.sqrt(users) - math.sqrt(users - 1)) * std * tau(delta)) / epsilon


def least(pair: LawPair, epsilon: float, delta: float, noise: Literal["laplace", "gaussian"] = "laplace") -> float:
    """The least scale of this noise that fugu proves; 0 if the laws need none. For values with atoms: its `amount`."""
    budget = Approx(epsilon, delta) if delta else Pure(epsilon)
    found = calibrate(pair, budget, noise=noise).noise
    return amount(found) if isinstance(pair.p, Discrete) else float(getattr(found, "scale", 0.0))


def laplace_row(
    case: tuple[str, ...], method: str, scale: float, pair: LawPair, epsilon: float, delta: float, best: float,
    note: str = "", limit: float | None = None,
) -> Row:  # fmt: skip
    """A rule for Laplace noise: its scale, the delta it claims at epsilon and the one it has, fugu's best."""
    truth = true_delta(Laplace(scale), pair, epsilon)
    known = 0.0 if limit is None and best == 0 else limit
    return Row(case, method, None, scale, delta, truth, best, known, note=note)


def pure_row(
    case: tuple[str, ...], method: str, scale: float, pair: LawPair, epsilon: float, best: float, note: str = ""
) -> Row:
    """A rule for Laplace noise that claims epsilon without any delta: the epsilon that it really has."""
    return Row(case, method, None, scale, epsilon, true_epsilon(Laplace(scale), pair), best, note=note)


def gaussian_row(case: tuple[str, ...], p: NormalLike, q: NormalLike, epsilon: float, delta: float) -> Row:
    """Condition (16), met with equality: the least standard deviation of Gaussian noise, and the one that is proved."""
    pair, std = LawPair(p, q), least_continuous(p, q, "gaussian", epsilon, delta)
    truth, best = true_delta(Gaussian(std), pair, epsilon), least(pair, epsilon, delta, "gaussian")
    return Row(case, GAUSSIAN, None, std, delta, truth, best, None if best else 0.0)


def without_delta(scale: float, pair: LawPair) -> str:
    """What Laplace noise of this scale gives without any delta, in words."""
    return f"without a delta it gives epsilon {true_epsilon(Laplace(scale), pair):.5g}"


def with_delta(scale: float, pair: LawPair, epsilon: float) -> str:
    """What it gives at this epsilon, in words."""
    return f"at epsilon {epsilon:g} its delta is at most {true_delta(Laplace(scale), pair, epsilon):.5g}"
