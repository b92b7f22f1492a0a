"""Laws between limits: every figure of the algebra against exact rationals, linear programs and drawn members."""

from __future__ import annotations

import itertools
import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fugu.priors.interval_chain import (
    Limits,
    _ever,
    diameters,
    everything,
    highest,
    kept,
    log_ratios,
    lowest,
    marginals,
    pushed,
    seen_backwards,
    tightened,
)
from hunting import search

sys.path.append(str(Path(__file__).parents[1] / "translation"))
from interval_members import member, random_box, random_rows


def filled(lower, upper, weights):
    """The largest <p, w> over exact rationals: lower limits first, then what is left where the weight is largest."""
    low, high, w = ([Fraction(float(x)) for x in row] for row in (lower, upper, weights))
    left, total = 1 - sum(low), sum(p * v for p, v in zip(low, w, strict=True))
    for y in sorted(range(len(w)), key=lambda y: -w[y]):
        more = min(left, high[y] - low[y])
        total, left = total + more * w[y], left - more
    return total if left <= 0 else None


@search("knapsacks between limits against exact rationals", quick=200)
def test_means_are_bounded_from_the_right_side_and_sharply(rng):
    k = int(rng.integers(1, 7))
    lower, upper = random_box(rng, k)
    lower, upper = lower * (1 - 1e-14), np.minimum(1, upper * (1 + 1e-14))  # some law lies between
    weights = np.exp(rng.normal(size=k) * rng.choice([0, 1, 20])) * (rng.random(k) < 0.8)
    most, least = filled(lower, upper, weights), -filled(lower, upper, -weights)
    box, size = Limits(lower, upper), float(weights.max())
    assert 0 <= Fraction(float(highest(box, weights))) - most <= Fraction(1e-12 * size)
    assert 0 <= least - Fraction(float(lowest(box, weights))) <= Fraction(1e-12 * size)


@search("laws of the next and the last entry between limits", quick=80)
def test_every_member_stays_between_what_is_pushed_seen_backwards_and_compared(rng):
    k = int(rng.integers(2, 5))
    lower, upper = random_rows(rng, k)
    first = Limits(*random_box(rng, k))
    rows, start = tightened(Limits(lower, upper)), tightened(first)
    after, back, logs, far = pushed(start, rows), seen_backwards(start, rows), log_ratios(rows), diameters(rows)
    for _ in range(30):
        law = member(rng, *first)
        step = np.array([member(rng, low, high) for low, high in zip(lower, upper, strict=True)])
        law, step = law / law.sum(), step / step.sum(axis=1, keepdims=True)
        next_law = law @ step
        assert (after.lower <= next_law + 1e-12).all() and (next_law <= after.upper + 1e-12).all()
        joint = law[:, None] * step
        for x in np.flatnonzero(next_law > 1e-9):
            row = joint[:, x] / next_law[x]
            assert (back.lower[x] <= row * (1 + 1e-6) + 1e-12).all() and (
                row <= back.upper[x] * (1 + 1e-6) + 1e-12
            ).all()
        for z, (x, y) in itertools.product(range(k), itertools.permutations(range(k), 2)):
            if step[z, x] > 1e-12:
                assert step[z, y] == 0 or math.log(step[z, x] / step[z, y]) <= logs[z, x, y] + 1e-6
                assert step[z, y] > 0 or math.isinf(logs[z, x, y])
        for z, u, x, y in itertools.product(range(k), repeat=4):
            parts = step[z, x] * step[u, y], step[z, y] * step[u, x]
            if z != u and x != y and min(parts) > 1e-9:
                assert math.log(parts[0] / parts[1]) <= far[x, y] + 1e-5
    return 30


def test_two_values_are_exact():
    rows = tightened(Limits(np.array([[0.5, 0.0], [0.15, 0.0]]), np.array([[0.7, 1.0], [0.25, 1.0]])))
    assert np.allclose(rows.lower, [[0.5, 0.3], [0.15, 0.75]]) and np.allclose(rows.upper, [[0.7, 0.5], [0.25, 0.85]])
    assert np.allclose(np.exp(log_ratios(rows)[:, 0, 1]), [0.7 / 0.3, 0.25 / 0.75])
    assert diameters(rows).max() == pytest.approx(math.log(0.7 / 0.3 * 0.85 / 0.15))
    law = kept(rows)  # m0 = p10 / (p01 + p10): from .15 / .65 to .25 / .55
    assert np.allclose(law.lower[0], 0.15 / 0.65) and np.allclose(law.upper[0], 0.25 / 0.55)


def test_limits_of_all_entries_settle_and_cover_what_comes_later():
    rng = np.random.default_rng(3)
    lower, upper = random_rows(rng, 3)
    lower, upper = np.clip(lower, 0.05, 1), np.clip(upper, 0.05, 1)
    upper = np.maximum(upper, lower)
    lower, upper = lower * np.minimum(1, 0.9 / lower.sum(1, keepdims=True)), np.minimum(1, upper + 0.05)
    rows = tightened(Limits(lower, upper))
    for start, nested in ((everything(3), True), (kept(rows), True), (Limits(np.eye(3)[0], np.eye(3)[0]), False)):
        found, one = marginals(start, rows, 10**6, 200, nested), start
        assert 1 < len(found.lower) <= 200 or start is not everything(3)
        law = np.clip(member(rng, *start), 0, 1)
        for t in range(300):
            at = min(t, len(found.lower) - 1)
            assert (found.lower[at] <= law + 1e-9).all() and (law <= found.upper[at] + 1e-9).all()
            assert (found.lower[at] <= one.lower + 1e-12).all() and (one.upper <= found.upper[at] + 1e-12).all()
            step = np.array([member(rng, low, high) for low, high in zip(lower, upper, strict=True)])
            law, one = law / law.sum() @ (step / step.sum(axis=1, keepdims=True)), pushed(one, rows)
        few = marginals(start, rows, 10**6, 3, nested)
        assert len(few.lower) <= 3 and (few.lower[-1] <= found.lower[-1]).all()
        assert (few.upper[-1] >= found.upper[min(2, len(found.upper) - 1) :].max(axis=0)).all()


def test_a_box_for_all_later_laws_covers_its_own_image():
    rows = tightened(Limits(np.array([[0.5, 0.3], [0.15, 0.75]]), np.array([[0.7, 0.5], [0.25, 0.85]])))
    for law in (kept(rows), Limits(np.array([0.2, 0.5]), np.array([0.5, 0.8])), Limits(np.eye(2)[0], np.eye(2)[0])):
        found = _ever(law, rows)
        image = pushed(found, rows)
        assert (image.lower >= found.lower).all() and (image.upper <= found.upper).all()
        assert (found.lower <= law.lower).all() and (found.upper >= law.upper).all()


def test_limits_given_wide_come_close_to_the_laws_that_are_kept():
    rows = tightened(Limits(np.array([[0.5, 0.3], [0.15, 0.75]]), np.array([[0.7, 0.5], [0.25, 0.85]])))
    far = kept(rows)
    for start in (Limits(np.zeros(2), np.ones(2)), Limits(np.array([0.3, 0.6]), np.array([0.4, 0.7]))):
        found = marginals(start, rows, 10**6, 10**6, False)
        assert np.allclose(found.lower[-1], far.lower, atol=1e-8) and np.allclose(found.upper[-1], far.upper, atol=1e-8)


def test_a_state_that_cannot_be_reached_stays_so():
    rows = Limits(
        np.array([[0.5, 0.3, 0], [0.1, 0.6, 0], [0, 0, 1.0]]), np.array([[0.7, 0.5, 0], [0.4, 0.9, 0], [0, 0, 1.0]])
    )
    found = marginals(Limits(np.array([1.0, 0, 0]), np.array([1.0, 0, 0])), tightened(rows), 50, 100, False)
    assert (found.upper[:, 2] == 0).all() and (found.upper[1:, :2] > 0).all()
