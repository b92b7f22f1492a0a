"""guarantee_within: beliefs moved or tilted by the distance never lose more; versions that forget something do."""

import math
from fractions import Fraction

import numpy as np
import pytest
from beliefs import LINE, PAIRS, SPREAD, beliefs, jittered, largest, losses, tilted

import fugu
from fugu.auditing import guarantee_against, guarantee_within
from fugu.auditing.against import proved
from fugu.auditing.moved import apart, dominating, moved_delta, moved_renyi, reach
from fugu.documents.promises import laws_given
from fugu.errors import NotProvable, UnknownName, UsageError
from fugu.guarantee.asks import exact
from fugu.loss.shifts import shift_renyi
from hunting import search

BUDGETS = [
    (fugu.Pure(0.8), "laplace"),
    (fugu.Approx(0.5, 0.02), "laplace"),
    (fugu.Approx(0.5, 0.02), "gaussian"),
    (fugu.Renyi(2, 0.3), "laplace"),
    (fugu.Renyi(2, 0.3), "gaussian"),
    (fugu.Renyi(3, 0.1, 0.02), "laplace"),
    (fugu.RenyiCurve({2: 0.2, 4: 0.5}), "gaussian"),
]


def exceeds(found, bound):
    """Whether a guarantee is above a bound of the same kind, beyond the rounding of two proofs of one number."""
    if isinstance(found, fugu.RenyiCurve):
        return any(e > bound.epsilons[a] * (1 + 1e-9) + 1e-12 for a, e in found.epsilons.items())
    if isinstance(found, fugu.Approx) and isinstance(bound, fugu.Approx):
        return float(found.delta) > float(bound.delta) * (1 + 1e-9) + 1e-12
    slack = float(bound.epsilon) * (1 + 1e-9) + 1e-12
    return float(found.epsilon) > slack or getattr(found, "delta", 0) > getattr(bound, "delta", 0)


def at_epsilon(mechanism, other, budget):
    """What the noise of a mechanism loses under other beliefs, in the terms of another budget."""
    return proved(laws_given(fugu.Scenario(other), mechanism.certificate), mechanism.noise, budget)


def hunt(seed, rounds, kind="wasserstein"):
    """Random beliefs, every budget: (cases, cases in which epsilon is within 5 % of the bound)."""
    rng, cases, tight = np.random.default_rng(seed), 0, 0
    for number in range(rounds):
        budget, noise = BUDGETS[number % len(BUDGETS)]
        laws = beliefs(rng, int(rng.integers(2, 7)), int(rng.integers(2, 4)))
        mechanism = fugu.calibrate(fugu.Scenario(laws), budget, noise=noise)
        distance = float(rng.choice([0.25, 0.5, 0.75, 1.0, 1.5, 2.0]))
        if kind == "wasserstein":
            bound = guarantee_within(mechanism, distance)
            others = [jittered(rng, laws, distance) for _ in range(3)]
        else:
            distance /= 4
            others = [tilted(rng, laws, distance) for _ in range(3)]
            worst = max(largest(other[s], laws[s]) for other in others for s in laws)
            bound = guarantee_within(mechanism, worst * (1 + 1e-9) + 1e-15, kind="renyi")
        if not isinstance(bound, fugu.RenyiCurve) and math.isinf(bound.epsilon):
            continue
        for other in others:
            found = guarantee_against(mechanism, fugu.Scenario(other))
            if isinstance(bound, fugu.Approx | fugu.Pure) and isinstance(found, fugu.Approx) and kind == "renyi":
                found = at_epsilon(mechanism, other, bound)  # stated at another epsilon
            if getattr(found, "delta", 0) and isinstance(bound, fugu.Renyi):
                if bound.delta:
                    continue  # two choices of likely events; a fixed choice is checked below
                found = at_epsilon(mechanism, other, fugu.Renyi(bound.alpha, bound.epsilon))
            cases += 1
            assert not exceeds(found, bound), (seed, number, budget, noise, distance, found, bound)
            tight += not isinstance(found, fugu.RenyiCurve) and float(found.epsilon) > 0.95 * float(bound.epsilon)
    return cases, tight


@pytest.mark.parametrize("seed", [0, 2])
def test_moved_beliefs_never_lose_more(seed):
    cases, tight = hunt(seed, 21)
    assert cases > 45 and tight > 0


@pytest.mark.parametrize("seed", range(2))
def test_tilted_beliefs_never_lose_more(seed):
    assert hunt(seed, 14, "renyi")[0] > 20


@search("moved and tilted beliefs against guarantee_within", each=["wasserstein", "renyi"], quick=1)
def test_many_moved_beliefs_never_lose_more(kind, seed):
    return hunt(seed, len(BUDGETS), kind)[0]


def test_both_laws_may_move():
    """With one distance instead of two, the bound would be broken by this prior."""
    mechanism = fugu.calibrate(PAIRS, fugu.Pure(1))
    actual, bound = guarantee_against(mechanism, SPREAD), guarantee_within(mechanism, 1)
    step = 1 / mechanism.noise.scale
    assert actual.epsilon == pytest.approx(3 * step) and bound.epsilon == pytest.approx(3 * step)
    assert 1 + step < actual.epsilon * (1 - 1e-6)  # epsilon + r / scale


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_renyi_of_one_distance_only_is_broken(noise):
    mechanism = fugu.calibrate(PAIRS, fugu.Renyi(2, 0.5), noise=noise)
    actual, bound = guarantee_against(mechanism, SPREAD), guarantee_within(mechanism, 1)
    assert actual.epsilon == pytest.approx(shift_renyi(mechanism.noise, 3, 2), rel=1e-6)
    assert actual.epsilon <= bound.epsilon <= actual.epsilon * (1 + 1e-6)
    assert shift_renyi(mechanism.noise, 2, 2) < actual.epsilon * 0.9


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_delta_of_one_distance_only_is_broken(noise):
    mechanism = fugu.calibrate(PAIRS, fugu.Approx(0.5, 0.01), noise=noise)
    actual, bound = guarantee_against(mechanism, SPREAD), guarantee_within(mechanism, 1)
    assert actual.delta <= bound.delta <= actual.delta * (1 + 1e-6)
    two = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([2]))
    assert guarantee_against(mechanism, [two, *PAIRS[1:]]).delta < actual.delta * 0.9


LONG = np.arange(41)
FLAT = np.full(41, 20)
LOW, HIGH = FLAT + 40 * (LONG == 0), FLAT + 40 * (LONG == 40)
"""Two laws that differ little, though a share of them would have to move far."""


@pytest.mark.parametrize(("budget", "noise"), [(fugu.Renyi(2, 5e-4), "laplace"), (fugu.Renyi(8, 5e-3), "gaussian")])
def test_theorem_a5_is_used_where_it_is_less_and_holds(budget, noise):
    mechanism = fugu.calibrate(fugu.LawPair(fugu.Discrete(LONG, LOW), fugu.Discrete(LONG, HIGH)), budget, noise=noise)
    bound = guarantee_within(mechanism, 1).epsilon
    moved = fugu.LawPair(fugu.Discrete(LONG - 1, LOW), fugu.Discrete(LONG + 1, HIGH))
    actual = guarantee_against(mechanism, moved).epsilon
    (item,) = mechanism.certificate.laws
    coupled = moved_renyi(item, mechanism.noise, Fraction(budget.alpha), reach(mechanism.certificate, 1))
    assert actual <= bound <= 1.2 * actual and bound < 0.99 * coupled
    there = shift_renyi(mechanism.noise, 1, budget.alpha)
    assert float(budget.epsilon) + 2 * there < 0.9 * actual  # divergences of one order do not add up


def test_proposition_a7_is_used_where_it_is_less_and_holds():
    mechanism = fugu.calibrate(
        fugu.LawPair(fugu.Normal(0, 1), fugu.Normal(0.5, 1)), fugu.Approx(1, 1e-5), noise="laplace"
    )
    bound = guarantee_within(mechanism, 0.1)
    (item,) = mechanism.certificate.laws
    far = reach(mechanism.certificate, 0.1)
    actual = guarantee_against(mechanism, fugu.LawPair(fugu.Normal(-0.1, 1), fugu.Normal(0.6, 1)))
    assert actual.delta <= bound.delta < 0.5 * moved_delta(item, mechanism.noise, Fraction(1), far)
    by = far.steps * mechanism.noise.rate
    before = proved((item,), mechanism.noise, fugu.Approx(1 - 2 * by, 1e-9)).delta
    assert bound.delta == pytest.approx(before * math.exp(by), rel=1e-9)  # the printed bound has no factor


def test_likely_events_move_with_the_beliefs():
    """One row in a thousand lies far out and is left out; the others, moved by a step each, keep the bound."""
    values = [0, 1, 2, 3, 4, 60]
    p, q = fugu.Discrete(values, [0, 0, 500, 500, 0, 1]), fugu.Discrete(values, [0, 0, 400, 600, 0, 0])
    ends = [fugu.LawPair(fugu.Discrete(values), fugu.Discrete(values))]
    mechanism = fugu.calibrate([fugu.LawPair(p, q, "rare"), *ends], fugu.Renyi(2, 0.05, 0.002), noise="laplace")
    bound = guarantee_within(mechanism, 1)
    assert bound.delta == pytest.approx(0.002) and bound.epsilon < 40 / mechanism.noise.scale
    kept = fugu.LawPair(fugu.Discrete([1, 2], [500, 500]), fugu.Discrete([3, 4], [400, 600]))
    assert losses(kept, mechanism.noise, alpha=2.0, reach=800)[2] <= bound.epsilon
    whole = fugu.LawPair(fugu.Discrete([1, 2, 60], [500, 500, 1]), fugu.Discrete([3, 4], [400, 600]))
    assert losses(whole, mechanism.noise, alpha=2.0, reach=800)[2] > bound.epsilon  # the delta is not for nothing


def test_distance_zero_is_the_proof_itself_and_the_bound_grows():
    for budget, noise in BUDGETS:
        mechanism = fugu.calibrate([PAIRS[0], fugu.LawPair(LINE[0], LINE[1])], budget, noise=noise)
        assert guarantee_within(mechanism, 0) <= budget
        assert guarantee_within(mechanism, 0.1) == guarantee_within(mechanism, 0)
        assert not exceeds(guarantee_within(mechanism, 0.5), guarantee_within(mechanism, 1.5))


def test_tilts_cost_a_factor_of_delta():
    """A.7 on a certificate: the printed delta is below what a tilted belief loses."""
    p, q = fugu.Discrete([0, 1], [900, 100]), fugu.Discrete([0, 1], [1000, 0])
    mechanism = fugu.calibrate(fugu.LawPair(p, q), fugu.Approx(0, 0.1000001))
    assert mechanism.noise.scale == 0
    up = 0.1 * math.exp(0.5)
    bound = guarantee_within(mechanism, 0.5, kind="renyi")
    assert bound.epsilon == pytest.approx(1) and bound.delta == pytest.approx(up, rel=1e-9)
    other = fugu.LawPair(fugu.Discrete([0, 1], [1 - up, up]), q)
    actual = guarantee_against(mechanism, other).delta
    assert actual == pytest.approx(up) and actual > 0.1 * 1.5


def test_a_tilt_of_both_laws_costs_twice():
    """A.3 on a certificate: one direction, or one law, would be broken by this prior."""
    mechanism = fugu.calibrate(
        fugu.LawPair(fugu.Discrete([0, 1], [30, 970]), fugu.Discrete([0, 1], [20, 980])), fugu.Pure(0.41)
    )
    assert mechanism.noise.scale == 0
    up, down = 0.03 * math.exp(0.5), 0.02 * math.exp(-0.5)
    other = fugu.LawPair(fugu.Discrete([0, 1], [up, 1 - up]), fugu.Discrete([0, 1], [down, 1 - down]))
    actual, bound = guarantee_against(mechanism, other), guarantee_within(mechanism, 0.5, kind="renyi")
    assert actual.epsilon == pytest.approx(math.log(1.5) + 1) == bound.epsilon
    assert actual.epsilon > math.log(1.5) + 0.5 + 0.1


def test_finite_orders_are_for_renyi_budgets_alone():
    pure = fugu.calibrate(PAIRS, fugu.Pure(1))
    with pytest.raises(NotProvable, match="finite order"):
        guarantee_within(pure, 0.1, kind="renyi", order=10)
    renyi = fugu.calibrate(PAIRS, fugu.Renyi(2, 0.5), noise="laplace")
    far, near, never = (guarantee_within(renyi, 0.01, kind="renyi", order=b).epsilon for b in (100, 20, 2.5))
    assert guarantee_within(renyi, 0.01, kind="renyi").epsilon <= far <= near <= never
    assert never == shift_renyi(renyi.noise, 5, 2)  # too low an order says nothing; the support still does


def test_wrong_use_is_refused():
    mechanism = fugu.calibrate(PAIRS, fugu.Pure(1))
    for distance in (-1, math.inf, float("nan"), "1", True):
        with pytest.raises(UsageError):
            guarantee_within(mechanism, distance)
    with pytest.raises(UnknownName, match="wasserstein"):
        guarantee_within(mechanism, 1, kind="waserstein")
    with pytest.raises(UsageError, match="order"):
        guarantee_within(mechanism, 1, order=2)
    with pytest.raises(UsageError, match="alpha"):
        guarantee_within(mechanism, 1, kind="renyi", order=1)


def test_without_noise_any_move_says_everything():
    mechanism = fugu.calibrate(fugu.LawPair(fugu.Discrete([0, 1]), fugu.Discrete([0, 1])), fugu.Pure(1))
    assert guarantee_within(mechanism, 0.4) == fugu.Pure(0)
    assert guarantee_within(mechanism, 0.5) == fugu.Pure(math.inf)


def test_mixtures_take_the_weaker_half():
    halves = [fugu.calibrate(PAIRS, fugu.Pure(e)) for e in (0.5, 1)]
    each = [guarantee_within(half, 1) for half in halves]
    found = guarantee_within(fugu.mix(0.5, *halves), 1)
    assert exact(found.epsilon) >= max(exact(g.epsilon) for g in each)


def test_one_law_of_distances_dominates_all():
    rng = np.random.default_rng(3)
    for _ in range(20):
        mechanism = fugu.calibrate(fugu.Scenario(beliefs(rng, 6, 3)), fugu.Renyi(2, 0.05), noise="laplace")
        (item,) = mechanism.certificate.laws
        every = apart(item)
        one = dominating(every)
        assert sum(one.values()) == 1 and all(share > 0 for share in one.values())
        for cells in every:
            for d in range(7):
                assert sum(s for at, s in one.items() if at > d) >= sum(s for at, s in cells.items() if at > d)
