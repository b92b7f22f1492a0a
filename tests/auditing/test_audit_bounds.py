"""Bounds from counts: the vectors of the theory notes, exact coverage by enumeration, and refusals."""

from __future__ import annotations

import math
from fractions import Fraction
from statistics import NormalDist

import mpmath
import pytest

from fugu.auditing.bounds import (
    Implied,
    accuracy_implies,
    implied_epsilon,
    rate_limit,
)
from fugu.errors import UsageError
from fugu.laws.sets.levels import clopper_pearson

VECTORS = [
    ((90, 100, 10, 100, 0.05, 0.0), 0.82377740226, 0.17622259774, 1.54215239474),
    ((90, 100, 10, 100, 0.05, 0.001), 0.82377740226, 0.17622259774, 1.54093773717),
    ((990, 1000, 5, 1000, 0.05, 0.0), 0.981686756945, 0.0116294705598, 4.43572983085),
    ((990, 1000, 5, 1000, 0.01, 0.001), 0.978723941246, 0.0140851481753, 4.24010644018),
    ((100, 100, 0, 100, 0.05, 0.0), 0.963783307355, 0.0362166926452, 3.28134634910),
    ((99, 1000, 3, 1000, 0.01, 0.001), 0.0761351801841, 0.0109337774204, 1.92743205000),
]


@pytest.mark.parametrize(("counts", "tpr", "fpr", "epsilon"), VECTORS)
def test_the_vectors_of_the_notes(counts, tpr, fpr, epsilon):
    found = implied_epsilon(*counts)
    assert found.tpr_lower == pytest.approx(tpr, abs=1e-9)
    assert found.fpr_upper == pytest.approx(fpr, abs=1e-9)
    assert found.epsilon == pytest.approx(epsilon, abs=1e-9)


def test_the_two_orders_are_told_apart():
    found = implied_epsilon(990, 1000, 5, 1000, 0.05)
    assert found.forward == pytest.approx(4.43572983085, abs=1e-9)
    assert found.reverse == pytest.approx(3.98843319, abs=1e-8)
    other = implied_epsilon(995, 1000, 10, 1000, 0.05)  # the same counts, guesses and laws swapped
    assert other.reverse == pytest.approx(found.forward, abs=1e-12)
    assert other.forward == pytest.approx(found.reverse, abs=1e-12)


def test_counts_that_differ_little_imply_nothing():
    assert implied_epsilon(55, 100, 50, 100, 0.05).epsilon == 0
    assert implied_epsilon(0, 100, 100, 100, 0.05).epsilon == 0
    assert implied_epsilon(55, 100, 50, 100, 0.05).mu == 0


@pytest.mark.parametrize(
    ("counts", "accuracy", "epsilon"),
    [((180, 200, 0.05, 0.0), 0.858010748409, 1.79886526498), ((150, 200, 0.05, 1e-3), 0.694532643351, 0.819955388398)],
)
def test_accuracy_alone_is_one_sided_at_alpha(counts, accuracy, epsilon):
    least = rate_limit(*counts[:3], up=False)
    found = least, accuracy_implies(least, counts[3])
    assert found == pytest.approx((accuracy, epsilon), abs=1e-9)
    assert (
        found[0] > rate_limit(counts[0], counts[1], counts[2] / 2, up=False) + 1e-3
    )  # alpha / 2 would be another number


def test_the_gaussian_form():
    found = implied_epsilon(90, 100, 10, 100, 0.05)
    n = NormalDist()
    assert found.mu == pytest.approx(n.inv_cdf(0.82377740226) - n.inv_cdf(0.17622259774), abs=1e-9)
    assert Implied(0.0, 0.5, 0.0, 0.0).mu == 0 and Implied(0.5, 1.0, 0.0, 0.0).mu == 0


def _tail(n: int, k: int, p: Fraction) -> mpmath.mpf:
    """P(Bin(n, p) >= k), by enumeration with 60 digits."""
    with mpmath.workdps(60):
        x = mpmath.mpf(p.numerator) / p.denominator
        return mpmath.fsum(mpmath.binomial(n, j) * x**j * (1 - x) ** (n - j) for j in range(k, n + 1))


@pytest.mark.parametrize(
    ("k", "n", "alpha"), [(1, 1, 0.05), (7, 10, 0.025), (93, 100, 1e-6), (200, 200, 0.1), (3, 300, 0.01)]
)
def test_a_rate_bound_is_proved_and_nearly_tight(k, n, alpha):
    low, high = rate_limit(k, n, alpha, up=False), rate_limit(n - k, n, alpha, up=True)
    level = mpmath.mpf(str(alpha))
    assert _tail(n, k, Fraction(low)) <= level
    assert _tail(n, k, 1 - Fraction(high)) <= level  # P(Bin(n, high) <= n - k)
    assert _tail(n, k, Fraction(low) * (1 + Fraction(1, 10**9))) > level  # a bound any larger is not covered
    assert _tail(n, k, 1 - Fraction(high) + (1 - Fraction(high)) / 10**9) > level


def test_a_quantile_that_is_wrong_is_moved_until_it_is_proved(monkeypatch):
    import scipy.special

    right = scipy.special.betaincinv
    monkeypatch.setattr(scipy.special, "betaincinv", lambda a, b, y: right(a, b, y) * (1 + 1e-4))
    low = rate_limit(90, 100, 0.025, up=False)
    assert _tail(100, 90, Fraction(low)) <= mpmath.mpf("0.025") and low == pytest.approx(0.82377740226, rel=3e-4)
    monkeypatch.setattr(scipy.special, "betainccinv", lambda a, b, y: 1 - right(b, a, y) * (1 + 1e-4))
    high = rate_limit(10, 100, 0.025, up=True)
    assert _tail(100, 90, 1 - Fraction(high)) <= mpmath.mpf("0.025")


def test_the_interval_covers_with_its_confidence_and_the_plain_normal_one_does_not():
    n, confidence = 40, 0.9
    worst = wald = 1.0
    ends = [clopper_pearson(k, n, Fraction(1, 10)) for k in range(n + 1)]
    z = NormalDist().inv_cdf(0.95)
    for i in range(1, 100):
        p = i / 100
        mass = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
        worst = min(worst, sum(m for m, (a, b) in zip(mass, ends, strict=True) if a <= p <= b))
        half = [z * math.sqrt(k / n * (1 - k / n) / n) for k in range(n + 1)]
        wald = min(wald, sum(m for k, m in enumerate(mass) if abs(k / n - p) <= half[k]))
    assert worst >= confidence > wald


def test_a_tight_mechanism_is_refuted_no_more_often_than_stated():
    """Randomised response at epsilon 1, all outcomes enumerated: P(bound above 1) <= alpha; the plain rates in place
    of their bounds refute far more often."""
    n, alpha, e = 30, 0.2, 1.0
    p = math.exp(e) / (1 + math.exp(e))
    mass = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    low = [rate_limit(k, n, alpha / 2, up=False) for k in range(n + 1)]

    def refuted(bounds):
        total = 0.0
        for k1 in range(n + 1):
            for k0 in range(n + 1):
                tpr, fpr = bounds[k1], 1 - bounds[n - k0]
                if tpr > fpr and max(math.log(tpr / fpr), math.log((1 - fpr) / (1 - tpr))) > e:
                    total += mass[k1] * mass[n - k0]
        return total

    naive = [k / n * 0.999 + 1e-6 for k in range(n + 1)]
    assert refuted(low) <= alpha < refuted(naive)
    assert implied_epsilon(20, n, 5, n, alpha).tpr_lower == low[20]


def test_epsilon_is_rounded_down():
    found = implied_epsilon(90, 100, 10, 100, 0.05)
    with mpmath.workdps(40):
        true = mpmath.log(mpmath.mpf(found.tpr_lower) / mpmath.mpf(found.fpr_upper))
        assert found.forward <= true < found.forward + 1e-14
    assert accuracy_implies(0.5) == 0 and accuracy_implies(1.0) == math.inf


@pytest.mark.parametrize(
    "call",
    [
        lambda: rate_limit(5, 4, 0.05, up=False),
        lambda: rate_limit(-1, 4, 0.05, up=False),
        lambda: rate_limit(0, 0, 0.05, up=True),
        lambda: rate_limit(1.5, 4, 0.05, up=True),
        lambda: rate_limit(True, 4, 0.05, up=True),
        lambda: rate_limit(1, 4, 0, up=False),
        lambda: rate_limit(1, 4, 1.0, up=False),
        lambda: clopper_pearson(1, 4, 1.0),
        lambda: clopper_pearson(1, 4, "0.9"),
        lambda: implied_epsilon(1, 4, 5, 4, 0.05),
        lambda: implied_epsilon(1, 4, 1, 4, 0.05, 1.5),
        lambda: implied_epsilon(1, 4, 1, 4, 2.0),
        lambda: accuracy_implies(0.25, -0.1),
    ],
)
def test_bad_counts_are_refused(call):
    with pytest.raises(UsageError):
        call()
