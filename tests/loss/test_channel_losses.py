"""The loss of a channel against the definition: every set of outputs, in rationals and with many digits."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu import Approx, Ball, Band, Box, Discrete, Hull, LawPair, Pure, Renyi, Shifted
from fugu.errors import BadNoise, NotProvable
from fugu.laws.shapes import shapes
from fugu.loss.channel import any_belief, at_most_exp, exp_below, log_up
from fugu.loss.door import bound, delta_bounds, divergence_bounds, pure_bounds
from fugu.noise.channel import Channel
from hunting import search


def random_channel(rng, n, m, total=64):
    rows = rng.multinomial(total, rng.dirichlet(np.full(m, 0.6)), size=n)
    return Channel(range(m), [[int(x) for x in row] for row in rows])


def random_law(rng, n):
    counts = rng.integers(0, 9, n) * (rng.random(n) < 0.8)
    return Discrete(range(n), [int(x) for x in counts] if counts.any() else [1] * n)


def numbered(*pairs):
    return tuple(item.numbered() for item in shapes(pairs))


def published(law, channel):
    """P(y), from the definition."""
    parts, total = law.masses.whole()
    sums = [
        sum(Fraction(p * row[y], total) for p, row in zip(parts, channel.rows, strict=True))
        for y in range(len(channel.outputs))
    ]
    return [x / channel.total for x in sums]


def exponential(epsilon):
    with localcontext() as context:
        context.prec = 60
        x = Decimal(epsilon.numerator) / Decimal(epsilon.denominator)
        return Fraction(x.exp())


def all_events(p, q):
    """(P(S), Q(S)) of every set of outputs, in both orders."""
    for size in range(1, len(p) + 1):
        for event in itertools.combinations(range(len(p)), size):
            a, b = sum(p[y] for y in event), sum(q[y] for y in event)
            yield a, b
            yield b, a


@search("channels against every set of outputs", quick=150)
def test_losses_are_those_of_the_worst_set_of_outputs(rng):
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    channel = random_channel(rng, n, m)
    first, second = random_law(rng, n), random_law(rng, n)
    item = numbered(LawPair(first, second))[0]
    p, q = published(first, channel), published(second, channel)
    epsilon = Fraction(int(rng.integers(0, 9)), 4)
    e = exponential(epsilon)
    ratios = [math.inf if not b else a / b for a, b in all_events(p, q) if a]
    worst = max(ratios)
    (pure,) = pure_bounds(item, channel, epsilon)
    assert pure.within(epsilon) == (worst <= (e if epsilon else 1))
    if worst == math.inf:
        assert pure.value == math.inf
    elif not pure.met:
        assert math.log(worst) * (1 - 1e-12) <= pure.value <= math.log(worst) * (1 + 1e-12) + 1e-15
    (delta,) = delta_bounds(item, channel, epsilon)
    true = max(a - e * b for a, b in [*all_events(p, q), (Fraction(0), Fraction(0))])
    assert float(true) <= delta.value <= float(true) * (1 + 1e-12) + 1e-18


@search("divergences of channels", quick=60)
def test_divergences_are_sums_over_outputs(rng):
    n, m = int(rng.integers(1, 5)), int(rng.integers(1, 5))
    channel, alpha = random_channel(rng, n, m), Fraction(int(rng.integers(5, 60)), 4)
    first, second = random_law(rng, n), random_law(rng, n)
    p, q = ([float(x) for x in published(law, channel)] for law in (first, second))
    (loss,) = divergence_bounds(numbered(LawPair(first, second))[0], channel, alpha)
    true = 0.0
    for a, b in ((p, q), (q, p)):
        if any(x and not y for x, y in zip(a, b, strict=True)):
            true = math.inf
            break
        terms = sum(
            math.exp(float(alpha) * math.log(x) + (1 - float(alpha)) * math.log(y))
            for x, y in zip(a, b, strict=True)
            if x
        )
        true = max(true, math.log(terms) / (float(alpha) - 1))
    assert loss.value == true or true - 1e-9 <= loss.value <= true + 1e-9


def sharp(made, pair, y):
    """How the door and exact rationals answer when units are moved into column y, one after the other."""
    channel, epsilon = made.noise, made.guarantee.asks().epsilon
    e, answers = exponential(epsilon), []
    giver = max(range(len(channel.outputs)), key=lambda k: -1 if k == y else channel.rows[0][k])
    for units in range(0, 400, 8):
        rows = [list(row) for row in channel.rows]
        rows[0][y] += units
        rows[0][giver] -= units
        changed = Channel(channel.outputs, rows)
        p, q = published(pair.p, changed), published(pair.q, changed)
        true = all(a <= e * b and b <= e * a for a, b in zip(p, q, strict=True))
        door = bound(numbered(pair), changed, made.guarantee.asks()).holds
        answers.append((true, door))
    return answers


def test_one_unit_too_many_breaks_the_pair_and_is_seen():
    """The channel of least error meets epsilon with a slack of few units in 2^48: no tolerance would see them."""
    pair = LawPair(Discrete([0, 1, 3], [3, 1, 2]), Discrete([0, 1, 3], [1, 3, 1]), "a vs b")
    made = fugu.optimal_channel(pair, Pure(0.5))
    answers = [answer for y in range(3) for answer in sharp(made, pair, y)]
    assert all(true == door for true, door in answers)
    assert {True, False} == {true for true, _ in answers}
    loose = 1e-12  # the wrong version: a tolerance would let all of them pass
    p, q = published(pair.p, made.noise), published(pair.q, made.noise)
    assert all(float(a / b) <= math.exp(0.5) * (1 + loose) for a, b in zip(p, q, strict=True) if b)


def test_at_epsilon_zero_only_equal_laws_of_outputs_hold():
    pair = LawPair(Discrete([0, 1], [3, 1]), Discrete([0, 1], [1, 3]))
    constant, coin = Channel([0, 1], [[1, 1], [1, 1]]), Channel([0, 1], [[2**60 + 1, 2**60], [2**60, 2**60 + 1]])
    assert bound(numbered(pair), constant, Pure(0).asks()).holds
    assert not bound(numbered(pair), coin, Pure(0).asks()).holds
    assert bound(numbered(pair), coin, Pure(1e-15).asks()).holds


SETS = {
    "box": (Box([0, 1, 2], [0.2, 0.1, 0.1], [0.6, 0.5, 0.4]), Box([0, 1, 2], [0.1, 0.3, 0.1], [0.3, 0.6, 0.5])),
    "band": (Band([0, 1, 2], [0.2, 0.5, 1], [0.5, 0.8, 1]), Band([0, 1, 2], [0.1, 0.6, 1], [0.4, 0.9, 1])),
    "ball": (Ball(Discrete([0, 1, 2], [3, 2, 1]), 0.1), Ball(Discrete([0, 1, 2], [1, 2, 3]), 0.2)),
    "hull": (
        Hull([Discrete([0, 1, 2], [3, 2, 1]), Discrete([0, 1, 2], [1, 1, 1])]),
        Hull([Discrete([0, 1, 2], [0, 1, 1])]),
    ),
}


def limits(kind, one):
    """The rows of A p <= b, from the definition of the set."""
    eye = np.eye(3)
    if kind == "box":
        return np.vstack([eye, -eye]), np.concatenate([one.upper, -one.lower])
    below = np.tril(np.ones((3, 3)))
    return np.vstack([below, -below]), np.concatenate([one.upper, -one.lower])


def largest(kind, one, column):
    """max over the set of p . column, by another program or by enumeration."""
    from scipy.optimize import linprog

    if kind == "hull":
        return max(float(law.weights @ column) for law in one.laws)
    if kind == "ball":
        centre, radius = one.centre().weights, float(one.radius)
        sides = np.vstack([np.hstack([np.eye(3), -np.eye(3)]), np.hstack([-np.eye(3), -np.eye(3)])])
        last = np.hstack([np.zeros(3), np.ones(3)])
        a, b = np.vstack([sides, last]), np.concatenate([centre, -centre, [2 * radius]])
        found = linprog(np.concatenate([-column, np.zeros(3)]), A_ub=a, b_ub=b, A_eq=[[1, 1, 1, 0, 0, 0]], b_eq=[1])
    else:
        a, b = limits(kind, one)
        found = linprog(-column, A_ub=a, b_ub=b, A_eq=[[1, 1, 1]], b_eq=[1])
    return -float(found.fun)


@search("channels on sets of laws", each=list(SETS), quick=20)
def test_sets_lose_what_their_worst_members_lose(kind, rng):
    first, second = SETS[kind]
    channel = random_channel(rng, 3, 3)
    table = channel.conditional()
    (loss,) = pure_bounds(numbered(LawPair(first, second))[0], channel, Fraction(0))
    true = 1.0
    for one, other in ((first, second), (second, first)):
        for column in table.T:
            most, least = largest(kind, one, column), -largest(kind, other, -column)
            if most > 1e-12:
                true = math.inf if least < 1e-12 else max(true, most / least)
    assert loss.value == true == math.inf or abs(loss.value - math.log(true)) < 1e-8


def test_every_pair_of_members_is_within_what_is_proved_of_the_sets():
    rng = np.random.default_rng(11)
    channel = Channel(range(3), [[5, 2, 1], [2, 4, 2], [1, 2, 5]])
    for first, second in SETS.values():
        item = numbered(LawPair(first, second))[0]
        (pure,), (delta,), (order,) = (
            pure_bounds(item, channel, Fraction(0)),
            delta_bounds(item, channel, Fraction(1, 4)),
            divergence_bounds(item, channel, Fraction(3)),
        )
        tried = 0
        for _ in range(300):
            p, q = (one.extreme(rng.standard_normal(3)) for one in (first, second))
            a, b = (law @ channel.conditional() for law in (p / p.sum(), q / q.sum()))
            assert np.abs(np.log(a / b)).max() <= pure.value + 1e-12
            assert np.maximum(a - math.exp(0.25) * b, 0).sum() <= delta.value + 1e-12
            assert math.log((a**3 * b**-2.0).sum()) / 2 <= order.value + 1e-12
            tried += 1
        assert tried and order.value <= pure.value


def test_both_sides_of_a_pair_choose_their_law_independently():
    """The wrong version: one member for numerator and denominator. A set beside itself would then lose nothing."""
    box = Box([0, 1], [0.2, 0.2], [0.8, 0.8])
    item = numbered(LawPair(box, box, "a vs b"))[0]
    (loss,) = pure_bounds(item, Channel([0, 1], [[1, 0], [0, 1]]), Fraction(0))
    assert loss.value == pytest.approx(math.log(4))


def test_points_are_numbers_of_rows():
    channel = Channel([0, 1], [[3, 1], [1, 3]])
    item = numbered(LawPair(Discrete([0, 1], [1, 1]), Discrete([0, 1], [1, 3])))[0]
    for points in (np.array([0, 2]), np.array([-1, 1]), np.array([0.0, 1.0])):
        with pytest.raises(BadNoise, match="no row"):
            pure_bounds(replace(item, points=points), channel, Fraction(0))
    with pytest.raises(NotProvable, match="translates"):
        pure_bounds(
            shapes([LawPair(Shifted(0), Shifted(1))])[0].on(fugu.noise.lattice.Lattice(Fraction(1))),
            channel,
            Fraction(0),
        )


def test_the_public_losses_take_a_channel_for_laws_with_as_many_values():
    channel = Channel([0, 1], [[3, 1], [1, 3]])
    pair = LawPair(Discrete([5, 9], [1, 0]), Discrete([5, 9], [0, 1]))
    assert fugu.epsilon(channel, pair) == pytest.approx(math.log(3))
    assert fugu.delta(channel, pair, 0) == pytest.approx(0.5)
    assert fugu.renyi(channel, pair, 2) == pytest.approx(math.log(9 / 4 + 1 / 12))
    with pytest.raises(BadNoise, match="3 atoms"):
        fugu.epsilon(channel, LawPair(Discrete([5, 7, 9]), Discrete([5, 7, 9])))


@pytest.mark.parametrize("budget", [Pure(math.log(3)), Approx(0.5, 0.4), Renyi(2, 1)], ids=str)
def test_every_budget_is_decided_at_the_door(budget):
    pair = LawPair(Discrete([0, 1], [1, 0]), Discrete([0, 1], [0, 1]))
    assert bound(numbered(pair), Channel([0, 1], [[3, 2], [2, 3]]), budget.asks()).holds
    assert not bound(numbered(pair), Channel([0, 1], [[9, 1], [1, 9]]), budget.asks()).holds


def test_laws_known_up_to_an_error_have_no_pure_loss_and_pay_for_it_in_delta():
    law = Discrete([0, 1], [1, 3]).iid_sum(40, method="fft")
    channel = Channel([0, 1], [[1, 1]] * len(law.values))
    item = numbered(LawPair(law, Discrete(law.values)))[0]
    assert law.error > 0
    (pure,), (delta,) = pure_bounds(item, channel, Fraction(1)), delta_bounds(item, channel, Fraction(1))
    assert pure.value == math.inf and law.error <= delta.value < 1e-6


def test_exponentials_are_decided():
    assert at_most_exp(Fraction(27182818284590452353602874713, 10**28), Fraction(1))
    assert not at_most_exp(Fraction(27182818284590452353602874714, 10**28), Fraction(1))
    assert not at_most_exp(Fraction(10**40 + 1, 10**40), Fraction(0)) and not at_most_exp(None, Fraction(5))
    for epsilon in (Fraction(1, 10**9), Fraction(1, 2), Fraction(700), Fraction(5000)):
        below = exp_below(epsilon)
        assert at_most_exp(below, epsilon) and not at_most_exp(below * (1 + Fraction(1, 2**170)), epsilon)
    assert log_up(None) == math.inf and log_up(Fraction(1, 2)) == 0.0


def test_whatever_is_believed_the_loss_is_the_largest_ratio_within_a_column():
    assert any_belief(Channel([0, 1], [[2, 0], [1, 1]])) == math.inf
    assert any_belief(Channel([0, 1], [[1, 1], [1, 1]])) == 0.0
    assert any_belief(Channel([0, 1, 2], [[4, 0, 1], [2, 0, 3]])) == pytest.approx(math.log(3))
