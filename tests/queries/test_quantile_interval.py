"""The interval of a quantile holds as often as it says, in every small table and every choice."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest

import fugu
from fugu.queries.quantile_interval import rank_error, reach
from selection_laws import permute_and_flip_law

POINTS = 4


def held(shares, at, rate, rows, off):
    """The exact probability that every quantile of the table lies in the interval, over all tables and choices."""
    values = np.arange(POINTS, dtype=float)
    above, below = reach(values, np.array(shares), (0.0, POINTS - 1.0), at, off, rows)
    total = 0.0
    for counts in product(range(rows + 1), repeat=POINTS - 1):
        last = rows - sum(counts)
        if last < 0:
            continue
        upto = np.cumsum([*counts, last])
        wanted, under = rows * at, np.concatenate([[0], upto[:-1]])
        utilities = [-max(Fraction(0), int(a) - wanted, wanted - int(b)) for a, b in zip(under, upto, strict=True)]
        true = [k for k, u in enumerate(utilities) if u == 0]
        law = permute_and_flip_law(utilities, rate)
        ways = math.factorial(rows) / math.prod(math.factorial(c) for c in (*counts, last))
        chance = ways * math.prod(s**c for s, c in zip(shares, (*counts, last), strict=True))
        fits = [v - above <= true[0] and true[-1] <= v + below for v in range(POINTS)]
        total += chance * sum(float(p) for p, fit in zip(law, fits, strict=True) if fit)
    return total


@pytest.mark.parametrize("shares", [(0.7, 0.1, 0.1, 0.1), (0.25, 0.25, 0.25, 0.25), (0.05, 0.45, 0.45, 0.05)])
@pytest.mark.parametrize("at", [Fraction(1, 2), Fraction(1, 5)])
def test_an_interval_holds_at_its_level_over_all_tables_and_choices(shares, at):
    for rate in (Fraction(1, 2), Fraction(3, 2), Fraction(4)):
        assert held(shares, at, rate, 8, rank_error(POINTS, rate)) >= 0.95


def test_an_interval_that_takes_the_choice_for_the_quantile_is_rejected():
    """Wrong versions: no error of ranks at all, which leaves out the noise; and no steps to either side."""
    shares, rate = (0.25, 0.25, 0.25, 0.25), Fraction(1, 10)
    assert held(shares, Fraction(1, 2), rate, 8, rank_error(POINTS, rate)) >= 0.95
    few = np.arange(101.0), np.full(101, 1 / 101)
    wide, narrow = (reach(*few, (0.0, 100.0), Fraction(1, 2), off, 4000) for off in (rank_error(101, rate), 0.0))
    assert max(narrow) < min(wide) < 8
    draws = [_chosen(np.random.default_rng(seed), 4000, 0.002) for seed in range(400)]
    slow = reach(*few, (0.0, 100.0), Fraction(1, 2), rank_error(101, Fraction(1, 500)), 4000)
    for ends, fits in ((slow, True), (narrow, False)):
        share = np.mean([v - ends[0] <= low and high <= v + ends[1] for v, low, high in draws])
        assert (share >= 0.95) == fits


def _chosen(rng, rows, rate):
    counts = rng.multinomial(rows, np.full(101, 1 / 101))
    upto = np.cumsum(counts)
    utility = -np.maximum(0, np.maximum(upto - counts - rows / 2, rows / 2 - upto))
    taken = rng.random(101) < np.exp(rate * utility)
    true = np.flatnonzero(utility == 0)
    return next(k for k in rng.permutation(101) if taken[k]), true[0], true[-1]


def test_a_quantile_goes_out_with_an_interval_that_says_what_it_rests_on():
    rng = np.random.default_rng(3)
    ill = rng.integers(0, 2, 900)
    reference = {"ill": np.where(ill, "y", "n").tolist(), "age": rng.integers(20, 80, 900).tolist()}
    today = {"ill": ["y", "n"] * 300, "age": rng.integers(20, 80, 600).tolist()}
    session = fugu.Session(today, reference, "ill", fugu.Pure(2), ledger=False)
    answer = session.ask("median(age)", 1)
    (cell,) = answer.cells
    assert 20 <= cell.low <= cell.value <= cell.high <= 80 and cell.high - cell.low < 30
    assert "follow the reference's law" in answer.note and answer.usable.figures[0].half < 20
    declared = fugu.Schema({"size": {"kind": "number", "bounds": (0, 9)}})
    other = fugu.Session({**today, "size": [1, 2] * 300}, reference, "ill", fugu.Pure(2), schema=declared, ledger=False)
    assert math.isnan(other.ask("median(size)").cells[0].low)  # the reference says nothing of it
