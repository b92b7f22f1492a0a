"""What once leaked or was promised too much in trainings: messages, words of certificates, noise that is shared."""

from __future__ import annotations

import copy
import json
import math
import os
import pickle
import sys
import threading
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from sklearn.utils.validation import check_X_y

from fugu import Approx, MarkovChain
from fugu.documents.document import digest_of
from fugu.errors import BadTable, CertificateError, NotProvable, UsageError
from fugu.iterate import AR1, Groups, Joint, LinearRegression, LinearSVC, LogisticRegression, TrainingCertificate
from fugu.priors.joint import JointTable
from fugu.training.accountant import NoisySGD
from fugu.training.losses import NormalStream, Objective, Squared, keeps, train
from fugu.training.scaling import Scaling, TargetScaling

COUNT, SECRET = 12, 314.25
X = np.linspace(0, 1, COUNT).reshape(-1, 1)
Y = np.linspace(-1, 1, COUNT)
TIMES = np.arange(COUNT)
CHAIN = MarkovChain([[0.7, 0.3], [0.4, 0.6]], COUNT, [0.5, 0.5], assumptions=("fitted on last year's rows",))


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


# certificates


def resealed(certificate, change):
    body = copy.deepcopy(certificate.body)
    change(body)
    body.pop("digest", None)
    return TrainingCertificate({**body, "digest": digest_of(body)})


def part(name, **values):
    return lambda body: body[name].update(values)


SAYING_MORE = {
    "whole records, proved for targets": lambda b: b.update(neighbours="any two values of one whole record"),
    "no assumptions": lambda b: b.update(assumptions=[]),
    "fewer assumptions": lambda b: b["assumptions"].pop(0),
    "assumptions in one text": lambda b: b.update(assumptions=" ".join(b["assumptions"])),
    "a promise of its own": lambda b: b.update(promise="nobody learns anything"),
    "a reading that is no schema": lambda b: b["reading"].update(promise="nobody reads anything"),
    "a reading of no kind": lambda b: b["reading"]["columns"]["x0"].update(kind="secret"),
    "a reading that takes hours": lambda b: b["reading"]["columns"]["x0"].update(step="1e1000000000"),
    "no reading": lambda b: b.pop("reading"),
    "a promise inside": part("accountant", sampling="secret"),
    "another model": lambda b: b.update(model="LinearSVC"),
    "a model that is no text": lambda b: b.update(model=["LinearRegression"]),
    "version true": lambda b: b.update(version=True),
    "steps and a half": lambda b: b["accountant"].update(steps=b["accountant"]["steps"] + 0.5),
    "steps as text": lambda b: b["accountant"].update(steps=str(b["accountant"]["steps"])),
    "too many steps": part("accountant", steps=10**12),
    "too many records": part("accountant", records=10**12, batch_size=10**12),
    "noise true": part("accountant", noise=True),
    "noise that takes hours to read": part("accountant", noise="1e1000000000"),
    "a budget that takes hours to read": part("budget", epsilon="1e1000000000"),
    "a budget as float": part("budget", delta=0.5),
    "a clip as text": part("objective", clip="0.25"),
    "something more in the loss": lambda b: b["objective"]["loss"].update(slope=0),
}


@pytest.mark.parametrize("name", SAYING_MORE)
def test_a_resealed_certificate_that_says_more_than_its_numbers_is_refused(name):
    certificate = linear(private="target").fit(X, Y).certificate_
    assert resealed(certificate, lambda b: None).verify() == certificate.verify()
    with pytest.raises(CertificateError):
        resealed(certificate, SAYING_MORE[name]).verify()


def test_the_unit_of_a_normal_prior_cannot_be_forged():
    """A tiny width makes a tiny sensitivity; distances in another unit than the range do the same."""
    certificate = linear("ar1:0.3", ordered=True).fit(X, Y).certificate_
    for width in (1e-9, -2.0, 1.0):
        with pytest.raises(CertificateError, match="width"):
            resealed(certificate, part("objective", width=width)).verify()
    with pytest.raises(CertificateError, match="'prior'"):
        resealed(certificate, lambda b: b["prior"]["parameters"].update(distance="999999999/1000000000")).verify()
    objective = Objective(Squared(1.0), 1.0, 0.1, 1.0)
    c = objective
    plan = {"domain": 2.0, "records": 2, "batch_size": 2, "noise": 1.0, "sensitivity": objective.sensitivity}
    joint = Joint(JointTable([[0.4, 0.1], [0.1, 0.4]]), [[0.0, 0.0], [0.0, 0.0]])  # all values at distance 0
    free = NoisySGD(5, 0.5, c.lipschitz, c.smoothness, c.penalty, prior=joint, **plan)
    assert free.delta_at(0) < 1e-9 and not keeps(objective, free)
    with pytest.raises(NotProvable):
        TrainingCertificate.issue("LinearRegression", Approx(1.0, 1e-5), objective, free)
    with pytest.raises(NotProvable):
        train(np.zeros((2, 1)), np.zeros(2), objective, free)
    assert keeps(objective, NoisySGD(5, 0.5, c.lipschitz, c.smoothness, c.penalty, prior=AR1(0.3), **plan))


@pytest.mark.parametrize(
    "options",
    [
        {"clip": 1},
        {"clip": np.float32(0.25), "learning_rate": np.float32(0.5)},
        {"penalty": 0, "radius": 3},
        {"prior": CHAIN, "ordered": True},
        {"prior": AR1(Fraction(1, 3), Fraction(1, 7)), "ordered": True, "fit_intercept": False},
        {"prior": Groups(TIMES // 3), "private": "features"},
    ],
    ids=str,
)
def test_what_is_honest_is_written_so_that_it_verifies(options, tmp_path):
    certificate = linear(**options).fit(X, Y).certificate_
    certificate.save(tmp_path / "c.json")
    assert [file.name for file in tmp_path.iterdir()] == ["c.json"]
    assert TrainingCertificate.load(tmp_path / "c.json").verify().delta <= 1e-4
    assert ("fitted on last year's rows" in certificate.assumptions) == (options.get("prior") is CHAIN)


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 500 + "1" + "}" * 500, '{"kind": "training"}', '"\\ud800"'])
def test_files_made_to_break_the_reader_are_refused(text, tmp_path):
    path = tmp_path / "c.json"
    path.write_text(text)
    with pytest.raises(CertificateError):
        TrainingCertificate.load(path)
    body = linear().fit(X, Y).certificate_.body
    path.write_text(json.dumps({**body, "fugu": "\ud800"}))
    with pytest.raises(CertificateError, match="surrogate"):
        TrainingCertificate.load(path)
