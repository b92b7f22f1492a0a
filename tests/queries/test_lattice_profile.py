"""Lattice Gaussian noise for each entry: exact sums against enumeration, and the queries that are noised with it."""

from __future__ import annotations

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from sequence_oracle import datasets, flat

from fugu.errors import NotProvable
from fugu.guarantee import ZCDP, Approx
from fugu.queries import entry_noise
from fugu.queries.entry_noise import PAIR, Shift, largest_rho, lattice_delta, zcdp_delta
from fugu.queries.sequence_promise import most_rho
from fugu.queries.sequence_query import LatticeMechanism
from fugu.queries.sequences import Count, Histogram, Mean, Numbers, Several, States, Sum, TopK, Transitions

ABC = States(("a", "b", "c"))
CASES = [(Fraction(1, 2), Fraction(1)), (Fraction(1, 8), Fraction(1, 2)), (Fraction(1, 50), Fraction(1, 10))]


def noised(precision, centre, reach):
    """The law of centre + noise on -reach .. reach, each coordinate by itself."""
    k = np.arange(-reach, reach + 1)
    masses = [np.exp(-precision * (k - c) ** 2) for c in centre]
    return [mass / np.exp(-precision * k.astype(float) ** 2).sum() for mass in masses]


def hockey_stick(precision, shift, epsilon, reach=200):
    """sum (P - e^eps Q)_+ of two noised vectors, from the definition."""
    one, two = noised(precision, [0] * len(shift), reach), noised(precision, shift, reach)
    p, q = one[0], two[0]
    for a, b in zip(one[1:], two[1:], strict=True):
        p, q = np.multiply.outer(p, a), np.multiply.outer(q, b)
    return float(np.maximum(p - math.exp(epsilon) * q, 0).sum())


@pytest.mark.parametrize(("rho", "epsilon"), CASES)
def test_sums_are_the_hockey_stick(rho, epsilon):
    for n in (1, 2, 3):
        truth = hockey_stick(float(rho) / n**2, [n], float(epsilon))
        assert truth * (1 - 1e-9) <= lattice_delta(Shift.line(n), rho, epsilon) <= truth * (1 + 1e-9)
    truth = hockey_stick(float(rho) / 2, [1, -1], float(epsilon))
    assert truth * (1 - 1e-9) <= lattice_delta(PAIR, rho, epsilon) <= truth * (1 + 1e-9)


def test_a_lattice_is_not_continuous_noise():
    """Where the continuous curve would be stated, the lattice is above it: sigma 1, shift 1, epsilon 1."""
    phi = lambda x: math.erfc(-x / math.sqrt(2)) / 2  # noqa: E731
    continuous = phi(0.5 - 1) - math.e * phi(-0.5 - 1)
    assert lattice_delta(Shift.line(1), Fraction(1, 2), Fraction(1)) > 1.1 * continuous


def test_wide_lattices_agree_with_sums_term_by_term(monkeypatch):
    found = [lattice_delta(s, Fraction(1, 4000), Fraction(1, 8)) for s in (PAIR, Shift.line(1), Shift.line(7))]
    entry_noise._theta.cache_clear()
    monkeypatch.setattr(entry_noise, "_WIDE", Fraction(0))
    summed = [lattice_delta(s, Fraction(1, 4000), Fraction(1, 8)) for s in (PAIR, Shift.line(1), Shift.line(7))]
    entry_noise._theta.cache_clear()
    assert all(a == pytest.approx(b, rel=1e-6) and a >= b * (1 - 1e-12) for a, b in zip(found, summed, strict=True))


def test_a_smaller_shift_never_loses_more():
    """The worst of a number that moves by at most n steps is n itself."""
    p = Fraction(1, 40)
    for epsilon in (Fraction(1, 20), Fraction(1, 3), Fraction(1)):
        deltas = [lattice_delta(Shift.line(n), n * n * p, epsilon) for n in range(1, 8)]
        assert deltas == sorted(deltas)


@pytest.mark.parametrize(
    "query",
    [
        Count("a", ABC),
        Histogram(ABC),
        Transitions(ABC),
        Transitions(ABC, 2),
        TopK(2, ABC, "laplace"),
        Sum(Numbers(0, 3), 1),
        Mean(Numbers(0, 3), Fraction(1, 2)),
    ],
)
def test_squared_distances_are_those_of_the_definition(query):
    values = "abc" if isinstance(query.domain, States) else (0, 1, 3, 9)
    shape = (2, 2) if getattr(query, "longest", None) == 2 else (3,)
    counted = Histogram(ABC) if isinstance(query, TopK) else query
    steps = Fraction(1)
    if isinstance(query, Sum | Mean):
        counted, steps = Sum(query.domain, query.step), Fraction(query.step)
    pairs = [(flat(counted.exact(d)), flat(counted.exact(e))) for d, e in datasets(shape, values)]
    largest = max(sum(((x - y) / steps) ** 2 for x, y in zip(d, e, strict=True)) for d, e in pairs)
    assert query.shift.square == largest
    assert lattice_delta(query.shift, Fraction(1, 4), Fraction(1)) <= zcdp_delta(Fraction(1, 4), Fraction(1))


def test_a_histogram_for_a_distance_of_one_is_caught():
    """The wrong version: a histogram noised as if one entry moved it by 1 and not by the root of 2."""
    entry = Approx(Fraction(1, 2), Fraction(1, 1000))
    for query in (Histogram(ABC), Count("a", ABC)):
        rho = most_rho(query, entry)
        assert LatticeMechanism(query, rho, entry).rho == rho
    one = most_rho(Count("a", ABC), entry)  # of precision rho; a histogram with this precision has 2 rho
    truth = hockey_stick(float(one), [1, -1], 0.5)
    assert truth > 1e-3
    with pytest.raises(NotProvable):
        LatticeMechanism(Histogram(ABC), 2 * one, entry)


def test_a_released_histogram_has_the_law_that_is_proved():
    """Every neighbour of every short data set: the hockey stick of the two laws, at the precision that is drawn."""
    entry = Approx(Fraction(7, 10), Fraction(1, 100))
    rho = most_rho(Histogram(ABC), entry)
    drawn = LatticeMechanism(Histogram(ABC), rho, entry).certificate["lattice"]["variance"][0]
    precision = 1 / (2 * float(Fraction(drawn)))
    shifts = {tuple(flat(Histogram(ABC).exact(e)) - flat(Histogram(ABC).exact(d))) for d, e in datasets((2,), "abc")}
    assert len(shifts) == 7
    assert all(hockey_stick(precision, s, 0.7, 25) <= 0.01 * (1 + 1e-9) for s in shifts)


def test_zcdp_is_above_every_joint_law_of_several_questions():
    both = Several.of([Histogram(ABC), Count("a", ABC)], [2, 1])
    for rho, epsilon in product((Fraction(1, 4), Fraction(1, 20)), (Fraction(1, 2), Fraction(1))):
        shift = np.array([1, -1, 1])  # the count moves with the histogram
        p = [float(rho * 2 / 3) / 2, float(rho * 2 / 3) / 2, float(rho / 3)]
        k = np.arange(-40, 41)
        one = [np.exp(-a * k**2) / np.exp(-a * k.astype(float) ** 2).sum() for a in p]
        two = [
            np.exp(-a * (k - s) ** 2) / np.exp(-a * k.astype(float) ** 2).sum() for a, s in zip(p, shift, strict=True)
        ]
        joint = [np.multiply.outer(np.multiply.outer(x[0], x[1]), x[2]) for x in (one, two)]
        truth = float(np.maximum(joint[0] - math.exp(float(epsilon)) * joint[1], 0).sum())
        assert truth <= zcdp_delta(rho, epsilon) <= 1
        with pytest.raises(NotProvable):
            LatticeMechanism(both, rho, Approx(epsilon, Fraction(0.99 * truth)))


def test_largest_rho_is_proved_and_nearly_tight():
    for shift, e, d in product((PAIR, Shift.line(1), Shift.line(50), Shift("ball", 6)), (0.1, 1.0), (1e-3, 1e-7)):
        rho = largest_rho(shift, Fraction(e), Fraction(d))
        assert lattice_delta(shift, rho, Fraction(e)) <= d
        assert lattice_delta(shift, rho * Fraction(11, 10), Fraction(e)) > d


def test_choices_have_no_gaussian_form():
    for method in ("exponential", "permute-and-flip", "gumbel"):
        with pytest.raises(NotProvable):
            LatticeMechanism(TopK(2, ABC, method), Fraction(1, 10), ZCDP(Fraction(1, 10)))
