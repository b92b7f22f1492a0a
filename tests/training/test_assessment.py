"""Models on public rows: AUC and accuracy beside a constant guess, and a sentence where there is no gain."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from fugu.iterate import LinearRegression, LinearSVC, LogisticRegression
from fugu.training import utility
from fugu.training.utility import auc, of_labels, of_numbers, verdict

rng = np.random.default_rng(3)
X = rng.uniform(-1, 1, (600, 2))
Y = X[:, 0] * 3 + rng.normal(size=600) * 0.3
LABELS = np.where(Y > 0.5, "yes", "no")


@pytest.mark.parametrize("seed", range(20))
def test_auc_is_that_of_scikit_learn_with_ties(seed):
    own = np.random.default_rng(seed)
    scores, second = own.integers(0, 6, 40).astype(float), own.random(40) < 0.3
    second[:2] = True, False
    assert auc(scores, second) == pytest.approx(roc_auc_score(second, scores), abs=1e-12)
    pairs = np.subtract.outer(scores[second], scores[~second])
    assert auc(scores, second) == pytest.approx(np.mean((pairs > 0) + (pairs == 0) / 2))
    assert auc(scores, second) != pytest.approx(np.mean(pairs >= 0))  # the wrong version: ties as wins


def test_one_class_has_no_auc_and_a_constant_has_one_half():
    assert np.isnan(auc(np.arange(3.0), np.ones(3, dtype=bool)))
    assert of_labels(np.ones(3), np.ones(3, dtype=bool)).auc is None
    assert auc(np.zeros(10), np.arange(10) < 3) == 0.5


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_a_classifier_is_assessed_as_it_predicts(kind):
    model = kind(epsilon=50, bounds=(-1, 1), classes=("no", "yes")).fit(X, LABELS)
    found = model.assess(X, pd.Series(LABELS))
    assert found.score == model.score(X, LABELS) and found.rows == 600 and found.verdict == ""
    assert found.auc == pytest.approx(roc_auc_score(LABELS == "yes", model.decision_function(X)))
    assert found.constant == max(np.mean(LABELS == "yes"), np.mean(LABELS == "no"))
    assert "AUC" in found._repr_html_() and "border-left" not in found._repr_html_()


def test_a_regression_is_assessed_as_it_predicts():
    model = LinearRegression(epsilon=50, bounds=(-1, 1), target_bounds=(-6, 6)).fit(X, Y)
    found = model.assess(X, Y)
    assert found.score == pytest.approx(r2_score(Y, model.predict(X))) and found.auc is None and not found.verdict
    assert of_numbers(Y, np.ones(600)).verdict.startswith("the target is the same")


def test_a_model_of_noise_is_no_better_than_a_guess_and_says_so():
    """Reversed labels, drawn labels, a good model: worse, not clearly better, better."""
    second = rng.random(600) < 0.5
    worse = of_labels(np.where(second, -1.0, 1.0), second)
    assert (
        worse.verdict.startswith("the model is no better than the constant guess") and "larger epsilon" in worse.verdict
    )
    drawn = of_labels(np.where(np.arange(600) % 2, 1.0, -1.0), np.arange(600) % 200 < 101)
    assert drawn.verdict.startswith("the model is no")
    assert of_labels(np.where(second, 1.0, -1.0), second).verdict == ""
    assert "border-left" in worse._repr_html_()
    assert of_numbers(-Y, Y).verdict.startswith("the model is no better")


def test_a_small_gain_on_few_rows_is_not_clear(monkeypatch):
    second = np.arange(20) < 9
    scores = np.where(second, 1.0, -1.0)
    scores[:8] = -1.0  # one right more than the guess
    assert of_labels(scores, second).verdict.startswith("the model is not clearly better")
    monkeypatch.setattr(utility, "_gain", lambda differences: (float(np.mean(differences)), 0.0))
    assert of_labels(scores, second).verdict == ""  # without an interval it would pass as better
    assert verdict(0.1, 0.1, "R²") and not verdict(0.1, 0.0999, "R²")
