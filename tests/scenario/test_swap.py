"""Record swaps: bounds against exact laws by enumeration, refuted one record short, and false for random counts."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

from fugu import Discrete, Laplace, LawPair, Pure, Scenario, calibrate, closeness, epsilon, verify, wasserstein
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.scenario.swap import (
    from_generator,
    places_among,
    swap_closeness,
    swap_counts,
    swap_shift,
    swap_sigma,
    upper_mean,
)


def made(having, lacking, size, statistics=("mean(x)",), values=None, **more):
    """A scenario whose records with and without the property are these numbers."""
    table = {"has": ["yes"] * len(having) + ["no"] * len(lacking), "x": [*having, *lacking]}
    return Scenario.from_property(table, list(statistics), "has=yes", size, values, **more)


def exact_law(having, lacking, c, n, replacement):
    """The law of the sum of c records with and n - c without the property, every choice as likely."""
    choose = (lambda r, m: itertools.product(r, repeat=m)) if replacement else itertools.combinations
    ways = Counter(sum(one) + sum(other) for one in choose(having, c) for other in choose(lacking, n - c))
    return Discrete(list(ways), list(ways.values()))


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("seed", range(6))
def test_the_shift_bounds_the_distance_of_the_exact_laws(seed, replacement):
    rng = np.random.default_rng(seed)
    having, lacking = ([int(x) for x in rng.integers(0, 12, size=4)] for _ in range(2))
    scenario = made(having, lacking, 4, ["sum(x)"], tolerance=0.5, replacement=replacement)
    bound = swap_shift(scenario).law_pairs()[0].q.by
    laws = [exact_law(having, lacking, c, 4, replacement) for c in (1, 3)]
    width = max(having + lacking) - min(having + lacking)
    assert bound == 2 * width
    assert wasserstein(*laws) <= bound


def test_one_record_less_is_not_enough():
    scenario = made([1] * 5, [0] * 5, 10, ["sum(x)"], tolerance=0.4)
    laws = [exact_law([1] * 2, [0] * 2, c, 10, True) for c in (3, 7)]
    assert swap_shift(scenario).law_pairs()[0].q.by == 4 == wasserstein(*laws)
    assert epsilon(Laplace(4), LawPair(*laws)) <= 1 + 1e-12 < epsilon(Laplace(3), LawPair(*laws)), "k - 1 records"


def test_every_coordinate_moves_by_its_own_range_and_the_pure_noise_is_their_sum():
    scenario = made([3, 9] * 5, [0, 4] * 5, 10, ["mean(x)", "count(x=9)"], tolerance=0.2, bounds={"x": (0, 20)})
    shift = swap_shift(scenario)
    assert shift.law_pairs()[0].q.exact == (4, 2)
    mechanism = calibrate(shift, Pure(1))
    assert mechanism.noise.scale == 6 and verify(mechanism).holds
    told = "\n".join(shift.assumptions)
    assert "a fixed number, not random" in told and "2 records are swapped" in told and "Gaussian" not in told


def test_ranges_that_nobody_declared_are_an_assumption():
    free = swap_shift(made([3, 9], [0, 4], 4, tolerance=0.5))
    assert any("x stays within the range it has in the reference" in text for text in free.assumptions)
    bound = swap_shift(made([3, 9], [0, 4], 4, tolerance=0.5, bounds={"x": (0, 9)}))
    assert not any("stays within" in text for text in bound.assumptions)


def test_random_counts_make_the_claim_false():
    """n = 50, p = 0.02 and 0.04, one record apart: fixed counts keep epsilon, binomial counts do not."""
    scenario = made([1] * 25, [0] * 25, 50, ["sum(x)"], values=[0.02, 0.04], tolerance=0.02)
    assert scenario.property.counts == (1, 2) and scenario.property.swapped == 1
    for nominal, level in ((1, 1.634), (5, 27.9)):
        noise = calibrate(swap_shift(scenario), Pure(nominal)).noise
        assert noise.scale == pytest.approx(1 / nominal, rel=1e-9)
        fixed = LawPair(Discrete([1]), Discrete([2]))
        tosses = [Discrete([0, 1], [1 - Fraction(p), Fraction(p)]).iid_sum(50) for p in ("1/50", "1/25")]
        assert epsilon(Laplace(noise.scale), fixed) <= nominal * (1 + 1e-12)
        assert epsilon(Laplace(noise.scale), LawPair(*tosses)) == pytest.approx(level, abs=0.05)
    assert any("a fixed number, not random" in text for text in swap_shift(scenario).assumptions)


COUNT = {"having": [1] * 15 + [0] * 85, "lacking": [1] * 38 + [0] * 62, "size": 100, "statistics": ["count(x=1)"]}


def test_exact_laws_of_a_count():
    """Bin(45, .15) * Bin(55, .38) against Bin(55, .15) * Bin(45, .38)."""
    scenario = swap_counts(made(**COUNT, values=[0.45, 0.55]))
    (pair,) = scenario.law_pairs()
    assert pair.p.error == pair.q.error == 0
    assert pair.p.values @ pair.p.weights == pytest.approx(27.65, abs=1e-12)
    assert pair.q.values @ pair.q.weights == pytest.approx(25.35, abs=1e-12)
    assert wasserstein(pair.p, pair.q) == 3, "the swap bound is 10"
    assert closeness(pair.p, pair.q, 0.0305) == 2 < closeness(pair.p, pair.q, 0.0304) == 3
    for budget, scale in ((0.2, 11.728278857996), (1, 2.503720708094), (5, 0.563992028727)):
        mechanism = calibrate(scenario, Pure(budget), noise="laplace", grid=1)
        assert mechanism.noise.scale == pytest.approx(scale, rel=1e-8) and verify(mechanism).holds
    assert epsilon(Laplace(2.3), scenario) == pytest.approx(1.0957502408, rel=1e-9), (
        "the difference of means is no shift"
    )


@pytest.mark.parametrize("replacement", [True, False])
def test_counts_equal_enumeration(replacement):
    having, lacking = [1, 1, 0, 1], [0, 1, 0, 0]
    shares = [0.25, 0.75]
    scenario = swap_counts(made(having, lacking, 4, ["count(x=1)"], shares, tolerance=0.5, replacement=replacement))
    for c, law in zip((1, 3), scenario.adversaries[0].values(), strict=True):
        truth = exact_law(having, lacking, c, 4, replacement)
        kept = law.weights > 0
        found = dict(zip(law.values[kept], law.weights[kept], strict=True))
        assert found == pytest.approx(dict(sorted(zip(truth.values, truth.weights, strict=True))), abs=1e-15)


def curve(e, m):
    return norm.cdf(m / 2 - e / m) - math.exp(e) * norm.cdf(-m / 2 - e / m) if m else 0.0


def swap_law(having, lacking, k, replacement):
    choose = (lambda r, m: itertools.product(r, repeat=m)) if replacement else itertools.permutations
    return Counter(sum(a) - sum(b) for a in choose(having, k) for b in choose(lacking, k))


def expected(having, lacking, k, replacement, e, sigma):
    ways = swap_law(having, lacking, k, replacement)
    return sum(w * curve(e, abs(d) / sigma) for d, w in ways.items()) / sum(ways.values())


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.parametrize("e", [0.2, 1, 4])
def test_sigma_keeps_the_exact_expectation_below_delta(replacement, e):
    having, lacking = [0, 2, 7, 7], [1, 0, 0, 3]
    scenario = made(having, lacking, 6, ["sum(x)"], values=[0.4, 0.6, 0.7], tolerance=0.3, replacement=replacement)
    assert scenario.property.swapped == 2
    found = swap_sigma(scenario, e, 0.01, draws=200_000, rng=np.random.default_rng(3))
    means = [expected(having, lacking, k, replacement, e, found.value) for k in (1, 2)]
    assert max(means) <= found.bound <= 0.01
    assert expected(having, lacking, 2, replacement, e, 0.95 * found.value) > 0.01, "hardly more than needed"
    assert found.records == 2 and "not a plain guarantee" in str(found) and "0.999999" in str(found)


def test_fewer_swapped_records_can_be_the_worse_ones():
    """Records with the property are worth 1 or -1 at will: two swaps cancel half of the time, one never does."""
    having, lacking = [-1, 1], [0, 0]
    scenario = made(having, lacking, 4, ["sum(x)"], values=[0.25, 0.75], tolerance=0.5)
    found = swap_sigma(scenario, 0, 0.2, draws=50_000, rng=np.random.default_rng(4))
    one, two = (expected(having, lacking, k, True, 0, found.value) for k in (1, 2))
    assert two < one <= found.bound <= 0.2


def test_the_true_hockey_stick_lies_below_the_expectation():
    """Both orders, by quadrature of the two exact mixtures."""
    having, lacking, e, n = [0, 2, 7, 7], [1, 0, 0, 3], 0.5, 4
    scenario = made(having, lacking, n, ["sum(x)"], tolerance=0.5)
    sigma = swap_sigma(scenario, e, 0.02, draws=50_000, rng=np.random.default_rng(8)).value
    x = np.linspace(-12 * sigma, 28 + 12 * sigma, 200_001)
    densities = [
        sum(w * norm.pdf(x, v, sigma) for v, w in zip(law.values, law.weights, strict=True))
        for law in (exact_law(having, lacking, c, n, True) for c in (1, 3))
    ]
    for p, q in itertools.permutations(densities):
        assert np.trapezoid(np.maximum(0, p - math.exp(e) * q), x) <= 0.02


@pytest.mark.parametrize("replacement", [True, False])
def test_closeness_covers_the_exact_tail(replacement):
    having, lacking, delta = [0, 2, 7, 7, 20], [1, 0, 0, 3, 3], 0.08
    scenario = made(having, lacking, 6, ["mean(x)"], tolerance=0.5, replacement=replacement)
    k = scenario.property.swapped
    found = swap_closeness(scenario, delta, draws=100_000, rng=np.random.default_rng(2))
    for j in range(1, k + 1):
        ways = swap_law(having, lacking, j, replacement)
        assert sum(w for d, w in ways.items() if abs(d) / 6 > found.value) <= delta * sum(ways.values())
    assert any(
        sum(w for d, w in ways.items() if abs(d) / 6 > found.value - 0.5) > delta * sum(ways.values())
        for ways in (swap_law(having, lacking, j, replacement) for j in range(1, k + 1))
    ), "half a unit less would leave out too much"


def test_upper_bounds_of_means_keep_their_confidence():
    """Rare large values: the plain mean is too low about half of the time, the bound hardly ever."""
    rng, n, error = np.random.default_rng(1), 2000, 0.05
    values = (rng.random((2000, n)) < 0.002) * 0.7
    mean, variance = values.mean(axis=1), values.var(axis=1, ddof=1)
    bound = upper_mean(mean, variance, np.full(2000, 0.7), n, error)
    assert (bound < 0.0014).mean() <= error
    assert (mean < 0.0014).mean() > 0.4
    assert (mean + np.sqrt(2 * variance * math.log(1 / error) / n) < 0.0014).mean() > 0, "the last term is needed"


def test_places_without_replacement_are_all_orders_alike():
    found = places_among(from_generator(np.random.default_rng(0)), 24_000, 3, 4, False)
    seen = Counter(map(tuple, found.tolist()))
    assert set(seen) == set(itertools.permutations(range(4), 3))
    assert sum((count - 1000) ** 2 / 1000 for count in seen.values()) < 58, "chi-square, 23 degrees, 1e-4"


def test_refusals():
    scenario = made([0, 1], [0, 1], 4, ["sum(x)"], tolerance=0.5)
    rng = np.random.default_rng(0)
    for wrong in (None, 7):
        with pytest.raises(UsageError, match="Generator"):
            swap_sigma(scenario, 1, 0.1, rng=wrong)
    for wrong in (None, Scenario({"a": Discrete([0]), "b": Discrete([1])})):
        with pytest.raises(UsageError, match="from_property"):
            swap_shift(wrong)
    with pytest.raises(UsageError, match="one statistic, a count"):
        swap_counts(scenario)
    for delta in (0, 1, "x", True):
        with pytest.raises(BadBudget, match=r"\(0, 1\)"):
            swap_sigma(scenario, 1, delta, rng=rng)
    with pytest.raises(BadBudget, match="infinite"):
        swap_sigma(scenario, math.inf, 0.1, rng=rng)
    with pytest.raises(UsageError, match="confidence"):
        swap_closeness(scenario, 0.1, confidence=1, rng=rng)
    with pytest.raises(UsageError, match="draws"):
        swap_sigma(scenario, 1, 0.1, draws=10, rng=rng)
    with pytest.raises(NotProvable, match="more draws"):
        swap_closeness(scenario, 1e-6, draws=1000, rng=rng)
