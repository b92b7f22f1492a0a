"""`exact`: the least scale there is, by bisection on the tight loss."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.calibration.methods.wasserstein import least_excess, reach
from fugu.calibration.registry import Proposal, method
from fugu.calibration.search import least, least_scale
from fugu.guarantee.asks import Divergences, Ratio
from fugu.guarantee.order import pure_as_renyi
from fugu.laws.family import Family
from fugu.laws.items import Item
from fugu.loss.search.ranges import over
from fugu.loss.search.vectors import fast_vector_pure
from fugu.loss.vectors.bare import law_excess
from fugu.loss.vectors.bounds import IMPLIED
from fugu.loss.vectors.exact import LARGEST, vertices
from fugu.noise.kind import Kind
from fugu.numbers import balls
from fugu.numbers.exact import float_down

_LARGE = 600.0
"""A pure epsilon of this size implies nothing useful."""
_SAME = Proposal(0.0, "the laws are the same: nothing to hide")
_SUFFICES = "the beliefs alone suffice: no noise is needed"
_VECTORS = "the largest ratio on the product grid of coordinates (docs/proofs/vectors.md)"


@method(
    "exact",
    "the tight loss of the noise that is drawn: proved in docs/proofs/laplace.md and docs/proofs/gaussian.md",
    place=100,
    noises=None,
)
def ratio(item: Item, ask: Ratio, kind: Kind) -> Proposal:
    """scale = min { b : loss(b) <= budget }; 0 when the beliefs alone suffice."""
    if item.same:
        return _SAME
    steps = least(item, ask, kind)
    return Proposal(steps, "" if steps else _SUFFICES)


@method(
    "exact",
    "the tight divergence of the two noised laws, proved in docs/proofs/renyi.md",
    place=100,
    finite=True,
    noises=None,
    largest=50_000,
)
def divergences(item: Item, ask: Divergences, kind: Kind) -> Proposal:
    """scale = min { b : D_alpha(M_i, M_j) <= epsilon(alpha) in both orders }; 0 when the beliefs alone suffice."""
    if item.same:
        return _SAME
    steps = least(item, ask, kind)
    note = "" if steps else _SUFFICES
    return Proposal(steps, "no event is left out: delta is not used" if ask.delta and steps else note)


@method("exact", _VECTORS, place=100, shapes=("space",))
def vectors(item: Family, ask: Ratio, kind: Kind) -> Proposal:
    """The least scale whose pure loss is within epsilon, or implies (epsilon, delta)."""
    if ask.delta and all(law_excess(item, pair, ask.epsilon) <= ask.delta for pair, _ in item.different):
        return Proposal(0.0)
    target = _pure_target(ask)
    if vertices(item) > LARGEST or target <= 0:
        return Proposal(math.inf if item.different else 0.0)
    distance = reach(item, kind.norm, Fraction(0))
    if not distance:
        return Proposal(0.0)
    found = least_scale(lambda b: fast_vector_pure(item, b), target, distance / target * (1 + 1e-9))
    return Proposal(min(found, over(distance, ask.epsilon)))  # where W_inf / epsilon is the least, it is the exact root


def _pure_target(ask: Ratio) -> float:
    """The pure epsilon that implies (epsilon, delta): ln((e^epsilon + delta) / (1 - delta)), see `pure_as_delta`."""
    if not ask.delta:
        return float_down(ask.epsilon)
    with balls.precision(128):
        return balls.lower(((balls.of(ask.epsilon).exp() + balls.of(ask.delta)) / balls.of(1 - ask.delta)).log())


@method("exact", _VECTORS, place=100, shapes=("space",), finite=True)
def vectors_divergences(item: Family, ask: Divergences, kind: Kind) -> Proposal:
    """The least scale whose exact pure epsilon implies the divergences (`pure_as_renyi`); Laplace noise only."""
    if vertices(item) > IMPLIED:
        return Proposal(math.inf if item.different else 0.0)

    def loss(steps: float, alpha: Fraction) -> float:
        pure = fast_vector_pure(item, steps)
        return pure_as_renyi(Fraction(pure), alpha) if pure < _LARGE else math.inf

    distance = reach(item, kind.norm, Fraction(0))  # D_a <= D_inf <= distance / scale
    high = distance / float(ask.epsilon) * (1 + 1e-9) if ask.epsilon else math.inf
    return Proposal(least_excess(ask, loss, high) if distance else 0.0)
