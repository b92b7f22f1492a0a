"""Counterexamples computed again from the definitions, in fractions or 30 digits, without the library's own losses.

Each also says what the corrected statement is, and finds no violation of it with the same means.
"""

from __future__ import annotations

from fractions import Fraction
from itertools import permutations, product
from random import Random

import mpmath as mp
import pytest

from fugu_papers.errata import run

TENTH = Fraction(1, 10)


def ends(p: Fraction, q: Fraction, distance, z) -> list[Fraction]:
    """The mass within z of the extreme couplings of (p, 1 - p) and (q, 1 - q): all others lie between these two."""
    found = []
    for stay in (max(Fraction(0), p + q - 1), min(p, q)):
        plan = ((stay, p - stay), (q - stay, 1 - p - q + stay))
        assert all(mass >= 0 for row in plan for mass in row)
        found.append(sum(plan[i][j] for i, j in product((0, 1), repeat=2) if distance(i, j) <= z))
    return found


def near_lemma(p, q, distance, z, delta, strict):
    """Definition 4.2, and what Lemma C.1 of [P] puts in its place."""
    within = ends(p, q, distance, z)
    least = 1 - max(within)  # the least P(|V| > z)
    return max(within) >= 1 - delta, least < delta if strict else least <= delta


def test_lemma_c_1_is_false_with_below_and_true_with_at_most():
    finding = run("P-lemma-C.1")
    near, printed = near_lemma(Fraction(1), 1 - TENTH, lambda i, j: 5 * abs(i - j), 0, TENTH, strict=True)
    assert (near, printed) == (True, False)
    assert finding.printed.truth == 1 - max(ends(Fraction(1), 1 - TENTH, lambda i, j: 5 * abs(i - j), 0)) == TENTH
    rng, wrong = Random(3), 0
    for _ in range(2000):
        p, q, delta = (Fraction(rng.randint(0, 12), 12) for _ in range(3))
        points, others = (sorted(rng.sample(range(8), 2)) for _ in range(2))

        def distance(i, j, points=points, others=others):
            return abs(points[i] - others[j])

        z = rng.randint(0, 8)
        if not 0 < delta < 1:
            continue
        near, right = near_lemma(p, q, distance, z, delta, strict=False)
        assert near == right  # the corrected lemma, both ways
        near, printed = near_lemma(p, q, distance, z, delta, strict=True)
        assert near or not printed  # of the printed one, the "if" half is true
        wrong += near != printed
    assert wrong > 20


def plan_cost(x, y, b, epsilon, cut):
    """The mean cost of matching x[i] with y[i]; `cut`: the positive part only."""
    excess = [Fraction(abs(s - t)) / b - epsilon for s, t in zip(x, y, strict=True)]
    return sum((max(e, Fraction(0)) if cut else e) ** 2 for e in excess) / len(x)


def test_equation_34_fails_for_normal_laws_in_thirty_digits():
    finding = run("G-equation-34")
    with mp.workdps(30):

        def law(x):
            return mp.npdf(x, 0, mp.mpf(1) / 2)

        turned = mp.quad(lambda x: (abs(2 * x) - 1) ** 2 * law(x), [-8, -0.5, 0, 0.5, 8])
        cut = mp.quad(lambda x: max(abs(2 * x) - 1, 0) ** 2 * law(x), [-8, -0.5, 0.5, 8])
        stays = mp.quad(lambda x: (0 - 1) ** 2 * law(x), [-8, 0, 8])
        assert mp.almosteq(turned, 2 - 2 * mp.sqrt(2 / mp.pi), 1e-20)
    assert finding.printed.truth == pytest.approx(float(turned), abs=1e-10)
    assert finding.printed.bound == pytest.approx(float(stays), abs=1e-10)
    assert finding.corrected.truth == pytest.approx(float(cut), abs=1e-10)
    assert turned < 0.41 < 0.999 < stays


def test_equation_34_holds_with_the_positive_part_for_every_coupling():
    """Couplings of n equal atoms are mixtures of permutations, so the cheapest is one: all are tried, exactly."""
    rng, printed_fails = Random(34), 0
    for _ in range(60):
        x, y = (sorted(rng.sample(range(-20, 20), 5)) for _ in range(2))
        b, epsilon = Fraction(rng.randint(1, 9)), Fraction(rng.randint(1, 8), 2)
        for cut in (True, False):
            monotone = plan_cost(x, y, b, epsilon, cut)
            best = min(plan_cost(x, z, b, epsilon, cut) for z in permutations(y))
            if cut:
                assert monotone == best
            else:
                printed_fails += monotone > best
    assert printed_fails > 20


def field_ratio(cut):
    """log P(x_1 = 1, x_2 in [.9, 1]) / P(x_1 = 1, x_2 in [-1, -.9]) by the joint density; `cut`: x_3 in the box."""
    covariance = mp.matrix(3, 3)
    for i, j in product(range(3), repeat=2):
        covariance[i, j] = mp.exp(-mp.mpf((i - j) ** 2) / 5)
    precision = covariance**-1

    def density(y, z):
        x = (mp.mpf(1), y, z)
        return mp.exp(-sum(x[i] * precision[i, j] * x[j] for i, j in product(range(3), repeat=2)) / 2)

    last = [-1, 0, 1] if cut else [-9, -3, 0, 3, 9]
    upper, lower = (mp.quad(density, sorted([end, end * mp.mpf("0.9")]), last, maxdegree=4) for end in (1, -1))
    return mp.log(upper / lower)


def test_theorem_9_fails_by_the_joint_density_and_its_formula_is_the_field_without_the_cut():
    finding = run("C-theorem-9")
    with mp.workdps(15):
        assert finding.printed.truth == pytest.approx(float(field_ratio(cut=True)), abs=1e-8)
        assert finding.printed.truth == pytest.approx(8.90133070, abs=1e-8)
        # the wrong version: forget that x_3 is cut, and the printed formula comes out, refuted by nothing
        forgotten = float(field_ratio(cut=False))
    assert finding.printed.bound == pytest.approx(forgotten, abs=1e-6)
    assert finding.printed.bound == pytest.approx(4.706594, abs=1e-6)


def test_theorem_9_fails_even_if_the_mean_is_swept_over_the_whole_box():
    spread = mp.sqrt(1 - mp.exp(mp.mpf(-2) / 5))

    def formula(mean):
        upper, lower = (
            mp.ncdf((a + mp.mpf("0.1") - mean) / spread) - mp.ncdf((a - mean) / spread) for a in (mp.mpf("0.9"), -1)
        )
        return mp.log(upper / lower)

    assert formula(1) == max(formula(mp.mpf(k) / 10) for k in range(-10, 11))
    assert 5.74 < formula(1) < 5.75 < 8.9 < run("C-theorem-9").printed.truth
    assert run("C-theorem-9").printed.bound == pytest.approx(float(formula(mp.exp(mp.mpf(-1) / 5))), abs=1e-9)


def squared_mean(atoms, variance):
    """D_2 of a mixture of normals from the one at 0: log of sum w_i w_j exp(m_i m_j / variance)."""
    return mp.log(sum(v * w * mp.exp(mp.mpf(a * b) / variance) for (a, v), (b, w) in product(atoms, repeat=2)))


HALF = mp.mpf(1) / 2


@pytest.mark.parametrize(
    ("name", "atoms", "variance"),
    [
        ("P-theorem-5.2", [(-2, HALF), (2, HALF)], 2),
        ("trap-common-variable", [(-2, HALF), (2, HALF)], 2),
        ("P-section-6.4-bound", [(0, HALF), (8, HALF)], 3),
        ("P-proposition-F.2", [(2 * (2 * k - 50) + 2, mp.binomial(50, k) / 2**50) for k in range(51)], 101),
        ("trap-mean-of-losses", [(5, HALF), (2, HALF)], 4),
    ],
)
def test_divergences_of_sums_with_gaussian_noise_in_closed_form(name, atoms, variance):
    truth = float(squared_mean(atoms, variance))
    assert run(name).printed.truth == pytest.approx(truth, rel=1e-9)
    assert truth > 1.02 * run(name).printed.bound
    assert truth != pytest.approx(float(squared_mean(atoms, 1.03 * variance)), rel=1e-3)  # noise a little larger


def test_losses_of_laplace_noise_in_closed_form():
    tail = 50 * mp.log((1 + (mp.e - 1) / 25) / (1 + (mp.e - 1) / 50))  # E e^X of the two binomial laws
    assert run("trap-swapped-records").printed.truth == pytest.approx(float(tail), rel=1e-9)
    assert run("D-after-theorem-5.3").printed.truth == pytest.approx(float(mp.sqrt(2)), rel=1e-9)
    assert run("G-after-equation-11").printed.truth == pytest.approx(1.5, rel=1e-9)
    scale = mp.mpf("26.0074")
    quarter = mp.mpf("0.74") * mp.exp(1 / (100 * scale)) + mp.mpf("0.26") * mp.exp(
        100 / scale
    )  # at an output far to the right
    assert run("G-theorem-2").printed.truth == pytest.approx(float(mp.log(quarter)), rel=1e-6)


def test_cauchy_noise_by_quadrature():
    def divergence(shift, scale):
        noise = lambda x: scale / (mp.pi * (scale**2 + x**2))  # noqa: E731
        return mp.log(mp.quad(lambda x: noise(x) ** 2 / noise(x - shift), [-mp.inf, -1, 0, 1, 2, mp.inf]))

    assert run("P-lemma-D.1").printed.truth == pytest.approx(float(divergence(1, mp.mpf(1) / 3)), rel=1e-8)
    assert run("P-corollary-4.1").printed.truth == pytest.approx(float(3 * divergence(2 / mp.sqrt(3), 1)), rel=1e-8)
