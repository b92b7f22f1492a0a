"""Sets of laws at random, and what two of their laws lose, from the definitions: linear programs and plain sums."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from scipy.optimize import linprog
from scipy.special import logsumexp

from fugu import Ball, Band, Box, Discrete, Hull, Intersection, LawPair
from fugu.laws.shapes import shapes
from fugu.noise.lattice import Lattice

KINDS = ["box", "band", "tv", "hull", "both", "kl"]


def drawn(kind, rng, values):
    """A random set on the values: limits that touch, laws without mass at some values, every law at all."""
    k = len(values)
    counts = rng.multinomial(int(rng.choice([4, 64, 1024])), rng.dirichlet(np.full(k, rng.choice([0.3, 1.0, 5.0]))))
    # dyadic laws: they lie in their sets without any rounding
    law, reach = counts / counts.sum(), rng.choice([0.0, 0.02, 0.3])
    sums = np.cumsum(law)
    limits = [np.clip(middle + side * reach * rng.random(k), 0, 1) for middle in (law, sums) for side in (-1, 1)]
    limits[2][-1] = limits[3][-1] = 1
    if rng.random() < 0.3:  # decimals, which are no doubles
        limits = [np.floor(x * 20) / 20 if n % 2 == 0 else np.ceil(x * 20) / 20 for n, x in enumerate(limits)]
    centre = Discrete(values, counts)
    box, band = Box(values, *limits[:2]), Band(values, *limits[2:])
    return {
        "box": box,
        "band": band,
        "both": Intersection([box, band]),
        "tv": Ball(centre, float(rng.choice([0.0, 0.05, 0.4, 1.0]))),
        "kl": Ball(centre, float(rng.choice([1e-3, 0.1, 2.0])), "kl"),
        "hull": Hull([centre, *(Discrete(values, rng.integers(0, 9, k) + 1) for _ in range(2))]),
    }[kind]


def values_of(rng, most=8, wide=14):
    """A few different whole numbers."""
    return np.sort(rng.choice(wide, int(rng.integers(1, most)), replace=False)).astype(float)


def program(found, v):
    """max over the set of sum p v, by a linear program from its definition."""
    size = np.abs(v).max() or 1.0
    return float(size * _program(found, v / size))  # tolerances are absolute


def _program(found, v):
    k, sums = len(v), np.tril(np.ones((len(v), len(v))))
    if isinstance(found, Hull):
        return max(float(law.weights @ v) for law in found.laws)
    low, high, rows, limits = np.zeros(k), np.ones(k), [], []
    for part in found.sets if isinstance(found, Intersection) else (found,):
        if isinstance(part, Box):
            low, high = np.maximum(low, part.lower), np.minimum(high, part.upper)
        elif isinstance(part, Band):
            rows, limits = [*rows, sums, -sums], [*limits, part.upper, -part.lower]
        else:  # total variation: p = centre - away + to, away <= centre, both of mass at most the radius
            centre = part.centre().weights
            moved = linprog(
                np.concatenate([v, -v]),
                A_ub=[np.concatenate([np.ones(k), np.zeros(k)])],
                b_ub=[part.radius],
                A_eq=[np.concatenate([np.ones(k), -np.ones(k)])],
                b_eq=[0.0],
                bounds=[*((0, c) for c in centre), *((0, 1) for _ in range(k))],
            )
            return float(centre @ v - moved.fun)
    solved = linprog(
        -v,
        A_ub=np.vstack(rows) if rows else None,
        b_ub=np.concatenate(limits) if limits else None,
        A_eq=np.ones((1, k)),
        b_eq=[1.0],
        bounds=list(zip(low, high, strict=True)),
    )
    return float(-solved.fun)


def members(found, rng, count):
    """Laws of a set: mixtures of some that are extreme in random directions, and these themselves."""
    corners = np.array([found.extreme(rng.standard_normal(found.size)) for _ in range(3)])
    mixed = rng.dirichlet(np.full(3, 0.7), count) @ corners
    return np.maximum(np.vstack([corners, mixed]), 0.0)


def family(*pairs):
    """Pairs of sets on whole numbers, as the losses see them."""
    (found,) = shapes([LawPair(*pair) for pair in pairs])
    return found.on(Lattice(Fraction(1)))


def noised(points, laws, scale, gaussian=False, wide=None):
    """ln of the masses of every law with lattice noise, at all outputs that matter."""
    wide = wide or int(40 * scale) + 2
    outputs = np.arange(int(points[0]) - wide, int(points[-1]) + wide + 1)

    def kernel(apart):
        return -0.5 * (apart / scale) ** 2 if gaussian else -np.abs(apart) / scale

    norm = logsumexp(kernel(np.arange(-40 * wide, 40 * wide + 1)))
    with np.errstate(divide="ignore"):
        logs = np.log(np.atleast_2d(laws))
    return np.array([logsumexp(kernel(outputs[:, None] - points[None, :]) + law, axis=1) for law in logs]) - norm


def delta_of(p, q, epsilon):
    return float(np.maximum(np.exp(p) - np.exp(epsilon + q), 0).sum())


def renyi_of(p, q, alpha):
    return float(logsumexp(alpha * p + (1 - alpha) * q)) / (alpha - 1)
