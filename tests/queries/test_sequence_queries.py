"""Noised numbers of sequences: sensitivities and losses over all short sequences and all replaced entries."""

from __future__ import annotations

import json
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from mpmath import exp, log, mpf
from sequence_oracle import Silent, datasets, flat, spread

import fugu
from fugu.queries import entry_noise
from fugu.queries.entry_noise import EntryNoise
from fugu.queries.sequences import (
    Count,
    Histogram,
    Mean,
    Numbers,
    States,
    Sum,
    Transitions,
)

AB = States(("a", "b"))
ABC = States(("a", "b", "c"))
FIGURES = (-3, 0, 0.25, 1, 2, 7)  # some outside the bounds 0 .. 2

ADDITIVE = [
    (Count("a", ABC), (3, 1), "abc", 1, Fraction(1)),
    (Histogram(ABC), (3, 1), "abc", 2, Fraction(1)),
    (Transitions(ABC), (3,), "abc", 4, Fraction(1)),
    (Transitions(AB), (4, 1), "ab", 4, Fraction(1)),
    (Transitions(ABC, longest=2), (2, 2), "abc", 2, Fraction(1)),
    (Sum(Numbers(0, 2)), (2, 1), FIGURES, 2, Fraction(1, 500)),
    (Sum(Numbers(0, 2), step=0.5), (2, 1), FIGURES, 2, Fraction(1, 2)),
    (Mean(Numbers(0, 2)), (2, 1), FIGURES, Fraction(2, 3), Fraction(1, 1500)),
]


@pytest.mark.parametrize(("query", "shape", "values", "worst", "step"), ADDITIVE, ids=lambda x: getattr(x, "name", ""))
def test_the_sensitivity_is_the_worst_change_over_all_data_and_replacements(query, shape, values, worst, step):
    found = spread(query, shape, values)
    assert found == worst
    over = sum(shape) if isinstance(query, Mean) else 1
    assert query.sensitivity == found * over


def test_smaller_sensitivities_are_rejected():
    """1 for a histogram, 2 for transitions inside a chain (right only at its ends), 3 for them."""
    assert spread(Histogram(AB), (2,), "ab") > 1
    assert spread(Transitions(AB), (3,), "ab") > 3
    assert spread(Transitions(AB), (2,), "ab") == 2


@pytest.fixture
def silent(monkeypatch):
    monkeypatch.setattr(entry_noise, "laplace_sampler", Silent)
    Silent.rates = []
    return Silent


@pytest.mark.parametrize(("query", "shape", "values", "worst", "step"), ADDITIVE, ids=lambda x: getattr(x, "name", ""))
def test_the_noise_that_is_drawn_pays_for_every_change_and_no_more(query, shape, values, worst, step, silent):
    """rate x (l1 change in lattice steps, rounding included) <= epsilon, with equality somewhere."""
    epsilon = Fraction(3, 10)
    rng = np.random.default_rng(0)
    seen = {}

    def steps(data):
        key = json.dumps(data)
        if key not in seen:
            value = flat(query.mechanism(epsilon).simulate(data, rng).value)
            seen[key] = [round(float(v) / float(step)) for v in value]
        return np.array(seen[key])

    moved = max(int(np.abs(steps(d) - steps(e)).sum()) for d, e in datasets(shape, values))
    assert len(set(silent.rates)) == 1
    assert silent.rates[0] * moved == epsilon


def test_the_exact_loss_of_a_noised_histogram_is_epsilon():
    """sup over outputs of log P(z | D) / P(z | D'), with the masses of the noise itself, over a window of outputs."""
    epsilon, window = mpf(1) / 2, range(-3, 7)

    def log_mass(z, counts, rate):
        q = exp(-rate)
        return sum(log((1 - q) / (1 + q)) - rate * abs(a - b) for a, b in zip(z, counts, strict=True))

    def worst(rate):
        pairs = [(Histogram(AB).exact(d), Histogram(AB).exact(e)) for d, e in datasets((3,), "ab")]
        pairs = {(tuple(map(int, a)), tuple(map(int, b))) for a, b in pairs}
        outputs = list(product(window, repeat=2))
        return max(log_mass(z, a, rate) - log_mass(z, b, rate) for a, b in pairs for z in outputs)

    assert abs(worst(epsilon / 2) - epsilon) < mpf(10) ** -40
    assert worst(epsilon) > epsilon * mpf("1.9")  # Lap(1 / epsilon) on every count


def test_released_noise_has_the_claimed_scale():
    states = States(tuple(range(50)))
    zeros = [[0] * 3]
    mechanism = Histogram(states).mechanism(Fraction(1, 2))
    rng = np.random.default_rng(7)
    exact = Histogram(states).exact(zeros)
    noise = np.concatenate([mechanism.simulate(zeros, rng).value - exact for _ in range(600)])
    expected = fugu.Laplace(4, grid=1).expected_error()
    assert np.mean(np.abs(noise)) == pytest.approx(expected, rel=0.03)
    assert abs(np.mean(np.abs(noise)) / fugu.Laplace(4.0 * 0.95, grid=1).expected_error() - 1) > 0.03


def test_the_interval_holds_all_counts_together():
    mechanism = Histogram(ABC).mechanism(0.2)
    data, rng = [list("aabc")], np.random.default_rng(8)
    exact = Histogram(ABC).exact(data)
    answers = [mechanism.simulate(data, rng) for _ in range(1500)]
    held = np.mean([np.all(np.abs(a.value - exact) <= a.interval[1]) for a in answers])
    assert 0.93 <= held <= 0.985
    alone = fugu.Laplace(10, grid=1).quantile(0.95)
    assert np.mean([np.all(np.abs(a.value - exact) <= alone) for a in answers]) < 0.9
    low, high = (answers[0].value + end for end in answers[0].interval)
    assert np.all(low <= answers[0].value) and np.all(answers[0].value <= high)


@pytest.mark.parametrize("query", [Sum(Numbers(0, 10)), Mean(Numbers(0, 10)), Count("a", AB)])
def test_intervals_of_single_numbers_hold(query):
    data = ["a", "b"] * 5 if isinstance(query, Count) else [1.23456, 9.87, 3.3]
    rng, mechanism = np.random.default_rng(9), query.mechanism(0.7)
    exact = float(query.exact(data))
    answers = [mechanism.simulate(data, rng) for _ in range(1500)]
    held = np.mean([a.interval[0] <= a.value - exact <= a.interval[1] for a in answers])
    assert 0.93 <= held <= 0.985


def test_the_error_bound_covers_many_parts():
    for parts in (1, 5, 400):
        rate = Fraction(1, 7)
        h = EntryNoise(rate).half(Count("a", States(["a", "b"])), parts)
        tail = fugu.Laplace(7, grid=1).tail(h)
        assert (1 - tail) ** parts >= 0.95 - 1e-12
        assert (1 - fugu.Laplace(7, grid=1).tail(h - 1)) ** parts < 0.95
