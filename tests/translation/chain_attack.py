"""An attack on translations under chains: awkward chains of every kind against linear programs over all mechanisms.

A case is a chain (kernels of each step and a start) and a per-entry epsilon. A mechanism that is private on the product
of the values that each entry can take extends to the whole product domain (largest log-Lipschitz extension), so the
program of `lp_oracle` is solved on that product alone. Which entry and pair of values: the one for which the best of
the simple mechanisms f(D) = e^(-eps distance(D, D*)) loses most, and sometimes a random one. Nothing here uses the
library but to ask it for its claims.
"""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np
from lp_oracle import best_loss

import fugu
from fugu.priors.hidden import ChainQuilts
from fugu.translation import sequence as contraction_chain
from fugu.translation.influence import guarantee
from fugu.translation.sequence import Contraction

SLACK = 1e-9
"""The program's own rounding."""
_MOST_DATASETS = 300


def rows(rng, k, zeros=0.0):
    """A random kernel, sticky or not, some transitions forbidden."""
    power = float(rng.choice([0.3, 1.0, 3.0]))
    found = rng.exponential(size=(k, k)) ** (1 / power)
    found[rng.random((k, k)) < zeros] = 0.0
    for x in np.flatnonzero(found.sum(axis=1) == 0):
        found[x, rng.integers(k)] = 1.0
    if rng.random() < 0.3:
        found += np.diag(rng.exponential(3.0, k))
    return found / found.sum(axis=1, keepdims=True)


def full(rng, k, length):
    return [rows(rng, k)] * (length - 1)


def forbidden(rng, k, length):
    return [rows(rng, k, float(rng.choice([0.3, 0.6])))] * (length - 1)


def absorbing(rng, k, length):
    """States that are left for good; the last one is never left."""
    kernel = np.triu(rows(rng, k)) + 1e-3 * np.eye(k)
    return [kernel / kernel.sum(axis=1, keepdims=True)] * (length - 1)


def periodic(rng, k, length):
    """From each class to the next only."""
    classes = rng.integers(0, min(k, 3), k)
    kernel = rows(rng, k) * (classes[None, :] == (classes[:, None] + 1) % max(classes.max() + 1, 1))
    for x in np.flatnonzero(kernel.sum(axis=1) == 0):
        kernel[x, (x + 1) % k] = 1.0
    return [kernel / kernel.sum(axis=1, keepdims=True)] * (length - 1)


def reducible(rng, k, length):
    """Two parts that never meet."""
    part = rng.random(k) < 0.5
    kernel = rows(rng, k) * (part[:, None] == part[None, :]) + 1e-6 * np.eye(k)
    return [kernel / kernel.sum(axis=1, keepdims=True)] * (length - 1)


def deterministic(rng, k, length):
    """Some rows are certain."""
    kernel = rows(rng, k, 0.3)
    for x in rng.permutation(k)[: int(rng.integers(1, k + 1))]:
        kernel[x] = np.eye(k)[rng.integers(k)]
    return [kernel] * (length - 1)


def differing(rng, k, length):
    kinds = (full, forbidden, absorbing, deterministic)
    return [kinds[rng.integers(4)](rng, k, 2)[0] for _ in range(length - 1)]


def staged(rng, k, length):
    """Stages of one, two or three states each: more states than entries, and each state is taken at one time only."""
    sizes = [int(rng.integers(1, 4)) for _ in range(length + int(rng.integers(0, 2)))]
    ends = np.cumsum(sizes)
    kernel = np.zeros((ends[-1] + 1, ends[-1] + 1))
    for a, b, n in zip(ends[:-1], ends[1:], sizes, strict=False):
        kernel[a - n : a, a:b] = rng.exponential(size=(n, b - a)) * (rng.random((n, b - a)) < 0.7)
    if rng.random() < 0.5:
        kernel[rng.random(len(kernel)) < 0.2, -1] = 1.0
    kernel[kernel.sum(axis=1) == 0, -1] = 1.0
    return [kernel / kernel.sum(axis=1, keepdims=True)] * (length - 1)


KINDS = (full, forbidden, absorbing, periodic, reducible, deterministic, differing, staged)


def supports_of(kernels, start):
    found = [np.flatnonzero(start > 0)]
    for kernel in kernels:
        found.append(np.flatnonzero(kernel[found[-1]].any(axis=0)))
    return found


def joint_of(kernels, start):
    """The joint law on the product of the values that each entry can take."""
    seen = supports_of(kernels, start)
    law = start[seen[0]]
    for t, kernel in enumerate(kernels):
        law = law[..., None] * kernel[np.ix_(seen[t], seen[t + 1])]
    return law


def worst_simple(joint, epsilon):
    """(loss, node, x, y) of the best mechanism e^(-eps distance(D, D*)), over all D*, entries and pairs."""
    found = (-math.inf, 0, 0, 0)
    for node in range(joint.ndim):
        parts = np.moveaxis(joint, node, 0)
        weights = parts.reshape(len(parts), -1).sum(axis=1)
        laws = []
        for x in range(len(parts)):
            law = np.zeros_like(parts)
            law[x] = parts[x] / weights[x]
            for axis in range(law.ndim):  # E f for every D* at once
                size = law.shape[axis]
                near = np.full((size, size), math.exp(-epsilon)) + (1 - math.exp(-epsilon)) * np.eye(size)
                law = np.moveaxis(np.tensordot(near, law, axes=(1, axis)), 0, axis)
            laws.append(law)
        for x, y in product(range(len(parts)), repeat=2):
            if x != y:
                loss = float(np.log(laws[x] / laws[y]).max())
                found = max(found, (loss, node, x, y))
    return found


def case(rng):
    """A chain, its start and an epsilon; small enough for the program."""
    while True:
        kind = KINDS[rng.integers(len(KINDS))]
        k, length = int(rng.integers(2, 5)), int(rng.integers(2, 7))
        kernels = kind(rng, k, length)
        k = len(kernels[0])
        start = rng.exponential(size=k) ** float(rng.choice([0.3, 1.0, 4.0]))
        if kind is staged:
            start[3:] = 0.0
        if rng.random() < 0.5:
            start[rng.permutation(k)[: int(rng.integers(0, k))]] = 0.0
        if start.sum() == 0:
            start[0] = 1.0
        start = start / start.sum()
        joint = joint_of(kernels, start)
        if 1 < joint.size <= _MOST_DATASETS and (joint > 0).any():
            return kind.__name__, kernels, start, float(rng.choice([0.05, 0.3, 1.0, 2.5]))


def claims(kernels, start, epsilon, deep):
    """{what is claimed by: the claimed Pufferfish epsilon} for the chain; `deep` adds the rarer ways."""
    length = len(kernels) + 1
    same = all(kernel is kernels[0] for kernel in kernels)
    steps = kernels[0] if same else np.array(kernels)
    chain, any_start = fugu.MarkovChain(steps, length, start), fugu.MarkovChain(steps, length, "any")
    found = {"translate": fugu.translate(chain, epsilon), "any": fugu.translate(any_start, epsilon)}
    if deep:
        keep = contraction_chain.MOST_PAIRWISE, contraction_chain.MOST_RECURSION
        for name, prior in (("given", chain), ("any start", any_start)):
            found[f"contraction, {name}"] = Contraction(prior)(epsilon)
            curve = fugu.influence(prior)
            found[f"curve, {name}"] = min(b * epsilon + curve(b) for b in range(1, length + 1))
            found[f"quilts, {name}"] = guarantee(ChainQuilts(prior), [epsilon])
            try:  # the ways that only chains of many states take
                contraction_chain.MOST_PAIRWISE, contraction_chain.MOST_RECURSION = 1, 1
                found[f"one number, {name}"] = Contraction(prior)(epsilon)
            finally:
                contraction_chain.MOST_PAIRWISE, contraction_chain.MOST_RECURSION = keep
    return found


def attack(rng, count, deep=0.3):
    """Run `count` cases; the kinds that were run, and every case in which a claim lies below the program's optimum."""
    ran, broken = Counter(), []
    for _ in range(count):
        kind, kernels, start, epsilon = case(rng)
        joint = joint_of(kernels, start)
        exact, node, x, y = worst_simple(joint, epsilon)
        ran[kind] += 1
        if math.isinf(exact):  # no entry has two values
            continue
        if rng.random() < 0.2:
            nodes = [n for n in range(joint.ndim) if joint.shape[n] > 1]
            node = nodes[rng.integers(len(nodes))]
            x, y = rng.permutation(joint.shape[node])[:2]
        exact = max(exact, best_loss(joint, epsilon, node, int(x), int(y)))
        for name, claimed in claims(kernels, start, epsilon, rng.random() < deep).items():
            if claimed < exact - SLACK * (1 + exact):
                broken.append((name, kind, [k.tolist() for k in kernels], start.tolist(), epsilon, claimed, exact))
    return ran, broken
