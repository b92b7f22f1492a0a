"""Grids, methods, noises, objectives, plans: what calibrate chooses and what it refuses."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu import (
    Approx,
    Discrete,
    Laplace,
    LawPair,
    MultivariateNormal,
    Pure,
    Renyi,
    Shifted,
    calibrate,
    compare,
    epsilon,
    plan,
    verify,
)
from fugu.calibration.lattice import _continuous, least_scale
from fugu.errors import BadBudget, BadLaw, BadNoise, NotProvable, UnknownName, UsageError
from fugu.laws import families
from fugu.noise import Lattice

PAIR = LawPair(Discrete([0.5, 1.5, 3.5], [1, 2, 3]), Discrete([0.5, 1.5, 3.5], [3, 2, 1]), "a vs b")
NORMAL = MultivariateNormal([0, 0], [[1, 0], [0, 1]])
RNG = np.random.default_rng(11)
OFF = LawPair(Discrete(RNG.normal(size=40)), Discrete(RNG.normal(size=50) + 0.3), "off any lattice")


def test_the_coarsest_lattice_that_holds_the_atoms_is_used():
    mechanism = calibrate(PAIR, Pure(0.5))
    assert mechanism.noise.grid == 1
    assert mechanism.lattice.origin == Fraction(1, 2)
    finer = calibrate(PAIR, Pure(0.5), grid=Fraction(1, 10))
    assert finer.noise.scale == mechanism.noise.scale  # the pure loss does not depend on the grid
    assert finer.expected_error() > mechanism.expected_error()  # the error does


def test_rounding_onto_a_fine_lattice_costs_at_most_half_a_percent():
    for budget in (Pure(0.5), Pure(3), Approx(1, 0.01)):
        mechanism = calibrate(OFF, budget)
        continuous = max(_continuous(f, budget.asks()) for f in families([OFF]))
        assert mechanism.noise.scale <= 1.005 * continuous * (1 + 1e-9)
        assert float(mechanism.noise.grid) <= float(mechanism.noise.scale) / 15
        assert verify(mechanism, OFF).holds


def test_a_coarse_grid_of_the_user_is_part_of_the_query():
    mechanism = calibrate(OFF, Pure(1), grid=1)
    assert verify(mechanism, OFF).holds
    released = mechanism.simulate(np.array([0.2, 0.7]), np.random.default_rng(0)).values
    assert np.all(released == np.round(released))


def test_no_noise_on_atoms_off_any_lattice_publishes_them_unrounded():
    values = RNG.normal(size=30)
    near = LawPair(Discrete(values, [100] * 30), Discrete(values, [100] * 29 + [101]))
    mechanism = calibrate(near, Pure(1))
    assert mechanism.noise.scale == 0 and mechanism.lattice is None
    assert mechanism.release(values[3], allow_no_noise=True).value == values[3]
    # other methods still get a true lattice, not the numbering of the atoms
    l1 = calibrate(near, Pure(1), method="l1")
    assert float(l1.noise.scale) == pytest.approx(values.max() - values.min(), rel=0.02)
    assert verify(l1, near).holds


def test_translates_of_an_unknown_law():
    mechanism = calibrate(Shifted(3), Pure(0.5))
    assert mechanism.noise.scale == 6
    assert (Fraction(3) / mechanism.noise.grid).denominator == 1
    assert float(mechanism.noise.grid) <= 6 / 16
    with pytest.raises(BadNoise, match="does not divide the shift"):
        calibrate(Shifted(3), Pure(0.5), grid=2)
    # whatever the law, the promise holds: three very different ones
    for law in (Discrete([0]), Discrete([0, 9, 50], [1, 5, 2]), Discrete(np.arange(30) * 0.375)):
        moved = LawPair(law, Discrete(law.values + 3, law.masses.parts))
        assert verify(mechanism, moved).holds


def test_a_shift_and_a_law_pair_together():
    mechanism = calibrate([Shifted(0.5), PAIR], Pure(0.2))
    assert verify(mechanism, [Shifted(0.5), PAIR]).holds
    assert mechanism.noise.scale >= calibrate(PAIR, Pure(0.2)).noise.scale


def test_adding_a_pair_never_takes_noise_away():
    other = LawPair(Discrete([0.5, 3.5]), Discrete([1.5]))
    alone = calibrate(PAIR, Pure(0.3)).noise.scale
    assert calibrate([PAIR, other], Pure(0.3)).noise.scale >= alone
    assert calibrate([PAIR, PAIR], Pure(0.3)).noise.scale == alone


@pytest.mark.parametrize("method", ["l1", "wasserstein", "closeness", "relaxed", "relaxed-paper", "exact"])
def test_every_method_can_be_asked_for_and_is_proved(method):
    mechanism = calibrate(PAIR, Pure(0.4), method=method)
    assert mechanism.certificate.method == method
    assert mechanism.certificate.proved["epsilon"] <= 0.4
    assert verify(mechanism).holds


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: calibrate(PAIR, Pure(math.inf)), BadBudget, "infinite"),
        (lambda: calibrate(PAIR, 1.0), BadBudget, "fugu.Pure"),
        (lambda: calibrate(PAIR, Renyi(2, math.inf)), BadBudget, "infinite epsilon"),
        (lambda: calibrate(PAIR, Pure(1), method="exat"), UnknownName, "did you mean 'exact'"),
        (lambda: calibrate(PAIR, Pure(1), noise="laplac"), UnknownName, "did you mean 'laplace'"),
        (lambda: calibrate(PAIR, Pure(1), noise="gaussian"), NotProvable, "Laplace noise"),
        (lambda: calibrate(PAIR, Pure(1), objective="abs"), UnknownName, "objective"),
        (lambda: calibrate(PAIR, Pure(1), grid=0), BadNoise, "positive"),
        (lambda: calibrate(PAIR, Pure(1), grid="fine"), BadNoise, "grid"),
        (lambda: calibrate([], Pure(1)), UsageError, "nothing to protect"),
        (lambda: calibrate([3], Pure(1)), UsageError, "law pairs"),
        (lambda: plan(LawPair(Discrete([[0, 0]]), Discrete([[1, 1]])), 0), NotProvable, "no finite epsilon"),
        (lambda: plan(LawPair(NORMAL, MultivariateNormal([1, 1], [[1, 0], [0, 1]])), 1), BadBudget, "give a delta"),
        (lambda: calibrate([PAIR, LawPair(Discrete([[0, 0]]), Discrete([[1, 1]]))], Pure(1)), BadLaw, "dimensions"),
        (lambda: plan(PAIR, -1), UsageError, "target error"),
        (lambda: plan(PAIR, math.nan), UsageError, "target error"),
        (lambda: plan(PAIR, 1, objective="abs"), UnknownName, "objective"),
        (lambda: plan(LawPair(Discrete([0]), Discrete([1])), 0), NotProvable, "no finite epsilon"),
        (lambda: calibrate(LawPair(Discrete([0]), Discrete([1e300])), Pure(1), grid=1), BadNoise, "too fine"),
        (lambda: Laplace(-1), BadNoise, "scale"),
        (lambda: Laplace(math.nan), BadNoise, "scale"),
        (lambda: Laplace(1, grid=-1), BadNoise, "grid"),
    ],
)
def test_what_cannot_be_done_is_refused_by_name(call, error, says):
    with pytest.raises(error, match=says):
        call()


@pytest.mark.parametrize("target", [0.0, 0.3, 1.0, 7.5])
@pytest.mark.parametrize("pair", [PAIR, OFF], ids=["lattice", "off"])
def test_plan_inverts_calibrate(pair, target):
    if target == 0 and pair is OFF:
        with pytest.raises(NotProvable):
            plan(pair, target)
        return
    budget = plan(pair, target)
    assert calibrate(pair, budget).expected_error() <= target
    if target:  # a slightly smaller epsilon would not reach the error: the plan is tight
        smaller = Pure(float(budget.epsilon) * 0.99)
        assert calibrate(pair, smaller).expected_error() > target


def test_the_squared_objective_has_its_own_plan():
    budget = plan(PAIR, 2.0, objective="squared")
    assert calibrate(PAIR, budget).expected_error("squared") <= 2.0


@pytest.mark.parametrize("target", [2.0, 9.0])
def test_vectors_have_a_plan(target):
    pair = LawPair(Discrete([[0, 0], [1, 3]], [3, 1]), Discrete([[0, 0], [1, 3]], [1, 3]))
    budget = plan(pair, target)
    assert calibrate(pair, budget).expected_error() <= target
    assert calibrate(pair, Pure(float(budget.epsilon) * 0.99)).expected_error() > target


def test_normal_vectors_have_a_plan_with_a_delta():
    pair = LawPair(NORMAL, MultivariateNormal([3, 1], [[1, 0], [0, 1]]))
    budget = plan(pair, 6.0, delta=1e-3)
    assert budget.delta == 1e-3 and calibrate(pair, budget).expected_error() <= 6.0
    assert calibrate(pair, Approx(float(budget.epsilon) * 0.99, 1e-3)).expected_error() > 6.0


def test_a_lattice_of_huge_steps_has_a_zero():
    """No noise drawn is as likely as not: the index 0 must not fail where the step is beyond 64 bits."""
    assert Lattice(Fraction(10**299)).value(np.array([0, 0])).tolist() == [0.0, 0.0]
    assert Lattice(Fraction(10**299)).value(np.array([0, 3])).tolist() == [0.0, 3e299]


def test_far_atoms_are_calibrated_where_a_lattice_can_hold_them():
    mechanism = calibrate(LawPair(Discrete([0, 1e300], [1, 1]), Discrete([0, 1e300], [9, 1])), Pure(0.5))
    assert verify(mechanism).holds


class TestSearch:
    @pytest.mark.parametrize("target", [1e-6, 0.1, 3.0])
    def test_returns_the_safe_end_and_is_tight(self, target):
        def loss(b):
            return math.inf if b == 0 else max(2 / b, 1 / b + math.exp(-b))

        found = least_scale(loss, target, 1e7)
        assert loss(found) <= target < loss(found * (1 - 2e-11))

    def test_counts_few_evaluations(self):
        calls = []
        pair = families([PAIR])[0]
        from fugu.loss.search.laplace import pure_loss

        least_scale(lambda b: calls.append(b) or pure_loss(pair, b).value, 0.5, 100)
        assert len(calls) < 30

    def test_a_step_function_is_bracketed_too(self):
        found = least_scale(lambda b: 1.0 if b < 2.5 else 0.0, 0.5, 100)
        assert found >= 2.5
        assert found <= 2.5 * (1 + 1e-10)


def test_compare_prints_and_serialises():
    comparison = compare(PAIR, Pure(0.4))
    assert "exact" in str(comparison)
    assert comparison.best.method == "exact"
    assert comparison.to_json()["rows"][0]["method"] == "l1"


def test_the_mechanism_loses_what_it_says():
    mechanism = calibrate(PAIR, Pure(0.4))
    assert epsilon(mechanism.noise, PAIR) == pytest.approx(0.4, abs=1e-8)
