"""Transport: the monotone plan on a million atoms against np.sort, and matching in the plane up to 10,000 atoms."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np

import fugu
from benchmarks.inputs import pair as line_pair
from benchmarks.inputs import prepared, shuffled
from benchmarks.measure import Row, Size, race
from fugu.transport import optimal_plan, plan_log_cost
from fugu.transport.coupling import monotone
from fugu.transport.matching import bottleneck, in_space

_ATOMS = 10**6
_LIMIT = 30.0
_PLANE = (500, 2000, 10_000)
_UNIT = 10**6


def line(size: Size) -> Iterator[Row]:
    """The optimal plan between two laws on a line and its log cost for Gaussian noise, in units of np.sort."""
    for kind in ("lattice", "real"):
        family, gap = prepared(line_pair(size.of(_ATOMS), kind))
        p, q = family.laws
        loose = shuffled(family.points.astype(np.float64))

        def whole(points=family.points, p=p, q=q, width=10 * gap) -> float:
            plan = monotone(points, p, q)
            return plan_log_cost(plan, (plan.distances / width) ** 2)

        took = race(3, sort=lambda loose=loose: np.sort(loose), whole=whole)
        yield Row("transport", f"plan and its cost, {kind} atoms", took["whole"] / took["sort"], "x sort", _LIMIT)


def _cloud(n: int, seed: int) -> fugu.Discrete:
    rng = np.random.default_rng(seed)
    return fugu.Discrete(rng.integers(0, 10**6, (n, 2)) / 10**6, rng.integers(1, 10, n))


def plane(size: Size) -> Iterator[Row]:
    """W_inf and closeness of two clouds of n atoms with counts, in units of sorting a million doubles; its growth."""
    random = np.random.default_rng(1).random(_UNIT)
    found = {}
    for n in [size.of(n) for n in _PLANE]:
        space = in_space(_cloud(n, 2), _cloud(n, 3), 2)
        took = race(
            1 if n > 2000 else 2,
            sort=lambda: np.sort(random),
            whole=lambda space=space: bottleneck(space, Fraction(0)),
            part=lambda space=space: bottleneck(space, Fraction(1, 100)),
        )
        found[n] = took["whole"] / took["sort"]
        yield Row("transport", f"W_inf in the plane, {n:,} x {n:,}", found[n], "x sort of 1e6")
        yield Row("transport", f"closeness at 0.01, {n:,} x {n:,}", took["part"] / took["sort"], "x sort of 1e6")
    low, high = sorted(found)[-2:]
    growth = math.log(found[high] / found[low]) / math.log(high / low)
    yield Row("transport", f"W_inf, exponent of n from {low:,} on", growth, "", 2.0)


def plans(size: Size) -> Iterator[Row]:
    """The least-cost plan between two clouds with counts."""
    random = np.random.default_rng(1).random(_UNIT)
    for n in [size.of(n) for n in (500, 1000)]:
        p, q = _cloud(n, 2), _cloud(n, 3)
        cost = 20 * ((p.values[:, None] - q.values) ** 2).sum(axis=-1)
        took = race(1, sort=lambda: np.sort(random), plan=lambda p=p, q=q, c=cost: optimal_plan(c, p.masses, q.masses))
        yield Row("transport", f"least-cost plan, {n:,} x {n:,}", took["plan"] / took["sort"], "x sort of 1e6")
