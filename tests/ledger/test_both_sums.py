"""The ledger keeps both sums: the budget, against those who hold the stated beliefs, and the cap, against anybody."""

from __future__ import annotations

import json
import math
import random
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from fugu.cli.app import app
from fugu.errors import BadBudget, BudgetExceeded, UsageError
from fugu.guarantee import Approx, Pure, Renyi
from fugu.ledger import Charge, Ledger
from fugu.ledger.charge import read_mechanism

LAW = Charge("law", Pure(0.5), anybody=Fraction(2))


def test_every_charge_has_an_epsilon_against_anybody():
    assert Charge.per_entry(0.1).anybody == Fraction(1, 10)
    assert Charge.per_entry(Approx(1, 1e-6)).anybody == 1
    assert Charge.per_entry(Renyi(2, 1)).anybody is None and Charge("law", Pure(1)).anybody is None
    for charge in (LAW, Charge.per_entry(0.1), Charge("per-entry", Pure(1), anybody=Fraction(3))):
        assert Charge.parse(charge.text()) == charge
    for wrong in (Fraction(9, 10), 1.0, "1"):
        with pytest.raises(UsageError, match="anybody"):
            Charge("per-entry", Pure(1), anybody=wrong)


def test_requests_of_earlier_versions_keep_their_names():
    """What is asked does not depend on the second epsilon, which they did not write."""
    assert read_mechanism(LAW)[1] == read_mechanism(Charge("law", Pure(0.5)))[1]
    assert "anybody" not in Charge.per_entry(0.5).text() and "anybody" not in Charge("law", Pure(0.5)).text()


def test_the_cap_refuses_what_the_budget_would_grant_and_says_which(tmp_path):
    with Ledger(tmp_path / "l.db", Pure(10), data="d", cap=0.5) as ledger:
        ledger.spend("a", Charge.per_entry(0.3), lambda: 1)
        with pytest.raises(BudgetExceeded, match="against anybody") as refusal:
            ledger.spend("b", Charge.per_entry(0.3), lambda: pytest.fail("must not run"))
        assert refusal.value.left == Pure(0.2) and refusal.value.budget == Pure(0.5)
        ledger.spend("c", Charge.per_entry(0.2), lambda: 1)  # exactly the cap
        assert ledger.against_anybody() == Pure(0.5) == ledger.spent() and ledger.cap == Fraction(1, 2)
        with pytest.raises(BudgetExceeded, match="budget of data set"):
            ledger.spend("d", Charge.per_entry(11), lambda: pytest.fail("must not run"))
    with Ledger(tmp_path / "l.db", Pure(10), data="e", cap=3) as other:
        other.spend("a", LAW, lambda: 1)
        assert other.against_anybody() == Pure(2) and other.spent() == Pure(0.5)
    other = Ledger(tmp_path / "l.db", Pure(10), data="f", cap=3)
    with pytest.raises(BudgetExceeded, match="asked none"):
        other.spend("a", Charge("law", Pure(0.5)), lambda: pytest.fail("must not run"))


def test_a_cap_is_given_once(tmp_path):
    path = tmp_path / "l.db"
    with Ledger(path, Pure(1), data="d") as early:  # as versions before 0.4 made it
        early.spend("a", Charge("law", Pure(1)), lambda: 1)
        assert early.cap is None and early.against_anybody() is None
    Ledger(path, Pure(1), data="d", cap=5).close()
    assert Ledger(path, Pure(1), data="d").cap == 5
    Ledger(path, Pure(1), data="d", cap=5.0).close()
    with pytest.raises(UsageError, match=r"another cap.*5.*6"):
        Ledger(path, Pure(1), data="d", cap=6)
    for wrong in (0, -1, math.inf, "1", True):
        with pytest.raises((BadBudget, UsageError), match="cap"):
            Ledger(path, Pure(1), data="new", cap=wrong)


def test_show_prints_both_promises_in_one_sentence(tmp_path):
    path = tmp_path / "l.db"
    with Ledger(path, Pure(1), data="d", cap=5) as ledger:
        ledger.spend("a", Charge("law", Pure(0.5), anybody=Fraction(2)), lambda: 1)
    told = CliRunner().invoke(app, ["ledger", "show", str(path)]).output
    assert "epsilon 0.5 against whoever believes the stated beliefs; epsilon 2 against anybody (cap epsilon 5)" in told
    found = json.loads(CliRunner().invoke(app, ["ledger", "show", str(path), "--json"]).output)
    assert found["data sets"][0]["cap"] == 5 and found["requests"][0]["against anybody"] is not None


def test_no_order_of_charges_breaks_either_promise(tmp_path):
    """Against sums by hand; a ledger that looked at one of the two alone would grant what the other forbids."""
    rng, both = random.Random(3), [0, 0]
    for case in range(40):
        budget, cap = Fraction(rng.randint(1, 9), 4), Fraction(rng.randint(1, 9), 4)
        with Ledger(tmp_path / f"{case}.db", Pure(budget), data="d", cap=cap) as ledger:
            spent = anybody = Fraction(0)
            for k in range(8):
                own = Fraction(rng.randint(0, 4), 8)
                most = own + Fraction(rng.randint(0, 4), 8)
                granted = spent + own <= budget and anybody + most <= cap
                try:
                    ledger.spend(f"{k}", Charge("per-entry", Pure(own), anybody=most), lambda: 1)
                    assert granted
                    spent, anybody = spent + own, anybody + most
                except BudgetExceeded as refusal:
                    assert not granted
                    both["anybody" in str(refusal)] += 1
            assert (ledger.spent(), ledger.against_anybody()) == (Pure(spent), Pure(anybody))
    assert min(both) > 10
