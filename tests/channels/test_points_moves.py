"""What must not change the least loss of a channel, and what can only raise or lower it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from channels.point_oracle import counted, draw, expected
from fugu.channels.find import find
from hunting import search


def loss_of(problem):
    return expected(problem, find(problem).matrix)


def plain(rng):
    """A case without order, so that points and outputs may be moved about."""
    problem = draw(rng)
    return replace(problem, points=None, outputs=None, monotone=False)


def permuted(problem, order):
    laws = tuple(counted(law.parts[order].tolist()) for law in problem.laws)
    weight = None if problem.weight is None else problem.weight[order]
    return replace(problem, laws=laws, weight=weight, loss=problem.loss[order].copy())


@search("moves that keep the least loss of a channel", quick=40)
def test_names_order_and_units_do_not_matter(rng):
    problem = plain(rng)
    truth, scale = loss_of(problem), float(problem.loss.max()) or 1.0
    order = rng.permutation(problem.n)
    swapped = replace(problem, pairs=tuple((t, s) for s, t in reversed(problem.pairs)))
    twice = replace(problem, pairs=problem.pairs * 2)
    outputs = replace(problem, loss=problem.loss[:, rng.permutation(problem.m)].copy())
    for same in (permuted(problem, order), swapped, twice, outputs):
        assert loss_of(same) == pytest.approx(truth, rel=1e-8, abs=1e-9 * scale)
    for unit in (1e9, 1e-9, 1e-200):
        assert loss_of(replace(problem, loss=problem.loss * unit)) == pytest.approx(
            truth * unit, rel=1e-8, abs=1e-9 * unit
        )


@search("moves that cannot lower the least loss of a channel", quick=40)
def test_more_promises_never_lose_less(rng):
    problem = plain(rng)
    truth, slack = loss_of(problem), 1e-8 * (float(problem.loss.max()) or 1.0)
    assert loss_of(replace(problem, epsilon=problem.epsilon / 2)) >= truth - slack
    assert loss_of(replace(problem, epsilon=problem.epsilon + 1)) <= truth + slack
    assert loss_of(replace(problem, delta=problem.delta / 2)) >= truth - slack
    assert loss_of(replace(problem, delta=(1 + problem.delta) / 2)) <= truth + slack
    assert loss_of(replace(problem, pairs=problem.pairs[1:])) <= truth + slack
    if problem.m > 1:
        assert loss_of(replace(problem, loss=problem.loss[:, 1:].copy())) >= truth - slack


@search("points that tell the same are one point", quick=30)
def test_a_point_in_two_halves_is_one_point(rng):
    problem = plain(rng)
    if problem.weight is None:
        return 0
    laws = tuple(
        counted([*(2 * law.parts[:-1]).tolist(), int(law.parts[-1]), int(law.parts[-1])]) for law in problem.laws
    )
    weight = np.append(problem.weight, problem.weight[-1] / 2)
    weight[-2] /= 2
    halves = replace(problem, laws=laws, weight=weight, loss=np.vstack([problem.loss, problem.loss[-1:]]))
    assert loss_of(halves) == pytest.approx(loss_of(problem), rel=1e-8, abs=1e-9 * float(problem.loss.max() + 1))
    return 1


def test_a_wrong_unit_would_be_noticed():
    problem = plain(np.random.default_rng(1))
    assert loss_of(problem) > 0
    assert loss_of(replace(problem, epsilon=problem.epsilon + Fraction(1, 100))) != pytest.approx(
        loss_of(problem), rel=1e-8
    )
