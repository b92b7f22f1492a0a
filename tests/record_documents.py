"""Certificates of sessions for tests: two questions, three groups of which one is thin, laws in a few whole numbers."""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations

import numpy as np

from fugu.data import Schema
from fugu.documents.document import digest_of
from fugu.guarantee import Pure
from fugu.queries.features import CellAxis, Coded, Is, Placed
from fugu.queries.kinds import LAPLACE
from fugu.queries.record_proofs import StatedLaw, Type
from fugu.queries.records_certificate import RecordsCertificate
from fugu.queries.statistic import NoisedQuestion
from fugu.translation.records.pricer import Pricer
from fugu.translation.records.problem import joined

AGE = Coded("age", Fraction(0), Fraction(10), 10)
JOB = Placed((CellAxis("job", ("x", "y")),))
SICK = Is("sick", "yes")
SCHEMA = Schema(
    {
        "age": {"kind": "number", "bounds": (0, 100), "step": 10, "missing": 40},
        "job": {"kind": "category", "values": ["x", "y"]},
        "ward": {"kind": "identifier"},
        "sick": {"kind": "category", "values": ["no", "yes"]},
        "sex": {"kind": "category", "values": ["F", "M"]},
    }
)
STATES = {AGE.name: np.array([2, 5, 8, 2, 5, 8]), JOB.name: np.array([0, 0, 0, 1, 1, 1])}
POOLED = {"F": np.array([40, 60, 20, 30, 30, 20]), "M": np.array([20, 50, 60, 10, 20, 40])}
IN_A = {"F": np.array([10, 30, 10, 20, 20, 10]), "M": np.array([5, 30, 30, 5, 10, 20])}
IN_B = {"F": np.array([30, 30, 10, 10, 10, 10]), "M": np.array([15, 20, 30, 5, 10, 20])}
BUDGET = Pure(1)


def questions():
    """The mean of a number and a table of counts, by ward at different noise; the thin ward has the most."""
    means = {"a": (Fraction(1, 8),), "b": (Fraction(1, 12),), "c": (Fraction(1, 400),)}
    rates = {"a": (Fraction(1, 4),), "b": (Fraction(1, 5),), "c": (Fraction(1, 200),)}
    return (
        NoisedQuestion("mean(age) by ward", "mean", "ward", (AGE,), LAPLACE, means),
        NoisedQuestion("histogram(job) by ward", "histogram", "ward", (JOB,), LAPLACE, rates),
    )


def state(asked=None, columns=("age", "job", "ward", "sick", "sex"), apart=Fraction(0)):
    """What a session would hand over after these questions, every proof found by a `Pricer`."""
    asked = questions() if asked is None else asked
    known = {f.name for q in asked for f in q.features if set(f.columns) <= set(columns)}
    laws = [({}, POOLED), ({"ward": "a"}, IN_A), ({"ward": "b"}, IN_B)]
    types = [("a", 100, False), ("b", 80, False), ("c", 3, True)]
    proofs, spent, most = [], Fraction(0), Fraction(0)
    states = {name: column for name, column in STATES.items() if name in known}
    for ward, _, plain in types:
        charges = joined([c for q in asked for c in q.charges("" if q.by is None else ward, known)])
        own = sum((charge.own for charge in charges), Fraction(0))
        most = max(most, own)
        spent = max(spent, own if plain else Fraction(0))
        for k, (group, given) in enumerate(laws):
            if plain or (group and group["ward"] != ward):
                continue
            for pair in permutations(given, 2):
                found = Pricer(states, given[pair[0]], given[pair[1]]).price(charges)
                proofs.append((k, pair, charges, found.epsilon, found.proof))
                spent = max(spent, Fraction(found.epsilon))
    return RecordsCertificate.issue(
        budget=BUDGET, cap=max(5 * Fraction(BUDGET.epsilon), most),
        spent=spent, any_belief=most, protect="sex", secrets=("F", "M"), skipped=(),
        schema=SCHEMA, unit=None, columns=columns,
        types=tuple(Type({"ward": ward}, rows, plain) for ward, rows, plain in types), questions=asked,
        laws=tuple(StatedLaw((group,), states, given) for group, given in laws), proofs=tuple(proofs),
        elsewhere=apart,
    )  # fmt: skip


def certificate():
    """The certificate of that state."""
    return state()


def body_of(found):
    """Its content, free to be changed."""
    return found.to_json()


def sealed(body):
    """What a forger would do last: a digest that matches."""
    body = {k: v for k, v in body.items() if k != "digest"}
    return {**body, "digest": digest_of(body)}


def parsed(body):
    """The forged document, read."""
    return RecordsCertificate.parse(sealed(body))
