"""Random and degenerate priors on a few cells, each with the same belief spelled out as an enumerated joint law."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
from end_to_end_oracle import cells, hidden, outer, seen, tree_law
from lp_oracle import chain_joint

import fugu
from fugu.priors.chain import ChainSet
from fugu.priors.coupling import DependentGroups, IndependentBlocks
from fugu.priors.hidden import HiddenMarkov
from fugu.priors.joint import JointTable
from fugu.priors.network import BayesianNetwork, household


@dataclass(frozen=True)
class Case:
    """A prior of the library; for every belief in it the secrets as laws over data sets; the sizes of the cells."""

    prior: object
    beliefs: list
    shape: tuple


def row(rng, k, kind):
    """One law: smooth, with zeros, nearly certain, or certain."""
    if kind == "certain":
        return np.eye(k)[rng.integers(k)]
    weights = rng.exponential(size=k) ** (3 if kind == "spiky" else 1) + 1e-9
    if kind == "zeros":
        weights[rng.permutation(k)[: rng.integers(0, k)]] = 0
    if kind == "near":
        weights = np.full(k, 10.0 ** -rng.integers(2, 9))
        weights[rng.integers(k)] = 1
    return weights / weights.sum()


KINDS = ("smooth", "spiky", "zeros", "near", "certain")


def kernel(rng, k):
    """One step of a chain: random rows, sticky, cyclic (not reversible), reversible, equal rows, or a mixture."""
    way = rng.choice(["rows", "rows", "mixed", "sticky", "cycle", "reversible", "equal"])
    kind = rng.choice(KINDS[:4])
    if way == "mixed":
        return np.array([row(rng, k, rng.choice(KINDS)) for _ in range(k)])
    found = np.array([row(rng, k, kind) for _ in range(k)])
    if way in ("sticky", "cycle"):
        s = 1 - 10.0 ** -float(rng.uniform(0.1, 6))
        found = s * np.roll(np.eye(k), way == "cycle", axis=1) + (1 - s) * found
    elif way == "reversible":
        weights = rng.exponential(size=(k, k)) ** 2 + 1e-6
        found = weights + weights.T
    elif way == "equal":
        found = np.repeat(found[:1], k, axis=0)
    return found / found.sum(axis=1, keepdims=True)


def sizes(rng, most=5):
    """The number of values and the length: up to 3 values with 5 cells, 4 with 4."""
    k = int(rng.choice([2, 2, 3, 3, 4]))
    return k, int(rng.integers(2, min(most, 4 if k == 4 else 5) + 1))


def start_of(rng, k, steps):
    """A start law; for equal steps often the stationary one, if it is unique."""
    if len({s.tobytes() for s in steps}) <= 1 and steps and rng.random() < 0.5:
        try:
            fugu.MarkovChain(steps[0], 2)
        except fugu.errors.FuguError:
            return row(rng, k, "zeros"), False
        return tree_law(steps[0]), True
    return row(rng, k, rng.choice(KINDS)), False


def chain(rng, k, length):
    """A chain and its joint law; a single cell is a table."""
    if length == 1:
        law = row(rng, k, rng.choice(KINDS[:4]))
        return JointTable(law), law
    steps = [kernel(rng, k)] * (length - 1) if rng.random() < 0.6 else [kernel(rng, k) for _ in range(length - 1)]
    start, stationary = start_of(rng, k, steps)
    same = len({s.tobytes() for s in steps}) == 1
    made = fugu.MarkovChain(steps[0] if same else np.array(steps).reshape(-1, k, k), length,
                            "stationary" if stationary else start)  # fmt: skip
    return made, chain_joint(steps, start)


def one_chain(rng):
    k, length = sizes(rng)
    made, joint = chain(rng, k, length)
    return Case(made, [cells(joint)], joint.shape)


def chain_set(rng):
    k, length = sizes(rng)
    made = [chain(rng, k, length) for _ in range(rng.integers(2, 4))]
    return Case(ChainSet([c for c, _ in made]), [cells(j) for _, j in made], made[0][1].shape)


def blocks(rng):
    k = int(rng.integers(2, 4))
    lengths = [(1, 2), (1, 4), (2, 3), (1, 1, 3), (2, 2), (1, 3)][rng.integers(6)]
    made = [chain(rng, k, n) for n in lengths]
    joint = outer(*(j for _, j in made))
    priors = [c for c, _ in made]
    return Case(priors if rng.random() < 0.3 else IndependentBlocks(*priors), [cells(joint)], joint.shape)


def groups(rng):
    k = int(rng.integers(2, 4))
    lengths = [(1, 2), (2, 2), (2, 3), (1, 1, 3)][rng.integers(4)]
    joints = [table(rng, (k,) * n) for n in lengths]
    joint = outer(*joints)
    return Case(DependentGroups(max(lengths)), [cells(joint)], joint.shape)


def table(rng, shape):
    """Any joint law: often with impossible cells, nearly impossible ones, or values that never occur."""
    weights = rng.exponential(size=shape) ** rng.choice([1, 4])
    way = rng.integers(4)
    if way == 1:
        weights *= rng.random(shape) < rng.choice([0.3, 0.7])
    elif way == 2:
        weights *= 10.0 ** -rng.integers(0, 9, shape)
    elif way == 3 and shape[0] > 2:
        weights[0] = 0
    if weights.sum() == 0:
        weights.ravel()[[0, -1]] = 1
    return weights / weights.sum()


def joint_table(rng):
    shape = tuple(int(s) for s in rng.integers(2, 4, size=rng.integers(2, 5)))
    joint = table(rng, shape)
    return Case(JointTable(joint), [cells(joint)], shape)


def hidden_chain(rng):
    k, length = sizes(rng, 4)
    steps = [kernel(rng, k)] * (length - 1) if rng.random() < 0.6 else [kernel(rng, k) for _ in range(length - 1)]
    start, stationary = start_of(rng, k, steps)
    emission = np.array(
        [row(rng, s, kind) for s, kind in [(int(rng.integers(2, 4)), rng.choice(KINDS))] for _ in range(k)]
    )
    protect = str(rng.choice(["hidden", "observed"]))
    same = len({s.tobytes() for s in steps}) == 1
    made = HiddenMarkov(steps[0] if same else np.array(steps), emission, length,
                        "stationary" if stationary else start, protect)  # fmt: skip
    joint = chain_joint(steps, start)
    told = seen(joint, emission)
    return Case(made, [hidden(joint, emission) if protect == "hidden" else cells(told)], told.shape)


GRAPHS = {
    "common parent": ((), (0,), (0,), (0,)),
    "collider": ((), (), (0, 1), (2,)),
    "diamond": ((), (0,), (0,), (1, 2)),
    "two parts": ((), (0,), (), (2,)),
    "all": ((), (0,), (0, 1), (0, 1, 2)),
    "cross": ((), (), (1, 0), (0,)),
}


def network(rng):
    if rng.random() < 0.15:
        n, p, t = int(rng.integers(2, 6)), float(rng.choice([0.0, 0.1, 0.5, 1e-6])), float(rng.choice([0.0, 0.3, 1.0]))
        made, parents, shape = household(n, p, t), ((), *[(0,)] * (n - 1)), (2,) * n
    else:
        parents = list(GRAPHS.values())[rng.integers(len(GRAPHS))]
        shape = tuple(int(s) for s in rng.integers(2, 4, size=4))
        kind = rng.choice(KINDS)
        tables = {}
        for v, above in enumerate(parents):
            rows = [row(rng, shape[v], kind) for _ in product(*(range(shape[p]) for p in above))]
            tables[str(v)] = np.array(rows).reshape(*(shape[p] for p in above), shape[v])
        names = list(tables)
        order = [names[i] for i in rng.permutation(4)]  # the order in which variables are listed must not matter
        given = {str(v): [str(p) for p in above] for v, above in enumerate(parents)}
        made = BayesianNetwork({n: tables[n] for n in order}, given)
        at = [int(n) for n in order]
        joint = np.zeros(shape)
        for data in product(*map(range, shape)):
            joint[data] = np.prod([tables[str(v)][(*(data[p] for p in a), data[v])] for v, a in enumerate(parents)])
        joint = joint.transpose(at)
        return Case(made, [cells(joint)], joint.shape)
    joint = np.zeros(shape)
    caught = 1 - (1 - p) * (1 - t)
    for data in product((0, 1), repeat=n):
        q = caught if data[0] else p
        joint[data] = np.prod([(p if data[0] else 1 - p), *(q if x else 1 - q for x in data[1:])])
    return Case(made, [cells(joint)], joint.shape)


MAKERS = (one_chain, one_chain, chain_set, blocks, groups, joint_table, hidden_chain, network)
