"""What was found by going in through the doors of channels and confidence, as a user does."""

from __future__ import annotations

import pytest

import fugu


def laws(values, one, two):
    return fugu.LawPair(fugu.Discrete(values, one), fugu.Discrete(values, two))


@pytest.mark.parametrize(
    ("epsilon", "delta", "values", "one", "two"),
    [
        (12, 1e-6, [0, 1, 2, 3], [1, 1, 0, 1], [1, 0, 1, 1]),
        (10, 1e-9, [-3e6, 25e6], [0, 1], [1, 1]),
        (1, 1e-12, [0, 1, 2, 3, 4], [0, 1, 3, 4, 3], [1, 5, 1, 4, 1]),
        (30, 1e-6, [0, 1, 2, 3], [1, 1, 0, 1], [1, 0, 1, 1]),
    ],
)
def test_a_small_delta_does_not_cost_what_the_repair_has_to_mend(epsilon, delta, values, one, two):
    """Rows made longer until delta covers a solver's rounding were up to 2,000 times above the optimum."""
    made = fugu.optimal_channel(laws(values, one, two), fugu.Approx(epsilon, delta))
    assert made.optimum.theta < 1e-12
    assert made.optimum.value <= made.optimum.lower * (1 + 1e-6) + 1e-13 * max(values)
    assert fugu.verify(made.certificate).holds


def test_a_monotone_channel_of_a_single_value_verifies():
    """Prices without entries lost their shape on the way through JSON, and the certificate failed its own check."""
    made = fugu.optimal_channel(laws([5], [1], [2]), fugu.Pure(1), monotone=True)
    assert fugu.verify(made.certificate).holds
