"""Charges whose losses compose: what a budget with a delta grants, states and refuses."""

from __future__ import annotations

import itertools
import json
import math

import pytest
from typer.testing import CliRunner

import fugu
from fugu import Approx, Gaussian, Laplace, Ledger, PerEntryDP, Pure, compose
from fugu.cli.app import app
from fugu.documents.per_entry import PerEntryCertificate
from fugu.errors import BadBudget, BudgetExceeded, CertificateError, NotComposable, NotProvable
from fugu.guarantee import ZCDP, outputs
from fugu.ledger import Charge
from fugu.ledger.accountant import Charges, Terms, at_delta, total
from hunting import search

TENTH = Charge.per_entry(0.1)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.db"


def granted(ledger, charge, most, **more):
    for k in range(most):
        try:
            ledger.spend(f"{k}", charge, lambda: 0, **more)
        except BudgetExceeded:
            return k
    return most


def test_planned_requests_cost_the_law_of_their_losses_and_others_their_sum(path):
    """epsilon 3 at delta 1e-6: 30 answers of .1 by sums, 46 by their law, and not one more than that allows."""
    budget = Approx(3, 1e-6)
    adaptive = Ledger(path, budget, data="adaptive")
    assert granted(adaptive, TENTH, 40) == 30 and adaptive.spent(1e-6) == Pure(3).to_approx(1e-6)
    planned = Ledger(path, budget, data="planned")
    n = granted(planned, TENTH, 100, planned=True)
    whole, more = compose([Pure(0.1)] * n), compose([Pure(0.1)] * (n + 1))
    assert n == 46 and whole.to_approx(1e-6).epsilon <= 3 < more.to_approx(1e-6).epsilon
    assert planned.spent() == whole.to_approx(1e-6) and planned.spent(1e-9) == whole.to_approx(1e-9)
    assert planned.against_anybody() == Pure(4.6)
    bells = Ledger(path, budget, data="bells")
    charge = Charge.per_entry(Gaussian(20, 1).losses(1))
    assert granted(bells, charge, 30, planned=True) == 30 and bells.against_anybody() is None
    assert bells.spent() == compose([Gaussian(20, 1).losses(1)] * 30).to_approx(1e-6)
    assert bells.charge_of("3") == charge == Charge.parse(charge.text())


def test_sums_stay_as_they_are_where_they_fit(path):
    ledger = Ledger(path, Approx(1, 1e-6))
    granted(ledger, TENTH, 5, planned=True)
    assert ledger.spent() == Pure(0.5) and ledger.remaining() == Approx(0.5, 1e-6)
    assert ledger.spent(1e-6) == compose([Pure(0.1)] * 5).to_approx(1e-6)
    ledger = Ledger(path, Pure(1), data="pure")
    assert granted(ledger, TENTH, 20, planned=True) == 10 and ledger.spent(1e-6).epsilon < 1


def test_a_request_that_was_not_planned_is_refused_after_planned_ones(path):
    """Sums with a delta and the law are two limits: which of them it is must not depend on answers."""
    for new in (TENTH, Charge.per_entry(Approx(0, 1e-6))):
        ledger = Ledger(path, Approx(1, 1e-6), data=new.text()[:400])
        ledger.spend("first", TENTH, lambda: 0, planned=True)
        with pytest.raises(NotComposable, match="planned=True in every request") as refused:
            ledger.spend("second", new, lambda: pytest.fail("must not run"))
        assert refused.value.exit_code == 4
        ledger.spend("third", TENTH, lambda: 0, planned=True)
    unplanned = Ledger(path, Approx(1, 1e-6), data="other")
    unplanned.spend("first", TENTH, lambda: 0)
    unplanned.spend("second", Charge.per_entry(Approx(0.1, 1e-7)), lambda: 0, planned=True)
    assert unplanned.spent() == Approx(0.2, 1e-7)
    pure = Ledger(path, Pure(1), data="without a delta")
    pure.spend("first", TENTH, lambda: 0, planned=True)
    pure.spend("second", TENTH, lambda: 0)


def test_what_two_limits_would_allow():
    """The protocol that the refusal is about: after half of the answers another limit. Each path keeps delta; the
    protocol has 1.38 times that (docs/proofs/loss-laws.md#what-is-false)."""
    terms = Terms(Approx(1, 1e-3))
    first, half = Charges(Charge.per_entry(0.5), 1, 0, True), Charge.per_entry(0.50258)
    law = total([first, Charges(half, 1, 1, True)], terms)
    assert law.epsilon <= 1 and total([first], terms) == Pure(0.5)
    with pytest.raises(NotComposable):
        total([first, Charges(Charge.per_entry(Approx(0, 1e-3)), 1, 1, False)], terms)


def test_kinds_that_had_no_sum_have_a_law(path):
    ledger = Ledger(path, Approx(3, 1e-5))
    ledger.spend("rho", Charge.per_entry(ZCDP(0.02)), lambda: 0, planned=True)
    ledger.spend("delta", Charge.per_entry(Approx(0.1, 1e-6)), lambda: 0, planned=True)
    ledger.spend("noise", Charge.per_entry(Laplace(10, "1/16").losses(1)), lambda: 0, planned=True)
    assert ledger.spent().epsilon < 1.5
    adaptive = Ledger(path, Approx(3, 1e-5), data="adaptive")
    adaptive.spend("first", Charge.per_entry(ZCDP(0.02)), lambda: 0)
    with pytest.raises(NotComposable, match="no theorem"):
        adaptive.spend("second", Charge.per_entry(Gaussian(20, 1).losses(1)), lambda: 0)
    with pytest.raises(BadBudget):
        Ledger(path, compose([Pure(1)]), data="composed")
    with pytest.raises(BadBudget):
        Charge.per_entry(outputs({0: 1}, {1: 1}))


def test_a_ledger_is_shown_at_a_delta(path):
    granted(Ledger(path, Approx(20, 1e-6), data="adaptive"), TENTH, 100)
    granted(Ledger(path, Approx(20, 1e-6), data="planned"), TENTH, 100, planned=True)
    run = CliRunner().invoke(app, ["ledger", "show", str(path), "--delta", "1e-6"])
    lines = [line for line in run.output.splitlines() if line.startswith("  law")]
    assert lines == [
        "  law   epsilon 4.77457 and delta 1e-6, if what was charged did not depend on answers",
        "  law   epsilon 4.77457 and delta 1e-6",
    ]
    told = json.loads(CliRunner().invoke(app, ["ledger", "show", str(path), "--delta", "1e-6", "--json"]).output)
    assert [s["at delta"][0]["epsilon"] for s in told["data sets"]] == pytest.approx([4.774567588] * 2)
    assert CliRunner().invoke(app, ["ledger", "show", str(path), "--delta", "2"]).exit_code != 0
    assert "law" not in CliRunner().invoke(app, ["ledger", "show", str(path)]).output


@search("planned totals against sums and enumeration", quick=25)
def test_planned_totals_are_the_least_sound_account(rng):
    epsilons = rng.uniform(0.01, 0.5, rng.integers(1, 5)).round(2).tolist()
    charges = [Charges(Charge.per_entry(e), 1, k, True) for k, e in enumerate(epsilons)]
    delta = float(rng.choice([1e-2, 1e-4, 1e-6]))
    least, granted_by = at_delta(charges, delta)
    pairs = [(1.0, 1.0)]
    for e in epsilons:
        p = 1 / (1 + math.exp(-e))
        pairs = [(x * a, y * b) for (x, y), (a, b) in itertools.product(pairs, ((p, 1 - p), (1 - p, p)))]
    truth = sum(max(0, x - math.exp(least.epsilon) * y) for x, y in pairs)
    assert granted_by == "" and truth <= delta + 1e-12 and least.epsilon <= sum(epsilons) + 1e-12
    before = sum(max(0, x - math.exp(least.epsilon - 1e-6) * y) for x, y in pairs)
    assert least.epsilon < 1e-6 or before >= delta - 1e-9
    for budget in (Approx(math.nextafter(least.epsilon, math.inf), delta), Approx(max(0, least.epsilon - 1e-3), delta)):
        fits = total(charges, Terms(budget))
        assert (fits.epsilon <= budget.epsilon) == (budget.epsilon >= least.epsilon) or sum(epsilons) <= budget.epsilon
    return 3


def test_a_mechanism_from_outside_states_its_steps(path):
    """Its certificate lists them, exactly; a ledger charges their law; a map or a delta beside it is refused."""
    steps = compose([Gaussian(20, 1).losses(1)] * 20 + [Pure(0.1)] * 3)
    mechanism = PerEntryDP(sum, steps, name="twenty sums and three answers")
    assert mechanism.guarantee == steps and compose([mechanism] * 2) == compose([steps] * 2)
    release = mechanism.release([1, 2])
    assert release.certificate["guarantee"] == {"kind": "Composed", "parts": "3 x bound 1/10 0; 20 x gaussian 400 1"}
    assert PerEntryCertificate.parse(release.certificate.body).guarantee == steps
    assert "23 releases, together epsilon" in release.certificate.promised(steps)
    assert fugu.verify(release.certificate).holds is False  # the word of who wrote it is not checked
    assert "factor of at most" in release.certificate.quoted()[0]
    with Ledger(path, Approx(3, 1e-6)) as ledger:
        assert ledger.spend("all of it", mechanism, lambda: 1) == 1
        assert ledger.spent() == steps.to_approx(1e-6)
    with pytest.raises(BadBudget, match="delta"):
        PerEntryDP(lambda data: 0, steps, 1e-6)
    for nothing in (compose([Pure(0)]), compose([Pure(math.inf)])):
        with pytest.raises(BadBudget, match="finite and above 0"):
            PerEntryDP(lambda data: 0, nothing)

    class Mapped:
        def invoke(self, data):
            return 0

        def map(self, d_in):
            return 0.1

    with pytest.raises(NotProvable, match="map"):
        PerEntryDP(Mapped(), steps)
    forged = {**release.certificate.body, "guarantee": {"kind": "Composed", "parts": "0 x bound 1 0"}}
    with pytest.raises(CertificateError):
        _ = PerEntryCertificate(forged).guarantee


def test_what_earlier_versions_granted_is_stated():
    """They took planned requests and others in any order, by their sums: these are told, and nothing is added."""
    both = [Charges(TENTH, 3, 0, True), Charges(Charge.per_entry(Approx(0.1, 1e-8)), 1, 5, False)]
    terms = Terms(Approx(1, 1e-6))
    assert total(both, terms.to_tell) == Approx(0.4, 1e-8)
    with pytest.raises(NotComposable):
        total(both, terms)
