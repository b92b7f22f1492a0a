"""Random small problems of channels: every kind of set, degenerate ones too."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fugu.channels.problem import ChannelProblem
from fugu.laws.discrete import Discrete
from fugu.laws.masses import masses
from fugu.laws.sets import Ball, Band, Box, Hull, Intersection

KINDS = ("box", "band", "both", "tv", "hull", "law")


def draw_set(rng, n, kinds=KINDS):
    """A law or a set of laws on 0..n-1; widths from 0 (a point) to everything."""
    x = np.arange(n)
    counts = rng.multinomial(int(rng.choice([4, 16, 64])), rng.dirichlet(np.full(n, rng.choice([0.3, 1, 3]))))
    p, kind = counts / counts.sum(), rng.choice(list(kinds))
    wide = float(rng.choice([0, 0.02, 0.1, 0.3, 1], p=[0.1, 0.3, 0.3, 0.25, 0.05]))
    box = Box(x, np.clip(p - wide * rng.random(n), 0, 1), np.clip(p + wide * rng.random(n), 0, 1))
    upper = np.clip(np.cumsum(p) + wide * rng.random(n), 0, 1)
    upper[-1] = 1.0
    band = Band(x, np.clip(np.cumsum(p) - wide * rng.random(n), 0, 1), upper)
    if kind == "hull":
        return Hull([Discrete(x, rng.multinomial(30, rng.dirichlet(np.ones(n)))) for _ in range(3)], x)
    centre = Discrete(x, counts)
    made = {"box": box, "band": band, "both": Intersection([box, band]), "tv": Ball(centre, wide)}
    return made[kind] if kind != "law" else masses(counts, n)


def draw_problem(rng, kinds=KINDS, *, delta=False, secrets=None, extras=True):
    """A problem with up to four points and three laws, with a cap, an order and the worst case at times."""
    n, size = int(rng.integers(1, 5)), secrets or int(rng.integers(2, 4))
    laws = tuple(draw_set(rng, n, kinds) for _ in range(size))
    pairs = tuple((s, t) for s in range(size) for t in range(s + 1, size))
    if size == 3 and rng.random() < 0.4:
        pairs = ((0, 1), (1, 2))
    points = np.arange(n) * 1.0
    outputs = points if rng.random() < 0.7 else np.unique(rng.random(int(rng.integers(1, 5)))) * n
    loss = np.abs(points[:, None] - outputs) if rng.random() < 0.7 else rng.random((n, outputs.size))
    weight = rng.dirichlet(np.ones(n)) if not extras or rng.random() < 0.75 else None
    return ChannelProblem(
        laws,
        pairs,
        Fraction(str(rng.choice([0.05, 0.3, 1, 2.5, 8]))),
        loss,
        weight,
        delta=Fraction(str(rng.choice([0.001, 0.05, 0.3]))) if delta else Fraction(0),
        cap=Fraction(str(rng.choice([0.2, 1, 3, 6]))) if extras and rng.random() < 0.3 else None,
        monotone=bool(extras and rng.random() < 0.25),
        points=points,
        outputs=outputs,
    )
