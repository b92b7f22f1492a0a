"""The price of charges from its definition alone: the largest p.g / q.g over all g with g(x) <= e^Lam(x, y) g(y).

Two ways, neither of which knows of plans or flows. For few states: the ratio is quasi-linear in g, so it is largest on
an extreme ray of the cone, where the tight constraints join all states; every spanning tree with every orientation is
tried. For more: a linear program over g with all pairs, whose answer is made Lipschitz before it is believed, so that
what is returned is never above the true value.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cache
from itertools import product

import numpy as np

from fugu.numbers.exact import as_fraction
from fugu.translation.records.pricer import Pricer, largest_rate


def price(states, p, q, charges):
    """What is judged here: the price that is proved."""
    return Pricer(states, p, q).price(charges)


def largest(pricer, charges, new, target, most, precision=1e-3):
    """The largest rate of a new charge, after others, that is proved to keep the target: as a session looks for it."""

    def at(rate):
        found = pricer.price([*charges, new(rate)])
        return as_fraction(found.epsilon), found.slopes[-1]

    spent = as_fraction(pricer.price(charges).epsilon) if charges else Fraction(0)
    if spent > target:
        return Fraction(0)
    return largest_rate(at, target, min((target - spent) / new(Fraction(1)).own, most), most, precision)


def distances(states, charges):
    """Lam between all states, charge by charge from what the charges say."""
    size = len(next(iter(states.values())))
    lam = np.zeros((size, size))
    for charge in charges:
        if hasattr(charge, "feature"):
            value = np.asarray(states[charge.feature], dtype=float)
            lam += float(charge.rate) * np.abs(value[:, None] - value)
        elif hasattr(charge, "features"):
            differ = np.zeros((size, size), dtype=bool)
            for name in charge.features:
                value = np.asarray(states[name])
                differ |= value[:, None] != value
            lam += float(charge.epsilon) * differ
        else:
            lam += 0.0  # apart: added by whoever asks
    return lam


@cache
def trees(size):
    """All spanning trees of `size` points as lists of (new point, known point), in an order that starts at 0."""
    if size == 1:
        return [[]]
    found = []
    for code in product(range(size), repeat=size - 2):
        degree = np.ones(size, dtype=int)
        for node in code:
            degree[node] += 1
        edges = []
        for node in code:
            leaf = int(np.flatnonzero(degree == 1)[0])
            edges.append((leaf, node))
            degree[leaf] -= 1
            degree[node] -= 1
        edges.append(tuple(int(x) for x in np.flatnonzero(degree == 1)))
        known, ordered, left = {0}, [], list(edges)
        while left:
            for edge in left:
                if (edge[0] in known) != (edge[1] in known):
                    new, old = edge if edge[1] in known else edge[::-1]
                    ordered.append((new, old))
                    known.add(new)
                    left.remove(edge)
                    break
        found.append(ordered)
    return found


def by_trees(lam, p, q):
    """The price for at most five states or so: exact but for rounding, whatever the size of Lam."""
    size = len(p)
    signs = np.array(list(product((-1.0, 1.0), repeat=size - 1))).reshape(2 ** (size - 1), size - 1)
    best = 0.0
    with np.errstate(divide="ignore"):
        log_p, log_q = np.log(p / np.sum(p)), np.log(q / np.sum(q))
    for tree in trees(size):
        h = np.zeros((len(signs), size))
        for k, (new, old) in enumerate(tree):
            h[:, new] = h[:, old] + signs[:, k] * lam[new, old]
        fits = (h[:, :, None] - h[:, None, :] <= lam + 1e-9 * (1 + lam)).all(axis=(1, 2))
        if fits.any():
            good = h[fits]
            values = np.logaddexp.reduce(good + log_p, axis=1) - np.logaddexp.reduce(good + log_q, axis=1)
            best = max(best, float(values.max()))
    return best


def by_program(lam, p, q):
    """The price by a linear program over g with all pairs; what is returned belongs to a g that is Lipschitz."""
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    size = len(p)
    p, q = np.asarray(p) / np.sum(p), np.asarray(q) / np.sum(q)
    i, j = (part.ravel() for part in np.where(~np.eye(size, dtype=bool)))
    row = np.arange(i.size)
    matrix = csr_matrix(
        (np.concatenate([np.exp(-lam[i, j]), -np.ones(i.size)]), (np.tile(row, 2), np.concatenate([i, j]))),
        shape=(i.size, size),
    )
    answer = linprog(-p, A_ub=matrix, b_ub=np.zeros(i.size), A_eq=q[None], b_eq=[1.0], bounds=(0, None), method="highs",
                     options={"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-10})  # fmt: skip
    g = np.maximum(answer.x, 1e-300)
    values = [0.0]
    for closed in ((np.exp(lam) * g).min(axis=1), (np.exp(-lam) * g).max(axis=1)):
        values.append(float(np.log(p @ closed) - np.log(q @ closed)))
    return max(values)
