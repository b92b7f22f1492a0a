"""Metrics against hand-made numbers, and the ordering of the methods on a small synthetic chain."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu.errors import BadBudget, UsageError
from fugu.queries.sequences import Histogram, States, TopK
from fugu_papers.baselines import (
    accuracy_at,
    count_error,
    group_epsilon,
    group_exponential,
    group_laplace,
    hit_rate,
    majority,
    ndcg,
    split_laplace,
    true_ranking,
)

COUNTS = {"a": 5, "b": 8, "c": 1, "d": 5}


def test_the_metrics_by_hand():
    assert true_ranking(COUNTS, 3) == ("b", "a", "d")  # ties in the order of the mapping
    report = ("b", "d", "c")
    assert [accuracy_at(r, report, COUNTS) for r in (1, 2, 3)] == [1.0, 0.0, 0.0]
    assert hit_rate(report, COUNTS) == pytest.approx(2 / 3)
    assert count_error(report, COUNTS) == 0 + 0 + 4
    ideal = 8 + 5 / math.log2(3) + 5 / 2
    assert ndcg(report, COUNTS) == pytest.approx((8 + 5 / math.log2(3) + 1 / 2) / ideal)
    assert ndcg(true_ranking(COUNTS, 4), COUNTS) == 1
    assert ndcg(("d", "b"), COUNTS) < ndcg(("b", "d"), COUNTS) == 1


@pytest.mark.parametrize(
    "call",
    [
        lambda: hit_rate((), COUNTS),
        lambda: hit_rate(("a", "a"), COUNTS),
        lambda: ndcg(("z",), COUNTS),
        lambda: ndcg(("a",), {"a": 0, "b": 0}),
        lambda: accuracy_at(0, ("a",), COUNTS),
        lambda: accuracy_at(2, ("a",), COUNTS),
        lambda: count_error(("a",), {"a": -1}),
        lambda: true_ranking(COUNTS, 5),
        lambda: group_epsilon(1, 0),
        lambda: group_epsilon(1, True),
    ],
)
def test_wrong_use_is_refused(call):
    with pytest.raises(UsageError):
        call()


def test_baselines_have_the_budgets_they_say():
    states = States(tuple("abcd"))
    assert group_epsilon(0.1, 7) == Fraction(1, 70)
    assert group_exponential(2, states, 1, 10).epsilon == group_laplace(2, states, 1, 10).epsilon == Fraction(1, 10)
    assert group_exponential(2, states, 1, 10).query.way == "exponential"
    split = split_laplace(2, states, 1)
    assert split.epsilon / split.query.sensitivity == Fraction(1, 4)  # scale m / epsilon on every count
    with pytest.raises(BadBudget):
        group_epsilon(0, 3)
    assert majority(2, states, list("ddda")) == ("d", "a")


def test_the_ordering_of_the_methods_on_an_eleven_state_chain():
    """Vector Laplace beats the exponential mechanism, which beats a split budget, which beats group DP (section 10)."""
    m, length, users, k, epsilon_dp = 11, 240, 8, 3, Fraction(4913, 100_000)
    rng = np.random.default_rng(2)
    pull = np.array([0.22, 0.17, 0.13, 0.1, 0.09, 0.08, 0.07, 0.05, 0.04, 0.03, 0.02])
    step = 0.6 * np.eye(m) + 0.4 * pull
    data = []
    for _ in range(users):
        path = [int(rng.choice(m, p=pull))]
        while len(path) < length:
            path.append(int(rng.choice(m, p=step[path[-1]])))
        data.append(path)
    states = States(tuple(range(m)))
    counts = dict(enumerate(Histogram(states).exact(data).tolist()))
    mechanisms = {
        "vector": TopK(k, states, "laplace").mechanism(epsilon_dp),
        "flip": TopK(k, states, "permute-and-flip").mechanism(epsilon_dp),
        "exponential": TopK(k, states, "exponential").mechanism(epsilon_dp),
        "split": split_laplace(k, states, epsilon_dp),
        "group": group_exponential(k, states, 1, length),
    }
    score = {
        name: np.mean([ndcg(mechanism.simulate(data, rng).value, counts) for _ in range(150)])
        for name, mechanism in mechanisms.items()
    }
    error = {
        name: np.mean([count_error(mechanism.simulate(data, rng).value, counts) for _ in range(150)])
        for name, mechanism in mechanisms.items()
    }
    assert score["vector"] > score["flip"] > score["exponential"] - 0.02
    assert score["exponential"] > score["split"] > score["group"]
    assert error["vector"] < error["exponential"] < error["split"] < error["group"]
    assert error["vector"] < error["split"] / 2
