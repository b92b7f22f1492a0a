"""Every pair of secrets is hidden in a sum, and no record counts for more than its declared bounds."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

from fugu import Approx, Discrete, Pure, answer
from fugu.queries.features import Coded
from fugu.queries.law_price import sum_pairs

THREE = {"a": Discrete([0, 1], [9, 1]), "b": Discrete([0, 1], [5, 5]), "c": Discrete([0, 1], [1, 9])}


@pytest.mark.parametrize("rows", [1, 5])
@pytest.mark.parametrize("budget", [Pure(0.5), Approx(0.5, 1e-3)], ids=str)
def test_all_pairs_of_secrets_are_hidden(rows, budget):
    pairs, _ = sum_pairs(THREE, Discrete([0, 1]), rows, budget)
    assert [pair.label for pair in pairs] == ["a vs b", "a vs c", "b vs c"]


def test_a_record_counts_between_its_bounds_whatever_it_holds():
    hostile = np.array([-np.inf, -1e300, -0.0, 0.4, 0.6, 2.4999, 9, 1e300, np.inf])
    assert Coded("x", Fraction(0), Fraction(1), 3).codes(hostile).tolist() == [0, 0, 0, 0, 1, 2, 3, 3, 3]
    assert Coded("x", Fraction(-2), Fraction(1, 2), 4).codes(hostile).tolist() == [0, 0, 4, 4, 4, 4, 4, 4, 4]


def test_a_released_sum_is_of_clipped_values():
    reference = {"s": ["a", "b"] * 20, "x": [0, 1, 2, 1] * 10}
    private = {"s": ["a", "b"] * 10, "x": [-50, 1, 500, 1] * 5}
    (cell,) = answer(
        private, "sum(x)", "s", Approx(3, 0.4), reference, bounds=(0, 2), step=1, allow_no_noise=True
    ).cells
    assert cell.scale == 0 and cell.value == 20
