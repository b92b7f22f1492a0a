"""What a training is charged as, and that no second one of the same rows gets through."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import fugu
from fugu.errors import BudgetExceeded, CertificateError, DataKnown, NotComposable, UsageError
from fugu.ledger.charge import LAW, PER_ENTRY, Charge, read_mechanism
from fugu.training.record import TrainingCertificate

iterate = pytest.importorskip("fugu.iterate")

rng = np.random.default_rng(2)
X = rng.uniform(-1, 1, (120, 2))
Y = np.where(X[:, 0] > 0, "yes", "no")
BUDGET = fugu.Approx(1, 1e-5)


def model(**options):
    return iterate.LogisticRegression(**{"bounds": (-1, 1), "classes": ("no", "yes"), "epochs": 2, **options})


def opened(tmp_path, budget=BUDGET, data="clinic", **more):
    return fugu.Ledger(tmp_path / "l.db", budget, data=data, **more)


PRIORS = {
    "independent": ({}, PER_ENTRY),
    "features only": ({"private": "features"}, LAW),
    "target only": ({"private": "target"}, LAW),
    "any dependence": ({"prior": "group"}, LAW),
    "mixing": ({"prior": "mixing:0.3", "ordered": True}, LAW),
    "groups": ({"prior": "groups"}, LAW),
}


@pytest.mark.parametrize(("options", "kind"), PRIORS.values(), ids=PRIORS)
def test_only_what_is_private_for_each_record_is_charged_for_each_record(options, kind):
    groups = {"groups": np.arange(120) // 4} if options.get("prior") == "groups" else {}
    certificate = model(**options).fit(X, Y, **groups).certificate_
    charge = Charge.of_training(certificate)
    assert charge.kind == kind and charge.guarantee == certificate.budget == BUDGET
    assert float(certificate.proved.delta) <= float(charge.guarantee.delta)
    assert Charge.parse(charge.text()) == charge


def test_a_training_without_a_reading_stands_alone():
    """Without rules for every record the proof is not for the full product domain."""
    full = model().fit(X, Y).certificate_
    bare = TrainingCertificate.issue("LogisticRegression", full.budget, full.objective, full.accountant)
    assert Charge.of_training(full).kind == PER_ENTRY and Charge.of_training(bare).kind == LAW


def test_the_same_training_gives_the_same_model_and_another_one_is_refused(tmp_path):
    ledger = opened(tmp_path)
    one = model(ledger=ledger).fit(X, Y)
    with opened(tmp_path) as again:
        two = model(ledger=again).fit(X, Y)
    assert np.array_equal(one.coef_, two.coef_) and np.array_equal(one.intercept_, two.intercept_)
    assert ledger.spent() == BUDGET and len(ledger.history()) == 1
    for options in ({"epochs": 3}, {"epsilon": 0.5}, {"clip": 0.25}):
        with pytest.raises(BudgetExceeded):
            model(ledger=ledger, **options).fit(X, Y)
    assert ledger.spent() == BUDGET
    free = model().fit(X, Y)
    assert not np.array_equal(free.coef_, one.coef_)  # without a ledger nothing is kept


def test_a_budget_for_two_allows_two_and_adds_them(tmp_path):
    ledger = opened(tmp_path, fugu.Approx(2, 2e-5))
    model(ledger=ledger).fit(X, Y)
    model(ledger=ledger, epochs=3).fit(X, Y)
    assert ledger.spent() == fugu.Approx(2, 2e-5)
    with pytest.raises(BudgetExceeded):
        model(ledger=ledger, epochs=4).fit(X, Y)


def test_two_law_based_trainings_are_refused_whatever_the_budget(tmp_path):
    """They would be added if they were charged for each entry: the wrong version lets both through."""
    ledger = opened(tmp_path, fugu.Approx(50, 1e-3))
    model(ledger=ledger, prior="group").fit(X, Y)
    with pytest.raises(NotComposable):
        model(ledger=ledger, prior="group", epochs=3).fit(X, Y)
    with pytest.raises(NotComposable):
        model(ledger=ledger).fit(X, Y)


def test_the_rows_are_recognised_under_another_name_and_in_a_frame(tmp_path):
    model(ledger=opened(tmp_path)).fit(X, Y)
    other = opened(tmp_path, data="fresh")
    with pytest.raises(DataKnown, match="'clinic'"):
        model(ledger=other).fit(X[::-1], Y[::-1])
    with pytest.raises(DataKnown, match="'clinic'"):
        model(ledger=other).fit(pd.DataFrame(X, columns=["x0", "x1"]), Y)
    with pytest.raises(UsageError, match="other content"):
        model(ledger=opened(tmp_path)).fit(X / 2, Y)  # not the model of the first rows, as the stored value is


def test_a_ledger_that_does_not_look_at_the_rows_would_give_them_the_model_of_others(tmp_path, monkeypatch):
    """The wrong version: the request alone decides, and other rows get the stored model."""
    monkeypatch.setattr(fugu.Ledger, "recognise", lambda self, data: None)
    one = model(ledger=opened(tmp_path)).fit(X, Y)
    assert np.array_equal(model(ledger=opened(tmp_path)).fit(-X, Y).coef_, one.coef_)


def test_the_charge_is_on_disk_before_the_first_step(tmp_path, monkeypatch):
    from fugu.training import estimators

    ledger, seen = opened(tmp_path), []

    def dies(*args, **more):
        seen.append(ledger.spent())
        raise RuntimeError("the power failed")

    with monkeypatch.context() as patch:
        patch.setattr(estimators, "train", dies)
        with pytest.raises(RuntimeError):
            model(ledger=ledger).fit(X, Y)
    assert seen == [BUDGET] and ledger.spent() == BUDGET
    assert model(ledger=ledger).fit(X, Y).coef_.shape == (1, 2) and ledger.spent() == BUDGET


def test_clones_share_the_ledger_and_folds_of_the_rows_are_other_data(tmp_path):
    from sklearn.base import clone
    from sklearn.model_selection import GridSearchCV

    ledger = opened(tmp_path)
    made = model(ledger=ledger).fit(X, Y)
    assert clone(made).ledger is ledger
    search = GridSearchCV(made, {"clip": [0.25, 0.5]}, cv=2, error_score="raise")
    with pytest.raises(UsageError):
        search.fit(X, Y)
    assert ledger.spent() == BUDGET


def test_forged_certificates_and_blocks_are_refused():
    certificate = model().fit(X, Y).certificate_
    assert read_mechanism(certificate)[0] == Charge.of_training(certificate)
    edited = TrainingCertificate({**certificate.body, "budget": {"kind": "approx", "epsilon": "0.1", "delta": "1e-9"}})
    with pytest.raises(CertificateError):
        read_mechanism(edited)
    for more in ({"block": "a"}, {"point_masses": True}):
        with pytest.raises(UsageError, match="whole data"):
            read_mechanism(certificate, **more)
