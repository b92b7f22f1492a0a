"""`exact` and `conditioned`: the least scale there is, by bisection on the tight loss; for sets and counts too."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from fugu.calibration.comparison import BOUNDED
from fugu.calibration.lattice import least, least_scale
from fugu.calibration.methods.wasserstein import least_excess, reach
from fugu.calibration.offer import RELEASED, Proposal, method
from fugu.errors import NotProvable
from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.guarantee.kinds import pure_as_renyi
from fugu.laws.cells import CellFamily
from fugu.laws.family import Family, SetFamily
from fugu.laws.shapes import Item
from fugu.loss.atoms import prove_delta
from fugu.loss.divergence import kept, margins, unmoved
from fugu.loss.door import leakage
from fugu.loss.histograms import NO_ORDERS
from fugu.loss.search.shapes import farthest, fast_vector_pure, over
from fugu.loss.vectors import IMPLIED, LARGEST, vertices
from fugu.noise.kind import Kind
from fugu.numbers import balls
from fugu.numbers.exact import float_down

_LARGE = 600.0
"""A pure epsilon of this size implies nothing useful."""
_SUFFICES = "the beliefs alone suffice: no noise is needed"
_VECTORS = "the largest ratio on the product grid of coordinates (docs/proofs/vectors.md)"


@method(
    "exact",
    "the tight divergence of the two noised laws, proved in docs/proofs/renyi.md",
    place=100,
    finite=True,
    noises=None,
    largest=50_000,
)
@method(
    "exact",
    "the tight loss of the noise that is drawn: proved in docs/proofs/laplace.md and docs/proofs/gaussian.md",
    place=100,
    noises=None,
)
def one_number(item: Item, ask: Ask, kind: Kind) -> Proposal:
    """scale = min { b : loss(b) <= budget }, or { b : D_alpha(M_i, M_j) <= epsilon(alpha) in both orders }; 0 when the
    beliefs alone suffice."""
    if item.same:
        return Proposal(0.0, "the laws are the same: nothing to hide")
    steps = least(item, ask, kind)
    unused = "no event is left out: delta is not used" if ask.finite and ask.delta else ""
    return Proposal(steps, unused if steps else _SUFFICES)


@method("exact", _VECTORS, place=100, shapes=("space",))
def vectors(item: Family, ask: Ratio, kind: Kind) -> Proposal:
    """The least scale whose pure loss is within epsilon, or implies (epsilon, delta)."""
    if ask.delta and all(loss.within(ask.delta) for loss in prove_delta(item, None, ask.epsilon)):
        return Proposal(0.0)
    target = float_down(ask.epsilon)
    if ask.delta:  # the pure epsilon that implies (epsilon, delta), see `pure_as_delta`
        with balls.precision(128):
            target = balls.lower(((balls.of(ask.epsilon).exp() + balls.of(ask.delta)) / balls.of(1 - ask.delta)).log())
    if vertices(item) > LARGEST or target <= 0:
        return Proposal(math.inf if item.different else 0.0)
    distance = reach(item, kind.norm, Fraction(0))
    if not distance:
        return Proposal(0.0)
    found = least_scale(lambda b: fast_vector_pure(item, b), target, distance / target * (1 + 1e-9))
    return Proposal(min(found, over(distance, ask.epsilon)))  # where W_inf / epsilon is the least, it is the exact root


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


# `conditioned`: the tight divergence of the laws given the likeliest events that bring them close.


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
    known = leakage(family.shape, kind.name)
    bare = known.guess(family, steps, ask)
    if bare <= 1:
        return bare
    pair = family.pairs[0]
    if steps == 0:
        return min(bare, unmoved(family, pair, ask.delta))
    noise = kind.at(steps, Fraction(1))
    rest = margins(family, kept(family, pair, noise, ask.highest, ask.delta), family.labels[0])
    return min(bare, known.guess(rest, steps, ask)) if rest.different else 0.0


# Methods for sets of laws: the loss of the worst laws in the sets, exactly for ratios; bounds for all else.


_ENVELOPE = "the envelope and its dual over the worst laws in the sets: proved in docs/proofs/sets.md"


@method(
    "exact",
    "the tight loss of the worst laws in the sets: proved in docs/proofs/sets.md",
    place=100,
    shapes=("sets",),
    noises=BOUNDED,
    beaten_by="envelope",
)
def sets_exact(item: SetFamily, ask: Ratio, kind: Kind) -> Proposal:
    """scale = min { b : max over the declared values of ln N / D <= epsilon }; 0 when the beliefs alone suffice."""
    steps = least(item, replace(ask, delta=ask.delta * 0), kind)
    return Proposal(steps, ("delta is not used" if ask.delta else "") if steps else _SUFFICES)


@method("envelope", _ENVELOPE, place=90, shapes=("sets",), noises=RELEASED, finite=True)
@method("envelope", _ENVELOPE, place=90, shapes=("sets",), noises=RELEASED, delta=True)
def envelope(item: SetFamily, ask: Ask, kind: Kind) -> Proposal:
    """A scale at which the bound on delta is within it, never above what the pure loss asks for, up to rounding; or
    those on the divergences within epsilon: then no event is left out for a delta."""
    steps = least(item, ask, kind)
    return Proposal(steps, "a bound, not exact" if steps else _SUFFICES)


# Histograms: the least noise in every count.


_CELLS = ("cells",)


@method(
    "exact",
    "the tight loss of one record's cell in a histogram: proved in docs/proofs/histograms.md",
    place=100,
    shapes=_CELLS,
    noises=None,
)
def cells_exact(item: CellFamily, ask: Ratio, kind: Kind) -> Proposal:
    """scale = 2 / epsilon_0 for a pure budget, with T(epsilon_0) = epsilon; else min { b : delta(b) <= delta }."""
    steps = least(item, ask, kind)
    return Proposal(steps, "" if steps else "the beliefs about one record's cell alone suffice: no noise is needed")


@method("exact", "docs/proofs/histograms.md#5-what-is-not-proved", place=100, shapes=_CELLS, finite=True, noises=None)
def no_orders(item: CellFamily, ask: Divergences, kind: Kind) -> Proposal:  # noqa: ARG001
    """Refused: no divergence of a histogram is proved."""
    raise NotProvable(NO_ORDERS)
