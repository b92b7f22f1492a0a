"""`price`: a proved epsilon for all charges on one record together, with a proof that `check` reads.

    e^T = max { p.g / q.g : g(x) <= e^Lam(x, y) g(y) } = min over plans pi with row sums p
          of the largest sum over x of e^Lam(x, y) pi(x, y) / q(y)

Proofs: docs/proofs/metric-charges.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from fugu.errors import CertificateError
from fugu.translation.records.charges import Line, RecordCharge, States
from fugu.translation.records.checking import check as check
from fugu.translation.records.checking import checked
from fugu.translation.records.plan import MOST, find, proof_of
from fugu.translation.records.problem import Ints, Problem
from fugu.visible import Json


@dataclass(frozen=True)
class Priced:
    """What releases are worth together in one order of two secrets.

    Parameters:
        epsilon: the loss is at most this, rounded up.
        proof: what `check` reads; plain data.
    """

    epsilon: float
    proof: Json


def price(states: States, p: Ints, q: Ints, charges: Sequence[RecordCharge], *, effort: str = "best") -> Priced:
    """The least epsilon that can be proved for p against q, all charges together.

    Parameters:
        states: the value of each feature at each state.
        p: whole-number counts of the states given s.
        q: the same given t.
        charges: everything that was released.
        effort: "best", or "quick" for closed forms only.
    """
    problem = Problem.of(states, p, q, charges)
    proofs: list[Json] = [{"how": "sum"}, {"how": "threshold"}]
    if len(problem.charges) == 1 and isinstance(problem.charges[0], Line):
        proofs.append({"how": "monotone"})
    if effort == "best" and problem.charges and 1 < problem.size <= MOST and (plan := find(problem).plan) is not None:
        proofs.append(proof_of(plan))
    found = []
    for proof in proofs:
        with suppress(CertificateError):
            found.append(Priced(checked(problem, proof), proof))
    return min(found, key=lambda one: one.epsilon)


def both(states: States, p: Ints, q: Ints, charges: Sequence[RecordCharge]) -> tuple[Priced, Priced]:
    """`price` of p against q, and of q against p.

    Parameters:
        states: the value of each feature at each state.
        p: whole-number counts of the states given s.
        q: the same given t.
        charges: everything that was released.
    """
    return price(states, p, q, charges), price(states, q, p, charges)
