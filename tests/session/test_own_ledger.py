"""From Python as from the command line: a table that is a file is charged to the user's own ledger, and where no ledger
is charged, that is said."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
import pytest

import fugu
from fugu.errors import AlreadyReleased, BudgetExceeded, BudgetRefused, DataKnown, NoiselessRelease, UsageError
from fugu.guarantee.composition import UNCHARGED
from fugu.ledger import Books, books
from fugu.ledger.events import CHARGED

RNG = np.random.default_rng(7)
AGE = {"bounds": (0, 9), "step": 3}


def made(n):
    ill = RNG.integers(0, 2, n)
    return {
        "ill": np.where(ill, "y", "n").tolist(),
        "age": np.clip(RNG.normal(4 + ill, 2, n), 0, 9).round().astype(int).tolist(),
    }


REFERENCE, TODAY = made(240), made(60)


@pytest.fixture
def table(tmp_path):
    path = tmp_path / "today.csv"
    with path.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(TODAY)
        rows.writerows(zip(*TODAY.values(), strict=True))
    return path


@pytest.fixture
def own():
    return Path(os.environ["FUGU_LEDGER"])


def session(table, budget=1, **more):
    return fugu.Session(table, REFERENCE, "ill", fugu.Pure(budget), **more)


def charged(own):
    entries = Books(own).read(books.history) if own.is_file() else []
    return [(entry.data, entry.request) for entry in entries if entry.state in CHARGED]


@pytest.mark.parametrize("kind", [str, Path])
def test_a_session_of_a_file_is_charged_to_the_users_own_ledger_under_its_name(kind, table, own):
    first = session(kind(table))
    assert not own.exists()  # nothing was asked yet
    told = first.ask("mean(age)", 0.5, **AGE)
    assert [data for data, _ in charged(own)] == ["today.csv"]
    assert "ledger" not in told.note and "no ledger" not in repr(told) and "charged as 'today.csv'" in repr(first)
    again = session(kind(table))
    assert again.ask("mean(age)", 0.5, **AGE).value == told.value and len(charged(own)) == 1
    with pytest.raises(BudgetExceeded):
        again.ask("sum(age)", 0.9, **AGE)


def test_another_budget_than_the_own_ledger_has_is_refused_and_another_name_is_another_data_set(table, own):
    session(table).ask("mean(age)", 0.5, **AGE)
    with pytest.raises(UsageError, match="registered with another budget"):
        session(table, 2).ask("mean(age)", 0.5, **AGE)
    session(table, data="today.csv").ask("mean(age)", 0.5, **AGE)
    with pytest.raises(DataKnown):
        session(table, data="other").ask("mean(age)", 0.5, **AGE)
    assert len(charged(own)) == 1


@pytest.mark.parametrize("where", ["frame", "file"])
def test_a_session_without_a_ledger_says_so_once(where, table, own):
    opened = session(TODAY) if where == "frame" else session(table, ledger=False)
    first, second = opened.ask("mean(age)", 0.3, **AGE), opened.ask("sum(age)", 0.3, **AGE)
    assert UNCHARGED in first.note and "no ledger" in repr(first) and "no ledger" in first._repr_html_()
    assert "no ledger" not in second.note + repr(second) and "no ledger" in repr(opened)
    assert not own.exists()


def test_a_name_or_a_truth_value_without_a_ledger_is_refused(table, tmp_path):
    for wrong in ({"ledger": False, "data": "x"}, {"ledger": True}, {"data": "a/b"}):
        with pytest.raises(UsageError):
            session(table, **wrong)
    with pytest.raises(UsageError):
        session(TODAY, data="x")
    assert "charged as 'data'" in repr(session(table, ledger=tmp_path / "named.db"))


def test_one_text_is_one_question_and_a_rehearsal_is_one_short_line():
    opened = session(TODAY)
    found = opened.rehearse("count(age=4)", 0.3)
    assert len(found.questions) == 1 and found.request == opened.rehearse(["count(age=4)"], 0.3).request
    assert (
        repr(found).startswith("Rehearsal(1 question, nothing charged or drawn, epsilon 0.") and len(repr(found)) < 160
    )
    assert [answer.value for answer in opened.ask_all("count(age=4)", 0.3)] and opened.answered("count(age=4)", 0.3)
    for wrong in ("", [], 3):
        with pytest.raises(UsageError):
            opened.rehearse(wrong)


def mechanism(epsilon=1, public_prior=False, **fields):
    scenario = fugu.Scenario.from_table({**REFERENCE, **fields}, "age", "ill", public_prior=public_prior)
    return fugu.calibrate(scenario, fugu.Pure(epsilon))


@pytest.mark.parametrize("kind", [str, Path])
def test_a_column_of_a_file_is_charged_to_the_users_own_ledger_and_read_back(kind, table, own):
    made = mechanism()
    first = fugu.release_column(made, kind(table))
    assert [data for data, _ in charged(own)] == ["today.csv"] and first.note == "" and "ledger" not in repr(first)
    for again in (made, mechanism()):  # the same mechanism, or made again as another process would
        found = fugu.release_column(again, kind(table))
        assert found.values.tolist() == first.values.tolist() and found.certificate.body == first.certificate.body
    assert len(charged(own)) == 1


def test_a_column_closes_the_table_to_all_else(table, own):
    fugu.release_column(mechanism(), table)
    with pytest.raises(BudgetRefused, match="law-based"):
        fugu.release_column(mechanism(0.5), table)
    with pytest.raises(BudgetRefused, match="law route"):
        session(table).ask("mean(age)", 0.5, **AGE)
    with pytest.raises(DataKnown):
        fugu.release_column(mechanism(), table, data="another name")
    assert len(charged(own)) == 1


def test_statistics_close_a_file_to_columns(table, own):
    session(table).ask("mean(age)", 0.5, **AGE)
    with pytest.raises(BudgetRefused, match="charged to each record"):
        fugu.release_column(mechanism(), table)
    assert len(charged(own)) == 1


@pytest.mark.parametrize("where", ["frame", "file"])
def test_a_column_without_a_ledger_says_so(where, table, own):
    told = {} if where == "frame" else {"ledger": False}
    found = fugu.release_column(mechanism(), TODAY if where == "frame" else table, **told)
    assert found.note == UNCHARGED and "no ledger" in repr(found) and "no ledger" in found._repr_html_()
    assert not own.exists()


def test_a_column_that_is_refused_is_not_charged(table, own, tmp_path):
    silent = mechanism(ill=["y", "n"] * 120, age=[1, 1, 2, 2] * 60)
    with pytest.raises(NoiselessRelease):
        fugu.release_column(silent, table)
    used = mechanism()
    fugu.release_column(used, TODAY)
    with pytest.raises(AlreadyReleased):
        fugu.release_column(used, table)
    assert not own.exists()
    named = tmp_path / "named.db"
    fugu.release_column(mechanism(), TODAY, ledger=named, data="clinic")
    assert [data for data, _ in charged(named)] == ["clinic"] and not own.exists()


def test_an_answer_about_a_file_is_charged_read_back_and_closes_the_table(table, own):
    asked = ("mean(age)", "ill", fugu.Pure(0.1), REFERENCE)
    first = fugu.answer(table, *asked, **AGE)
    assert [data for data, _ in charged(own)] == ["today.csv"] and "no ledger" not in repr(first)
    assert fugu.answer(str(table), *asked, **AGE).cells == first.cells and len(charged(own)) == 1
    with pytest.raises(BudgetRefused, match="law-based"):
        fugu.answer(table, "count(age=4)", *asked[1:])
    apart = fugu.answer(table, *asked, ledger=False, **AGE)
    assert apart.note == UNCHARGED and "no ledger" in repr(apart) and "no ledger" in apart._repr_html_()
    assert fugu.answer(TODAY, *asked, **AGE).note == UNCHARGED and len(charged(own)) == 1


def test_a_first_question_that_is_refused_leaves_no_ledger_and_no_key(table, own):
    asked = session(table, budget=0.5)
    with pytest.raises(BudgetExceeded):
        asked.ask("count(age=3)", 1)
    assert not list(own.parent.glob(f"{own.name}*"))
    assert asked.spent() == fugu.Pure(0) and asked.remaining() == fugu.Pure(0.5)
    asked.ask("count(age=3)", 0.2)
    assert len(charged(own)) == 1 and asked.spent() > fugu.Pure(0)
    with pytest.raises(BudgetExceeded):
        session(table, budget=0.5).ask("count(age=4)", 0.5)
    assert len(charged(own)) == 1, "another handle sees what was charged by this one"
