"""`conditioned`: the tight divergence of the laws given the likeliest events that bring them close."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.calibration.registry import RELEASED, Proposal, method
from fugu.calibration.search import least_scale
from fugu.guarantee.asks import Divergences
from fugu.laws.family import Family
from fugu.loss.divergence.conditioning import kept, margins, unmoved
from fugu.loss.door import guess
from fugu.loss.search.ranges import farthest
from fugu.noise.kind import Kind

_NARROW = 0.02
"""Noise of less than this many lattice steps is next to none: it is not looked for."""
_ATOMS = 200
"""Pairs of laws with more atoms than this are not conditioned anew at every scale."""


@method(
    "conditioned",
    "the tight divergence given the events of a sub-coupling of mass 1 - delta (docs/proofs/renyi.md)",
    place=110,
    shapes=("line",),
    finite=True,
    noises=RELEASED,
    delta=True,
    largest=50_000,
)
def conditioned(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale found at which every pair meets the budget as it is, or conditioned as for `partial-transport`.

    The events change with the scale, so the loss need not fall with it: the scale is proved, not surely the least."""
    if not ask.delta:
        return Proposal(math.inf, "delta is 0: the same as exact")
    if len(item.points) > _ATOMS:
        return Proposal(math.inf, f"for laws of at most {_ATOMS} atoms")
    distance = float(farthest(item))
    if distance == 0:
        return Proposal(0.0)
    if ask.impossible:
        return Proposal(math.inf, "epsilon 0 asks for identical outputs")
    alone = list(item.alone())
    start = ask.start(distance)
    return Proposal(least_scale(lambda steps: max(_excess(one, steps, ask, kind) for one in alone), ask.target, start))


def _excess(family: Family, steps: float, ask: Divergences, kind: Kind) -> float:
    """loss / budget of one pair, conditioned if that helps."""
    if 0 < steps < _NARROW:
        return math.inf
    bare = guess(family, kind, ask, steps)
    if bare <= 1:
        return bare
    pair = family.pairs[0]
    if steps == 0:
        return min(bare, unmoved(family, pair, ask.delta))
    noise = kind.at(steps, Fraction(1))
    rest = margins(family, kept(family, pair, noise, ask.highest, ask.delta), family.labels[0])
    return min(bare, guess(rest, kind, ask, steps)) if rest.different else 0.0
