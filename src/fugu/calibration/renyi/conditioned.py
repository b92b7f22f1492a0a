"""`conditioned`: the tight divergence of the laws given the likeliest events that bring them close."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from fugu.calibration.method import Proposal
from fugu.calibration.renyi.couplings import farthest
from fugu.calibration.renyi.kinds import Kind
from fugu.calibration.renyi.method import NO_ATOMS, renyi_method
from fugu.calibration.renyi.partial import kept, margins, unmoved
from fugu.calibration.renyi.target import Target
from fugu.calibration.search import least_scale
from fugu.laws.analytic import Analytic
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.loss.search.divergence import fast_renyi

_NARROW = 0.02
"""Noise of less than this many lattice steps is next to none: it is not looked for."""
_ATOMS = 200
"""Pairs of laws with more atoms than this are not conditioned anew at every scale."""


@renyi_method(
    "conditioned",
    "the tight divergence given the events of a sub-coupling of mass 1 - delta (docs/proofs/renyi.md)",
    noises=("laplace", "gaussian"),
    laws="atoms",
)
def conditioned(item: Item, target: Target, kind: Kind) -> Proposal:
    """The least scale found at which every pair meets the budget as it is, or conditioned as for `partial-transport`.

    The events change with the scale, so the loss need not fall with it: the scale is proved, not surely the least."""
    if isinstance(item, Analytic):
        return NO_ATOMS
    if target.delta == 0:
        return Proposal(math.inf, "delta is 0: the same as exact")
    if len(item.points) > _ATOMS:
        return Proposal(math.inf, f"for laws of at most {_ATOMS} atoms")
    distance = float(farthest(item))
    if distance == 0:
        return Proposal(0.0)
    if any(epsilon == 0 for _, epsilon in target.orders):
        return Proposal(math.inf, "epsilon 0 asks for identical outputs")
    alone = [replace(item, pairs=(pair,), labels=(label,)) for pair, label in item.different]
    start = target.start(distance)
    return Proposal(least_scale(lambda b: max(_excess(one, b, target, kind) for one in alone), 1.0, start))


def _excess(family: Family, scale: float, target: Target, kind: Kind) -> float:
    """loss / budget of one pair, conditioned if that helps."""
    if 0 < scale < _NARROW:
        return math.inf
    plain = target.excess(_loss(family, scale, kind))
    if plain <= 1:
        return plain
    if scale == 0:
        return min(plain, unmoved(family, family.pairs[0], target.delta))
    noise = kind.make(scale)
    rest = margins(family, kept(family, family.pairs[0], noise, target.highest, target.delta), family.labels[0])
    return min(plain, target.excess(_loss(rest, scale, kind))) if rest.different else 0.0


def _loss(family: Family, scale: float, kind: Kind) -> Callable[[Fraction], float]:
    return lambda alpha: fast_renyi(family, kind.name, scale, float(alpha))
