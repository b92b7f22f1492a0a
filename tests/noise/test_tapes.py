"""Every bit tape up to 20 bits: the mass of the tapes that decide an outcome never exceeds its true mass.

As the masses of all outcomes sum to one, "never above" for each outcome and "little undecided" pin the law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise import gaussian
from fugu.noise.bits import BitSource, BoundaryTable, Coin, RngBits, Widths, Words, bernoulli, exp_minus
from fugu.noise.gaussian import MARGIN, LatticeGaussianSampler, Signed, Tail, half_sums
from fugu.noise.laplace import LatticeLaplaceSampler, LowDigit, SignedTop
from fugu.numbers import balls
from tape import DEPTH, TapeBits, tape_masses

TINY = Widths(first=3, second=4, third=1, steady=False)
SMALL = Widths(first=2, second=2, third=1, steady=False)
BARE = Widths(steady=False)
DROPPED = 10**6


@pytest.fixture(scope="module", autouse=True)
def remembered() -> Iterator[None]:
    """Many tapes compare with the same floors: compute each once."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BoundaryTable, "floor", cache(BoundaryTable.floor))
        yield


def weight(precision: Fraction, k: int) -> arb:
    return balls.of(-precision * k * k).exp()


def gaussian_law(precision: Fraction, ks: list[int]) -> dict[int, arb]:
    """The law from its definition: for precision >= 1/50 the terms from 99 on are below 2^-200 of the sum."""
    theta = sum((weight(precision, k) for k in range(-99, 100)), arb(0)) * (1 + arb(0, 2.0**-200))
    return {k: weight(precision, k) / theta for k in ks}


def laplace_law(rate: Fraction, ks: list[int]) -> dict[int, arb]:
    q = balls.of(-rate).exp()
    return {k: (1 - q) / (1 + q) * q ** abs(k) for k in ks}


def true_masses(table: BoundaryTable) -> dict[int, arb]:
    """The law of a table from its definition (not from its boundaries), as balls."""
    if isinstance(table, LowDigit):
        weights = [balls.of(-table.rate * d).exp() for d in range(table.base)]
        return {d: w / sum(weights, arb(0)) for d, w in enumerate(weights)}
    if isinstance(table, SignedTop):
        q, Q = balls.of(-table.rate).exp(), balls.of(-table.rate * table.base).exp()
        digit = [(1 - Q) * Q**m for m in range(table.cut)] + [Q**table.cut]
        positive = {m: p / (1 + q) for m, p in enumerate(digit)}
        return positive | {-1 - m: p * q / (1 + q) for m, p in enumerate(digit)}
    if isinstance(table, Coin):
        p = balls.of(-table.exponent).exp()
        return {1: p, 0: 1 - p}
    if isinstance(table, Tail):
        given_start = [weight(table.precision, k) for k in range(table.start, table.start + 99)]
        total = sum(given_start, arb(0)) * (1 + arb(0, 2.0**-200))
        masses = {d: given_start[d] / total for d in range(table.cut)}
        return masses | {table.cut: 1 - sum(masses.values(), arb(0))}
    assert isinstance(table, Signed)
    masses = gaussian_law(table.precision, list(range(1 - table.cut, table.cut)))
    beyond = (1 - sum(masses.values(), arb(0))) / 2
    return masses | {table.cut: beyond, -table.cut: beyond}


def never_above(decided: dict[int, Fraction], truth: dict[int, arb]) -> bool:
    return all(balls.of(mass) <= truth[value] for value, mass in decided.items())


def run_of(table: BoundaryTable) -> Callable[[TapeBits], int]:
    return lambda tape: int(table.draw(1, tape)[0])


TABLES: list[BoundaryTable] = [
    SignedTop(Fraction(1), 1, 3, widths=TINY),
    SignedTop(Fraction(1, 7), 4, 5, widths=TINY),
    SignedTop(Fraction(10**6), 1, 1, widths=TINY),
    LowDigit(Fraction(1, 3), 6, widths=TINY),
    LowDigit(Fraction(1, 2**52), 4, widths=TINY),  # boundaries 2^-52 away from dyadic numbers
    LowDigit(Fraction(5), 3, widths=Widths(first=1, second=1, third=3, steady=False)),
    Signed(Fraction(1, 2), 3, widths=TINY),
    Signed(Fraction(1, 18), 5, widths=TINY),
    Signed(Fraction(3), 1, widths=TINY),
    Tail(Fraction(1, 18), 2, 4, widths=TINY),
    Tail(Fraction(1, 2), 1, 1, widths=TINY),
    Coin(Fraction(1, 3), widths=TINY),
    Coin(Fraction(1, 10**6), widths=TINY),
]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_no_outcome_is_decided_on_more_than_its_mass(table: BoundaryTable) -> None:
    decided, undecided = tape_masses(run_of(table))
    depth = DEPTH - (DEPTH - table.widths.first - table.widths.second) % table.widths.third
    with balls.precision(300):
        assert never_above(decided, true_masses(table))
    assert undecided <= Fraction(table.values.size - 1, 2**depth)


@pytest.mark.parametrize("move", [-1, 1])
@pytest.mark.parametrize("table", TABLES[:2] + TABLES[3:4], ids=str)
def test_a_boundary_moved_by_one_unit_is_caught(table: BoundaryTable, move: int) -> None:
    unit = 2 ** (table.widths.first + table.widths.second)
    caught = 0
    for j in range(table.values.size - 1):
        moved = replace(table)
        fences = table.fences.astype(np.int64)
        fences[j] += move
        if not 0 <= fences[j] < unit or np.any(np.diff(fences) < 0):
            continue
        moved.__dict__["fences"] = fences.astype(np.uint64)
        decided, _ = tape_masses(run_of(moved))
        with balls.precision(200):
            assert not never_above(decided, true_masses(table)), j
        caught += 1
    assert caught >= 4


class Script(BitSource):
    """Serves prepared words: the leading bits, then the bits that follow them."""

    def __init__(self, u: Words, second: int) -> None:
        self.u, self.second = u, second

    def words(self, bits: int, count: int) -> Words:
        if bits == self.second:
            return self.u & np.uint64(2**bits - 1)
        return np.zeros(count, dtype=np.uint64)


@pytest.mark.parametrize("table", [SignedTop(Fraction(1, 16), 1, 336), LowDigit(Fraction(1, 1000), 16)], ids=str)
def test_all_million_cells_of_twenty_bits_at_the_real_lookup_width(table: BoundaryTable) -> None:
    wide = replace(table, widths=Widths(16, 4, 64))
    u = np.arange(2**20, dtype=np.uint64)

    def right(candidate: BoundaryTable) -> tuple[bool, NDArray[np.int32], int]:
        found = candidate._search(u >> np.uint64(4), Script(u, 4))
        settled = ~np.isin(u, candidate.fences)
        with balls.precision(200):
            truth = true_masses(table)
            counts = dict(zip(*(part.tolist() for part in np.unique(found[settled], return_counts=True)), strict=True))
            decided = {v: Fraction(counts.get(v, 0), 2**20) for v in truth}
            return never_above(decided, truth), found, int(np.sum(~settled))

    fine, found, undecided = right(wide)
    assert fine
    assert undecided <= table.values.size - 1
    coarse = replace(wide)  # a wrong version: boundaries known to 16 bits only
    coarse.__dict__["fences"] = wide.fences >> np.uint64(4) << np.uint64(4)
    assert not right(coarse)[0]
    by_cell = found.reshape(-1, 16)
    sure = wide.lookup != np.iinfo(np.int32).min
    assert np.all(by_cell[sure] == wide.lookup[sure, None])
    assert np.sum(~sure) == np.unique(wide.fences >> np.uint64(4)).size


def exact_floors(table: BoundaryTable, bits: int) -> list[int]:
    """floor(C_j 2^bits) with 80 digits of mpmath, by summing masses in the order of the outcomes."""
    with mp.workdps(80):
        if isinstance(table, Signed):
            rho = mpf(table.precision.numerator) / table.precision.denominator
            each = [mp.exp(-rho * k * k) for k in range(int(20 / mp.sqrt(2 * rho)) + 40)]
            mass = {s * k: each[k] for k in range(table.cut) for s in (1, -1)}
            mass |= dict.fromkeys((table.cut, -table.cut), mp.fsum(each[table.cut :]))
        elif isinstance(table, LowDigit):
            r = mpf(table.rate.numerator) / table.rate.denominator
            mass = {d: mp.exp(-r * d) for d in range(table.base)}
        else:
            assert isinstance(table, SignedTop)
            r = mpf(table.rate.numerator) / table.rate.denominator
            R = r * table.base
            mass = {m: mp.exp(-R * m) * -mp.expm1(-R) for m in range(table.cut)} | {table.cut: mp.exp(-R * table.cut)}
            mass |= {-1 - m: p * mp.exp(-r) for m, p in mass.items()}
        total = mp.fsum(mass.values())
        below, floors = mpf(0), []
        for value in table.values[:-1]:
            below += mass[int(value)]
            floors.append(int(mp.floor(below / total * 2**bits)))
        return floors


def of_width(width: Fraction | int, cut: int | None = None, widths: Widths | None = None) -> LatticeGaussianSampler:
    return LatticeGaussianSampler(1 / (2 * Fraction(width) ** 2), cut, widths or Widths())


FENCED = [LatticeLaplaceSampler(1 / Fraction(s)) for s in ("0.3", 16, 64, 10**6, 2**52)]
FENCED += [of_width(Fraction(w)) for w in ("0.3", 1, 16, 200)]


@pytest.mark.parametrize("sampler", FENCED, ids=str)
def test_the_64_bit_fences_agree_with_80_digits_and_not_with_floats(
    sampler: LatticeLaplaceSampler | LatticeGaussianSampler,
) -> None:
    for table in (sampler.top, *sampler.low) if isinstance(sampler, LatticeLaplaceSampler) else (sampler.table,):
        exact = exact_floors(table, 64)
        assert table.fences.tolist() == exact
        assert [int(float(table.boundary(j)) * 2.0**64) for j in range(1, table.values.size)] != exact


def sampler_tapes(
    sampler: LatticeLaplaceSampler | LatticeGaussianSampler, depth: int = DEPTH
) -> tuple[bool, dict[int, Fraction], Fraction]:
    """Whether no integer is decided on more than its mass; what is decided, and how much is not."""
    decided, undecided = tape_masses(lambda tape: int(sampler.draw(1, tape)[0]), depth)
    with balls.precision(300):
        laplace = isinstance(sampler, LatticeLaplaceSampler)
        law = laplace_law(sampler.rate, list(decided)) if laplace else gaussian_law(sampler.precision, list(decided))
        return never_above(decided, law), decided, undecided


PLANS = {
    "two digits": LatticeLaplaceSampler(Fraction(1, 2), bases=(2, 3), cut=1, widths=SMALL),
    "no digit": LatticeLaplaceSampler(Fraction(1, 2), bases=(), cut=4, widths=SMALL),
    "one digit": LatticeLaplaceSampler(Fraction(3, 5), bases=(4,), cut=2, widths=SMALL),
}


@pytest.mark.parametrize("plan", PLANS)
def test_the_whole_sampler_decides_no_integer_on_more_than_its_mass(plan: str) -> None:
    sound, decided, undecided = sampler_tapes(PLANS[plan])
    assert sound
    assert undecided < Fraction(1, 20)
    assert len(decided) > 10


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
        law = gaussian_law(sampler.precision, list(decided))
        theta = weight(sampler.precision, 0) / gaussian_law(sampler.precision, [0])[0]
        every = theta * (1 - q) / (1 + q) * weight(sampler.precision, c)  # so much is kept in one round
        truth = {y: every * p for y, p in law.items()} | {DROPPED: 1 - every}
        assert balls.upper(every) < 0.8
        return never_above(decided, truth), undecided


@pytest.mark.parametrize("precision", [Fraction(1, 2), Fraction(1, 8), Fraction(1, 25)])
def test_one_round_of_propose_and_reject_keeps_no_integer_on_more_than_its_mass(precision: Fraction) -> None:
    sound, undecided = one_round(LatticeGaussianSampler(precision, 0, SMALL), 16)
    assert sound
    assert undecided < Fraction(1, 100)


def test_rounds_of_propose_and_reject_decide_no_integer_on_more_than_its_mass() -> None:
    sound, decided, undecided = sampler_tapes(LatticeGaussianSampler(Fraction(1, 8), 0, SMALL), 12)
    assert sound
    assert undecided < Fraction(1, 3)
    assert len(decided) >= 5


def test_wrong_signs_wrong_digits_and_lost_tails_are_caught() -> None:
    for wrong in ("sign", "digits", "tail"):
        sampler = LatticeLaplaceSampler(Fraction(1, 2), bases=(2, 3), cut=1, widths=SMALL)
        if wrong == "sign":  # the sign of the top digit's ratio, in place of q's
            sampler.__dict__["top"] = SignedTop(Fraction(3), 1, 1, widths=SMALL)
        elif wrong == "digits":  # the rates of the two digits swapped
            first, second = sampler.low
            swapped = LowDigit(second.rate, 2, widths=SMALL), LowDigit(first.rate, 3, widths=SMALL)
            sampler.__dict__["low"] = swapped
        else:  # the outcome "at least 1" taken for 1
            right = PLANS["two digits"].top
            object.__setattr__(sampler.top, "cut", 99)
            sampler.top.__dict__["values"] = np.array([-2, -1, 1, 0], dtype=np.int32)
            sampler.top.__dict__["fences"] = right.fences
            sampler.top.__dict__["floor"] = right.floor
        assert not sampler_tapes(sampler, 16)[0], wrong


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


@settings(max_examples=15, deadline=None, database=None)
@given(
    rate=st.fractions(Fraction(1, 50), 3, max_denominator=50),
    bases=st.lists(st.integers(2, 4), max_size=2).map(tuple),
    cut=st.integers(1, 4),
    first=st.integers(1, 3),
    second=st.integers(1, 3),
)
def test_digits_cut_and_widths_never_change_the_law(
    rate: Fraction, bases: tuple[int, ...], cut: int, first: int, second: int
) -> None:
    widths = Widths(first, second, 1, steady=False)
    assert sampler_tapes(LatticeLaplaceSampler(rate, bases, cut, widths), 11)[0]
    assert sampler_tapes(LatticeGaussianSampler(min(max(rate, Fraction(1, 40)), Fraction(1)), cut, widths), 9)[0]
    assert sampler_tapes(LatticeGaussianSampler(min(max(rate, Fraction(1, 40)), Fraction(1)), 0, widths), 9)[0]


@pytest.mark.parametrize("p", [Fraction(1, 3), Fraction(5, 8), Fraction(999, 1000), Fraction(1, 10**30)])
def test_a_coin_is_exact(p: Fraction) -> None:
    decided, undecided = tape_masses(lambda tape: int(bernoulli(p, tape, width=1)))
    assert decided.get(1, 0) <= p
    assert decided.get(0, 0) <= 1 - p
    assert undecided <= Fraction(1, 2**DEPTH)
    wrong, _ = tape_masses(lambda tape: int(bernoulli(p + Fraction(1, 2**16), tape, width=1)))
    assert wrong.get(1, 0) > p


def test_a_coin_of_a_dyadic_probability_ends_and_sure_coins_are_sure() -> None:
    decided, undecided = tape_masses(lambda tape: int(bernoulli(Fraction(5, 8), tape, width=3)))
    assert decided == {0: Fraction(3, 8), 1: Fraction(5, 8)}
    assert undecided == 0
    assert bernoulli(Fraction(1))
    assert not bernoulli(Fraction(0))
    for bad in (Fraction(3, 2), Fraction(-1, 2), 0.5):
        with pytest.raises(BadNoise):
            bernoulli(bad)  # type: ignore[arg-type]


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
