"""Lower bounds from any prices: never above the optimum, tight from a solver; shortcuts prove what is false."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from channels.channel_brute import corners, least_loss
from channels.channel_draws import draw_problem, draw_set
from fugu.channels import exact as exact_prices
from fugu.channels.exact import lower, member
from fugu.channels.find import find
from fugu.channels.problem import ChannelProblem, Prices
from fugu.errors import UsageError
from fugu.laws.discrete import Discrete
from fugu.laws.masses import Masses, masses
from fugu.laws.sets import Ball, Box, Intersection
from hunting import search


def random_prices(rng, problem, near=None):
    """Prices that are nonsense, or a solver's with noise on top."""
    shapes = {
        "ratio": (2 * len(problem.pairs), problem.m),
        "upper": (len(problem.laws), problem.m, problem.n),
        "lower": (len(problem.laws), problem.m, problem.n),
        "cap": (problem.n, problem.m),
        "rise": (problem.n - 1, problem.m - 1),
        "mix": (len(problem.laws),),
        "mixed": (len(problem.laws), problem.n),
    }
    scale = float(rng.choice([0.01, 0.3, 3.0]))
    made = {}
    for name, shape in shapes.items():
        known = None if near is None else getattr(near, name)
        noise = scale * rng.normal(0, 1, shape) * (rng.random(shape) < 0.7)
        made[name] = noise if known is None else known + (0.05 * noise if rng.random() < 0.5 else 0.0)
    return Prices(**made)


@search("lower bounds of channels from any prices", quick=30)
def test_no_prices_prove_more_than_the_truth(rng):
    problem = draw_problem(rng, delta=bool(rng.random() < 0.3))
    truth, scale = least_loss(problem), float(problem.loss.max()) + 1e-12
    found = find(problem).prices if rng.random() < 0.5 else None
    for _ in range(3):
        assert float(lower(problem, random_prices(rng, problem, found))) <= truth + 1e-7 * scale
    return 3


def test_members_that_are_not_moved_into_their_set_prove_what_is_false(monkeypatch):
    x, points = np.arange(3), np.arange(3.0)
    laws = tuple(
        Box(x, np.clip(p - 0.02, 0, 1), p + 0.02) for p in (np.array([0.5, 0.3, 0.2]), np.array([0.4, 0.3, 0.3]))
    )
    problem = ChannelProblem(laws, ((0, 1),), Fraction(1, 4), np.abs(points[:, None] - points), np.full(3, 1 / 3))
    wide = replace(problem, laws=tuple(Box.everything(x) for _ in laws))
    prices, truth = find(wide).prices, least_loss(problem)
    assert float(lower(problem, prices)) <= truth + 1e-9
    monkeypatch.setattr(exact_prices, "member", lambda law, near: [Fraction(float(a)) for a in near])
    assert float(lower(problem, prices)) > 1.2 * truth


def test_with_delta_a_member_for_each_output_proves_what_is_false(monkeypatch):
    """The promise about delta is about one pair of members for all outputs."""
    beyond = 0
    for seed in range(20):
        problem = draw_problem(np.random.default_rng(seed), ("box", "tv"), delta=True, secrets=2, extras=False)
        prices, truth = find(problem).prices, least_loss(problem)
        assert float(lower(problem, prices)) <= truth + 1e-7
        with monkeypatch.context() as patch:
            patch.setattr(exact_prices, "mean_member", lambda found, factor: found)
            beyond += float(lower(problem, prices)) > truth + 1e-5
    assert beyond > 0


def test_a_smaller_ratio_than_e_to_the_epsilon_proves_what_is_false(monkeypatch):
    points = np.arange(3.0)
    laws = tuple(masses(c, 3) for c in ([5, 3, 2], [2, 3, 5]))
    problem = ChannelProblem(laws, ((0, 1),), Fraction(1, 2), np.abs(points[:, None] - points), np.full(3, 1 / 3))
    tight = find(replace(problem, epsilon=Fraction(2, 5))).prices
    truth = least_loss(problem)
    assert float(lower(problem, tight)) <= truth
    monkeypatch.setattr(exact_prices, "power_above", lambda x: Fraction(float(np.exp(0.4))))
    assert float(lower(problem, tight)) > truth + 1e-3


def test_prices_of_a_smaller_cap_prove_nothing_false():
    points = np.arange(3.0)
    laws = tuple(masses(c, 3) for c in ([5, 3, 2], [2, 3, 5]))
    loss = np.abs(points[:, None] - points)
    tight = ChannelProblem(laws, ((0, 1),), Fraction(1), loss, np.full(3, 1 / 3), cap=Fraction(1, 2))
    loose = replace(tight, cap=Fraction(2))
    prices = find(tight).prices
    assert float(lower(tight, prices)) == pytest.approx(least_loss(tight), abs=1e-8)
    assert least_loss(loose) < 0.8 * least_loss(tight)
    assert 0 < float(lower(loose, prices)) <= least_loss(loose) + 1e-9


def test_a_price_for_the_other_order_proves_nothing():
    """nu < 0 would be a promise that the channel falls with x: it would prove .25 where the identity has loss 0."""
    laws, points = (masses([1, 1], 2), masses([1, 1], 2)), np.arange(2.0)
    problem = ChannelProblem(
        laws, ((0, 1),), Fraction(1), 1 - np.eye(2), np.full(2, 0.5), monotone=True, points=points, outputs=points
    )
    assert lower(problem, Prices(rise=np.array([[-0.25]]))) == 0
    assert lower(problem, Prices(rise=np.array([[0.25]]))) == 0


@search("members moved into their sets", quick=60)
def test_members_are_in_their_sets_and_near_what_was_asked_for(rng):
    n = int(rng.integers(1, 5))
    law = draw_set(rng, n)
    if isinstance(law, Masses):
        return 0
    if rng.random() < 0.2:
        law = Ball(Discrete(np.arange(n), rng.integers(1, 9, n)), float(rng.choice([0.01, 0.3])), "kl")
    wanted = rng.dirichlet(np.ones(n))
    found = member(law, wanted)
    assert law.contains(found) and sum(found) == 1
    if not (isinstance(law, Ball) and law.distance == "kl"):
        inside = rng.dirichlet(np.ones(len(corners(law)))) @ corners(law)
        near = np.array([float(a) for a in member(law, inside)])
        assert np.abs(near - inside).max() < 1e-9
    assert law.contains(member(law, None))
    return 1


def test_a_member_of_an_intersection_with_a_ball():
    x = np.arange(3)
    both = Intersection([Box(x, [0.1, 0.1, 0.1], [0.6, 0.6, 0.6]), Ball(Discrete(x, [1, 1, 1]), 0.1)])
    found = member(both, np.array([0.9, 0.05, 0.05]))
    assert both.contains(found) and found[0] > Fraction(2, 5)


def test_prices_of_the_wrong_shape_are_refused():
    points = np.arange(3.0)
    laws = (Box(np.arange(3), [0, 0, 0], [1, 1, 1]), masses([2, 3, 5], 3))
    problem = ChannelProblem(
        laws, ((0, 1),), Fraction(1, 2), np.abs(points[:, None] - points), None, cap=Fraction(1), monotone=True,
        points=points, outputs=points,
    )  # fmt: skip
    for name in ("ratio", "mix", "mixed", "upper", "cap", "rise"):
        given = {"ratio": np.ones((2, 3)), name: np.ones((7, 7))}
        with pytest.raises(UsageError):
            lower(problem, Prices(**given))
    with pytest.raises(UsageError):
        lower(problem, Prices(ratio=np.full((2, 3), np.nan)))
