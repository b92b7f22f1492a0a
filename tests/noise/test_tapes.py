"""Every bit tape up to 20 bits: the mass of the tapes that decide an outcome never exceeds its true mass.

As the masses of all outcomes sum to one, "never above" for each outcome and "little undecided" pin the law.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from hypothesis import given, settings
from hypothesis import strategies as st
from mpmath import mp, mpf
from numpy.typing import NDArray

from fugu.errors import BadNoise
from fugu.noise.bits import BitSource, BoundaryTable, Widths, Words, bernoulli
from fugu.noise.laplace import LatticeLaplaceSampler, LowDigit, SignedTop
from fugu.numbers import balls
from tape import TapeBits

DEPTH = 20
TINY = Widths(first=3, second=4, third=1, steady=False)


def tape_masses(run: Callable[[TapeBits], int], depth: int = DEPTH) -> tuple[dict[int, Fraction], Fraction]:
    """Over all tapes of one length, the mass of those that decide each outcome, and of the undecided.

    A tape is extended only while it decides nothing: tapes that share a deciding start are counted at once.
    """
    decided: dict[int, Fraction] = {}
    undecided = Fraction(0)
    todo = [""]
    while todo:
        start = todo.pop()
        tape = TapeBits(start)
        try:
            value = run(tape)
        except EOFError:
            if len(start) < depth:
                todo += [start + "0", start + "1"]
            else:
                undecided += Fraction(1, 2**depth)
        else:
            assert tape.used == len(start)
            decided[value] = decided.get(value, Fraction(0)) + Fraction(1, 2 ** len(start))
    assert sum(decided.values()) + undecided == 1
    return decided, undecided


def true_masses(table: BoundaryTable) -> dict[int, arb]:
    """The law of a table from its definition (not from its boundaries), as balls."""
    if isinstance(table, LowDigit):
        weights = [balls.of(-table.rate * d).exp() for d in range(table.base)]
        return {d: w / sum(weights, arb(0)) for d, w in enumerate(weights)}
    assert isinstance(table, SignedTop)
    q, Q = balls.of(-table.rate).exp(), balls.of(-table.rate * table.base).exp()
    digit = [(1 - Q) * Q**m for m in range(table.cut)] + [Q**table.cut]
    positive = {m: p / (1 + q) for m, p in enumerate(digit)}
    return positive | {-1 - m: p * q / (1 + q) for m, p in enumerate(digit)}


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
]


@pytest.mark.parametrize("table", TABLES, ids=str)
def test_no_outcome_is_decided_on_more_than_its_mass(table: BoundaryTable) -> None:
    decided, undecided = tape_masses(run_of(table))
    depth = DEPTH - (DEPTH - table.widths.first - table.widths.second) % table.widths.third
    with balls.precision(200):
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
        r = mpf(table.rate.numerator) / table.rate.denominator  # type: ignore[attr-defined]
        if isinstance(table, LowDigit):
            mass = {d: mp.exp(-r * d) for d in range(table.base)}
        else:
            assert isinstance(table, SignedTop)
            R = r * table.base
            mass = {m: mp.exp(-R * m) * -mp.expm1(-R) for m in range(table.cut)} | {table.cut: mp.exp(-R * table.cut)}
            mass |= {-1 - m: p * mp.exp(-r) for m, p in mass.items()}
        total = mp.fsum(mass.values())
        below, floors = mpf(0), []
        for value in table.values[:-1]:
            below += mass[int(value)]
            floors.append(int(mp.floor(below / total * 2**bits)))
        return floors


@pytest.mark.parametrize("scale", [Fraction(3, 10), Fraction(16), Fraction(64), Fraction(10**6), Fraction(2**52)])
def test_the_64_bit_fences_agree_with_80_digits_and_not_with_floats(scale: Fraction) -> None:
    sampler = LatticeLaplaceSampler(1 / scale)
    for table in (sampler.top, *sampler.low):
        exact = exact_floors(table, 64)
        assert table.fences.tolist() == exact
        floats = [int(float(table.boundary(j)) * 2.0**64) for j in range(1, table.values.size)]
        assert floats != exact


def sampler_run(sampler: LatticeLaplaceSampler) -> Callable[[TapeBits], int]:
    return lambda tape: int(sampler.draw(1, tape)[0])


def lattice_law(rate: Fraction, decided: dict[int, Fraction]) -> dict[int, arb]:
    q = balls.of(-rate).exp()
    return {k: (1 - q) / (1 + q) * q ** abs(k) for k in decided}


SMALL = Widths(first=2, second=2, third=1, steady=False)
PLANS = [
    LatticeLaplaceSampler(Fraction(1, 2), bases=(2, 3), cut=1, widths=SMALL),
    LatticeLaplaceSampler(Fraction(1, 2), bases=(), cut=4, widths=SMALL),
    LatticeLaplaceSampler(Fraction(3, 5), bases=(4,), cut=2, widths=SMALL),
]


@pytest.mark.parametrize("sampler", PLANS, ids=["two digits", "no digit", "one digit"])
def test_the_whole_sampler_decides_no_integer_on_more_than_its_mass(sampler: LatticeLaplaceSampler) -> None:
    decided, undecided = tape_masses(sampler_run(sampler))
    with balls.precision(200):
        assert never_above(decided, lattice_law(sampler.rate, decided))
    assert undecided < Fraction(1, 20)
    assert len(decided) > 10


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
            object.__setattr__(sampler.top, "cut", 99)
            sampler.top.__dict__["values"] = np.array([-2, -1, 1, 0], dtype=np.int32)
            sampler.top.__dict__["fences"] = PLANS[0].top.fences
            sampler.top.__dict__["floor"] = PLANS[0].top.floor
        decided, _ = tape_masses(sampler_run(sampler), 16)
        with balls.precision(200):
            assert not never_above(decided, lattice_law(sampler.rate, decided)), wrong


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
    sampler = LatticeLaplaceSampler(rate, bases, cut, Widths(first, second, 1, steady=False))
    decided, _ = tape_masses(sampler_run(sampler), 11)
    with balls.precision(200):
        assert never_above(decided, lattice_law(rate, decided))


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
