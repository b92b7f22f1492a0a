"""What per-entry privacy is worth under a network that is a tree, or under a hidden chain: time by nodes and values."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import fugu
from benchmarks.measure import Row, Size, race
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.network import BayesianNetwork, contacts
from fugu.translation.influence import guarantee
from fugu.translation.tree import TreeContraction


def tree(kind: str, nodes: int, k: int) -> BayesianNetwork:
    """A random tree, a path or a star of variables with k values and one random table."""
    rng = np.random.default_rng(k)
    table, start = rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(k))
    above = {"random": lambda v: int(rng.integers(0, v)), "path": lambda v: v - 1, "star": lambda _: 0}[kind]
    tables = {str(v): table if v else start for v in range(nodes)}
    return BayesianNetwork(tables, {str(v): [str(above(v))] for v in range(1, nodes)})


def nodes(size: Size) -> Iterator[Row]:
    """Growth in the number of nodes: linear; the first call with its kernels, and a later one."""
    for kind in ("random", "path", "star"):
        for count in (100, 1000, size.of(10_000)):
            prior = tree(kind, count, 2)
            ready = TreeContraction(prior.forest)
            first = race(1, first=lambda ready=ready: ready(0.1))["first"]
            later = race(3, later=lambda ready=ready: ready(0.2))["later"]
            yield Row("trees", f"{kind} tree, {count} nodes, 2 values, with kernels", first, "s")
            limit = 5.0 if count == 10_000 else None
            yield Row("trees", f"{kind} tree, {count} nodes, 2 values, kernels ready", later, "s", limit)


def values(size: Size) -> Iterator[Row]:
    """Growth in the number k of values: k^4 for each message up to 36, then k^3."""
    for k in (2, 3, 5, 8) if size.quick else (2, 3, 5, 8, 12, 20, 50):
        ready = TreeContraction(tree("random", 100, k).forest)
        yield Row(
            "trees", f"random tree, 100 nodes, {k} values", race(1, one=lambda ready=ready: ready(0.1))["one"], "s"
        )


def hidden(size: Size) -> Iterator[Row]:
    """Hidden chains: growth in the length, for each start, and in the number of hidden states."""
    step, emission = [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]]
    for length in (100, 1000, size.of(10_000)):
        for name, start in (("stationary", "stationary"), ("given start", [0.1, 0.9]), ("any start", "any")):
            prior = HiddenMarkov(step, emission, length, start)
            took = race(1, one=lambda prior=prior: fugu.translate(prior, 0.1))["one"]
            limit = 5.0 if length == 10_000 else None
            yield Row("trees", f"2 hidden states, {length} entries, {name}", took, "s", limit)
    for k in (3, 5) if size.quick else (3, 5, 8, 12):
        rng = np.random.default_rng(k)
        prior = HiddenMarkov(rng.dirichlet(np.ones(k), k), rng.dirichlet(np.ones(4), k), 1000)
        yield Row(
            "trees", f"{k} hidden states, 1000 entries", race(1, one=lambda p=prior: fugu.translate(p, 0.1))["one"], "s"
        )


def gain(size: Size) -> Iterator[Row]:  # noqa: ARG001 - small priors, at any size
    """How much less than the quilts alone; less is better."""
    path = tree("path", 11, 2)
    people = {"p0": None, **{f"p{v}": f"p{(v - 1) // 2}" for v in range(1, 15)}}
    priors = {
        "chain of 11 nodes as a network, at 0.05": (path, 0.05),
        "contact tree of 15 people, at 0.1": (contacts(people, 0.05, 0.3), 0.1),
        "hidden chain of 20 entries, at 0.1": (
            HiddenMarkov([[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]], 20),
            0.1,
        ),
    }
    for name, (prior, epsilon) in priors.items():
        yield Row(
            "trees", f"{name}, against quilts", fugu.translate(prior, epsilon) / guarantee(prior, [epsilon]), "x", 1.0
        )
