"""Histograms: the least noise in every count, and what one record can move at most."""

from __future__ import annotations

from fugu.calibration.registry import Proposal, method
from fugu.calibration.search import least
from fugu.errors import NotProvable
from fugu.guarantee.asks import Divergences, Ratio
from fugu.laws.cells import CellFamily
from fugu.loss.search.ranges import over
from fugu.loss.table.cells import NO_ORDERS
from fugu.noise.kind import Kind

_CELLS = ("cells",)


@method(
    "exact",
    "the tight loss of one record's cell in a histogram: proved in docs/proofs/histograms.md",
    place=100,
    shapes=_CELLS,
    noises=None,
)
def exact(item: CellFamily, ask: Ratio, kind: Kind) -> Proposal:
    """scale = 2 / epsilon_0 for a pure budget, with T(epsilon_0) = epsilon; else min { b : delta(b) <= delta }."""
    steps = least(item, ask, kind)
    return Proposal(steps, "" if steps else "the beliefs about one record's cell alone suffice: no noise is needed")


@method("exact", "docs/proofs/histograms.md#5-what-is-not-proved", place=100, shapes=_CELLS, finite=True, noises=None)
def no_orders(item: CellFamily, ask: Divergences, kind: Kind) -> Proposal:  # noqa: ARG001
    """Refused: no divergence of a histogram is proved."""
    raise NotProvable(NO_ORDERS)


@method(
    "l1",
    "l1 sensitivity: Dwork, McSherry, Nissim, Smith 2006, Proposition 1; one record moves two counts by one each",
    place=10,
    shapes=_CELLS,
    beaten_by="exact",
)
def l1(item: CellFamily, ask: Ratio, kind: Kind) -> Proposal:  # noqa: ARG001
    """scale = 2 / epsilon, whatever the laws; 0 if they are the same."""
    return Proposal(0.0 if item.same else over(2, ask.epsilon))
