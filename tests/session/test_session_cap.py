"""The second promise of a session: no transcript tells two values of a record apart by more than what is stated, and
that is within the cap, whatever is believed. Against enumeration from the definition.

Wrong versions that are rejected: a cap for each question, free questions that are not counted, sums of one group."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest
from test_session_oracle import QUESTIONS, SLACK, silent, world, worst
from transcripts import likelihoods, products

import fugu
from fugu.data import Table
from fugu.errors import BudgetExceeded, UsageError
from fugu.guarantee.asks import exact
from fugu.queries.statistic import EXACT
from hunting import search

WORDS = fugu.Schema({"w": {"kind": "category", "values": ["u", "v"]}})


def anybody(session, questions=None):
    """The largest log ratio of any transcript between any two values that a record of one type can have."""
    state, found = session.certificate, 0.0
    rows = list(itertools.product(range(3), "uv"))
    reading = fugu.Schema.from_json(state["reading"])
    table = reading.read(Table({"v": [v for v, _ in rows], "w": [w for _, w in rows]}), ["v", "w"])
    asked = state.questions if questions is None else questions
    states = {f.name: f.of(reading, table) for q in asked for f in q.features}
    for kind in state.types:
        for others in (0, -1):
            rest = {name: np.repeat(values[others], 2) for name, values in states.items()}
            g = products([likelihoods(q, kind.groups.get(q.by, ""), states, rest) for q in asked])
            found = max(found, float((np.log(g).max(axis=1) - np.log(g).min(axis=1)).max()))
    return found


def questions_of(session):
    """What was answered so far; a session that answered nothing has no state."""
    return session.certificate.questions if session._books.charges() else ()


def random_session(rng):
    """A session of a random small world with a random budget and cap, and whether there are groups."""
    by = bool(rng.integers(2))
    reference, today = world(rng, by)
    budget, cap = float(rng.choice([0.3, 1, 2])), (None, 0.2, 1, 3, 8)[rng.integers(5)]
    return fugu.Session(today, reference, "s", fugu.Pure(budget), cap=cap, schema=WORDS), by


def play(rng, session, by):
    """Up to four requests, each chosen anew; refusals are answers too."""
    for _ in range(rng.integers(1, 5)):
        picked = [QUESTIONS[k] for k in rng.integers(len(QUESTIONS), size=rng.integers(1, 3))]
        items = [{"query": text + (" by g" if by and rng.integers(2) else ""), **more} for text, more in picked]
        epsilon = (None, 0.05, 0.2)[rng.integers(3)]
        loud = bool(rng.integers(2))
        if len(questions_of(session)) > 3:
            return
        try:
            if len(items) == 1:
                text = items[0].pop("query")
                session.ask(text, epsilon, allow_no_noise=loud, **items[0])
            else:
                session.ask_all(items, epsilon, (None, [1, 3], "error")[rng.integers(3)], allow_no_noise=loud)
        except BudgetExceeded:
            continue


@search("sessions against all their transcripts, both promises", quick=12)
def test_no_transcript_breaks_either_promise(rng):
    session, by = random_session(rng)
    play(rng, session, by)
    if not questions_of(session):
        return 0
    spent, stated = float(session.spent().epsilon), float(session.anybody().epsilon)
    assert worst(session) <= spent + SLACK <= float(session.budget.epsilon) + 2 * SLACK
    assert anybody(session) <= stated + SLACK <= float(session.cap.epsilon) + 2 * SLACK
    verdict = fugu.verify(session.certificate)
    assert verdict.holds, verdict.reason
    return 1


def nearly_free(ledger=None, **more):
    """A reference in which x says nothing of the secret, and a table."""
    rows = {"s": ["0", "1"] * 600, "x": ["u", "u", "v", "v", "u", "u"] * 200, "y": ["a", "b", "b", "a"] * 300}
    today = {"x": ["u", "v"] * 50, "y": ["a", "b", "b", "b"] * 25}
    return fugu.Session(today, rows, "s", fugu.Pure(0.01), ledger=ledger, **more)


def test_free_questions_count_against_anybody_and_are_noised(tmp_path):
    """Four of them, under a budget of .01, went out exact with 80 in all."""
    for books in (None, tmp_path / "l.db"):
        session = nearly_free(books)
        answers = [session.ask("histogram(x)", epsilon) for epsilon in (None, 0.002, 0.003)]
        answers.append(session.ask("histogram(y)"))
        assert session.spent().epsilon == 0 and session.cap == fugu.Pure(0.05)
        assert exact(session.anybody().epsilon) == sum(a.own for a in answers) <= Fraction(1, 20)
        assert all(a.exact < 0.01 and a.cells[0].low < a.cells[0].high for a in answers)
        assert max(float(a.own) for a in answers) == 0.015  # three tenths of the cap, as of the budget
        assert anybody_of_cells(answers) <= 0.05 + SLACK


def anybody_of_cells(answers):
    """2 r for each histogram, from the noise that its intervals show."""
    return sum(2 / answer.cells[0].scale for answer in answers)


def test_two_sessions_on_one_ledger_share_the_cap(tmp_path):
    one, two = nearly_free(tmp_path / "l.db"), nearly_free(tmp_path / "l.db")
    one.ask_all(["histogram(x)"])
    assert one.anybody() == two.anybody() == fugu.Pure(0.05)
    with pytest.raises(BudgetExceeded, match="anybody"):
        two.ask("histogram(y)")
    with pytest.raises(UsageError, match="another cap"):
        nearly_free(tmp_path / "l.db", cap=1).ask("histogram(x)")
    assert two.ask_all(["histogram(x)"])[0].cells == one.ask_all(["histogram(x)"])[0].cells  # read back, for nothing


def test_the_ledger_holds_the_cap_against_what_a_session_did_not_see(tmp_path, monkeypatch):
    """Between the look and the charge of one session another one takes the cap: the ledger refuses, inside its lock."""
    from fugu.session import session as asking

    one, two = nearly_free(tmp_path / "l.db"), nearly_free(tmp_path / "l.db")
    real = asking.allotted

    def slow(books, *more):
        found = real(books, *more)
        if books is two._books:
            monkeypatch.setattr(asking, "allotted", real)
            one.ask_all(["histogram(x)"])
        return found

    monkeypatch.setattr(asking, "allotted", slow)
    with pytest.raises(BudgetExceeded, match="against anybody"):
        two.ask_all(["histogram(y)"])
    assert one.anybody() == fugu.Pure(0.05)


def test_a_mechanism_from_outside_counts_and_a_cap_below_the_budget_binds():
    reference, today = world(np.random.default_rng(1))
    session = fugu.Session(today, reference, "s", fugu.Pure(3), cap=1, schema=WORDS)
    session.spend(silent(Fraction(3, 4)), ["w"])
    with pytest.raises(BudgetExceeded, match="cap does not allow") as refusal:
        session.spend(silent(Fraction(1, 2)), ["v"])
    assert refusal.value.left == fugu.Pure(0.25) and refusal.value.budget == fugu.Pure(1)
    session.spend(silent(Fraction(1, 4)), ["v"])
    assert session.anybody() == session.cap and float(session.spent().epsilon) <= 1


def test_a_record_is_in_one_group_of_each_column():
    """Groups with other noise: the second promise is the largest sum of one type, not the sum of the largest."""
    rng = np.random.default_rng(5)
    for _ in range(20):
        session, _ = random_session(rng)
        if session._belief.groups.of("g").names == ("g",):
            continue
        for text in ("count(w=u) by g", "mean(v) by g"):
            session.ask(text, 0.1, **({"bounds": (0, 2), "step": 1} if "mean" in text else {}))
        sums = [sum(q.own(group) for q in session.certificate.questions) for group in "gh"]
        assert exact(session.anybody().epsilon) == max(sums)


@pytest.mark.parametrize("cap", [0, -1, float("inf"), float("nan"), True, "1"])
def test_a_cap_is_a_number_above_nothing(cap):
    with pytest.raises(UsageError, match="cap"):
        nearly_free(cap=cap)


def test_nothing_goes_out_mostly_without_noise_unless_asked_for():
    free = nearly_free(cap=50)
    noised = free.ask_all(["count(x=u)", "histogram(y)"], weights=[1, 1])
    assert all(0.49 < a.exact <= EXACT and "exact" not in a.note for a in noised)
    assert [float(a.own) for a in noised] == pytest.approx([np.log(3), 2 * np.log(3)], rel=1e-8)
    loud = free.ask("count(x=v)", 0.001, allow_no_noise=True)
    assert loud.exact == pytest.approx(np.tanh(2.5)) and float(loud.own) == 5
    assert "exact: each number goes out without noise with probability 0.9867" in loud.note
    assert "exact" in repr(loud) and loud.to_json()["exact"] == loud.exact
    assert free.certificate["warnings"] == [f"count(x=v): {loud.note}"]
    assert fugu.verify(free.certificate).holds
    assert free.count(0.001, x="v").exact <= EXACT  # another request than the one that asked for it
    assert free.count(0.001, x="v", allow_no_noise=True).value == loud.value
