"""Pairs that are passed over are proved to change nothing: the same answers as for all pairs one by one.

Wrong versions that must be caught: one order of each pair, a limit that is too generous, an error bound left out.
"""

from __future__ import annotations

import math
import time
from fractions import Fraction

import numpy as np
import pytest
from records_oracle import mp, real, stick

from fugu.loss.cells import hockey_stick, largest, worth
from fugu.priors.records import RecordLaw
from fugu.translation.records import bounds
from fugu.translation.records import bounds as screen
from hunting import search


def laws_of(rng, most=6):
    """Some groups with the same secrets; ties, zeros, singular and equal laws among them."""
    secrets = int(rng.integers(2, most))
    top = int(rng.choice([2, 5, 100, 10**6]))
    found = []
    for group in range(int(rng.integers(1, 4))):
        rows = rng.integers(0, top, (secrets, int(rng.integers(1, 6))))
        rows[:, 0] += rows.sum(axis=1) == 0
        rows[rng.integers(secrets)] = rows[rng.integers(secrets)]
        found.append(RecordLaw(f"group {group}", {f"s{i}": row for i, row in enumerate(rows)}))
    return tuple(found)


@search("screened pairs of records against all pairs", quick=80)
def test_the_worst_pair_is_never_passed_over(rng):
    laws = laws_of(rng)
    every = [(p, q) for law in laws for _, _, p, q in law.pairs()]
    epsilon = [
        float(10 ** rng.uniform(-3, 1)),
        Fraction(int(rng.integers(1, 50)), 7),
        float(10 ** rng.uniform(-18, 2.9)),
    ][rng.integers(3)]
    near = {"rel": 4e-16, "abs": 0}
    assert bounds.pure(laws, epsilon) == pytest.approx(max(worth(p, q, epsilon) for p, q in every), **near)
    assert bounds.share(laws, epsilon) == pytest.approx(max(hockey_stick(p, q, epsilon) for p, q in every), **near)
    bought = bounds.budget(laws, epsilon)
    assert bought == pytest.approx(min(largest(p, q, epsilon) for p, q in every), rel=1e-12)
    assert bounds.pure(laws, bought) <= epsilon


@search("sticks in doubles are from above", quick=100)
def test_what_is_not_suspected_is_below_the_limit(rng):
    (law, *_) = laws_of(rng)
    epsilon = float(10 ** rng.uniform(-6, 2))
    p, q = list(law.given.values())[:2]
    shares = np.array([p / p.sum(), q / q.sum()])
    truth = stick(p, q, epsilon)
    below = float(truth) * (1 - 1e-13)
    assert truth == 0 or screen.suspect(shares, np.array([[True, False], [True, True]]), epsilon, below) == (0, 1)
    assert real(screen.limit(epsilon, 2.5)) <= mp.expm1(real(min(epsilon, 700))) / mp.expm1(real(2.5))


def test_every_pair_is_asked_in_both_orders():
    laws = (RecordLaw("all", {"s": np.array([7, 3]), "t": np.array([4, 6])}),)
    turned = (RecordLaw("all", {"s": np.array([4, 6]), "t": np.array([7, 3])}),)
    for ask in (bounds.pure, bounds.budget, bounds.share):
        assert ask(laws, 0.4) == ask(turned, 0.4)
    assert (
        bounds.pure(laws, 1)
        == worth(np.array([4, 6]), np.array([7, 3]), 1)
        > worth(np.array([7, 3]), np.array([4, 6]), 1)
    )


def test_many_secrets_take_seconds_not_minutes():
    rng = np.random.default_rng(3)
    rows = rng.integers(1, 100, (300, 20))
    laws = (RecordLaw("all", {f"s{i}": row for i, row in enumerate(rows)}),)
    start = time.process_time()
    found = bounds.pure(laws, 1.0)
    took = time.process_time() - start
    some = rng.integers(0, 300, (200, 2))
    assert all(worth(rows[i], rows[j], 1.0) <= found for i, j in some.tolist() if i != j)
    assert took < 8, "89,700 pairs one by one take twenty"
    assert math.isfinite(bounds.budget(laws, 0.5))
