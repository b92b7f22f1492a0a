"""What a histogram loses is never above what is stated, nor far below it: against all outputs, by the definition."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from cells_oracle import as_rational, delta, delta_of_many, gaussian, laplace, pure_laplace, random_counts

import fugu
from fugu.laws import CellLaw
from fugu.loss import histograms as gaussian_cells
from fugu.loss import histograms as laplace_cells
from fugu.loss.cells import hockey_stick, holds, largest, worth
from fugu.loss.histograms import gaussian_delta, laplace_delta
from fugu.numbers.exact import as_fraction, float_up
from hunting import search

VECTORS = json.loads((Path(__file__).parent / "histogram_vectors.json").read_text())
NEAR = 1e-9


@search("pure loss of a histogram against all outputs", quick=150)
def test_no_output_tells_more_than_the_pure_loss(rng):
    p, q = random_counts(rng, int(rng.integers(2, 7)))
    b = as_rational(float(rng.choice([0.05, 0.3, 1, 3, 40])) * (0.5 + rng.random()))
    stated = worth(p, q, 2 / b)
    truth = pure_laplace(p, q, float(b))
    assert truth <= stated + 1e-13 * (1 + stated) and stated <= truth + 1e-11 * (1 + truth)
    assert stated <= math.nextafter(float_up(2 / b), math.inf) and (
        stated >= 2 / b or holds(p, q, 2 / b, Fraction(stated))
    )


@search("delta of Laplace histograms against all outputs", quick=60)
def test_no_event_tells_more_than_delta_of_laplace_noise(rng):
    cells = int(rng.integers(2, 5))
    b = as_rational(float(rng.choice([0.2, 0.6, 1.5])) * (0.5 + rng.random()))
    p, q = random_counts(rng, cells)
    epsilon = as_rational(float(rng.choice([0, 0.1, 0.5, 2])) * rng.random())
    low, high = delta(p, q, laplace(float(b), 9 if cells == 4 else 25), float(epsilon))
    stated = laplace_delta(p, q, 1 / b, epsilon)
    assert low <= stated + 1e-14 and stated <= high + NEAR


@search("delta of Gaussian histograms against all outputs", quick=40)
def test_no_event_tells_more_than_delta_of_gaussian_noise(rng):
    """Any fineness and any cut of the tails is sound; the finest is tight."""
    cells = int(rng.integers(2, 4))
    sigma = as_rational(float(rng.choice([0.4, 1, 2])) * (0.5 + rng.random()))
    p, q = random_counts(rng, cells)
    epsilon = as_rational(float(rng.choice([0, 0.2, 1])) * rng.random())
    reach = int(9 * sigma) + 3
    low, high = delta(p, q, gaussian(float(sigma), reach), float(epsilon))
    precision = 1 / (2 * sigma**2)
    for enough, work in (
        (1e-9, gaussian_cells.WORK),
        (float(10 ** rng.uniform(-6, 3.5)), float(10 ** rng.uniform(2, 5))),
    ):
        assert gaussian_delta(p, q, precision, epsilon, enough, work) >= low * (1 - 1e-13) - 1e-15
    assert gaussian_delta(p, q, precision, epsilon, 1e-9) <= high * (1 + 1e-3) + 1e-11


@search("Laplace histograms of many cells, sums spread over a grid", quick=25)
def test_spreading_sums_over_a_grid_is_sound_and_near(rng):
    cells = int(rng.integers(5, 11))
    p, q = random_counts(rng, cells)
    b, epsilon = as_rational(0.3 + 2 * rng.random()), as_rational(0.4 * rng.random())
    truth = float(delta_of_many(p, q, b, epsilon))
    with pytest.MonkeyPatch.context() as patched:
        exact = laplace_delta(p, q, 1 / b, epsilon)
        assert truth <= exact * (1 + 1e-13) + 1e-15 and exact <= truth * (1 + 1e-9) + 1e-14
        patched.setattr(laplace_cells, "_MANY", 2)
        patched.setattr(laplace_cells, "_WORK", 1)  # 256 points or fewer
        rough = laplace_delta(p, q, 1 / b, epsilon)
    assert truth <= rough * (1 + 1e-13) + 1e-15 and rough <= truth * 1.2 + 1e-9


@search("what is worth no more than epsilon, and its inverse", quick=150)
def test_the_inverse_buys_all_that_is_worth_epsilon_and_no_more(rng):
    p, q = random_counts(rng, int(rng.integers(2, 9)))
    epsilon = as_rational(0.001 + 2 * rng.random())
    own = largest(p, q, epsilon)
    if math.isinf(own):
        assert hockey_stick(p, q, epsilon) == 0 and worth(p, q, math.inf) <= epsilon
        assert worth(p, q, Fraction(1000)) <= epsilon
        return
    bought = as_fraction(own)  # a float is the decimal that it means
    assert bought >= epsilon and holds(p, q, bought, epsilon)
    assert not holds(p, q, bought * (1 + Fraction(1, 10**12)), epsilon)
    # the stated wrong versions: the plain epsilon where more can be had, and the tilt of one order for both
    assert worth(p, q, bought) == pytest.approx(float(epsilon), rel=1e-12)


@search("calibrated histograms, both orders, against all outputs", quick=25)
def test_what_is_calibrated_keeps_its_promise(rng):
    cells = int(rng.integers(2, 4))
    p, q = random_counts(rng, cells)
    budget = fugu.Pure(float(as_rational(0.2 + rng.random())))
    if rng.random() < 0.6:
        budget = fugu.Approx(budget.epsilon, float(rng.choice([1e-4, 1e-2, 0.2])))
    kind = "gaussian" if budget.delta and rng.random() < 0.3 else "laplace"
    noise = fugu.calibrate(fugu.LawPair(CellLaw(p), CellLaw(q)), budget, noise=kind).noise
    scale = float(noise.scale)
    if scale == 0:
        truth = max(hockey_stick(a, b, Fraction(str(budget.epsilon))) for a, b in ((p, q), (q, p)))
    elif not budget.delta:
        truth = max(0.0, *(pure_laplace(a, b, scale) - budget.epsilon for a, b in ((p, q), (q, p))))
        assert pure_laplace(p, q, scale / 2.01) > budget.epsilon or pure_laplace(q, p, scale / 2.01) > budget.epsilon
    else:
        law = laplace(scale, min(40, 3 + int(32 * scale))) if kind == "laplace" else gaussian(scale, 3 + int(9 * scale))
        truth = max(delta(a, b, law, budget.epsilon)[0] for a, b in ((p, q), (q, p)))
    assert truth <= budget.delta + 1e-12


@pytest.mark.parametrize("case", VECTORS["histogram_laplace"], ids=lambda c: f"{c['p']} {c['q']} {c['b']}")
def test_the_vectors_of_the_notes(case):
    p, q, rate = np.array(case["p"]), np.array(case["q"]), 1 / Fraction(str(case["b"]))
    assert max(worth(p, q, 2 * rate), worth(q, p, 2 * rate)) == pytest.approx(case["epsilon"], rel=1e-14)
    half = max(worth(p, q, rate), worth(q, p, rate))  # the stated wrong version: 1 / b for 2 / b
    assert half < case["epsilon"] * 0.999
    for at in ("0", "0.1"):
        for order, (a, b) in (("pq", (p, q)), ("qp", (q, p))):
            stated = case[f"delta_{order}_at_{at}"]
            assert laplace_delta(a, b, rate, Fraction(at)) == pytest.approx(stated, rel=1e-12, abs=1e-16)
    noise = fugu.Laplace(case["b"], grid=1)
    pair = fugu.LawPair(CellLaw(p), CellLaw(q))
    assert fugu.epsilon(noise, pair) == pytest.approx(case["epsilon"], rel=1e-14)
    worst = max(case["delta_pq_at_0.1"], case["delta_qp_at_0.1"])
    assert fugu.delta(noise, pair, 0.1) == pytest.approx(worst, rel=1e-12, abs=1e-16)


def test_the_two_orders_differ_and_the_larger_counts():
    p, q = np.array([7, 3]), np.array([4, 6])
    one, other = worth(p, q, Fraction(1)), worth(q, p, Fraction(1))
    assert (one, other) == (pytest.approx(0.26659088, abs=1e-8), pytest.approx(0.29277785, abs=1e-8))
    assert fugu.epsilon(fugu.Laplace(2, grid=1), fugu.LawPair(CellLaw(p), CellLaw(q))) == other


def test_what_translated_epsilons_are_worth_together():
    """From the notes' list of refuted claims: T(1) + T(1) is not what two releases of one cell are worth."""
    p, q = np.array([1, 1]), np.array([0, 1])
    refuted = VECTORS["refuted"][0]
    assert 2 * worth(p, q, Fraction(1)) == pytest.approx(refuted["claimed"], rel=1e-14)
    assert worth(p, q, Fraction(2)) == pytest.approx(refuted["true"], rel=1e-14)


def test_noise_with_ends_has_no_such_formula():
    """f > 0 everywhere is needed: for the noise (1/4, 1/2, 1/4) the factors have a mean below 1, and .375 is false."""
    f = np.array([0.25, 0.5, 0.25])
    low, high = delta([1, 0], [0, 1], np.array([0, 0.25, 0.5, 0.25, 0]), 0.0)
    factors = np.array([0.0, 0.5, 2.0])  # f(z - 1) / f(z)
    pairs = np.maximum(factors[:, None] - factors[None, :], 0.0) * f[:, None] * f[None, :]
    assert low == high == pytest.approx(0.625) and pairs.sum() == pytest.approx(0.375)
    assert factors @ f < 1


def test_two_gaussian_histograms_are_not_one_of_a_smaller_scale():
    """1 / sigma^2 does not add on a lattice: sigma 1 twice, epsilon 5, one count."""
    f = gaussian(1.0, 12)
    stay, move = f[1:], f[:-1]
    twice = np.maximum(np.multiply.outer(move, move) - math.exp(5) * np.multiply.outer(stay, stay), 0.0).sum()
    g = gaussian(math.sqrt(0.5), 12)
    once = np.maximum(g[:-1] - math.exp(5) * g[1:], 0.0).sum()
    assert twice == pytest.approx(3.76e-4, rel=2e-3) and once == pytest.approx(6.03e-5, rel=2e-3)


def test_the_door_proves_gaussian_counts_and_no_less_noise():
    p, q = [5, 3, 2], [2, 3, 5]
    pair = fugu.LawPair(CellLaw(p), CellLaw(q), "a vs b")
    certificate = fugu.calibrate(pair, fugu.Approx(0.3, 0.01), noise="gaussian").certificate
    sigma = float(certificate.noise.scale)
    low, high = delta(p, q, gaussian(sigma, 30), 0.3)
    assert low <= fugu.delta(certificate.noise, pair, 0.3) <= high * (1 + 1e-6) <= 0.01 * (1 + 1e-5)
    assert fugu.delta(fugu.Gaussian(0.9 * sigma, grid=1), pair, 0.3) > 0.01  # the stated wrong version: a tenth less


@pytest.mark.parametrize("epsilon", [0, Fraction(1, 10**6), Fraction(30), Fraction(900)])
def test_extreme_budgets_and_scales(epsilon):
    p, q = np.array([5, 3, 0, 2]), np.array([2, 3, 5, 0])
    for rate in (Fraction(1, 10**6), Fraction(1), Fraction(10**6)):
        found = laplace_delta(p, q, rate, Fraction(epsilon))
        assert 0 <= found <= hockey_stick(p, q, Fraction(epsilon)) + 1e-15
        assert worth(p, q, 2 * rate) <= 2 * rate
    for sigma in (Fraction(1, 100), Fraction(3), Fraction(300)):
        assert (
            0
            <= gaussian_delta(p, q, 1 / (2 * sigma**2), Fraction(epsilon), 1e-6)
            <= hockey_stick(p, q, Fraction(epsilon))
        )


def test_a_hockey_stick_is_nothing_only_if_it_is_nothing():
    p, q = np.array([3, 3, 3]), np.array([2, 2, 2])
    assert hockey_stick(p, q, Fraction(0)) == 0.0  # one law, in other counts
    assert hockey_stick(np.array([2**51 + 1, 2**51]), np.array([1, 1]), Fraction(0)) > 0  # doubles hardly see it
    assert hockey_stick(np.array([2**51, 2**51]), np.array([1, 1]), Fraction(0)) == 0.0
