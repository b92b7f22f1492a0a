"""Independent data sets: the largest guarantee for pairs about one of them, sums when all may change."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from fugu import Approx, Pure, Renyi, RenyiCurve
from fugu.errors import NotProvable, UsageError
from fugu.guarantee import independent
from fugu_papers.compose import parallel

sys.path.insert(0, str(Path(__file__).parent))
from conversion_oracle import hockey_stick, mp, random_pair, renyi


def product(*laws):
    cells = [mp.one]
    for law in laws:
        cells = [x * y for x in cells for y in law]
    return cells


def loss(p, q, epsilon):
    return max(hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon))


def test_the_largest_guarantee_of_each_kind():
    assert parallel(Pure(0.5), Pure(1), Pure(0.1)) == Pure(1)
    assert parallel(Approx(0.5, 1e-3), Approx(1, 1e-6), Pure(2)) == Approx(2, 1e-3)
    assert parallel(Renyi(2, 0.5), Renyi(2, 0.7, 1e-6)) == Renyi(2, 0.7, 1e-6)
    both = parallel(RenyiCurve({2: 0.1, 8: 0.5}), RenyiCurve({2: 0.2, 8: 0.3}))
    assert both.epsilons == {2: 0.2, 8: 0.5}
    assert parallel(RenyiCurve({2: 0.1, 8: 0.5}), RenyiCurve({4: 1})).epsilons == {2: 1, 4: 1}


def test_mixed_kinds_are_translated_soundly_or_refused():
    assert parallel(Pure(1), Renyi(2, 0.1)).epsilon == pytest.approx(0.6191, abs=0.3)
    assert Pure(1) <= parallel(Pure(1), Renyi(2, 0.1)) and Renyi(2, 0.1) <= parallel(Pure(1), Renyi(2, 0.1))
    assert parallel(Renyi(2, 0.1), Renyi(4, 0.2)) == Renyi(2, 0.2)
    assert parallel(Renyi(math.inf, 1), Pure(2)) == Pure(2)
    with pytest.raises(NotProvable, match="to_approx"):
        parallel(Approx(1, 1e-6), Renyi(2, 0.1))
    with pytest.raises(UsageError):
        parallel(Pure(1), 2.0)
    with pytest.raises(UsageError):
        parallel()


def test_a_pair_across_two_blocks_is_refused_and_for_a_reason():
    blocks = {"north": Pure(1), "south": Pure(1)}
    assert parallel(blocks, pairs=[("north", "north"), ("south", "south")]) == Pure(1)
    with pytest.raises(NotProvable, match="'north' and 'south'"):
        parallel(blocks, pairs=[("north", "north"), ("north", "south")])
    with pytest.raises(UsageError, match="no block 'east'"):
        parallel(blocks, pairs=[("east", "east")])
    # the counterexample: the secret "north is 0" against "south is 1". Each block is randomised response at epsilon 1;
    # without its secret a block of this belief is almost surely the other value, so both published laws change.
    keep = mp.e / (1 + mp.e)
    zero, one, rare = [keep, 1 - keep], [1 - keep, keep], mp.mpf("0.001")
    mostly_one = [rare * x + (1 - rare) * y for x, y in zip(zero, one, strict=True)]
    mostly_zero = [(1 - rare) * x + rare * y for x, y in zip(zero, one, strict=True)]
    given_north_zero, given_south_one = product(zero, mostly_zero), product(mostly_one, one)
    assert loss(given_north_zero, given_south_one, 1) > 0.3  # the largest guarantee, Pure(1), would be false
    assert loss(given_north_zero, given_south_one, independent(Pure(1), Pure(1)).epsilon) == 0


def test_proposition_e1_by_enumeration():
    """Pairs about one block: the product with unchanged blocks has exactly the losses of that block."""
    rng = np.random.default_rng(3)
    for _ in range(60):
        (p1, q1), (p2, q2) = random_pair(rng), random_pair(rng)
        epsilon = round(float(rng.uniform(0, 2)), 3)
        own = [loss(p1, q1, epsilon), loss(p2, q2, epsilon)]
        deltas = [math.nextafter(float(x), 1) for x in own]
        if max(deltas) >= 1:
            continue
        claimed = parallel(Approx(epsilon, deltas[0]), Approx(epsilon, deltas[1]))
        for other in (p2, q2):
            assert loss(product(p1, other), product(q1, other), epsilon) <= claimed.delta
        for other in (p1, q1):
            assert loss(product(other, p2), product(other, q2), epsilon) <= claimed.delta
        assert claimed.delta <= max(own) * (1 + mp.mpf("1e-9")) + mp.mpf("1e-300")  # no smaller delta would do
        d2 = [max(renyi(p, q, 2), renyi(q, p, 2)) for p, q in ((p1, q1), (p2, q2))]
        together = parallel(*[Renyi(2, math.nextafter(float(d), math.inf)) for d in d2])
        assert renyi(product(p1, p2), product(q1, p2), 2) <= together.epsilon
        assert renyi(product(p1, p2), product(p1, q2), 2) <= together.epsilon


def test_when_all_change_the_epsilons_add_exactly():
    assert independent(*[Pure(0.1)] * 10).epsilon == 1
    assert independent(Approx(0.1, 0.1), Approx(0.2, 0.1)) == Approx(0.3, Fraction(19, 100))
    assert independent(Renyi(2, 0.1), Renyi(2, 0.2, 1e-6)) == Renyi(2, 0.3, 1e-6)
    assert independent(RenyiCurve({2: 0.1, 8: 0.5}), RenyiCurve({2: 0.2, 8: 0.3})).epsilons == {2: 0.3, 8: 0.8}
    assert independent(Pure(math.inf), Pure(1)) == Pure(math.inf)


def test_independent_pairs_never_leak_more_and_the_maximum_would_be_false():
    rng = np.random.default_rng(4)
    broken = 0
    for _ in range(100):
        (p1, q1), (p2, q2) = random_pair(rng), random_pair(rng)
        e1, e2 = (round(float(x), 3) for x in rng.uniform(0, 1.5, 2))
        deltas = [math.nextafter(float(loss(p, q, e)), 2) for p, q, e in ((p1, q1, e1), (p2, q2, e2))]
        if max(deltas) >= 1:
            continue
        claimed = independent(Approx(e1, deltas[0]), Approx(e2, deltas[1]))
        p, q = product(p1, p2), product(q1, q2)
        assert loss(p, q, e1 + e2) <= mp.mpf(float(claimed.delta)) * (1 + mp.mpf("1e-15"))
        broken += loss(p, q, max(e1, e2)) > max(deltas)
        d = [math.nextafter(float(renyi(a, b, 2)), math.inf) for a, b in ((p1, q1), (p2, q2))]
        total = independent(Renyi(2, d[0]), Renyi(2, d[1])).epsilon
        assert abs(renyi(p, q, 2) - mp.mpf(float(total))) <= 1e-12 * max(1, float(total))
    assert broken >= 5


def test_orders_that_are_equal_as_keys_and_differ_in_meaning_are_told_apart():
    """The float 1.1 means 11/10; Fraction(1.1), the binary number, is equal to it in Python and is a larger order."""
    binary = Fraction(1.1)
    assert binary == 1.1 and binary > Fraction(11, 10)
    for pair in ((1.1, binary), (binary, 1.1), (1.1, Fraction(11, 10)), (Fraction(11, 10), 1.1)):
        found = independent(*[RenyiCurve({a: 1}) for a in pair])
        assert found(Fraction(11, 10)) == 2
        assert found(binary) == math.inf  # the two curves say nothing of it together
        assert independent(*[Renyi(a, 1) for a in pair]) == Renyi(1.1, 2)
    assert independent(RenyiCurve({binary: 1}), RenyiCurve({binary: 1}))(binary) == 2
