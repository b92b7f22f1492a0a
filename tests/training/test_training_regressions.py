"""What once leaked or was promised too much in trainings: messages, words of certificates, noise that is shared."""

from __future__ import annotations

import math
import os
import pickle
import sys
import threading

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.validation import check_X_y

from fugu.errors import BadTable, NotProvable, UsageError
from fugu.iterate import AR1, LinearRegression, LinearSVC, LogisticRegression
from fugu.training.losses import NormalStream
from fugu.training.scaling import Scaling, TargetScaling

COUNT, SECRET = 12, 314.25
X = np.linspace(0, 1, COUNT).reshape(-1, 1)
Y = np.linspace(-1, 1, COUNT)
TIMES = np.arange(COUNT)


def linear(prior="independent", **options):
    options = {"bounds": (0, 1), "target_bounds": (-1, 1), "epochs": 2, **options}
    return LinearRegression(2.0, 1e-4, prior, **options)


def with_secret(values, secret):
    found = np.array(values, dtype=object)
    found[3] = secret
    return found


# messages


QUOTING = {
    "one dimension": (np.where(TIMES == 3, SECRET, 0.5), Y),
    "a scalar": (SECRET, Y),
    "three dimensions": (np.full((COUNT, 1, 1), SECRET), Y),
    "a text": ("314.25 mg", Y),
    "rows of other lengths": ([[SECRET], *([0.5, 0.5] for _ in range(COUNT - 1))], Y),
    "two targets": (X, np.full((COUNT, 2), SECRET)),
    "a longer target": (X, np.full(COUNT + 1, SECRET)),
}
READ = {
    "complex features": (X + SECRET * 1j, Y),
    "complex target": (X, Y + SECRET * 1j),
    "text in X": (with_secret(X.ravel(), "314.25 mg").reshape(-1, 1), Y),
    "text in y": (X, with_secret(Y, "314.25 mg")),
    "text array as y": (X, np.array(["314.25 mg"] * COUNT)),
    "categories": (pd.DataFrame({"dose": pd.Categorical(["314.25 mg", "none"] * 6)}), Y),
}


@pytest.mark.parametrize("name", QUOTING)
def test_no_message_about_the_data_quotes_them(name):
    with pytest.raises(BadTable) as refusal:
        linear().fit(*QUOTING[name])
    assert "314" not in str(refusal.value)


@pytest.mark.parametrize("name", READ)
def test_what_scikit_learn_quotes_in_an_error_is_read_without_one(name):
    assert linear().fit(*READ[name]).coef_.shape == (1,)
    with pytest.raises(ValueError, match="314"):  # what scikit-learn says, or numpy for a target of texts
        check_X_y(*READ[name], dtype=np.float64, y_numeric=True)[1].astype(float)


def test_no_label_of_the_data_is_told():
    for labels in (
        with_secret(["a"] * COUNT, 31425),
        with_secret(["31425"] * COUNT, None),
        np.array([31425, 1, 2] * 4),
    ):
        model = LogisticRegression(bounds=(0, 1), classes=("a", "b"), epochs=2).fit(X, labels)
        assert model.classes_.tolist() == ["a", "b"] and "31425" not in model.certificate_.text
    fitted = linear().fit(X, Y)
    with pytest.raises(BadTable, match="Reshape") as refusal:
        fitted.predict(np.array([SECRET, 1.0]))
    assert "314" not in str(refusal.value)


def test_no_warning_tells_of_a_long_row():
    """Warnings are errors here; without care numpy warns of the overflow of 1e308 / 1e-150."""
    rows = Scaling.of(1, max_norm=1e-150).rows(np.array([[1e308], [0.0]]))
    assert np.all(np.einsum("ij,ij->i", rows, rows) <= 1)
    with pytest.raises(RuntimeWarning):
        np.array([1e308]) / 1e-150


@pytest.mark.parametrize("scale", [5e-324, 1e-200, 1e200])
def test_units_in_which_floats_fail_are_refused_by_the_declaration_and_not_by_the_data(scale):
    """Before, rows of 5e-324 under max_norm=5e-324 had norm sqrt 2, and only some data were refused."""
    for make in (
        lambda: Scaling.of(2, max_norm=scale),
        lambda: Scaling.of(2, bounds=(0, scale)),
        lambda: TargetScaling.of((0, scale)),
    ):
        with pytest.raises(UsageError, match="between 1e-150 and 1e"):
            make()
    assert Scaling.of(1, bounds=(1, math.nextafter(1, 2))).rows(np.array([[1.0], [2.0]])).max() <= 1


@pytest.mark.parametrize("size", [1, 10_000, 3_000_001])
def test_no_row_is_refused_for_its_length_however_many_features_it_has(size):
    """Before, records at the corner of the box were refused from about 3 million features on: roundings add up."""
    corner = Scaling.of(size, bounds=(-1, 1)).rows(np.ones((2, size)))
    lengths = np.einsum("ij,ij->i", corner, corner)
    assert np.all(lengths <= 1) and np.all(lengths > 1 - 1e-8)


# what fit is told beside the data


def test_weights_of_samples_are_not_taken_for_times():
    with pytest.raises(TypeError):
        linear("mixing:0.2").fit(X, Y, np.ones(COUNT))
    with pytest.raises(UsageError, match="repeats a time"):
        linear("mixing:0.2").fit(X, Y, order=np.ones(COUNT))
    linear("mixing:0.2").fit(X, Y, order=TIMES)
    linear("mixing:0.2", ordered=True).fit(X, Y, order=TIMES // 2)
    linear().fit(X, Y, order=TIMES // 2)  # a prior without an order does not care


def test_rows_without_a_label_are_no_group():
    labels = np.where(TIMES < 4, np.nan, TIMES // 4)
    with pytest.raises(UsageError, match="missing"):
        linear("groups").fit(X, Y, groups=labels)
    assert np.unique(labels, equal_nan=True).size == 3  # numpy would make them one more group


# noise


def test_a_stream_shares_its_numbers_with_no_other_process():
    stream, (read, write) = NormalStream(2, 100), os.pipe()
    stream()
    child = os.fork() if hasattr(os, "fork") else pytest.skip("no fork here")
    if child == 0:
        os.write(write, stream().tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    assert not np.array_equal(np.frombuffer(os.read(read, 16)), stream())


def test_a_stream_hands_no_number_to_two_threads():
    stream, found, before = NormalStream(1, 50), [], sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=lambda: found.extend(stream()[0] for _ in range(2000))) for _ in range(6)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(before)
    assert len(found) == len(set(found)) == 12_000


def test_noise_that_floats_would_swallow_is_refused():
    """Secrets 1e-40 of the range apart need noise of 1e-39: added to weights of size 0.1 it is nothing."""
    with pytest.raises(NotProvable, match="swallow"):
        linear(AR1(0.3, 1e-40), ordered=True).fit(X, Y)
    weights = linear()._fit(X, Y, noiseless=True).coef_
    assert np.array_equal(weights + 1e-39, weights)
    linear(AR1(0.3, 1e-6), ordered=True).fit(X, Y)
    linear(clip=1e-40, target_bounds=(-1, 1)).fit(X, Y)  # the weights are as small as the noise


# what is left behind


@pytest.mark.parametrize("kind", [LinearRegression, LogisticRegression, LinearSVC])
def test_a_fitted_estimator_holds_no_row(kind):
    rows = np.random.default_rng(1).uniform(0, 1, (COUNT, 2))
    target, more = (Y, {"target_bounds": (-1, 1)}) if kind is LinearRegression else (Y > 0, {"classes": (False, True)})
    data = pickle.dumps(kind(bounds=(0, 1), epochs=2, **more).fit(rows, target))
    assert not any(np.float64(x).tobytes() in data or repr(float(x)).encode() in data for x in rows.ravel())
    assert all(np.float64(x).tobytes() in pickle.dumps(rows) for x in rows.ravel())
