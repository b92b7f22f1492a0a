"""A ledger under a Gaussian field: rhos add and are translated once, in sight of answers too; what it shows."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu import ZCDP, Approx, Charge, GaussianField, Ledger, PerEntryDP, Pure, Renyi, RenyiCurve
from fugu.errors import BudgetExceeded, NotComposable, NotProvable, UsageError
from fugu.guarantee.composition import promise
from fugu.ledger.accountant import Terms
from fugu.sequences import LatticeMechanism, Mean, Numbers

FIELD = GaussianField.ar1(12, 0.5, width=0.2)
DATA = np.linspace(-1, 1, 12)
QUERY = Mean(Numbers(-3, 3))
CHAIN = fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], 9)


@pytest.mark.parametrize("budget", [ZCDP(0.1), RenyiCurve({2: 0.2, 8: 0.8}), Renyi(4, 0.4), Approx(2, 1e-6)])
def test_rhos_add_and_are_translated_once(tmp_path, budget):
    with Ledger(tmp_path / "l.db", budget, prior=FIELD) as ledger:
        for name, rho in (("a", 0.02), ("b", 0.01)):
            mechanism = LatticeMechanism.of(QUERY, rho, FIELD)
            found = ledger.spend(name, mechanism, lambda m=mechanism: m.release(DATA, charged=True))
            assert found.guarantee == ZCDP(rho) and fugu.verify(found.certificate)
        assert ledger.spent() == fugu.translate(FIELD, ZCDP(0.03))
        again = LatticeMechanism.of(QUERY, 0.02, FIELD)
        assert ledger.spend("a", again, lambda: 0).value == ledger.spend("a", again, lambda: 1).value
        outside = PerEntryDP(len, ZCDP(0.001))
        assert ledger.spend("c", outside, lambda: outside.release(DATA, charged=True)).value == 12
        ledger.spend("d", Charge.per_entry(0.02), lambda: 1)
        assert ledger.spent() == fugu.translate(FIELD, ZCDP(Fraction(312, 10000)))
        with pytest.raises(BudgetExceeded, match="translated with the prior") as refusal:
            ledger.spend("e", LatticeMechanism.of(QUERY, 0.1), lambda: 0)
        assert refusal.value.asked == ZCDP(0.1) and refusal.value.budget == budget
        assert ledger.spent() <= budget and not fugu.translate(FIELD, ZCDP(0.1312)) <= budget
    assert Ledger(tmp_path / "l.db", budget, prior=FIELD).spent() == fugu.translate(FIELD, ZCDP(Fraction(312, 10000)))


def test_everything_that_fits_is_granted(tmp_path):
    """The budget for each entry that `dp_budget` names, in ten parts, and not one part more."""
    for number, budget in enumerate((ZCDP(0.1), Approx(1, 1e-5))):
        part = ZCDP(float(fugu.dp_budget(FIELD, budget).rho) / 10 * (1 - 1e-9))
        with Ledger(tmp_path / f"{number}.db", budget, prior=FIELD) as ledger:
            for k in range(10):
                ledger.spend(str(k), Charge.per_entry(part), lambda: 0)
            with pytest.raises(BudgetExceeded):
                ledger.spend("more", Charge.per_entry(part), lambda: 0)


def test_what_cannot_be_opened_is_refused_before_there_is_a_file(tmp_path):
    for budget in (Pure(1), Approx(1, 0)):
        with pytest.raises(NotProvable, match="Theorem 9"):
            Ledger(tmp_path / "l.db", budget, prior=FIELD)
    with pytest.raises(UsageError, match="width of its secrets"):
        Ledger(tmp_path / "l.db", ZCDP(1), prior=[FIELD, GaussianField.ar1(3, 0.5)])
    assert not list(tmp_path.iterdir())


def test_two_limits_are_not_mixed_by_looking_at_answers(tmp_path):
    """(epsilon, delta): sums of epsilons and sums of rhos have limits of their own; the first request decides."""
    pure, rho = Charge.per_entry(0.02), Charge.per_entry(ZCDP(0.001))
    with Ledger(tmp_path / "p.db", Approx(3, 1e-6), prior=FIELD) as ledger:
        ledger.spend("a", pure, lambda: 0)
        one = ledger.spent()
        assert one == fugu.translate(FIELD, Approx(0.02, 0), delta=1e-6)
        ledger.spend("b", pure, lambda: 0)
        assert ledger.spent() == fugu.translate(FIELD, Approx(0.04, 0), delta=1e-6)
        with pytest.raises(NotComposable, match="chosen after looking"):
            ledger.spend("c", rho, lambda: 0)
    with Ledger(tmp_path / "r.db", Approx(3, 1e-6), prior=FIELD) as ledger:
        for name, charge in (("a", rho), ("b", pure), ("c", rho)):
            ledger.spend(name, charge, lambda: 0)
        assert ledger.spent() == fugu.translate(FIELD, ZCDP(Fraction(22, 10000)))
    with Ledger(tmp_path / "z.db", ZCDP(3), prior=FIELD) as ledger:
        for name, charge in (("a", pure), ("b", rho), ("c", pure)):
            ledger.spend(name, charge, lambda: 0)
        assert ledger.spent() == fugu.translate(FIELD, ZCDP(Fraction(14, 10000)))
        with pytest.raises(NotComposable):
            ledger.spend("d", Charge.per_entry(Approx(0.1, 1e-9)), lambda: 0)
        with pytest.raises(NotComposable, match="chosen after looking"):
            ledger.spend("e", Charge.per_entry(RenyiCurve({2: 0.01, 4: 0.02})), lambda: 0)


def test_zcdp_without_a_prior_and_under_a_chain(tmp_path):
    with Ledger(tmp_path / "n.db", ZCDP(0.1)) as ledger:
        ledger.spend("a", Charge.per_entry(ZCDP(0.04)), lambda: 0)
        ledger.spend("b", Charge.per_entry(0.2), lambda: 0)
        assert ledger.spent() == ZCDP(0.06) and ledger.remaining() == ZCDP(0.04)
        with pytest.raises(BudgetExceeded):
            ledger.spend("c", Charge.per_entry(RenyiCurve({2: 0.001, 100: 0.05})), lambda: 0)
        with pytest.raises(BudgetExceeded):
            ledger.spend("d", Charge.per_entry(0.3), lambda: 0)
    chain = fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], 2)
    with Ledger(tmp_path / "c.db", RenyiCurve({2: 3, 8: 20}), prior=chain) as ledger:
        ledger.spend("a", Charge.per_entry(ZCDP(0.01)), lambda: 0, planned=True)
        ledger.spend("b", Charge.per_entry(ZCDP(0.01)), lambda: 0, planned=True)
        assert ledger.spent() == fugu.translate(chain, ZCDP(0.02))


def test_the_terms_know_a_field_among_several():
    assert Terms(ZCDP(1), FIELD).tied and Terms(ZCDP(1), {"a": CHAIN, "b": FIELD}).tied
    assert not Terms(ZCDP(1), CHAIN).tied and not Terms(ZCDP(1)).tied


def show(path, *more):
    found = CliRunner().invoke(cli.app, ["ledger", "show", str(path), *more], env={"COLUMNS": "220"})
    assert found.exit_code == 0
    return found.stdout


def test_show_tells_what_was_asked_spent_worth_and_left_for_every_kind_of_prior(tmp_path):
    path = tmp_path / "l.db"
    kinds = {
        "field": (ZCDP(0.1), FIELD, ZCDP(0.02), "a Gaussian field (12 entries, width 0.2)"),
        "chain": (Pure(1), CHAIN, Pure(0.1), "a Markov chain ("),
        "blocks": (Pure(1), fugu.IndependentBlocks(CHAIN, CHAIN), Pure(0.1), "independent blocks: "),
        "several": (Approx(1, 1e-6), [FIELD, FIELD], Pure(0.1), "2 independent blocks: a Gaussian field"),
        "records": (Pure(1), fugu.Records.example(), Pure(0.1), "independent records of a known law"),
        "none": (Pure(1), None, Pure(0.1), None),
    }
    worth = {}
    for name, (budget, prior, charge, _) in kinds.items():
        with Ledger(path, budget, data=name, prior=prior) as ledger:
            ledger.spend("first", Charge.per_entry(charge), lambda: 0)
            worth[name] = ledger.spent()
            with pytest.raises(BudgetExceeded):
                ledger.spend("second", Charge.per_entry(5), lambda: 0)
    told = {s["name"]: s for s in json.loads(show(path, "--json"))["data sets"]}
    words = show(path)
    for name, (_, prior, charge, described) in kinds.items():
        found = told[name]
        assert found["requests"] == {"settled": 1, "refused": 1}
        assert number(found["worth"]) == pytest.approx(float(getattr(worth[name], "rho", worth[name].epsilon)))
        assert found["left"] is not None and (described is None or described in words)
        assert found["believed"] is None if prior is None else found["believed"].startswith(described[:9])
        if prior is not None:
            assert number(found["spent"]) == float(getattr(charge, "rho", charge.epsilon)) != number(found["worth"])
    for said in ("asked 2 requests: 1 settled, 1 refused", "rho 0.02 (zCDP) for each entry, its prior left aside",
                 "with its prior", "the entries counted as independent"):  # fmt: skip
        assert said in words
    requests = json.loads(show(path, "--json"))["requests"]
    assert [r["worth so far"] is None for r in requests if r["data"] == "field"] == [False, True]


def number(told):
    return told["rho"] if "rho" in told else told["epsilon"]


def test_a_ledger_of_an_earlier_version_says_that_the_worth_is_not_known(tmp_path, monkeypatch):
    from fugu.ledger.store import Writing

    def without(self, kind, body, attached=""):
        append(self, kind, {name: part for name, part in body.items() if name != "worth"}, attached)

    append = Writing.append
    monkeypatch.setattr(Writing, "append", without)
    with Ledger(tmp_path / "l.db", Pure(1), prior=CHAIN) as ledger:
        ledger.spend("a", Charge.per_entry(0.1), lambda: 0)
    assert "worth not known: the file does not hold the prior" in show(tmp_path / "l.db")
    found = json.loads(show(tmp_path / "l.db", "--json"))["data sets"][0]
    assert found["left"] is None and found["spent is"] == "for each entry, its prior left aside"


def test_errors_name_both_terms(tmp_path):
    Ledger(tmp_path / "l.db", ZCDP(0.1), data="walks", prior=FIELD).spend("0", Charge.per_entry(0), lambda: 0)
    for terms, said in (
        ({"budget": ZCDP(0.2), "prior": FIELD}, r"another budget: with rho 0.1 \(zCDP\), and now rho 0.2"),
        (
            {"budget": ZCDP(0.1), "prior": FIELD.of_width(0.3)},
            r"other beliefs \(another reference, secret, schema or unit\): .*width 0.2.*width 0.3",
        ),
        ({"budget": ZCDP(0.1), "prior": None}, "other beliefs .*and now none"),
        (
            {"budget": ZCDP(0.1), "prior": FIELD, "entries": 13},
            "another number of entries: with none stated, and now 13",
        ),
    ):
        with pytest.raises(UsageError, match=said):
            Ledger(tmp_path / "l.db", data="walks", **terms)
    with Ledger(tmp_path / "l.db", ZCDP(0.1), data="walks", prior=FIELD) as ledger:
        with pytest.raises(BudgetExceeded) as refusal:
            ledger.spend("a", Charge.per_entry(ZCDP(1)), lambda: 0)
        error = refusal.value
        assert (error.asked, error.spent, error.left) == (ZCDP(1), Pure(0), ZCDP(0.1))
        assert all(said in str(error) for said in (promise(error.asked), repr(error.spent), repr(error.left)))
        assert math.isfinite(float(error.budget.rho))


def test_a_prior_in_words():
    from fugu.ledger.registration import believed

    class Own:
        def __repr__(self):
            return "secret words"

    assert believed(None) is None and believed(Own()) == "a prior of the class Own"
    assert believed({"a": FIELD, "b": CHAIN}).startswith("2 independent blocks: a Gaussian field (")
    assert len(believed([fugu.GaussianField.ar1(n, 0.5) for n in range(2, 40)])) == 200
    assert all(
        believed(prior) for prior in (fugu.DependentGroups(3), fugu.JointTable.example(), fugu.HiddenMarkov.example())
    )
