"""Whoever knows a part of what is public, and requests that are used twice: promises that were once broken."""

from __future__ import annotations

import itertools
import math
import random

import numpy as np
import pytest

import fugu
from fugu.errors import BadBudget, BudgetExceeded, RequestReused, UsageError
from fugu.queries.records_certificate import RecordsCertificate
from fugu_verify import BadCertificate, prove_again


def rows(count, seed=0):
    """x = a xor b xor s, wrong in one row of ten; c says what x says."""
    draw = random.Random(seed)
    bits = [[draw.randrange(2) for _ in "abs"] for _ in range(count)]
    x = [a ^ b ^ s ^ (draw.random() < 0.1) for a, b, s in bits]
    named = {name: [f"{name}{bit[k]}" for bit in bits] for k, name in enumerate("abs")}
    return {**named, "x": [f"x{v}" for v in x], "c": [f"c{v}" for v in x]}


def loss(table, known, own):
    """The loss of a histogram of x with this epsilon for each record, for whoever knows these columns."""
    worst = 0.0
    cells = list(zip(*(table[name] for name in known), strict=True)) if known else [()] * len(table["x"])
    for cell in set(cells):
        law = {s: [0, 0] for s in ("s0", "s1")}
        for s, x, here in zip(table["s"], table["x"], cells, strict=True):
            if here == cell:
                law[s][int(x[1])] += 1
        p, q = (np.array(law[s]) / sum(law[s]) for s in law)
        for one, two in ((p, q), (q, p)):
            for g in itertools.product((1, math.exp(own)), repeat=2):
                worst = max(worst, math.log((one @ g) / (two @ g)))
    return worst


def test_two_of_three_public_columns_may_be_known():
    """The wrong version covers those who know nothing, one column or all: spent falls to 0 where 2.2 is true."""
    table = rows(4000)
    session = fugu.Session(rows(80, 1), table, "s", fugu.Pure(1), public=["a", "b"])
    asked = session.ask("histogram(x)", 0.9)
    before = session.spent().epsilon
    assert loss(table, "ab", float(asked.own)) == pytest.approx(float(before), rel=1e-6)
    session.ask("count by c")
    assert session.spent().epsilon >= before
    with pytest.raises(BudgetExceeded):
        session.ask("count(x=x1)", 0.5)
    two, three = (fugu.Records(table, "s", "x", by=list(by)) for by in ("ab", "abc"))
    assert fugu.translate(three, 2) >= fugu.translate(two, 2) >= loss(table, "ab", 2) * (1 - 1e-12)
    assert loss(table, "abc", 2) < 0.1 < fugu.translate(three, 2)


def test_a_certificate_without_the_law_of_such_a_part_does_not_hold():
    session = fugu.Session(rows(80, 1), rows(4000), "s", fugu.Pure(2), public=["a", "b"])
    session.ask("histogram(x)", 0.5)
    certificate = session.certificate
    assert fugu.verify(certificate).holds and prove_again(certificate.body).outcome == "holds"
    forged = _thawed(certificate.claims)
    kept = [k for k, law in enumerate(forged["laws"]) if not any(len(known) == 1 for known in law["known"])]
    forged["laws"] = [forged["laws"][k] for k in kept]
    forged["proofs"] = [{**p, "law": kept.index(p["law"])} for p in forged["proofs"] if p["law"] in kept]
    sealed = RecordsCertificate.sealed(forged)
    assert not fugu.verify(sealed).holds
    with pytest.raises(BadCertificate, match="lacks a law"):
        prove_again(sealed.body)


def _thawed(value):
    if isinstance(value, dict) or hasattr(value, "items"):
        return {name: _thawed(part) for name, part in value.items()}
    return [_thawed(part) for part in value] if isinstance(value, list | tuple) else value


def test_many_public_columns_are_refused():
    names = [f"p{k}" for k in range(7)]
    table = {"s": ["y", "n"] * 200, "x": ["u", "v", "v", "u"] * 100}
    draw = random.Random(1)
    table |= {name: [str(draw.randrange(2)) for _ in range(400)] for name in names}
    today = {name: cells[:40] for name, cells in table.items()}
    with pytest.raises(UsageError, match="at most 6"):
        fugu.Session(today, table, "s", fugu.Pure(1), public=names).ask("histogram(x)", 0.1)


def clinic():
    return fugu.Session({"s": ["y", "n", "n", "y"]}, {"s": ["y", "n"] * 100}, "s", fugu.Pure(1))


def test_a_name_stands_for_one_question_in_memory_too():
    session = clinic()

    def fails(_):
        raise ValueError

    with pytest.raises(UsageError, match="ValueError"):
        session.spend(fugu.PerEntryDP(fails, 0.01, name="weak"), ["s"], request="r")
    with pytest.raises(RequestReused):
        session.spend(fugu.PerEntryDP(list, 1000, name="all"), ["s"], request="r")
    assert session.spent().epsilon == pytest.approx(0.01)


@pytest.mark.parametrize("kept", [False, True])
def test_a_mechanism_that_fails_has_answered(kept, tmp_path):
    """The wrong version runs it again under the same charge, and shows a second draw by how it fails."""
    more = {"ledger": tmp_path / "l.db"} if kept else {}
    session = fugu.Session({"s": ["y", "n", "n", "y"]}, {"s": ["y", "n"] * 100}, "s", fugu.Pure(1), **more)
    seen = []

    def fails(_):
        seen.append(1)
        raise (ValueError, KeyError, TypeError)[len(seen) % 3]

    for _ in range(3):
        with pytest.raises(UsageError, match="KeyError"):
            session.spend(fugu.PerEntryDP(fails, 0.5, name="fails"), ["s"], request="r")
    assert len(seen) == 1 and float(session.spent().epsilon) == pytest.approx(0.5)


def test_what_makes_no_sense_is_refused_before_it_is_charged():
    session = fugu.Session(rows(80, 1), rows(400), "s", fugu.Pure(1))
    with pytest.raises(BadBudget, match="above 0"):
        session.ask("histogram(x)", 0)
    with pytest.raises(UsageError, match="wider than can be drawn"):
        session.ask_all(["histogram(a)", "histogram(x)"], 0.1, weights=[1e-300, 1])
    assert session.spent().epsilon == 0
