"""The accountant: what it refuses, the worst record where passes are cut short, and inverses that come back."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import Approx, Pure, Renyi, RenyiCurve
from fugu.errors import BadBudget, BadNoise, NotProvable, UsageError
from fugu.iterate import AR1, Correlated, Groups, Mixing, NoisySGD, from_marginals, prior_from, shift_bound
from fugu.training.accountant import prior_of

PLAIN = {"steps": 6, "learning_rate": 1, "lipschitz": 1, "smoothness": 1}


@pytest.mark.parametrize(
    ("given", "truth"),
    [
        ({"steps": 1, "records": 3}, 4),  # only record 0 is used: the last one would say 0
        ({"steps": 5, "records": 3}, 16 / 3),
        ({"steps": 7, "records": 3}, 20 / 3),
        ({"steps": 4, "records": 10}, 4),
        ({"steps": 6, "records": 7, "batch_size": 2}, 1.25),
        ({"steps": 1, "records": 4, "batch_size": 2}, 1),
        ({"steps": 50, "records": 100}, 4),
        ({"steps": 2, "learning_rate": [1, 0.001]}, 2.000002),
    ],
)
def test_the_worst_record_is_found_where_passes_are_cut_short_or_rates_fall(given, truth):
    found = NoisySGD(**{**PLAIN, **given}, noise=1).renyi(2).epsilon
    assert found >= truth * (1 - 1e-6) and found == pytest.approx(truth, rel=1e-5)


@pytest.mark.parametrize("prior", ["ar1:0.3", "mixing:0.3", fugu.MarkovChain([[0.9, 0.1], [0.2, 0.8]], 12)])
def test_dependent_records_cost_at_least_what_independent_ones_do_for_every_schedule(prior):
    for steps in (1, 5, 12, 17, 24):
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
    sgd = NoisySGD(**PLAIN, noise=fugu.Laplace(1))
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


def test_wrong_questions_are_refused_by_name():
    with pytest.raises(BadNoise, match="for_budget"):
        NoisySGD(**PLAIN).renyi(2)
    for noise in (0, -1, math.nan, "1", fugu.GeneralizedCauchy(1), fugu.Gaussian(1, grid=Fraction(1))):
        with pytest.raises(UsageError, match="noise"):
            NoisySGD(**PLAIN, noise=noise).renyi(2)
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


def test_marginal_distances_are_refused_with_the_counterexample():
    with pytest.raises(NotProvable, match=r"1\.325"):
        from_marginals([0, 0])


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


@pytest.mark.parametrize(("record", "known"), [(1, 0.4), (10, 4)])
def test_independent_records_have_the_bound_of_feldman_and_others(record, known):
    """2 alpha L^2 / (sigma^2 (T - i + 1)) for noise eta sigma."""
    rate, steps = 0.3, 10
    shifts = np.zeros(steps)
    shifts[record - 1] = 2 * rate
    assert shift_bound(shifts, rate, 2).epsilon == pytest.approx(known, rel=1e-12)
    last = NoisySGD(steps, rate, 1, 1, noise=rate).renyi(2).epsilon  # the worst record counts
    assert last == pytest.approx(4, rel=1e-12)


def test_what_underflows_is_not_zero():
    """A delta or an epsilon of 0 would be a promise of its own; half of the smallest float rounds to it."""
    assert 0.5 * 5e-324 == 0
    far = NoisySGD(3, 1e-40, 1, 1, noise=1e50, prior="mixing:0.5")
    assert 0 < far.renyi(2).epsilon < 1e-100 and 0 < far.delta_at(0) < 1e-80 and 0 < far.delta_at(1) < 1e-300
    assert NoisySGD(3, 1, 1, 1, noise=1, prior="mixing:0.5").delta_at(500) > 0
