"""Losses that are sums over outputs, delta and Rényi divergences, over sets of laws: bounds, not exact."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.laws.set_family import SetFamily
from fugu.loss.leakage import PairLoss
from fugu.loss.search import sets_bounds
from fugu.loss.sets.bounds import dual, envelope
from fugu.loss.sets.extremes import PRECISION
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.measure import Measure
from fugu.loss.sets.outputs import Bounded, bounded, outputs
from fugu.loss.sets.tails import outside, reach
from fugu.numbers import balls
from fugu.progress import report


def prove_loss(family: SetFamily, kernel: Kernel, measure: Measure, enough: Fraction) -> list[PairLoss]:
    """For each pair a proved bound, both orders; the dual where a search says, if the envelope is not `enough`."""
    where = outputs(family, kernel, reach(family, kernel, measure))
    found, guessed = bounded(family, where), sets_bounds.noised(family, where)
    losses = []
    for done, ((i, j), label) in enumerate(family.different):
        worst = max(_proved(family, found, guessed, order, measure, enough) for order in ((i, j), (j, i)))
        losses.append(PairLoss(label, worst, (i, j)))
        report("proving bounds over sets of laws", done + 1, family.differing)
    return losses


def _proved(
    family: SetFamily,
    found: Bounded,
    guessed: sets_bounds.Noised,
    order: tuple[int, int],
    measure: Measure,
    enough: Fraction,
) -> float:
    with balls.precision(PRECISION):
        more = outside(family.sets[order[1]], found.where, measure)
        first = measure.proved_loss(envelope(family.sets[order[0]], found, order, measure) + more)
        if first <= enough:
            return first
        value, at = sets_bounds.dual(guessed, order, measure)
        if math.isinf(value):
            return first
        return min(first, measure.proved_loss(dual(found, order, measure, at) + more))
