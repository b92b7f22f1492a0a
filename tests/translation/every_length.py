"""A bound for every node of a stationary chain of any length, from the tables of one length."""

from __future__ import annotations

import math

import numpy as np

from fugu.translation.kernel import pairs_of, with_own_cell

MOST_STEPS = 3000


def every_length(found, epsilon):
    """inf if none is found. A true F grows with the number of further nodes, so the settled one bounds all."""
    assert found.chain.stationary
    both = found.forward, found.backward
    if all(hasattr(side, "ever") for side in both):
        tables = [side.ever(epsilon) for side in both]
        if any(table is None for table in tables):
            return math.inf
        total = np.sum(tables, axis=0)
    else:
        sides = [side.levels(epsilon, MOST_STEPS) for side in both]
        if not all(side.settled for side in sides):
            return math.inf
        total = sides[0].values[-1] + sides[1].values[-1]
    return with_own_cell(epsilon, float(np.max(total[pairs_of(found.chain.supports[0])], initial=0.0)))
