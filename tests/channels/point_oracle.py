"""The least loss of a channel for point laws, from its definition, by another solver's front end; and cases to try."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
from scipy.optimize import linprog

from fugu.channels.problem import ChannelProblem
from fugu.laws.masses import Masses

CASES = json.loads((Path(__file__).parent / "point_channels.json").read_text())
"""Printed optima of the notes on channels; `lower` and `upper` are proved in rationals there."""
EPSILONS = ("0", ".01", ".1", ".5", "1", "2", "5", "12")


def counted(counts):
    """A law from counts."""
    return Masses(np.array(counts, dtype=np.int64), Fraction(int(sum(counts))))


def on_line(points, counts, epsilon, weight="mean", loss="absolute", pairs=None, **more):
    """A problem whose outputs are its points."""
    x = np.array(points, dtype=np.float64)
    laws = tuple(counted(row) for row in counts)
    far = np.abs(x[:, None] - x)
    table = {"absolute": far, "zero-one": (far > 0).astype(np.float64), "squared": far**2}[loss]
    mean = np.mean([law.floats() for law in laws], axis=0)
    pairs = every_pair(len(laws)) if pairs is None else tuple(tuple(pair) for pair in pairs)
    weight = {"mean": mean / mean.sum(), "minimax": None}[weight]
    return ChannelProblem(laws, pairs, Fraction(epsilon), table, weight, points=x, outputs=x, **more)


def every_pair(count):
    """All pairs of so many laws."""
    return tuple((s, t) for s in range(count) for t in range(s + 1, count))


def printed(case):
    """The problem of a case of the notes."""
    delta = Fraction(case["delta"])
    return on_line(
        case["points"], case["counts"], case["epsilon"], case["weight"], case["loss"], case.get("pairs"), delta=delta
    )


def draw(rng):
    """A small problem of any kind: zero counts, point masses, equal laws, huge ratios, any pairs, any loss."""
    n, secrets = int(rng.integers(1, 8)), int(rng.choice([2, 2, 2, 3, 4, 5]))
    rows = []
    for _ in range(secrets):
        row = [
            lambda: rng.integers(0, 30, n),
            lambda: rng.integers(0, 3, n),
            lambda: np.bincount([rng.integers(n)], minlength=n),
            lambda: rng.integers(1, 5, n) * 10 ** rng.integers(0, 6, n),
            lambda: rows[-1].copy() if rows else rng.integers(0, 10, n),
        ][rng.integers(5)]()
        row[rng.integers(n)] += not row.any()
        rows.append(row)
    pairs = every_pair(secrets)
    if rng.random() < 0.4:
        pairs = tuple(pairs[k] for k in sorted(rng.choice(len(pairs), int(rng.integers(1, len(pairs) + 1)), False)))
    x = np.sort(rng.choice(60, n, replace=False)).astype(np.float64)
    y = x if rng.random() < 0.6 else np.sort(rng.choice(60, int(rng.integers(1, 8)), False)).astype(np.float64)
    far = np.abs(x[:, None] - y)
    loss = [far, far, far**2, (far > 0).astype(np.float64), rng.integers(0, 9, far.shape).astype(np.float64)]
    laws = tuple(counted(row) for row in rows)
    mean = np.mean([law.floats() for law in laws], axis=0)
    weight = [None, mean / mean.sum(), mean / mean.sum(), rng.dirichlet(np.full(n, 0.5))][rng.integers(4)]
    return ChannelProblem(
        laws,
        pairs,
        Fraction(str(rng.choice(EPSILONS))) if rng.random() < 0.8 else Fraction(int(rng.integers(1, 300)), 100),
        loss[rng.integers(5)],
        weight,
        delta=Fraction(int(rng.integers(1, 200)), 1000) if rng.random() < 0.35 else Fraction(0),
        points=x,
        outputs=y,
        monotone=bool(rng.random() < 0.1),
    )


def least_loss(problem):
    """The optimum over all cells, every pair and output with a row of its own; None if the solver gives up."""
    n, m = problem.loss.shape
    law = np.array([one.floats() for one in problem.laws])
    ordered, ratio = problem.ordered(), math.exp(float(problem.epsilon))
    over = len(ordered) * m if problem.delta else 0
    size = n * m + over + 1
    cost, above, limits = np.zeros(size), [], []

    def row(cells, limit, extra=()):
        whole = np.zeros(size)
        whole[: n * m] = np.ravel(cells)
        for place, value in extra:
            whole[place] = value
        above.append(whole)
        limits.append(limit)

    for c, (s, t) in enumerate(ordered):
        for y in range(m):
            cells = np.zeros((n, m))
            cells[:, y] = law[s] - ratio * law[t]
            row(cells, 0.0, [(n * m + c * m + y, -1.0)] if over else ())
        if over:
            row(np.zeros((n, m)), float(problem.delta), [(n * m + c * m + y, 1.0) for y in range(m)])
    if problem.weight is None:
        cost[-1] = 1.0
        for p in law:
            row(p[:, None] * problem.loss, 0.0, [(size - 1, -1.0)])
    else:
        cost[: n * m] = np.ravel(problem.weight[:, None] * problem.loss)
    if problem.monotone:
        for x in range(n - 1):
            for y in range(m - 1):
                cells = np.zeros((n, m))
                cells[x, : y + 1], cells[x + 1, : y + 1] = -1.0, 1.0
                row(cells, 0.0)
    sums = np.kron(np.eye(n), np.ones(m))
    sums = np.hstack([sums, np.zeros((n, size - n * m))])
    fine = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(cost, np.array(above), np.array(limits), sums, np.ones(n), (0, None), options=fine)
    return float(found.fun) if found.status == 0 else None


def excess(problem, matrix):
    """By how much a channel breaks a promise: the largest over pairs of sum_y [p.k - e^epsilon q.k]_+ - delta."""
    law = np.array([one.floats() for one in problem.laws])
    ratio = math.exp(float(problem.epsilon))
    return max(
        np.clip(law[s] @ matrix - ratio * (law[t] @ matrix), 0, None).sum() - float(problem.delta)
        for s, t in problem.ordered()
    )


def expected(problem, matrix):
    """The expected loss of a channel, or the largest under any of the laws."""
    rows = (matrix * problem.loss).sum(axis=1)
    if problem.weight is not None:
        return float(problem.weight @ rows)
    return max(float(law.floats() @ rows) for law in problem.laws)
