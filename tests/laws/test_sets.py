"""Sets of laws: no member is above `top`, some member attains it; against linear programs and from the definition."""

from __future__ import annotations

import itertools
import math
import pickle
from dataclasses import FrozenInstanceError
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from flint import arb
from scipy.optimize import linprog, minimize_scalar

from fugu import Ball, Band, Box, Discrete, Hull, Intersection
from fugu.laws.sets import law_set_from, winf_ball
from hunting import search
from loss.sets_oracle import members, program

KINDS = ["box", "band", "tv", "kl", "hull", "both"]


def exact(v):
    return [Fraction(float(x)) for x in v]


def drawn(kind, rng, k=None):
    """A random set, often with limits that touch, and with the law that it was laid around."""
    k = k or int(rng.integers(1, 9))
    values = np.sort(rng.choice(40, k, replace=False)).astype(float)
    counts = rng.multinomial(int(rng.choice([4, 64, 1024])), rng.dirichlet(np.full(k, rng.choice([0.2, 1.0, 5.0]))))
    law = counts / counts.sum()  # a dyadic law: it lies in its sets without any rounding
    reach = rng.choice([0.0, 0.03, 0.3])
    lower, upper = np.maximum(0, law - reach * rng.random(k)), np.minimum(1, law + reach * rng.random(k))
    sums = np.cumsum(law)
    low, high = np.maximum(0, sums - reach * rng.random(k)), np.minimum(1, sums + reach * rng.random(k))
    low[-1] = high[-1] = 1
    centre = Discrete(values, counts)
    if kind == "box":
        return Box(values, lower, upper), law
    if kind == "band":
        return Band(values, low, high), law
    if kind == "both":
        return Intersection([Band(values, low, high), Box(values, lower, upper)]), law
    if kind == "tv":
        return Ball(centre, float(rng.choice([0.0, 0.01, 0.2, 1.0]))), law
    if kind == "kl":
        return Ball(centre, float(rng.choice([0.0, 1e-9, 1e-3, 0.1, 2.0, 30.0])), "kl"), law
    return Hull([centre, *(Discrete(values, rng.integers(1, 9, k)) for _ in range(int(rng.integers(0, 4))))]), law


def vector(rng, k):
    """With many ties, with none, of one sign, far apart."""
    return [
        rng.integers(-2, 3, k).astype(float),
        rng.standard_normal(k),
        np.exp(-rng.random(k) * 40),
        np.zeros(k),
    ][int(rng.integers(4))]


def divergence(centre, law):
    there = centre > 0
    return float(np.sum(centre[there] * np.log(centre[there] / law[there])))


@search("linear maxima over sets of laws against linear programs", each=KINDS, quick=40)
def test_the_maximum_is_that_of_the_definition(kind, rng):
    found, law = drawn(kind, rng)
    v = vector(rng, found.size)
    top, attaining = float(found.top(exact(v))), found.extreme(v)
    scale = max(1.0, float(np.abs(v).max()))
    assert abs(float(attaining @ v) - top) <= 1e-9 * scale, "not attained"
    assert abs(float(found.tops(v[None, :])[0]) - top) <= 1e-9 * scale
    assert abs(attaining.sum() - 1) < 1e-9 and attaining.min() >= 0
    assert float(law @ v) <= top + 1e-12 * scale
    assert np.max(members(found, rng, 100) @ v) <= top + 1e-9 * scale
    assert float(-found.top(exact(-v))) == float(found.bottom(exact(v))) <= float(law @ v) + 1e-12 * scale
    if kind == "kl":
        assert divergence(found.weights, attaining) <= found.radius * (1 + 1e-6) + 1e-9
    else:
        assert abs(program(found, v) - top) <= 2e-7 * scale


def test_the_divergence_ball_by_bisection_in_sixty_digits():
    """max p(1) over KL(c, p) <= r with two values is the larger root of the divergence."""
    for share, radius in itertools.product([0.0, 0.125, 0.5, 0.875, 1.0], [1e-6, 0.01, 0.5, 3.0]):
        ball = Ball(Discrete([0, 1], [1 - share, share]), radius, "kl")
        with mpmath.workdps(60):
            low, high, c, r = mpmath.mpf(share), mpmath.mpf(1), mpmath.mpf(share), mpmath.mpf(ball.radius)
            for _ in range(190):
                p = (low + high) / 2
                there = (1 - c) * mpmath.log((1 - c) / (1 - p)) if c < 1 and p < 1 else mpmath.mpf(0)
                there += c * mpmath.log(c / p) if c else 0
                low, high = (p, high) if there <= r and (p < 1 or c == 1) else (low, p)
            top = ball.top([0, 1])
            above = mpmath.mpf(top.numerator) / top.denominator - low
            assert -(mpmath.mpf(10) ** -50) <= above <= mpmath.mpf(10) ** -25, (share, radius, above)


def test_the_wrong_direction_of_the_divergence_is_another_ball():
    """KL(p, c) <= r allows less on values that were hardly seen: a bound for it is false for KL(c, p) <= r."""
    centre, radius, v = np.array([0.9, 0.1, 0.0]), 0.1, np.array([0.0, 0.0, 1.0])

    def dual(t):
        return t * math.log(centre @ np.exp(v / t)) + t * radius

    wrong = minimize_scalar(dual, bounds=(0.01, 9), method="bounded").fun
    right = float(Ball(Discrete([0, 1, 2], centre), radius, "kl").top([0, 0, 1]))
    assert right == pytest.approx(1 - math.exp(-radius), abs=1e-12)
    assert wrong < 0.5 * right


def test_a_box_without_total_mass_would_be_wider():
    box = Box([0, 1, 2], [0.2, 0.2, 0.2], [0.6, 0.6, 0.6])
    without = 0.6 * 3 + 0.6 * 2 + 0.6 * 1
    assert box.top([3, 2, 1]) == pytest.approx(0.6 * 3 + 0.2 * 2 + 0.2, abs=1e-15) != pytest.approx(without)


def test_the_maximum_over_a_band_is_not_that_of_summed_differences():
    """v_k - sum (L dv_+ - U (-dv)_+) treats neighbouring limits apart; the band's own maximum is smaller."""
    band = Band([0, 1, 2, 3], [0.1, 0.1, 0.1, 1], [0.9, 0.9, 0.9, 1])
    v, loose = [0, 1, 0, 0], Fraction(0)
    for i in range(3):
        step = v[i + 1] - v[i]
        loose -= Fraction(float(band.lower[i] if step > 0 else band.upper[i])) * step
    assert loose == pytest.approx(0.8, abs=1e-12) and band.top(v) == pytest.approx(0.8, abs=1e-12)
    v = [1, 0, 1, 0]
    loose = Fraction(v[-1]) - sum(
        Fraction(float(band.lower[i] if v[i + 1] > v[i] else band.upper[i])) * (v[i + 1] - v[i]) for i in range(3)
    )
    assert band.top(v) == pytest.approx(0.9, abs=1e-12) and loose == pytest.approx(1.7, abs=1e-12)


def test_limits_of_both_kinds_together_are_tighter_than_either():
    rng, tighter = np.random.default_rng(5), 0
    for _ in range(40):
        both, _ = drawn("both", rng, 6)
        v = exact(rng.standard_normal(6))
        least = min(part.top(v) for part in both.sets)
        assert both.top(v) <= least and both.exact
        tighter += both.top(v) < least
    assert tighter >= 5


def test_an_intersection_with_balls_takes_the_least_and_says_so():
    values = [0, 1, 2]
    box, ball = Box(values, [0.2, 0.2, 0.2], [0.6, 0.6, 0.6]), Ball(Discrete(values, [2, 1, 1]), 0.25)
    both = Intersection([box, ball])
    assert not both.exact and both.top([0, 0, 1]) == min(box.top([0, 0, 1]), ball.top([0, 0, 1])) == Fraction(1, 2)
    assert both.centre() == ball.centre() and both.contains([Fraction(1, 2), Fraction(1, 4), Fraction(1, 4)])
    assert both.tops(np.array([[0.0, 0.0, 1.0]]))[0] == 0.5
    assert Intersection([both, box]).sets == (box, ball, box), "nested intersections are one"


def test_boxes_and_bands_of_one_kind_meet_in_one():
    first, second = Box(range(3), [0.2, 0, 0.1], [0.5, 0.7, 0.9]), Box(range(3), [0, 0.3, 0], [0.4, 0.8, 0.6])
    one = Box(range(3), [0.2, 0.3, 0.1], [0.4, 0.7, 0.6])
    low, high = Band(range(3), [0.2, 0.4, 1], [1, 1, 1]), Band(range(3), [0, 0, 1], [0.6, 0.7, 1])
    band = Band(range(3), [0.2, 0.4, 1], [0.6, 0.7, 1])
    for v in itertools.product([-1, 0, 2], repeat=3):
        assert Intersection([first, second]).top(v) == one.top(v)
        assert Intersection([low, high]).top(v) == band.top(v) == Intersection([band]).top(v)
        assert Intersection([first, low, second, high]).top(v) == Intersection([one, band]).top(v)


def test_a_mass_too_small_for_doubles_still_counts():
    """A centre with mass 1e-400 at the maximum: doubles see none there, the proof does."""
    centre = Discrete([0, 1, 2], [10**400, 10**400, 1])
    ball = Ball(centre, 0.5, "kl")
    assert float(ball.top([0, 0, 1])) == pytest.approx(1 - math.exp(-0.5), abs=1e-12)


@search("values joined in sets of laws", each=KINDS, quick=15)
def test_joined_values_keep_the_maximum_of_every_function_of_them(kind, rng):
    """The image is exact: for a function of the joined values both sets have the same maximum."""
    found, _ = drawn(kind, rng)
    places = np.concatenate([[0], np.cumsum(rng.integers(0, 2, found.size - 1))]) if found.size > 1 else np.array([0])
    new = np.arange(places[-1] + 1) * 2.0
    v = vector(rng, len(new))
    joined = found.at(places, new)
    apart, together = found.top(exact(v[places])), joined.top(exact(v))
    assert together >= apart - Fraction(1, 10**25)
    if kind != "both":  # for an intersection the image of each part, which may be more
        assert float(together - apart) <= 1e-15 * max(1.0, float(np.abs(v).max()))
    assert np.array_equal(joined.values, new)


@search("sets of laws written and read back", each=KINDS, quick=10)
def test_a_set_is_read_back_as_it_was(kind, rng):
    found, law = drawn(kind, rng)
    again = law_set_from(found.to_json())
    assert again == found and hash(again) == hash(found) and again is not found
    assert pickle.loads(pickle.dumps(found)) == found
    if isinstance(found, Box | Band):
        assert type(found)(found.values, found.lower, found.upper) == found, "reading twice changes nothing"
    parts, total = found.centre().masses.whole()
    assert found.contains([Fraction(p, total) for p in parts]) and found.contains(exact(law))


def test_what_contains_answers():
    values, quarter = [0, 1, 2], Fraction(1, 4)
    law = [quarter, quarter, 2 * quarter]
    box = Box(values, [0.25, 0, 0], [0.25, 1, 0.5])
    assert box.contains(law) and not box.contains([0, 0, 1]) and not box.contains([quarter, quarter, quarter])
    assert not box.contains([quarter, quarter]) and not box.contains([2 * quarter, -quarter, 3 * quarter])
    band = Band(values, [0.25, 0.5, 1], [0.25, 0.5, 1])
    assert band.contains(law) and not band.contains([quarter, 2 * quarter, quarter])
    ball = Ball(Discrete(values, [1, 1, 2]), Fraction(1, 8))
    assert ball.contains([quarter + Fraction(1, 8), quarter, 3 * Fraction(1, 8)])
    assert not ball.contains([quarter + Fraction(1, 7), quarter, 1 - 2 * quarter - Fraction(1, 7)])
    kl = Ball(Discrete(values, [1, 1, 2]), 0.0, "kl")
    assert kl.contains(law) and not kl.contains([0, 0, 1]) and not kl.contains([quarter, 2 * quarter, quarter])
    hull = Hull([Discrete(values, [1, 1, 2]), Discrete(values, [4, 0, 0]), Discrete(values, [1, 3, 0])])
    mixed = [(a + 2 * b + c) / 4 for a, b, c in zip(law, [1, 0, 0], [quarter, 3 * quarter, 0], strict=True)]
    assert hull.contains(law) and hull.contains(mixed) and not hull.contains([0, 0, 1])
    assert not hull.contains([0, Fraction(1, 2), Fraction(1, 2)])


def test_a_mixture_is_one_exactly_when_a_linear_program_says_so():
    rng = np.random.default_rng(3)
    seen = set()
    for _ in range(60):
        k, count = int(rng.integers(2, 6)), int(rng.integers(1, 5))
        laws = [rng.multinomial(8, np.full(k, 1 / k)) for _ in range(count)]
        mixed = rng.multinomial(4, np.full(count, 1 / count)) @ np.array(laws)
        asked = mixed if rng.random() < 0.5 else rng.multinomial(32, np.full(k, 1 / k))
        hull = Hull([Discrete(range(k), law) for law in laws])
        solved = linprog(np.zeros(count), A_eq=np.array(laws).T / 8, b_eq=asked / 32, bounds=(0, None))
        answer = hull.contains([Fraction(int(a), 32) for a in asked])
        assert answer == (solved.status == 0)
        seen.add(answer)
    assert seen == {True, False}


def test_balls_of_numbers_give_a_bound_for_all_they_hold():
    rng = np.random.default_rng(8)
    for kind in KINDS:
        found, law = drawn(kind, rng, 5)
        v = rng.standard_normal(5)
        wide = found.top_ball([arb(float(x), 0.01) for x in v])
        assert wide >= arb(float(found.top(exact(v)))) - 1e-12 and wide < float(found.top(exact(v))) + 0.011
        low = found.bottom_ball([arb(float(x), 0.01) for x in v])
        assert low <= arb(float(law @ v)) and wide >= arb(float(law @ v))
        assert not found.top_ball([arb("nan"), *map(arb, v[1:].tolist())]) < 1e300, "NaN is no bound"
        tiny = [arb(x).exp() for x in (-900, -700, -800, -950, -1000)]
        assert found.bottom_ball(tiny) > 0 or float(found.bottom([1, 1, 1, 1, 1])) < 1


@pytest.mark.parametrize("radius", [1, 1.5])
def test_a_ball_of_masses_moved_is_a_band(radius):
    """W_inf(p, law) <= r is r-far quantiles: against all laws on a grid, by the definition."""
    law, values = Discrete([0, 2, 5], [1, 2, 1]), [0, 1, 3, 5]
    band = winf_ball(law, radius, values)
    quantiles = [0.0, 2.0, 2.0, 5.0]
    for split in itertools.product(range(5), repeat=4):
        if sum(split) == 4:
            mine = [x for x, c in zip(values, split, strict=True) for _ in range(c)]
            near = all(abs(a - b) <= radius for a, b in zip(mine, quantiles, strict=True))
            assert band.contains([Fraction(c, 4) for c in split]) == near


def test_decimals_are_rounded_outward_and_nothing_else_is():
    box = Box([0, 1], [0.1, 0.25], [0.75, 0.9])
    assert Fraction(float(box.lower[0])) <= Fraction(1, 10) <= Fraction(math.nextafter(float(box.lower[0]), 1))
    assert Fraction(float(box.upper[1])) >= Fraction(9, 10) and box.lower[1] == 0.25 and box.upper[0] == 0.75
    ball = Ball(Discrete([0, 1]), 0.1)
    assert Fraction(1, 10) <= Fraction(ball.radius) and ball.radius - 0.1 < 1e-16
    third = Box([0, 1], [Fraction(1, 3), 0], [1, Fraction(2, 3)])
    assert Fraction(float(third.lower[0])) < Fraction(1, 3) and Fraction(float(third.upper[1])) > Fraction(2, 3)
    law = [0.3, 0.25, 0.2, 0.15, 0.1]
    assert Box(range(5), law, law).contains([Fraction(x) for x in ("0.3", "0.25", "0.2", "0.15", "0.1")])


def test_sets_do_not_change():
    box = Box([0, 1], [0, 0], [1, 1])
    with pytest.raises(FrozenInstanceError):
        box.lower = box.upper
    with pytest.raises(FrozenInstanceError):
        del box.lower
    with pytest.raises(ValueError, match="read-only"):
        box.lower[0] = 0.5


def test_large_sets_take_no_long_time():
    import time

    rng, k = np.random.default_rng(0), 20_000
    sums = np.linspace(0, 1, k + 1)[1:]
    band = Band.exactly(np.arange(k) * 1.0, np.maximum(0, sums - 0.01), np.minimum(1, sums + 0.01))
    box = Box.exactly(np.arange(k) * 1.0, np.zeros(k), np.full(k, 4.0 / k))
    both, v = Intersection([band, box]), rng.standard_normal((2, k))
    start = time.process_time()
    for found in (box, band, both):
        found.tops(v)
        found.top(exact(v[0]))
    assert time.process_time() - start < 6
