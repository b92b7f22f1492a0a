"""Beliefs near the true ones: corrected statements against enumeration, printed ones refuted, products of data sets."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest

from fugu.auditing.theorems import nearby_laws, proposition_a7
from fugu.errors import BadBudget, NotProvable
from fugu.guarantee.composition import independent
from fugu.guarantee.kinds import Approx
from fugu.laws.multinormal import MultivariateNormal, NormalPair
from fugu.loss.normal import prove_normal_delta
from fugu.loss.shifts import gaussian_delta
from fugu_papers.close_beliefs import theorem_5_7, translated_scale


def stick(p, q, e):
    """sup_S p(S) - e^e q(S) for finite laws, from the definition."""
    return float(np.maximum(p - math.exp(e) * q, 0).sum())


def near(rng, p, size):
    q = p * np.exp(rng.normal(size=p.size) * size)
    return q / q.sum()


def worst_ratio(p, q):
    return max(0.0, float(np.log(p / q).max()))


def test_proposition_a_7_as_printed_is_refuted():
    theirs, true = np.array([1.0, 0.0]), np.array([1 - 0.1 * math.exp(0.5), 0.1 * math.exp(0.5)])
    known = np.array([0.9, 0.1])
    assert stick(known, theirs, 0) == pytest.approx(0.1) == pytest.approx(stick(theirs, known, 0))
    found = proposition_a7(0, 0.1, 0.5, 0)
    assert true[1] == pytest.approx(0.16487212707, abs=1e-11)
    assert stick(true, theirs, 0.5) > 0.1, "the printed delta"
    assert found.epsilon == 0.5 and true[1] <= found.delta <= true[1] * (1 + 1e-14)


def test_proposition_a_7_with_full_support_is_attained():
    r = math.exp(-0.5) * 1e-6
    known, theirs = np.array([0.9, 0.1]), np.array([1 - 1e-6, 1e-6])
    true, other = np.array([1 - 0.1 * math.exp(0.5), 0.1 * math.exp(0.5)]), np.array([1 - r, r])
    start = stick(known, theirs, 0)
    c1, c2 = 0.5, 0.5
    real = stick(true, other, c1 + c2)
    assert start == pytest.approx(0.099999) and real == pytest.approx(0.16487047835, abs=1e-10)
    assert real > start and proposition_a7(0, start, c1, c2).delta == pytest.approx(real, rel=1e-9)


def test_random_laws_never_exceed_the_corrected_statements_and_do_exceed_the_printed_one():
    rng = np.random.default_rng(0)
    printed = 0
    for _ in range(3000):
        n = int(rng.integers(2, 5))
        g_i, g_j = rng.dirichlet(np.full(n, 0.5)) + 1e-9, rng.dirichlet(np.full(n, 0.5)) + 1e-9
        g_i, g_j = g_i / g_i.sum(), g_j / g_j.sum()
        f_i, f_j, e = near(rng, g_i, 0.7), near(rng, g_j, 0.7), float(rng.exponential(0.5))
        delta, (l1, l2) = stick(g_i, g_j, e), rng.uniform(0, 0.5, 2).tolist()
        eta1, eta2 = stick(f_i, g_i, l1), stick(g_j, f_j, l2)
        limit = eta1 + math.exp(l1) * (delta + math.exp(e) * eta2)
        assert stick(f_i, f_j, e + l1 + l2) <= limit + 1e-12
        if limit < 0.999:
            got = nearby_laws(e, delta, l1, eta1, l2, eta2)
            assert limit * (1 - 1e-12) <= got.delta <= limit * (1 + 1e-12) and got.epsilon == pytest.approx(e + l1 + l2)
        c1, c2 = worst_ratio(f_i, g_i), worst_ratio(g_j, f_j)
        real = stick(f_i, f_j, e + c1 + c2)
        assert real <= math.exp(c1) * delta + 1e-12
        printed += real > delta + 1e-9
    assert printed > 0


def test_theorem_5_6_needs_every_term():
    """f_i puts 0.1 where g_i has nothing: dropping eta1 claims (e, 0)."""
    g, f = np.array([1.0, 0.0]), np.array([0.9, 0.1])
    assert stick(f, g, 0) == pytest.approx(0.1)
    assert 0.1 <= nearby_laws(0, 0, 0, 0.1, 0, 0).delta < 0.1 + 1e-15
    with pytest.raises(NotProvable):
        nearby_laws(1, 0, 0, 0.5, 0, 0.3)
    with pytest.raises(NotProvable):
        nearby_laws(math.inf, 0, 0, 0, 0, 0)
    with pytest.raises(BadBudget):
        nearby_laws(1, 0, -1, 0, 0, 0)


def test_theorem_5_7_is_the_printed_formula_and_the_triangle_inequality_is_better():
    found = theorem_5_7(1, 1e-3, 0.25, 1e-2)
    assert found.epsilon == 1.5
    assert found.delta == pytest.approx((1 + math.exp(1.25)) * 1e-2 + math.exp(0.25) * 1e-3, rel=1e-13)
    shift, w, total = 2.0, 0.5, 1.0
    best = min(2 * (shift / (total - 2 * x)) ** 2 + 2 * (w / x) ** 2 for x in np.linspace(0.001, 0.499, 999))
    scale = translated_scale(shift, w, total)
    assert scale == 3 and 2 * float(scale) ** 2 < best
    with pytest.raises(NotProvable):
        translated_scale(1, 1, 0)


def test_independent_data_sets_agree_with_a_5_and_normal_laws_add_in_squares():
    rng = np.random.default_rng(4)
    for _ in range(300):
        p, q, r, s = (rng.dirichlet(np.ones(3)) for _ in range(4))
        e1, e2 = rng.exponential(0.3, 2)
        joint = stick(np.outer(p, r).ravel(), np.outer(q, s).ravel(), e1 + e2)
        d1, d2 = stick(p, q, e1), stick(r, s, e2)
        assert joint <= float(independent(Approx(float(e1), d1), Approx(float(e2), d2)).delta) + 1e-12
    assert independent(Approx(0.1, 0.1), Approx(0.2, 0.1)).delta == 0.19
    eye, none = [[1, 0], [0, 1]], ((Fraction(0),) * 2,) * 2
    pair = NormalPair(MultivariateNormal([0.5, 1.2], eye), MultivariateNormal([0, 0], eye), "two data sets")
    together = prove_normal_delta(pair, none, Fraction(1))
    assert together == pytest.approx(gaussian_delta(1, 1.3), rel=1e-13)
    split = independent(Approx(0.25, gaussian_delta(0.25, 0.5)), Approx(0.75, gaussian_delta(0.75, 1.2)))
    assert together < float(split.delta)
    assert together > gaussian_delta(1, 1.2), "the larger of the two is not enough"
