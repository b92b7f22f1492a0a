"""Random chains between limits, from the definition: rows drawn inside a box or at its corners, step by step."""

from __future__ import annotations

import numpy as np


def random_box(rng, k):
    """Limits of a law on k values: around a law, with widths from nothing to everything, and zeros."""
    centre = rng.dirichlet(np.full(k, rng.choice([0.5, 1.0, 4.0])))
    if rng.random() < 0.15:
        centre = np.eye(k)[rng.integers(k)]
    width = rng.choice([0.0, 1e-6, 0.02, 0.1, 0.3, 1.0])
    lower = np.clip(centre - width * rng.random(k), 0, 1)
    upper = np.clip(centre + width * rng.random(k), 0, 1)
    if rng.random() < 0.2:
        lower[rng.integers(k)] = 0.0
    return lower, upper


def random_rows(rng, k):
    """Limits of k rows."""
    rows = [random_box(rng, k) for _ in range(k)]
    return np.array([low for low, _ in rows]), np.array([high for _, high in rows])


def member(rng, lower, upper):
    """A law between the limits: a corner, filled in random order, or a mean of two of them."""
    found = _corner(rng, lower, upper)
    if rng.random() < 0.3:
        share = rng.random()
        found = share * found + (1 - share) * _corner(rng, lower, upper)
    return np.clip(found, lower, upper)


def _corner(rng, lower, upper):
    found, left = lower.copy(), max(0.0, 1 - lower.sum())
    for y in rng.permutation(len(lower)):
        more = min(left, upper[y] - lower[y])
        found[y] += more
        left -= more
    return found


def kernels(rng, lower, upper, steps):
    """The steps of one chain between the limits: they differ, or are all the same."""
    draw = lambda: np.array([member(rng, low, high) for low, high in zip(lower, upper, strict=True)])  # noqa: E731
    one = draw()
    return [one] * steps if rng.random() < 0.3 else [draw() for _ in range(steps)]
