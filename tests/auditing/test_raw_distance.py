"""Distances of beliefs are of the raw values: with bins a small move crosses an edge, and rounding takes values on;
never farther than `reach` says, and farther than simpler rules would. By direct sums."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from beliefs import LINE, PAIRS

import fugu
from fugu import Approx, Laplace, LawPair, Pure, Scenario, answer, verify
from fugu.auditing import guarantee_against, guarantee_within
from fugu.auditing.moved import reach
from fugu.documents.certificate import Certificate
from fugu.errors import BadNoise, NotProvable
from fugu.laws.components import nearest
from fugu.report.figures import curve
from fugu.report.template import sentence
from fugu.scenario.query import ColumnQuery
from hunting import search

CASES, MANY = 60, 3000


def binned(source):
    """A reference with uneven bins, its mechanism, and the rows by secret."""
    edges = np.cumsum([0, *source.choice([1, 2, 5, 10, 30], size=source.integers(3, 7))]).astype(float)
    rows = int(source.integers(6, 40))
    values = source.uniform(edges[0] - 3, edges[-1] + 3, rows).round(1)
    secret = np.where(source.random(rows) < 0.5, "a", "b")
    secret[:2], table = ("a", "b"), {"x": values.tolist(), "s": []}
    table["s"] = secret.tolist()
    scenario = Scenario.from_table(table, "x", "s", bins=edges.tolist())
    budget = Pure(1) if source.random() < 0.6 else Approx(1, 0.05)
    return fugu.calibrate(scenario, budget, noise="laplace"), values, secret, edges


def spread(mechanism, index, low, high):
    """P(output = k) for k in low .. high, every atom as likely; and the q of the noise."""
    q = math.exp(-float(mechanism.noise.rate))
    k = np.arange(low, high + 1)
    return ((1 - q) / (1 + q) * q ** np.abs(k[:, None] - index[None, :])).mean(axis=1)


def true_loss(mechanism, raw, secret):
    """Pure epsilon, or delta at epsilon 1, of these raw values given each secret: query, support, lattice."""
    query = ColumnQuery.from_json(mechanism.context.query)
    released = nearest(mechanism.support, query.apply(raw))
    index = mechanism.lattice.index(released)
    pure, steps = isinstance(mechanism.guarantee, Pure), mechanism.noise.scale / float(mechanism.lattice.grid)
    wide = 1 if pure else int(40 * steps)
    ends = index.min() - wide, index.max() + wide
    p, r = (spread(mechanism, index[secret == name], *ends) for name in ("a", "b"))
    if isinstance(mechanism.guarantee, Pure):
        return float(np.abs(np.log(p) - np.log(r)).max())
    return float(max(np.maximum(p - math.e * r, 0).sum(), np.maximum(r - math.e * p, 0).sum()))


def claimed(found, budget):
    if isinstance(budget, Pure):
        return float(found.epsilon)
    if isinstance(found, Pure):
        return 0.0 if found.epsilon <= 1 else 1.0
    return float(found.delta)


def hunt(cases, seed):
    source = np.random.default_rng(seed)
    looked, broken = 0, 0
    for _ in range(cases):
        try:
            mechanism, values, secret, edges = binned(source)
        except fugu.errors.FuguError:
            continue
        if mechanism.noise.scale == 0:
            continue
        distance = float(source.choice([0.01, 0.5, 1, 3, 10]))
        stated = claimed(guarantee_within(mechanism, distance), mechanism.guarantee)
        old = Certificate({**mechanism.certificate.body, "query": None})
        before = claimed(_old(old, mechanism, distance), mechanism.guarantee)
        place = np.searchsorted(edges[1:-1], values, "right")
        for _ in range(12):
            within = source.choice([0, 1e-12, 0.5, 1 - 1e-12], len(values))
            inside = edges[place] + (edges[place + 1] - edges[place]) * within
            push = source.choice([-1, 0, 1], size=2)
            other = inside + distance * np.where(secret == "a", push[0], push[1])
            actual = true_loss(mechanism, other, secret)
            assert actual <= stated + 1e-9, (seed, distance, actual, stated)
            broken += actual > before + 1e-9
            looked += 1
    return looked, broken


def _old(certificate, mechanism, distance):
    from fugu.auditing.against import moved_within

    return moved_within(certificate, mechanism.guarantee, reach(certificate, distance))


def test_no_move_of_raw_values_loses_more_than_is_claimed():
    looked, broken = hunt(CASES, 5)
    assert looked > 200 and broken > 20, "distances of the middles of bins are refuted: the old claim"


@search("raw values moved across bins against direct sums", quick=2)
def test_no_move_of_raw_values_loses_more_than_is_claimed_in_many_cases(seed):
    return hunt(4, seed)[0]


def test_a_move_of_one_across_an_edge_is_a_whole_bin():
    table = {"x": [1, 5, 12, 15, 22, 25] * 5, "s": ["a", "b", "a", "a", "b", "b"] * 5}
    mechanism = fugu.calibrate(Scenario.from_table(table, "x", "s", bins=[0, 10, 20, 30]), Pure(0.5))
    steps = round(10 / float(mechanism.lattice.grid))
    assert reach(mechanism.certificate, 0).steps == 0
    assert reach(mechanism.certificate, 1e-9).steps == reach(mechanism.certificate, 9.9).steps == steps
    assert reach(mechanism.certificate, 10.1).steps == 2 * steps == reach(mechanism.certificate, 1000).steps
    assert guarantee_within(mechanism, 1).epsilon > guarantee_within(mechanism, 0).epsilon
    free = replace(mechanism, certificate=Certificate({**mechanism.certificate.body, "query": None})).certificate
    assert reach(free, 1).steps == 0, "as it was: a move of 1 between middles was taken for no move"


@pytest.mark.parametrize("edge", [31, 29])
def test_a_value_may_stand_at_either_edge_of_its_bin(edge):
    """Nobody is in the middle bin. Its middle is nearer to one end: a move into it, from one side only, goes far."""
    table = {"x": [1, 38, 5, 36] * 5, "s": ["a", "b", "b", "b"] * 5}
    mechanism = fugu.calibrate(Scenario.from_table(table, "x", "s", bins=[0, 10, edge, 40]), Pure(0.5))
    found = reach(mechanism.certificate, 0.01)
    assert found.steps == found.span > 0


def test_fitted_beliefs_in_bins_move_by_whole_bins():
    source = np.random.default_rng(0)
    table = {"x": source.normal(50, 9, 400).round(2).tolist(), "s": ["a", "b"] * 200}
    scenario = Scenario.from_table(table, "x", "s", bins=[0, 20, 40, 60, 80, 100], prior="gaussian")
    mechanism = fugu.calibrate(scenario, Pure(0.5))
    assert mechanism.support is None
    assert reach(mechanism.certificate, 1).steps >= 20 / mechanism.lattice.grid
    assert (
        guarantee_within(mechanism, 1).epsilon
        > guarantee_within(fugu.calibrate(Scenario.from_table(table, "x", "s", prior="gaussian"), Pure(0.5)), 1).epsilon
    )


def test_categories_and_sums_have_no_raw_distance():
    table = {"x": ["low", "mid", "high", "mid"] * 10, "s": ["a", "b", "b", "a"] * 10}
    mechanism = fugu.calibrate(Scenario.from_table(table, "x", "s", bins=["low", "mid", "high"]), Pure(0.2))
    assert guarantee_within(mechanism, 0) <= Pure(0.2)
    with pytest.raises(NotProvable, match="ordering of categories"):
        guarantee_within(mechanism, 1)
    assert guarantee_within(mechanism, 0.1, kind="renyi") <= Pure(0.41)
    assert curve(mechanism.certificate) is None
    reference = {"s": ["F", "M"] * 40, "age": [30, 50, 40, 60] * 20}
    private = {"s": ["F", "M"] * 25, "age": [33, 47, 41, 58, 39] * 10}
    found = answer(private, "mean(age)", "s", Pure(1), reference=reference, bounds=(0, 100))
    with pytest.raises(NotProvable, match="sum over records"):
        guarantee_within(found.mechanisms[""], 1)


def test_the_figure_takes_the_step_at_its_beginning():
    table = {"x": [1, 5, 12, 15, 22, 25, 33] * 5, "s": ["a", "b", "a", "b", "b", "a", "a"] * 5}
    mechanism = fugu.calibrate(Scenario.from_table(table, "x", "s", bins=[0, 10, 20, 30, 40]), Pure(1))
    assert isinstance(mechanism.noise, Laplace)
    found = curve(mechanism.certificate)
    assert found.binned and found.losses[1] >= guarantee_within(mechanism, found.distances[1]).epsilon - 1e-9
    assert found.losses[1] > 1.5 * found.losses[0], "the first step is a whole bin"

    class Facts:
        query = "x"

    assert "before they go into bins" in sentence("nearby_caption", found, "x")
    plain = fugu.calibrate(LawPair(fugu.Discrete([0, 1, 2]), fugu.Discrete([1, 2, 4])), Pure(1))
    assert not curve(plain.certificate).binned and "bins" not in sentence(
        "nearby_caption", curve(plain.certificate), "x"
    )


def test_other_beliefs_about_raw_values_go_through_the_bins():
    """19 lies in the bin 0 .. 20, whose middle is 10; the nearest middle, 21, is that of another bin."""
    table = {"x": [1, 19, 20, 21, 40, 50] * 5, "s": ["a", "b", "a", "a", "b", "b"] * 5}
    mechanism = fugu.calibrate(Scenario.from_table(table, "x", "s", bins=[0, 20, 22, 60]), Pure(0.5))
    raw = LawPair(fugu.Discrete([1, 20, 21]), fugu.Discrete([19, 40, 50]))
    published = LawPair(fugu.Discrete([10, 21, 21]), fugu.Discrete([10, 41, 41]))
    assert guarantee_against(mechanism, raw) == guarantee_against(mechanism, published)
    assert guarantee_against(mechanism, raw) <= Pure(0.5) and verify(mechanism, raw).holds
    assert not verify(mechanism, LawPair(fugu.Discrete([10, 21, 21]), fugu.Discrete([21, 41, 41]))).holds, "as it was"
    with pytest.raises(BadNoise):
        guarantee_against(mechanism, fugu.Shifted(1))


def test_half_a_step_can_make_a_whole_one():
    """A value half a step away is rounded to the neighbour: floor(r / grid) = 0 steps would be wrong."""
    mechanism = fugu.calibrate(PAIRS, fugu.Pure(1))
    halves = [fugu.LawPair(fugu.Discrete([1.5]), LINE[3]), *PAIRS[1:]]
    actual = guarantee_against(mechanism, halves)
    assert not actual <= fugu.Pure(1) and actual <= guarantee_within(mechanism, 0.5)
    assert guarantee_within(mechanism, 0.49) <= fugu.Pure(1)
    assert guarantee_against(mechanism, [fugu.LawPair(fugu.Discrete([1.51]), LINE[3]), *PAIRS[1:]]) <= fugu.Pure(1)


def test_a_sparse_support_can_carry_a_value_twice_as_far():
    """Support 0, 10, 11: from 10 a value at 5 is moved on to 0, ten steps for r = 5; ceil(r / grid) = 5 is wrong."""
    pairs = [fugu.LawPair(fugu.Discrete([10]), fugu.Discrete([11])), fugu.LawPair(LINE[0], LINE[0])]
    mechanism = fugu.calibrate(pairs, fugu.Pure(1))
    assert mechanism.lattice.grid == 1
    moved = [fugu.LawPair(fugu.Discrete([5]), fugu.Discrete([11])), pairs[1]]
    actual = guarantee_against(mechanism, moved)
    assert reach(mechanism.certificate, 5).steps == 10 and reach(mechanism.certificate, 4.9).steps == 1
    assert actual <= guarantee_within(mechanism, 5)
    assert actual.epsilon == pytest.approx(11) and actual.epsilon > 1 + 2 * 4  # epsilon + 2 floor(r / grid) scale


def test_translates_round_by_at_most_the_next_whole_step():
    mechanism = fugu.calibrate(fugu.Shifted(1), fugu.Pure(1))
    grid = mechanism.lattice.grid
    for n in (0, 1, Fraction(1, 2), Fraction(7, 3), 3):
        assert reach(mechanism.certificate, n * grid).steps == math.ceil(n)
    rng = np.random.default_rng(0)
    x = rng.uniform(-5, 5, 20_000)
    y = x + rng.uniform(-1, 1, x.size) * float(grid) * 2.4
    steps = np.abs(mechanism.lattice.index(x) - mechanism.lattice.index(y))
    assert steps.max() == 3 == reach(mechanism.certificate, Fraction(12, 5) * grid).steps


def test_reach_is_what_a_release_does_to_values():
    rng = np.random.default_rng(1)
    for _ in range(40):
        support = np.unique(rng.integers(0, 60, rng.integers(2, 9)))
        if len(support) < 2:
            continue
        mechanism = fugu.calibrate(
            fugu.LawPair(fugu.Discrete(support), fugu.Discrete(support, 1 + np.arange(len(support)))), fugu.Pure(0.05)
        )
        if mechanism.noise.scale == 0:
            continue
        distance = float(rng.choice([0.5, 1, 2, 3.5, 7]))
        known = mechanism.certificate.support
        moves = np.concatenate([np.linspace(-distance, distance, 401), [-distance, distance]])
        index = mechanism.lattice.index
        found = max(int(np.abs(index(nearest(known, s + moves)) - index(np.full(403, s))).max()) for s in known)
        bound = reach(mechanism.certificate, distance).steps
        assert found <= bound
        assert bound <= max(found, int(reach(mechanism.certificate, distance * 1.02).steps))
