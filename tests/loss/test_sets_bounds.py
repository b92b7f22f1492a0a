"""delta and Rényi divergences over sets of laws: the printed numbers, and no two members above them."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from sets_oracle import KINDS, delta_of, drawn, family, members, noised, renyi_of, values_of

import fugu
from fugu import Approx, Ball, Band, Box, Discrete, Gaussian, Hull, Laplace, LawPair, Renyi
from fugu.errors import NotProvable, OutOfReach
from fugu.laws.shapes import shapes
from fugu.loss.door import delta_bounds, divergence_bounds
from fugu.loss.search import sets as sets_bounds
from fugu.loss.search.sets import least
from fugu.loss.sets import dual, envelope
from fugu.loss.sets_extremes import DecayKernel
from fugu.loss.sets_outputs import Excess, RenyiMeasure, bounded, outputs, outside, reach
from fugu.noise.lattice import Lattice
from fugu.numbers import balls
from hunting import search

VECTORS = json.loads((Path(__file__).parent / "sets_vectors.json").read_text())["delta_and_renyi"]
ORDERS = {"pq": (0, 1), "qp": (1, 0)}


def both(case, kernel):
    """The sets of a printed case, N and D in doubles and in balls."""
    values = [float(x) for x in case["x"]]
    made = [Box(values, *([Fraction(x) for x in case[side][end]] for end in ("lower", "upper"))) for side in "pq"]
    sets = family(tuple(made))
    where = outputs(sets, kernel)
    return sets, sets_bounds.noised(sets, where), bounded(sets, where)


@pytest.mark.parametrize("number", range(len(VECTORS)))
@pytest.mark.parametrize("side", ORDERS)
def test_printed_bounds(number, side):
    case, order = VECTORS[number], ORDERS[side]
    sets, quick, sure = both(case, DecayKernel.laplace(float(case["scale"])))
    measures = {"delta": (Excess(Fraction(case["epsilon"])), case[f"delta_{side}"])}
    measures |= {alpha: (RenyiMeasure(Fraction(alpha)), found) for alpha, found in case[f"renyi_{side}"].items()}
    for measure, stated in measures.values():
        first = measure.loss(sets_bounds.envelope(sets.sets[order[0]], quick, order, measure))
        value, at = sets_bounds.dual(quick, order, measure)
        assert first == pytest.approx(float(stated["envelope"]), rel=1e-8, abs=1e-12)
        assert measure.loss(value) == pytest.approx(float(stated["dual"]), rel=6e-7, abs=1e-9)
        with balls.precision(128):
            proved = [
                measure.proved_loss(envelope(sets.sets[order[0]], sure, order, measure)),
                measure.proved_loss(dual(sure, order, measure, at)),
            ]
        assert proved == pytest.approx([first, measure.loss(value)], rel=1e-8, abs=1e-9)
        assert min(proved) >= float(stated["attained_below"]) - 1e-9


@search("delta and divergences of members of sets", each=KINDS, quick=8)
def test_no_two_members_lose_more_than_is_proved(kind, rng):
    if kind == "kl" and rng.random() < 0.7:
        return 0  # these are slow
    values = values_of(rng, most=6, wide=9)
    sets = family((drawn(kind, rng, values), drawn(str(rng.choice(KINDS[:4])), rng, values)))
    scale, gaussian = float(rng.choice([0.7, 2.0, 5.0])), kind != "kl" and bool(rng.random() < 0.5)
    noise, epsilon, alpha = (Gaussian if gaussian else Laplace)(scale, grid=1), 0.4, int(rng.choice([2, 5]))
    (delta,) = delta_bounds(sets, noise, Fraction(epsilon))
    (order,) = divergence_bounds(sets, noise, Fraction(alpha))
    wide = 2 * alpha * 9 + int(25 * scale)
    each = [noised(sets.points, members(one, rng, 8), scale, gaussian, wide) for one in sets.sets]
    for one in each[0]:
        for other in each[1]:
            for p, q in ((one, other), (other, one)):
                assert delta_of(p, q, epsilon) <= delta.value + 1e-9
                assert renyi_of(p, q, alpha) <= order.value + 1e-7
    return 2 * len(each[0]) * len(each[1])


def test_two_laws_as_sets_lose_what_they_lose():
    values = [0, 1, 4]
    p, q = Discrete(values, [5, 2, 1]), Discrete(values, [1, 2, 5])
    sets = family((Hull([p]), Hull([q])))
    (plain,) = (item.on(Lattice(Fraction(1))) for item in shapes([LawPair(p, q)]))
    for noise in (Laplace(2, grid=1), Gaussian(2, grid=1)):
        for epsilon in (0, Fraction(1, 2)):
            truth = max(loss.value for loss in delta_bounds(plain, noise, Fraction(epsilon)))
            assert delta_bounds(sets, noise, Fraction(epsilon))[0].value == pytest.approx(truth, rel=1e-9)
        truth = max(loss.value for loss in divergence_bounds(plain, noise, Fraction(3)))
        assert divergence_bounds(sets, noise, Fraction(3))[0].value == pytest.approx(truth, rel=1e-9)


def test_without_noise_the_limits_themselves_are_summed():
    box = Box([0, 1], [0.25, 0.25], [0.75, 0.75])
    sets = family((box, box))
    assert delta_bounds(sets, Laplace(0, grid=1), Fraction(0))[0].value == pytest.approx(0.5)
    assert delta_bounds(sets, Gaussian(0, grid=1), Fraction(0))[0].value == pytest.approx(0.5)


@pytest.mark.parametrize("alpha", [2, 6])
def test_what_lies_beyond_the_outputs_is_covered(alpha):
    """Far out Q may be minute: every output beyond the window together is less than what is added for them."""
    values = np.array([0.0, 3.0, 10.0])
    found, scale = Box(values, [0, 0.2, 0], [0.5, 0.6, 0.5]), 4.0
    sets, measure, kernel = family((found, found)), RenyiMeasure(Fraction(alpha)), DecayKernel.gaussian(scale)
    far = reach(sets, kernel, measure)
    near = outputs(sets, kernel, max(1, far - 40))
    p, q = np.array([0.0, 0.5, 0.5]), np.array([0.5, 0.5, 0.0])
    first, second = noised(values, np.stack([p, q]), scale, gaussian=True, wide=2 * far)
    whole = np.arange(-2 * far, 10 + 2 * far + 1)
    terms = np.exp(alpha * first + (1 - alpha) * second)
    beyond = terms[(whole < near.at[0]) | (whole > near.at[-1])].sum()
    with balls.precision(128):
        assert float(outside(found, near, measure).lower()) >= beyond > 0
        assert float(outside(found, outputs(sets, kernel, far), measure).upper()) < 1e-20


def test_a_bound_with_delta_saves_noise_and_says_that_it_is_a_bound():
    values = np.arange(8.0)
    p, q = Discrete(values, [9, 8, 7, 6, 5, 4, 3, 2]), Discrete(values, [2, 3, 4, 5, 6, 7, 8, 9])
    pair = LawPair(Ball(p, 0.05), Ball(q, 0.05), "a vs b")
    pure = fugu.calibrate(pair, fugu.Pure(1), noise="laplace")
    for budget in (Approx(1, 0.05), Renyi(2, 0.5)):
        mechanism = fugu.calibrate(pair, budget, noise="laplace")
        assert mechanism.certificate.method == "envelope" and fugu.verify(mechanism).holds
        assert mechanism.expected_error() < pure.expected_error()
        less = type(mechanism.noise)(float(mechanism.noise.scale) * 0.99, grid=1)
        loss = fugu.delta(less, pair, 1) if budget.delta else fugu.renyi(less, pair, 2)
        assert loss > (budget.delta or budget.epsilon)  # less noise is not proved
    rows = fugu.compare(pair, Approx(1, 0.05)).rows
    assert {(row.method, row.note) for row in rows if row.noise == "gaussian"} == {("envelope", "a bound, not exact")}


def test_gaussian_noise_has_no_pure_loss():
    pair = LawPair(Box.everything([0, 1]), Box.everything([0, 1]))
    assert fugu.epsilon(Gaussian(3, grid=1), pair) == math.inf
    with pytest.raises(NotProvable, match="Gaussian noise gives no pure guarantee"):
        fugu.calibrate(pair, fugu.Pure(1), noise="gaussian")
    with pytest.raises(NotProvable, match="give the noise a grid"):
        fugu.delta(Laplace(3), pair, 1)


def test_too_many_outputs_are_refused_with_what_to_do():
    sets = family((Band([0, 1, 10**6], [0, 0.5, 1], [1, 1, 1]), Box.everything([0, 1, 10**6])))
    with pytest.raises(OutOfReach, match="coarser grid"):
        delta_bounds(sets, Laplace(5, grid=1), Fraction(1))


@search("the least value of a convex function of two numbers", quick=20)
def test_the_least_value_is_found(rng):
    a, b = rng.standard_normal((6, 2)), rng.standard_normal(6)
    corner = np.array([3.0, 50.0])

    def height(x, y):
        values = a @ (np.array([x, y]) / corner) + b
        k = int(np.argmax(values))
        return float(values[k]), tuple((a[k] / corner).tolist())

    at = least(height, (3.0, 50.0))
    grid = [height(x, y)[0] for x in np.linspace(0, 3, 60) for y in np.linspace(0, 50, 60)]
    assert height(*at)[0] <= min(grid) + 1e-9 and 0 <= at[0] <= 3 and 0 <= at[1] <= 50


def test_a_divergence_ball_with_too_many_values_is_refused_or_covered_by_the_range():
    values = np.arange(500.0)
    ball = Ball(Discrete(values), 0.1, "kl")
    with pytest.raises(NotProvable, match="join values"):
        fugu.calibrate(LawPair(ball, ball), fugu.Pure(1), noise="laplace", method="exact", grid=1)
    covered = fugu.calibrate(LawPair(ball, ball), fugu.Pure(1), noise="laplace", grid=1)
    assert covered.certificate.method == "l1" and covered.noise.scale == 499 and fugu.verify(covered).holds
