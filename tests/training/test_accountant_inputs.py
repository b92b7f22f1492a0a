"""The accountant: what it refuses, the worst record where passes are cut short, and inverses that come back."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import Approx, Pure, Renyi, RenyiCurve
from fugu.errors import BadBudget, BadNoise, FuguError, NotProvable, UsageError
from fugu.iterate import AR1, Correlated, Groups, Mixing, NoisySGD, prior_from, shift_bound
from fugu.training.accountant import prior_of

PLAIN = {"steps": 6, "learning_rate": 1, "lipschitz": 1, "smoothness": 1}


@pytest.mark.parametrize("prior", ["ar1:0.3", "mixing:0.3", fugu.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 12)])
def test_dependent_records_cost_at_least_what_independent_ones_do_for_every_schedule(prior):
    for steps in (5, 12, 17):
        for rate in (1.0, np.linspace(1, 0.1, steps)):
            given = {**PLAIN, "steps": steps, "learning_rate": rate, "records": 12, "noise": 2.0}
            dependent = NoisySGD(**given, prior=prior, sensitivity=2).renyi(3).epsilon
            alone, all_ = (NoisySGD(**given, prior=p).renyi(3).epsilon for p in ("independent", "group"))
            assert alone * (1 - 1e-12) <= dependent <= all_ * (1 + 1e-9)


def test_a_schedule_with_too_many_records_to_look_at_is_refused():
    with pytest.raises(NotProvable, match="multiple of the number of batches"):
        NoisySGD(7000, 1, 1, 1, noise=1, records=5000, prior="ar1:0.3", sensitivity=1).renyi(2)


@pytest.mark.parametrize(
    "budget", [Approx(1, 1e-5), Approx(0, 0.01), Renyi(4, 0.5), RenyiCurve({2: 0.2, 8: 0.9})], ids=repr
)
@pytest.mark.parametrize("prior", ["independent", "ar1:0.5", "mixing:0.4", "group"])
def test_the_noise_for_a_budget_meets_it_and_a_thousandth_less_does_not(budget, prior):
    made = NoisySGD(8, 0.5, 1, 1, 0.1, records=4, prior=prior, sensitivity=3).for_budget(budget)

    def meets(sgd):
        if isinstance(budget, Approx):
            return sgd.delta_at(budget.epsilon) <= budget.delta
        orders = {budget.alpha: budget.epsilon} if isinstance(budget, Renyi) else budget.epsilons
        return all(sgd.renyi(a).epsilon <= e for a, e in orders.items())

    assert meets(made) and not meets(made.with_noise(made.noise * 0.999))


def test_normal_curves_beat_the_conversion_from_divergences():
    sgd = NoisySGD(**PLAIN, noise=2.0)
    assert sgd.approx(1e-5).epsilon < 0.95 * sgd.curve().to_approx(1e-5).epsilon
    assert sgd.delta_at(sgd.approx(1e-5).epsilon) <= 1e-5 and sgd.delta_at(math.inf) == 0


def test_laplace_noise_has_a_pure_guarantee_and_needs_no_more_with_a_delta():
    sgd = NoisySGD(**{**PLAIN, "steps": 2}, noise=fugu.Laplace(1))
    pure = sgd.for_budget(Pure(1))
    assert pure.renyi(math.inf).epsilon <= 1 and pure.noise.scale == pytest.approx(2, rel=1e-8)
    assert sgd.for_budget(Approx(1, 0)).noise == pure.noise
    assert sgd.for_budget(Approx(1, 0.01)).noise.scale < pure.noise.scale
    with pytest.raises(NotProvable, match="no pure guarantee"):
        NoisySGD(**PLAIN).for_budget(Pure(1))


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"learning_rate": 2.01}, UsageError, "2 / smoothness"),
        ({"learning_rate": 0}, UsageError, "learning_rate"),
        ({"learning_rate": True}, UsageError, "truth"),
        ({"learning_rate": [1, 1]}, UsageError, "6 steps"),
        ({"learning_rate": 1e-200}, UsageError, "learning_rate"),
        ({"strong_convexity": -0.1}, UsageError, "not convex"),
        ({"strong_convexity": 2}, UsageError, "cannot exceed"),
        ({"lipschitz": 0}, UsageError, "lipschitz"),
        ({"lipschitz": 10**400}, UsageError, "another unit"),
        ({"smoothness": math.nan}, UsageError, "smoothness"),
        ({"domain": 0}, UsageError, "domain"),
        ({"steps": 0}, UsageError, "steps"),
        ({"batch_size": 0}, UsageError, "batch_size"),
        ({"records": 0}, UsageError, "records"),
        ({"prior": "ar1:0.3"}, UsageError, "sensitivity"),
        ({"prior": "nobody"}, UsageError, "independent"),
        ({"prior": 3}, UsageError, "no prior"),
        ({"prior": "ar1:x"}, UsageError, "number"),
    ],
)
def test_wrong_trainings_are_refused_by_name(given, error, said):
    with pytest.raises(error, match=said):
        NoisySGD(**{**PLAIN, **given})


@pytest.mark.parametrize(
    ("name", "values"),
    {
        "steps": (-1, 2.5, True, None, "3"),
        "learning_rate": (-1, math.nan, [], "a", None),
        "lipschitz": (-1, math.nan, math.inf, None),
        "smoothness": (0, "1"),
        "strong_convexity": (math.nan,),
        "noise": (0, -1, math.nan, [1, 1], "1", None),
        "domain": (-1, math.nan, "wide"),
        "records": (1.5,),
        "batch_size": (1.5,),
        "prior": (None, "ar1:2", "mixing:1"),
        "sensitivity": (0, math.nan, -1),
        "dimension": (0,),
    }.items(),
)
def test_values_that_no_training_has_are_refused_with_an_error_of_ours(name, values):
    for value in values:
        with pytest.raises(FuguError):
            NoisySGD(**{**PLAIN, "noise": 1.0, name: value}).renyi(2)


def test_wrong_questions_are_refused_by_name():
    for epsilon in (-1, math.nan, "1", None):
        with pytest.raises(FuguError):
            NoisySGD(**PLAIN, noise=1).delta_at(epsilon)
    for alpha in (1, 0.5, -1, math.nan, "2", None, True):
        with pytest.raises(FuguError):
            shift_bound([1], 1, alpha)
    with pytest.raises(BadNoise, match="for_budget"):
        NoisySGD(**PLAIN).renyi(2)
    for noise in (0, -1, math.nan, "1", fugu.GeneralizedCauchy(1), fugu.Gaussian(1, grid=Fraction(1))):
        with pytest.raises(UsageError, match="noise"):
            NoisySGD(**PLAIN, noise=noise).renyi(2)
    with pytest.raises(NotProvable):
        NoisySGD(**PLAIN, prior="mixing:0.3").for_budget(Pure(1))
    for budget in (Approx(math.inf, 0.1), Renyi(2, 0), Renyi(2, 1, 0.1)):
        with pytest.raises(UsageError):
            NoisySGD(**PLAIN).for_budget(budget)
    with pytest.raises(BadBudget):
        NoisySGD(**PLAIN, noise=1).renyi(1)
    for labels in ([None, 1], [[1], [1, 2]], [], [[1, 2]], [1.0, math.nan]):
        with pytest.raises(UsageError, match="groups"):
            Groups(labels)
    with pytest.raises(UsageError, match="5 labels for 6"):
        NoisySGD(**PLAIN, noise=1, prior=Groups([1] * 5)).renyi(2)
    with pytest.raises(UsageError, match="length 5"):
        NoisySGD(**PLAIN, noise=1, prior=fugu.MarkovChain([[0.5, 0.5], [0.4, 0.6]], 5)).renyi(2)
    for wrong in (lambda: AR1(1), lambda: AR1(0.3, 0), lambda: Mixing(1), lambda: Mixing(-0.1), lambda: Correlated(3)):
        with pytest.raises(UsageError):
            wrong()


@pytest.mark.parametrize(
    ("shifts", "more", "said"),
    [
        ([-1, 2], {}, "number 1 is negative"),
        ([], {}, "at least one"),
        ([[1, 2]], {}, "list of numbers"),
        ([math.nan], {}, "NaN"),
        ([1, 2], {"contraction": 1.01}, "between 0 and 1"),
        ([1, 2], {"contraction": [1, 1, 1]}, "each of the 2 steps"),
        ([1, 2], {"diameter": 0}, "diameter"),
        ([1, 2], {"dimension": 0}, "dimension"),
        ([10**400], {}, "numbers"),
        ([1e200], {}, "unit"),
    ],
)
def test_wrong_shifts_are_refused_by_name(shifts, more, said):
    with pytest.raises(UsageError, match=said):
        shift_bound(shifts, 1, 2, **more)


@pytest.mark.parametrize(
    "prior",
    [
        "independent",
        "group",
        "ar1:1/3",
        "mixing:0.25",
        Groups(["a", "b", "a", "c", "b", "b"]),
        fugu.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 6),
        fugu.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 6, [0.5, 0.5]),
        fugu.priors.ChainSet([fugu.MarkovChain([[p, 1 - p], [1 - p, p]], 6) for p in (0.6, 0.7)]),
    ],
    ids=repr,
)
def test_a_prior_can_be_written_down_and_read_again(prior):
    first = prior_from(prior)
    again = prior_of(first.parameters())
    found = [NoisySGD(**PLAIN, noise=3.0, prior=p, sensitivity=1).renyi(2).epsilon for p in (first, again)]
    assert found[0] == found[1] and first.words() == again.words()


def test_what_underflows_is_not_zero():
    """A delta or an epsilon of 0 would be a promise of its own; half of the smallest float rounds to it."""
    assert 0.5 * 5e-324 == 0
    far = NoisySGD(3, 1e-40, 1, 1, noise=1e50, prior="mixing:0.5")
    assert 0 < far.renyi(2).epsilon < 1e-100 and 0 < far.delta_at(0) < 1e-80 and 0 < far.delta_at(1) < 1e-300
    assert NoisySGD(3, 1, 1, 1, noise=1, prior="mixing:0.5").delta_at(500) > 0
