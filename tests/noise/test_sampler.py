"""The sampler against its claimed law: a chi2 that sees 3 % of scale, moments, independence, odd sizes."""

from __future__ import annotations

import math
import os
import warnings
from fractions import Fraction

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import stats

from fugu.errors import BadNoise
from fugu.noise.bits import BitSource, OsBits, RngBits, Widths, Words
from fugu.noise.laplace import LatticeLaplaceSampler, SignedTop, low_bases
from hunting import search
from tape import TapeBits

ALPHA = 1e-6
N = 10**6
BARE = Widths(steady=False)  # reads a tape without idle draws
SCALES = [Fraction(3, 10), Fraction(1), Fraction(16), Fraction(1000), Fraction(10**6), Fraction(10**12)]


def simulated(scale: Fraction, n: int = N, seed: int = 1) -> NDArray[np.int64]:
    return LatticeLaplaceSampler(1 / scale).draw(n, RngBits(np.random.default_rng(seed)))


def cdf(k: NDArray[np.float64], scale: float) -> NDArray[np.float64]:
    """P(X <= k) of the lattice law, for integers k."""
    upper = np.exp(-(np.maximum(k, 0) + 1) / scale)
    lower = np.exp(np.minimum(k, 0) / scale)
    return np.where(k >= 0, 1 - upper / (1 + math.exp(-1 / scale)), lower / (1 + math.exp(-1 / scale)))


def p_value(draws: NDArray[np.int64], scale: float, bins: int = 60) -> float:
    """chi2 of the draws against the lattice law of that scale, in bins of at least some 30 expected draws."""
    reach = max(1.0, scale * math.log(draws.size / 100))
    edges = np.unique(np.rint(np.linspace(-reach, reach, bins)))
    expected = np.diff(np.concatenate([[0.0], cdf(edges, scale), [1.0]])) * draws.size
    observed = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
    return float(stats.chisquare(observed, expected * (draws.size / expected.sum())).pvalue)


@pytest.mark.parametrize("scale", SCALES, ids=float)
def test_a_million_draws_have_the_claimed_scale_and_not_three_per_cent_more_or_less(scale: Fraction) -> None:
    draws = simulated(scale)
    assert p_value(draws, float(scale)) > ALPHA
    assert p_value(draws, 0.97 * float(scale)) < ALPHA
    assert p_value(draws, 1.03 * float(scale)) < ALPHA


def test_the_operating_system_bits_give_the_same_law() -> None:
    draws = LatticeLaplaceSampler(Fraction(1, 40)).draw(N)
    assert p_value(draws, 40.0) > ALPHA
    assert p_value(draws, 0.97 * 40) < ALPHA


@search("ten million draws of discrete Laplace noise see one per cent", quick=1)
def test_ten_million_draws_see_one_per_cent(rng: np.random.Generator) -> None:
    scale = [Fraction(1, 2), Fraction(50), Fraction(77), Fraction(10**9), Fraction(2**52)][rng.integers(5)]
    draws = LatticeLaplaceSampler(1 / scale).draw(10 * N, RngBits(rng))
    assert p_value(draws, float(scale), bins=200) > ALPHA**2  # hunted many times
    assert p_value(draws, 0.99 * float(scale), bins=200) < ALPHA**2
    assert p_value(draws, 1.01 * float(scale), bins=200) < ALPHA**2


@pytest.mark.parametrize("scale", SCALES, ids=float)
def test_both_signs_are_equally_likely(scale: Fraction) -> None:
    draws = simulated(scale, seed=2)
    positive, negative = int(np.sum(draws > 0)), int(np.sum(draws < 0))
    assert stats.binomtest(positive, positive + negative).pvalue > ALPHA
    if scale < 100:  # a wrong version: a fair sign on G, which counts zero as a negative
        wrong = int(np.sum(draws >= 0))
        assert stats.binomtest(wrong, draws.size).pvalue < ALPHA


@pytest.mark.parametrize("scale", SCALES, ids=float)
def test_the_first_two_moments_are_those_of_the_lattice_law(scale: Fraction) -> None:
    draws = simulated(scale, seed=3).astype(np.float64)
    h = 1 / float(scale)
    absolute, square = 1 / math.sinh(h), 1 / (2 * math.sinh(h / 2) ** 2)

    def sigmas(sample: NDArray[np.float64], mean: float) -> float:
        return abs(float(sample.mean()) - mean) / (float(sample.std()) / math.sqrt(sample.size))

    assert sigmas(draws, 0) < 5
    assert sigmas(np.abs(draws), absolute) < 5
    assert sigmas(draws**2, square) < 5
    assert sigmas(np.abs(draws), 1.03 * absolute) > 5
    if scale <= 1:  # a wrong version: the moments of the continuous law
        assert sigmas(np.abs(draws), float(scale)) > 5


def test_every_low_digit_has_its_own_law() -> None:
    draws = simulated(Fraction(10**6), seed=4)
    G = np.where(draws >= 0, draws, -1 - draws)

    def fits(digits: NDArray[np.int64], rate: float) -> bool:
        mass = np.exp(-rate * np.arange(128))
        expected = mass / mass.sum() * N
        return bool(stats.chisquare(np.bincount(digits, minlength=128), expected).pvalue > ALPHA)

    assert low_bases(Fraction(1, 10**6)) == (128, 128)
    assert fits(G % 128, 1e-6)
    assert fits(G // 128 % 128, 128e-6)
    assert not fits(G // 128 % 128, 10 * 128e-6)
    assert not fits(G // 2 * 2 % 128, 1e-6)  # a wrong version: one low bit always zero
    assert not fits(np.maximum(G % 128, 1), 1e-6)  # and a digit that never is zero


class Stuck(BitSource):
    """A wrong source: every second word repeats the one before."""

    def __init__(self) -> None:
        self.good = RngBits(np.random.default_rng(5))

    def words(self, bits: int, count: int) -> Words:
        return np.repeat(self.good.words(bits, (count + 1) // 2), 2)[:count]


@pytest.mark.parametrize("scale", [Fraction(1), Fraction(16), Fraction(10**4)], ids=float)
def test_consecutive_draws_are_independent(scale: Fraction) -> None:
    def independence(draws: NDArray[np.int64]) -> float:
        edges = np.quantile(draws, [0.1, 0.3, 0.5, 0.7, 0.9])
        cell = np.searchsorted(np.unique(edges), draws)
        pairs = np.zeros((cell.max() + 1, cell.max() + 1), dtype=np.int64)
        np.add.at(pairs, (cell[0::2], cell[1::2]), 1)
        pairs = pairs[pairs.sum(axis=1) > 0][:, pairs.sum(axis=0) > 0]
        return float(stats.chi2_contingency(pairs).pvalue)

    sampler = LatticeLaplaceSampler(1 / scale)
    assert independence(simulated(scale, seed=6)) > ALPHA
    assert independence(sampler.draw(N, Stuck())) < ALPHA


def test_draws_beyond_the_cut_go_on_and_keep_the_law() -> None:
    short = LatticeLaplaceSampler(Fraction(1, 16), cut=3)  # 83 % of the draws go on, some a hundred times
    draws = short.draw(N, RngBits(np.random.default_rng(7)))
    assert p_value(draws, 16) > ALPHA
    assert p_value(np.clip(draws, -60, 60), 16) < ALPHA  # a wrong version: the tail cut off


def test_the_third_stage_keeps_the_law() -> None:
    narrow = LatticeLaplaceSampler(Fraction(1, 2), cut=4, widths=Widths(first=2, second=2, third=2))
    draws = narrow.draw(3000, RngBits(np.random.default_rng(8)))
    assert p_value(draws, 2.0) > ALPHA
    assert p_value(draws, 1.5) < ALPHA


def test_the_third_stage_at_full_width_follows_the_boundary_bit_by_bit() -> None:
    table = SignedTop(Fraction(1, 16), 1, 336, widths=BARE)
    j = 400
    floor = table.floor(j, 256)
    for step, expected in ((-1, table.values[j - 1]), (1, table.values[j])):
        tape = TapeBits(f"{floor + step:0256b}")
        assert table.draw(1, tape)[0] == expected
        assert tape.used == 256
    with pytest.raises(EOFError):
        table.draw(1, TapeBits(f"{floor:0256b}"))


def test_a_huge_rate_gives_zero_unless_the_tape_is_all_zeros() -> None:
    for rate in (Fraction(10**6), Fraction(10**300)):
        sampler = LatticeLaplaceSampler(rate, widths=BARE)
        assert not LatticeLaplaceSampler(rate).draw(10**5).any()
        assert not sampler.draw(10**5).any()
        assert sampler.draw(1, TapeBits("0" * 500 + "1" + "0" * 100)).tolist() == [0]
        with pytest.raises(EOFError):
            sampler.draw(1, TapeBits("0" * 640))


def test_sizes_zero_one_and_across_chunks() -> None:
    sampler = LatticeLaplaceSampler(Fraction(1, 1000))
    for size in (0, 1, 2**15 - 1, 2**15, 2**15 + 1):
        draws = sampler.draw(size)
        assert draws.shape == (size,)
        assert draws.dtype == np.int64
    ones = np.array([sampler.draw(1)[0] for _ in range(2000)])
    assert p_value(ones, 1000.0, bins=12) > ALPHA
    with pytest.raises(BadNoise):
        sampler.draw(-1)


def test_the_same_seed_gives_the_same_draws_and_the_operating_system_never_does() -> None:
    assert np.array_equal(simulated(Fraction(100), 1000), simulated(Fraction(100), 1000))
    sampler = LatticeLaplaceSampler(Fraction(1, 100))
    assert not np.array_equal(sampler.draw(1000), sampler.draw(1000))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_draws_its_own_noise() -> None:
    sampler = LatticeLaplaceSampler(Fraction(1, 100))
    sampler.draw(10)
    read, write = os.pipe()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        child = os.fork()
    if child == 0:
        os.write(write, sampler.draw(100).tobytes())
        os._exit(0)
    os.waitpid(child, 0)
    theirs = np.frombuffer(os.read(read, 800), dtype=np.int64)
    os.close(read)
    os.close(write)
    assert theirs.shape == (100,)
    assert not np.array_equal(theirs, sampler.draw(100))


class Counted(BitSource):
    """Counts the bits it serves."""

    def __init__(self, seed: int) -> None:
        self.good, self.bits = RngBits(np.random.default_rng(seed)), 0

    def words(self, bits: int, count: int) -> Words:
        self.bits += bits * count
        return self.good.words(bits, count)


@pytest.mark.parametrize("scale", [Fraction(16), Fraction(64), Fraction(1000)], ids=float)
def test_the_number_of_bits_read_does_not_follow_the_noise(scale: Fraction) -> None:
    def bits_and_noise(sampler: LatticeLaplaceSampler, size: int = 1000) -> NDArray[np.float64]:
        rows = []
        for seed in range(1000):
            source = Counted(seed)
            rows.append((np.abs(sampler.draw(size, source)).mean(), source.bits))
        return np.array(rows)

    for size in (1, 20, 1000):
        steady = bits_and_noise(LatticeLaplaceSampler(1 / scale), size)
        assert np.unique(steady[:, 1]).size == 1
    eager = bits_and_noise(LatticeLaplaceSampler(1 / scale, widths=BARE))
    follows = stats.spearmanr(eager[:, 0], eager[:, 1])
    assert follows.statistic > 0.1
    assert follows.pvalue < ALPHA


def test_words_are_uniform_on_their_range() -> None:
    for bits in (1, 5, 16, 48, 64):
        for source in (OsBits(), RngBits(np.random.default_rng(9))):
            words = source.words(bits, 20000)
            top = (words.astype(np.uint64) >> np.uint64(max(0, bits - 4))).astype(np.int64)
            counts = np.bincount(top, minlength=2 ** min(bits, 4))
            assert counts.size == 2 ** min(bits, 4)
            assert stats.chisquare(counts).pvalue > ALPHA


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), Fraction(1, 2**53), 0.5, "1", math.nan])
def test_rates_outside_the_domain_are_refused(rate: Fraction) -> None:
    with pytest.raises(BadNoise):
        LatticeLaplaceSampler(rate)


def test_plans_outside_the_domain_are_refused() -> None:
    for bases, cut in (((1,), None), ((2**17,), None), ((), 0), ((2**16,) * 4, None), ((), 2**17)):
        with pytest.raises(BadNoise):
            LatticeLaplaceSampler(Fraction(1), bases, cut)
    for first, second, third in ((17, 4, 1), (16, 49, 64), (0, 4, 4), (4, 4, 0)):
        with pytest.raises(BadNoise):
            Widths(first, second, third)


def test_a_rate_of_numpy_integers_does_not_wrap() -> None:
    rate = Fraction(np.int64(1), np.int64(2**40))  # type: ignore[call-overload]
    assert type(LatticeLaplaceSampler(rate).rate.denominator) is int


def test_the_smallest_rate_stays_inside_int64() -> None:
    draws = LatticeLaplaceSampler(Fraction(1, 2**52)).draw(N, RngBits(np.random.default_rng(10)))
    assert int(np.abs(draws).max()) < 2**58
    assert p_value(draws, 2.0**52) > ALPHA
