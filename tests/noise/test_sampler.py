"""Both lattice samplers against their claimed laws: a chi2 that sees 3 % of scale, moments, independence, odd sizes."""

from __future__ import annotations

import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from fugu.errors import BadNoise
from fugu.noise.bits import BitSource, OsBits, RngBits, Widths
from fugu.noise.gaussian import LatticeGaussianSampler
from fugu.noise.laplace import LatticeLaplaceSampler, SignedTop, low_bases
from hunting import search
from tape import TapeBits

ALPHA = 1e-6
N = 10**6
BARE = Widths(steady=False)  # reads a tape without idle draws


def laplace_cdf(k, scale):
    upper, lower = np.exp(-(np.maximum(k, 0) + 1) / scale), np.exp(np.minimum(k, 0) / scale)
    return np.where(k >= 0, 1 - upper / (1 + math.exp(-1 / scale)), lower / (1 + math.exp(-1 / scale)))


def gaussian_masses(width):
    reach = int(12 * width) + 12
    mass = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * width**2))
    return reach, mass / mass.sum()


def gaussian_cdf(k, width):
    """Beyond 1000 steps the normal law, which differs by less than 1e-7."""
    if width > 1000:
        return stats.norm.cdf((k + 0.5) / width)
    reach, mass = gaussian_masses(width)
    return np.cumsum(mass)[k.astype(np.int64) + reach]


def laplace_moments(scale):
    return 1 / math.sinh(1 / scale), 1 / (2 * math.sinh(0.5 / scale) ** 2)


def gaussian_moments(width):
    if width > 1000:
        return width * math.sqrt(2 / math.pi), width**2
    reach, mass = gaussian_masses(width)
    k = np.arange(-reach, reach + 1.0)
    return float(np.abs(k) @ mass), float(k**2 @ mass)


@dataclass(frozen=True)
class Family:
    """A sampler by its scale in steps, and what its law says: P(X <= k), E|X| and E X^2, where a draw in n still is."""

    sampler: type
    rate: Callable[[Fraction], Fraction]
    cdf: Callable
    moments: Callable[[float], tuple[float, float]]
    reach: Callable[[float, int], float]

    def __str__(self):
        return self.sampler.__name__

    def of(self, scale, **plan):
        return self.sampler(self.rate(Fraction(scale)), **plan)

    def draws(self, scale, n=N, seed=1, **plan):
        return self.of(scale, **plan).draw(n, RngBits(np.random.default_rng(seed)))

    def p_value(self, draws, scale, bins=60):
        """chi2 of the draws against the lattice law of that scale, in bins of at least some 30 expected draws."""
        reach = max(1.0, self.reach(scale, draws.size))
        edges = np.unique(np.rint(np.linspace(-reach, reach, bins)))
        expected = np.diff(np.concatenate([[0.0], self.cdf(edges, scale), [1.0]])) * draws.size
        observed = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
        return float(stats.chisquare(observed, expected * (draws.size / expected.sum())).pvalue)

    def sees(self, draws, scale, share, bins=60, alpha=ALPHA):
        """That the draws have this scale, and none that is larger or smaller by this share."""
        assert self.p_value(draws, scale, bins) > alpha
        assert self.p_value(draws, (1 - share) * scale, bins) < alpha
        assert self.p_value(draws, (1 + share) * scale, bins) < alpha


LAPLACE = Family(
    LatticeLaplaceSampler, lambda s: 1 / s, laplace_cdf, laplace_moments, lambda s, n: s * math.log(n / 100)
)
GAUSSIAN = Family(
    LatticeGaussianSampler,
    lambda s: 1 / (2 * s**2),
    gaussian_cdf,
    gaussian_moments,
    lambda s, n: s * math.sqrt(2 * math.log(n / 1000)),
)
BOTH = pytest.mark.parametrize("family", [LAPLACE, GAUSSIAN], ids=str)
SCALES = [(LAPLACE, Fraction(s)) for s in ("0.3", 1, 16, 1000, 10**6, 10**12)]
SCALES += [(GAUSSIAN, Fraction(s)) for s in ("0.3", 1, 16, 150, 10**4, 10**8)]
EVERY = pytest.mark.parametrize(("family", "scale"), SCALES, ids=str)


@EVERY
def test_a_million_draws_have_the_claimed_scale_and_not_three_per_cent_more_or_less(family, scale):
    """Their signs are equally likely, and their first two moments those of the lattice law."""
    draws, scale = family.draws(scale), float(scale)
    family.sees(draws, scale, 0.03)
    positive, negative = int(np.sum(draws > 0)), int(np.sum(draws < 0))
    assert stats.binomtest(positive, positive + negative).pvalue > ALPHA
    if scale < 100:  # a wrong version: a fair sign on G, which counts zero as a negative
        assert stats.binomtest(int(np.sum(draws >= 0)), draws.size).pvalue < ALPHA

    def sigmas(sample, mean):
        return abs(float(sample.mean()) - mean) / (float(sample.std()) / math.sqrt(sample.size))

    absolute, square = family.moments(scale)
    draws = draws.astype(np.float64)
    assert sigmas(draws, 0) < 5 and sigmas(np.abs(draws), absolute) < 5 and sigmas(draws**2, square) < 5
    if scale > 0.3 or family is LAPLACE:  # of Gaussian noise of 0.3 steps, one draw in 130 is not zero
        assert sigmas(np.abs(draws), 1.03 * absolute) > 5
    if scale <= 1 and family is LAPLACE:  # a wrong version: the moments of the continuous law
        assert sigmas(np.abs(draws), scale) > 5


@pytest.mark.parametrize(("width", "cut"), [(1, 0), (16, 0), (16, 9), (150, 0), (2, 1)])
def test_the_other_ways_to_draw_have_the_same_law(width, cut):
    GAUSSIAN.sees(GAUSSIAN.draws(width, seed=2, cut=cut), width, 0.03)


def test_draws_beyond_the_cut_go_on_and_keep_the_law():
    draws = LAPLACE.draws(16, seed=7, cut=3)  # 83 % of the draws go on, some a hundred times
    assert LAPLACE.p_value(draws, 16) > ALPHA
    assert LAPLACE.p_value(np.clip(draws, -60, 60), 16) < ALPHA  # a wrong version: the tail cut off


def test_what_is_proposed_is_not_what_is_kept():
    assert GAUSSIAN.p_value(GAUSSIAN.draws(1000), 1000) > ALPHA
    proposed = GAUSSIAN.of(1000).proposal.draw(N, RngBits(np.random.default_rng(4)))
    assert GAUSSIAN.p_value(proposed, 1000) < ALPHA


@pytest.mark.parametrize(("family", "scale"), [(LAPLACE, 40), (GAUSSIAN, 1), (GAUSSIAN, 1000)], ids=str)
def test_the_operating_system_bits_give_the_same_law(family, scale):
    draws = family.of(scale).draw(N)
    assert family.p_value(draws, scale) > ALPHA
    assert family.p_value(draws, 0.97 * scale) < ALPHA


WIDE = {LAPLACE: ["0.5", 50, 77, 10**9, 2**52], GAUSSIAN: ["0.5", 77, 200, 201, 2**50]}


@search("ten million draws of lattice noise see one per cent", each=[LAPLACE, GAUSSIAN], quick=1)
def test_ten_million_draws_see_one_per_cent(family, rng):
    scale = Fraction(WIDE[family][rng.integers(5)])
    draws = family.of(scale).draw(10 * N, RngBits(rng))
    family.sees(draws, float(scale), 0.01, bins=200, alpha=ALPHA**2)  # hunted many times


def test_every_low_digit_has_its_own_law():
    draws = LAPLACE.draws(10**6, seed=4)
    G = np.where(draws >= 0, draws, -1 - draws)

    def fits(digits, rate):
        mass = np.exp(-rate * np.arange(128))
        return stats.chisquare(np.bincount(digits, minlength=128), mass / mass.sum() * N).pvalue > ALPHA

    assert low_bases(Fraction(1, 10**6)) == (128, 128)
    assert fits(G % 128, 1e-6)
    assert fits(G // 128 % 128, 128e-6)
    assert not fits(G // 128 % 128, 10 * 128e-6)
    assert not fits(G // 2 * 2 % 128, 1e-6)  # a wrong version: one low bit always zero
    assert not fits(np.maximum(G % 128, 1), 1e-6)  # and a digit that never is zero


@pytest.mark.parametrize("width", [10**4, 10**8])
def test_the_low_bits_of_a_wide_draw_are_uniform(width):
    draws = GAUSSIAN.draws(width, seed=6)
    assert stats.chisquare(np.bincount(draws & 63, minlength=64)).pvalue > ALPHA
    assert stats.chisquare(np.bincount(draws & 62 | 1, minlength=64)).pvalue < ALPHA  # wrong versions: a stuck bit
    assert stats.chisquare(np.bincount(np.maximum(draws & 63, 1), minlength=64)).pvalue < ALPHA  # and no zero


class Stuck(BitSource):
    """A wrong source: every second word repeats the one before."""

    def __init__(self):
        self.good = RngBits(np.random.default_rng(5))

    def words(self, bits, count):
        return np.repeat(self.good.words(bits, (count + 1) // 2), 2)[:count]


@BOTH
@pytest.mark.parametrize("scale", [1, 16, 10**4])
def test_consecutive_draws_are_independent(family, scale):
    def independence(draws):
        cell = np.searchsorted(np.unique(np.quantile(draws, [0.1, 0.3, 0.5, 0.7, 0.9])), draws)
        pairs = np.zeros((cell.max() + 1, cell.max() + 1), dtype=np.int64)
        np.add.at(pairs, (cell[0::2], cell[1::2]), 1)
        return stats.chi2_contingency(pairs[pairs.sum(axis=1) > 0][:, pairs.sum(axis=0) > 0]).pvalue

    draws = family.draws(scale, seed=6)
    assert independence(draws) > ALPHA
    assert independence(family.of(scale).draw(N, Stuck())) < ALPHA
    for x in (draws, np.abs(draws)):
        for lag in (1, 40_000):  # nor across chunks
            assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 5 / math.sqrt(N)


def test_the_third_stage_keeps_the_law():
    draws = LAPLACE.draws(2, 3000, seed=8, cut=4, widths=Widths(first=2, second=2, third=2))
    assert LAPLACE.p_value(draws, 2.0) > ALPHA
    assert LAPLACE.p_value(draws, 1.5) < ALPHA


def test_the_third_stage_at_full_width_follows_the_boundary_bit_by_bit():
    table = SignedTop(Fraction(1, 16), 1, 336, widths=BARE)
    floor = table.floor(400, 256)
    for step, expected in ((-1, table.values[399]), (1, table.values[400])):
        tape = TapeBits(f"{floor + step:0256b}")
        assert table.draw(1, tape)[0] == expected
        assert tape.used == 256
    with pytest.raises(EOFError):
        table.draw(1, TapeBits(f"{floor:0256b}"))


@BOTH
def test_a_huge_rate_gives_zero_unless_the_tape_is_all_zeros(family):
    for rate in (Fraction(10**6), Fraction(10**300)):
        bare = family.sampler(rate, widths=BARE)
        assert not family.sampler(rate).draw(10**5).any() and not bare.draw(10**5).any()
        assert bare.draw(1, TapeBits("0" * 500 + "1" + "0" * 100)).tolist() == [0]
        with pytest.raises(EOFError):
            bare.draw(1, TapeBits("0" * 640))


@pytest.mark.parametrize(("family", "rate", "most"), [(LAPLACE, 2**52, 2**58), (GAUSSIAN, 2**105, 2**56)], ids=str)
def test_the_smallest_rate_stays_inside_int64(family, rate, most):
    draws = family.sampler(Fraction(1, rate)).draw(N, RngBits(np.random.default_rng(10)))
    assert int(np.abs(draws).max()) < most
    assert family.p_value(draws, 2.0**52) > ALPHA
    assert LatticeGaussianSampler(Fraction(1, 2**105 - 1)).proposal.rate >= Fraction(1, 2**52)


@pytest.mark.parametrize(("family", "scale"), [(LAPLACE, 1000), (GAUSSIAN, 20), (GAUSSIAN, 1000)], ids=str)
def test_sizes_and_seeds(family, scale):
    sampler = family.of(scale)
    for size in (0, 1, 2**15 - 1, 2**15, 2**15 + 1):
        draws = sampler.draw(size)
        assert draws.shape == (size,) and draws.dtype == np.int64
    assert family.p_value(np.array([sampler.draw(1)[0] for _ in range(2000)]), scale, bins=12) > ALPHA
    with pytest.raises(BadNoise):
        sampler.draw(-1)
    assert np.array_equal(family.draws(scale, 1000), family.draws(scale, 1000))
    assert not np.array_equal(sampler.draw(1000), sampler.draw(1000))  # the operating system never repeats itself


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_process_draws_its_own_noise():
    sampler = LAPLACE.of(100)
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

    def __init__(self, seed):
        self.good, self.bits = RngBits(np.random.default_rng(seed)), 0

    def words(self, bits, count):
        self.bits += bits * count
        return self.good.words(bits, count)


@pytest.mark.parametrize(
    ("family", "scale", "open_coins"),
    [*((LAPLACE, s, 0) for s in (16, 64, 1000)), (GAUSSIAN, 16, 0), (GAUSSIAN, 150, 0), (GAUSSIAN, 1000, 15)],
    ids=str,
)
def test_the_number_of_bits_read_does_not_follow_the_noise(family, scale, open_coins):
    """A coin that 16 bits leave open, one in 2^16 whatever is proposed, reads more."""

    def bits_and_noise(sampler, size, seeds=400):
        rows = []
        for seed in range(seeds):
            source = Counted(seed)
            rows.append((np.abs(sampler.draw(size, source)).mean(), source.bits))
        return np.array(rows)

    for size in (1, 20, 500):
        bits = bits_and_noise(family.of(scale), size)[:, 1]
        usual = stats.mode(bits).mode
        assert np.all(bits >= usual) and (bits > usual).sum() <= open_coins
    eager = bits_and_noise(family.of(scale, widths=BARE), 1000, 1000)
    assert np.unique(eager[:, 1]).size > 4
    if family is LAPLACE:
        follows = stats.spearmanr(eager[:, 0], eager[:, 1])
        assert follows.statistic > 0.1 and follows.pvalue < ALPHA


def test_words_are_uniform_on_their_range():
    for bits in (1, 5, 16, 48, 64):
        for source in (OsBits(), RngBits(np.random.default_rng(9))):
            words = source.words(bits, 20000)
            top = (words.astype(np.uint64) >> np.uint64(max(0, bits - 4))).astype(np.int64)
            counts = np.bincount(top, minlength=2 ** min(bits, 4))
            assert counts.size == 2 ** min(bits, 4)
            assert stats.chisquare(counts).pvalue > ALPHA


@pytest.mark.parametrize("rate", [Fraction(0), Fraction(-1), None, 0.5, "1", math.nan])
def test_rates_outside_the_domain_are_refused(rate):
    for sampler, least in ((LatticeLaplaceSampler, Fraction(1, 2**53)), (LatticeGaussianSampler, Fraction(1, 2**106))):
        with pytest.raises(BadNoise):
            sampler(least if rate is None else rate)


def test_plans_outside_the_domain_are_refused():
    for bases, cut in (((1,), None), ((2**17,), None), ((), 0), ((2**16,) * 4, None), ((), 2**17)):
        with pytest.raises(BadNoise):
            LatticeLaplaceSampler(Fraction(1), bases, cut)
    for precision, cut in ((Fraction(1), -1), (Fraction(1), 2**17), (Fraction(2), 0), (1, 2.5)):
        with pytest.raises(BadNoise):
            LatticeGaussianSampler(precision, cut)
    for first, second, third in ((17, 4, 1), (16, 49, 64), (0, 4, 4), (4, 4, 0)):
        with pytest.raises(BadNoise):
            Widths(first, second, third)


def test_a_rate_of_numpy_integers_does_not_wrap():
    rate = Fraction(np.int64(1), np.int64(2**40))
    assert type(LatticeLaplaceSampler(rate).rate.denominator) is int
    assert type(LatticeGaussianSampler(rate).precision.denominator) is int
