"""The best possible translation on tiny priors, from the definition alone: a linear program over all mechanisms.

For one output of a per-entry eps-DP mechanism let f(D) be its probability on dataset D. Privacy on the whole product
domain says f(D) <= e^eps f(D') for all D, D' that differ in one cell; any such f, scaled, is an output probability of
some mechanism. So the largest log P(output | X_i = x) / P(output | X_i = x') over all mechanisms is the log of

    max E[f | X_i = x]   subject to   E[f | X_i = x'] = 1,   0 <= f(D) <= e^eps f(D').

Nothing here uses a theorem of the library. The value returned belongs to a mechanism that satisfies all constraints, so
it is never above the true optimum.
"""

from __future__ import annotations

import math
from itertools import product

import numpy as np


def chain_joint(kernels, initial):
    """P(X_1, ..., X_T) as an array with one axis per node, by multiplying out."""
    length, k = len(kernels) + 1, len(initial)
    joint = np.zeros((k,) * length)
    for path in product(range(k), repeat=length):
        mass = initial[path[0]]
        for t, kernel in enumerate(kernels):
            mass *= kernel[path[t]][path[t + 1]]
        joint[path] = mass
    return joint


def neighbours(shape):
    """Index pairs (D, D') of datasets that differ in exactly one cell, in both directions."""
    flat = np.arange(math.prod(shape)).reshape(shape)
    found = []
    for axis, k in enumerate(shape):
        moved = np.moveaxis(flat, axis, 0)
        found += [np.stack([moved[a].ravel(), moved[b].ravel()], 1) for a in range(k) for b in range(k) if a != b]
    return np.concatenate(found)


def given(joint, node, value):
    """The law of the whole dataset given X_node = value."""
    law = np.zeros_like(joint)
    np.moveaxis(law, node, 0)[value] = np.moveaxis(joint, node, 0)[value]
    return law / law.sum()


def best_loss(joint, epsilon, node, x, y):
    """The exact optimum of log P(output | X_node = x) / P(output | X_node = y) over all per-entry eps-DP mechanisms."""
    return best(given(joint, node, x), given(joint, node, y), epsilon)


def best(p, q, epsilon):
    """The largest log of E_p[f] / E_q[f], for two laws of the dataset with one axis for each cell."""
    f = best_output(p, q, epsilon)
    return math.log(float((p * f).sum() / p.sum()) / float((q * f).sum() / q.sum()))


def best_output(p, q, epsilon):
    """The probabilities f(D), up to a common factor, of an output that attains `best`; all constraints hold."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    edges = neighbours(p.shape)
    rows = np.arange(len(edges))
    matrix = coo_matrix(
        (np.repeat([1.0, -math.exp(epsilon)], len(edges)), (np.tile(rows, 2), edges.T.ravel())),
        shape=(len(edges), p.size),
    ).tocsr()
    equal = (q / q.sum()).reshape(1, -1)
    done = linprog(-p.ravel() / p.sum(), A_ub=matrix, b_ub=np.zeros(len(edges)), A_eq=equal, b_eq=[1.0])
    if done.status != 0:
        raise RuntimeError(done.message)
    f = done.x.reshape(p.shape)  # the solver allows small breaches: move to the least f above that has none,
    for axis in range(p.ndim):  # f(D) = max of e^(-eps distance) f(D'), one cell at a time
        f = np.maximum(f, math.exp(-epsilon) * f.max(axis=axis, keepdims=True))
    return f


def best_translation(joint, epsilon, nodes=None):
    """The largest `best_loss` over nodes and ordered pairs of values of positive probability."""
    worst = epsilon * 0.0
    for node in range(joint.ndim) if nodes is None else nodes:
        law = np.moveaxis(joint, node, 0).reshape(joint.shape[node], -1).sum(axis=1)
        for x, y in product(range(len(law)), repeat=2):
            if x != y and law[x] > 0 and law[y] > 0:
                worst = max(worst, best_loss(joint, epsilon, node, x, y))
    return worst


def random_chain(rng, zeros=False, most_length=5, most_states=3, stationary=False):
    """Kernels and a start: some with forbidden transitions, some sticky, some with steps that differ."""
    k, length = int(rng.integers(2, most_states + 1)), int(rng.integers(2, most_length + 1))
    power = float(rng.choice([0.3, 1.0, 3.0]))

    def row():
        weights = rng.exponential(size=k) ** (1 / power)
        if zeros:
            weights[rng.permutation(k)[: int(rng.integers(0, k))]] = 0.0
        return weights / weights.sum()

    one = np.array([row() for _ in range(k)])
    kernels = (
        [one] * (length - 1)
        if stationary or rng.random() < 0.6
        else [np.array([row() for _ in range(k)]) for _ in range(length - 1)]
    )
    return kernels, row()
