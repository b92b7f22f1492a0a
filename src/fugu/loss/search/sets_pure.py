"""The pure loss over sets of laws in doubles, and where it is attained: to search with, and to attack with."""

from __future__ import annotations

import math

import numpy as np

from fugu.laws.set_family import SetFamily
from fugu.loss.search.sets_extremes import extreme_masses
from fugu.loss.sets.forms import Floats
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.pure import prove_pure
from fugu.loss.sets.reach import at_points

_TINY = 1e-280


def pure_loss(family: SetFamily, kernel: Kernel) -> float:
    """max over pairs, orders and declared values of ln(N / D), in doubles; inf where no finite epsilon holds.

    Where masses are below the range of doubles it is worked out in balls."""
    found = [extreme_masses(one, kernel) for one in at_points(family)]
    used = {k for pair in family.pairs for k in pair}
    if kernel.decay and any(float(found[k][0].min()) < _TINY for k in used):
        return max(loss.value for loss in prove_pure(family, kernel))
    worst = 0.0
    for order in ((i, j) for pair in family.pairs for i, j in (pair, pair[::-1])):
        largest = float(np.max(_ratios(found, order)))
        loss = math.inf if math.isnan(largest) else math.log(largest) if largest > 0 else 0.0
        worst = max(worst, loss)
    return worst


def worst_laws(family: SetFamily, kernel: Kernel) -> tuple[Floats, Floats]:
    """The laws of the first pair that attain N and D at the declared value where N / D is largest, in either order."""
    pair, found = family.pairs[0], [extreme_masses(one, kernel) for one in at_points(family)]
    ratios = [(np.nan_to_num(_ratios(found, order), nan=0.0), order) for order in (pair, pair[::-1])]
    ratio, (i, j) = max(ratios, key=lambda each: float(np.max(each[0])))
    column = kernel.floats(np.abs(family.points - family.points[int(np.argmax(ratio))]))
    most, least = _law(family.sets[i].extreme(column)), _law(family.sets[j].extreme(-column))
    return (most, least) if (i, j) == pair else (least, most)


def _ratios(found: list[tuple[Floats, Floats]], order: tuple[int, int]) -> Floats:
    """N / D at every declared value; 1 where neither law is ever."""
    most, least = found[order[0]][0], np.maximum(found[order[1]][1], 0.0)
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        ratio: Floats = most / least
    ratio[(most == 0) & (least == 0)] = 1.0
    return ratio


def _law(weights: Floats) -> Floats:
    """Rounding taken out: no weight below 0, and 1 in all."""
    held = np.maximum(weights, 0.0)
    law: Floats = held / held.sum()
    return law
