"""The loop is the process of the proof, step by step; its noise is normal and fresh."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fugu.errors import NotProvable, UsageError
from fugu.noise.bits import RngBits
from fugu.progress import reporting
from fugu.training.accountant import NoisySGD
from fugu.training.losses import Hinge, Logistic, NormalStream, Objective, Squared, normals, train
from tape import TapeBits

rng = np.random.default_rng(11)


@pytest.fixture(autouse=True)
def _the_same_numbers_in_any_order_of_tests():
    global rng
    rng = np.random.default_rng(11)


def problem(count, size, labels=False):
    rows = rng.normal(size=(count, size))
    rows /= np.maximum(1, np.linalg.norm(rows, axis=1, keepdims=True)) * (1 + 1e-12)
    targets = rng.uniform(-1, 1, count)
    return rows, np.where(targets > 0, 1.0, -1.0) if labels else targets


def accountant(objective, records, steps, batch, noise=0.05, rate=None, **changed):
    c = objective
    stated = {"lipschitz": c.lipschitz, "smoothness": c.smoothness, "strong_convexity": c.penalty}
    rate = rate or 1.2 / c.smoothness
    rest = {"noise": noise, "domain": 2 * objective.radius, "records": records, "batch_size": batch}
    return NoisySGD(steps, rate, **{**stated, **rest, **changed})


def naive(rows, targets, objective, plan, noises, order="P1", divide_by_length=False):
    """The process in plain Python, one record and one coordinate at a time."""

    def project(w):
        length = math.sqrt(sum(a * a for a in w))
        return [a * objective.radius / length for a in w] if length > objective.radius else list(w)

    n, d, m = len(rows), len(rows[0]), plan.batch_size
    weights = [0.0] * d
    for t in range(plan.steps):
        batch = t % math.ceil(n / m)
        members = [j for j in range(n) if j // m == batch]
        at = project(weights) if order == "P1" else list(weights)
        total = [0.0] * d
        for j in members:
            z = sum(a * b for a, b in zip(at, rows[j], strict=True))
            slope = float(objective.loss.derivative(np.array([z]), np.array([targets[j]]))[0])
            g = [slope * x for x in rows[j]]
            length = math.sqrt(sum(a * a for a in g))
            if length > objective.clip:
                g = [a * objective.clip / length for a in g]
            total = [a + b for a, b in zip(total, g, strict=True)]
        share = len(members) if divide_by_length else m
        moved = [a - plan.learning_rate * (b / share + objective.penalty * a) for a, b in zip(at, total, strict=True)]
        if order != "P1":
            moved = project(moved)
        weights = [a + plan.noise * b for a, b in zip(moved, noises[t], strict=True)]
    return project(weights)


@pytest.mark.parametrize("batch", [1, 7, 40, 41])
@pytest.mark.parametrize("loss", [Squared(0.5), Logistic(), Hinge(0.5)], ids=repr)
def test_the_loop_is_the_process_of_the_proof(loss, batch):
    rows, targets = problem(40, 3, loss.labels)
    objective = Objective(loss, 0.3, 0.02, 0.4)
    plan = accountant(objective, 40, 60, batch, noise=0.2)
    noises = rng.normal(size=(60, 3))
    found = train(rows, targets, objective, plan, draw=iter(noises).__next__)
    assert np.allclose(found, naive(rows, targets, objective, plan, noises), atol=1e-12)
    assert np.linalg.norm(found) <= objective.radius * (1 + 1e-12)
    # the printed order (gradient outside the ball) and sums divided by the length of a short last batch are others
    assert not np.allclose(found, naive(rows, targets, objective, plan, noises, order="printed"), atol=1e-6)
    if batch == 7:
        wrong = naive(rows, targets, objective, plan, noises, divide_by_length=True)
        assert not np.allclose(found, wrong, atol=1e-6)


def test_gradients_are_never_taken_outside_the_ball():
    """With noise far larger than the ball, every point at which the gradient is asked for lies in it (order P1)."""

    class Watched(Objective):
        def pull(self, weights, rows, targets, caps):
            seen.append(np.linalg.norm(weights))
            return super().pull(weights, rows, targets, caps)

    seen: list[float] = []
    rows, targets = problem(30, 4)
    objective = Watched(Squared(1.0), 1.0, 0.0, 0.5)
    found = train(rows, targets, objective, accountant(objective, 30, 50, 10, noise=10.0))
    assert len(seen) == 50 and max(seen) <= 0.5 * (1 + 1e-12) and np.linalg.norm(found) <= 0.5 * (1 + 1e-12)
    assert min(seen[1:]) > 0.49  # the noise did carry every iterate out


def test_large_batches_in_blocks_sum_to_the_same():
    rows, targets = problem(10_000, 3)
    objective = Objective(Squared(1.0), 0.2, 0.01, 1.0)
    plan = accountant(objective, 10_000, 3, 9_000)
    noises = rng.normal(size=(3, 3))
    assert np.allclose(
        train(rows, targets, objective, plan, draw=iter(noises).__next__),
        naive(rows, targets, objective, plan, noises),
        atol=1e-10,
    )


def test_without_noise_the_loop_finds_the_optimum():
    rows, targets = problem(500, 3)
    objective = Objective(Squared(5.0), 5.0, 0.01, 50.0)
    found = train(rows, targets, objective, accountant(objective, 500, 3000, 500), noiseless=True)
    best = np.linalg.solve(rows.T @ rows / 500 + 0.01 * np.eye(3), rows.T @ targets / 500)
    assert np.allclose(found, best, atol=1e-8)
    assert not np.allclose(found, best * 1.001, atol=1e-6)


@pytest.mark.parametrize(
    "wrong",
    [{"lipschitz": 0.29}, {"smoothness": 1.0}, {"strong_convexity": 0.03}, {"domain": 0.7}],
    ids=str,
)
def test_an_accountant_with_smaller_constants_is_refused(wrong):
    rows, targets = problem(20, 3)
    objective = Objective(Squared(1.0), 0.3, 0.02, 0.4)
    train(rows, targets, objective, accountant(objective, 20, 5, 5))
    with pytest.raises(NotProvable, match="constants"):
        train(rows, targets, objective, accountant(objective, 20, 5, 5, rate=0.5, **wrong))


def test_what_was_not_accounted_for_is_refused():
    rows, targets = problem(20, 3)
    objective = Objective(Squared(1.0), 0.3, 0.02, 0.4)
    fine = accountant(objective, 20, 5, 5)
    with pytest.raises(UsageError, match="20 records"):
        train(rows[:19], targets[:19], objective, fine)
    with pytest.raises(UsageError, match="norm at most 1"):
        train(rows * 1.5, targets, objective, fine)
    with pytest.raises(UsageError, match="targets"):
        train(rows, targets + 2, objective, fine)
    with pytest.raises(UsageError, match="norm at most 1"):
        train(rows * math.nan, targets, objective, fine)
    with pytest.raises(NotProvable, match="for_budget"):
        train(rows, targets, objective, accountant(objective, 20, 5, 5, noise=None))
    with pytest.raises(UsageError, match="one learning rate"):
        train(rows, targets, objective, accountant(objective, 20, 5, 5, noise=np.full(5, 0.1)))


def test_progress_is_reported_and_ends_at_the_total():
    rows, targets = problem(20, 3)
    objective = Objective(Squared(1.0), 0.3, 0.02, 0.4)
    seen = []
    with reporting(lambda what, done, total: seen.append((what, done, total))):
        train(rows, targets, objective, accountant(objective, 20, 300, 5))
    assert seen[0] == ("training", 0, 300) and seen[-1] == ("training", 300, 300) and len(seen) <= 110


def test_the_noise_is_normal():
    """Kolmogorov-Smirnov on 2^18 numbers at level 1e-6; a standard deviation 2 % too small is rejected by it."""
    from scipy.stats import kstest

    found = normals(1 << 18, RngBits(np.random.default_rng(3)))
    assert kstest(found, "norm").pvalue > 1e-6
    assert kstest(0.98 * found, "norm").pvalue < 1e-6
    assert abs(np.mean(found * np.roll(found, 1))) < 0.01


def test_the_extreme_words_give_finite_symmetric_numbers():
    least, most = normals(1, TapeBits("0" * 53)), normals(1, TapeBits("1" * 53))
    tail = normals(1, TapeBits("0" * 52 + "1"))
    assert 8.2 < least[0] < 8.3 and tail[0] == -least[0]
    assert np.isfinite(most[0]) and abs(most[0]) < 1e-10  # U next to 1/2


def test_the_stream_hands_out_every_number_once():
    stream = NormalStream(3, 7, RngBits(np.random.default_rng(5)))
    found = np.concatenate([stream().copy() for _ in range(50)])
    assert np.unique(found).size == found.size == 150
    assert not np.allclose(NormalStream(3, 1)(), NormalStream(3, 1)())  # the system's numbers do not repeat
