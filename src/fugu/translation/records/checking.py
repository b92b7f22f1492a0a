"""What a proof of a price proves, in balls, from the laws and the charges alone.

| how       | what it says                                                                                    |
|-----------|-------------------------------------------------------------------------------------------------|
| sum       | nothing about the laws: the per-record epsilons add                                             |
| threshold | all charges as one that moves with any change: log (1 + (a-1) p(S)) / (1 + (a-1) q(S)), largest |
| monotone  | one line, p/q monotone along it: log E_p e^(r f) / E_q e^(r f), exactly                         |
| plan      | weights on pairs of states: the largest sum over x of e^Lam(x, y) pi(x, y) / q(y)               |

Whoever found the plan is not believed: its rows are normalised here, and whatever arrives is summed in balls.

Proofs: docs/proofs/metric-charges.md#a-plan-is-a-proof.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from flint import arb

from fugu.errors import CertificateError, UsageError
from fugu.guarantee.asks import outward
from fugu.loss.cells import as_meant, worth
from fugu.numbers import balls
from fugu.translation.records.problem import Ints, PricingProblem, Rate, RecordCharge, States
from fugu.visible import Json, brief

_BITS = 128
_PAIRS = 64
"""Pairs in a plan for each state, at most: a vertex of the program has two."""
_LEAST, _MOST = 1e-280, 1e280
"""Weights that are normalised without a thought."""


def check(states: States, p: Ints, q: Ints, charges: Sequence[RecordCharge], proof: Json) -> float:
    """The epsilon that a proof alone proves for p against q: P(E | s) <= e^epsilon P(E | t) for every event E.

    Parameters:
        states: the value of each feature at each state.
        p: whole-number counts of the states given s.
        q: the same given t.
        charges: everything that was released.
        proof: what `price` returned, or anything else; CertificateError if it, or what stands above, proves nothing.
    """
    try:
        problem = PricingProblem.of(states, p, q, charges)
    except UsageError as error:
        raise CertificateError(f"laws or charges that prove nothing: {error}") from None
    return checked(problem, proof)


def checked(problem: PricingProblem, proof: Json) -> float:
    """`check` for states that are merged already."""
    how = proof.get("how") if isinstance(proof, dict) else None
    if how not in ("sum", "threshold", "monotone", "plan") or set(proof) != {"how", *(["plan"] * (how == "plan"))}:
        raise CertificateError(f"{brief(proof)} is no proof of a price")
    with balls.precision(_BITS):
        if how == "plan":
            found = _plan(problem, proof)
        elif how == "monotone":
            found = _monotone(problem)
        elif how == "threshold":  # T of the scalar translation at the widest distance between two states
            found = 0.0 if problem.equal else worth(problem.p, problem.q, problem.widest)
        else:
            found = math.inf
    if not math.isfinite(found):
        return said(problem.own)
    return said(min(max(Fraction(found), Fraction(0)) + problem.apart, problem.own))


def said(x: Fraction) -> float:
    """The float that means x (0.3 means 3/10), if there is one; else one at or above x, as it is and as it is meant."""
    return as_meant(x, outward(x))


def _monotone(problem: PricingProblem) -> float:
    """log E_p e^(rf) / E_q e^(rf) with r > 0 if p/q rises along f, r < 0 if it falls."""
    if len(problem.charges) != 1 or not isinstance(line := problem.charges[0], Rate):
        raise CertificateError("a monotone ratio is proved along one line, and the charges are not one line")
    if (direction := problem.direction) is None:
        raise CertificateError("the ratio of the two laws does not rise or fall all along the line")
    codes = problem.codes[0]
    rate, top = (line.rate, int(codes.max())) if direction >= 0 else (-line.rate, int(codes.min()))
    grown = [balls.of(rate * (int(v) - top)).exp() for v in codes]
    above, below = (
        sum((g * n for g, n in zip(grown, law.tolist(), strict=True)), arb(0)) / int(law.sum())
        for law in (problem.p, problem.q)
    )
    return balls.upper((above / below).log())


def _plan(problem: PricingProblem, proof: Json) -> float:
    i, j, weight = _read(problem, proof["plan"])
    steps, where = np.unique(problem.steps(i, j), axis=1, return_inverse=True)
    powers = []
    for charge, row in zip(problem.charges, steps, strict=True):
        known = {d: balls.of(charge.unit * d).exp() for d in np.unique(row).tolist()}
        powers.append([known[d] for d in row.tolist()])
    grown = [math.prod(column, start=arb(1)) for column in zip(*powers, strict=True)] or [arb(1)]
    rows, masses = [arb(0)] * problem.size, problem.p.tolist()
    parts = [arb(w) for w in weight]
    for x, part in zip(i.tolist(), parts, strict=True):
        rows[x] = rows[x] + part
    share = [arb(n) / total if n else None for n, total in zip(masses, rows, strict=True)]
    arrived = [arb(0)] * problem.size
    for x, y, g, part in zip(i.tolist(), j.tolist(), where.ravel().tolist(), parts, strict=True):
        arrived[y] = arrived[y] + share[x] * part * grown[g]
    scale = arb(int(problem.q.sum())) / int(problem.p.sum())
    most = max((balls.upper(a / n) for a, n in zip(arrived, problem.q.tolist(), strict=True) if n), default=math.inf)
    return balls.upper((arb(most) * scale).log()) if math.isfinite(most) else math.inf


def _read(problem: PricingProblem, plan: Any) -> tuple[Ints, Ints, list[float]]:
    """Pairs and weights, each pair once, from states that s has to states that t has, and a row wherever s has mass."""
    size = problem.size
    if not isinstance(plan, list) or len(plan) > _PAIRS * size:
        raise CertificateError("the plan is no list of [state, state, weight], or a longer one than any plan needs")
    i, j = np.zeros((2, len(plan)), dtype=np.int64)
    weights: list[float] = []
    for place, entry in enumerate(plan):
        if not isinstance(entry, list) or len(entry) != 3:
            raise CertificateError("the plan has an entry that is not [state, state, weight]")
        x, y, weight = entry
        if type(x) is not int or type(y) is not int or not (0 <= x < size and 0 <= y < size):
            raise CertificateError("the plan names a state that there is not")
        if type(weight) not in (int, float) or not _LEAST <= weight <= _MOST:
            raise CertificateError("the plan has a weight that is not a positive number")
        i[place], j[place] = x, y
        weights.append(float(weight))
    if np.unique(i * size + j).size < i.size:
        raise CertificateError("the plan names a pair of states twice")
    if not problem.p[i].all() or not problem.q[j].all():
        raise CertificateError("the plan moves mass that is not there, or to where the other law has none")
    if not np.isin(np.flatnonzero(problem.p), i).all():
        raise CertificateError("the plan leaves out a state that has mass")
    return i, j, weights
