"""An attack on trained models: thousands of trainings for two values of a secret record, and a threshold between them.

The adversary knows the prior, the training and everything that the prior leaves certain, learns the best direction and
threshold on one half of the trainings, and is scored on the other half. By the guarantee no event S has
P(S) - e^epsilon Q(S) > delta. Where the accountant loses nothing the attack must also come close to delta: then it sees
noise that is a tenth too small, and above all noise for independent records where the records are not independent.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import expit

from fugu.iterate import AR1, LinearRegression, LogisticRegression, Mixing
from fugu.training.losses import train
from fugu.training.scaling import Scaling
from hunting import search

EPSILON, DELTA = 0.1, 0.3
"""Easy to measure: epsilon 1 at delta 0.05 needs ten times the trainings. Other epsilons are looked at as well."""
RECORDS, RUNS, FEW = 20, 60_000, 6000
SURE = 4.5
"""Standard errors: a correct training fails with a chance below 1e-5."""
CERTAIN = 6.0
"""For what is hunted thousands of times: below 1e-8."""


@pytest.fixture
def rng():
    return np.random.default_rng(15)


def simulate(model, rows, targets, rng, runs=RUNS, noise=None, draws=None):
    """The weights of many trainings at once, written anew from the description; `targets`: for all or for each run."""
    accountant, objective = model.accountant_, model.certificate_.objective
    scale = float(accountant.noise) if noise is None else noise
    targets, size = np.broadcast_to(targets, (runs, len(rows))), accountant.batch_size
    lengths = np.linalg.norm(rows, axis=1)
    weights, batches = np.zeros((runs, rows.shape[1])), -(-len(rows) // size)
    for t in range(accountant.steps):
        weights = inside(weights, objective.radius)
        part = slice(t % batches * size, (t % batches + 1) * size)
        values, wanted = weights @ rows[part].T, targets[:, part]
        if objective.loss.labels:
            slopes = -wanted * expit(-wanted * values)
        else:
            slopes = np.clip(values - wanted, -objective.loss.clip, objective.loss.clip)
        slopes = np.clip(slopes, -objective.clip / lengths[part], objective.clip / lengths[part])
        noises = rng.normal(size=weights.shape) if draws is None else draws[t]
        gradient = slopes @ rows[part] / size + objective.penalty * weights
        weights = weights - accountant.learning_rate * gradient + scale * noises
    return inside(weights, objective.radius)


def inside(weights, radius):
    lengths = np.linalg.norm(weights, axis=1, keepdims=True)
    return np.where(lengths > radius, weights * (radius / np.maximum(lengths, 1e-300)), weights)


def excess(first, second, epsilon):
    """P(S) - e^epsilon Q(S) for the half space S that was best on other trainings, and its standard error."""
    found, half = [], len(first) // 2
    spread = np.atleast_2d(np.cov(first[:half].T) + np.cov(second[:half].T))
    direction = np.linalg.lstsq(spread, first[:half].mean(axis=0) - second[:half].mean(axis=0), rcond=None)[0]
    for p, q in ((first @ direction, second @ direction), (-second @ direction, -first @ direction)):
        cuts = np.quantile(np.concatenate((p[:half], q[:half])), np.linspace(0.005, 0.995, 199))
        above = [1 - np.searchsorted(np.sort(x[:half]), cuts) / half for x in (p, q)]
        cut = cuts[np.argmax(above[0] - math.exp(epsilon) * above[1])]
        a, b = np.mean(p[half:] > cut), np.mean(q[half:] > cut)
        error = math.sqrt((a * (1 - a) + math.exp(2 * epsilon) * b * (1 - b)) / half)
        found.append((float(a - math.exp(epsilon) * b), error))
    return max(found)


def caught(model, weights, sure=SURE):
    """Whether the attack proves that the trainings are not as private as the model says, at some epsilon."""
    claims = {EPSILON: float(model.guarantee_.delta), **{e: model.accountant_.delta_at(e) for e in (0.5, 1, 2)}}
    attacks = [(*excess(*weights, epsilon), delta) for epsilon, delta in claims.items()]
    return any(value > delta + sure * error for value, error, delta in attacks)


ONES = np.ones((RECORDS, 1))
SOME = np.where(np.arange(RECORDS) % 2, -0.5, 0.5)


def regression(prior, **options):
    """The mean of targets in [-1, 1] as a regression: nothing is clipped or projected, so no prior is too careful."""
    chosen = {"learning_rate": 0.05, "epochs": 8, "batch_size": RECORDS, "penalty": 0.0, "radius": 3.0, "clip": 4.0}
    made = LinearRegression(
        EPSILON, DELTA, prior, max_norm=1, target_bounds=(-1, 1), fit_intercept=False, private="target", ordered=True,
        **{**chosen, **options},
    )  # fmt: skip
    return made.fit(ONES, SOME)


def classifier(prior):
    made = LogisticRegression(
        EPSILON, DELTA, prior, max_norm=1, fit_intercept=False, private="target", ordered=True, classes=[-1, 1],
        learning_rate=0.2, epochs=4, batch_size=RECORDS, penalty=0.0, radius=10.0,
    )  # fmt: skip
    return made.fit(ONES, np.sign(SOME))


def rows_of(model, features):
    return Scaling.of(features.shape[1], model.bounds, model.max_norm, model.fit_intercept).rows(features)


def pair(model, rng, first, second, noise=None, runs=RUNS):
    """Weights under two secrets, targets known (or given for each run)."""
    rows = rows_of(model, ONES)
    return tuple(simulate(model, rows, targets, rng, runs, noise) for targets in (first, second))


def secret(place):
    """How far every record of an AR(1) sequence moves if record `place` goes from -1 to 1 (deviations tiny)."""
    return 0.9 ** np.abs(np.arange(RECORDS) - place)


def test_the_attacked_loop_is_the_one_that_trains(rng):
    for model, features, targets in (
        (regression("independent", batch_size=16, epochs=3, penalty=0.1, radius=0.2), ONES, SOME),
        (classifier("group"), ONES, np.sign(SOME)),
        (LinearRegression(1, 0.05, "group", bounds=(-1, 1), target_bounds=(-1, 1)).fit(
            np.column_stack((SOME, SOME**3)), SOME), rng.uniform(-1, 1, (RECORDS, 2)), SOME),
    ):  # fmt: skip
        rows = rows_of(model, features)
        draws = rng.normal(size=(model.accountant_.steps, 1, rows.shape[1]))
        draw = iter(draws[:, 0]).__next__
        expected = train(rows, targets, model.certificate_.objective, model.accountant_, draw=draw)
        np.testing.assert_allclose(simulate(model, rows, targets, rng, 1, draws=draws)[0], expected, rtol=1e-9)


@pytest.mark.parametrize("place", [RECORDS - 1, RECORDS // 2])
def test_correlated_records(rng, place):
    """In the middle nothing is lost: the attack comes close to delta, and sees noise that is a tenth too small."""
    moved, model = secret(place), regression(AR1(0.9))
    weights = pair(model, rng, -moved, moved)
    assert not caught(model, weights)
    if place == RECORDS // 2:
        assert excess(*weights, EPSILON)[0] > 0.9 * DELTA
        assert caught(model, pair(model, rng, -moved, moved, noise=0.9 * model.noise_))
    for prior in ("independent", AR1(0), AR1(0.5)):
        wrong = regression(prior)
        assert caught(wrong, pair(wrong, rng, -moved, moved, runs=FEW))


def test_all_records_equal(rng):
    everywhere, model = np.ones(RECORDS), regression("group")
    assert not caught(model, pair(model, rng, -everywhere, everywhere))
    for prior in ("independent", AR1(0), AR1(0.9)):
        wrong = regression(prior)
        assert caught(wrong, pair(wrong, rng, -everywhere, everywhere, runs=FEW))


def test_the_last_record_of_the_last_batch(rng):
    """Steps that forget the past: the noise of one step hides the record. Noise for whole-data steps is too little."""
    alone = np.where(np.arange(RECORDS) == RECORDS - 1, 1.0, 0.0)
    model = regression(AR1(0), batch_size=4, epochs=1, learning_rate=1.0)
    weights = pair(model, rng, -alone, alone)
    assert not caught(model, weights)
    assert excess(*weights, EPSILON)[0] > 0.9 * DELTA
    whole = regression(AR1(0), batch_size=RECORDS, epochs=5, learning_rate=1.0)
    assert caught(model, pair(model, rng, -alone, alone, noise=whole.noise_))
    assert not caught(whole, pair(whole, rng, -alone, alone))


def labels(rng, runs, keep, value):
    """A symmetric chain of signs, given the sign in the middle; a neighbour is the same with chance (1 + keep) / 2."""
    found, place = np.empty((runs, RECORDS)), RECORDS // 2
    found[:, place] = value
    for j in (*range(place + 1, RECORDS), *range(place - 1, -1, -1)):
        before = found[:, j - 1 if j > place else j + 1]
        found[:, j] = np.where(rng.random(runs) < (1 + keep) / 2, before, -before)
    return found


def test_labels_that_follow_a_chain(rng):
    model, wrong = classifier(Mixing(0.9)), classifier("independent")
    runs = RUNS // 3
    both = [labels(rng, runs, 0.9, value) for value in (-1, 1)]
    assert not caught(model, pair(model, rng, *both, runs=runs))
    assert caught(wrong, pair(wrong, rng, *both, runs=runs))
    assert not caught(wrong, pair(wrong, rng, *(labels(rng, runs, 0.0, value) for value in (-1, 1)), runs=runs))


@search("trainings on correlated records that deviate from their means", each=[0.3, 0.6, 0.9])
def deviations(keep, rng, runs=4 * RUNS):
    """Records that deviate from their means: the two laws differ by the same vector, and hide a little themselves."""
    place, spread = RECORDS // 2, float(rng.choice([0.02, 0.3]))
    covariance = keep ** np.abs(np.subtract.outer(np.arange(RECORDS), np.arange(RECORDS)))
    moved = covariance[place]
    given = covariance - np.outer(moved, moved)
    for prior, right in ((AR1(keep), True), (AR1(0), False)):
        model = regression(prior)
        both = [rng.multivariate_normal(s * moved, spread**2 * given, runs, method="eigh") for s in (-1, 1)]
        assert caught(model, pair(model, rng, *both, runs=runs), sure=CERTAIN) != right


def test_correlated_records_with_deviations_of_their_own(rng):
    deviations(0.9, rng, RUNS)


@search("trainings of the estimators themselves", quick=1)
def test_the_loop_of_the_estimators_itself(seed):
    """Real trainings, with the noise of the operating system: fewer, so only gross errors show. No seed repeats it."""
    moved, runs = secret(RECORDS // 2), 4000
    for prior, right in ((AR1(0.9), True), (AR1(0), False)):
        model = regression(prior)
        objective, accountant, rows = model.certificate_.objective, model.accountant_, rows_of(model, ONES)
        both = [np.array([train(rows, s * moved, objective, accountant) for _ in range(runs)]) for s in (-1, 1)]
        assert caught(model, both) != right
