"""Losses and scaling: derivatives, constants, clipping and norms hold on thousands of random points."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from fugu.errors import UsageError
from fugu.training.losses import Hinge, Logistic, Objective, Squared
from fugu.training.scaling import Scaling, TargetScaling

LOSSES = [Squared(1.0), Squared(0.25), Logistic(), Hinge(1.0), Hinge(0.2), Hinge(3.0)]
rng = np.random.default_rng(7)


@pytest.fixture(autouse=True)
def _the_same_numbers_in_any_order_of_tests():
    global rng
    rng = np.random.default_rng(7)


def points(loss, count=5000):
    z = rng.uniform(-4, 4, count)
    y = rng.choice([-1.0, 1.0], count) if loss.labels else rng.uniform(-1, 1, count)
    return z, y


def unit_rows(count, size):
    rows = rng.normal(size=(count, size))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True) * rng.uniform(0, 1, (count, 1)) ** 0.3


def gradients(objective, weights, rows, targets):
    """One clipped gradient a row, by the rule of the definition: shorten the vector if it is too long."""
    found = np.array([objective.loss.derivative(x @ w, y) * x for w, x, y in zip(weights, rows, targets, strict=True)])
    length = np.linalg.norm(found, axis=1, keepdims=True)
    return np.where(length > objective.clip, found * (objective.clip / np.maximum(length, 1e-300)), found)


def value(loss, z, y):
    """phi(z, y), as the losses are defined."""
    if loss.name == "squared":
        far = np.abs(z - y)
        return np.where(far <= loss.clip, far * far / 2, loss.clip * (far - loss.clip / 2))
    if loss.name == "logistic":
        return np.logaddexp(0.0, -y * z)
    short = np.maximum(1 - y * z, 0.0)
    return np.where(short <= loss.width, short * short / (2 * loss.width), short - loss.width / 2)


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_the_derivative_is_the_derivative_of_the_value(loss):
    z, y = points(loss)
    step = 1e-5
    numeric = (value(loss, z + step, y) - value(loss, z - step, y)) / (2 * step)
    assert np.abs(numeric - loss.derivative(z, y)).max() < 1e-4
    assert np.abs(numeric - 0.99 * loss.derivative(z, y)).max() > 1e-4  # a derivative 1 % too small is seen


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_slope_curvature_and_swing_are_bounds_and_are_reached(loss):
    z, y = points(loss, 20000)
    z2 = z + rng.normal(size=z.size) * rng.choice([1e-3, 1.0], z.size)
    rise = (loss.derivative(z2, y) - loss.derivative(z, y)) / (z2 - z)
    assert rise.min() >= 0  # convex
    assert rise.max() <= loss.curvature * (1 + 1e-9) and rise.max() > 0.9 * loss.curvature
    far = np.concatenate([z, 40 * z])
    slopes = np.abs(loss.derivative(far, np.concatenate([y, y])))
    assert 0.99 * loss.slope < slopes.max() <= loss.slope
    other = -y if loss.labels else rng.uniform(-1, 1, z.size)
    swings = np.abs(loss.derivative(z, y) - loss.derivative(z, other))
    assert 0.8 * loss.swing < swings.max() <= loss.swing + 1e-12


def test_half_the_curvature_or_slope_would_be_noticed():
    """The wrong version that the test above rejects: constants half as large are below what is seen."""
    for loss in LOSSES:
        z, y = points(loss)
        rise = np.diff(loss.derivative(np.linspace(-4, 4, 4001), np.ones(4001))) / (8 / 4000)
        assert rise.max() > loss.curvature / 2
        assert np.abs(loss.derivative(40 * z, y)).max() > loss.slope / 2


@pytest.mark.parametrize("clip", [0.1, 0.5, 5.0])
@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_clipped_gradients_keep_lipschitz_smoothness_and_sensitivity(loss, clip):
    radius, count = 3.0, 1500
    objective = Objective(loss, clip, 0.0, radius)
    features = replace(objective, private="features", width=1.0).sensitivity
    target = replace(objective, private="target").sensitivity / 2
    v, w = unit_rows(count, 4) * radius, unit_rows(count, 4) * radius
    x, x2 = unit_rows(count, 4), unit_rows(count, 4)
    x2 = np.where(rng.uniform(size=(count, 1)) < 0.5, x2, x + 1e-3 * x2)
    x2 /= np.maximum(1, np.linalg.norm(x2, axis=1, keepdims=True))
    _, y = points(loss, count)
    at_v, at_w = gradients(objective, v, x, y), gradients(objective, w, x, y)
    apart = np.linalg.norm(v - w, axis=1)
    assert np.linalg.norm(at_v, axis=1).max() <= objective.lipschitz * (1 + 1e-12)
    assert np.all(np.linalg.norm(at_v - at_w, axis=1) <= objective.smoothness * apart * (1 + 1e-9) + 1e-12)
    assert np.all(np.sum((at_v - at_w) * (v - w), axis=1) >= -1e-12)  # the gradient of a convex function
    moved = np.linalg.norm(at_v - gradients(objective, v, x2, y), axis=1)
    assert np.all(moved <= features * np.linalg.norm(x - x2, axis=1) * (1 + 1e-9) + 1e-12)
    if not loss.labels:
        _, y2 = points(loss, count)
        moved = np.linalg.norm(at_v - gradients(objective, v, x, y2), axis=1)
        assert np.all(moved <= target * np.abs(y - y2) + 1e-12)
        assert np.any(moved > 0.5 * target * np.abs(y - y2)) or clip < 0.5


@pytest.mark.parametrize("loss", LOSSES, ids=repr)
def test_a_step_with_clipping_contracts_up_to_two_over_smoothness_and_not_beyond(loss):
    """|v - eta g(v) - (w - eta g(w))| <= |v - w| for eta <= 2 / beta; at 3 / beta some pair moves apart."""
    objective = Objective(loss, 0.4, 0.0, 1.0)
    x = np.tile([[0.9, 0.1]], (4000, 1))
    y = np.ones(4000) if loss.labels else np.zeros(4000)
    v = rng.uniform(-3, 3, (4000, 2))
    w = v + 1e-3 * rng.normal(size=v.shape)

    def ratio(eta):
        moved = v - eta * gradients(objective, v, x, y) - (w - eta * gradients(objective, w, x, y))
        return (np.linalg.norm(moved, axis=1) / np.linalg.norm(v - w, axis=1)).max()

    assert ratio(2 / loss.curvature) <= 1 + 1e-9
    assert ratio(3 / loss.curvature) > 1.01


def test_clipping_a_product_model_can_expand_so_linear_models_only():
    """The claim is special to linear models: with l(w) = (w1 w2 - 1)^2 / 2 even a small clipped step moves apart."""

    def step(w):
        g = (w[0] * w[1] - 1) * np.array([w[1], w[0]])
        return w - 0.1 * g * min(1, 0.4 / np.linalg.norm(g))

    v, w = np.array([0.01, 0.01]), np.array([-0.01, -0.01])
    assert np.linalg.norm(step(v) - step(w)) > 1.05 * np.linalg.norm(v - w)


def test_pull_is_the_sum_of_clipped_gradients():
    for loss in LOSSES:
        objective = Objective(loss, 0.15, 0.0, 2.0)
        rows, (_, y) = unit_rows(200, 3), points(loss, 200)
        rows[0] = 0.0
        weights = np.array([1.0, -0.5, 0.7])
        wanted = gradients(objective, np.tile(weights, (200, 1)), rows, y).sum(axis=0)
        assert np.allclose(objective.pull(weights, rows, y, objective.caps(rows)), wanted, atol=1e-12)
        assert not np.allclose(objective.pull(weights, rows, y, None), wanted, atol=1e-3)  # without the clip


@pytest.mark.parametrize("width", [2.0, math.sqrt(2)])
@pytest.mark.parametrize("private", ["both", "features", "target"])
def test_a_share_of_the_declared_range_moves_the_gradient_by_that_share_of_the_sensitivity(private, width):
    """The worst record, in one dimension: the residual at the clip, all of it moving. The bound is reached, not passed.

    Features: g = (w x - y) x, x = 1 to 1 - s, moves by (radius + slope) s; target: by its own distance."""
    objective = Objective(Squared(1.0), 5.0, 0.0, 3.0, private, width)
    share = 1e-7
    x, y = np.array([[1.0]]), np.array([2.0 - 1e-3])
    moved_x = x - share * width if private != "target" else x
    moved_y = y + 2 * share if private != "features" else y
    at = np.array([3.0 - 2e-3])
    before, after = gradients(objective, [at], x, y), gradients(objective, [at], moved_x, moved_y)
    used = np.abs(before - after).max() / share / objective.sensitivity
    assert 0.99 < used <= 1


def test_constants_of_private_targets_use_the_swing():
    assert Objective(Logistic(), 1.0, 0.0, 1.0, "target").lipschitz == 0.5
    assert Objective(Logistic(), 1.0, 0.0, 1.0, "features").lipschitz == 1.0
    assert Objective(Logistic(), 0.2, 0.0, 1.0, "target").lipschitz == 0.2
    assert math.isinf(Objective(Logistic(), 1.0, 0.0, 1.0).sensitivity)


@pytest.mark.parametrize(
    "bad", [{"clip": 0}, {"clip": math.nan}, {"penalty": -1}, {"penalty": math.inf}, {"radius": 0}]
)
def test_constants_out_of_range_are_refused(bad):
    with pytest.raises(UsageError):
        Objective(Logistic(), **{"clip": 1.0, "penalty": 0.1, "radius": 1.0, **bad})
    with pytest.raises(UsageError):
        Squared(-1.0)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("declared", [{"bounds": (-2.0, [1, 5, 9])}, {"max_norm": 2.5}], ids=str)
def test_scaled_rows_have_norm_at_most_one_in_floats_and_scaling_never_stretches(declared, intercept):
    scaling = Scaling.of(3, intercept=intercept, **declared)
    raw = np.concatenate([rng.normal(size=(4000, 3)) * 10 ** rng.uniform(-3, 3, (4000, 1)), [[1e308, -1e308, 1e308]]])
    rows = scaling.rows(np.concatenate([raw, np.zeros((1, 3))]))
    norms = np.einsum("ij,ij->i", rows, rows)
    assert norms.max() <= 1 and norms.max() > 0.999
    assert rows.shape[1] == 3 + intercept
    assert all(np.linalg.norm(a - b) <= scaling.width for a, b in zip(rows[:500], rows[500:1000], strict=True))
    # distance before, in the same units, is never smaller: what is clipped does not move farther than the rest
    near = raw[:4000] + rng.normal(size=(4000, 3)) * 1e-2
    plain = scaling.factor / (scaling.max_norm or 1.0)
    before = np.linalg.norm((near - raw[:4000]) * plain, axis=1)
    after = np.linalg.norm(scaling.rows(near) - scaling.rows(raw[:4000]), axis=1)
    assert np.all(after <= before * (1 + 1e-9) + 1e-12)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("declared", [{"bounds": ([-2, 0, 1], [1, 5, 9])}, {"max_norm": 100}], ids=str)
def test_weights_come_back_to_the_units_of_the_data(declared, intercept):
    scaling, target = Scaling.of(3, intercept=intercept, **declared), TargetScaling.of((-3, 11), intercept)
    X = rng.uniform([-2, 0, 1], [1, 5, 9], (50, 3))
    weights = rng.normal(size=len(scaling.centre) + scaling.intercept)
    coef, constant = target.back(*scaling.back(weights))
    scaled = scaling.rows(X) @ weights
    assert np.allclose(X @ coef + constant, target.centre + target.half * scaled)
    if not intercept:
        assert constant == 0
    back = (target.scaled(np.array([-3.0, 4.0, 11.0, 99.0])) * target.half + target.centre).tolist()
    assert np.allclose(back, [-3, 4, 11, 11])


@pytest.mark.parametrize(
    ("declared", "say"),
    [
        ({}, "bounds="),
        ({"bounds": (0, 1), "max_norm": 1}, "either"),
        ({"bounds": (1, 1)}, "low < high"),
        ({"bounds": ([0, 0], [1, 1])}, "each of the 3"),
        ({"bounds": (0, math.inf)}, "finite"),
        ({"bounds": 3}, "pair"),
        ({"max_norm": 0}, "above 0"),
        ({"max_norm": "x"}, "finite"),
    ],
)
def test_scaling_that_is_not_declared_is_refused_with_what_to_give(declared, say):
    with pytest.raises(UsageError, match=say):
        Scaling.of(3, **declared)


def test_target_bounds_are_needed():
    for bad, say in ((None, "target_bounds="), ((1, 1), "low < high"), ((0, math.nan), "finite")):
        with pytest.raises(UsageError, match=say):
            TargetScaling.of(bad)
