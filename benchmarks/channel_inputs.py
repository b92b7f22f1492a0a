"""Problems to find channels for: laws far apart, laws that differ here and there, several secrets."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from fugu.channels.problem import ChannelProblem
from fugu.laws.masses import Masses


def shifted(n: int, secrets: int = 2, seed: int = 0) -> ChannelProblem:
    """Counts of normal laws whose means lie between .4 n and .6 n: nearly every point tells, and moves far."""
    rng, x = np.random.default_rng(seed), np.arange(n)
    width = 0.15 * n if secrets == 2 else 0.2 * n
    laws = [np.exp(-0.5 * ((x - mean * n) / width) ** 2) for mean in np.linspace(0.4, 0.6, secrets)]
    return _problem(np.array([rng.multinomial(20 * n, law / law.sum()) for law in laws]))


def local(n: int, seed: int = 0) -> ChannelProblem:
    """Telling points here and there among n, as in real columns with many values."""
    rng = np.random.default_rng(seed)
    unlike = np.where(rng.random((2, n)) < 0.2, rng.choice([0.2, 1.0, 3.0], (2, n)), 1.0)
    return _problem(rng.poisson(10 * rng.gamma(2, 1, n) * unlike))


def _problem(counts: np.ndarray) -> ChannelProblem:
    x = np.flatnonzero(counts.any(axis=0)).astype(np.float64)
    counts = counts[:, counts.any(axis=0)]
    laws = tuple(Masses(row.astype(np.int64), Fraction(int(row.sum()))) for row in counts)
    pairs = tuple((s, t) for s in range(len(laws)) for t in range(s + 1, len(laws)))
    weight = np.mean([law.floats() for law in laws], axis=0)
    return ChannelProblem(laws, pairs, Fraction(1, 2), np.abs(x[:, None] - x), weight, points=x, outputs=x)
