"""Channels from the definition: corners of tiny sets of laws by enumeration, then one linear program of scipy."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from scipy.optimize import linprog

from fugu.laws.masses import Masses
from fugu.laws.sets import Ball, Band, Box, Hull


def corners(law):
    """All corners of a law or of a set of laws with at most about five points, in doubles."""
    if isinstance(law, Masses):
        return law.floats()[None, :]
    if isinstance(law, Hull):
        return np.array([each.weights for each in law.laws])
    if isinstance(law, Ball) and law.distance == "kl":
        return _edge(law)
    rows, limits = _faces(law)
    n, found = rows.shape[1], []
    for chosen in combinations(range(len(rows)), n - 1):
        system = np.vstack([np.ones(n), rows[list(chosen)]])
        if abs(np.linalg.det(system)) < 1e-9:
            continue
        corner = np.linalg.solve(system, np.concatenate(([1.0], limits[list(chosen)])))
        if np.all(rows @ corner <= limits + 1e-11):
            found.append(corner)
    return np.unique(np.round(np.array(found), 14), axis=0)


def _edge(ball, count=48):
    """Laws on the edge of a Kullback-Leibler ball of at most three points, in every direction from its centre."""
    n, centre = ball.values.size, ball.weights
    if n == 1:
        return np.ones((1, 1))
    angles = np.array([0.0, np.pi]) if n == 2 else np.linspace(0, 2 * np.pi, count, endpoint=False)
    across = np.linalg.svd(np.ones((1, n)))[2][1:]
    rays = np.stack([np.cos(angles), np.sin(angles)], axis=1)[:, : n - 1] @ across
    near, far = np.zeros(len(rays)), np.full(len(rays), 2.0)
    for _ in range(60):
        middle = (near + far) / 2
        laws = centre + middle[:, None] * rays
        with np.errstate(divide="ignore", invalid="ignore"):
            inside = (laws >= 0).all(axis=1)
            gone = np.where(centre > 0, centre * np.log(centre / laws), 0.0).sum(axis=1)
        inside &= gone <= ball.radius
        near, far = np.where(inside, middle, near), np.where(inside, far, middle)
    return centre + near[:, None] * rays


def _faces(law):
    """rows.p <= limits."""
    n = law.values.size
    rows, limits = [*-np.eye(n)], [0.0] * n
    for part in getattr(law, "sets", (law,)):
        if isinstance(part, Box):
            rows += [*np.eye(n), *-np.eye(n)]
            limits += [*part.upper, *-part.lower]
        elif isinstance(part, Band):
            below = np.tril(np.ones((n, n)))[:-1]
            rows += [*below, *-below]
            limits += [*part.upper[:-1], *-part.lower[:-1]]
        elif isinstance(part, Ball) and part.distance == "tv":
            for size in range(1, n):
                for chosen in combinations(range(n), size):
                    row = np.isin(np.arange(n), chosen).astype(float)
                    rows.append(row)
                    limits.append(float(row @ part.weights) + part.radius)
        else:
            raise NotImplementedError(type(part))
    return np.array(rows), np.array(limits)


def least_loss(problem, itself=False):
    """The least loss of any channel: every pair of corners is a constraint. With `itself` the dearer rule that a law
    is held against itself too (one t_y for all laws)."""
    n, m, ratio = problem.n, problem.m, np.exp(float(problem.epsilon))
    ends, ordered = [corners(law) for law in problem.laws], problem.ordered()
    if itself:
        ordered = ordered + [(s, s) for s in range(len(ends))]
    pairs = [(p, q) for s, t in ordered for p in ends[s] for q in ends[t]]
    delta = float(problem.delta)
    slack = n * m
    floor = slack + (len(pairs) * m if delta else 0)
    top = floor + m
    size = top + 1
    upper, right = [], []

    def limit(cells, more, bound):
        row = np.zeros(size)
        for matrix_column, values in cells:
            row[np.arange(n) * m + matrix_column] += values
        for place, value in more:
            row[place] += value
        upper.append(row)
        right.append(bound)

    for c, (p, q) in enumerate(pairs):
        for y in range(m):
            limit([(y, p / ratio - q)], [(slack + c * m + y, -1 / ratio)] if delta else [], 0.0)
        if delta:
            limit([], [(slack + c * m + y, 1.0) for y in range(m)], delta)
    if problem.cap is not None:
        height = np.exp(float(problem.cap))
        for x in range(n):
            for y in range(m):
                limit([], [(x * m + y, 1.0), (floor + y, -height)], 0.0)
                limit([], [(x * m + y, -1.0), (floor + y, 1.0)], 0.0)
    if problem.monotone:
        for x in range(n - 1):
            for j in range(m - 1):
                limit(
                    [], [((x + 1) * m + y, 1.0) for y in range(j + 1)] + [(x * m + y, -1.0) for y in range(j + 1)], 0.0
                )
    cost = np.zeros(size)
    if problem.weight is None:
        cost[top] = 1.0
        for end in ends:
            for p in end:
                row = np.zeros(size)
                row[: n * m] = (p[:, None] * problem.loss).ravel()
                row[top] = -1.0
                upper.append(row)
                right.append(0.0)
    else:
        cost[: n * m] = (problem.weight[:, None] * problem.loss).ravel()
    whole = np.zeros((n, size))
    for x in range(n):
        whole[x, x * m : (x + 1) * m] = 1.0
    found = linprog(
        cost,
        A_ub=np.array(upper) if upper else None,
        b_ub=right or None,
        A_eq=whole,
        b_eq=np.ones(n),
        bounds=(0, None),
        method="highs",
    )
    assert found.status == 0, found.message
    return float(found.fun)
