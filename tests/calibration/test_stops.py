"""Whoever gives work a time gets it back in that time, with what was done and what was not; no charge is cut short.

Wrong versions that are rejected: loops that report how far they are and never look at the clock, a comparison or levers
that are lost whole because a part was late, late work told as refuted, a draw that is stopped after its charge."""

from __future__ import annotations

import time
from importlib.resources import files

import pytest

import fugu
from fugu import progress
from fugu.channels.program import run
from fugu.errors import NotProvable, OutOfTime

CLINIC = str(files("fugu.examples") / "clinic_reference.csv")
SOON = 1.0
"""Seconds that stopped work may take beyond its time."""


@pytest.fixture(scope="module")
def slow():
    """Many secrets of many values: tens of seconds with a delta, a linear program that takes minutes."""
    return fugu.Scenario.from_table(CLINIC, publish="age", protect="chol", missing="drop")


@pytest.mark.parametrize("budget", [fugu.Pure(0.5), fugu.Approx(0.5, 1e-4)])
@pytest.mark.parametrize("seconds", [0.3, 1.5])
def test_a_comparison_ends_when_its_time_is_over_and_says_what_was_not_done(budget, seconds, slow):
    begun = time.monotonic()
    with progress.within(seconds):
        found = fugu.compare(slow, budget)
        rows, judged = (*found.rows, *found.beside, *found.ordinary), found.usable
    assert time.monotonic() - begun < seconds + SOON
    late = [row for row in rows if not row.proven and "longer than it is given" in row.why]
    assert late and judged.grade == "not known" and "longer than it is given" in judged.why


def test_levers_that_were_late_are_told_as_not_tried_and_the_whole_says_how_far_it_is(monkeypatch):
    scenario = fugu.Scenario.from_table(CLINIC, publish="chol", protect="smoker", bins=20)
    made, seen = fugu.calibrate(scenario, fugu.Pure(0.1)), []
    clock = time.monotonic

    def hear(what, done, total):
        seen.append((what, done, total))
        if (what, done) == ("levers", 3):
            monkeypatch.setattr(progress.time, "monotonic", lambda: clock() + 1e6)

    with progress.within(3600), progress.reporting(hear):
        found = fugu.usable(made, scenario)
    steps = [(done, total) for what, done, total in seen if what == "levers"]
    assert steps == [(k, steps[0][1]) for k in range(4)] and steps[0][1] > 4
    assert found.figures == fugu.usable(made, scenario, levers=False).figures and found.levers
    assert len(found.untried) >= 3 and all("longer than it is given" in text for text in found.untried)


def test_with_time_enough_nothing_changes():
    scenario = fugu.Scenario.from_table(CLINIC, publish="chol", protect="smoker", bins=20)
    with progress.within(3600):
        timed = fugu.compare(scenario, fugu.Approx(0.5, 1e-3))
        rows = (timed.rows, timed.beside, timed.ordinary, timed.usable.to_json())
    plain = fugu.compare(scenario, fugu.Approx(0.5, 1e-3))
    assert repr(rows) == repr((plain.rows, plain.beside, plain.ordinary, plain.usable.to_json()))


def test_a_solver_of_linear_programs_is_told_how_long_it_may_take():
    options = {}

    class Solver:
        run = getSolution = getInfo = lambda self: None
        getRunTime = lambda self: 7.0  # noqa: E731
        getModelStatus = modelStatusToString = lambda self, *_: "out of time"
        setOptionValue = lambda self, name, value: options.update({name: value})  # noqa: E731

    with pytest.raises(NotProvable, match="was not solved"):
        run(Solver())
    assert options == {}
    with progress.within(3), pytest.raises(NotProvable):
        run(Solver())
    assert 9 < options["time_limit"] <= 10


def test_work_that_was_charged_does_not_look_at_the_clock(tmp_path):
    """A charge whose work is stopped is spent for nothing: the ledger notes it as failed."""
    mechanism = fugu.calibrate(fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])), fugu.Pure(1))

    def produce():
        time.sleep(0.2)
        progress.report("rows drawn", 1, 2)
        return 5.0

    with progress.within(0.15), fugu.Ledger(tmp_path / "l.db", fugu.Pure(1), data="t") as ledger:
        assert ledger.spend("r", mechanism, produce) == 5.0


def test_what_is_charged_is_drawn_and_written_although_the_time_is_over(tmp_path, monkeypatch):
    """The clock jumps when the first row is drawn: the charge would be lost, and the release with it."""
    plan = fugu.Question(publish="chol", protect="smoker", epsilon=0.5, bins=20, reference=CLINIC)
    table, clock, ended = str(files("fugu.examples") / "clinic_today.csv"), time.monotonic, []

    def hear(what, done, total):
        if what == "rows drawn" and not ended:
            ended.append(what)
            monkeypatch.setattr(progress.time, "monotonic", lambda: clock() + 1e6)

    with progress.within(3600), progress.reporting(hear):
        went = fugu.release(plan, table, tmp_path / "out.csv", tmp_path / "l.db")
        assert ended and len(went) == 900 and went.files.page.exists()
        with pytest.raises(OutOfTime):
            progress.on_time()
    monkeypatch.undo()
    assert fugu.release(plan, table, tmp_path / "out.csv", tmp_path / "l.db").repeated
    assert progress.on_time() == float("inf")
