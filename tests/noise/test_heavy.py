"""Cauchy noise on a lattice: the sampler on every bit tape, and masses, tails and errors from their definition."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from mpmath import mp, mpf, nsum

import fugu
from fugu.errors import BadNoise
from fugu.noise import heavy
from fugu.noise.bits import RngBits
from fugu.noise.heavy import FARTHEST, Cauchy2, Cauchy4, Cauchy6, HeavySampler, heavy_kind
from fugu.numbers import balls
from tape import TapeBits, tape_masses

NONE = 10**9
SCALES = [Fraction(1, 2), Fraction(1), Fraction(4, 3), Fraction(5, 2)]


def weight(steps: Fraction, power: int, k: int) -> Fraction:
    """From the definition."""
    return (1 / (1 + Fraction(k) ** 2 / steps**2)) ** (power // 2)


def proposed(sampler: HeavySampler) -> dict[int, Fraction]:
    """Over all tapes, what one proposal comes to."""

    def run(tape: TapeBits) -> int:
        kept = sampler._proposed(1, tape)
        return int(kept[0]) if kept.size else NONE

    return tape_masses(run, 13)[0]


def too_much(sampler: HeavySampler) -> list[int]:
    """The outcomes of one proposal that are decided on more than their mass, rejection among them."""
    c = 2 ** max(0, math.ceil(math.log2(sampler.steps)))
    unit = 2 * c * (3 if sampler.power == 2 else 2)
    with balls.precision(128):
        kept = float((heavy.whole(sampler.steps**2, sampler.power // 2, 128) / unit).mid())
    found = proposed(sampler)
    over = [k for k, mass in found.items() if k != NONE and mass > weight(sampler.steps, sampler.power, k) / unit]
    return over + [NONE] * (found[NONE] > 1 - kept)


@pytest.mark.parametrize("power", [2, 4, 6])
@pytest.mark.parametrize("steps", SCALES, ids=str)
def test_no_proposal_is_decided_on_more_than_its_mass(steps, power):
    sampler = HeavySampler(steps, power, bits=2, more=1)
    assert not too_much(sampler)
    assert 1 - sum(proposed(sampler).values()) < 0.2, "little is undecided: the law is pinned from both sides"


@pytest.mark.parametrize(
    ("name", "wrong"),
    [
        ("_most", property(lambda self: 2)),
        ("level", property(lambda self: 0)),
        ("_exactly", lambda self, u, offset, coin, source: (True, offset)),
    ],
)
def test_a_wrong_proposal_is_seen(name, wrong, monkeypatch):
    """Acceptance above one, a block below the spread, a coin that is not tossed."""
    monkeypatch.setattr(HeavySampler, name, wrong)
    assert too_much(HeavySampler(Fraction(3, 2), 2, bits=2, more=1))


@pytest.mark.parametrize("kind", [Cauchy2, Cauchy4, Cauchy6])
@pytest.mark.parametrize("steps", [*SCALES, Fraction(40), Fraction(2**40, 3)], ids=str)
def test_draws_follow_the_stated_law(kind, steps):
    noise = kind(steps, 1)
    drawn = noise.sampler.draw(40_000, RngBits(np.random.default_rng(7)))
    places = np.unique([round(float(steps) * x) for x in (-20, -3, -1, -0.4, 0, 0.4, 1, 3, 20)])
    expected = noise.cdf(places)
    spread = np.sqrt(expected * (1 - expected) / drawn.size + 1e-12)
    assert np.all(np.abs((drawn[:, None] <= places).mean(axis=0) - expected) < 5 * spread + 1e-9)


@pytest.mark.parametrize("kind", [Cauchy2, Cauchy4, Cauchy6])
@pytest.mark.parametrize("steps", [Fraction(1, 100), Fraction(4, 3), Fraction(30)], ids=str)
def test_masses_tails_and_errors_are_those_of_the_definition(kind, steps):
    noise, m = kind(steps, 1), kind.power // 2
    with mp.workdps(50):
        s = mpf(steps.numerator) / steps.denominator
        all_of_it = 1 + 2 * nsum(lambda k: (1 + (k / s) ** 2) ** -m, [1, mp.inf])
        near = np.cumsum([1, *(2 * (1 + (k / s) ** 2) ** -m for k in range(1, 2001))])
        far = {k: 1 - near[k] / all_of_it for k in (0, 3, 2000)}  # nsum loses digits where it begins far out
        with balls.precision(160):
            for k in (0, 1, -1, 5, 1000):
                stated = mpf(noise.mass(k).mid().str(40, radius=False))
                truth = (1 + (k / s) ** 2) ** -m / all_of_it
                assert abs(stated - truth) < mpf(10) ** -28 * truth
                if k == 0:
                    continuous = mp.gamma(m) / (mp.sqrt(mp.pi) * mp.gamma(mpf(m) - 0.5) * s)
                    assert steps > 2 or abs(continuous - truth) > 1e-4 * truth, "the continuous constant is seen"
            for k, truth in far.items():
                assert balls.upper(noise.beyond(k)) >= truth
        for k, truth in far.items():
            assert noise.tail(k) == pytest.approx(float(truth), rel=1e-10)
            assert truth < 1e-6 or noise.quantile(float(1 - truth * mpf("1.0000001"))) == k
        if m > 1:
            first = 2 * nsum(lambda k: k * (1 + (k / s) ** 2) ** -m, [1, mp.inf]) / all_of_it
            assert noise.expected_error() == pytest.approx(float(first), rel=1e-10)
            second = 2 * nsum(lambda k: k**2 * (1 + (k / s) ** 2) ** -m, [1, mp.inf]) / all_of_it
            assert noise.expected_error("squared") == pytest.approx(float(second), rel=1e-12)
        else:
            assert noise.expected_error() == noise.expected_error("squared") == math.inf


def test_what_is_drawn_far_out_goes_out_as_the_end_wherever_the_value_was(monkeypatch):
    """Two values, the farthest apart there are, and a draw beyond 2^62: both go out as the same number."""
    far = type("Far", (), {"draw": lambda self, size, source: np.full(size, 2**62)})()
    monkeypatch.setattr(Cauchy2, "sampler", property(lambda self: far))
    moved = Cauchy2(1, 1).move(np.array([-(2**50), 0, 2**50]), RngBits(np.random.default_rng(1)))
    assert moved.tolist() == [FARTHEST] * 3


def test_refusals():
    assert heavy_kind(6) is Cauchy6
    for steps in (Fraction(0), Fraction(2**51)):
        with pytest.raises(BadNoise, match="2\\^50"):
            HeavySampler(steps, 2)
    with pytest.raises(BadNoise, match="give it a grid"):
        fugu.epsilon(Cauchy2(1), fugu.Shifted(1))
