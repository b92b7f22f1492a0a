"""Losses that are sums over outputs, delta and Rényi divergences, over sets of laws: bounds, not exact."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.laws.set_family import SetFamily
from fugu.loss.leakage import PairLoss
from fugu.loss.sets.bounds import dual, envelope, proved_dual, proved_envelope
from fugu.loss.sets.extremes import PRECISION
from fugu.loss.sets.kernels import Kernel
from fugu.loss.sets.measure import Measure
from fugu.loss.sets.outputs import Bounded, Noised, bounded, noised, outputs
from fugu.loss.sets.tails import outside, reach
from fugu.numbers import balls
from fugu.progress import report


def fast_loss(family: SetFamily, kernel: Kernel, measure: Measure, enough: float) -> float:
    """The largest bound over pairs and orders, in doubles; the dual is solved only where the envelope is not `enough`."""
    found = noised(family, outputs(family, kernel, reach(family, kernel, measure)))
    worst = 0.0
    for order in _orders(family):
        first = measure.loss(envelope(family.sets[order[0]], found, order, measure))
        loss = first if first <= enough else min(first, measure.loss(dual(found, order, measure)[0]))
        worst = max(worst, math.inf if math.isnan(loss) else loss)
    return worst


def prove_loss(family: SetFamily, kernel: Kernel, measure: Measure, enough: Fraction) -> list[PairLoss]:
    """For each pair a proved bound, both orders; the dual only where the envelope is not `enough`."""
    where = outputs(family, kernel, reach(family, kernel, measure))
    found, known = bounded(family, where), noised(family, where)
    losses = []
    for done, ((i, j), label) in enumerate(family.different):
        worst = max(_proved(family, found, known, order, measure, enough) for order in ((i, j), (j, i)))
        losses.append(PairLoss(label, worst, (i, j)))
        report("proving bounds over sets of laws", done + 1, family.differing)
    return losses


def _proved(
    family: SetFamily, found: Bounded, known: Noised, order: tuple[int, int], measure: Measure, enough: Fraction
) -> float:
    with balls.precision(PRECISION):
        more = outside(family.sets[order[1]], found.where, measure)
        first = measure.proved_loss(proved_envelope(family.sets[order[0]], found, order, measure) + more)
        if first <= enough:
            return first
        value, at = dual(known, order, measure)
        if math.isinf(value):
            return first
        return min(first, measure.proved_loss(proved_dual(found, order, measure, at) + more))


def _orders(family: SetFamily) -> list[tuple[int, int]]:
    return [order for i, j in family.pairs for order in ((i, j), (j, i))]
