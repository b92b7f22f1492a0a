"""Columns of Table 4 of the noise-reduction paper: the exact scale is the least, and the paper's rules are above it.

The printed digits are compared in papers/tests/test_yang.py."""

from __future__ import annotations

import math

import pytest

from fugu import Approx, Discrete, LawPair, Pure, calibrate, compare, epsilon, verify
from fugu.errors import NotProvable

CENSUS = ((636, 613, 12243, 368, 798, 766, 211, 6, 7), (890, 2554, 14473, 721, 1536, 636, 1264, 13, 1))
PRIORS = {
    "table 1": LawPair(Discrete([0, 1], [0.52, 0.48]), Discrete([0, 1], [0.5, 0.5])),
    "table 2": LawPair(
        Discrete(range(4), [0.50001, 0, 0.00001, 0.49998]), Discrete(range(4), [0.49996, 0.00001, 0, 0.50003])),
    "student": LawPair(Discrete([0, 1], [376, 204]), Discrete([0, 1], [34, 35])),
    "census": LawPair(Discrete(range(9), CENSUS[0]), Discrete(range(9), CENSUS[1])),
    "bank": LawPair(Discrete(range(3), [4660, 1663, 921]), Discrete(range(3), [22554, 11127, 4286])),
}  # fmt: skip
EPSILONS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
CASES = [("table 1", 0.02), *((name, k) for name in PRIORS for k in EPSILONS)]


@pytest.mark.parametrize(("name", "budget"), CASES)
def test_the_exact_scale_is_the_least(name, budget):
    pair = PRIORS[name]
    mechanism = calibrate(pair, Pure(budget))
    assert mechanism.guarantee == Pure(budget)
    assert verify(mechanism).holds and verify(mechanism, pair).holds
    if mechanism.noise.scale:  # and a scale 3 % smaller, or one hundred-millionth, breaks the budget
        assert epsilon(type(mechanism.noise)(mechanism.noise.scale * 0.97), pair) > budget * 1.001
        assert epsilon(type(mechanism.noise)(mechanism.noise.scale * (1 - 1e-8)), pair) > budget


@pytest.mark.parametrize(("name", "budget"), CASES)
def test_the_paper_methods_stand_beside_it(name, budget):
    rows = {row.method: row for row in compare(PRIORS[name], Pure(budget)).rows}
    assert (
        rows["exact"].scale
        <= rows["relaxed"].scale
        <= rows["relaxed-paper"].scale
        <= rows["wasserstein"].scale * (1 + 1e-9)
    )
    assert rows["wasserstein"].scale <= rows["l1"].scale
    assert all(row.proven for row in rows.values())
    assert all(row.epsilon <= budget * (1 + 1e-9) for row in rows.values())


def test_the_worst_case_of_wasserstein_is_flagged():
    rows = {row.method: row for row in compare(PRIORS["table 2"], Pure(1)).rows}
    assert rows["wasserstein"].scale == rows["l1"].scale == 3
    assert "equal to l1" in rows["wasserstein"].note
    census = {row.method: row for row in compare(PRIORS["census"], Pure(1)).rows}
    assert census["wasserstein"].scale == 2 < census["l1"].scale == 8
    assert not census["wasserstein"].note


def test_closeness_moves_all_but_delta():
    """Fig 1 of the distribution paper: W_inf 97, but (1, 0.1)-close."""
    pair = LawPair(Discrete([1, 2, 100], [6, 2, 2]), Discrete([1, 2, 3, 100], [4, 3, 2, 1]))
    scales = {
        d: next(r.scale for r in compare(pair, Approx(1, d)).rows if r.method == "closeness")
        for d in (0.0999, 0.1, 0.3)
    }
    assert scales == {0.0999: 97, 0.1: 1, 0.3: 0}
    for d, scale in scales.items():
        assert calibrate(pair, Approx(1, d)).noise.scale <= scale


@pytest.mark.parametrize("delta", [1e-14, 1e-9, 1e-3, 0.05])
def test_the_exact_approximate_scale_is_tight(delta):
    from fugu import Laplace
    from fugu import delta as loss

    pair = LawPair(Discrete([1, 2, 100], [6, 2, 2]), Discrete([1, 2, 3, 100], [4, 3, 2, 1]))
    mechanism = calibrate(pair, Approx(1, delta))
    assert mechanism.certificate.proved["delta"] <= delta
    assert verify(mechanism).holds
    assert loss(Laplace(mechanism.noise.scale * 0.999, grid=mechanism.noise.grid), pair, 1) > delta


def test_plain_differential_privacy_is_a_special_case_without_excess():
    mechanism = calibrate(LawPair(Discrete([0]), Discrete([3])), Pure(0.1), grid=1)
    assert mechanism.noise.scale == 30  # sensitivity / epsilon, not a digit more


def test_epsilon_zero_is_refused_with_the_reason():
    with pytest.raises(NotProvable, match="epsilon 0"):
        calibrate(PRIORS["student"], Pure(0))
    same = Discrete([0, 1])
    assert calibrate(LawPair(same, Discrete([0, 1], [5, 5])), Pure(0)).noise.scale == 0
    mechanism = calibrate(PRIORS["student"], Approx(0, 0.01))
    assert mechanism.noise.scale > 0 and verify(mechanism).holds
    assert math.isinf(next(r.scale for r in compare(PRIORS["student"], Approx(0, 0.01)).rows if r.method == "l1"))
