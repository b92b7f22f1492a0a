"""What a session charges, once and before it draws, whoever else asks: ledgers, crashes, forks, threads, forgeries."""

from __future__ import annotations

import copy
import os
import pickle
import threading
from fractions import Fraction

import numpy as np
import pytest

import fugu
import fugu.queries.answer as drawing
import fugu.session.session as asking
from fugu.errors import (
    AlreadyReleased,
    BadBudget,
    BadTable,
    BudgetExceeded,
    CertificateError,
    NotComposable,
    PriorNotPublic,
    RepeatedUnit,
    UsageError,
)
from fugu.queries import table_belief as pricing
from fugu.session.books import charge_for
from fugu.translation.records import pricer

RNG = np.random.default_rng(5)
N = 240


def made(n, rng):
    ill = rng.integers(0, 2, n)
    return {
        "id": list(range(n)),
        "ill": np.where(ill, "y", "n").tolist(),
        "age": np.clip(rng.normal(4 + ill, 2, n), 0, 9).round().astype(int).tolist(),
        "ward": rng.choice(["a", "b"], n).tolist(),
        "copy": np.where(ill, "p", "q").tolist(),
        "one": [7] * n,
    }


REFERENCE, TODAY = made(N, RNG), made(30, RNG)
AGE = {"bounds": (0, 9), "step": 3}


def opened(**more):
    return fugu.Session(TODAY, REFERENCE, "ill", more.pop("budget", fugu.Pure(1)), **more)


@pytest.fixture
def ledger(tmp_path):
    return tmp_path / "ledger.db"


@pytest.mark.parametrize("kept", [False, True])
def test_the_same_question_again_costs_nothing_and_gets_the_same_answer(kept, ledger):
    session = opened(ledger=ledger if kept else None)
    one = session.ask("mean(age) by ward", 0.1, **AGE)
    spent = session.spent()
    again = session.ask("mean(age)  by ward", Fraction(1, 10), **AGE)
    assert again.cells == one.cells and session.spent() == spent and again.cost == fugu.Pure(0)
    assert session.ask("mean(age) by ward", 0.2, **AGE).cells != one.cells  # another epsilon is another question
    assert session.spent().epsilon > spent.epsilon
    if kept:
        later = opened(ledger=ledger)
        assert later.ask("mean(age) by ward", 0.1, **AGE).cells == one.cells and later.spent() == session.spent()


def test_answers_end_where_the_budget_does(ledger):
    session = opened(budget=fugu.Pure(0.3), ledger=ledger)
    session.ask("histogram(ward)", 0.1)
    session.ask("mean(age)", 0.2, **AGE)
    with pytest.raises(BudgetExceeded) as refused:
        session.ask("median(age)", 0.2, **AGE)
    assert refused.value.left == session.remaining() and "left is" in str(refused.value)
    assert float(session.spent().epsilon) <= 0.3
    assert session.ask("count").value == 30.0  # public


def test_nothing_is_drawn_before_the_charge_is_on_disk(ledger, monkeypatch):
    session, seen = opened(ledger=ledger), []
    real = drawing.draw

    def watched(*args):
        with fugu.Ledger(ledger, fugu.Pure(1), prior=session._belief) as books:
            seen.append([c.count for c in books.charges()])
        return real(*args)

    monkeypatch.setattr(drawing, "draw", watched)
    session.ask("count(ward=a)", 0.1)
    assert seen == [[1]]


def test_a_crash_between_charge_and_answer_keeps_the_one_charge(ledger):
    session = opened(ledger=ledger)
    session.ask("count")

    def crash(step):
        if step == "reserved":
            raise KeyboardInterrupt

    session._books.ledger._step = crash
    with pytest.raises(KeyboardInterrupt):
        session.ask("mean(age)", 0.2, **AGE)
    later = opened(ledger=ledger)
    before = later.spent()
    assert before.epsilon > 0
    later.ask("histogram(ward)", 0.1)
    found = later.ask("mean(age)", 0.2, **AGE)  # under the charge that stands, not one for today's total
    assert found.cost == fugu.Pure(0) and [c.count for c in later._books.ledger.charges()] == [1, 1]


def test_the_ledger_decides_with_all_charges_on_disk_not_with_what_a_session_saw(ledger, monkeypatch):
    one, two = opened(ledger=ledger), opened(ledger=ledger)
    real = asking.least_noise

    def slow(books, plan, epsilon, silent):
        found = real(books, plan, epsilon, silent)
        if books is two._books:
            monkeypatch.setattr(asking, "least_noise", real)
            one.ask("mean(age)", 0.8, **AGE)  # between the look of the other session and its charge
        return found

    monkeypatch.setattr(asking, "least_noise", slow)
    with pytest.raises(BudgetExceeded):
        two.ask("histogram(age)", 0.8)
    assert float(two.spent().epsilon) <= 1 and two.spent() == one.spent()


def test_two_sessions_that_ask_the_same_at_once_share_one_answer(ledger, monkeypatch):
    one, two = opened(ledger=ledger), opened(ledger=ledger)
    real, found = asking.least_noise, []

    def slow(books, plan, epsilon, silent):
        noise = real(books, plan, epsilon, silent)
        if books is two._books and not found:
            monkeypatch.setattr(asking, "least_noise", real)
            one.ask("histogram(ward)", 0.2)  # so that the noise of the same question is another one
            found.append(one.ask("mean(age)", 0.3, **AGE))
        return noise

    monkeypatch.setattr(asking, "least_noise", slow)
    assert two.ask("mean(age)", 0.3, **AGE).cells == found[0].cells
    assert sum(c.count for c in one._books.ledger.charges()) == 2


@pytest.mark.parametrize(
    "other",
    [
        {"reference": made(N, np.random.default_rng(8))},
        {"protect": "ward"},
        {"schema": fugu.Schema({"age": {"kind": "number", "bounds": (0, 5)}})},
        {"unit": "id"},
    ],
    ids=lambda other: next(iter(other)),
)
def test_another_belief_under_the_same_name_is_refused(other, ledger):
    opened(ledger=ledger).ask("count(ward=a)", 0.1)
    told = {"reference": REFERENCE, "protect": "ill", **other}
    session = fugu.Session(TODAY, told.pop("reference"), told.pop("protect"), fugu.Pure(1), ledger=ledger, **told)
    for ask in (session.rehearse, session.ask_all):
        with pytest.raises(UsageError, match="other beliefs"):
            ask(["histogram(copy)"])
    with pytest.raises(fugu.errors.DataKnown):
        opened(ledger=ledger, data="fresh").ask("count(ward=a)", 0.1)


def test_what_else_is_in_the_ledger_costs_its_epsilon_and_a_lie_is_not_believed(ledger):
    session = opened(ledger=ledger)
    session.ask("mean(age)", 0.2, **AGE)
    before = session.spent().epsilon
    books = session._books.ledger
    books.spend("elsewhere", fugu.Charge.per_entry(0.1), lambda: 0)
    assert float(session.spent().epsilon) == pytest.approx(float(before) + 0.1, abs=1e-9)
    (small,) = session.certificate.questions
    lie = fugu.Charge.per_entry(0.2, reads={"questions": [small.to_json()]})
    books.spend("a lie", lie, lambda: 0)
    assert float(session.spent().epsilon) == pytest.approx(float(before) + 0.3, abs=1e-9)
    assert session.certificate.elsewhere == Fraction(3, 10)
    with pytest.raises(NotComposable):
        books.spend("delta", fugu.Charge.per_entry(fugu.Approx(0.1, 1e-6)), lambda: 0, planned=True)
    mixed = [(fugu.Approx(0.1, 1e-6), None, 2), (fugu.Pure(0.2), None, 1)]
    assert session._belief.together(mixed) == fugu.Approx(0.4, 2e-6)  # plain sums: by paths it would be false
    with pytest.raises(NotComposable, match="path by path"):
        session._belief.together([*mixed, (fugu.Renyi(2, 0.1), None, 1)])
    assert charge_for([small]).reads != charge_for([small], ["ward"]).reads


def test_a_session_stays_in_its_process_and_has_no_copies():
    session = opened()
    assert copy.copy(session) is copy.deepcopy(session) is session
    with pytest.raises(UsageError, match="stored"):
        pickle.dumps(session)
    if hasattr(os, "fork"):
        read, write = os.pipe()
        child = os.fork()
        if child == 0:
            try:
                session.ask("mean(age)", 0.1, **AGE)
                os.write(write, b"answered")
            except AlreadyReleased:
                os.write(write, b"refused")
            os._exit(0)
        os.waitpid(child, 0)
        assert os.read(read, 20) == b"refused"
    found = []
    threads = [threading.Thread(target=lambda: found.append(session.ask("mean(age)", 0.1, **AGE))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({f.cells for f in found}) == 1 and len(session.certificate.questions) == 1


def test_what_makes_no_sense_is_refused_before_anything_is_charged(ledger):
    for budget, words in ((fugu.Approx(1, 1e-6), "goes with ledger="), (fugu.Renyi(2, 1), "Records"), (1.0, "Pure")):
        with pytest.raises(BadBudget, match=words):
            opened(budget=budget)
    with pytest.raises(PriorNotPublic):
        fugu.Session(REFERENCE, REFERENCE, "ill", fugu.Pure(1)).ask("count(ward=a)")
    shuffled = {name: [cells[(7 * i) % N] for i in range(N)] for name, cells in REFERENCE.items() if name != "ill"}
    with pytest.raises(PriorNotPublic):
        fugu.Session(shuffled, REFERENCE, "ill", fugu.Pure(1)).ask("count(ward=a)")
    with pytest.raises(BadTable, match="no rows"):
        fugu.Session({name: [] for name in TODAY}, REFERENCE, "ill", fugu.Pure(1)).ask("count")
    with pytest.raises(RepeatedUnit):
        fugu.Session({**TODAY, "id": [1] * 30}, REFERENCE, "ill", fugu.Pure(1), unit="id").ask("count")
    session = opened(ledger=ledger)
    refused = (
        (("count(ward=a) by ill",), UsageError, "worked out from it"),
        (("count(ward=a) by copy",), UsageError, "determines the secret"),
        (("count by copy",), UsageError, "determines the secret"),
        (("quantile(age, 2)",), UsageError, "between 0 and 1"),
        (("mean(one)",), UsageError, "one value in the reference.*bounds"),
        (("mean(size)",), UsageError, "size"),
        (("mode(age)",), UsageError, "mode"),
        (("count(ward=zz)",), UsageError, "category"),
        (("top(ward, 9)",), UsageError, "cells"),
        (("count(ward=a) by nowhere",), UsageError, "nowhere"),
        (("count(ward=a)", 1.5), BudgetExceeded, "does not allow"),
        (("count(ward=a)", -1), UsageError, "epsilon"),
    )
    for args, kind, words in refused:
        with pytest.raises(kind, match=words):
            session.ask(*args)
    for weights, words in (([1], "each of the 2"), ([1, 0], "above 0"), ("errors", '"error"')):
        with pytest.raises(UsageError, match=words):
            session.ask_all(["count(ward=a)", "histogram(ward)"], 0.2, weights)
    with pytest.raises(UsageError):
        session.ask_all([])
    assert session._books.ledger.charges() == [] and session.spent() == fugu.Pure(0)


def test_where_a_search_for_plans_fails_the_last_plan_still_proves_the_marginal_cost(monkeypatch):
    """A new question raises the price by at most its own epsilon, and the plan of the old ones proves it: a session
    that took the failed search's word would refuse the question."""
    session = opened()
    session.ask("mean(age)", 0.1, **AGE)
    session.ask("histogram(ward)", 0.05)
    before = float(session.spent().epsilon)

    def failed(_, problem, *_more):
        return pricer.Bound(float(problem.own), {"how": "sum"}, np.ones(len(problem.charges))), 0.0, None

    monkeypatch.setattr(pricer.Pricer, "_best", failed)
    found = session.ask("mean(age)", 0.101, **AGE)
    assert found.own > Fraction(9, 100) and float(session.spent().epsilon) <= before + 0.101 + 1e-9
    assert fugu.verify(session.certificate).holds

    def forgotten(*_):
        raise CertificateError("the last plan proves nothing")

    monkeypatch.setattr(pricing, "check", forgotten)
    with pytest.raises(BudgetExceeded):
        session.ask("mean(age)", 0.102, **AGE)


def test_more_of_the_same_is_not_given_away():
    """What costs nothing under the reference takes its part of the cap: who shares out one shares out the other."""
    rows = {"s": ["0", "1"] * 60, "x": ["u", "u", "v", "v"] * 30}
    session = fugu.Session({"x": ["u", "v", "v"]}, rows, "s", fugu.Pure(1))
    own = [session.ask("histogram(x)", epsilon).own for epsilon in (0.1, 0.2, 0.7, 0.3)]
    assert own == [Fraction(1, 2), 1, Fraction("2.19722457"), Fraction("1.30277543")]  # 2 ln 3, and what is left
    assert session.spent() == fugu.Pure(0) and session.anybody() == session.cap == fugu.Pure(5)
    with pytest.raises(BudgetExceeded, match="epsilon 5 against anybody"):
        session.ask("histogram(x)", 0.05)
