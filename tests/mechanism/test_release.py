"""A release is one draw of exactly the noise that was certified; errors name no value."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

import fugu
from fugu import Approx, Discrete, LawPair, Pure, Scenario, Shifted, calibrate, mix, sequences, verify
from fugu.data import Schema, write_csv
from fugu.errors import (
    BadLaw,
    BadTable,
    FuguError,
    NoiselessRelease,
    NotProvable,
    PriorNotPublic,
    UsageError,
)
from fugu.ledger.values import encode
from fugu.mechanism import post

PAIR = LawPair(Discrete([0, 1, 2, 3], [4, 3, 2, 1]), Discrete([0, 1, 2, 3], [1, 2, 3, 4]), "a vs b")
CLOSE = LawPair(Discrete([0, 1], [52, 48]), Discrete([0, 1], [50, 50]))


def mechanism(epsilon=0.7):
    return calibrate(PAIR, Pure(epsilon))


def test_the_released_noise_is_the_certified_one():
    m = mechanism()
    n = 400_000
    noise = m.release(np.ones(n)).values - 1
    k = np.arange(-30, 31)
    h = float(m.noise.grid) / m.noise.scale
    mass = np.tanh(h / 2) * np.exp(-np.abs(k) * h)
    seen = np.array([(noise == j).sum() for j in k])
    keep = mass * n > 50

    def p_value(scale):
        expected = np.tanh(h / scale / 2) * np.exp(-np.abs(k) * h / scale) * n
        return stats.chisquare(
            np.append(seen[keep], n - seen[keep].sum()), np.append(expected[keep], n - expected[keep].sum())
        ).pvalue

    assert p_value(1) > 1e-6
    assert p_value(0.97) < 1e-6 and p_value(1.03) < 1e-6


def test_simulation_is_repeatable_and_spends_nothing():
    m = mechanism()
    a, b = (m.simulate([0, 1, 2], np.random.default_rng(5)).values for _ in range(2))
    assert np.array_equal(a, b)
    m.release(1)


def test_release_takes_no_seed():
    with pytest.raises(TypeError):
        mechanism().release(1, seed=3)


def test_values_outside_the_support_are_moved_to_the_nearest_supported_one():
    silent = calibrate(CLOSE, Pure(1))
    assert silent.release([-7, 0.4, 0.6, 99, np.inf], allow_no_noise=True).values.tolist() == [0, 0, 1, 1, 1]


def test_no_noise_must_be_said_aloud():
    silent = calibrate(CLOSE, Pure(1))
    assert silent.noise.scale == 0
    with pytest.raises(NoiselessRelease, match="allow_no_noise"):
        silent.release(1)
    assert silent.release(1, allow_no_noise=True).value == 1
    assert any("no noise" in a for a in silent.certificate.assumptions)


def test_what_is_no_number_counts_as_the_middle_of_the_support():
    silent = calibrate(CLOSE, Pure(1))
    assert silent.release([1, "SENTINEL-93177", 0.2], allow_no_noise=True).values.tolist() == [1, 0, 0]


def test_releasing_the_very_reference_needs_public_prior():
    table = {"s": ["a", "b"] * 20, "v": [0, 1, 1, 2] * 10}
    m = calibrate(Scenario.from_table(table, publish="v", protect="s"), Pure(0.5))
    with pytest.raises(PriorNotPublic, match="public_prior"):
        m.release(table["v"])
    m.release([0, 1, 2])  # other data is fine, and the refusal above spent nothing
    public = Scenario.from_table(table, publish="v", protect="s", public_prior=True)
    calibrate(public, Pure(0.5)).release(table["v"])


class TestThen:
    def test_post_processing_keeps_the_certificate(self):
        m = calibrate(PAIR, Pure(0.3)).then(post.clip(0, 3)).then(post.valid([0, 1, 2, 3]))
        out = m.release(np.arange(4).repeat(50)).values
        assert set(out) <= {0, 1, 2, 3}
        assert m.guarantee == Pure(0.3) and verify(m).holds
        assert m.certificate.body["post"] == ["clip(0, 3)", "valid(4 values)"]

    def test_rounding_and_bad_arguments(self):
        assert post.round_to(5)(np.array([12.0, 13.0])).tolist() == [10, 15]
        for bad in (lambda: post.clip(2, 1), lambda: post.round_to(0), lambda: post.valid([])):
            with pytest.raises(UsageError):
                bad()
        with pytest.raises(BadLaw):
            mechanism().then("not a function")


class TestMix:
    def test_the_mixture_keeps_the_weaker_guarantee(self):
        a, b = calibrate(PAIR, Pure(0.3)), calibrate(PAIR, Approx(0.6, 0.01))
        m = mix(0.25, a, b)
        assert m.guarantee == Approx(0.6, 0.01)
        assert verify(m).holds and verify(m, PAIR).holds
        assert m.expected_error() == pytest.approx(0.25 * a.expected_error() + 0.75 * b.expected_error())
        assert m.interval(0.9)[1] == max(a.interval(0.9)[1], b.interval(0.9)[1])

    def test_the_coin_has_the_stated_probability(self):
        a, b = calibrate(CLOSE, Pure(1)), calibrate(CLOSE, Pure(0.01), method="l1")
        rng = np.random.default_rng(0)
        m = mix(0.8, a, b)
        exact = sum(m.simulate(1, rng).value == 1 for _ in range(4000))
        assert 0.8 * 4000 - 120 < exact < 0.8 * 4000 + 200

    def test_different_beliefs_are_refused(self):
        with pytest.raises(NotProvable, match="different beliefs"):
            mix(0.5, mechanism(), calibrate(CLOSE, Pure(0.01)))
        with pytest.raises(UsageError, match="probability"):
            mix(1.5, mechanism(), mechanism())


def test_translates_are_rounded_only_to_the_lattice():
    m = calibrate(Shifted(3), Pure(0.5))
    out = m.release(np.full(10, 1234.5)).values
    assert np.all(np.abs(out - 1234.5) < 400)
    steps = out / float(m.noise.grid)
    assert np.allclose(steps, np.round(steps))


TWO = fugu.LawPair(fugu.Discrete([0, 1], [3, 1]), fugu.Discrete([0, 1], [1, 3]))
STATES = sequences.States(("well", "ill"))


def rng():
    return np.random.default_rng(1)


MADE = {
    "a number": lambda: fugu.calibrate(TWO, fugu.Pure(1)).simulate(1, rng()),
    "a column": lambda: fugu.calibrate(TWO, fugu.Pure(1)).simulate([0, 1, 1], rng()),
    "a channel": lambda: fugu.optimal_channel(TWO, fugu.Pure(1)).simulate([0, 1, 1], rng()),
    "a vector": lambda: fugu.calibrate(fugu.Shifted((1, 1)), fugu.Pure(1), grid=1).simulate([[0, 0]], rng()),
    "a mixture": lambda: fugu.mix(0.5, *(fugu.calibrate(TWO, fugu.Pure(e)) for e in (1, 1))).simulate([0, 1], rng()),
    "a count": lambda: sequences.Count("ill", STATES).mechanism(1).simulate(["ill", "well"], rng()),
    "a histogram": lambda: sequences.Histogram(STATES).mechanism(1).simulate(["ill", "well"], rng()),
}


@pytest.mark.parametrize("kind", MADE)
def test_no_way_out_takes_simulated_values(kind, tmp_path):
    drawn = MADE[kind]()
    assert type(drawn) is fugu.Simulated and not isinstance(drawn, fugu.Release)
    for name in ("to_frame", "certificate", "guarantee", "charge", "table", "plot"):
        assert not hasattr(drawn, name)
    with pytest.raises(FuguError, match="Simulated"):
        encode(drawn)
    with pytest.raises(FuguError, match="Simulated"):
        encode({"cells": [drawn]})
    with pytest.raises((TypeError, FuguError)):
        np.asarray(drawn)
    with pytest.raises((TypeError, FuguError)):
        write_csv(tmp_path / "out.csv", {"x": drawn})
    with pytest.raises(BadTable):
        Schema.from_table({"x": drawn})
    for act in (float, len, iter):
        with pytest.raises(TypeError):
            act(drawn)
    assert not list(tmp_path.iterdir())
    assert "publish" in repr(drawn) and str(np.ravel(np.asarray(drawn.values))[0]) not in repr(drawn)


def test_a_ledger_does_not_keep_what_was_simulated(tmp_path):
    mechanism = sequences.Count("ill", STATES).mechanism(0.5)
    books = fugu.Ledger(tmp_path / "books.db", fugu.Pure(1), data="d")
    with pytest.raises(FuguError, match="Simulated"):
        books.spend("q", mechanism, lambda: mechanism.simulate(["ill"], rng()))


def test_values_are_there_to_compute_with():
    assert MADE["a column"]().values.shape == (3,) and isinstance(float(MADE["a number"]().value), float)
    assert MADE["a histogram"]().value.shape == (2,) and MADE["a histogram"]().labels == ("well", "ill")
    released = fugu.calibrate(TWO, fugu.Pure(1)).release([0, 1], allow_no_noise=True)
    assert encode(released) and len(released) == 2  # what is refused is the type, not the way
