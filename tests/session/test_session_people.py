"""Sessions about the same people, and beside trainings: one budget for each person, with a delta where one is spent."""

from __future__ import annotations

import random
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.errors import BadBudget, BudgetExceeded, BudgetRefused
from fugu.guarantee import Approx, Pure
from fugu.guarantee.asks import exact
from fugu.ledger import Charge, Ledger
from fugu.training.estimators import LinearRegression

RNG = np.random.default_rng(4)
N = 120


def table(seed, first=0, rows=N):
    rng = np.random.default_rng(seed)
    ill = rng.integers(0, 2, rows)
    return {
        "id": np.arange(first, first + rows), "ill": np.where(ill, "y", "n"),
        "age": np.clip(rng.normal(50 + 5 * ill, 10), 0, 100).round(), "ward": rng.choice(["a", "b"], rows),
    }  # fmt: skip


REFERENCE = table(0, 10**6, 400)


def opened(tmp_path, name, data, budget=Pure(1), **more):
    return fugu.Session(data, REFERENCE, "ill", budget, unit="id", ledger=tmp_path / "l.db", data=name, **more)


def test_months_of_one_panel_share_one_budget(tmp_path):
    january, february = table(1), table(2)
    first = opened(tmp_path, "january", january, cap=0.5)
    first.ask("mean(age)", bounds=(0, 100), epsilon=0.4)
    own = exact(first.anybody().epsilon)
    second = opened(tmp_path, "february", february)
    second.ask("count(ill=y)", epsilon=0.05)
    spent = exact(second.spent().epsilon)
    assert spent >= own  # under its own belief: what it asked, and the plain sum of what was asked elsewhere
    assert spent <= own + Fraction(1, 20)
    with pytest.raises(BudgetExceeded):
        second.ask("median(age)", bounds=(0, 100), epsilon=0.99)
    apart = opened(tmp_path, "others", table(3, first=5000))
    apart.ask("count(ill=y)", epsilon=0.9)
    assert exact(apart.spent().epsilon) <= Fraction(9, 10)
    told = opened(tmp_path, "another hospital", table(7), other_people=["january", "february"])
    told.ask("count(ill=y)", epsilon=0.9)


def test_a_table_that_is_overwritten_with_other_people_is_not_covered_by_the_word(tmp_path):
    wide = np.arange(N) + 0.5
    first = opened(tmp_path, "B.csv", {**table(1), "wide": wide[::-1]}, cap=1)
    first.ask("count(ill=y)", epsilon=1)
    told = opened(tmp_path, "A.csv", {**table(2, first=500), "wide": wide}, cap=1, other_people=["B.csv"])
    told.ask("count(ill=y)", epsilon=0.1)
    with pytest.raises(BudgetRefused, match=r"B\.csv"):
        opened(tmp_path, "A.csv", {**table(3), "wide": wide}).ask("mean(age)", bounds=(0, 100), epsilon=0.9)


def test_the_cap_of_a_data_set_to_which_nothing_was_charged_is_not_shown(tmp_path):
    for budget, shown in ((Pure(0.1), 5), (Pure(1), Fraction(1, 2))):  # replaced by a session with another budget
        Ledger(tmp_path / "l.db", budget, data="t", cap=0.5).close()
        session = opened(tmp_path, "t", table(1))
        assert session._books.cap == shown
        session.ask("count(ill=y)", epsilon=0.1)
        assert session._books.cap == shown
        (tmp_path / "l.db").unlink()


def test_nobody_is_promised_less_than_the_budget_whatever_is_asked_of_which_month(tmp_path):
    """Random requests of three months that overlap: for each person the plain sum is within the cap, and what each
    month's belief prices for it plus what others cost is within the budget, from the charges on disk."""
    rng = random.Random(8)
    months = {name: table(k, first, 100) for k, (name, first) in enumerate((("a", 0), ("b", 50), ("c", 100)))}
    sessions = {name: opened(tmp_path, name, data, cap=1) for name, data in months.items()}
    refused = 0
    for k in range(14):
        name = rng.choice(list(sessions))
        try:
            sessions[name].ask(rng.choice(["mean(age)", "count(ill=y)", "histogram(ward)"]) if k else "mean(age)",
                               epsilon=rng.choice([0.1, 0.2, 0.4]), bounds=None)  # fmt: skip
        except (BudgetRefused, fugu.errors.UsageError):
            refused += 1
    plain = {name: sum(exact(c.charge.guarantee.epsilon) * c.count for c in s._books.ledger.charges())
             for name, s in sessions.items()}  # fmt: skip
    own = {name: s._belief.with_groups(s._seen.belief.groups).worth(
        s._belief.read([(c.charge.guarantee, c.charge.reads, c.count) for c in s._books.ledger.charges()])).spent
        if s._seen is not None else Fraction(0) for name, s in sessions.items()}  # fmt: skip
    for person in range(200):
        holding = [name for name, data in months.items() if person in data["id"]]
        for name in holding:
            assert own[name] + sum(plain[other] for other in holding if other != name) <= 1
        assert sum(plain[name] for name in holding) <= 1


def test_what_is_left_and_a_refusal_count_other_tables_and_name_them(tmp_path):
    """Half of a table whose budget is small: its own is large, and little more is granted to those people."""
    today = table(1)
    half = {name: column[::2] for name, column in today.items()}
    first = opened(tmp_path, "today", today)
    first.ask("mean(age)", bounds=(0, 100), epsilon=1)
    own = exact(first.anybody().epsilon)
    wide = opened(tmp_path, "wide", half, Pure(20))
    assert wide.ask("count").remaining == wide.remaining() == wide._books.ledger.remaining() == first.remaining()
    assert first.remaining().epsilon < 0.8
    assert exact(wide.spent().epsilon) == own == exact(wide._books.ledger.spent().epsilon)
    with pytest.raises(BudgetExceeded, match=r"'today'.*other_people=, --other-people"):
        wide.ask("count(ill=y)", epsilon=0.9)
    narrow = opened(tmp_path, "narrow", half)
    with pytest.raises(BudgetExceeded, match=f"spent 0 here and {float(own):.6g} elsewhere, of 1") as refusal:
        narrow.ask("count(ill=y)", epsilon=0.1)
    said = str(refusal.value)
    assert "People of this table are in 'today' too" in said and "other_people=" in said and "cap=" in said
    assert "smaller epsilon" not in said and "60" not in said
    with pytest.raises(BudgetExceeded, match="in 'today' too"):
        narrow.ask("count(ill=y)")


X = RNG.normal(size=(N, 2)).clip(-3, 3)


def trained(ledger, epsilon, delta=1e-6):
    data = {"a": X[:, 0].tolist(), "b": X[:, 1].tolist()}
    model = LinearRegression(epsilon=epsilon, delta=delta, bounds=([-3, -3], [3, 3]), target_bounds=(0, 100),
                             prior="independent", epochs=2)  # fmt: skip
    certificate_charge = Charge.per_entry(Approx(epsilon, delta))
    del model
    return ledger.spend(f"training {epsilon} {len(data)}", certificate_charge, lambda: 1)


@pytest.mark.parametrize("first", ["training", "session"])
def test_trainings_and_questions_live_together_under_one_budget_with_a_delta(tmp_path, first):
    today, budget = table(5), Approx(2, 1e-5)
    path = tmp_path / "l.db"
    marks = fugu.ledger.fingerprints(today, today["id"].tolist())

    def session():
        return opened(tmp_path, "today", today, budget)

    def training(epsilon):
        with Ledger(path, budget, data="today", fingerprint=marks) as ledger:
            return trained(ledger, epsilon)

    if first == "session":
        session().ask("count")  # costs nothing, and closes nothing
        session().ask("mean(age)", bounds=(0, 100), epsilon=0.2)
    assert training(0.5) == 1
    asking = session()
    asking.ask("count(ill=y)", epsilon=0.3)
    with Ledger(path, budget, data="today", prior=None) as ledger:
        plain = ledger.against_anybody()
        assert plain.delta == pytest.approx(1e-6) and exact(plain.epsilon) <= 2
        assert ledger.spent() == plain  # beside a delta the plain sums are held
    rest = 2 - exact(plain.epsilon)
    with pytest.raises(BudgetExceeded):
        training(float(rest) + 0.01)
    for k in range(40):  # the session never goes beyond what is left either
        try:
            asking.ask(f"count(age<{k + 30})", epsilon=0.2)
        except (BudgetRefused, fugu.errors.UsageError):
            break
    with Ledger(path, budget, data="today", prior=None) as ledger:
        assert exact(ledger.against_anybody().epsilon) <= 2
    assert asking.certificate.verdict().holds


def test_a_pure_budget_has_no_room_for_a_delta_and_a_session_without_a_ledger_none_for_one(tmp_path):
    today = table(6)
    opened(tmp_path, "today", today).ask("count(ill=y)", epsilon=0.1)
    with pytest.raises(fugu.errors.NotComposable), Ledger(tmp_path / "l.db", Pure(1), data="today") as ledger:
        trained(ledger, 0.1)
    with pytest.raises(BadBudget, match="ledger"):
        fugu.Session(today, REFERENCE, "ill", Approx(1, 1e-6))
