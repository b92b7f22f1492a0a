"""guarantee_against: the loss under another prior against sums from the definition; honest where it is infinite."""

import math

import numpy as np
import pytest
from beliefs import losses

import fugu
from fugu.auditing.against import weakest
from fugu.errors import BadNoise, NotProvable, UsageError
from fugu.guarantee.asks import exact

VALUES = [0, 1, 2, 3]
ASSUMED = fugu.LawPair(fugu.Discrete(VALUES, [4, 3, 2, 1]), fugu.Discrete(VALUES, [1, 2, 3, 4]), "a vs b")
OTHER = fugu.LawPair(fugu.Discrete(VALUES, [9, 2, 1, 0]), fugu.Discrete(VALUES, [0, 1, 2, 9]), "a vs b")
TOLD = {
    "pure": (fugu.Pure(0.4), "laplace"),
    "approx": (fugu.Approx(0.3, 0.03), "laplace"),
    "approx-gaussian": (fugu.Approx(0.3, 0.03), "gaussian"),
    "renyi": (fugu.Renyi(3, 0.1), "laplace"),
    "renyi-gaussian": (fugu.Renyi(3, 0.1), "gaussian"),
}


def number(g):
    return float(g.delta if isinstance(g, fugu.Approx) else g.epsilon)


def true_loss(pair, noise, budget):
    pure, delta, renyi = losses(pair, noise, 0.3, 3.0)
    return pure if isinstance(budget, fugu.Pure) else delta if isinstance(budget, fugu.Approx) else renyi


@pytest.mark.parametrize("name", TOLD)
def test_the_loss_is_the_one_of_the_definition(name):
    budget, noise = TOLD[name]
    mechanism = fugu.calibrate(ASSUMED, budget, noise=noise)
    own, other = (fugu.guarantee_against(mechanism, pair) for pair in (ASSUMED, OTHER))
    assert type(own) is type(other) is type(budget)
    assert own <= budget and not other <= budget
    truth = true_loss(OTHER, mechanism.noise, budget)
    assert truth * (1 - 1e-12) <= number(other) <= truth * (1 + 1e-6)
    stronger = type(mechanism.noise)(mechanism.noise.scale * 1.02, mechanism.noise.grid)
    assert true_loss(OTHER, stronger, budget) < number(other) * (1 - 1e-4)  # another noise has another loss


def test_it_agrees_with_verify():
    for budget, noise in TOLD.values():
        mechanism = fugu.calibrate(ASSUMED, budget, noise=noise)
        for pair in (ASSUMED, OTHER):
            found = fugu.guarantee_against(mechanism.certificate, pair)
            assert (found <= budget) == fugu.verify(mechanism, pair).holds


def test_a_weaker_pair_of_an_approx_budget_is_pure():
    mechanism = fugu.calibrate(OTHER, fugu.Approx(0.8, 0.01), noise="laplace")
    alike = fugu.LawPair(fugu.Discrete(VALUES, [10, 11, 10, 10]), fugu.Discrete(VALUES, [11, 10, 10, 10]))
    found = fugu.guarantee_against(mechanism, alike)
    assert isinstance(found, fugu.Pure) and found <= fugu.Pure(0.1)


def test_all_orders_of_a_curve_are_told():
    mechanism = fugu.calibrate(ASSUMED, fugu.RenyiCurve({2: 0.1, 5: 0.3}), noise="laplace")
    found = fugu.guarantee_against(mechanism, OTHER)
    for alpha in (2, 5):
        truth = losses(OTHER, mechanism.noise, 0.3, float(alpha))[2]
        assert truth * (1 - 1e-12) <= found.epsilons[alpha] <= truth * (1 + 1e-6)


def test_the_delta_of_a_renyi_budget_is_used_where_it_is_needed():
    rare = fugu.LawPair(fugu.Discrete([0, 1, 60], [500, 500, 1]), fugu.Discrete([0, 1, 60], [400, 600, 0]), "rare")
    common = fugu.LawPair(fugu.Discrete([0, 1, 60], [500, 500, 0]), fugu.Discrete([0, 1, 60], [400, 600, 0]), "common")
    mechanism = fugu.calibrate(rare, fugu.Renyi(2, 0.02, 0.002), method="partial-transport")
    assert fugu.guarantee_against(mechanism, rare).delta == pytest.approx(0.002)
    assert fugu.guarantee_against(mechanism, common).delta == 0


def test_no_noise_against_separate_values_is_infinite_and_said_so():
    same = fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([0, 1]))
    apart = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1]))
    for budget in (fugu.Pure(1), fugu.Approx(1, 0.1), fugu.Renyi(2, 1)):
        mechanism = fugu.calibrate(same, budget, noise="laplace")
        assert mechanism.noise.scale == 0
        found = fugu.guarantee_against(mechanism, apart)
        assert math.isinf(found.epsilon) and not found <= budget


def test_a_mixture_is_as_weak_as_its_weaker_half():
    halves = [fugu.calibrate(ASSUMED, fugu.Pure(e)) for e in (0.2, 0.4)]
    each = [fugu.guarantee_against(half, OTHER) for half in halves]
    found = fugu.guarantee_against(fugu.mix(0.5, *halves), OTHER)
    assert found == max(each, key=lambda g: exact(g.epsilon)) and found > min(each, key=lambda g: exact(g.epsilon))
    assert weakest([fugu.Pure(2), fugu.Approx(1, 0.1)]) == fugu.Approx(2, 0.1)
    assert weakest([fugu.Renyi(2, 1), fugu.Renyi(2, 2)]) == fugu.Renyi(2, 2)
    with pytest.raises(NotProvable):
        weakest([fugu.Renyi(2, 1), fugu.Renyi(3, 1)])


def test_values_beyond_the_support_are_moved_as_a_release_moves_them():
    mechanism = fugu.calibrate(ASSUMED, fugu.Pure(0.4))
    far = fugu.LawPair(fugu.Discrete([-50]), fugu.Discrete([99]))
    ends = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([3]))
    assert fugu.guarantee_against(mechanism, far) == fugu.guarantee_against(mechanism, ends)
    assert number(fugu.guarantee_against(mechanism, far)) == pytest.approx(3 / mechanism.noise.scale)


def test_laws_that_do_not_fit_are_refused():
    with pytest.raises(BadNoise, match="atoms"):
        fugu.guarantee_against(
            fugu.calibrate(ASSUMED, fugu.Pure(0.4)), fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 1))
        )
    with pytest.raises(UsageError):
        fugu.guarantee_against(42, ASSUMED)


def test_analyses_vectors_and_normal_vectors_have_a_guarantee_against_other_beliefs():
    analysis = fugu.calibrate(ASSUMED, fugu.Renyi(2, 0.5), noise="cauchy")
    own = fugu.guarantee_against(analysis, ASSUMED)
    assert own <= fugu.Renyi(2, 0.5) and own.epsilon == pytest.approx(0.5, rel=1e-6)
    vectors = [fugu.LawPair(fugu.Discrete([[0, 0]]), fugu.Discrete([[k, 0]])) for k in (1, 2)]
    noise = fugu.calibrate(vectors, fugu.Pure(1))
    assert fugu.guarantee_against(noise, vectors[0]).epsilon == pytest.approx(0.5, abs=1e-12)
    assert fugu.guarantee_against(noise, vectors) == fugu.Pure(1)
    cov = [[1, 0], [0, 1]]
    normal = [fugu.LawPair(fugu.MultivariateNormal([0, 0], cov), fugu.MultivariateNormal([k, 0], cov)) for k in (1, 2)]
    mechanism = fugu.calibrate(normal[0], fugu.Renyi(2, 0.5), noise="gaussian")
    near, far = (fugu.guarantee_against(mechanism, pair).epsilon for pair in normal)
    assert near <= 0.5 and far == pytest.approx(4 * near, rel=1e-9)  # D_2 grows with the square of the distance
    with pytest.raises(BadNoise):
        fugu.guarantee_against(noise, normal[0])


def test_smooth_laws_are_told_too():
    mechanism = fugu.calibrate(fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(0.5, 1)), fugu.Pure(1))
    wider = fugu.guarantee_against(mechanism, fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(1, 1)))
    assert wider.epsilon == pytest.approx(2.0, rel=1e-6)
    assert np.isfinite(fugu.guarantee_against(mechanism, fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(0, 1.3))).epsilon)


def test_a_channel_has_a_guarantee_against_other_beliefs_and_none_within_a_distance():
    capped = fugu.optimal_channel(ASSUMED, fugu.Pure(1), cap=2)
    with pytest.raises(NotProvable, match="exchanges values"):
        fugu.guarantee_within(capped, 0.1)
    ends = fugu.LawPair(fugu.Discrete(VALUES, [1, 0, 0, 0]), fugu.Discrete(VALUES, [0, 0, 0, 1]), "a vs b")
    assert fugu.guarantee_against(capped, ends) <= fugu.Pure(2)
