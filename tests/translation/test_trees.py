"""Networks that are trees: never below the best mechanism, attained for two values, and wrong versions are caught."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import islice, product

import numpy as np
import pytest
from lp_oracle import best_translation
from tree_oracle import best_of_table, law, multiplied, possible, random_tree, secret

import fugu
from fugu.priors.joint import Quilts
from fugu.priors.network import BayesianNetwork, contacts, household
from fugu.translation import tree
from fugu.translation import tree as ways
from fugu.translation.influence import guarantee
from fugu.translation.pure import lesser
from fugu.translation.sequence import Contraction
from fugu.translation.tree import TreeContraction
from hunting import search

EPSILONS = (0.05, 0.3, 1.0, 2.5)


def network(parents, tables):
    names = [f"x{v}" for v in range(len(parents))]
    above = {names[v]: [names[p]] for v, p in enumerate(parents) if p is not None}
    return BayesianNetwork(dict(zip(names, tables, strict=True)), above)


def totals(parents, tables, epsilon):
    return TreeContraction(network(parents, tables).forest)(epsilon)


def drawn(rng):
    """A random tree, a node of it, an epsilon; what is proved for it and P(secret, D)."""
    parents, tables = random_tree(rng)
    epsilon, node = float(rng.choice(EPSILONS)), int(rng.integers(len(parents)))
    return parents, tables, epsilon, node, secret(multiplied(parents, tables), node)


@search("trees against all mechanisms", quick=30)
def test_no_mechanism_loses_more_under_a_tree(rng):
    parents, tables, epsilon, node, joint = drawn(rng)
    found = totals(parents, tables, epsilon)[node]
    for x, y in possible(joint):
        best = best_of_table(joint, epsilon, x, y)
        assert found[x, y] >= best * (1 - 1e-9), (node, x, y)
        if all(np.shape(t)[-1] == 2 for t in tables):
            assert found[x, y] <= best * (1 + 1e-4) + 1e-6  # attained; the solver stops at 1e-7
    return len(possible(joint))


@search("translations under a whole tree against all mechanisms", quick=8)
def test_a_translation_is_the_worst_node(rng):
    parents, tables = random_tree(rng, most_cells=60)
    epsilon = float(rng.choice(EPSILONS))
    assert fugu.translate(network(parents, tables), epsilon) >= best_translation(
        multiplied(parents, tables), epsilon
    ) * (1 - 1e-9)


# ---- wrong versions -------------------------------------------------------------------------------------------------


def broken(monkeypatch, cases=40):
    """How many of the random trees a wrong version states too little for; five are enough."""

    def wrong(seed):
        parents, tables, epsilon, node, joint = drawn(np.random.default_rng(seed))
        found = totals(parents, tables, epsilon)[node]
        return any(found[x, y] < best_of_table(joint, epsilon, x, y) * (1 - 1e-6) for x, y in possible(joint))

    return sum(islice(filter(None, map(wrong, range(cases))), 5))


def test_a_transposed_table_is_no_backward_kernel(monkeypatch):
    def transposed(before, kernel, after):
        back = kernel.T * (after[:, None] > 0)
        return back / np.where(back.sum(axis=1, keepdims=True) > 0, back.sum(axis=1, keepdims=True), 1.0)

    monkeypatch.setattr(ways, "backward_kernel", transposed)
    assert broken(monkeypatch) >= 5


def test_the_losses_of_branches_add_up_and_the_largest_alone_is_too_little(monkeypatch):
    parents, tables = [None, 0, 0, 0], [[0.5, 0.5], *[[[0.8, 0.2], [0.2, 0.8]]] * 3]
    joint = secret(multiplied(parents, [np.array(t) for t in tables]), 0)
    best = best_of_table(joint, 0.5, 0, 1)
    messages = tree._Messages(TreeContraction(network(parents, tables).forest), 0.5)
    for stage in messages.known.stages:
        messages.send(stage)
    branches = messages.sent[[2, 4, 6], 0, 1]
    assert 0.5 + branches.sum() == pytest.approx(best, abs=1e-7) and 0.5 + branches.max() < best - 0.3


def test_the_own_cell_of_a_neighbour_counts(monkeypatch):
    class Without(tree._Messages):
        def __init__(self, known, epsilon):
            super().__init__(known, epsilon)
            self.own = self.own * 0

    monkeypatch.setattr(tree, "_Messages", Without)
    assert broken(monkeypatch, 10) >= 5


# ---- what it equals -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_a_chain_written_as_a_network_is_worth_what_the_chain_is(epsilon):
    kernel, start = [[0.6, 0.4], [0.2, 0.8]], [0.1, 0.9]
    path = network([None, *range(10)], [start, *[kernel] * 10])
    chain = Contraction(fugu.MarkovChain(kernel, 11, start))
    found = TreeContraction(path.forest)(epsilon)
    for node in range(11):
        assert float(found[node].max()) == pytest.approx(chain(epsilon, node + 1), rel=1e-10)
    assert fugu.translate(path, epsilon) < guarantee(path, [epsilon]) / (1.5 if epsilon < 1 else 1.0)


def test_jumps_over_several_nodes_help_from_three_values_on_and_stay_above_the_best_mechanism(monkeypatch):
    better = 0
    for seed in range(24):
        rng = np.random.default_rng(seed)
        kernel = 0.75 * np.eye(3) + 0.25 * rng.dirichlet(np.ones(3), 3)
        tables = [rng.dirichlet(np.ones(3)), *[kernel] * 5]
        parents = [None, 0, 1, 2, 3, 4]
        with monkeypatch.context() as patch:
            patch.setattr(ways, "_JUMPS", (1,))
            single = totals(parents, tables, 2.0)[0]
        found = totals(parents, tables, 2.0)[0]
        assert np.all(found <= single + 1e-15)
        better += bool(np.any(found < single - 1e-6))
    assert better >= 1


def exactly(parents, tables, epsilon):
    """The recursion for two values in 50 digits, from tables of rationals; every node."""
    import mpmath

    mpmath.mp.dps = 50
    eps = mpmath.mpf(epsilon.numerator) / epsilon.denominator
    below = [[c for c, p in enumerate(parents) if p == v] for v in range(len(parents))]
    laws: list[list[Fraction]] = []
    for v, p in enumerate(parents):
        laws.append(tables[v] if p is None else [sum(laws[p][x] * tables[v][x][y] for x in (0, 1)) for y in (0, 1)])

    def kernel(a, b):
        if parents[b] == a:
            return tables[b]
        return [[laws[b][y] * tables[a][y][x] / laws[a][x] for y in (0, 1)] for x in (0, 1)]

    def message(a, b, x):
        """F_ab(x, 1 - x)."""
        around = [c for c in [*below[b], *([] if parents[b] is None else [parents[b]])] if c != a]
        rows = kernel(a, b)
        y = 0 if rows[x][0] >= rows[1 - x][0] else 1
        loss = eps + sum(message(b, c, y) for c in around)
        p, q = (mpmath.mpf(r[y].numerator) / r[y].denominator for r in (rows[x], rows[1 - x]))
        return mpmath.log((1 + mpmath.expm1(loss) * p) / (1 + mpmath.expm1(loss) * q))

    def total(v):
        around = [*below[v], *([] if parents[v] is None else [parents[v]])]
        return max(eps + sum(message(v, c, x) for c in around) for x in (0, 1))

    return [total(v) for v in range(len(parents))]


@search("trees of two values against fifty digits", quick=20)
def test_two_values_are_exact_from_above(rng):
    n = int(rng.integers(2, 12))
    parents = [None, *(int(rng.integers(0, v)) for v in range(1, n))]
    row = lambda: [share := Fraction(int(rng.integers(1, 1000)), 1000), 1 - share]  # noqa: E731
    tables = [row() if p is None else [row(), row()] for p in parents]
    epsilon = Fraction(int(rng.integers(1, 300)), 100)
    truth = exactly(parents, tables, epsilon)
    floats = [
        [float(p) for p in t] if parents[v] is None else [[float(p) for p in r] for r in t]
        for v, t in enumerate(tables)
    ]
    found = totals(parents, floats, float(epsilon))
    for v, want in enumerate(truth):
        assert want <= float(found[v].max()) <= want * (1 + 1e-11)


def test_a_large_star_is_exact_too():
    third, rest = Fraction(1, 3), [[Fraction(9, 10), Fraction(1, 10)], [Fraction(3, 10), Fraction(7, 10)]]
    parents, tables = [None, *[0] * 39], [[third, 1 - third], *[rest] * 39]
    floats = [[1 / 3, 2 / 3], *[[[0.9, 0.1], [0.3, 0.7]]] * 39]
    found = totals(parents, floats, 0.01)
    truth = exactly(parents, tables, Fraction(1, 100))
    assert all(want * (1 - 1e-12) <= float(found[v].max()) <= want * (1 + 1e-11) for v, want in enumerate(truth))


def test_messages_are_the_same_together_and_one_by_one(monkeypatch):
    rng = np.random.default_rng(3)
    sizes = rng.integers(2, 5, size=90)
    parents = [None, *(int(rng.integers(max(0, v - 30), v)) for v in range(1, 90))]
    tables = [
        rng.dirichlet(np.ones(sizes[v])) if p is None else rng.dirichlet(np.ones(sizes[v]), sizes[p])
        for v, p in enumerate(parents)
    ]
    one = totals(parents, tables, 0.2)
    for name, value in (("_FEW", 0), ("_FEW", 10**9), ("_MOST_AT_ONCE", 300)):
        with monkeypatch.context() as patch:
            patch.setattr(tree, name, value)
            other = totals(parents, tables, 0.2)
        assert all(np.allclose(one[v], other[v], rtol=1e-13, atol=0) for v in one)
    with monkeypatch.context() as patch:
        patch.setattr(ways, "MOST_KERNELS", 0)  # no jumps
        assert all(np.all(totals(parents, tables, 0.2)[v] >= one[v] * (1 - 1e-13)) for v in (0, 5, 50))


def test_randomised_response_attains_it_on_a_tree_of_two_values():
    parents, epsilon = [None, 0, 0, 1, 1, 2], 0.6
    rng = np.random.default_rng(5)
    tables = [rng.dirichlet((1, 1)) if p is None else rng.dirichlet((1, 1), 2) for p in parents]
    joint = multiplied(parents, tables)
    found = totals(parents, tables, epsilon)
    for node in range(len(parents)):
        given = secret(joint, node)
        worst = 0.0
        for answer in product((0, 1), repeat=len(parents)):
            f = np.ones(joint.shape)
            for v, a in enumerate(answer):
                shape = [1] * len(parents)
                shape[v] = 2
                f = f * np.where(np.arange(2) == a, math.exp(epsilon), 1.0).reshape(shape)
            seen = [float((given[x] * f).sum() / given[x].sum()) for x in (0, 1)]
            worst = max(worst, abs(math.log(seen[0] / seen[1])))
        assert float(found[node].max()) == pytest.approx(worst, rel=1e-12)


# ---- components, zeros, sizes, quilts -------------------------------------------------------------------------------


def test_independent_parts_are_judged_each_by_itself():
    rng = np.random.default_rng(2)
    parents, tables = [None, 0, 1], [law(rng, 2, False, 1), rng.dirichlet((1, 1), 2), rng.dirichlet((1, 1), 2)]
    other, more = [None, 0], [law(rng, 3, False, 1), rng.dirichlet((1, 1), 3)]
    both = network([*parents, *(None if p is None else p + 3 for p in other)], [*tables, *more])
    parts = [fugu.translate(network(*part), 0.7) for part in ((parents, tables), (other, more))]
    assert fugu.translate(both, 0.7) == pytest.approx(max(parts), rel=1e-13)
    alone = BayesianNetwork({"a": [0.5, 0.5], "b": [0.2, 0.8]})
    assert fugu.translate(alone, 0.5) == 0.5


def test_a_part_with_two_parents_is_no_tree_and_the_rest_is():
    collider = {"a": [0.5, 0.5], "b": [0.3, 0.7], "c": [[[0.9, 0.1], [0.5, 0.5]], [[0.4, 0.6], [0.2, 0.8]]]}
    path = {f"x{v}": [0.5, 0.5] if v == 0 else [[0.7, 0.3], [0.3, 0.7]] for v in range(5)}
    arrows = {f"x{v}": [f"x{v - 1}"] for v in range(1, 5)}
    bad, good = BayesianNetwork(collider, {"c": ["a", "b"]}), BayesianNetwork(path, arrows)
    mixed = BayesianNetwork({**path, **collider}, {**arrows, "c": ["a", "b"]})
    assert set(mixed.forest.order) == set(range(5)) and not bad.forest.order
    assert fugu.translate(bad, 0.4) < guarantee(bad, [0.4])
    parts = fugu.translate(good, 0.4), fugu.translate(bad, 0.4)
    assert fugu.translate(mixed, 0.4) == pytest.approx(max(parts), rel=1e-13)
    assert fugu.translate(good, 0.4) < 0.98 * guarantee(good, [0.4])


def test_values_that_never_occur_are_compared_with_nothing():
    tables = [[0.5, 0.5, 0.0], [[0.9, 0.1], [0.2, 0.8], [0.0, 1.0]]]
    found = totals([None, 0], tables, 1.0)
    small = totals([None, 0], [[0.5, 0.5], [[0.9, 0.1], [0.2, 0.8]]], 1.0)
    assert np.all(found[0][2] == 0) and np.all(found[0][:, 2] == 0)
    assert np.allclose(found[0][:2, :2], small[0], rtol=1e-13) and np.allclose(found[1], small[1], rtol=1e-13)
    certain = BayesianNetwork({"a": [1, 0], "b": [[1, 0], [1, 0]]}, {"b": ["a"]})
    assert fugu.translate(certain, 0.5) == 0.5  # nothing to compare: one entry, as for a chain
    copies = BayesianNetwork({"a": [0.5, 0.5], "b": [[1, 0], [0, 1]]}, {"b": ["a"]})
    assert fugu.translate(copies, 0.5) == 1.0


def test_many_values_are_judged_by_the_total_variation():
    rng = np.random.default_rng(0)
    k = tree._MOST_PAIRWISE + 4
    start, rows = rng.dirichlet(np.ones(k)), rng.dirichlet(np.ones(3), k)
    found = totals([None, 0], [start, rows], 0.8)[0]
    half = np.abs(rows[:, None, :] - rows[None, :, :]).sum(axis=2) / 2
    apart = ~np.eye(k, dtype=bool)
    assert np.allclose(found[apart], 0.8 + np.log1p(math.expm1(0.8) * half)[apart], rtol=1e-12)
    sets = [np.array(s, dtype=bool) for s in product((0, 1), repeat=3)]
    exact = max(
        np.log((1 + math.expm1(0.8) * rows[0][s].sum()) / (1 + math.expm1(0.8) * rows[1][s].sum())) for s in sets
    )
    assert found[0, 1] >= 0.8 + exact


def test_a_quilt_that_is_better_for_a_pair_counts_for_it():
    table = np.array([[0.0, 3.0, 1.0], [2.0, 0.0, 1.0], [0.5, 0.5, 0.0]])
    leaks = np.stack([np.zeros((3, 3)), np.where(np.eye(3, dtype=bool), 0.0, [[9, 0.5, 9], [9, 9, 9], [9, 9, 9]])])
    found = lesser(table, Quilts(4, np.array([4, 1]), leaks), 1.0)
    assert found[0, 1] == pytest.approx(1.5) and found[1, 0] == pytest.approx(1.5)  # by it; through 2
    assert np.all(found <= table) and found[2, 0] == 0.5


def test_more_nodes_never_make_it_worth_less_and_a_large_tree_is_quick():
    people = {"p0": None, **{f"p{v}": f"p{(v - 1) // 2}" for v in range(1, 511)}}
    worth = [fugu.translate(contacts(dict(list(people.items())[:n]), 0.02, 0.3), 0.1) for n in (3, 31, 511)]
    assert 0.1 < worth[0] < worth[1] < worth[2] < 0.1 * 511
    home = household(4, 0.1, 0.5)
    assert fugu.translate(home, 0.5) < guarantee(home, [0.5])
    budget = fugu.dp_budget(home, 1)
    assert budget > 0.25 and fugu.translate(home, budget) <= 1


def test_contacts_in_a_circle_and_what_is_no_probability_are_refused():
    with pytest.raises(fugu.errors.UsageError, match="cycle"):
        contacts({"a": "b", "b": "a"}, 0.1, 0.1)
    with pytest.raises(fugu.errors.UsageError, match="probabilities"):
        contacts({"a": None}, 1.1, 0.1)
    with pytest.raises(fugu.errors.UnknownName):
        contacts({"a": "nobody"}, 0.1, 0.1)
    assert household(3, 0.1, 0.5).parents == ((), (0,), (0,))
