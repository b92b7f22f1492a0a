"""The estimators: scikit-learn's own checks, accuracy, guarantees recomputed from outside, refusals."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import check_estimator

import fugu
from fugu.errors import BadBudget, BadTable, MissingExtra, NotProvable, UsageError
from fugu.iterate import AR1, LinearRegression, LinearSVC, LogisticRegression, Mixing
from fugu.loss.search.normal import fast_gaussian_delta
from fugu.loss.shifts import gaussian_mu
from fugu.training.allocation import covered

ALL = [LinearRegression, LogisticRegression, LinearSVC]
TWO_FITS = "it trains twice and expects the same model: the noise of a private training is fresh every time"
TWICE = {
    "check_fit_idempotent": TWO_FITS,
    "check_supervised_y_2d": TWO_FITS,
    "check_regressors_int": TWO_FITS,
    "check_regressor_data_not_an_array": TWO_FITS,
    "check_classifier_data_not_an_array": TWO_FITS,
}
CELLS = "it expects an error for what stands in cells: one private record would decide whether there is a model"
LABELLED = "it expects an error, or other classes, for the labels that occur: classes are declared, never looked up"
TOTAL = {"check_complex_data": CELLS, "check_supervised_y_no_nan": CELLS}
DECLARED = {
    **TOTAL,
    "check_classifiers_regression_target": LABELLED,
    "check_classifier_not_supporting_multiclass": LABELLED,
    "check_classifiers_classes": LABELLED,
}
rng = np.random.default_rng(5)
X = rng.uniform(-1, 1, (400, 3))
Y = 5 + X @ [3.0, -2.0, 0.0] + rng.normal(size=400) * 0.2
LABELS = np.where(Y > 5, "yes", "no")


def made(kind, **options):
    own = {"target_bounds": (-1, 11)} if kind is LinearRegression else {"classes": ("no", "yes")}
    return kind(**{"bounds": (-1, 1), **own, **options})


def target(kind):
    return Y if kind is LinearRegression else LABELS


def checked(estimator, expected):
    found = check_estimator(estimator, expected_failed_checks=expected, on_fail=None, on_skip=None)
    return {r["check_name"] for r in found if r["status"] == "failed"}, found


def for_checks(kind):
    """The labels of nearly all checks of scikit-learn are 0 and 1."""
    own = {"target_bounds": (-5, 5)} if issubclass(kind, LinearRegression) else {"classes": [0, 1]}
    return kind(epsilon=300.0, max_norm=4, epochs=20, batch_size=1000, **own)


@pytest.mark.parametrize("kind", ALL)
def test_scikit_learns_checks_fail_only_where_declared(kind):
    failed, found = checked(for_checks(kind), {**TWICE, **(TOTAL if kind is LinearRegression else DECLARED)})
    assert failed == set() and len(found) > 40


class _Quiet:
    def fit(self, X, y, order=None, groups=None):
        return self._fit(X, y, order, groups, noiseless=True)


class _Informed(_Quiet):
    """Declares whatever two labels there are: right for the made data of the checks, and for nothing else."""

    def fit(self, X, y, order=None, groups=None):
        told, found = self.classes, np.unique(np.asarray(y)) if y is not None else ()
        self.classes = found if len(found) == 2 and found.dtype.kind != "c" else told
        try:
            return super().fit(X, y, order, groups)
        finally:
            self.classes = told


class QuietLinearRegression(_Quiet, LinearRegression):
    __init__ = LinearRegression.__init__


class QuietLogisticRegression(_Quiet, LogisticRegression):
    __init__ = LogisticRegression.__init__


class QuietLinearSVC(_Quiet, LinearSVC):
    __init__ = LinearSVC.__init__


class InformedLogisticRegression(_Informed, LogisticRegression):
    __init__ = LogisticRegression.__init__


class InformedLinearSVC(_Informed, LinearSVC):
    __init__ = LinearSVC.__init__


class Broken(QuietLinearRegression):
    def predict(self, X):
        return super().predict(X)[:-1]

    __init__ = LinearRegression.__init__


@pytest.mark.parametrize(
    ("kind", "left"),
    [
        (QuietLinearRegression, set(TOTAL)),
        (QuietLogisticRegression, set(DECLARED)),
        (QuietLinearSVC, set(DECLARED)),
        (InformedLogisticRegression, set(DECLARED) - {"check_classifiers_classes"}),
        (InformedLinearSVC, set(DECLARED) - {"check_classifiers_classes"}),
    ],
)
def test_without_noise_exactly_those_checks_fail_that_ask_for_a_look_at_private_cells(kind, left):
    """So the rest of what is declared fails because of the noise and of nothing else."""
    assert checked(for_checks(kind), {})[0] == left


def test_an_undeclared_failure_is_noticed():
    failed, _ = checked(Broken(max_norm=10, target_bounds=(-5, 5), epochs=8), {**TWICE, **TOTAL})
    assert failed


@pytest.mark.parametrize("kind", ALL)
def test_clone_pipeline_and_cross_validation_work(kind):
    model = made(kind, epsilon=20.0)
    assert clone(model).get_params() == model.get_params()
    assert clone(made(kind, prior=Mixing(0.2), ordered=True)).prior == Mixing(0.2)
    pipeline = make_pipeline(FunctionTransformer(lambda x: x / 2), clone(model).set_params(bounds=(-0.5, 0.5)))
    assert pipeline.fit(X, target(kind)).score(X, target(kind)) > 0.8
    assert cross_val_score(model, X, target(kind), cv=3).min() > 0.7


@pytest.mark.parametrize("kind", ALL)
def test_at_a_large_epsilon_the_model_is_close_to_the_optimum(kind):
    model = made(kind, epsilon=2000.0, clip=2.0, epochs=400, penalty=1e-4).fit(X, target(kind))
    if kind is LinearRegression:
        best = np.linalg.lstsq(np.c_[X, np.ones(400)], Y, rcond=None)[0]
        assert np.allclose([*model.coef_, model.intercept_], best, atol=0.15)
        assert not np.allclose([*model.coef_, model.intercept_], best * 1.2, atol=0.15)
    else:
        assert model.score(X, LABELS) > 0.95


def test_logistic_regression_agrees_with_scikit_learns_at_a_large_epsilon():
    from sklearn.linear_model import LogisticRegression as Reference

    signs = np.where(rng.uniform(size=400) < 1 / (1 + np.exp(-3 * X[:, 0])), 1, 0)
    penalty = 0.01
    model = made(LogisticRegression, classes=(0, 1), epsilon=5000.0, clip=1.0, penalty=penalty, epochs=400).fit(
        X, signs
    )
    # the same objective: mean loss + penalty / 2 |w|^2 with (x / sqrt 3, 1) / sqrt 2 as features, no separate intercept
    features = np.c_[X / math.sqrt(3), np.ones(400)] / math.sqrt(2)
    reference = Reference(C=1 / (400 * penalty), fit_intercept=False).fit(features, signs)
    coef = reference.coef_[0] / math.sqrt(6)
    assert np.allclose(model.coef_[0, :3], coef[:3], atol=0.05)
    assert not np.allclose(1.1 * model.coef_[0, :3], coef[:3], atol=0.05)
    assert np.allclose(model.predict_proba(X).sum(axis=1), 1)


def test_default_choices_are_useful_at_epsilon_one():
    many = rng.uniform(-1, 1, (4000, 3))
    y = 5 + many @ [3.0, -2.0, 0.0]
    assert made(LinearRegression).fit(many, y).score(many, y) > 0.9
    for kind in (LogisticRegression, LinearSVC):
        assert made(kind, classes=(False, True)).fit(many, y > 5).score(many, y > 5) > 0.9


@pytest.mark.parametrize("private", ["both", "features", "target"])
@pytest.mark.parametrize("kind", ALL)
def test_the_guarantee_can_be_recomputed_from_the_outside(kind, private):
    """delta = Phi-curve of mu^2 = least sum of (a_t / noise)^2 with shifts eta 2 L / n, straight from the constants."""
    model = made(kind, private=private, epochs=20, batch_size=100, clip=0.4).fit(X, target(kind))
    plan = model.accountant_
    curvature = {LinearRegression: 1.0, LogisticRegression: 0.25, LinearSVC: 1.0}[kind]
    smooth = curvature + 1 / 400
    eta = plan.learning_rate
    shifts = np.where(np.arange(80) % 4 == 3, eta * 2 * 0.4 / 100, 0.0)  # a record of the last of four batches
    contraction = max(abs(1 - eta / 400), abs(1 - eta * smooth))
    mu = math.sqrt(covered(shifts, model.noise_, contraction))
    delta = float(fast_gaussian_delta(1.0, mu))
    assert 0.999e-5 < delta <= 1e-5 * (1 + 1e-7)
    less = float(fast_gaussian_delta(1.0, mu / 0.99))
    assert less > 1e-5  # one percent less noise would not do
    assert model.guarantee_ == fugu.Approx(1.0, 1e-5) and plan.delta_at(1.0) <= 1e-5
    assert model.certificate_.verify().delta <= 1e-5


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("private", ["both", "features", "target"])
def test_the_worst_neighbours_of_one_step_reach_the_bound_and_never_pass_it(kind, private):
    """One step from 0 adds normal noise to a sum, so two data sets are told apart exactly as well as two normals."""
    rows, y = np.tile([[1.0, 0.0]], (30, 1)), np.resize([1.0, -1.0], 30)
    other, flipped = rows.copy(), y.copy()
    if private != "target":
        other[-1] *= -1
    if private == "target":
        flipped[-1] *= -1
    options = {"target_bounds": (-1, 1)} if kind is LinearRegression else {"classes": (-1, 1)}
    model = kind(max_norm=1, fit_intercept=False, epochs=1, private=private, clip=0.4, **options)
    noise = model.fit(rows, y).noise_
    ends = [clone(model)._fit(a, b, noiseless=True).coef_ for a, b in ((rows, y), (other, flipped))]
    told_apart = np.linalg.norm(ends[0] - ends[1]) / noise / gaussian_mu(1.0, 1e-5)
    assert 0.999 < told_apart <= 1
    assert told_apart / 0.99 > 1  # one percent less noise would break the promise


def test_many_steps_with_normal_outputs_stay_within_the_bound():
    """While nothing is clipped the weights are normal; their means and covariances are known for every neighbour."""
    n, steps, limit = 20, 15, gaussian_mu(1.0, 1e-5)
    seen = []
    for batch in (20, 5, 4):
        options = {"clip": 1.0, "radius": 1e3, "penalty": 0.05, "batch_size": batch, "epochs": steps}
        model = LinearRegression(max_norm=1, target_bounds=(-1, 1), fit_intercept=False, **options)
        rows = rng.normal(size=(n, 2))
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        y = rng.uniform(-0.3, 0.3, n)
        plan = model.fit(rows, y).accountant_
        blocks = [rows[k : k + batch].T @ rows[k : k + batch] / batch for k in range(0, n, batch)]
        cov = np.zeros((2, 2))
        for t in range(plan.steps):
            step = np.eye(2) - plan.learning_rate * (blocks[t % len(blocks)] + 0.05 * np.eye(2))
            cov = step @ cov @ step.T + plan.noise**2 * np.eye(2)
        for j in (0, n - batch, n - 1):
            flipped = y.copy()
            flipped[j] = -0.3 if y[j] > 0 else 0.3
            a, b = (clone(model)._fit(rows, t, noiseless=True).coef_ for t in (y, flipped))
            seen.append(math.sqrt((a - b) @ np.linalg.solve(cov, a - b)) / limit)
    assert max(seen) <= 1
    assert max(seen) > 0.1  # the targets move by 0.3 to 0.6 where 2 L = 2 is allowed for


def test_private_labels_alone_need_half_the_noise_of_logistic_regression():
    noise = {
        p: made(LogisticRegression, clip=1.0, private=p, epochs=20).fit(X, LABELS).noise_ for p in ("both", "target")
    }
    assert abs(noise["target"] / noise["both"] - 0.5) < 1e-3


@pytest.mark.parametrize("prior", ["ar1:0.5", "mixing:0.5", "group"])
def test_more_dependence_never_needs_less_noise(prior):
    plain = made(LinearRegression, epochs=10).fit(X, Y).noise_
    found = made(LinearRegression, prior=prior, epochs=10, ordered=True).fit(X, Y).noise_
    assert found > 1.5 * plain


def test_no_dependence_costs_the_same_as_independence():
    rows, y = X[:24], Y[:24]
    plain = made(LinearRegression, epochs=10).fit(rows, y).noise_
    for prior in ("mixing:0", "groups"):
        groups = np.arange(24) if prior == "groups" else None
        found = made(LinearRegression, prior=prior, epochs=10, ordered=True).fit(rows, y, groups=groups).noise_
        assert abs(found / plain - 1) < 1e-3
    pairs = made(LinearRegression, prior="groups", epochs=10).fit(rows, y, groups=np.arange(24) // 2).noise_
    assert abs(pairs / plain - 2) < 1e-2


def test_a_secret_of_a_smaller_distance_needs_less_noise():
    near = made(LinearRegression, prior=AR1(0.3, 0.01), epochs=10, ordered=True).fit(X, Y).noise_
    far = made(LinearRegression, prior=AR1(0.3, 1), epochs=10, ordered=True).fit(X, Y).noise_
    assert near < far / 5


def test_choices_do_not_depend_on_the_values():
    other = made(LinearRegression).fit(-X * 0.1, rng.permutation(Y))
    same = made(LinearRegression).fit(X, Y)
    for name in ("steps", "learning_rate", "noise", "batch_size", "domain", "lipschitz"):
        assert getattr(other.accountant_, name) == getattr(same.accountant_, name)


def test_values_beyond_the_declared_bounds_count_as_the_bounds():
    wild = np.concatenate([X, [[1e9, -1e9, 0.5]]])
    tame = np.concatenate([X, [[1.0, -1.0, 0.5]]])
    y = np.append(Y, 1e12)
    fits = [made(LinearRegression, epochs=50)._fit(rows, t, noiseless=True).coef_ for rows, t in
            ((wild, y), (tame, np.append(Y, 11.0)))]  # fmt: skip
    assert np.array_equal(*fits)


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    ("options", "error", "say"),
    [
        ({"bounds": None}, UsageError, "bounds="),
        ({"epsilon": -1}, BadBudget, "epsilon"),
        ({"epsilon": math.inf}, UsageError, "infinite"),
        ({"delta": 0}, NotProvable, "delta"),
        ({"delta": 2}, BadBudget, "delta"),
        ({"learning_rate": 50.0}, UsageError, "2 / smoothness"),
        ({"clip": 0}, UsageError, "clip"),
        ({"penalty": -1.0}, UsageError, "penalty"),
        ({"radius": 0.0}, UsageError, "radius"),
        ({"epochs": 0}, UsageError, "epochs"),
        ({"batch_size": 1.5}, UsageError, "batch_size"),
        ({"private": "nothing"}, UsageError, "private"),
        ({"prior": "mixing:0.3"}, UsageError, "ordered=True"),
        ({"prior": fugu.MarkovChain([[0.5, 0.5], [0.4, 0.6]], 400)}, UsageError, "ordered=True"),
        ({"prior": fugu.MarkovChain([[0.5, 0.5], [0.4, 0.6]], 10), "ordered": True}, UsageError, "length"),
        ({"prior": "ar2:0.3"}, UsageError, "no prior"),
        ({"prior": "groups"}, UsageError, "groups="),
    ],
    ids=str,
)
def test_wrong_parameters_are_refused_with_a_typed_error(kind, options, error, say):
    with pytest.raises(error, match=say):
        made(kind, **options).fit(X, target(kind))


def test_a_normal_prior_over_labels_is_refused_and_over_features_it_is_not():
    for kind in (LogisticRegression, LinearSVC):
        for private in ("both", "target"):
            with pytest.raises(NotProvable, match="not a normal number"):
                made(kind, prior="ar1:0.3", private=private, ordered=True).fit(X, LABELS)
        made(kind, prior="ar1:0.3", private="features", ordered=True, epochs=5).fit(X, LABELS)


def test_the_order_must_be_the_order_of_the_rows():
    model = made(LinearRegression, prior="mixing:0.2", epochs=3)
    times = np.arange(400) // 3
    assert model.fit(X, Y, order=np.arange(400)).guarantee_ == fugu.Approx(1.0, 1e-5)
    with pytest.raises(UsageError, match="repeats a time"):
        model.fit(X, Y, order=times)
    made(LinearRegression, prior="mixing:0.2", epochs=3, ordered=True).fit(X, Y, order=times)
    for wrong, say in ((times[::-1], "sort"), (times[:-1], "each of the 400"), (np.full(400, np.nan), "sort")):
        with pytest.raises(UsageError, match=say):
            model.fit(X, Y, order=wrong)
    with pytest.raises(UsageError, match="go together"):
        model.fit(X, Y, order=times, groups=times)


@pytest.mark.parametrize("kind", ALL)
def test_only_shapes_and_names_of_the_data_are_refused(kind):
    import pandas as pd
    import scipy.sparse

    model, y = made(kind), target(kind)
    ragged = [*X.tolist()[:-1], [1.0]]
    for rows, some, say in (
        (X, y[:-1], "inconsistent"), (X, None, "requires y"), (X[:, 0], y, "Reshape"), (X[0, 0], y, "Reshape"),
        (X.reshape(400, 3, 1), y, "dim 3"), (X[:1], y[:1], "1 sample"), (X[:, :0], y, "0 feature"), ([], y, "0 sample"),
        (scipy.sparse.csr_matrix(X), y, "sparse"), (ragged, y, "one length"), ("secret-word", y, "Reshape"),
        (X, np.column_stack([y, y]), "1d array"), (pd.DataFrame(X, columns=["a", "a", "b"]), y, "same name"),
    ):  # fmt: skip
        with pytest.raises(BadTable, match=say) as caught:
            model.fit(rows, some)
        assert "secret-word" not in str(caught.value)
    assert not hasattr(model, "guarantee_")


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_labels_are_declared_before_any_is_looked_at(kind):
    class Untouchable:
        def __getattribute__(self, name):
            raise AssertionError("looked at")

    with pytest.raises(UsageError, match="give classes="):
        kind(bounds=(-1, 1)).fit(Untouchable(), Untouchable())
    for wrong in (
        ("no", "no"), ("no",), ("a", "b", "c"), "no", {"no", "yes"}, (1, "1"), ("1", "1.0"), (0, "yes"), (1, True),
        (math.nan, 1), ("", "yes"), (None, "yes"), 3,
    ):  # fmt: skip
        with pytest.raises(UsageError, match="classes must"):
            made(kind, classes=wrong).fit(X, LABELS)
    with pytest.raises(UsageError, match="other"):
        made(kind, other="perhaps").fit(X, LABELS)


def quiet(kind, y, rows=X, **options):
    return made(kind, epochs=3, **options)._fit(rows, y, noiseless=True)


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
def test_another_label_and_a_missing_one_count_as_the_first_class_or_as_the_one_named(kind):
    hostile = ["perhaps", None, math.nan, 1e308, True, "", "NO", [1], np.ma.masked, b"\xff", 2j]
    for classes, other, counts in (
        (("no", "yes"), None, "no"), (("yes", "no"), None, "yes"), (("no", "yes"), "yes", "yes"),
    ):  # fmt: skip
        same = quiet(kind, [*LABELS[:-1].tolist(), counts], classes=classes, other=other)
        assert same.classes_.tolist() == ["no", "yes"]
        for label in hostile:
            found = quiet(kind, [*LABELS[:-1].tolist(), label], classes=classes, other=other)
            assert np.array_equal(found.coef_, same.coef_) and found.classes_.tolist() == ["no", "yes"]
    wrong = quiet(kind, [*LABELS[:-1].tolist(), "yes"])
    words = np.where(LABELS == "yes", "NA", "no")
    assert np.array_equal(quiet(kind, words, classes=("NA", "no"), other="no").coef_, -quiet(kind, LABELS).coef_)
    assert not np.array_equal(wrong.coef_, quiet(kind, [*LABELS[:-1].tolist(), "no"]).coef_)
    assert quiet(kind, np.repeat("yes", 400)).classes_.tolist() == ["no", "yes"]  # one class only: no refusal


@pytest.mark.parametrize("kind", [LogisticRegression, LinearSVC])
@pytest.mark.parametrize("classes", [(0, 1), ("0", "1"), (0.0, 1.0), (False, True)], ids=str)
def test_one_label_in_any_type_is_one_label_and_predictions_have_the_declared_type(kind, classes):
    signs = (Y > 5).astype(int)
    forms = [signs, signs.astype(float), signs.astype(str), signs.tolist(), [str(float(s)) for s in signs],
             np.ma.array(signs, mask=False), signs.astype(complex), signs.astype(np.float32)]  # fmt: skip
    if "0" not in classes:  # as truth values, which one missing cell or one text turns into numbers or words
        forms += [signs.astype(bool), signs.astype(bool).astype(str), ["true" if s else "false" for s in signs]]
    fits = [quiet(kind, y, classes=classes) for y in forms]
    for fit in fits:
        assert np.array_equal(fit.coef_, fits[0].coef_)
        assert fit.classes_.tolist() == list(classes) and set(fit.predict(X).tolist()) == set(classes)
        assert {type(label) for label in fit.predict(X).tolist()} == {type(label) for label in classes}


def test_sorted_classes_keep_the_scorers_of_scikit_learn_right():
    """In declared order, ("yes", "no"), roc_auc of a good model would be near 0: the last label counts as positive."""
    from sklearn.metrics import get_scorer

    model = made(LogisticRegression, classes=("yes", "no"), epochs=50)._fit(X, LABELS, noiseless=True)
    assert get_scorer("roc_auc")(model, X, LABELS) > 0.9
    model.classes_, model.coef_, model.intercept_ = model.classes_[::-1], -model.coef_, -model.intercept_
    assert model.score(X, LABELS) > 0.9  # the same model
    assert get_scorer("roc_auc")(model, X, LABELS) < 0.1


@pytest.mark.parametrize("kind", ALL)
def test_what_is_no_number_counts_as_the_middle_of_the_bounds_and_what_is_beyond_as_the_bound(kind):
    from fugu.training.inputs import Features

    rows = X.astype(object)
    for cell, counts in (
        (None, 5.0), (math.nan, 5.0), ("secret-word", 5.0), (np.ma.masked, 5.0), ({"a": 1}, 5.0), (3j, 5.0),
        (math.inf, 20.0), (-math.inf, -10.0), (1e308, 20.0), (10**400, 20.0), ("1e999", 20.0), ("12.5", 12.5),
    ):  # fmt: skip
        rows[7, 1], plain = cell, X.copy()
        plain[7, 1] = counts
        options = {"bounds": ([-1, -10, -1], [1, 20, 1])}
        assert np.array_equal(quiet(kind, target(kind), rows, **options).coef_,
                              quiet(kind, target(kind), plain, **options).coef_)  # fmt: skip
    masked = np.ma.array(X, mask=False)
    masked[7] = np.ma.masked
    plain = X.copy()
    plain[7] = 0
    for options in ({"bounds": None, "max_norm": 2}, {}):
        assert np.array_equal(*(quiet(kind, target(kind), some, **options).coef_ for some in (masked, plain)))
    model = quiet(kind, target(kind))
    assert np.array_equal(model._linear(masked), model._linear(plain))  # a prediction reads it in the same way
    assert len(Features.of(masked).columns) == 3


def test_a_target_that_is_no_number_counts_as_the_middle_of_its_bounds():
    for cell, counts in ((None, 5), (math.nan, 5), ("x", 5), (math.inf, 11), (-1e308, -1), ("7.5", 7.5), (b"3", 3)):
        found = [quiet(LinearRegression, [*Y[:-1].tolist(), last]).coef_ for last in (cell, counts)]
        assert np.array_equal(*found)
    assert quiet(LinearRegression, np.full(400, 7.0)).coef_.shape == (3,)  # one value only: no refusal


def test_two_fits_never_give_the_same_weights():
    assert not np.allclose(made(LinearRegression).fit(X, Y).coef_, made(LinearRegression).fit(X, Y).coef_, atol=1e-9)


def test_the_noise_of_a_fit_has_the_stated_size():
    """After one step from 0 the weights differ between fits by the noise alone: 120 numbers, five deviations wide."""
    fits = [made(LinearRegression, epochs=1, radius=1e6, fit_intercept=False).fit(X, Y) for _ in range(40)]
    coefs = np.array([fit.coef_ for fit in fits])
    unit = 11.0 / math.sqrt(3)  # half range of the target without an intercept; features divided by sqrt 3
    found = math.sqrt(np.sum((coefs - coefs.mean(axis=0)) ** 2) / (39 * 3)) / unit / fits[0].noise_
    assert 0.7 < found < 1.35
    assert not 0.7 < found / 2 < 1.35 and not 0.7 < 2 * found < 1.35  # noise of half or twice the size is seen


def test_without_scikit_learn_the_message_names_the_extra():
    code = (
        "import sys; sys.modules['sklearn'] = None; sys.modules['sklearn.base'] = None\n"
        "import fugu.iterate, fugu.errors\n"
        "try:\n    fugu.iterate.LinearRegression\nexcept fugu.errors.MissingExtra as e:\n    print(e)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "fugu-privacy[fit]" in done.stdout and issubclass(MissingExtra, UsageError)
