"""The bound from counted lengths: its parts by hand, its coverage by simulation, random classes against the truth."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import norm

import fugu
from fugu import Approx, Certificate, Gaussian, Scenario
from fugu.documents.swap import RecordSwap, longest_steps, proof_of
from fugu.loss.search.normal import steps_down
from fugu.loss.vectors_gaussian import PLACES, drawn_delta, length_at, rounded_steps
from fugu.noise.bits import RngBits
from fugu.scenario.swap import from_bits, places_of, swap_blocks
from hunting import search

GRID = Fraction(1, 1000)


def curve(m, epsilon=0.0):
    """gdelta(epsilon, m)."""
    return norm.cdf(m / 2 - epsilon / m) - math.exp(epsilon) * norm.cdf(-m / 2 - epsilon / m)


def test_the_bound_is_the_sum_of_its_parts():
    unit, places, counts, beta = Fraction(1, 4), [0, 512, 700], [700, 200, 100], Fraction(1, 100)
    noise = Gaussian(2.0, GRID)
    found = drawn_delta(places, counts, unit, Fraction(3), 1, noise, Fraction(1, 2), beta)
    lengths = [float(length_at(k, unit)) + 1 / 1000 for k in places]
    x = np.repeat([curve(length / 2, 0.5) for length in lengths], counts)
    odds = math.log(2 / 0.01)
    top = curve((3 + 1 / 1000) / 2, 0.5)
    parts = (x.mean(), math.sqrt(2 * x.var(ddof=1) * odds / 1000), 7 * top * odds / (3 * 999))
    assert found == pytest.approx(sum(parts), rel=1e-5)
    assert all(part > 1e-3 * found for part in parts)  # each of them counts


def test_rounding_onto_the_lattice_counts():
    assert rounded_steps(Fraction(3), Fraction(1), 4) >= 5
    for d in (1, 2, 5):
        rng = np.random.default_rng(d)
        x, y = rng.uniform(-3, 3, (2, 20_000, d))
        apart = np.linalg.norm(np.floor(x + 0.5) - np.floor(y + 0.5), axis=1)
        allowed = np.linalg.norm(x - y, axis=1) + math.sqrt(d)
        assert (apart <= allowed).all()
        assert (apart > np.linalg.norm(x - y, axis=1)).any()  # without it the bound would be wrong


def test_lengths_are_rounded_up_by_less_than_a_place():
    lengths = np.concatenate([np.random.default_rng(0).uniform(0, 3000, 2000), 2.0 ** np.arange(12), [0.0]])
    up = np.array([float(length_at(int(k), Fraction(1))) for k in places_of(lengths)])
    assert (up >= lengths).all() and (up <= np.maximum(lengths, 1) * (1 + 1 / PLACES) + 1e-12).all()


def test_places_are_uniform_and_without_replacement_all_different():
    source = RngBits(np.random.default_rng(2))
    counts = np.bincount(from_bits(source)(60_000, 6), minlength=6)
    assert len(counts) == 6 and abs(counts / 10_000 - 1).max() < 0.06
    table = {"x": [0, 1, 2, 3], "s": ["p", "p", "q", "q"]}
    scenario = Scenario.from_property(table, ["sum(x)"], "s=p", 2, values=[0, 1], tolerance=1, replacement=False)
    (one, two) = swap_blocks(scenario.property, 200, Fraction(1, 64), source)
    assert one.counts and two.places == tuple(places_of(np.array([4 * 64 * (1 + 1e-9)])).tolist())  # all four records


def test_the_bound_covers_as_often_as_it_says():
    rng, missed, truth = np.random.default_rng(5), 0, 0.3 * curve(1.0) + 0.7 * curve(0.25)
    noise, unit = Gaussian(4.0, GRID), Fraction(1)
    for _ in range(150):
        far = int(rng.binomial(300, 0.3))
        bound = drawn_delta([0, 512], [300 - far, far], unit, Fraction(4), 1, noise, Fraction(0), Fraction(1, 5))
        missed += bound < truth
    assert missed / 150 <= 0.2
    plain = [0.3 * curve(1.0) + 0.7 * curve(0.25) > curve(1.0) * f / 300 + curve(0.25) * (1 - f / 300)
             for f in rng.binomial(300, 0.3, 150)]  # fmt: skip
    assert np.mean(plain) > 0.3  # the mean alone is a wrong version


def test_beta_is_a_part_of_delta_and_not_beside_it():
    scenario = Scenario.from_property({"x": [0, 1, 2, 9] * 5, "s": ["p", "q"] * 10}, ["mean(x)"], "s=p", 20)
    plan = fugu.calibrate(scenario, Approx(1, 0.01), method="record-swap")
    swap = RecordSwap.of(plan.certificate)
    steps = float(longest_steps(plan.certificate.laws) * plan.lattice.grid)
    assert curve(steps / float(swap.cap), 1.0) == pytest.approx(0.009, rel=1e-4)
    body = plan.certificate.unsealed
    wide = float(swap.cap) * 0.985  # a cap that uses all of delta for the noise
    assert 0.009 < curve(steps / wide, 1.0) < 0.01
    lower = {**body, "swap": {**body["swap"], "cap": str(Fraction(str(round(wide, 6))))}}
    lower["noise"] = {**body["noise"], "scale": lower["swap"]["cap"]}
    assert not proof_of(Certificate.seal(lower, plan.certificate.laws), plan.certificate.laws).holds


@search("record swaps of random classes against the truth", quick=4)
def test_no_release_uses_less_noise_than_the_truth_allows(rng):
    """With many draws the sigma that is chosen meets the expectation itself, which enumeration gives exactly."""
    having, lacking = (rng.integers(0, 9, int(rng.integers(2, 5))) for _ in range(2))
    if having.max() == having.min() == lacking.max() == lacking.min():
        return 0
    table = {"x": [*having.tolist(), *lacking.tolist()] * 2, "s": (["p"] * len(having) + ["q"] * len(lacking)) * 2}
    epsilon, delta = float(rng.choice([0.0, 0.5, 1.0])), float(rng.choice([0.05, 0.2]))
    scenario = Scenario.from_property(
        table, ["sum(x)"], "s=p", 3, values=[0, 1 / 3], tolerance=0.5, bounds={"x": (0, 9)}
    )
    plan = fugu.calibrate(scenario, Approx(epsilon, delta), method="record-swap")
    sigma = plan.estimate(rng, draws=40_000).sigma
    apart = np.abs(having[:, None] - lacking[None, :]).ravel() / sigma
    truth = np.mean([curve(m, epsilon) if m else 0.0 for m in apart])
    assert truth <= delta  # delta - beta but for draws that mislead, which have probability beta = delta / 10
    return 1


def test_the_steps_end_where_the_bound_of_some_block_fails():
    lengths, counts = np.array([1.0, 3.0]), np.array([[900, 100], [500, 500]])
    longest, delta, beta = np.array([3.0, 6.0]), 0.2, 0.01

    def sigma(k):
        return 12 * 0.99**k

    def bounds(k):
        found = []
        for row, top in zip(counts, longest, strict=True):
            x = np.repeat([curve(length / sigma(k)) for length in lengths], row)
            odds = math.log(2 / beta)
            found.append(
                x.mean() + math.sqrt(2 * x.var(ddof=1) * odds / 1000) + 7 * curve(top / sigma(k)) * odds / 2997
            )
        return found

    steps = steps_down(sigma, 1000, lengths, counts, longest, 0.0, delta, beta)
    assert 10 < steps < 1000
    assert max(bounds(steps)) <= delta < max(bounds(steps + 1))
    assert min(bounds(steps + 1)) < delta  # one block alone would have gone on
    assert steps_down(sigma, 5, lengths, counts, longest, 0.0, delta, beta) == 5
    assert steps_down(sigma, 1000, lengths, counts, longest, 0.0, 1e-9, beta) == 0
