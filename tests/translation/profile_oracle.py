"""The largest hockey stick that a per-entry guarantee allows under a tiny prior, from the definition alone.

An event of a mechanism has a probability f(D) in [0, 1] for every dataset D. It is (eps_j, delta_j)-private per entry,
for each j, if and only if for all D, D' that differ in one cell

    f(D) <= e^eps_j f(D') + delta_j   and   1 - f(D) <= e^eps_j (1 - f(D')) + delta_j,

and every such f belongs to a mechanism with two outputs. So the largest P(S | x) - e^eps P(S | x') over all mechanisms
is a linear program. Gaussian noise is attacked directly: noisy weighted sums, whose laws given x and x' are mixtures of
normals, and whose best event is found by quadrature. Nothing here uses a theorem of the library.
"""

from __future__ import annotations

import math

import numpy as np
from lp_oracle import given, neighbours


def most_delta(joint, guarantees, node, x, y, epsilon):
    """max E[f | X_node = x] - e^epsilon E[f | X_node = y] over all events that satisfy all (eps_j, delta_j)."""
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, vstack

    edges, size = neighbours(joint.shape), joint.size
    rows, ones = np.arange(len(edges)), np.ones(len(edges))
    blocks, limits = [], []
    for eps, delta in guarantees:
        entries = np.concatenate([ones, -math.exp(eps) * ones])
        where = np.concatenate([rows, rows]), np.concatenate([edges[:, 0], edges[:, 1]])
        block = coo_matrix((entries, where), shape=(len(edges), size))
        blocks += [block, -block]
        limits += [np.full(len(edges), delta), np.full(len(edges), delta - 1 + math.exp(eps))]
    cost = given(joint, node, x) - math.exp(epsilon) * given(joint, node, y)
    found = linprog(
        -cost.ravel(), A_ub=vstack(blocks).tocsr(), b_ub=np.concatenate(limits), bounds=(0, 1), method="highs"
    )
    assert found.status == 0, found.message
    return max(0.0, -found.fun)


def best_delta(joint, guarantees, epsilon):
    """The largest over all nodes and ordered pairs of possible values."""
    worst = 0.0
    for node, k in enumerate(joint.shape):
        mass = joint.sum(axis=tuple(t for t in range(joint.ndim) if t != node))
        live = [x for x in range(k) if mass[x] > 0]
        for x in live:
            for y in live:
                if x != y:
                    worst = max(worst, most_delta(joint, guarantees, node, x, y, epsilon))
    return worst


def least_epsilon(joint, guarantees, delta, high, steps=14):
    """The least epsilon at which no event of these guarantees exceeds delta, from below."""
    low = 0.0
    for _ in range(steps):
        middle = (low + high) / 2
        low, high = (middle, high) if best_delta(joint, guarantees, middle) > delta + 1e-9 else (low, middle)
    return low


def sums(joint, node, value, weights):
    """(points, masses): the law of the weighted sum of the cells' scores given X_node = value."""
    law = given(joint, node, value).ravel()
    cells = np.indices(joint.shape).reshape(joint.ndim, -1)
    total = sum(w[c] for w, c in zip(weights, cells, strict=True))
    points, inverse = np.unique(np.round(total, 12), return_inverse=True)
    return points, np.bincount(inverse, law, len(points))


def noisy_laws(joint, node, x, y, weights, sigma):
    """Densities of the noisy sum given x and given y on a fine grid, and its step."""
    (p, mp), (q, mq) = (sums(joint, node, v, weights) for v in (x, y))
    low, high = min(p[0], q[0]) - 9 * sigma, max(p[-1], q[-1]) + 9 * sigma
    z = np.linspace(low, high, 4001)

    def density(points, masses):
        return sum(m * np.exp(-0.5 * ((z - s) / sigma) ** 2) for s, m in zip(points, masses, strict=True)) / (
            sigma * math.sqrt(2 * math.pi)
        )

    return density(p, mp), density(q, mq), z[1] - z[0]


def attack_delta(joint, node, x, y, weights, sigma, epsilon):
    """The hockey stick of a noisy weighted sum."""
    p, q, step = noisy_laws(joint, node, x, y, weights, sigma)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum() * step)


def attack_renyi(joint, node, x, y, weights, sigma, alpha):
    """D_alpha of a noisy weighted sum."""
    p, q, step = noisy_laws(joint, node, x, y, weights, sigma)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        terms = np.where(p > 0, np.exp(alpha * np.log(p) + (1 - alpha) * np.log(np.maximum(q, 1e-300))), 0.0)
    return math.log(float(terms.sum() * step)) / (alpha - 1)
