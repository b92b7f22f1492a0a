"""The contour integral of two normal vectors: any path gives a ball that holds the truth; the corner next to 1."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from flint import arb

from fugu.loss import normal
from fugu.loss.normal import Gap, order_delta, renyi_delta, spectrum
from fugu.loss.search.normal import fast_normal_delta
from fugu.numbers import balls

F = Fraction
COV = ([[2, 0.5], [0.5, 1]], [[1.5, 0.2], [0.2, 1.2]])


def gap_of(d, a, b):
    return Gap(tuple(F(str(x)) for x in d), *(tuple(tuple(F(str(x)) for x in row) for row in m) for m in (a, b)))


def test_an_eigenvalue_next_to_1_with_a_tiny_shift_costs_its_total_variation():
    """No short path exists: the block is dropped and paid for. Without the payment the claim would be too small."""
    a, b = [[4.165, 0], [0, 1.00000000043]], [[1, 0], [0, 1]]
    d = [0.0003, 0.00003]
    alone = order_delta(gap_of(d[:1], [[4.165]], [[1]]), F(10))
    found = order_delta(gap_of(d, a, b), F(10))
    true = fast_normal_delta(np.array(d), np.array(a), np.zeros(2), np.array(b), 10.0)
    assert alone < true <= found <= true + 2e-5 < renyi_delta(gap_of(d, a, b), F(10))
    with balls.precision(640):
        left, cost = normal.without_near_one(spectrum(gap_of(d, a, b)))
        assert len(left.scales) == 1 and 1.4e-5 < float(cost.mid()) < 1.6e-5
        assert normal.without_near_one(left) is None


@pytest.mark.parametrize("e", [F(1, 10), F(1), F(2)])
def test_wherever_the_path_goes_the_ball_holds_the_truth(e, monkeypatch):
    """T and R are guesses: with bad ones the ball is wide, and still right; without what lies beyond it is wrong."""
    for gap in (gap_of([1, -0.5], *COV), gap_of([1, -0.5], *COV).reversed, gap_of([-1], [[2]], [[1]])):
        with balls.precision(128):
            found = spectrum(gap)
            kappa, true = normal.slope(found, e), normal.hockey_stick(found, e)
            assert true.rel_accuracy_bits() > 40
            excluded = 0
            for height in (0.3, 2.0, 9.0):
                for across in (None, 0.5, 3.0):
                    signed = across if across is None or kappa < 0 else -across
                    monkeypatch.setattr(normal, "_path", lambda *_, t=height, r=signed: (t, r))
                    assert normal.hockey_stick(found, e).overlaps(true)
                    with monkeypatch.context() as without:
                        without.setattr(normal, "arb", _NoRadius)
                        excluded += not normal.hockey_stick(found, e).overlaps(true)
            monkeypatch.undo()
            assert excluded > 0


class _NoRadius:
    """arb whose radius is dropped: the integral without its remainder."""

    pi = arb.pi

    def __new__(cls, mid=0, rad=None):
        return arb(mid)
