"""Trees and hidden chains against the definition: the best mechanism, found by the linear program of lp_oracle.py.

The laws of D given the secret are made by multiplying out, dataset by dataset: nothing here uses the library."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
from lp_oracle import best


def multiplied(parents, tables):
    """P(X_1, ..., X_n), one axis per node; `parents[v]` is None or a node, `tables[v]` its law given that node."""
    sizes = [np.shape(t)[-1] for t in tables]
    joint = np.zeros(sizes)
    for values in product(*map(range, sizes)):
        joint[values] = math.prod(
            tables[v][values[v]] if p is None else tables[v][values[p]][values[v]] for v, p in enumerate(parents)
        )
    return joint


def seen_given_hidden(kernels, start, emission):
    """P(X_t = x, Y_1 = y_1, ..., Y_T = y_T) for each t: arrays of shape (k, s, ..., s)."""
    length, (k, s) = len(kernels) + 1, emission.shape
    found = [np.zeros((k,) + (s,) * length) for _ in range(length)]
    for path in product(range(k), repeat=length):
        mass = start[path[0]] * math.prod(kernels[t][path[t]][path[t + 1]] for t in range(length - 1))
        if mass > 0:
            seen = np.array(1.0)
            for x in path:
                seen = np.multiply.outer(seen, emission[x])
            for t, x in enumerate(path):
                found[t][x] += mass * seen
    return found


def best_of_table(table, epsilon, x, y):
    """For P(secret, D) with the secret on the first axis: the best loss of x against y."""
    return best(table[x], table[y], epsilon)


def secret(joint, node):
    """P(X_node = x, D) from P(D): zero where D does not have that value."""
    out = np.zeros((joint.shape[node], *joint.shape))
    for x in range(joint.shape[node]):
        np.moveaxis(out[x], node, 0)[x] = np.moveaxis(joint, node, 0)[x]
    return out


def possible(table):
    """The values of the secret that have positive probability, in ordered pairs."""
    some = np.flatnonzero(table.reshape(len(table), -1).sum(axis=1) > 0)
    return [(int(x), int(y)) for x in some for y in some if x != y]


# ---- random cases ---------------------------------------------------------------------------------------------------


def law(rng, k, zeros, power):
    """A law of k values, some of them never, if `zeros`."""
    weights = rng.exponential(size=k) ** power
    if zeros:
        weights[rng.permutation(k)[: int(rng.integers(0, k))]] = 0.0
    return weights / weights.sum()


def random_tree(rng, most_nodes=6, most_cells=250):
    """Parents and tables: stars, paths, anything, sometimes two components; two or three values; zeros."""
    while True:
        n = int(rng.integers(2, most_nodes + 1))
        sizes = rng.integers(2, 4, size=n) if rng.random() < 0.7 else np.full(n, 2)
        if math.prod(map(int, sizes)) <= most_cells:
            break
    kind, zeros, power = rng.choice(["star", "path", "any"]), rng.random() < 0.4, float(rng.choice([0.5, 1.0, 3.0]))
    parents = [None]
    for v in range(1, n):
        parents.append({"star": 0, "path": v - 1, "any": int(rng.integers(0, v))}[kind])
    if n > 2 and rng.random() < 0.25:
        parents[int(rng.integers(1, n))] = None
    row = lambda v: law(rng, sizes[v], zeros, power)  # noqa: E731
    tables = [row(v) if p is None else np.array([row(v) for _ in range(sizes[p])]) for v, p in enumerate(parents)]
    return parents, tables


def random_hidden(rng, most_cells=130):
    """Kernels, start and emission of a short hidden chain."""
    while True:
        k, s, length = int(rng.integers(2, 4)), int(rng.integers(2, 4)), int(rng.integers(2, 6))
        if s**length <= most_cells:
            break
    zeros, power = rng.random() < 0.4, float(rng.choice([0.5, 1.0, 3.0]))
    rows = lambda m, n: np.array([law(rng, n, zeros, power) for _ in range(m)])  # noqa: E731
    one = rows(k, k)
    kernels = [one] * (length - 1) if rng.random() < 0.6 else [rows(k, k) for _ in range(length - 1)]
    return kernels, law(rng, k, zeros, power), rows(k, s)
