"""Networks in which somebody has two parents: never below the best mechanism, next to it, and below their quilts."""

from __future__ import annotations

import math

import numpy as np
import pytest
from tree_oracle import best_of_table, law, possible, secret

import fugu
from fugu.priors.network import BayesianNetwork
from fugu.translation.influence import guarantee
from fugu.translation.junction import JunctionContraction, junction
from hunting import search

EPSILONS = (0.05, 0.3, 1.0, 2.5)


def drawn(rng, most=130):
    """A random network with up to three parents, its joint law by multiplying out, and an epsilon."""
    while True:
        n = int(rng.integers(2, 8))
        sizes = rng.integers(2, 4, n) if rng.random() < 0.4 else np.full(n, 2)
        if math.prod(map(int, sizes)) <= most:
            break
    zeros, power = rng.random() < 0.3, float(rng.choice([0.5, 1.0, 3.0]))
    parents = [sorted(rng.permutation(v)[: int(rng.integers(0, min(v, 3) + 1))].tolist()) for v in range(n)]
    tables = []
    for v, above in enumerate(parents):
        shape = [int(sizes[p]) for p in above]
        rows = [law(rng, int(sizes[v]), zeros, power) for _ in range(math.prod(shape))]
        tables.append(np.array(rows).reshape(*shape, int(sizes[v])))
    joint = np.ones(tuple(map(int, sizes)))
    for values in np.ndindex(*joint.shape):
        for v, above in enumerate(parents):
            joint[values] *= tables[v][tuple(values[p] for p in above)][values[v]]
    names = [f"v{v}" for v in range(n)]
    network = BayesianNetwork(
        dict(zip(names, tables, strict=True)),
        {names[v]: [names[p] for p in above] for v, above in enumerate(parents) if above},
    )
    return network, joint, float(rng.choice(EPSILONS))


@search("networks with several parents against all mechanisms", quick=12)
def test_no_mechanism_loses_more_under_a_network(rng):
    network, joint, epsilon = drawn(rng)
    found, cases = JunctionContraction(network, network.nodes)(epsilon), 0
    worth = fugu.translate(network, epsilon)
    for v in network.nodes:
        table = secret(joint, v)
        for x, y in possible(table):
            best = best_of_table(table, epsilon, x, y)
            assert found[v][x, y] >= best * (1 - 1e-9) - 1e-12 and worth >= best * (1 - 1e-9) - 1e-12
            cases += 1
    return cases


def ratios(cases):
    """Of random networks: what is stated by messages, and by quilts, to the best mechanism."""
    for seed in range(cases):
        network, joint, epsilon = drawn(np.random.default_rng(seed), 70)
        if not any(len(above) > 1 for above in network.parents):
            continue
        tables = (secret(joint, v) for v in network.nodes)
        best = max((best_of_table(t, epsilon, x, y) for t in tables for x, y in possible(t)), default=0.0)
        if best:
            yield fugu.translate(network, epsilon) / best, guarantee(network, [epsilon]) / best


def test_messages_are_next_to_the_best_mechanism_where_quilts_are_not():
    found = np.array(list(ratios(24)))
    assert np.median(found[:, 0]) < 1.001 and np.median(found[:, 1]) > 1.1
    assert np.all(found[:, 0] <= found[:, 1] * (1 + 1e-9))


COLLIDER = {"a": [0.5, 0.5], "b": [0.3, 0.7], "c": [[[0.9, 0.1], [0.5, 0.5]], [[0.4, 0.6], [0.2, 0.8]]]}


@pytest.mark.parametrize("wrong", ["the other cells of a group", "what lies beyond", "its own cell"])
def test_wrong_versions_state_too_little(wrong, monkeypatch):
    if wrong == "what lies beyond":
        monkeypatch.setattr(JunctionContraction, "_message", lambda self, near, far, _: np.zeros(
            (self._count(self.groups[near] & self.groups[far]),) * 2))  # fmt: skip
    else:
        right = JunctionContraction._passed

        def without(self, given, group, near, epsilon, own=False):
            return right(self, given, group, near, 0.0 if wrong == "the other cells of a group" else epsilon, False)

        monkeypatch.setattr(JunctionContraction, "_passed", without)
    short, seed = 0, -1
    while short < 5 and (seed := seed + 1) < 60:
        network, joint, epsilon = drawn(np.random.default_rng(seed), 40)
        found = JunctionContraction(network, network.nodes)(epsilon)
        short += any(
            found[v][x, y] < best_of_table(secret(joint, v), epsilon, x, y) * (1 - 1e-6) - 1e-9
            for v in network.nodes for x, y in possible(secret(joint, v))
        )  # fmt: skip
    assert short >= 5


def test_large_groups_are_left_to_quilts():
    many = {f"x{k}": [0.5, 0.5] for k in range(6)}
    table = np.random.default_rng(1).dirichlet([1, 1], (2,) * 6)
    wide = BayesianNetwork({**many, "y": table}, {"y": list(many)})
    assert junction(wide, wide.nodes) is None and fugu.translate(wide, 0.2) == guarantee(wide, [0.2])
    small = BayesianNetwork(COLLIDER, {"c": ["a", "b"]})
    assert junction(small, small.nodes) is not None and fugu.translate(small, 0.2) < guarantee(small, [0.2])
    assert fugu.translate(small, 0) == 0
