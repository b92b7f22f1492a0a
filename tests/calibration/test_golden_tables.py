"""The scales of the issue and of theory/kantorovich-gaussian.md section 7, by every method."""

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
EXACT = {
    "table 1": (0,) * 10,
    "table 2": (0.11670001, 0.10738049, 0.10235422, 0.09890737, 0.09627158, 0.09412546, 0.09230529, 0.09071681,
        0.08930103, 0.08801868),
    "student": (1.57445711, 0.74161266, 0.40551368, 0, 0, 0, 0, 0, 0, 0),
    "census": (2.51424832, 1.72929329, 1.39013012, 1.18151050, 1.03075495, 0.91086288, 0.80911487, 0.71860607,
        0.63529116, 0.55675611),
    "bank": (0.76875821, 0.34292176, 0, 0, 0, 0, 0, 0, 0, 0),
}  # fmt: skip
PAPER = {  # condition (11) of the noise-reduction paper
    "table 1": (0.77577573, 0.53271314, 0.43919264, 0.38648322, 0.35137563, 0.32567841, 0.30569507, 0.28948793,
        0.27593238, 0.26432559),
    "table 2": (10, 5, 10 / 3, 2.5, 2, 10 / 6, 10 / 7, 1.25, 10 / 9, 1),
    "student": (3.39072263, 1.83973619, 1.31351801, 1.04482867, 0.87989322, 0.76728767, 0.68488096, 0.62155240,
        0.57108893, 0.52973960),
    "census": (10, 5, 10 / 3, 2.5, 2.05327037, 1.75548680, 1.54086387, 1.37835562, 1.25069823, 1.14752163),
    "bank": (2.52733042, 1.42045868, 1.04043300, 0.84405909, 0.72213164, 0.63799229, 0.57579849, 0.52755482,
        0.48877461, 0.45673741),
}  # fmt: skip
FOUR_FORMS = {
    "student": (2.69096818, 1.11783920, 0.53575643, 0, 0, 0, 0, 0, 0, 0),
    "bank": (1.51112331, 0.55202114, 0, 0, 0, 0, 0, 0, 0, 0),
}
CASES = [(name, k) for name in PRIORS for k in range(10)]


@pytest.mark.parametrize(("name", "k"), CASES)
def test_the_exact_scale_to_the_digits_printed(name, k):
    pair, budget, expected = PRIORS[name], Pure(EPSILONS[k]), EXACT[name][k]
    mechanism = calibrate(pair, budget)
    assert mechanism.noise.scale == pytest.approx(expected, abs=6e-9)
    assert mechanism.guarantee == budget
    assert verify(mechanism).holds and verify(mechanism, pair).holds
    if expected:  # and a scale 3 % smaller, or one hundred-millionth, breaks the budget
        assert epsilon(type(mechanism.noise)(mechanism.noise.scale * 0.97), pair) > EPSILONS[k] * 1.001
        assert epsilon(type(mechanism.noise)(mechanism.noise.scale * (1 - 1e-8)), pair) > EPSILONS[k]


@pytest.mark.parametrize(("name", "k"), CASES)
def test_the_paper_methods_stand_beside_it(name, k):
    rows = {row.method: row for row in compare(PRIORS[name], Pure(EPSILONS[k])).rows}
    assert rows["relaxed-paper"].scale == pytest.approx(PAPER[name][k], abs=6e-9)
    if name in FOUR_FORMS:
        assert rows["relaxed"].scale == pytest.approx(FOUR_FORMS[name][k], abs=6e-9)
    assert (
        rows["exact"].scale
        <= rows["relaxed"].scale
        <= rows["relaxed-paper"].scale
        <= rows["wasserstein"].scale * (1 + 1e-9)
    )
    assert rows["wasserstein"].scale <= rows["l1"].scale
    assert all(row.proven for row in rows.values())
    assert all(row.epsilon <= EPSILONS[k] * (1 + 1e-9) for row in rows.values())


@pytest.mark.parametrize(
    ("eps", "scale"), [(0.01, 1.967850421082), (0.02, 0.921310058587), (0.03, 0.527444058891), (0.04,
    0.216988359164)])  # fmt: skip
def test_table_1_needs_noise_only_below_its_own_log_ratio(eps, scale):
    assert calibrate(PRIORS["table 1"], Pure(eps)).noise.scale == pytest.approx(scale, rel=2e-9)
    assert calibrate(PRIORS["table 1"], Pure(0.0409)).noise.scale == 0


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
