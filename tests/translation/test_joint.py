"""Explicit joint tables: exact leakages, the corrected Definition 7, and the reading that makes Theorem 6 false."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import combinations, product

import numpy as np
import pytest
from lp_oracle import best_loss

from fugu.errors import BadLaw, UnknownName, UsageError
from fugu.priors.joint import JointTable
from fugu.translation.influence import curve, guarantee


def brute_leak(table: np.ndarray, axis: int, x: int, y: int, seen: tuple[int, ...], shared: bool = False) -> float:
    """The definition, cell by cell; `shared` is the wrong reading that skips values impossible under y."""
    laws = []
    for value in (x, y):
        law: dict[tuple[int, ...], float] = {}
        for cell in product(*(range(s) for s in table.shape)):
            if cell[axis] == value:
                key = tuple(cell[j] for j in seen)
                law[key] = law.get(key, 0.0) + table[cell]
        total = sum(law.values())
        laws.append({k: v / total for k, v in law.items()})
    worst = 0.0
    for key, p in laws[0].items():
        if p > 0 and laws[1][key] == 0:
            worst = worst if shared else math.inf
        elif p > 0:
            worst = max(worst, math.log(p / laws[1][key]))
    return worst


def random_table(rng, shape, zeros=0.0):
    table = rng.dirichlet(np.ones(math.prod(shape)) * 0.7).reshape(shape)
    if zeros:
        table = np.where(rng.random(shape) < zeros, 0.0, table)
    return table / table.sum()


@pytest.mark.parametrize("zeros", [0.0, 0.2])
def test_leakages_are_those_of_the_definition_and_never_below(zeros):
    rng = np.random.default_rng(3)
    for _ in range(8):
        table = random_table(rng, (2, 3, 2), zeros)
        joint = JointTable(table)
        for axis in range(3):
            possible = [v for v in range(table.shape[axis]) if np.take(table, v, axis).sum() > 0]
            others = [a for a in range(3) if a != axis]
            for x, y in product(possible, possible):
                for r in range(3):
                    for seen in combinations(others, r):
                        expected = brute_leak(table, axis, x, y, seen)
                        found = joint.leak(axis, x, y, seen)
                        assert found == expected or expected - 1e-14 <= found <= expected + 1e-9


def test_the_curve_is_the_best_subset_per_entry_and_pair():
    rng = np.random.default_rng(4)
    table = random_table(rng, (2, 2, 2, 2))
    found = dict(curve(JointTable(table)))
    for b in range(1, 5):
        worst = 0.0
        for axis, (x, y) in product(range(4), [(0, 1), (1, 0)]):
            others = [a for a in range(4) if a != axis]
            sets = [s for r in range(4 - b, 4) for s in combinations(others, r)]
            worst = max(worst, min(brute_leak(table, axis, x, y, s) for s in sets))
        assert found[b] == pytest.approx(worst, abs=1e-12)
    assert found[4] == 0


def test_theorem_6_holds_against_the_exact_program_over_all_per_entry_private_mechanisms():
    rng = np.random.default_rng(5)
    for _ in range(12):
        table = random_table(rng, (2, 2, 2))
        bound = guarantee(JointTable(table), [0.4])
        exact = max(best_loss(table, 0.4, a, x, 1 - x) for a in range(3) for x in (0, 1))
        assert exact <= bound + 1e-9
        assert bound < 3 * 0.4 + 1e-12


def test_the_shared_support_reading_of_definition_7_is_false_and_ours_is_not():
    table = np.array([[0.25, 0.25], [0.0, 0.5]])
    exact = best_loss(table, 1.0, 0, 0, 1)
    assert exact == pytest.approx(1.62011451, abs=1e-7)
    assert best_loss(table, 1.0, 0, 1, 0) == pytest.approx(1.37988549, abs=1e-7)
    wrong = 1.0 + brute_leak(table, 0, 0, 1, (1,), shared=True)
    assert wrong < exact  # the wrong reading claims 1.0
    assert exact <= guarantee(JointTable(table), [1.0])
    copies = np.array([[0.5, 0.0], [0.0, 0.5]])
    assert brute_leak(copies, 0, 0, 1, (1,), shared=True) == 0
    assert JointTable(copies).leak(0, 0, 1, [1]) == math.inf
    assert guarantee(JointTable(copies), [0.3]) == pytest.approx(0.6)  # two copies: twice, not once


def test_marginals_and_conditionals_are_exact():
    table = JointTable([[Fraction(1, 3), Fraction(1, 6)], [0, Fraction(1, 2)]], names=["a", "b"])
    assert table.marginal("b").masses.tolist() == [2, 4] or table.marginal("b").masses.tolist() == [1, 2]
    given = table.given("b", 1)
    assert Fraction(int(given.masses[0]), int(given.masses.sum())) == Fraction(1, 4)
    assert given.names == ("a",)


def test_a_value_that_never_occurs_is_skipped():
    joint = JointTable([[0.5, 0.5], [0.0, 0.0]])
    assert dict(curve(joint)) == {1: 0.0, 2: 0.0}


def test_wrong_tables_and_names_are_refused():
    with pytest.raises(BadLaw, match="sum to one"):
        JointTable([[0.5, 0.4], [0.2, 0.2]])
    with pytest.raises(BadLaw, match="finite"):
        JointTable([0.5, math.nan])
    with pytest.raises(UnknownName, match="did you mean 'rain'"):
        JointTable([[0.5, 0.5], [0, 0]], ["rain", "wet"]).marginal("rian")
    with pytest.raises(UsageError, match="nothing to condition"):
        JointTable([0.0, 1.0]).given(0, 0)
