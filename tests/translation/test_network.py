"""Bayesian networks: elimination against the full joint law, d-separation against real independence, quilts."""

from __future__ import annotations

import math
from itertools import combinations, product

import numpy as np
import pytest

import fugu
from fugu.errors import BadLaw, UnknownName, UsageError
from fugu.priors.joint import JointTable
from fugu.priors.network import BayesianNetwork, household
from fugu.translation.influence import curve, guarantee, quilt_noise


def random_network(rng, n, sizes=(2, 3), density=0.5):
    names = [f"v{i}" for i in range(n)]
    size = {v: int(rng.choice(sizes)) for v in names}
    parents = {v: [u for u in names[:i] if rng.random() < density][:3] for i, v in enumerate(names)}
    tables = {v: rng.dirichlet(np.ones(size[v]), size=tuple(size[p] for p in parents[v])) for v in names}
    return BayesianNetwork(tables, parents)


def full_joint(net):
    table = np.zeros(net.sizes)
    for cell in product(*(range(s) for s in net.sizes)):
        table[cell] = math.prod(
            net.tables[v].values[(*(cell[p] for p in net.parents[v]), cell[v])] for v in range(len(net.names))
        )
    return table


def test_elimination_equals_the_sum_over_the_full_joint_law():
    rng = np.random.default_rng(1)
    for _ in range(10):
        net = random_network(rng, 5)
        table = full_joint(net)
        for chosen in [(4,), (2, 0), (3, 1, 4), (0, 1, 2, 3, 4)]:
            others = tuple(a for a in range(5) if a not in chosen)
            expected = np.transpose(table.sum(axis=others), np.argsort(np.argsort(chosen)))
            np.testing.assert_allclose(net.joint(chosen).values, expected, rtol=1e-13)
        given = net.given(2, [0, 4])
        np.testing.assert_allclose(given.sum(axis=(1, 2)), 1.0, rtol=1e-13)


def test_d_separation_is_independence_in_random_tables_and_nothing_more():
    rng = np.random.default_rng(2)
    for _ in range(6):
        net = random_network(rng, 5, sizes=(2,), density=0.4)
        table = full_joint(net)
        for i, j in combinations(range(5), 2):
            rest = [a for a in range(5) if a not in (i, j)]
            for r in range(4):
                for given in combinations(rest, r):
                    drop = tuple(a for a in rest if a not in given)
                    law = table.sum(axis=drop, keepdims=True)
                    left = law * law.sum(axis=(i, j), keepdims=True)
                    right = law.sum(axis=i, keepdims=True) * law.sum(axis=j, keepdims=True)
                    assert np.allclose(left, right, rtol=0, atol=1e-14) == net.separated(i, j, given)


def test_quilts_of_a_small_network_reach_the_optimum_over_all_subsets():
    rng = np.random.default_rng(3)
    for _ in range(5):
        net = random_network(rng, 4, sizes=(2,))
        ours, exact = fugu.influence(net), fugu.influence(JointTable(full_joint(net)))
        for b in range(1, 5):
            assert exact(b) - 1e-13 <= ours(b) <= exact(b) + 1e-9
        assert guarantee(net, [0.3]) == pytest.approx(guarantee(JointTable(full_joint(net)), [0.3]), abs=1e-9)


def test_household_the_first_member_is_shielded_by_nobody_and_others_by_the_first():
    net = household(5, 0.05, 0.4)
    assert net.separated("member 2", "member 3", ["member 1"]) and not net.separated("member 2", "member 3")
    quilts = net.quilts(2)
    at = quilts.separators.index((0,))
    assert quilts.cards[at] == 1  # member 1 known: only member 3 itself is near
    noise = quilt_noise(net, 4)
    assert noise.per_node[0] == 5 / 4 and noise.per_node[1] < 5 / 8  # the hub costs the group, the others less
    assert quilt_noise(household(5, 0.4, 0.1), 2).sigma < 5 / 2  # weak transmission: less than one group
    assert guarantee(household(5, 0.05, 0.0), [0.5]) == pytest.approx(
        0.5, abs=1e-12
    )  # nobody infects anybody: independent
    assert guarantee(household(5, 0.05, 0.4), [0.5]) > 0.5


def test_forgetting_the_other_parents_of_children_is_a_wrong_blanket():
    """Wrong version: parents and children alone do not shield (the child opens the trail to its other parent)."""
    net = BayesianNetwork(
        {"a": [0.5, 0.5], "b": [0.5, 0.5], "c": [[[0.9, 0.1], [0.2, 0.8]], [[0.3, 0.7], [0.6, 0.4]]]}, {"c": ["a", "b"]}
    )
    assert net.separated("a", "b") and not net.separated("a", "b", ["c"])
    quilts = net.quilts(0)
    assert quilts.cards[quilts.separators.index((2,))] == 2
    assert quilts.cards[quilts.separators.index((1, 2))] == 1


@pytest.mark.parametrize(
    ("tables", "parents", "error", "text"),
    [
        ({"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]}, {"b": ["aa"]}, UnknownName, "did you mean 'a'"),
        ({"a": [0.5, 0.5]}, {"z": ["a"]}, UnknownName, "no variable 'z'"),
        ({"a": [[1, 0], [0, 1]], "b": [[1, 0], [0, 1]]}, {"a": ["b"], "b": ["a"]}, UsageError, "cycle"),
        ({"a": [0.5, 0.6]}, {}, BadLaw, "sum to one"),
        ({"a": [0.5, 0.5], "b": [0.5, 0.5]}, {"b": ["a"]}, BadLaw, "shape"),
        ({"a": [-0.5, 1.5]}, {}, BadLaw, ">= 0"),
        ({"a": [math.nan, 1.0]}, {}, BadLaw, "finite"),
        ({"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]}, {"b": "a"}, UsageError, "list of names"),
        ({}, {}, UsageError, "at least one"),
    ],
)
def test_wrong_networks_are_refused_with_the_reason(tables, parents, error, text):
    with pytest.raises(error, match=text):
        BayesianNetwork(tables, parents)


def test_a_deterministic_arrow_leaks_without_bound_and_the_trivial_quilt_stays():
    net = BayesianNetwork({"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]}, {"b": ["a"]})
    assert dict(curve(net)) == {1: math.inf, 2: 0.0}
    assert guarantee(net, [0.2, 0.3]) == 1.0


def test_every_leakage_is_at_or_above_the_exact_one_in_rationals():
    """Decimal tables, so the exact joint law is known; the float bound must not be below its logarithm."""
    from fractions import Fraction

    import mpmath

    rng = np.random.default_rng(21)
    for _ in range(12):
        parents = {"b": ["a"], "c": ["a", "b"], "d": ["b", "c"]}
        tables = {}
        for name, count in {"a": 0, "b": 1, "c": 2, "d": 2}.items():
            first = rng.integers(1, 999, size=(2,) * count) if count else int(rng.integers(1, 999))
            tables[name] = (
                np.stack([first, 1000 - first], axis=-1) / 1000 if count else [first / 1000, 1 - first / 1000]
            )
        net = BayesianNetwork(tables, parents)
        thousandths = {n: np.rint(np.asarray(t) * 1000).astype(int) for n, t in tables.items()}
        above = {n: ["abcd".index(p) for p in parents.get(n, ())] for n in "abcd"}
        exact = np.empty((2,) * 4, dtype=object)
        for cell in product((0, 1), repeat=4):
            chances = [thousandths[n][(*(cell[p] for p in above[n]), cell[i])] for i, n in enumerate("abcd")]
            exact[cell] = math.prod((Fraction(int(c), 1000) for c in chances), start=Fraction(1))
        for node, seen in [(0, (3,)), (1, (0, 3)), (3, (0, 1)), (2, (0, 1, 3))]:
            drop = tuple(v for v in range(4) if v != node and v not in seen)
            table = np.moveaxis(exact.sum(axis=drop) if drop else exact, sum(s < node for s in seen), 0).reshape(2, -1)
            ratio = max(p / q for p, q in zip(table[0], table[1], strict=True)) * table[1].sum() / table[0].sum()
            with mpmath.workdps(50):
                true = mpmath.log(mpmath.mpf(ratio.numerator) / ratio.denominator)
                found = float(net.leak(node, list(seen))[0, 1])
                assert true <= mpmath.mpf(found) <= true + mpmath.mpf("1e-13")
