"""Masses stay exact: none is dropped, and nearly the same law is another law."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fugu import Discrete, Laplace, LawPair, epsilon
from fugu.errors import BadLaw


@pytest.mark.parametrize("tiny", [1e-300, 5e-324, 1e-17, 2.0**-60])
def test_a_tiny_float_mass_keeps_its_exact_share(tiny):
    parts, total = Discrete([0, 1], [1.0, tiny]).masses.whole()
    assert Fraction(parts[1], total) == Fraction(tiny) / (1 + Fraction(tiny))


@pytest.mark.parametrize("where", [0, 63, 64, 150])
def test_laws_that_differ_by_one_count_in_a_trillion_are_two_laws(where):
    counts = np.full(200, 10**12)
    more = counts.copy()
    more[where] += 1
    one, other = Discrete(range(200), counts), Discrete(range(200), more)
    assert one != other
    truth = 1e-12 * (1 - 1 / 200)  # ln of (1 + 1e-12) / (1 + 1e-12 / 200)
    assert truth * 0.99 <= epsilon(Laplace(0), LawPair(one, other)) <= truth + 1e-14
    assert Discrete(range(200), 7 * counts) == one


def test_fractions_that_nearly_sum_to_one_are_refused():
    with pytest.raises(BadLaw, match="exactly 1"):
        Discrete([0, 1], [Fraction(1, 3), Fraction(2, 3) - Fraction(1, 10**12)])
