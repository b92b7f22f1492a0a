"""Certificates that embed laws with atoms and noise in every coordinate: one number or vectors."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from fugu_verify.noised import Work
from fugu_verify.normals import Smooth
from fugu_verify.orders import OrderLoss, order_losses, trimmed_losses
from fugu_verify.ratios import Loss, ratio_losses
from fugu_verify.reading import Drawn, Family
from fugu_verify.result import Asked, NotSummed, Number, Outcome, Second
from fugu_verify.smooth import smooth_order_losses, smooth_ratio_losses

_HIGHEST = 4_000
"""Epsilons beyond this would carry thousands of bits for nothing that anybody asks for."""


Item = Family | Smooth


def prove_laws(items: list[Item], noise: Drawn, asked: Asked) -> Second:
    """Every pair of every family, in both orders."""
    if asked.epsilon > _HIGHEST:
        raise NotSummed(f"its epsilon is above {_HIGHEST}")
    work = Work()
    pairs = sum(2 * len(item.pairs) if isinstance(item, Family) else 2 for item in items)
    if asked.orders:
        found = _orders(items, noise, asked, work)
    else:
        found = decide_ratio([loss for item in items for loss in _ratios(item, noise, asked, work)])
    return replace(found, pairs=pairs, terms=work.terms, asked=asked)


def _ratios(item: Item, noise: Drawn, asked: Asked, work: Work) -> list[Loss]:
    if isinstance(item, Family):
        return ratio_losses(item, noise, asked, work)
    return smooth_ratio_losses(item, noise, asked, work)


def decide_ratio(losses: list[Loss]) -> Second:
    """The largest bounds of all ordered pairs, and whether each is within the budget."""
    worst = max(losses, key=lambda loss: (loss.delta[1], loss.epsilon[1]))
    epsilon = max(loss.epsilon[0] for loss in losses), max(loss.epsilon[1] for loss in losses)
    delta = max(loss.delta[0] for loss in losses), max(loss.delta[1] for loss in losses)
    outcome = together([loss.within for loss in losses])
    return Second(outcome, WHY[outcome], epsilon, delta, worst.label)


def together(within: list[bool | None]) -> Outcome:
    """Fails if one surely fails, holds if all surely hold."""
    if any(x is False for x in within):
        return "fails"
    return "holds" if all(within) else "not checked"


def plainly(losses: list[OrderLoss], asked: Asked) -> list[bool | None]:
    """Whether each is within; where a delta is allowed, a divergence that is above is no refutation."""
    return [loss.within or (None if asked.delta else loss.within) for loss in losses]


WHY: dict[Outcome, str] = {
    "holds": "every pair, in both orders, is within the budget, summed from the definition",
    "fails": "a pair is above the budget, summed from the definition",
    "not checked": "not checked, because the bounds of this proof do not decide; the first proof may",
}


def _orders(items: list[Item], noise: Drawn, asked: Asked, work: Work) -> Second:
    """All orders of all pairs; where one is above its epsilon and a delta is allowed, given likely events."""
    listed: list[OrderLoss] = []
    left_out: Fraction = Fraction(0)
    within: list[bool | None] = []
    for item in items:
        if isinstance(item, Smooth):
            own = smooth_order_losses(item, noise, asked, work)
            within += plainly(own, asked)
            listed += own
            continue
        summed, losses = order_losses(item, noise, asked, work)
        for index, own in enumerate(losses):
            decided = together([loss.within for loss in own])
            if decided == "holds" or not asked.delta:
                within += [loss.within for loss in own]
                listed += own
                continue
            given = trimmed_losses(summed, index, asked, work)
            proved = bool(given) and all(loss.within for loss in given)
            left_out = asked.delta
            within.append(True if proved else None)
            listed += given if proved else []
    return decide_orders(listed, asked, within, left_out)


def decide_orders(listed: list[OrderLoss], asked: Asked, within: list[bool | None], left_out: Fraction) -> Second:
    """The largest bounds at every order, and whether all are within what was asked for."""
    curve = []
    for alpha, epsilon in asked.orders:
        own = [loss for loss in listed if loss.alpha == alpha]
        low: Number = max((loss.low for loss in own), default=Fraction(0))
        curve.append((alpha, epsilon, low, max((loss.high for loss in own), default=math.inf)))
    outcome = together(within)
    worst = max(listed, key=_share, default=None)
    bounds = (Fraction(0), math.inf) if worst is None else (worst.low, worst.high)
    label = "" if worst is None else worst.label
    return Second(outcome, WHY[outcome], bounds, (Fraction(0), left_out), label, orders=tuple(curve))


def _share(loss: OrderLoss) -> Number:
    return loss.high / loss.epsilon if loss.epsilon and loss.high != math.inf else loss.high
