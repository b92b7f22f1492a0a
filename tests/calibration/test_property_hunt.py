"""Hard normal laws and budgets: no certificate may be issued for a true loss above the budget."""

from __future__ import annotations

import numpy as np
import pytest
from property_oracle import (
    PAPER,
    exact_covariance,
    loss_over_budget,
    normal,
    plane_delta,
    shift,
)

import fugu
from fugu import Approx, LawPair, Renyi
from fugu.errors import (
    NotProvable,
)
from hunting import search

HARD = {
    "nearly singular": (shift((1, 1), [[1, 1 - 1e-6], [1 - 1e-6, 1]]), Approx(1, 1e-3), {}),
    "nearly singular, across": (
        shift((1, -1), [[1, 1 - 1e-6], [1 - 1e-6, 1]]), Approx(1, 1e-3), {"declared_exact": True}),
    "very different scales": (shift((1e-3, 1e3), [[1e-6, 0], [0, 1e6]]), Approx(0.1, 1e-5), {}),
    "large means": (LawPair(normal([1e6, -1e6], PAPER), normal([1e6 + 10, -1e6 - 3], PAPER)), Approx(1, 1e-3), {}),
    "tiny delta": (shift((4, 3)), Approx(1, 1e-12), {}),
    "large epsilon": (shift((40, 3)), Approx(10, 1e-3), {}),
    "both": (shift((40, 3)), Approx(10, 1e-12), {}),
    "a grid at its limit": (shift((10, -10), [[9, 0], [0, 9]]), Approx(1, 1e-3), {"grid": 1}),
    "unequal, tiny delta": (
        LawPair(normal([3, 1], PAPER), normal([0, 0], [[20, -5], [-5, 14]])), Approx(1, 1e-12), {}),
    "unequal, one direction": (
        LawPair(normal([0, 0], [[1, 0], [0, 1]]), normal([0, 0], [[1, 0], [0, 4]])), Approx(1, 1e-3), {}),
    "unequal, along": (
        LawPair(normal([5, 0], [[1, 0], [0, 1]]), normal([0, 0], [[2, 0], [0, 1]])), Approx(1, 1e-2),
        {"declared_exact": True}),
}  # fmt: skip


@pytest.mark.parametrize("name", HARD)
def test_no_certificate_is_issued_for_a_loss_above_the_budget(name):
    pair, budget, wishes = HARD[name]
    mechanism = fugu.calibrate(pair, budget, **wishes)
    assert fugu.verify(mechanism, pair).holds
    if pair.p.cov == pair.q.cov:
        assert loss_over_budget(mechanism, [pair]) <= 1
        return
    reach = 9.0 if budget.delta > 1e-9 else 12.0
    true = plane_delta(pair, exact_covariance(mechanism), float(budget.epsilon), reach, reach / 600)
    assert 0.8 < true / budget.delta <= 1.0005


def test_six_dimensions_with_five_columns():
    rng = np.random.default_rng(5)
    A = rng.normal(size=(6, 6))
    cov = np.round(A @ A.T + np.eye(6), 3)
    pairs = [shift(np.round(30 * k * v, 3), (cov + cov.T) / 2) for k, v in enumerate(np.eye(6)[:5], start=1)]
    mechanism = fugu.calibrate(pairs, Approx(1, 1e-6))
    assert len(mechanism.noise.columns) >= 4 and fugu.verify(mechanism, pairs).holds
    assert 0.9 < loss_over_budget(mechanism, pairs) <= 1 < loss_over_budget(mechanism, pairs, 0.98)


def random_task(rng):
    """Laws of very different scales, nearly singular or far from zero, one to five pairs; any budget and wishes."""
    equal = rng.random() < 0.6
    d, count = (int(rng.integers(2, 7)), int(rng.integers(1, 6))) if equal else (2, int(rng.integers(1, 3)))
    units = 10.0 ** rng.uniform(-3, 3, size=d) if rng.random() < 0.5 else np.ones(d)
    A = rng.normal(size=(d, d))
    if rng.random() < 0.4:
        A[:, 0] = A[:, 1] * (1 + 1e-4 * rng.normal())
    cov = (A @ A.T + 10.0 ** rng.uniform(-6, 0) * np.eye(d)) * np.outer(units, units)
    cov = (cov + cov.T) / 2
    start = 1e6 * rng.normal(size=d) if rng.random() < 0.3 else np.zeros(d)
    pairs = []
    for _ in range(count):
        B = rng.normal(size=(d, d)) * rng.choice([0.02, 0.3, 1])
        other = cov if equal else cov + (B @ B.T) * np.outer(units, units)
        moved = start + rng.normal(size=d) * units * 10.0 ** rng.uniform(-1, 1.5)
        pairs.append(LawPair(normal(moved, cov), normal(start, (other + other.T) / 2)))
    approx = Approx(10.0 ** rng.uniform(-2, 1), 10.0 ** rng.uniform(-12, -1))
    budget = approx if rng.random() < 0.7 else Renyi(float(rng.choice([1.5, 2, 8, 32])), 10.0 ** rng.uniform(-2, 1))
    wishes = {"declared_exact": bool(rng.random() < 0.4)}
    if rng.random() < 0.3:
        wishes["grid"] = float(f"{10.0 ** rng.uniform(-3, 2) * units.min():.3g}")
    if rng.random() < 0.2:
        wishes["floor"] = float(10.0 ** rng.uniform(-9, 1) * np.trace(cov))
    if rng.random() < 0.5:
        wishes["method"] = str(rng.choice(["optimal", "eigenvector", "expected-value", "directional"]))
    return pairs, budget, wishes


@search("noise for random normal vectors, budgets and grids", quick=4)
def test_random_laws_budgets_and_grids_never_get_a_false_certificate(rng):
    pairs, budget, wishes = random_task(rng)
    try:
        mechanism = fugu.calibrate(pairs, budget, **wishes)
    except NotProvable:
        return 0
    assert fugu.verify(mechanism, pairs).holds
    extra = exact_covariance(mechanism)
    if "floor" in wishes:
        variances = [np.diag(law.cov_array) for pair in pairs for law in (pair.p, pair.q)]
        unit = np.sqrt(np.mean(variances, axis=0))  # a floor is in units of the statistics' own deviations
        own = np.array(extra, dtype=float) / np.outer(unit, unit)
        assert np.linalg.eigvalsh(own)[0] >= wishes["floor"] * (1 - 1e-6) - 1e-12 * float(own.max())
    if pairs[0].p.cov == pairs[0].q.cov or isinstance(budget, Renyi):
        assert loss_over_budget(mechanism, pairs) <= 1
        return 1
    reach = 9.0 if budget.delta > 1e-9 else 12.0
    for pair in pairs:
        assert plane_delta(pair, extra, float(budget.epsilon), reach, 0.02) <= budget.delta * 1.002
    return 1
