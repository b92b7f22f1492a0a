"""Laws to measure on: random counts on a decimal lattice or on random doubles, on one support or on two."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fugu import Approx, Laplace, Pure
from fugu.calibration.lattice import problem
from fugu.laws import Discrete, Family, LawPair, families
from fugu.laws.shapes import shapes
from fugu.loss.leakage import in_units

GAP = 0.5
"""The mean distance between neighbouring atoms, on both kinds of support."""


def atoms(n: int, kind: str, seed: int = 1) -> NDArray[np.float64]:
    """`n` distinct sorted values with mean gap 0.5: tenths ("lattice"), or doubles that are no short decimals
    ("real")."""
    rng = np.random.default_rng(seed)
    if kind == "lattice":
        return np.cumsum(rng.integers(1, 10, n)) / 10.0
    return np.cumsum(rng.random(n) + 1e-9) * (2 * GAP)


def shuffled(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The same array in random order: what a plain sort would start from."""
    return np.random.default_rng(2).permutation(values)


def laws(n: int, kind: str, secrets: int = 2, disjoint: bool = False) -> list[Discrete]:
    """Laws with random counts on `n` atoms in all: each law on all of them, or each on its own share."""
    values = atoms(n, kind)
    counts = np.random.default_rng(3).integers(1, 1000, (secrets, n))
    if disjoint:
        return [Discrete(values[s::secrets], counts[s, s::secrets]) for s in range(secrets)]
    return [Discrete(values, row) for row in counts]


def pair(n: int, kind: str, disjoint: bool = False) -> LawPair:
    """Two such laws that must look alike."""
    p, q = laws(n, kind, disjoint=disjoint)
    return LawPair(p, q, "a | b")


def all_pairs(n: int, kind: str, secrets: int) -> list[LawPair]:
    """Every pair among the laws of several secrets."""
    numbered = enumerate(laws(n, kind, secrets))
    return [LawPair(p, q, f"{i} | {j}") for (i, p), (j, q) in combinations(numbered, 2)]


def prepared(given: LawPair) -> tuple[Family, float]:
    """The family a loss is computed on, its lazy parts ready, and the scale of one mean gap in its unit."""
    (family,) = families([given])
    whole, unit = in_units(family)
    _ = whole.weights, whole.different
    return whole, GAP / float(unit)


def rounded(given: LawPair, budget: Pure | Approx) -> Family:
    """The family on lattice indices that a calibration works on, its lazy parts ready."""
    (family,) = problem(shapes((given,)), budget.asks(), Laplace).items
    assert isinstance(family, Family)
    _ = family.weights, family.different
    return family
