"""What a published value may move by: groups, weak dependence, diffusions, totals of users."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import mpmath
import numpy as np
import pytest

from fugu import (
    Approx,
    Discrete,
    Laplace,
    LawPair,
    Normal,
    Pure,
    Renyi,
    Scenario,
    Shifted,
    calibrate,
    delta,
    epsilon,
    verify,
)
from fugu.errors import NotProvable, UsageError
from fugu.numbers.exact import as_fraction
from fugu.scenario.moves import needed, outward, positions, total
from fugu.transport.wasserstein import wasserstein
from hunting import search


def shift_of(scenario):
    (pair,) = scenario.law_pairs()
    return pair.q.exact[0] - pair.p.exact[0]


def test_reference_numbers():
    assert shift_of(Scenario.weakly_dependent(0.3, 1)) == Fraction(8, 5)
    assert shift_of(Scenario.weakly_dependent(0.3, 1, cross_records=True)) == Fraction(13, 5)
    assert shift_of(Scenario.group(2)) == 2
    assert Scenario.group((1, 0.5)).law_pairs()[0].q.exact == (1, Fraction(1, 2))


def law_of_sum(joint, given):
    found = {x: m for x, m in joint.items() if given(x) and m}
    total = sum(found.values())
    return Discrete([sum(x) for x in found], [m / total for m in found.values()])


def test_two_records_cost_two_sensitivities():
    """X1 ~ Ber(.99), X2 ~ Ber(.01), independent: the printed 2 lambda + Delta = 1 is below the distance, 2."""
    high, low = Fraction(99, 100), Fraction(1, 100)
    joint = {(a, b): (high if a else 1 - high) * (low if b else 1 - low) for a, b in product((0, 1), repeat=2)}
    p, q = law_of_sum(joint, lambda x: x[0] == 0), law_of_sum(joint, lambda x: x[1] == 1)
    assert wasserstein(p, q) == 2 == shift_of(Scenario.weakly_dependent(0, 1, cross_records=True))
    same = law_of_sum(joint, lambda x: x[0] == 1)
    assert wasserstein(p, same) <= shift_of(Scenario.weakly_dependent(0, 1))
    pair = LawPair(p, q)
    assert epsilon(Laplace(1), pair) > 1.5, "the printed sensitivity leaks more than it says"
    assert epsilon(Laplace(2), pair) <= 1


def test_no_joint_law_of_bits_breaks_the_corrected_bound():
    """Random joint laws of three bits, f = their weighted sum: lambda by enumeration, every pair of secrets."""
    rng = np.random.default_rng(7)
    weights = (1, 2, 3)
    for _ in range(40):
        masses = [Fraction(int(m), 1000) for m in rng.multinomial(1000, rng.dirichlet(np.full(8, 2.0)))]
        points = list(product((0, 1), repeat=3))
        theta = dict(zip(points, masses, strict=True))
        ones = [sum(m for x, m in theta.items() if x[i]) for i in range(3)]
        apart = {x: np.prod([ones[i] if x[i] else 1 - ones[i] for i in range(3)]) for x in points}
        scaled = [
            {tuple(w * b for w, b in zip(weights, x, strict=True)): m for x, m in law.items()} for law in (theta, apart)
        ]
        secrets = [(i, w * b) for i, w in enumerate(weights) for b in (0, 1)]
        laws = [[law_of_sum(law, lambda x, i=i, v=v: x[i] == v) for i, v in secrets] for law in scaled]
        near = max(wasserstein(p, q) for p, q in zip(*laws, strict=True))
        for (i, _), p in zip(secrets, laws[0], strict=True):
            for (j, _), q in zip(secrets, laws[0], strict=True):
                found = wasserstein(p, q)
                assert found <= shift_of(Scenario.weakly_dependent(near, 3, cross_records=i != j))


@pytest.mark.parametrize("budget", [Pure(1), Approx(0.5, 0.001), Renyi(alpha=2, epsilon=0.5)])
def test_a_scenario_calibrates_like_any_other(budget):
    scenario = Scenario.weakly_dependent(0.3, 1)
    mechanism = calibrate(scenario, budget)
    assert verify(mechanism, scenario).holds
    assert mechanism.noise.scale > 0
    assert any("independent records" in text for text in mechanism.certificate.assumptions)


def lattice_laplace(scale, reach):
    steps = np.arange(-reach, reach + 1)
    mass = np.exp(-np.abs(steps) / scale)
    return mass / mass.sum()


def hockey(p, q, e):
    return float(np.maximum(p - np.exp(e) * q, 0).sum())


def output(law, noise, size):
    found = np.zeros(size + len(noise))
    for place, mass in law.items():
        found[place : place + len(noise)] += mass * noise
    return found


@pytest.mark.parametrize("e", [-0.7, 0.0, 0.3, 1.0])
def test_laws_within_w_leak_at_most_a_shift_by_w(e):
    """Step 1 to 4 of `moves`, by enumeration: heavy tails too, but not noise with two humps."""
    rng = np.random.default_rng(3)
    far = np.arange(-60, 61)
    heavy, humps = 1 / (1 + (far / 2.0) ** 2), np.where(np.abs(far) == 4, 1.0, 1e-3)
    for noise in (lattice_laplace(2.0, 60), heavy / heavy.sum()):
        worst = hockey(output({0: 1.0}, noise, 40), output({5: 1.0}, noise, 40), e)
        for _ in range(60):
            start = rng.integers(0, 30, 4)
            end = start + rng.integers(0, 6, 4)
            mass = rng.dirichlet(np.ones(4))
            p = sum(output({int(x): float(m)}, noise, 40) for x, m in zip(start, mass, strict=True))
            q = sum(output({int(x): float(m)}, noise, 40) for x, m in zip(end, mass, strict=True))
            assert max(hockey(p, q, e), hockey(q, p, e)) <= worst + 1e-12
    humps = humps / humps.sum()
    leaks = [hockey(output({0: 1.0}, humps, 40), output({w: 1.0}, humps, 40), e) for w in range(10)]
    assert leaks[8] < leaks[5], "a longer shift may leak less where noise has two humps"


def test_the_bound_survives_rounding_onto_the_lattice():
    """Values off the lattice, at most 1.6 apart: once rounded, the noise that is drawn leaks at most delta."""
    mechanism = calibrate(Scenario.weakly_dependent(0.3, 1), Approx(1, 0.01), noise="laplace")
    step = mechanism.noise.grid
    most = Fraction(8, 5) / step
    assert most.denominator == 1
    noise = lattice_laplace(mechanism.noise.scale / float(step), 1500)

    def leak(steps):
        return hockey(output({0: 1.0}, noise, 100), output({steps: 1.0}, noise, 100), 1)

    rng = np.random.default_rng(11)
    seen = set()
    for _ in range(200):
        x, gap = Fraction(rng.uniform(0, 3)), Fraction(rng.uniform(-1.6, 1.6))
        one, other = (round(v / step) for v in (x, x + gap))
        seen.add(abs(one - other))
    assert max(seen) == most and all(leak(steps) <= 0.01 + 1e-12 for steps in seen)
    assert leak(int(most) + 1) > 0.01


def test_positions_are_short_decimals_at_least_as_far_apart():
    rng = np.random.default_rng(5)
    for size in (2, 3, 6):
        for _ in range(20):
            points = [[Fraction(int(a), int(b)) for a, b in rng.integers(1, 30, (2, 2))] for _ in range(size)]
            found = positions(points)
            for p, f in zip(points, found, strict=True):
                for q, g in zip(points, found, strict=True):
                    for a, b, x, y in zip(p, q, f, g, strict=True):
                        assert abs(a - b) <= abs(x - y) and (a < b) == (x < y)
                        assert as_fraction(float(x - y)) == x - y
    assert positions([[Fraction(0)], [Fraction(5, 4)], [Fraction(5, 2)]]) == [
        (0,),
        (Fraction(5, 4),),
        (Fraction(5, 2),),
    ]
    assert outward(Fraction(10)) == 10 and outward(Fraction(1, 3), 2) == Fraction(34, 100)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: Scenario.weakly_dependent(-1, 1), "distance"),
        (lambda: Scenario.weakly_dependent(1, float("nan")), "sensitivity"),
        (lambda: Scenario.weakly_dependent(1, 1, cross_records=2), "cross_records"),
        (lambda: Scenario.group("far"), "diameter"),
        (lambda: Scenario.group(()), "diameter"),
        (lambda: Scenario.group(-1), "diameter"),
    ],
)
def test_wrong_use_is_refused(call, said):
    with pytest.raises(UsageError, match=said):
        call()


def test_reference_numbers_of_a_diffusion():
    total, stacked = (shift_of(Scenario.langevin(1, (0.5, 1, 2), 2, norm=norm)) for norm in ("sum", "stacked"))
    assert float(total) == pytest.approx(2.219490768241, rel=1e-9)
    assert float(stacked) == pytest.approx(1.444341183096, rel=1e-9)
    printed = 2 * sum(math.exp(-2 * t) for t in (0.5, 1, 2))
    assert printed == pytest.approx(1.043060726594, rel=1e-12) and printed < stacked


@pytest.mark.parametrize("rate", [-2, 0, 0.3, 7, 300])
@pytest.mark.parametrize("norm", ["sum", "stacked"])
def test_the_bound_is_never_below_the_formula_and_hardly_above(rate, norm):
    times, width, slope = (0.1, 0.7, 2), 3, 0.4
    power = 1 if norm == "sum" else 2
    with mpmath.workdps(50):
        rates = [mpmath.e ** (-power * mpmath.mpf(str(rate)) * mpmath.mpf(str(t))) for t in times]
        exact = mpmath.mpf("1.2") * mpmath.fsum(rates) ** (mpmath.mpf(1) / power)
        found = shift_of(Scenario.langevin(rate, times, width, slope, norm))
        ratio = mpmath.mpf(found.numerator) / found.denominator / exact
        assert 1 <= ratio <= 1 + mpmath.mpf(10) ** -8


def test_an_ornstein_uhlenbeck_process_refutes_the_printed_rate():
    """V = x^2 / 2: the laws at time 1 are N(e^-1 a, .), exactly e^-1 |a - b| apart."""
    scenario = Scenario.langevin(1, [1], 1)
    apart, printed = math.exp(-1), math.exp(-2)
    assert apart == pytest.approx(0.36787944, abs=1e-8) and printed == pytest.approx(0.13533528, abs=1e-8)
    truth = Shifted(0.36787944)
    assert epsilon(Laplace(printed), truth) > 2.7, "noise for the printed distance leaks e times too much"
    assert epsilon(Laplace(0.98 * apart), truth) > 1
    assert epsilon(Laplace(calibrate(scenario, Pure(1)).noise.scale), truth) <= 1


def test_l1_distances_do_not_shrink_at_that_rate():
    """V = x'Ax/2 with eigenvalue 1 along (cos pi/8, sin pi/8) and 1000 across: |e^-A e1|_1 > e^-1."""
    along = np.array([math.cos(math.pi / 8), math.sin(math.pi / 8)])
    across = np.array([-along[1], along[0]])
    flow = math.exp(-1) * np.outer(along, along) + math.exp(-1000) * np.outer(across, across)
    moved = flow @ np.array([1.0, 0.0])
    assert np.abs(moved).sum() == pytest.approx(0.44406977, abs=1e-8)
    assert np.linalg.norm(moved) <= math.exp(-1) < np.abs(moved).sum()


def test_two_paths_with_the_same_noise_stay_within_the_bound_where_the_potential_is_not_convex():
    """V = x^4 / 4 - x^2 / 2, so C = -1; small steps of Euler's scheme, the sum and the stacked norm."""
    rng = np.random.default_rng(2)
    step, times = 1e-3, (0.5, 1.0)
    x, y = np.full(200, -0.05), np.full(200, 0.05)
    gaps = {}
    for k in range(1, 1001):
        kick = math.sqrt(2 * step) * rng.standard_normal(200)
        x, y = x - step * (x**3 - x) + kick, y - step * (y**3 - y) + kick
        gaps[k] = np.abs(x - y)
    seen = np.array([gaps[round(t / step)] for t in times])
    assert seen.sum(axis=0).max() <= shift_of(Scenario.langevin(-1, times, Fraction(1, 10)))
    stacked = shift_of(Scenario.langevin(-1, times, Fraction(1, 10), norm="stacked"))
    assert np.sqrt((seen**2).sum(axis=0)).max() <= stacked
    assert seen[0].max() > 0.1 * math.exp(-0.5), "a rate of +1 would be refuted"


@pytest.mark.parametrize("budget", [Pure(0.5), Renyi(alpha=3, epsilon=0.5)])
def test_it_calibrates(budget):
    scenario = Scenario.langevin(1, [0.5, 1, 2], 2)
    mechanism = calibrate(scenario, budget)
    assert verify(mechanism, scenario).holds
    assert any("Hess V >= 1" in text for text in mechanism.certificate.assumptions)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ((1, [], 1), "times"),
        ((1, [-1], 1), "times"),
        ((1, [1, 1.0], 1), "times"),
        ((float("inf"), [1], 1), "strong_convexity"),
        ((1e9, [1], 1), "rescale"),
        ((1, [1], -1), "diameter"),
        ((1, [1], 1, -2), "lipschitz"),
        ((1, [1], 1, 1, "l1"), "norm"),
    ],
)
def test_wrong_use_of_a_diffusion_is_refused(arguments, said):
    with pytest.raises(UsageError, match=said):
        Scenario.langevin(*arguments)


def binomial(n, p):
    return [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]


def test_takes_part_is_the_sum_with_and_without_the_user():
    coin = Discrete([0, 1], [Fraction(3, 4), Fraction(1, 4)])
    laws = Scenario.takes_part(coin, coin, count=9).adversaries[0]
    assert np.allclose(laws["takes part"].weights, [float(x) for x in binomial(10, Fraction(1, 4))], rtol=1e-13)
    assert np.allclose(laws["stays away"].weights, [float(x) for x in binomial(9, Fraction(1, 4))], rtol=1e-13)


def test_reports_moves_the_others_by_one_value_or_the_other():
    scenario = Scenario.reports(0, 5, [Discrete([0, 1]), Discrete([0, 2])])
    assert scenario.secrets == ("reports 0", "reports 5")
    first, second = scenario.adversaries[0].values()
    assert np.array_equal(first.values + 5, second.values) and np.array_equal(first.weights, second.weights)


def test_normal_users_add_means_and_variances():
    """Ding 2024, Corollary 1: K users of law N(1, 2^2)."""
    laws = Scenario.takes_part(Normal(1, 2), Normal(1, 2), count=9).adversaries[0]
    assert laws["takes part"] == Normal(10, float(f"{math.sqrt(40):.15g}"))
    assert laws["stays away"] == Normal(9, 6)


@pytest.mark.parametrize(("count", "truth"), [(2, 3.6e-2), (10, 7.9e-4)])
def test_the_claim_that_mu_over_epsilon_becomes_pure_is_false_and_its_delta_is_this(count, truth):
    """theory section 3: at b = mu / epsilon, mu = epsilon = sigma = 1, the pure level is 1.5 for every K."""
    pair = Scenario.takes_part(Normal(1, 1), Normal(1, 1), count=count - 1)
    assert epsilon(Laplace(1.0), pair) == pytest.approx(1.5, abs=1e-6)
    assert delta(Laplace(1.0), pair, 1) == pytest.approx(truth, rel=0.02)
    assert calibrate(pair, Pure(1)).noise.scale == pytest.approx(1.36602540, rel=1e-4)


def test_with_enough_users_no_noise_is_needed_and_how_many_that_takes():
    coin = Discrete([0, 1])
    budget = Approx(0.1, 1e-6)
    count = needed(coin, coin, budget)
    assert calibrate(Scenario.takes_part(coin, coin, count), budget).noise.scale == 0
    assert calibrate(Scenario.takes_part(coin, coin, count - 1), budget).noise.scale > 0
    # the definition, from binomial coefficients in Fractions at the answer
    p, q = ([Fraction(math.comb(n, k), 2**n) for k in range(n + 1)] for n in (count + 1, count))
    e = Fraction(math.exp(0.1))
    both = max(sum(max(a - e * b, 0) for a, b in zip(x, y, strict=True)) for x, y in ((p, [*q, 0]), ([*q, 0], p)))
    assert both <= Fraction(1, 10**6)


@search("totals of up to a million users", quick=1)
def test_very_many_users_take_part_in_a_certified_total(seed):
    count = 3_000 if seed == 0 else int(10 ** np.random.default_rng(seed).uniform(3, 6))
    levels = Discrete(range(100), np.arange(1, 101))
    scenario = Scenario.reports(0, 99, levels, count=count)
    law = next(iter(scenario.adversaries[0].values()))
    assert 0 < law.error < 1e-9  # convolved by FFT, the error certified
    mechanism = calibrate(scenario, Approx(0.5, 1e-6), noise="laplace")
    assert mechanism.noise.scale == 0
    assert mechanism.certificate.proved["delta"] >= law.error  # the error is part of delta
    assert verify(mechanism).holds
    with pytest.raises(NotProvable):
        calibrate(scenario, Pure(0.1))


def test_bad_users_are_refused():
    coin = Discrete([0, 1])
    for bad in (0, -1, 1.5, None, True):
        with pytest.raises(UsageError, match="count"):
            Scenario.takes_part(coin, coin, bad)
    with pytest.raises(UsageError, match="nothing to hide"):
        Scenario.reports(1, 1, coin, 5)
    with pytest.raises(NotProvable, match="one kind"):
        total([coin, Normal(0, 1)])
    with pytest.raises(UsageError, match="list"):
        Scenario.takes_part(coin, [], None)


def test_the_order_of_the_pair_does_not_matter():
    coin = Discrete([0, 1])
    p, q = Scenario.takes_part(coin, coin, 20).adversaries[0].values()
    assert delta(Laplace(0), LawPair(p, q), 0.1) == delta(Laplace(0), LawPair(q, p), 0.1)
