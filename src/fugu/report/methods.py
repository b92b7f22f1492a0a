"""The methods side by side: from a comparison, or from the certificate alone."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from fugu.calibration.lattice import Problem, on
from fugu.calibration.registry import methods as registered
from fugu.calibration.registry import suited
from fugu.calibration.scales import offers
from fugu.documents.certificate import Certificate
from fugu.documents.swap import SWAP
from fugu.errors import NotProvable, UsageError
from fugu.noise.kind import kind_named
from fugu.noise.lattice import Lattice
from fugu.numbers.text import number
from fugu.report.amounts import Amount
from fugu.report.shapes import limit

if TYPE_CHECKING:
    from fugu.calibration.comparison import Comparison, Row

_MOST_CELLS = 200_000
"""Points times pairs up to which the scales that a certificate does not list are worked out."""
_MOST_CELLS_OF_VECTORS = 400
"""The same for vectors, where methods compare every atom with every other."""


@dataclass(frozen=True)
class Line:
    """One method in the comparison; `proved` is None where this page has no proof either way."""

    method: str
    noise: str
    scale: float
    error: float | None
    """None where this page does not know it."""
    epsilon: float | None
    proved: bool | None
    note: str
    used: bool

    def cells(self, compared: bool) -> list[str]:
        """What a table says of it: noise, scale, error, the epsilon it reaches if methods were `compared`, proved."""
        refused = math.isinf(self.scale)
        scale = "none" if refused or math.isnan(self.scale) else number(self.scale, "up", 4)
        error = "none" if refused else "not here" if self.error is None else number(self.error, digits=4)
        reached = ["none" if self.epsilon is None else number(self.epsilon, "up", 4)] if compared else []
        return [self.noise, scale, error, *reached, {True: "yes", False: "no", None: "not here"}[self.proved]]


def methods(certificate: Certificate, comparison: Comparison | None = None) -> tuple[Line, ...]:
    """The methods from the crudest to the exact one: from a comparison, else from the certificate alone.

    A certificate lists the scales that were tried; those of other methods are worked out from its laws where they are
    few. Without a comparison, a method counts as proved if its scale is at least the one used and the noise is one of
    which more is a post-processing of less (docs/proofs/laplace.md#1-more-noise-is-a-post-processing-of-less)."""
    if comparison is not None:
        if comparison.budget != certificate.budget:
            raise UsageError(
                f"the comparison is for {comparison.budget!r} and the certificate for {certificate.budget!r}; "
                "compare with the budget of the mechanism"
            )
        return tuple(_compared(row, certificate) for row in comparison.rows)
    if certificate.parts:
        return ()
    amount = Amount(certificate)
    scales = {**certificate.scales, **_worked_out(certificate)}
    places = {m.name: m.place for m in registered()}
    names = sorted(scales, key=lambda name: places.get(name, 0))
    return tuple(_line(name, scales[name], certificate.method, amount) for name in names)


def compared(comparison: Comparison) -> tuple[Line, ...]:
    """The rows of a comparison by itself; the one that `calibrate` would take counts as used.

    What a row says of itself when it is refused becomes its note."""
    try:
        best: Row | None = comparison.best
    except NotProvable:
        best = None
    found = []
    for r in comparison.rows:
        refused = math.isinf(r.scale)
        note = r.note or ("" if r.proven else r.why)
        reached = None if refused else r.epsilon
        found.append(
            Line(r.method, r.noise.capitalize(), r.scale, r.expected_absolute, reached, r.proven, note, r is best)
        )
    return tuple(found)


def _line(name: str, scale: float | None, method: str, amount: Amount) -> Line:
    used = name == method
    size = math.inf if scale is None or math.isinf(scale) else amount.size if used else scale
    error = math.inf if math.isinf(size) else amount.error if used else amount.at(size)
    more = amount.ordered and size >= amount.size and not math.isinf(size)
    note = "no finite scale" if math.isinf(size) else ""
    return Line(name, amount.name, size, error, None, True if used or more else None, note, used)


def _worked_out(certificate: Certificate) -> dict[str, float]:
    """The scales of methods that the certificate does not list, where the problem is small."""
    if SWAP in certificate.body:
        return {}
    kind, ask = kind_named(certificate.in_steps.name), certificate.budget.simplest().asks()
    where = _problem(certificate)
    if kind is None or where is None or where.cells > (_MOST_CELLS if where.dimension == 1 else _MOST_CELLS_OF_VECTORS):
        return {}
    wanted = [m for m in suited(where.items, ask, kind) if m.name not in certificate.scales]
    found = offers(where, ask, kind, wanted)
    return {o.method: math.inf if o.refusal else o.rank("absolute")[1] for o in found}


def _problem(certificate: Certificate) -> Problem | None:
    """The laws on their lattice; None where the certificate does not know where they stand."""
    laws: tuple[Any, ...] = certificate.laws
    lattice, support = certificate.lattice, certificate.support
    if lattice is not None:
        return Problem(laws, laws, lattice)
    if support is None or len(laws) != 1 or not laws[0].atoms or (lattice := Lattice.holding([support])) is None:
        return None
    return on((laws[0].placed(support),), lattice)


def _compared(row: Row, certificate: Certificate) -> Line:
    """One row of a comparison; what no noise can do is said in its note."""
    refused = math.isinf(row.scale)
    name, used, reached = row.noise.capitalize(), False, row.epsilon
    if not certificate.parts and row.method == certificate.method:
        noise = certificate.in_steps
        used = name == noise.name.capitalize()
        if used:
            reached = min(reached, max(limit(item, noise) for item in certificate.laws))
    note = row.note or (row.why if refused else "")
    return Line(
        row.method, name, row.scale, row.expected_absolute, None if refused else reached, row.proven, note, used
    )
