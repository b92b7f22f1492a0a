"""Whole releases on tiny priors: the Pufferfish loss from the definition is at most what is stated, and reaches it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from end_to_end_oracle import (
    adaptive,
    arg_max,
    cells,
    count,
    expand,
    histogram,
    hockey_stick,
    leaky,
    loss,
    one_output,
    outer,
    per_entry,
    renyi,
    response,
    subsets,
)
from end_to_end_priors import GRAPHS, MAKERS, chain, one_chain
from lp_oracle import best_loss, best_output, chain_joint, given

import fugu
from fugu.errors import FuguError, NotProvable
from fugu.priors.chain import ChainSet
from fugu.priors.coupling import IndependentBlocks
from fugu.priors.joint import JointTable
from hunting import search

EPSILONS = (0.01, 0.1, 0.5, 1.0, 2.0, 5.0)
NAMES = dict.fromkeys(maker.__name__ for maker in MAKERS)
BY_NAME = {maker.__name__: maker for maker in MAKERS}


def over(found, stated):
    """Whether a loss computed in floats exceeds a stated bound."""
    return found > stated * (1 + 1e-12) + 1e-11


def drawn(name, seed):
    """A random prior of this kind; one that the library refuses to hold makes room for the next."""
    for again in range(20):
        rng = np.random.default_rng([seed, again])
        try:
            return BY_NAME[name](rng), rng
        except FuguError:
            continue
    raise AssertionError("nearly all priors of this kind are refused")


def mechanisms(shape, epsilon):
    """Mechanisms that are epsilon-DP per entry on the whole product domain, with their exact laws."""
    yield [subsets(k, epsilon) for k in shape]
    yield [response(k, epsilon) for k in shape]
    yield count(shape, epsilon)
    yield histogram(shape, epsilon)
    yield arg_max(shape, epsilon)


@search("pure releases under every prior", each=NAMES)
def attack(name, seed):
    """loss / stated for the worst of the mechanisms under one random prior; fails on any loss above what is stated."""
    case, rng = drawn(name, seed)
    epsilon = float(rng.choice(EPSILONS))
    stated = fugu.translate(case.prior, epsilon)
    worst = max(loss(belief, m) for m in mechanisms(case.shape, epsilon) for belief in case.beliefs)
    assert not over(worst, stated), (name, seed, epsilon, worst, stated)
    budget = fugu.dp_budget(case.prior, epsilon)
    spent = max(loss(belief, [subsets(k, budget) for k in case.shape]) for belief in case.beliefs)
    assert not over(spent, epsilon), (name, seed, epsilon, budget, spent)
    return worst / stated if stated else 0.0  # one value only is possible: nothing is lost


@pytest.mark.parametrize("name", NAMES)
def test_no_release_loses_more_than_stated(name):
    ratios = [attack(name, seed) for seed in range(15 if name != "one_chain" else 45)]
    assert max(ratios) > 0.99  # the statement is reached: nothing below it would hold for all


@search("releases with a delta under every prior", each=NAMES)
def attack_delta(name, seed):
    """Two (epsilon, delta) mechanisms, one that leaks cells and one that leaks everything, and the hockey stick."""
    case, rng = drawn(name, seed)
    epsilon, delta = float(rng.choice(EPSILONS)), float(rng.choice([1e-6, 1e-3, 1e-2, 0.1]))
    try:
        stated = fugu.translate(case.prior, fugu.Approx(epsilon, delta))
    except NotProvable:
        return 0
    tried = [[leaky(k, epsilon, delta) for k in case.shape]]
    if (size := math.prod(case.shape)) <= 81:
        tried.append(
            np.hstack([delta * np.eye(size), (1 - delta) * expand([response(k, epsilon) for k in case.shape])])
        )
    worst = max(hockey_stick(b, m, float(stated.epsilon)) for m in tried for b in case.beliefs)
    assert worst <= float(stated.delta) * (1 + 1e-9) + 1e-13, (name, seed, epsilon, delta, stated, worst)
    return worst / float(stated.delta)


@pytest.mark.parametrize("name", NAMES)
def test_no_leaky_release_exceeds_epsilon_and_delta(name):
    assert max(attack_delta(name, seed) for seed in range(50, 58)) > 0


@search("Renyi curves under every prior", each=NAMES)
def attack_renyi(name, seed):
    """Randomised response with the Renyi curve of one entry, against the exact divergence of the whole release."""
    case, rng = drawn(name, seed)
    epsilon, alpha = float(rng.choice([0.1, 0.5, 1, 2])), float(rng.choice([1.5, 2, 4, 8]))
    channels = [response(k, epsilon) for k in case.shape]
    orders = {alpha, 2.0, 3.0, 4.0, 6.0, 8.0, 12.0, 16.0, 32.0, 64.0}
    single = {a: (1 + 1e-9) * max(renyi([list(np.eye(len(c)))], [c], a) for c in channels) for a in orders}
    try:
        stated = float(fugu.translate(case.prior, fugu.RenyiCurve(single))(alpha))
    except NotProvable:
        return 0
    worst = max(renyi(b, channels, alpha) for b in case.beliefs)
    assert worst <= stated * (1 + 1e-9) + 1e-12, (name, seed, epsilon, alpha, worst, stated)
    return 1


@pytest.mark.parametrize("name", NAMES)
def test_no_release_exceeds_its_renyi_statement(name):
    assert attack_renyi(name, 80) in (0, 1)  # 0: not provable


@search("pairs of releases under every prior", each=NAMES)
def attack_pair(name, seed):
    """A release of e1 and a second one of e2, chosen by what the first said: (loss of the pair, stated for e1 + e2)."""
    case, rng = drawn(name, seed)
    if math.prod(case.shape) > 81:
        return 0
    first, second = (float(e) for e in rng.choice([0.1, 0.5, 1, 2], size=2))
    opening = expand([response(k, first) for k in case.shape])
    replies = [m if not isinstance(m, list) else expand(m) for m in list(mechanisms(case.shape, second))[1:]]
    stated = fugu.translate(case.prior, Fraction(first) + Fraction(second))
    worst = max(loss(b, adaptive(opening, replies)) for b in case.beliefs)
    assert not over(worst, stated), (name, seed, first, second, worst, stated)
    return worst, case.prior, max(first, second)


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_of_releases_costs_at_most_the_translated_sum(name):
    found = [f for seed in range(100, 108) if (f := attack_pair(name, seed))]
    assert found
    assert any(worst > fugu.translate(prior, larger) for worst, prior, larger in found)  # one of the two is not enough


def binary(seed):
    """A chain of two values that depend on each other, and its joint law."""
    for again in range(50):
        made, joint = chain(np.random.default_rng([seed, again]), 2, 4)
        if fugu.translate(made, 1.0) > 1.02:
            return made, joint
    raise AssertionError("no dependent chain")


@pytest.mark.parametrize("seed", range(3))
def test_for_two_values_the_statement_is_the_loss_of_a_concrete_release(seed):
    made, joint = binary(seed)
    for epsilon in (0.1, 1.0):
        stated = fugu.translate(made, epsilon)
        assert loss(cells(joint), [subsets(2, epsilon)] * 4) == pytest.approx(stated, rel=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_budget_five_percent_larger_is_broken_by_the_worst_mechanism(seed):
    made, joint = binary(seed)
    epsilon = (0.2, 1.0, 3.0)[seed % 3]

    def worst(dp):
        pairs = [(i, x, y) for i, laws in enumerate(cells(joint)) if len(laws) == 2 for x, y in ((0, 1), (1, 0))]
        i, x, y = max(pairs, key=lambda p: best_loss(joint, dp, *p))
        mechanism = one_output(best_output(given(joint, i, x), given(joint, i, y), dp), dp)
        assert per_entry(mechanism, joint.shape) <= dp * (1 + 1e-9)
        return loss(cells(joint), mechanism)

    budget = fugu.dp_budget(made, epsilon)
    assert not over(worst(budget), epsilon)
    assert worst(1.05 * budget) > epsilon * 1.001


def test_wrong_versions_are_exceeded():
    sticky = [[0.9, 0.1], [0.2, 0.8]]
    law = [2 / 3, 1 / 3]
    joint = chain_joint([np.array(sticky)] * 3, law)
    true = loss(cells(joint), [subsets(2, 0.5)] * 4)
    assert not over(true, fugu.translate(fugu.MarkovChain(sticky, 4), 0.5))
    assert true > 1.1 * fugu.translate(fugu.MarkovChain(sticky, 2), 0.5)  # half the length
    weak = fugu.MarkovChain([[0.6, 0.4], [0.4, 0.6]], 4)
    assert true > 1.1 * fugu.translate(weak, 0.5)  # one chain of a set
    assert not over(true, fugu.translate(ChainSet([weak, fugu.MarkovChain(sticky, 4)]), 0.5))
    latent = (outer(joint, joint) + outer(joint[::-1, ::-1, ::-1, ::-1], joint[::-1, ::-1, ::-1, ::-1])) / 2
    shared = IndependentBlocks(*[fugu.MarkovChain(sticky, 4)] * 2)
    assert loss(cells(latent), [subsets(2, 0.5)] * 8) > fugu.translate(shared, 0.5)  # users tied by a common parameter


def test_the_centre_of_a_chain_alone_is_not_enough():
    tied, free = np.array([[0.99, 0.01], [0.01, 0.99]]), np.full((2, 2), 0.5)
    joint = chain_joint([tied, free, free, free], [0.5, 0.5])
    quilts = JointTable(joint).quilts(2)
    centre = max(
        min(c * 0.5 + q[x, y] for c, q in zip(quilts.cards, quilts.leaks, strict=True)) for x, y in ((0, 1), (1, 0))
    )
    true = loss(cells(joint), [subsets(2, 0.5)] * 5)
    assert centre == pytest.approx(0.5) and true > 0.9
    assert not over(true, fugu.translate(fugu.MarkovChain([tied, free, free, free], 5, [0.5, 0.5]), 0.5))


def test_the_mechanisms_are_what_they_claim():
    for shape, epsilon in product([(2, 2, 2), (3, 3), (4, 4), (3, 2)], (0.1, 1.0, 5.0)):
        for mechanism in mechanisms(shape, epsilon):
            table = expand(mechanism) if isinstance(mechanism, list) else mechanism
            assert np.allclose(table.sum(axis=1), 1, rtol=0, atol=1e-12)
            assert per_entry(table, shape) <= epsilon * (1 + 1e-9)


def test_the_search_meets_degenerate_priors():
    found = [one_chain(np.random.default_rng([s, 0])) for s in range(60) if drawn("one_chain", s)]
    assert sum(c.prior.forbidden for c in found) > 10
    assert sum(c.prior.stationary for c in found) > 5
    assert sum(not c.prior.homogeneous for c in found) > 10
    assert {len(c.shape) for c in found} == {2, 3, 4, 5} and {c.shape[0] for c in found} == {2, 3, 4}
    assert len(GRAPHS) == 6
