"""What laws of numbers and of vectors lose without noise, and the sums in balls behind it, against the definitions."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from flint import arb
from mpmath import mp, mpf

from fugu import Discrete, LawPair
from fugu.laws import families
from fugu.loss.atoms import bare_divergences, prove_delta, prove_pure
from fugu.numbers import balls
from hunting import search


def drawn(rng, vectors: bool) -> LawPair:
    """Two laws on few points, with some weights of 0 and some equal."""
    values = [[0, 0], [1, 3], [2, 1], [5, 4]] if vectors else [0, 1, 2, 7]
    full = rng.random() < 0.7
    weights = [[int(w) for w in rng.integers(1 if full else 0, 6, size=4)] for _ in range(2)]
    for row in weights:
        row[0] += not any(row)
    return LawPair(Discrete(values, weights[0]), Discrete(values, weights[1]), "pair")


def masses(law: Discrete) -> list[mpf]:
    parts, total = law.masses.whole()
    return [mpf(p) / total for p in parts]


def truth(pair: LawPair, epsilon: Fraction, alpha: Fraction) -> tuple[float, float, float]:
    """The largest log ratio, delta and divergence of both orders, from the definitions."""
    p, q = masses(pair.p), masses(pair.q)
    ratios, deltas, orders = [], [], []
    e, a = mp.exp(mpf(epsilon.numerator) / epsilon.denominator), mpf(alpha.numerator) / alpha.denominator
    for x, y in ((p, q), (q, p)):
        there = [(s, t) for s, t in zip(x, y, strict=True) if s]
        ratios.append(max(mp.log(s / t) if t else mp.inf for s, t in there))
        deltas.append(sum(max(mpf(0), s - e * t) for s, t in zip(x, y, strict=True)))
        finite = all(t for _, t in there)
        orders.append(mp.log(sum(s**a * t ** (1 - a) for s, t in there)) / (a - 1) if finite else mp.inf)
    return float(max(ratios)), float(max(deltas)), float(max(orders))


@search("losses without noise against 40 digits", quick=60)
def test_losses_without_noise_are_those_of_the_definition(rng):
    pair = drawn(rng, vectors=bool(rng.random() < 0.5))
    epsilon, alpha = Fraction(int(rng.integers(0, 20)), 10), Fraction(int(rng.integers(11, 60)), 10)
    (family,) = families([pair])
    if not family.different:
        return
    with mp.workdps(40):
        wanted = truth(pair, epsilon, alpha)
    found = (
        prove_pure(family, None)[0].value,
        prove_delta(family, None, epsilon)[0].value,
        bare_divergences(family, alpha)[0],
    )
    for mine, true in zip(found, wanted, strict=True):
        assert mine == true or (true * (1 - 1e-15) <= mine <= true * (1 + 1e-14) + 1e-300)


def test_one_order_alone_would_say_less():
    (family,) = families([LawPair(Discrete([0, 1], [1, 9]), Discrete([0, 1], [5, 5]), "pair")])
    ratios = [abs(math.log(0.1 / 0.5)), abs(math.log(0.9 / 0.5))]
    assert prove_pure(family, None)[0].value == pytest.approx(max(ratios)) and max(ratios) > 2 * min(ratios)


def test_a_bound_is_raised_to_every_ratio_and_never_lowered():
    rng = np.random.default_rng(3)
    with balls.precision(64):
        for _ in range(300):
            bound, p, q = (arb(float(x), float(x) * 1e-3) for x in rng.uniform(0.1, 5, size=3))
            found = balls.raised(bound.upper(), p, q)
            assert found >= bound.upper() and found >= (p.lower() / q.upper()).lower()
            assert found == bound.upper() or found >= (p.mid() / q.mid()).lower()
        assert balls.raised(arb(1), arb(0), arb(0)) == 1 and balls.raised(arb(3), arb(0), arb(0, 1)) == 3
        assert not balls.raised(arb(1), arb(1), arb(0)).is_finite()
        assert not balls.raised(arb(1), arb(1), arb(0.5, 1)).is_finite(), "a denominator that may be 0 bounds nothing"


def test_parts_that_may_be_positive_count_and_what_is_no_number_is_not_lost():
    with balls.precision(64):
        row = [arb(0.5), arb(0.25, 1e-6), arb(0.1)]
        other = [arb(0.25), arb(0.25), arb(0.4)]
        found = balls.positive_parts(row, other, arb(1))
        assert 0.25 + 1e-6 <= float(found.upper()) <= 0.25 + 2e-6
        lost = balls.positive_parts([arb(1)], [arb(0)], arb("nan"))
        assert balls.upper(lost) == math.inf
