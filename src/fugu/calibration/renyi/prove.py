"""From a scale to a proof of a Rényi guarantee: the tight divergence first, a coupling where that is out of reach."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from fugu.calibration.proof import Proof
from fugu.calibration.renyi.partial import kept, margins
from fugu.calibration.renyi.target import Target
from fugu.errors import NotProvable
from fugu.laws.analytic import Analytic
from fugu.laws.items import Item
from fugu.loss.atoms.laplace import PairLoss
from fugu.loss.bounds import Noise
from fugu.loss.divergence.coupling import coupling_bounds
from fugu.loss.divergence.lattice import renyi_bounds
from fugu.numbers.exact import float_up


def prove_renyi(items: tuple[Item, ...], noise: Noise, target: Target) -> Proof:
    """Bound D_alpha of the noised laws for every order, pair and order of the pair; compare in exact arithmetic.

    Where that alone is above epsilon and the budget has a delta, the laws are conditioned on events of probability at
    least 1 - delta: the margins of one sub-coupling, the same for all orders."""
    worst, delta, holds = PairLoss("", 0.0), 0.0, True
    excess = -1.0
    for item in items:
        for loss, epsilon, used in _losses(item, noise, target):
            holds = holds and loss.within(epsilon)
            delta = max(delta, used)
            ratio = loss.value / float(epsilon) if epsilon else loss.value
            if ratio > excess:
                worst, excess = loss, ratio
    return Proof(worst.value, delta, worst.label, holds)


def _losses(item: Item, noise: Noise, target: Target) -> list[tuple[PairLoss, Fraction, float]]:
    """(loss, epsilon, delta used) for every order and pair; pairs that need it are conditioned on likely events."""
    found = _plain(item, noise, target)
    if target.delta == 0 or isinstance(item, Analytic) or all(loss.within(epsilon) for loss, epsilon, _ in found):
        return found
    listed = []
    for pair, label in item.different:
        alone = _plain(replace(item, pairs=(pair,), labels=(label,)), noise, target)
        if not all(loss.within(epsilon) for loss, epsilon, _ in alone):
            rest = margins(item, kept(item, pair, noise, target.highest, target.delta), label)
            alone = [(loss, epsilon, float_up(target.delta)) for loss, epsilon, _ in _plain(rest, noise, target)]
        listed += alone
    return listed


def _plain(item: Item, noise: Noise, target: Target) -> list[tuple[PairLoss, Fraction, float]]:
    return [(loss, epsilon, 0.0) for alpha, epsilon in target.orders for loss in bounds(item, noise, alpha)]


def bounds(item: Item, noise: Noise, alpha: Fraction) -> list[PairLoss]:
    """Proved D_alpha of every pair: tight where the lattice points can be summed, else by the monotone coupling."""
    try:
        return renyi_bounds(item, noise, alpha)
    except NotProvable:
        if isinstance(item, Analytic) or item.inexact or noise.scale == 0:
            raise
        return coupling_bounds(item, noise, alpha)
