"""The real series of examples/training.py, from the folder that FUGU_DATA names: what each prior costs in accuracy.

Waves, epochs and radius were chosen on two other days of the house, and on person A: the searches repeat that. The
beliefs were settled with the scored series in view, to cover them.
"""

from __future__ import annotations

import importlib.util
import os
import sys
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from fugu.training.losses import train
from fugu.training.scaling import Scaling, TargetScaling
from hunting import search

FOLDER = os.environ.get("FUGU_DATA")
pytestmark = pytest.mark.skipif(
    not FOLDER, reason="FUGU_DATA is not set: the real data sets are not part of the project"
)
OTHER_DAYS = ["2012-08-23", "2013-12-31"]


@contextmanager
def opened():
    """The example as a module, or a skip."""
    if not FOLDER:
        pytest.skip("FUGU_DATA is not set")
    path = Path(__file__).resolve().parent.parent / "examples" / "training.py"
    made = importlib.util.spec_from_file_location("example_training", path)
    module = importlib.util.module_from_spec(made)
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(sys.modules, "example_training", module)
        made.loader.exec_module(module)
        if module.data_folder() is None:
            pytest.skip(f"{module.LOAD_FILE} or {module.SLEEP_FILE} is not in FUGU_DATA")
        yield module


@pytest.fixture(scope="module")
def example():
    with opened() as module:
        yield module


def proved_once(teach, waves):
    """The same trainings, but the noise is worked out once for each size of the data: it depends on nothing else."""
    known = {}

    def again(method, epsilon, hours, records):
        key = (method, epsilon, len(records))
        if method == "none" or key not in known:
            known[key] = teach(method, epsilon, hours, records)
            return known[key]
        model, count = known[key]
        return retrained(model, waves(hours, count), records), count

    return again


def retrained(model, features, records):
    """Fresh weights from the training that the model has proved."""
    scaling = Scaling.of(features.shape[1], model.bounds, model.max_norm, model.fit_intercept)
    regression = hasattr(model, "target_bounds")
    target = TargetScaling.of(model.target_bounds) if regression else None
    wanted = target.scaled(records) if regression else np.where(records == 1, 1.0, -1.0)
    weights = train(scaling.rows(features), wanted, model.certificate_.objective, model.accountant_)
    coef, intercept = target.back(*scaling.back(weights)) if regression else scaling.back(weights)
    model.coef_, model.intercept_ = (coef, intercept) if regression else (coef.reshape(1, -1), np.array([intercept]))
    return model


def scores(example, task, epsilon, trainings):
    quick = replace(task, train=proved_once(task.train, example.waves))
    return {m: quick.score(m, epsilon, trainings) for m in ("none", "independent", "belief", "group")}


def test_the_data_sets(example):
    load, sleep = example.tasks()
    assert load.days.shape == (7, 96) and len(load.folds) == 7
    assert np.exp(load.days.max()) == pytest.approx(8673.3, abs=0.1)
    assert sleep.days.shape == (21, 24) and len(sleep.folds) == 3
    assert sleep.days.mean() == pytest.approx(0.361, abs=5e-4)
    assert sleep.days[:, 4].mean() == 1 and sleep.days[:, 16].mean() == 0


@pytest.mark.parametrize("number", [0, 1], ids=["load", "sleep"])
def test_beliefs_cost_something_and_any_dependence_costs_all(example, number):
    """No privacy > beliefs > any dependence, beyond the intervals; the last is no better than a constant answer."""
    task = example.tasks()[number]
    found = scores(example, task, 2, 40 if number == 0 else 100)
    (best, _), (independent, _), (belief, half), (group, width) = found.values()
    assert best + 0.02 > independent > belief + half
    assert best > belief + half
    assert belief - half > group + width
    assert group - width < (1 - task.days.mean() if number else 0), "else the group prior has too little noise"


def autocorrelations(example, days, lags):
    """Of what two waves leave of the loads."""
    hours = (np.arange(days.shape[1]) + 0.5) / 4
    features = np.column_stack((example.waves(np.tile(hours, len(days)), 2), np.ones(days.size)))
    left = days.ravel() - features @ np.linalg.lstsq(features, days.ravel(), rcond=None)[0]
    return np.array([left[lag:] @ left[:-lag] / (left @ left) for lag in lags])


def test_the_belief_about_the_load_covers_the_correlations_found(example):
    """0.7 is the upper end of a 95 % interval on the other days; the week itself stays below 0.7^k, and not 0.5^k."""
    firsts = [autocorrelations(example, example.read_loads(Path(FOLDER), [day]), [1])[0] for day in OTHER_DAYS]
    assert 0.65 < np.tanh(np.arctanh(max(firsts)) + 1.96 / np.sqrt(96 - 3)) < 0.7
    lags = np.arange(1, 25)
    week = autocorrelations(example, example.read_loads(Path(FOLDER), example.WEEK), lags)
    assert np.all(np.abs(week[:6]) < 0.7 ** lags[:6]) and np.all(np.abs(week[6:]) < 0.15)
    assert not np.all(np.abs(week[:6]) < 0.5 ** lags[:6])


def mixing(days):
    """The largest total variation of the laws of the next hour, and of the one before; half a count is added to all."""
    labels, hours = days.ravel(), np.tile(np.arange(24), len(days))
    counts = np.full((24, 2, 2), 0.5)
    np.add.at(counts, (hours[:-1], labels[:-1], labels[1:]), 1)
    forward = counts / counts.sum(axis=2, keepdims=True)
    backward = counts / counts.sum(axis=1, keepdims=True)
    return max(np.abs(forward[:, 0] - forward[:, 1]).sum(axis=1).max() / 2,
               np.abs(backward[:, :, 0] - backward[:, :, 1]).sum(axis=1).max() / 2)  # fmt: skip


def test_the_belief_about_sleep_covers_both_persons(example):
    """0.75 was set after looking at B (0.73), to be true of it; A alone would have said 0.54. 0.5 is false for both."""
    found = [mixing(example.read_sleep(Path(FOLDER), person)) for person in "AB"]
    assert found == pytest.approx([0.54, 0.73], abs=0.005)
    assert min(found) > 0.5 and max(found) < example.SLEEP_BELIEF.coefficient


METHODS = ("independent", "belief", "group")


def load_score(example, method, epsilon, choice, runs=100):
    """Trained on the two other days, three times each, and scored on the same: five weights do not overfit."""
    days = np.tile(example.read_loads(Path(FOLDER), OTHER_DAYS), (3, 1))
    hours = np.tile((np.arange(96) + 0.5) / 4, 6)
    options = dict(choice)
    features = example.waves(hours, options.pop("waves"))
    width = (features.shape[1] / 2) ** 0.5
    model = example.load_model(method, epsilon, max_norm=width, **options).fit(features, days.ravel())
    found = [retrained(model, features, days.ravel()).predict(features) for _ in range(runs)]
    left = np.mean([np.sum((days.ravel() - run) ** 2) for run in found])
    return 1 - left / float(np.sum((days - days.mean()) ** 2))


@search("no choice for the load is better on other days", each=METHODS, quick=1)
def test_the_choices_are_those_of_the_other_days(method, rng):
    with opened() as example:
        epsilon = float(rng.choice(example.EPSILONS))
        waves, epochs, radius = int(rng.choice([1, 2])), int(2 ** rng.integers(6)), float(rng.choice([1.0, 0.3]))
        rival = {"waves": waves, "epochs": epochs, "radius": radius}
        chosen = load_score(example, method, epsilon, example.LOAD_CHOICES[method, epsilon])
        assert chosen > load_score(example, method, epsilon, rival) - (0.2 if method == "group" else 0.06), rival


def sleep_score(example, method, epsilon, waves, epochs, runs=200):
    """Trained on the days of A, repeated to two weeks, and scored on the same."""
    days = example.read_sleep(Path(FOLDER), "A")
    labels, hours = np.resize(days.ravel(), 14 * 24), np.resize(np.arange(24) + 0.5, 14 * 24)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(example, "SLEEP_CHOICES", {"waves": waves, "epochs": epochs})
        model, _ = example.train_sleep(method, epsilon, hours, labels)
    features = example.waves(hours, waves)
    found = [np.mean(retrained(model, features, labels).predict(features) == labels) for _ in range(runs)]
    return float(np.mean(found))


@search("no choice for sleep is better for person A", each=METHODS, quick=1)
def test_the_choices_for_sleep_are_those_of_person_a(method, rng):
    with opened() as example:
        epsilon = float(rng.choice(example.EPSILONS))
        rival = int(rng.choice([1, 2])), int(2 ** rng.integers(6))
        chosen = sleep_score(example, method, epsilon, *example.SLEEP_CHOICES.values())
        assert chosen > sleep_score(example, method, epsilon, *rival) - (0.15 if method == "group" else 0.08), rival


@search("beliefs beat any dependence on the real series", each=["load", "sleep"], quick=1)
def test_beliefs_beat_any_dependence_at_the_largest_budget(name, seed):
    """An entry of the tables of examples/training.py; each call has trainings of its own."""
    with opened() as example:
        task = example.tasks()[name == "sleep"]
        quick = replace(task, train=proved_once(task.train, example.waves))
        assert quick.score("belief", 5, 20)[0] > quick.score("group", 5, 20)[0]
