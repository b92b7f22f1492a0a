"""Bounds on how far a value moves: weak dependence, groups, and why a bound may stand in as a translate."""

from __future__ import annotations

from fractions import Fraction
from itertools import product

import numpy as np
import pytest

from fugu import Approx, Discrete, Laplace, LawPair, Pure, Renyi, Scenario, calibrate, epsilon, verify
from fugu.errors import UsageError
from fugu.numbers.exact import as_fraction
from fugu.scenario.moves import outward, positions
from fugu.transport.wasserstein import wasserstein


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
