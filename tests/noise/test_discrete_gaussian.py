"""The lattice Gaussian sampler against its claimed law: all short tapes, 80 digits, a chi2 that sees 3 % of scale."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.typing import NDArray
from scipy import stats
from test_sampler import Counted
from test_tapes import never_above, run_of, tape_masses

from fugu.errors import BadNoise
from fugu.noise import gaussian
from fugu.noise.bits import BoundaryTable, Coin, RngBits, Widths, exp_minus
from fugu.noise.gaussian import MARGIN, LatticeGaussianSampler, Signed, Tail, half_sums
from fugu.noise.laplace import LatticeLaplaceSampler
from fugu.numbers import balls
from hunting import search
from tape import TapeBits

ALPHA = 1e-6
N = 10**6
TINY = Widths(first=3, second=4, third=1, steady=False)
SMALL = Widths(first=2, second=2, third=1, steady=False)
BARE = Widths(steady=False)
DROPPED = 10**6
WIDTHS = [Fraction(3, 10), Fraction(1), Fraction(16), Fraction(150), Fraction(10**4), Fraction(10**8)]


def of_width(width: Fraction | int, cut: int | None = None, widths: Widths | None = None) -> LatticeGaussianSampler:
    return LatticeGaussianSampler(1 / (2 * Fraction(width) ** 2), cut, widths or Widths())


def simulated(width: Fraction | int, n: int = N, seed: int = 1, cut: int | None = None) -> NDArray[np.int64]:
    return of_width(width, cut).draw(n, RngBits(np.random.default_rng(seed)))


# --- every tape -------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def remembered() -> Iterator[None]:
    """Many tapes compare with the same floors: compute each once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoundaryTable, "floor", cache(BoundaryTable.floor))
        yield


def weight(precision: Fraction, k: int) -> arb:
    return balls.of(-precision * k * k).exp()


def whole_law(precision: Fraction, ks: list[int]) -> dict[int, arb]:
    """The law from its definition: for precision >= 1/50 the terms from 99 on are below 2^-200 of the sum."""
    theta = sum((weight(precision, k) for k in range(-99, 100)), arb(0)) * (1 + arb(0, 2.0**-200))
    return {k: weight(precision, k) / theta for k in ks}


def true_masses(table: BoundaryTable) -> dict[int, arb]:
    if isinstance(table, Coin):
        p = balls.of(-table.exponent).exp()
        return {1: p, 0: 1 - p}
    if isinstance(table, Tail):
        given_start = [weight(table.precision, k) for k in range(table.start, table.start + 99)]
        total = sum(given_start, arb(0)) * (1 + arb(0, 2.0**-200))
        masses = {d: given_start[d] / total for d in range(table.cut)}
        return masses | {table.cut: 1 - sum(masses.values(), arb(0))}
    assert isinstance(table, Signed)
    masses = whole_law(table.precision, list(range(1 - table.cut, table.cut)))
    beyond = (1 - sum(masses.values(), arb(0))) / 2
    return masses | {table.cut: beyond, -table.cut: beyond}


TABLES: list[BoundaryTable] = [
    Signed(Fraction(1, 2), 3, widths=TINY),
    Signed(Fraction(1, 18), 5, widths=TINY),
    Signed(Fraction(3), 1, widths=TINY),
    Tail(Fraction(1, 18), 2, 4, widths=TINY),
    Tail(Fraction(1, 2), 1, 1, widths=TINY),
    Coin(Fraction(1, 3), widths=TINY),
    Coin(Fraction(1, 10**6), widths=TINY),
]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_no_outcome_of_a_table_is_decided_on_more_than_its_mass(table: BoundaryTable) -> None:
    decided, undecided = tape_masses(run_of(table), 20)
    with balls.precision(300):
        assert never_above(decided, true_masses(table))
    assert undecided <= Fraction(table.values.size - 1, 2**20)


def sampler_tapes(sampler: LatticeGaussianSampler, depth: int) -> tuple[bool, dict[int, Fraction], Fraction]:
    decided, undecided = tape_masses(lambda tape: int(sampler.draw(1, tape)[0]), depth)
    with balls.precision(300):
        return never_above(decided, whole_law(sampler.precision, list(decided))), decided, undecided


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("cut", [1, 2, 5])
@pytest.mark.parametrize("precision", [Fraction(1, 2), Fraction(1, 8)])
def test_a_table_with_any_cut_decides_no_integer_on_more_than_its_mass(precision: Fraction, cut: int) -> None:
    sound, decided, undecided = sampler_tapes(LatticeGaussianSampler(precision, cut, SMALL), 16)
    assert sound
    assert undecided < Fraction(1, 30)
    assert len(decided) >= 5


def one_round(sampler: LatticeGaussianSampler, depth: int) -> tuple[bool, Fraction]:
    """Whether one proposal and its coin keep no y on more than (1-q)/(1+q) q^|y| exp(-precision (|y|-c)^2)."""

    def run(tape: TapeBits) -> int:
        y = sampler.proposal.draw(1, tape)
        return int(y[0]) if sampler._keeps(np.abs(y) - sampler.centre, tape)[0] else DROPPED

    decided, undecided = tape_masses(run, depth)
    with balls.precision(300):
        c = LatticeGaussianSampler(sampler.precision, 0).centre
        q = balls.of(-2 * sampler.precision * c).exp()
        law = whole_law(sampler.precision, list(decided))
        theta = weight(sampler.precision, 0) / whole_law(sampler.precision, [0])[0]
        every = theta * (1 - q) / (1 + q) * weight(sampler.precision, c)  # so much is kept in one round
        truth = {y: every * p for y, p in law.items()} | {DROPPED: 1 - every}
        assert balls.upper(every) < 0.8
        return never_above(decided, truth), undecided


@pytest.mark.usefixtures("remembered")
@pytest.mark.parametrize("precision", [Fraction(1, 2), Fraction(1, 8), Fraction(1, 25)])
def test_one_round_of_propose_and_reject_keeps_no_integer_on_more_than_its_mass(precision: Fraction) -> None:
    sound, undecided = one_round(LatticeGaussianSampler(precision, 0, SMALL), 16)
    assert sound
    assert undecided < Fraction(1, 100)


@pytest.mark.usefixtures("remembered")
def test_rounds_of_propose_and_reject_decide_no_integer_on_more_than_its_mass() -> None:
    sound, decided, undecided = sampler_tapes(LatticeGaussianSampler(Fraction(1, 8), 0, SMALL), 12)
    assert sound
    assert undecided < Fraction(1, 3)
    assert len(decided) >= 5


@pytest.mark.usefixtures("remembered")
def test_wrong_samplers_are_caught_by_the_tapes(monkeypatch: pytest.MonkeyPatch) -> None:
    precision = Fraction(1, 8)

    def table_is_sound() -> bool:
        return sampler_tapes(LatticeGaussianSampler(precision, 2, SMALL), 14)[0]

    def rejection_is_sound(**replaced: object) -> bool:
        sampler = LatticeGaussianSampler(precision, 0, SMALL)
        sampler.__dict__.update(replaced)
        return one_round(sampler, 14)[0]

    assert table_is_sound()
    assert rejection_is_sound()
    assert not rejection_is_sound(centre=3)  # the right proposal, kept around a wrong centre
    assert not rejection_is_sound(proposal=LatticeLaplaceSampler(Fraction(2, 5), widths=SMALL))
    with monkeypatch.context() as patch:  # a double decides alone, without the exact stage
        patch.setattr(Coin, "toss", lambda coin, u, bits, source: u * 0.5**bits < math.exp(-coin.exponent))
        assert not rejection_is_sound()
    with monkeypatch.context() as patch:  # beyond the cut as if it were the middle
        patch.setattr(gaussian, "Tail", lambda p, start, cut, widths: Tail(p, 0, cut, widths=widths))
        assert not table_is_sound()
    with monkeypatch.context() as patch:  # beyond the cut taken for the cut
        patch.setattr(Tail, "draw", lambda tail, count, source: np.zeros(count, dtype=np.int64))
        assert not table_is_sound()


@pytest.mark.usefixtures("remembered")
@settings(max_examples=20, deadline=None, database=None)
@given(
    precision=st.fractions(Fraction(1, 40), 1, max_denominator=40),
    cut=st.integers(0, 4),
    first=st.integers(1, 3),
    second=st.integers(1, 3),
)
def test_cut_and_widths_never_change_the_law(precision: Fraction, cut: int, first: int, second: int) -> None:
    sampler = LatticeGaussianSampler(precision, cut, Widths(first, second, 1, steady=False))
    assert sampler_tapes(sampler, 9)[0]


# --- floors, sums and doubles against more digits -----------------------------------------------------------------


@pytest.mark.parametrize("width", [Fraction(3, 10), Fraction(1), Fraction(16), Fraction(200)])
def test_the_64_bit_fences_agree_with_80_digits_and_not_with_floats(width: Fraction) -> None:
    table = of_width(width).table
    with mp.workdps(80):
        rho = mpf(table.precision.numerator) / table.precision.denominator
        reach = int(20 * width) + 40
        mass = [mp.exp(-rho * k * k) for k in range(reach)]
        theta = 2 * mp.fsum(mass) - 1
        beyond = mp.fsum(mass[table.cut :])
        below, exact = mpf(0), []
        for value in table.values[:-1].tolist():
            below += beyond if abs(value) == table.cut else mass[abs(value)]
            exact.append(int(mp.floor(below / theta * 2**64)))
    assert table.fences.tolist() == exact
    assert [int(float(table.boundary(j)) * 2.0**64) for j in range(1, table.values.size)] != exact


@pytest.mark.parametrize("start", [0, 1, 7, 500])
@pytest.mark.parametrize("precision", [Fraction(1, 3), Fraction(1, 5000), Fraction(40)])
def test_the_half_sums_hold_the_true_sums(precision: Fraction, start: int) -> None:
    with balls.precision(64):
        coarse = half_sums(precision, start, 5, 64)
    with balls.precision(400):
        fine = half_sums(precision, start, 5, 400)
        few = half_sums(precision, start, 0, 3)  # few terms: here the bound on the rest is what holds the truth
    assert few[0].contains(fine[0].mid())
    assert few[0].rad() > 0
    assert len(coarse) == 6
    for i, (wide, narrow) in enumerate(zip(coarse, fine, strict=True)):
        with mp.workdps(60):
            rho = mpf(precision.numerator) / precision.denominator
            truth = mp.nsum(lambda k: mp.exp(-rho * (k * k + 2 * start * k)), [i, i + 2000], method="direct")  # noqa: B023
            assert abs(mpf(narrow.mid().str(50, radius=False)) - truth) < mpf(10) ** -45
        assert wide.contains(narrow.mid())
        with balls.precision(400):
            assert wide.rad() < 2.0**-50


@pytest.mark.parametrize("width", [1.0, 201.0, 1e4, 1e8, 2.0**52], ids=float)
def test_the_double_that_keeps_or_drops_is_within_a_sixteenth_of_its_margin(width: float) -> None:
    precision = Fraction(1) / (2 * Fraction(width) ** 2) * Fraction(10**9, 10**9 + 7)
    rng = np.random.default_rng(3)
    offsets = np.concatenate([[0, 1], rng.integers(0, max(3, int(9 * width)), 3000), [int(50 * width), 2**61]])
    approximate = exp_minus(float(precision), offsets)

    def worst(values: NDArray[np.float64]) -> float:
        with balls.precision(200):
            exact = [balls.of(-precision * int(d) ** 2).exp() for d in offsets]
            return max(balls.upper(abs(arb(v) - e)) for v, e in zip(values.tolist(), exact, strict=True))

    assert worst(approximate) < 2.0**-44 == MARGIN / 16
    assert worst(exp_minus(float(precision) * (1 + 2.0**-40), offsets)) > 2.0**-44  # a wrong version


def test_a_coin_near_its_double_is_tossed_by_balls() -> None:
    sampler = of_width(1000, 0, BARE)
    offset = np.array([700, 700, 0])
    floor = Coin(sampler.precision * 700**2).floor(1, 80)
    for step, kept in ((-1, True), (1, False)):
        u = f"{floor + step:080b}"
        tape = TapeBits(u[:16] + u[:16] + "1" * 16 + u[16:] + u[16:])
        assert sampler._keeps(offset, tape).tolist() == [kept, kept, True]
        assert tape.used == 3 * 16 + 2 * 64
    with pytest.raises(EOFError):
        sampler._keeps(offset[:1], TapeBits(f"{floor:080b}"))


# --- ties ---------------------------------------------------------------------------------------------------------


def test_a_boundary_on_a_dyadic_number_ends_in_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    def dyadic(precision: Fraction, start: int, count: int, bits: int) -> tuple[arb, ...]:
        return tuple(arb(2.0**-i, 2.0 ** -min(bits, 1000)) for i in range(count + 1))

    monkeypatch.setattr(gaussian, "half_sums", dyadic)
    with pytest.raises(BadNoise, match="4096 bits"):
        Tail(Fraction(1), 0, 2).draw(1, RngBits(np.random.default_rng(1)))


def test_a_draw_that_never_leaves_a_boundary_ends_in_an_error() -> None:
    table = Signed(Fraction(1, 2), 4, widths=BARE)
    with balls.precision(8192):
        S = half_sums(Fraction(1, 2), 0, 4, 8192)
        agrees = f"{int(((S[1] + S[4]) / (S[0] + S[1]) * balls.of(2**4096)).floor().unique_fmpz()):04096b}"
    with pytest.raises(EOFError):
        table.draw(1, TapeBits(agrees[:-64]))
    with pytest.raises(BadNoise, match="4096 bits"):
        table.draw(1, TapeBits(agrees))


# --- statistics ---------------------------------------------------------------------------------------------------


def cdf(k: NDArray[np.float64], width: float) -> NDArray[np.float64]:
    """P(X <= k) of the lattice law; beyond 1000 steps the normal law, which differs by less than 1e-7."""
    if width > 1000:
        return np.asarray(stats.norm.cdf((k + 0.5) / width))
    reach = int(12 * width) + 12
    mass = np.exp(-(np.arange(-reach, reach + 1) ** 2) / (2 * width**2))
    return np.asarray((np.cumsum(mass) / mass.sum())[k.astype(np.int64) + reach])


def p_value(draws: NDArray[np.int64], width: float, bins: int = 60) -> float:
    """chi2 of the draws against the lattice law of that width, in bins of at least some 30 expected draws."""
    reach = max(1.0, width * math.sqrt(2 * math.log(draws.size / 1000)))
    edges = np.unique(np.rint(np.linspace(-reach, reach, bins)))
    expected = np.diff(np.concatenate([[0.0], cdf(edges, width), [1.0]])) * draws.size
    observed = np.bincount(np.searchsorted(edges, draws), minlength=edges.size + 1)
    return float(stats.chisquare(observed, expected * (draws.size / expected.sum())).pvalue)


@pytest.mark.parametrize("width", WIDTHS, ids=float)
def test_a_million_draws_have_the_claimed_scale_and_not_three_per_cent_more_or_less(width: Fraction) -> None:
    draws = simulated(width)
    assert p_value(draws, float(width)) > ALPHA
    assert p_value(draws, 0.97 * float(width)) < ALPHA
    assert p_value(draws, 1.03 * float(width)) < ALPHA


@pytest.mark.parametrize(("width", "cut"), [(1, 0), (16, 0), (16, 9), (150, 0), (2, 1)])
def test_the_other_ways_to_draw_have_the_same_law(width: int, cut: int) -> None:
    draws = simulated(width, seed=2, cut=cut)
    assert p_value(draws, width) > ALPHA
    assert p_value(draws, 0.97 * width) < ALPHA
    assert p_value(draws, 1.03 * width) < ALPHA


def test_what_is_proposed_is_not_what_is_kept() -> None:
    sampler = of_width(1000)
    assert p_value(sampler.draw(N, RngBits(np.random.default_rng(4))), 1000) > ALPHA
    assert p_value(sampler.proposal.draw(N, RngBits(np.random.default_rng(4))), 1000) < ALPHA


@pytest.mark.parametrize("width", [1, 1000])
def test_the_operating_system_bits_give_the_same_law(width: int) -> None:
    draws = of_width(width).draw(N)
    assert p_value(draws, width) > ALPHA
    assert p_value(draws, 0.97 * width) < ALPHA


@search("ten million draws of discrete Gaussian noise see one per cent", quick=1)
def test_ten_million_draws_see_one_per_cent(rng: np.random.Generator) -> None:
    width = [Fraction(1, 2), Fraction(77), Fraction(200), Fraction(201), Fraction(2**50)][rng.integers(5)]
    draws = of_width(width).draw(10 * N, RngBits(rng))
    assert p_value(draws, float(width), bins=200) > ALPHA**2  # hunted many times
    assert p_value(draws, 0.99 * float(width), bins=200) < ALPHA**2
    assert p_value(draws, 1.01 * float(width), bins=200) < ALPHA**2


@pytest.mark.parametrize("width", [1, 16, 10**4, 10**8])
def test_signs_are_fair_and_consecutive_draws_are_uncorrelated(width: int) -> None:
    draws = simulated(width, seed=5).astype(np.float64)
    positive, negative = int(np.sum(draws > 0)), int(np.sum(draws < 0))
    assert stats.binomtest(positive, positive + negative).pvalue > ALPHA
    for f in (np.asarray, np.abs):
        x = f(draws)
        assert abs(np.corrcoef(x[:-1], x[1:])[0, 1]) < 5 / math.sqrt(N)
        assert abs(np.corrcoef(x[:-40000], x[40000:])[0, 1]) < 5 / math.sqrt(N)  # nor across chunks
    assert abs(float(np.mean(draws))) < 5 * width / math.sqrt(N)


@pytest.mark.parametrize("width", [10**4, 10**8])
def test_the_low_bits_of_a_wide_draw_are_uniform(width: int) -> None:
    draws = simulated(width, seed=6)
    assert stats.chisquare(np.bincount(draws & 63, minlength=64)).pvalue > ALPHA
    assert stats.chisquare(np.bincount(draws & 62 | 1, minlength=64)).pvalue < ALPHA  # wrong versions: a stuck bit
    assert stats.chisquare(np.bincount(np.maximum(draws & 63, 1), minlength=64)).pvalue < ALPHA  # and no zero


@pytest.mark.parametrize("width", [16, 150, 1000])
def test_the_number_of_bits_read_does_not_follow_the_noise(width: int) -> None:
    def bits_and_noise(sampler: LatticeGaussianSampler, size: int) -> NDArray[np.float64]:
        rows = []
        for seed in range(400):
            source = Counted(seed)
            rows.append((np.abs(sampler.draw(size, source)).mean(), source.bits))
        return np.array(rows)

    for size in (1, 500):
        steady = bits_and_noise(of_width(width), size)
        usual = stats.mode(steady[:, 1]).mode
        longer = steady[:, 1] > usual  # coins that 16 bits leave open: one in 2^16, whatever is proposed
        assert np.all(steady[:, 1] >= usual)
        assert longer.sum() <= (15 if width > 200 else 0)
    assert np.unique(bits_and_noise(of_width(width, widths=BARE), 500)[:, 1]).size > 4


# --- the edges of the domain --------------------------------------------------------------------------------------


def test_a_huge_precision_gives_zero_unless_the_tape_is_all_zeros() -> None:
    for precision in (Fraction(10**6), Fraction(10**300)):
        sampler = LatticeGaussianSampler(precision, widths=BARE)
        assert not LatticeGaussianSampler(precision).draw(10**5).any()
        assert sampler.draw(1, TapeBits("0" * 500 + "1" + "0" * 100)).tolist() == [0]
        with pytest.raises(EOFError):
            sampler.draw(1, TapeBits("0" * 640))


def test_the_smallest_precision_stays_inside_int64() -> None:
    sampler = LatticeGaussianSampler(Fraction(1, 2**105))
    draws = sampler.draw(N, RngBits(np.random.default_rng(10)))
    assert int(np.abs(draws).max()) < 2**56
    assert p_value(draws, 2.0**52) > ALPHA
    assert LatticeGaussianSampler(Fraction(1, 2**105 - 1)).proposal.rate >= Fraction(1, 2**52)


def test_sizes_zero_one_and_across_chunks() -> None:
    for width in (20, 1000):
        sampler = of_width(width)
        for size in (0, 1, 2**15 - 1, 2**15, 2**15 + 1):
            draws = sampler.draw(size)
            assert draws.shape == (size,)
            assert draws.dtype == np.int64
        ones = np.array([sampler.draw(1)[0] for _ in range(2000)])
        assert p_value(ones, width, bins=12) > ALPHA
        with pytest.raises(BadNoise):
            sampler.draw(-1)


def test_the_same_seed_gives_the_same_draws_and_the_operating_system_never_does() -> None:
    for width in (100, 1000):
        assert np.array_equal(simulated(width, 1000), simulated(width, 1000))
        assert not np.array_equal(of_width(width).draw(1000), of_width(width).draw(1000))


@pytest.mark.parametrize("precision", [Fraction(0), Fraction(-1), Fraction(1, 2**106), 0.5, "1", math.nan])
def test_precisions_outside_the_domain_are_refused(precision: Fraction) -> None:
    with pytest.raises(BadNoise):
        LatticeGaussianSampler(precision)


@pytest.mark.parametrize(("precision", "cut"), [(Fraction(1), -1), (Fraction(1), 2**17), (Fraction(2), 0), (1, 2.5)])
def test_cuts_outside_the_domain_are_refused(precision: Fraction, cut: int) -> None:
    with pytest.raises(BadNoise):
        LatticeGaussianSampler(precision, cut)


def test_a_precision_of_numpy_integers_does_not_wrap() -> None:
    precision = Fraction(np.int64(1), np.int64(2**40))  # type: ignore[call-overload]
    assert type(LatticeGaussianSampler(precision).precision.denominator) is int
