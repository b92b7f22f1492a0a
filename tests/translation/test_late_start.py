"""A start that is forgotten at once: nodes far from it lose what those of the stationary chain lose, not 30 epsilon."""

from __future__ import annotations

import numpy as np
import pytest

import fugu


def attained(kernel, first, length, epsilon):
    """The loss about the middle entry of a release that answers at each entry with e^epsilon for value 0, else 1."""
    answer = np.where(np.arange(len(kernel)) == 0, np.exp(epsilon), 1.0)
    before, law, after = first.copy(), first.copy(), np.ones(len(kernel))
    middle = length // 2
    for _ in range(middle - 1):
        before, law = (before * answer) @ kernel, law @ kernel
    for _ in range(length - middle):
        after = kernel @ (answer * after)
    found = np.log(before / law) + np.log(answer) + np.log(after)
    return float(found.max() - found.min())


@pytest.mark.parametrize("epsilon", [1e-4, 0.01])
def test_many_values_and_a_start_near_the_stationary_law(epsilon):
    k, length = 13, 300
    kernel = 0.99 * np.eye(k) + 0.01 / k
    first = np.full(k, 1 / k)
    first[0], first[-1] = first[0] + 1e-8, first[-1] - 1e-8
    truth = attained(kernel, first, length, epsilon)
    found = fugu.translate(fugu.MarkovChain(kernel, length, first / first.sum()), epsilon)
    assert truth > 100 * epsilon, "the far side must count for more than thirty entries"
    assert truth <= found <= 1.001 * truth
