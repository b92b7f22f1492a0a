"""Selection is drawn from exactly the law that is proved: tapes, enumeration of orders, chi-square, exact losses."""

from __future__ import annotations

from collections import Counter
from fractions import Fraction
from itertools import combinations, pairwise, permutations, product

import numpy as np
import pytest
from mpmath import exp, log, mp, mpf

from fugu.errors import BadNoise, UnknownName
from fugu.noise.bits import OS, Coin, RngBits
from fugu.noise.selection import (
    _flips,
    _place,
    exp_coin,
    exponential,
    peel,
    permute_and_flip,
    uniform_below,
)
from selection_laws import em, exponential_law, permute_and_flip_law, pf
from tape import TapeBits, tape_masses

mp.dps = 50
UTILITIES = [Fraction(u) for u in (10, 9, 7, 3, 0)]


def chi_square(counts, masses, n):
    return sum((counts[i] - n * float(p)) ** 2 / (n * float(p)) for i, p in enumerate(masses))


# --- the laws as numbers -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("u", [(0, 0, 0), (5, 1), (3, 3, 1, 0), (10, 9, 7, 3, 0)])
@pytest.mark.parametrize("rate", [Fraction(1, 10), Fraction(1, 2), Fraction(3)])
def test_the_integral_of_the_law_is_the_sum_over_all_orders(u, rate):
    exact = pf(u, rate)
    for ball, oracle in zip(permute_and_flip_law([Fraction(v) for v in u], rate), exact, strict=True):
        assert abs(mpf(ball.mid().str(40, radius=False)) - oracle) < mpf(10) ** -25
        assert float(ball.rad()) < 1e-25
    weights = exponential_law([Fraction(v) for v in u], rate)
    assert [float(w) for w in weights] == pytest.approx([float(p) for p in em(u, rate)], abs=1e-15)


# --- what is sampled -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("select", [permute_and_flip, exponential])
def test_every_tape_of_a_small_case_decides_the_law(select):
    """Never above the true mass for any outcome, and little undecided: together they pin the law."""
    u, rate = [1, 0], Fraction(7, 10)
    truth = pf(u, rate) if select is permute_and_flip else em(u, rate)
    decided, undecided = tape_masses(lambda tape: select([Fraction(v) for v in u], rate, tape, 1), 14)
    assert undecided < Fraction(1, 50)
    for i, mass in decided.items():
        assert mpf(mass.numerator) / mass.denominator <= truth[i]
    wrong = em(u, rate) if select is permute_and_flip else pf(u, rate)
    assert any(mpf(m.numerator) / m.denominator > wrong[i] for i, m in decided.items())


def test_every_tape_of_a_coin_is_exact():
    decided, undecided = tape_masses(lambda tape: exp_coin(Fraction(1, 3), tape, 1), 18)
    assert undecided == Fraction(1, 2**18)
    p = exp(mpf(-1) / 3)
    assert 0 <= p - mpf(decided[True].numerator) / decided[True].denominator <= mpf(2) ** -18
    assert abs(exp(mpf(-1) / 3 * mpf("0.98")) - p) > mpf(2) ** -18


def test_every_tape_of_a_uniform_is_exact():
    decided, undecided = tape_masses(lambda tape: uniform_below(5, tape), 12)
    assert len(set(decided.values())) == 1 and set(decided) == set(range(5)) and undecided < Fraction(1, 20)
    assert uniform_below(1, TapeBits("")) == 0
    assert 0 <= uniform_below(2**200, OS) < 2**200 and uniform_below(2**200, OS) > 2**100


@pytest.mark.parametrize("select", [permute_and_flip, exponential])
def test_chi_square_accepts_the_law_and_rejects_a_rate_of_eight_tenths_and_the_other_law(select):
    n, rate = 30_000, Fraction(1, 10)
    source = RngBits(np.random.default_rng(20))
    counts = Counter(select(UTILITIES, rate, source) for _ in range(n))
    own, other = (pf, em) if select is permute_and_flip else (em, pf)
    u = [10, 9, 7, 3, 0]
    limit = 33.4  # chi-square with 4 degrees of freedom, alpha = 1e-6
    assert chi_square(counts, own(u, rate), n) < limit
    assert chi_square(counts, own(u, Fraction(8, 100)), n) > limit
    assert chi_square(counts, other(u, rate), n) > limit


def peeled(u, k, one):
    """The law of k rounds without replacement, each with the masses `one` of what is left."""
    found = {}
    for order in permutations(range(len(u)), k):
        mass, left = mpf(1), list(range(len(u)))
        for i in order:
            mass *= one([u[j] for j in left])[left.index(i)]
            left.remove(i)
        found[order] = mass
    return found


def test_peeling_draws_fresh_noise_each_round_and_one_shot_exponential_noise_is_another_law():
    u, rate, n = [3, 2, 0], Fraction(1, 2), 20_000
    truth = peeled(u, 2, lambda left: pf(left, rate))
    source = RngBits(np.random.default_rng(3))
    counts = Counter(peel([Fraction(v) for v in u], 2, rate, "permute-and-flip", source) for _ in range(n))
    limit = 37.0  # 5 degrees of freedom, alpha = 6e-7
    assert sum((counts[o] - n * float(p)) ** 2 / (n * float(p)) for o, p in truth.items()) < limit
    noisy = np.array(u) + np.random.default_rng(4).exponential(2.0, (200_000, 3))
    one_shot = Counter(map(tuple, np.argsort(-noisy, axis=1)[:, :2].tolist()))
    gap = max(abs(one_shot[o] / 200_000 - float(p)) for o, p in truth.items())
    assert gap > 0.02


def test_one_shot_gumbel_noise_has_the_law_of_the_peeled_exponential_mechanism():
    u, rate, n = [3, 2, 0], Fraction(1, 2), 20_000
    truth = peeled(u, 2, lambda left: em(left, rate))
    noisy = np.array(u) + np.random.default_rng(5).gumbel(0, 2.0, (400_000, 3))
    one_shot = Counter(map(tuple, np.argsort(-noisy, axis=1)[:, :2].tolist()))
    assert max(abs(one_shot[o] / 400_000 - float(p)) for o, p in truth.items()) < 0.004
    source = RngBits(np.random.default_rng(6))
    counts = Counter(peel([Fraction(v) for v in u], 2, rate, "exponential", source) for _ in range(n))
    assert sum((counts[o] - n * float(p)) ** 2 / (n * float(p)) for o, p in truth.items()) < 37.0


# --- what it costs -------------------------------------------------------------------------------------------------


def histograms(total, bins):
    for cuts in combinations(range(total + bins - 1), bins - 1):
        marks = (-1, *cuts, total + bins - 1)
        yield tuple(b - a - 1 for a, b in pairwise(marks))


def worst_loss(total, bins, law):
    """max over all histograms, all replacements of one entry and all outcomes of log P(i | D) / P(i | D')."""
    laws = {h: law(h) for h in histograms(total, bins)}
    worst = mpf(0)
    for h, own in laws.items():
        for a, b in product(range(bins), repeat=2):
            if a != b and h[a]:
                moved = list(h)
                moved[a] -= 1
                moved[b] += 1
                worst = max(worst, *(log(p / q) for p, q in zip(own, laws[tuple(moved)], strict=True)))
    return float(worst)


def test_the_loss_of_permute_and_flip_over_all_counts_is_below_epsilon():
    half = Fraction(1, 2)
    assert worst_loss(8, 3, lambda h: pf(h, half)) == pytest.approx(0.99600713, abs=5e-9)
    assert worst_loss(5, 3, lambda h: pf(h, Fraction(1))) > 1  # the factor 2 cannot be saved


def test_the_monotone_saving_of_the_exponential_mechanism_would_break_the_guarantee():
    assert worst_loss(5, 3, lambda h: em(h, Fraction(1))) == pytest.approx(1.94750200, abs=5e-9)
    assert worst_loss(5, 3, lambda h: em(h, Fraction(1, 2))) == pytest.approx(0.84565267, abs=5e-9)


@pytest.mark.parametrize("one", [pf, em])
def test_two_peeled_rounds_of_half_the_rate_cost_at_most_epsilon(one):
    def law(h, rate):
        found = peeled(h, 2, lambda left: one(left, rate))
        return [found[o] for o in sorted(found)]

    assert worst_loss(5, 3, lambda h: law(h, Fraction(1, 4))) <= 1
    assert worst_loss(5, 3, lambda h: law(h, Fraction(1, 2))) > 1  # the budget of one round spent twice


# --- wrong use -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "call",
    [
        lambda: permute_and_flip([], Fraction(1)),
        lambda: permute_and_flip([0.5, 1.0], Fraction(1)),
        lambda: exponential([Fraction(1)], 0.1),
        lambda: exponential([Fraction(1)], Fraction(0)),
        lambda: exp_coin(Fraction(-1)),
        lambda: exp_coin(0.5),
        lambda: uniform_below(0),
        lambda: peel([Fraction(1)], 2, Fraction(1), "exponential"),
        lambda: peel([Fraction(1)], 0, Fraction(1), "exponential"),
    ],
)
def test_inexact_or_impossible_requests_are_refused(call):
    with pytest.raises(BadNoise):
        call()


def test_an_unknown_method_is_named():
    with pytest.raises(UnknownName, match="permute-and-flip"):
        peel([Fraction(1)], 1, Fraction(1), "permute and flip")


def test_huge_and_tiny_gaps_are_decided():
    assert permute_and_flip([Fraction(0), Fraction(10**30)], Fraction(1)) == 1
    assert exponential([Fraction(0), Fraction(1, 10**30)], Fraction(1)) in (0, 1)


class Listed(RngBits):
    """A source that keeps what was asked of it."""

    def __init__(self, rng):
        super().__init__(rng)
        object.__setattr__(self, "asked", [])

    def words(self, bits, count):
        self.asked.append((bits, count))
        return super().words(bits, count)


@pytest.mark.parametrize("select", [permute_and_flip, exponential])
def test_what_is_read_and_done_does_not_depend_on_the_utilities(select):
    """The same words whoever is best; before, the best had no coin, and a late best took 40 times as long."""
    cases = [[50] * 40, [10**6, *[0] * 39], [*[0] * 39, 10**6], list(range(40)), [Fraction(k, 7) for k in range(40)]]
    asked = set()
    for seed in range(20):
        for u in cases:
            source = Listed(np.random.default_rng(seed))
            select([Fraction(x) for x in u], Fraction(1, 10), source)
            asked.add(tuple(source.asked))
    assert len(asked) == 1


def test_doubles_and_balls_choose_alike():
    """With the same words: what doubles decide is what balls decide, item by item and place by place."""
    rng = np.random.default_rng(5)
    for seed in range(100):
        gaps = [Fraction(int(x), int(rng.integers(1, 9))) for x in rng.integers(0, 60, int(rng.integers(1, 9)))]
        gaps[0] = Fraction(0)
        words = RngBits(np.random.default_rng(seed)).words(64, len(gaps)).tolist()
        exact = [Coin(x).toss(int(word), 64, OS) for x, word in zip(gaps, words, strict=True)]
        assert _flips(gaps, RngBits(np.random.default_rng(seed)), 64) == exact
        chosen = exponential([-x for x in gaps], Fraction(1), RngBits(np.random.default_rng(seed)))
        first = int(RngBits(np.random.default_rng(seed)).words(64, 1)[0])
        assert chosen == _place(gaps, first, 64)
    assert _place([Fraction(0), Fraction(0)], 1, 1) == 1 and _place([Fraction(0), Fraction(1)], 1, 1) is None
