"""Theorems A.3 to A.5, A.1, A.7 and 5.6: reference numbers, counterexamples to the printed forms, random searches."""

import math
from fractions import Fraction

import numpy as np
import pytest

import hunting
from fugu.auditing.theorems import (
    nearby_laws,
    orders_a4,
    proposition_a7,
    straight,
    theorem_5_6,
    theorem_a3,
    theorem_a4,
)
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.loss.shifts import shift_renyi
from fugu.noise import Gaussian
from fugu.numbers.exact import as_fraction
from fugu_papers.close_beliefs import corollary_a1, gaussian_variance, theorem_5_7, theorem_a5, translated_scale

A1 = [
    ((2, 3, 3, 3, 1, 1, 0.5), 2.0333333333, 1.6, 2.5),
    ((4, 2, 4, 4, 0.5, 2, 0.1), 0.5436607143, 0.1728571429, 56),
    ((1.5, 6, 2, 3, 2, 1, 1), 23.2083333333, 10.125, 2 / 3),
]


def renyi(p, q, a):
    """D_a from the definition; laws as arrays of probabilities."""
    p, q = np.asarray(p, float), np.asarray(q, float)
    if np.any((q == 0) & (p > 0)):
        return math.inf
    held = p > 0
    if math.isinf(a):
        return float(np.max(np.log(p[held] / q[held])))
    logs = a * np.log(p[held]) + (1 - a) * np.log(q[held])
    top = logs.max()
    return float((top + np.log(np.exp(logs - top).sum())) / (a - 1))


def stick(p, q, e):
    return float(np.maximum(np.asarray(p) - math.exp(e) * np.asarray(q), 0).sum())


@pytest.mark.parametrize(("given", "bound", "triangle", "variance"), A1)
def test_corollary_a1_has_its_reference_numbers_and_the_triangle_is_better(given, bound, triangle, variance):
    a, p, q, r, epsilon, distance, moved = given
    assert corollary_a1(*given) == pytest.approx(bound, abs=1e-9)
    order = orders_a4(a, p, q, r)[1]
    found = gaussian_variance(order, epsilon, distance)
    assert float(found) == pytest.approx(variance, abs=1e-12)
    straight = a * (distance + 2 * moved) ** 2 / (2 * variance)
    assert straight == pytest.approx(triangle, abs=1e-9) and straight <= corollary_a1(*given)
    noise = Gaussian(math.sqrt(variance))
    assert theorem_a5(noise, a, p, q, r, epsilon, moved) == pytest.approx(bound, abs=1e-9)
    assert shift_renyi(noise, distance + 2 * moved, a) == pytest.approx(triangle, abs=1e-9)


def test_the_middle_coefficient_of_a4_is_above_one():
    """Without 1/(r (a-1)) the first reference number would be 1.7, and no inequality."""
    assert theorem_a4(2, 3, 3, 3, 0.3, 1, 0.2) == pytest.approx(2.0333333333, abs=1e-9)


@pytest.mark.parametrize(
    "triple", [(2, 2, 2), (3, 3, 3.0000001), (1, 3, 3), (0.5, 3, 3), (3, 3, float("nan")), (3, 3, "3"), (True, 2, 2)]
)
def test_bad_exponents_are_refused(triple):
    with pytest.raises(UsageError):
        theorem_a4(2, *triple, 0.1, 0.1, 0.1)
    with pytest.raises(UsageError):
        corollary_a1(2, *triple, 1, 1, 0.5)


@pytest.mark.parametrize("bad", [{"alpha": 1}, {"alpha": math.inf}, {"epsilon": -1}, {"distance": 0}, {"moved": -1}])
def test_bad_numbers_are_refused(bad):
    good = {"alpha": 2, "p": 3, "q": 3, "r": 3, "epsilon": 1, "distance": 1, "moved": 0.5}
    with pytest.raises(UsageError):
        corollary_a1(**{**good, **bad})


def test_exponents_may_be_infinite_and_infinite_divergences_stay_so():
    assert orders_a4(2, math.inf, 2, 2) == (math.inf, 4, 3)
    assert theorem_a4(2, math.inf, 2, 2, 0.1, 1, 0.1) == pytest.approx(2 * 0.1 + 1.5 + 0.1)
    assert theorem_a4(2, 3, 3, 3, math.inf, 1, 0.2) == math.inf


def test_a3_needs_both_directions():
    """eta = 1e-3: theta has X = B always, theta' has X = A with probability eta under s_i; M = identity is 0-PP."""
    eta = 1e-3
    theta, other = [0, 1], [eta, 1 - eta]
    back, there = renyi(theta, other, math.inf), renyi(other, theta, math.inf)
    truth = max(renyi(other, theta, math.inf), renyi(theta, other, math.inf))
    assert back == pytest.approx(0.0010005, abs=1e-7)  # what is printed, twice
    assert 2 * back < truth == math.inf
    assert theorem_a3(0, there, back).epsilon == math.inf


@pytest.mark.parametrize(
    ("eta", "kappa", "printed", "truth"), [(1e-3, 0.0, 0.00266800, math.inf), (0.01, 1e-12, 0.0268009, 18.42068)]
)
def test_a4_with_separate_infima_is_no_inequality(eta, kappa, printed, truth):
    """theta1: X = A w.p. eta for both secrets; theta2: X = A w.p. kappa; theta': s_i as theta1, s_j as theta2."""
    one, two = [eta, 1 - eta], [kappa, 1 - kappa]
    ahead, _, behind = orders_a4(2, 3, 3, 3)
    beliefs = (one, two)
    there = [max(renyi(x, t, float(ahead)) for x in (one, two)) for t in beliefs]
    back = [max(renyi(t, x, float(behind)) for x in (one, two)) for t in beliefs]
    wrong = theorem_a4(2, 3, 3, 3, min(there), 0, min(back))
    assert wrong == pytest.approx(printed, rel=1e-3)
    found = max(renyi(one, two, 2), renyi(two, one, 2))
    assert found == pytest.approx(truth, rel=1e-5) and found > wrong
    assert all(theorem_a4(2, 3, 3, 3, t, 0, b) >= found for t, b in zip(there, back, strict=True))


def test_a7_needs_the_factor():
    theta = ([0.9, 0.1], [1.0, 0.0])
    moved = ([1 - 0.1 * math.exp(0.5), 0.1 * math.exp(0.5)], [1.0, 0.0])
    there = renyi(moved[0], theta[0], math.inf)
    assert there == pytest.approx(0.5) and stick(*theta, 0) == pytest.approx(0.1)
    truth = stick(*moved, there)
    assert truth == pytest.approx(0.16487212707 - 0, abs=1e-9) and truth > 0.1  # the printed delta
    corrected = proposition_a7(0, 0.1, there, 0)
    assert corrected.delta >= truth * (1 - 1e-12) and corrected.delta == pytest.approx(truth)


def test_theorem_5_6_says_nothing_beyond_one():
    assert theorem_5_6(1, 0.5, (1, 0.2), (0, 0.0)) == Pure(math.inf)
    assert theorem_5_6(1, 0.0, (0.5, 0.0), (0.25, 0.0)) == Pure(1.75)
    assert isinstance(theorem_5_6(1, 1e-6, (0.5, 1e-7), (0.25, 1e-8)), Approx)


def law(rng, n=3):
    x = rng.gamma(0.5, size=n) + 1e-9
    return x / x.sum()


def search(count, seed):
    """Largest excess over each bound on random 4-tuples of laws: the corrected ones, and stated wrong ones."""
    rng, excess = np.random.default_rng(seed), {}

    def note(name, truth, bound):
        excess[name] = max(excess.get(name, -math.inf), truth - float(bound))

    for _ in range(count):
        i, j, k, m = (law(rng) for _ in range(4))  # theta given i, j; theta' given i, j
        if rng.random() < 0.5:
            k, m = 0.9 * i + 0.1 * k, 0.9 * j + 0.1 * m
        a = Fraction(rng.integers(11, 60).item(), 10)
        u, w = Fraction(rng.integers(1, 8).item(), 16), Fraction(rng.integers(1, 8).item(), 16)
        p, q, r = 1 / u, 1 / (1 - u - w), 1 / w
        ahead, middle, behind = (float(x) for x in orders_a4(a, p, q, r))
        there, epsilon, back = renyi(k, i, ahead), renyi(i, j, middle), renyi(j, m, behind)
        truth = renyi(k, m, float(a))
        note("a4", truth, theorem_a4(a, p, q, r, there, epsilon, back))
        note("no 1/(r(a-1))", truth, float((a - u) / (a - 1)) * there + epsilon + back)
        note("order a", truth, theorem_a4(a, p, q, r, there, renyi(i, j, float(a)), back))
        note("no back", truth, theorem_a4(a, p, q, r, there, epsilon, 0))
        far, near = renyi(k, i, math.inf), renyi(j, m, math.inf)
        note("a3", renyi(k, m, math.inf), theorem_a3(max(0.0, renyi(i, j, math.inf)), far, near).epsilon)
        note("one way", renyi(k, m, math.inf), theorem_a3(renyi(i, j, math.inf), renyi(i, k, math.inf), near).epsilon)
        c = max(renyi(x, y, math.inf) for x, y in ((k, i), (i, k), (j, m), (m, j)))
        low = Fraction(rng.integers(101, 130).item(), 100)
        if c < 3:
            same = max(0.0, renyi(i, j, float(low)))
            note("straight", renyi(k, m, float(low)), straight(same, low, c))
            note("plus 2c", renyi(k, m, float(low)), same + 2 * c)
        e, (l1, l2) = rng.random(), rng.random(2)
        found = theorem_5_6(e, stick(i, j, e), (l1, stick(k, i, l1)), (l2, stick(j, m, l2)))
        note("5.6", stick(k, m, e + l1 + l2), found.delta if isinstance(found, Approx) else 1.0)
        plain = stick(k, i, l1) + stick(i, j, e) + stick(j, m, l2)
        note("5.6 added", stick(k, m, e + l1 + l2), plain)
    return excess


SOUND = {"a4", "a3", "5.6", "straight"}


def check(excess):
    assert all(excess[name] <= 1e-9 for name in SOUND), excess
    assert all(excess[name] > 1e-4 for name in set(excess) - SOUND), excess


def test_random_laws_keep_the_corrected_bounds_and_break_the_wrong_ones():
    check(search(2500, 1))


@hunting.search("corrected theorems on close beliefs", quick=1)
def test_many_random_laws_keep_the_corrected_bounds(seed):
    excess = search(200, seed)
    assert all(excess[name] <= 1e-9 for name in SOUND), excess
    return 200


def test_a5_reads_computed_divergences_as_no_less_than_they_are():
    """A computed float can be a decimal of 15 digits that means less than the float: it must be raised first."""
    too_low = []
    for scale, moved, alpha, p, q, r in (
        (412, 84, 6, 5, Fraction(45, 31), 9),
        (4.35, 75, 15, 9, Fraction(45, 31), 5),
        (1.29, 22, 3, 5, Fraction(20, 11), 4),
    ):
        orders = orders_a4(alpha, p, q, r)[::2]
        there, back = (order * moved**2 / (2 * as_fraction(scale) ** 2) for order in orders)
        truth = (alpha - Fraction(1, p)) / (alpha - 1) * there + back
        assert as_fraction(theorem_a5(Gaussian(scale), alpha, p, q, r, 0, moved)) >= truth
        there, back = (shift_renyi(Gaussian(scale), moved, order) for order in orders)
        too_low.append(as_fraction(theorem_a4(alpha, p, q, r, there, 0, back)) < truth)  # handed on as they are
    assert any(too_low)


def test_theorem_5_6_needs_every_term():
    """f_i puts 0.1 where g_i has nothing: dropping eta1 claims (e, 0)."""
    assert 0.1 <= nearby_laws(0, 0, 0, 0.1, 0, 0).delta < 0.1 + 1e-15
    with pytest.raises(NotProvable):
        nearby_laws(1, 0, 0, 0.5, 0, 0.3)
    with pytest.raises(NotProvable):
        nearby_laws(math.inf, 0, 0, 0, 0, 0)
    with pytest.raises(BadBudget):
        nearby_laws(1, 0, -1, 0, 0, 0)


def test_theorem_5_7_is_the_printed_formula_and_the_triangle_inequality_is_better():
    found = theorem_5_7(1, 1e-3, 0.25, 1e-2)
    assert found.epsilon == 1.5
    assert found.delta == pytest.approx((1 + math.exp(1.25)) * 1e-2 + math.exp(0.25) * 1e-3, rel=1e-13)
    shift, w, total = 2.0, 0.5, 1.0
    best = min(2 * (shift / (total - 2 * x)) ** 2 + 2 * (w / x) ** 2 for x in np.linspace(0.001, 0.499, 999))
    scale = translated_scale(shift, w, total)
    assert scale == 3 and 2 * float(scale) ** 2 < best
    with pytest.raises(NotProvable):
        translated_scale(1, 1, 0)
