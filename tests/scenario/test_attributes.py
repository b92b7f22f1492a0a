"""Gaussian attributes: exact conditioning, the sign of the covariance, singular secrets, summaries over records."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fugu import Approx, Laplace, LawPair, Normal, Pure, Renyi, Scenario, Shifted, calibrate, delta, epsilon, verify
from fugu.errors import BadLaw, UsageError

TWO = [[2, -1], [-1, 3]]
THREE = [[2, -1, 0.5], [-1, 3, 0.2], [0.5, 0.2, 1]]
LAST_TWO = [[0, 1, 0], [0, 0, 1]]


def shift_of(scenario):
    (pair,) = scenario.law_pairs()
    return [float(b - a) for a, b in zip(pair.p.exact, pair.q.exact, strict=True)]


def test_reference_numbers():
    assert shift_of(Scenario.gaussian_attributes(TWO, 1, 0, box=(0, 5))) == [2.5]
    for how in ({"box": (0, 5)}, {"values": [0, 5]}, {"radius": 2.5}):
        found = np.array(shift_of(Scenario.gaussian_attributes(THREE, LAST_TWO, 0, **how)))
        assert list(found / found[0]) == [1, -0.5] and abs(found[0]) == 2.5
        assert np.linalg.norm(found) == pytest.approx(2.795084971875, abs=1e-12)
        assert np.abs(found).sum() == 3.75


def test_a_negative_covariance_needs_noise_all_the_same():
    """The printed maximum is at a = b, hence 0: no noise. Then the secret is plain."""
    scenario = Scenario.gaussian_attributes(TWO, 1, 0, box=(0, 5))
    assert epsilon(Laplace(2.45), scenario) > 1
    mechanism = calibrate(scenario, Pure(1))
    assert mechanism.noise.scale == 2.5 and verify(mechanism, scenario).holds


def test_conditioning_agrees_with_floats_on_random_matrices():
    rng = np.random.default_rng(1)
    for _ in range(20):
        root = rng.integers(-3, 4, (4, 6))
        sigma = root @ root.T + np.eye(4, dtype=int)
        m, n = rng.integers(-2, 3, (1, 4)), rng.integers(-2, 3, (2, 4))
        within = n @ sigma @ n.T
        if np.linalg.matrix_rank(within) < 2 or not m.any():
            continue
        mean = rng.integers(-5, 6, 4)
        slope = m @ sigma @ n.T @ np.linalg.inv(within)
        values = rng.integers(-4, 5, (3, 2))
        if len({tuple(v) for v in values}) < 3:
            continue
        scenario = Scenario.gaussian_attributes(sigma, m, n, values=values.tolist(), mean=mean)
        spread = m @ sigma @ m.T - slope @ within @ slope.T
        for law, value in zip(scenario.adversaries[0].values(), values, strict=True):
            wanted = (m @ mean + slope @ (value - n @ mean)).item()
            if isinstance(law, Normal):
                assert float(law.mean) == pytest.approx(wanted, abs=1e-9)
                assert float(law.std) == pytest.approx(np.sqrt(spread.item()), rel=1e-9)
                assert law.std**2 <= spread.item() * (1 + 1e-12)
        known = [[float(x) for x in row] for row in (slope @ np.diag([3, 7])).tolist()]
        box = Scenario.gaussian_attributes(sigma, m, n, box=[(0, 3), (-2, 5)])
        assert shift_of(box)[0] == pytest.approx(np.abs(known).sum(), rel=1e-9)
        ball = Scenario.gaussian_attributes(sigma, m, n, radius=3)
        assert shift_of(ball)[0] == pytest.approx(6 * np.linalg.norm(slope), rel=1e-9, abs=1e-12)
        assert shift_of(ball)[0] >= 6 * np.linalg.norm(slope) * (1 - 1e-12)


def test_in_a_box_every_vertex_is_covered_coordinate_by_coordinate():
    sigma = [[1, 0, 0.5, 0.5], [0, 1, 0.5, -0.5], [0.5, 0.5, 1, 0], [0.5, -0.5, 0, 1]]
    release, protect = [[0, 0, 1, 0], [0, 0, 0, 1]], [[1, 0, 0, 0], [0, 1, 0, 0]]
    (pair,) = Scenario.gaussian_attributes(sigma, release, protect, box=[(0, 2), (0, 2)]).law_pairs()
    corners = {c: np.array([c[0] + c[1], c[0] - c[1]]) for c in product((0, 1), repeat=2)}  # A (2 c)
    gaps = np.array([abs(a - b) for a in corners.values() for b in corners.values()])
    assert [abs(float(x)) for x in pair.q.exact] == gaps.max(axis=0).tolist() == [2, 2]
    assert not any(list(gap) == [2, 2] for gap in gaps), "no one pair attains both: this is the price of a box"
    listed = Scenario.gaussian_attributes(sigma, release, protect, values=list(product((0, 2), repeat=2)))
    assert (
        max(float(sum(abs(b - a) for a, b in zip(p.p.exact, p.q.exact, strict=True))) for p in listed.law_pairs()) == 2
    )


def test_the_normal_laws_themselves_need_less_noise_and_cover_every_secret_between():
    budget, mean = Approx(1, 0.05), [1, 2]
    shift = calibrate(Scenario.gaussian_attributes(TWO, 1, 0, box=(0, 5)), budget, noise="laplace")
    scenario = Scenario.gaussian_attributes(TWO, 1, 0, box=(0, 5), mean=mean)
    low, high = scenario.adversaries[0].values()
    assert {low.mean, high.mean} == {2.5, 0.0} and float(low.std) ** 2 == pytest.approx(2.5)
    mechanism = calibrate(scenario, budget, noise="laplace")
    assert mechanism.noise.scale < shift.noise.scale and verify(mechanism, scenario).holds
    rng = np.random.default_rng(4)
    for a, b in rng.uniform(0, 5, (6, 2)).round(3):
        inside = LawPair(*(Normal(2.5 - x / 2, low.std) for x in (a, b)))
        assert delta(mechanism.noise, inside, 1) <= 0.05
    outside = LawPair(Normal(2.5, low.std), Normal(2.5 - 5.5 / 2, low.std))
    assert delta(mechanism.noise, outside, 1) > 0.05


@pytest.mark.parametrize("budget", [Pure(1), Approx(0.5, 0.01), Renyi(alpha=2, epsilon=1)])
@pytest.mark.parametrize("mean", [None, [0, 0]])
def test_it_calibrates(budget, mean):
    scenario = Scenario.gaussian_attributes(TWO, 1, 0, values=[0, 1, 5], mean=mean)
    assert scenario.secrets == ("0", "1", "5")
    mechanism = calibrate(scenario, budget, noise="laplace")
    assert verify(mechanism, scenario).holds
    assert any("Gaussian" in text for text in mechanism.certificate.assumptions)


def test_a_summary_over_records_is_the_stacked_gaussian():
    """n records side by side, one covariance block each; the mean and the sum as rows over all of them."""
    n, mean = 3, [1, 2]
    stacked = np.kron(np.eye(n, dtype=int), np.array(TWO))
    for statistic, weight in (("mean", Fraction(1, n)), ("sum", Fraction(1))):
        rows = [[weight * int(j == k) for _ in range(n) for j in range(2)] for k in (1, 0)]
        wanted = Scenario.gaussian_attributes(stacked, rows[0], rows[1], values=[0, 5], mean=mean * n)
        found = Scenario.attribute_summary(TWO, 1, 0, n, statistic, values=[0, 5], mean=mean)
        assert found.adversaries == wanted.adversaries
        assert isinstance(found.adversaries[0]["0"], Normal)
        shifted = Scenario.attribute_summary(TWO, 1, 0, n, statistic, values=[0, 5])
        assert shift_of(shifted) == [-2.5]
        assert "3 independent Gaussian records" in found.assumptions[0]


def test_more_records_narrow_the_mean_and_so_hide_less():
    few, many = (Scenario.attribute_summary(TWO, 1, 0, n, values=[0, 1], mean=[0, 0]) for n in (2, 50))
    budget = Approx(1, 0.05)
    assert calibrate(few, budget).expected_error() < calibrate(many, budget).expected_error()


def test_singular_secrets():
    twins = [[1, 1, 0.5], [1, 1, 0.5], [0.5, 0.5, 1]]
    both = [[1, 0, 0], [0, 1, 0]]
    assert shift_of(Scenario.gaussian_attributes(twins, 2, both, values=[(0, 0), (1, 1)])) == [0.5]
    for how in ({"values": [(0, 0), (1, 0)]}, {"box": [(0, 1), (0, 1)]}, {"radius": 1}):
        with pytest.raises(BadLaw, match="singular"):
            Scenario.gaussian_attributes(twins, 2, both, **how)
    with pytest.raises(BadLaw, match="singular"):
        Scenario.gaussian_attributes(twins, 2, both, values=[(0, 1), (1, 2)], mean=[0, 0, 0])


def test_what_the_secret_determines_is_a_translate():
    scenario = Scenario.gaussian_attributes(TWO, [3, 0], 0, box=(0, 1), mean=[0, 0])
    assert isinstance(scenario.law_pairs()[0].p, Shifted) and shift_of(scenario) == [3]


@pytest.mark.parametrize(
    ("change", "kind", "said"),
    [
        ({"covariance": [[1, 2], [2, 1]]}, BadLaw, "semidefinite"),
        ({"covariance": [[0, 1], [1, 1]]}, BadLaw, "semidefinite"),
        ({"covariance": [[1, 0.5], [0.4, 1]]}, BadLaw, "symmetric"),
        ({"covariance": [[1, 0]]}, BadLaw, "square"),
        ({"covariance": [[1, float("nan")], [0, 1]]}, UsageError, "finite"),
        ({"release": [1, 0, 0]}, UsageError, "2 numbers"),
        ({"release": 2}, UsageError, "numbered"),
        ({"protect": True}, UsageError, "protect"),
        ({"box": None}, UsageError, "exactly one"),
        ({"radius": 1}, UsageError, "exactly one"),
        ({"box": (5, 0)}, UsageError, "low <= high"),
        ({"box": [(0, 1), (0, 1)]}, UsageError, "one \\(low, high\\)"),
        ({"pairs": "adjacent"}, UsageError, "pairs"),
        ({"mean": [0]}, UsageError, "mean"),
        ({"box": None, "values": [1, 1.0]}, UsageError, "same"),
        ({"box": None, "values": [(1, 2), (3, 4)]}, UsageError, "values"),
    ],
)
def test_wrong_use_is_refused(change, kind, said):
    given = {"covariance": TWO, "release": 1, "protect": 0, "box": (0, 5), **change}
    with pytest.raises(kind, match=said):
        Scenario.gaussian_attributes(**given)


def test_wrong_summaries_are_refused():
    for count, statistic in ((0, "mean"), (True, "mean"), (5, "median")):
        with pytest.raises(UsageError):
            Scenario.attribute_summary(TWO, 1, 0, count, statistic, values=[0, 1])
