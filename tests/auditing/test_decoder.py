"""The lattice decoder: exact against noise along a line, helpless against noise of full rank."""

from __future__ import annotations

import numpy as np
import pytest

from fugu.auditing.guessers import decode
from fugu.errors import UsageError

STEPS = [0.01, 0.01, 1, 1, 0.01]
BOUNDS = [[17, 90], [1, 16], [0, 100], [0, 100], [1, 99]]
"""Mean age, mean schooling, two counts, mean hours: 100 records, whole numbers."""


def statistics(rng, rows):
    ages, years, hours = (rng.integers(a, b, (rows, 100)) for a, b in ((17, 91), (1, 17), (1, 100)))
    counts = [rng.binomial(100, p, rows) for p in (0.35, 0.5)]
    return np.stack([ages.mean(1), years.mean(1), *counts, hours.mean(1)], axis=1)


@pytest.fixture
def setting():
    rng = np.random.default_rng(5)
    v = rng.normal(size=5)
    return rng, statistics(rng, 300), v / np.linalg.norm(v)


@pytest.mark.parametrize("spread", [1.0, 65.0, 1000.0])
def test_noise_along_a_line_hides_nothing(setting, spread):
    rng, clean, v = setting
    found = decode(clean + rng.normal(0, spread, 300)[:, None] * v, v, STEPS, BOUNDS)
    assert found.share == 1.0
    assert np.abs(found.values - clean).max() < 1e-9
    assert found.residual.max() < 1e-8 and found.gap > 0.1
    assert "300 of 300" in repr(found)


def test_noise_in_a_plane_hides_nothing_either(setting):
    rng, clean, _ = setting
    V = rng.normal(size=(2, 5))
    found = decode(clean[:60] + rng.normal(0, 40, (60, 2)) @ V, V, STEPS, BOUNDS)
    assert found.share == 1.0 and np.abs(found.values - clean[:60]).max() < 1e-9


def test_noise_of_full_rank_is_not_decoded(setting):
    rng, clean, v = setting
    found = decode(clean + rng.normal(0, 20, (300, 5)), v, STEPS, BOUNDS)
    assert found.share == 0.0 and found.gap == 0.0
    slight = clean + rng.normal(0, 65, 300)[:, None] * v + rng.normal(0, 0.02, (300, 5))
    assert decode(slight, v, STEPS, BOUNDS).share == 0.0


def test_the_wrong_direction_decodes_nothing(setting):
    rng, clean, v = setting
    z = clean + rng.normal(0, 65, 300)[:, None] * v
    assert decode(z, v + 0.01 * rng.normal(size=5), STEPS, BOUNDS).share == 0.0


def test_a_direction_of_the_lattice_is_ambiguous_and_said_to_be():
    rng = np.random.default_rng(2)
    clean = rng.integers(0, 50, (100, 3)).astype(float)
    z = clean + rng.normal(0, 9, 100)[:, None] * np.array([1.0, 1.0, 2.0])
    found = decode(z, [1, 1, 2], [1, 1, 1], [[0, 49]] * 3)
    assert found.share < 0.2  # unique only where the bounds leave one candidate
    assert np.abs(found.values - clean)[found.decoded].max(initial=0) < 1e-9


def test_every_decoded_vector_is_the_only_one_by_enumeration():
    """Brute force over all lattice points of a small box, from the definition alone."""
    rng = np.random.default_rng(3)
    v = np.array([0.3141, 0.7777, -0.5443])
    clean = rng.integers(0, 12, (25, 3)).astype(float)
    z = clean + rng.normal(0, 3, 25)[:, None] * v
    box = np.stack(np.meshgrid(*[np.arange(12.0)] * 3, indexing="ij"), axis=-1).reshape(-1, 3)
    found = decode(z, v, [1, 1, 1], [[0, 11]] * 3)
    for i, row in enumerate(z):
        off = row - box
        across = off - np.outer(off @ v / (v @ v), v)
        near = box[np.abs(across).max(axis=1) < 1e-8]
        assert len(near) == 1 and found.decoded[i] and np.array_equal(near[0], found.values[i])


@pytest.mark.parametrize(
    ("directions", "steps", "bounds", "said"),
    [
        ([1.0, 2.0], STEPS, BOUNDS, "5 statistics"),
        (np.ones(5), STEPS[:4], BOUNDS, "5 statistics"),
        (np.ones(5), STEPS, BOUNDS[:4], "5 statistics"),
        (np.eye(5), STEPS, BOUNDS, "leaves nothing out"),
        (np.ones((2, 5)), STEPS, BOUNDS, "not independent"),
        (np.ones(5), [0.01, 0.01, 1, -1, 0.01], BOUNDS, "steps positive"),
        (np.ones(5), [0.01, 0.01, 1, 7, 0.01], [*BOUNDS[:3], [1, 6], BOUNDS[4]], "no multiple"),
        (np.random.default_rng(0).normal(size=(4, 5)), STEPS, BOUNDS, "too many"),
    ],
)
def test_what_does_not_fit_is_refused(directions, steps, bounds, said):
    with pytest.raises(UsageError, match=said):
        decode(np.zeros((3, 5)), directions, steps, bounds)
