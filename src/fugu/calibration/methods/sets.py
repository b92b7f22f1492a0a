"""Methods for sets of laws: the loss of the worst laws in the sets, exactly for ratios; bounds for all else."""

from __future__ import annotations

from dataclasses import replace

from fugu.calibration.registry import RELEASED, Proposal, method
from fugu.calibration.search import least
from fugu.guarantee.asks import Ask, Divergences, Ratio
from fugu.laws.set_family import SetFamily
from fugu.loss.search.ranges import over
from fugu.noise.kind import Kind

_SUFFICES = "the beliefs alone suffice: no noise is needed"
_ENVELOPE = "the envelope and its dual over the worst laws in the sets: proved in docs/proofs/sets.md"
_BOUND = "a bound, not exact"


@method(
    "l1",
    "l1 (group) sensitivity: Dwork, McSherry, Nissim, Smith 2006, Proposition 1",
    place=10,
    shapes=("sets",),
    beaten_by="exact",
)
def l1(item: SetFamily, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = range of the declared values / epsilon: what every law on them needs, and all that is known of some."""
    return Proposal(over(float(item.points[-1] - item.points[0]), ask.epsilon))


@method(
    "exact",
    "the tight loss of the worst laws in the sets: proved in docs/proofs/sets.md",
    place=100,
    shapes=("sets",),
    beaten_by="envelope",
)
def exact(item: SetFamily, ask: Ratio, kind: Kind) -> Proposal:
    """scale = min { b : max over the declared values of ln N / D <= epsilon }; 0 when the beliefs alone suffice."""
    steps = least(item, replace(ask, delta=ask.delta * 0), kind)
    if ask.delta:
        return Proposal(steps, "delta is not used" if steps else _SUFFICES)
    return Proposal(steps, "" if steps else _SUFFICES)


@method("envelope", _ENVELOPE, place=90, shapes=("sets",), noises=RELEASED, delta=True)
def excess(item: SetFamily, ask: Ratio, kind: Kind) -> Proposal:
    """A scale at which the bound on delta is within it; never above what the pure loss asks for, up to rounding."""
    return _bound(item, ask, kind)


@method("envelope", _ENVELOPE, place=90, shapes=("sets",), noises=RELEASED, finite=True)
def orders(item: SetFamily, ask: Divergences, kind: Kind) -> Proposal:
    """A scale at which the bounds on the divergences are within epsilon; no event is left out for a delta."""
    return _bound(item, ask, kind)


def _bound(item: SetFamily, ask: Ask, kind: Kind) -> Proposal:
    steps = least(item, ask, kind)
    return Proposal(steps, _BOUND if steps else _SUFFICES)
