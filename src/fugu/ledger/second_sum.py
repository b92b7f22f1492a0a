"""The second sum of a ledger: what all releases promise against anybody, whatever the stated beliefs are."""

from __future__ import annotations

from collections.abc import Iterable
from fractions import Fraction

from fugu.guarantee import Guarantee
from fugu.guarantee.numbers import exact
from fugu.ledger.accountant import Counted, stated
from fugu.ledger.charge import LAW, Charge
from fugu.priors.prior import Together


def against_anybody(charges: Iterable[Counted], prior: object = None) -> Guarantee | None:
    """What all charged releases promise for each record, whatever is believed of independent records: epsilons add, and
    deltas, whichever was chosen after which answer (ordinary composition); None where one of them promises nothing.

    `prior`: one that knows what each release reads of a record (`Together`) adds them type by type.

    >>> from fugu import Approx
    >>> from fugu.ledger import Charge
    >>> against_anybody([Counted(Charge.per_entry(0.1), count=10), Counted(Charge.per_entry(Approx(1, 1e-6)))])
    Approx(epsilon=2, delta=1e-06)
    """
    listed = [c for c in charges if c.count]
    if isinstance(prior, Together) and all(_by_its_epsilon(c.charge) for c in listed):
        return prior.anybody([(c.charge.guarantee, c.charge.reads, c.count) for c in listed])
    epsilon = delta = Fraction(0)
    for c in listed:
        if c.charge.anybody is None:
            return None
        epsilon += c.count * (c.charge.anybody or 0)
        delta += 0 if c.charge.kind == LAW else c.count * exact(c.charge.guarantee.delta)
    return stated(epsilon, delta)


def _by_its_epsilon(charge: Charge) -> bool:
    """Whether a charge is for each entry and promises its own epsilon to anybody, and no more."""
    return charge.kind != LAW and charge.guarantee.pure and charge.anybody == exact(charge.guarantee.epsilon)
