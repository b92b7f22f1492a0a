"""The relaxed rule: printed and corrected numbers, roots in 60 digits, exact levels of what it calibrates."""

import itertools
import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from fugu.errors import BadBudget, UnknownName
from fugu.laws import Discrete
from fugu.transport.coupling import Coupling, monotone, on_line
from fugu.transport.wasserstein import form_scale, paper_scale, relaxed_scale

FORMS = ("col+", "row+", "col-", "row-")
TABLE1 = ([0, 1], [0.52, 0.48], [0.5, 0.5])


def plan_of(values, p, q):
    line = on_line(Discrete(values, p), Discrete(values, q), 1)
    return monotone(line.points, line.p, line.q), float(line.unit or 1)


def exact_level(values, p, q, scale):
    """max over atoms and orders of the log-ratio of the noised laws (exact for Laplace noise), 40 digits."""
    with mpmath.workdps(40):
        total_p, total_q = sum(p), sum(q)

        def smooth(weights, total, z):
            atoms = zip(weights, values, strict=True)
            return mpmath.fsum(w * mpmath.exp(-abs(mpmath.mpf(z) - x) / scale) for w, x in atoms) / total

        return float(max(abs(mpmath.log(smooth(p, total_p, z) / smooth(q, total_q, z))) for z in values))


def excess(plan, form, scale, epsilon):
    """How far the form is from holding, worst group, relative to the target; at or below 0 means it holds."""
    sign = 1 if form.endswith("+") else -1
    keys = (plan.columns if form.startswith("col") else plan.rows).tolist()
    groups = {}
    for key, m, d in zip(keys, plan.masses.tolist(), plan.distances.tolist(), strict=True):
        groups.setdefault(key, []).append((m, d))
    with mpmath.workdps(60 + int(epsilon)):
        eps = mpmath.mpf(Fraction(epsilon).numerator) / Fraction(epsilon).denominator
        worst = -mpmath.inf
        for cells in groups.values():
            whole = sum(m for m, _ in cells)
            mean = mpmath.fsum(m * mpmath.expm1(sign * mpmath.mpf(d) / scale) for m, d in cells) / whole
            target = mpmath.expm1(eps) if sign > 0 else mpmath.exp(-eps) * min(1, eps)
            worst = max(worst, sign * (mean - mpmath.expm1(sign * eps)) / target)
        return worst


def brackets(plan, form, epsilon):
    """The returned scale holds, and 1e-12 less of it does not."""
    scale = form_scale(plan, epsilon, form)
    if scale == 0:
        return excess(plan, form, mpmath.mpf("1e-300"), epsilon) <= 0 or not np.any(plan.distances)
    high = excess(plan, form, mpmath.mpf(scale), epsilon)
    low = excess(plan, form, mpmath.mpf(scale) * (1 - mpmath.mpf("1e-12")), epsilon)
    return high <= mpmath.mpf("1e-50") < low


def test_the_global_ratio_must_not_be_used():
    plan, _ = plan_of(*TABLE1)
    share = 0.02  # the mass moved, over all columns instead of its own
    wrong = 1 / math.log(1 + math.expm1(0.1) / share)
    assert wrong == pytest.approx(0.545, abs=1e-3)
    assert form_scale(plan, 0.1, "col+") > 1.4 * wrong


def random_plan(rng):
    """A coupling with nothing monotone about it: random cells, masses of very different size."""
    n = int(rng.integers(1, 6))
    cells = [c for c in itertools.product(range(n), range(n)) if rng.random() < 0.6] or [(0, 0)]
    rng.shuffle(cells)
    rows, columns = np.array(cells).T
    masses = rng.integers(1, 10 ** int(rng.integers(1, 9)), len(cells))
    points = np.cumsum(rng.integers(1, 9, n))
    if rng.random() < 0.5:
        points = points * 10.0 ** rng.integers(-6, 6) * rng.random()
    return points, Coupling(rows, columns, masses, int(masses.sum()), np.abs(points[rows] - points[columns]))


def test_every_form_holds_at_its_scale_and_fails_just_below():
    rng = np.random.default_rng(31)
    for _ in range(120):
        _, plan = random_plan(rng)
        epsilon = float(rng.choice([0.01, 0.1, 0.5, 1, 3, 20]))
        for form in FORMS:
            assert brackets(plan, form, Fraction(str(epsilon)).limit_denominator(1000)), (form, epsilon)


def test_calibrated_scale_protects_both_orders_and_is_ordered():
    rng = np.random.default_rng(32)
    for _ in range(100):
        points, plan = random_plan(rng)
        p, q = np.zeros(len(points)), np.zeros(len(points))
        np.add.at(p, plan.rows, plan.masses)
        np.add.at(q, plan.columns, plan.masses)
        epsilon = float(rng.choice([0.05, 0.3, 1, 2]))
        best, paper = relaxed_scale(plan, epsilon), paper_scale(plan, epsilon)
        assert best <= paper * (1 + 1e-12)
        assert paper <= plan.distances.max() / epsilon * (1 + 1e-12)
        held = [float(x) for x in points[(p > 0) | (q > 0)]]
        weights = [[float(m) for m in w[(p > 0) | (q > 0)]] for w in (p, q)]
        for scale in (best, paper, form_scale(plan, epsilon, "row+")):
            if scale > 0:
                assert exact_level(held, *weights, scale) <= epsilon * (1 + 1e-12)
            elif np.all((p > 0) == (q > 0)):
                assert float(np.max(np.abs(np.log(p[p > 0] / q[q > 0])))) <= epsilon * (1 + 1e-12)
            else:
                pytest.fail("no noise although one law has an atom the other lacks")


def one_row(cells):
    """A coupling with a single row of (distance, mass) cells."""
    distances = np.array([d for d, _ in cells])
    total = sum(m for _, m in cells)
    masses = np.array([m for _, m in cells], dtype=np.int64 if total < 2**62 else object)
    return Coupling(np.zeros(len(cells), dtype=np.int64), np.arange(len(cells)), masses, total, distances)


def share(x, digits=15):
    """x as a mass out of 10^digits, rounded down."""
    with mpmath.workdps(50):
        return int(mpmath.floor(x * mpmath.mpf(10) ** digits))


KEPT = share(mpmath.exp(-1))
HARD = {
    "a plateau between far scales": ([(1e-6, 5), (1e6, 5)], Fraction("0.69")),
    "a plateau, target just above": ([(1e-6, 10**15), (1e6, 10**15)], Fraction("0.693147180559946")),
    "share in place just below e^-1": ([(0, KEPT), (3, 10**15 - KEPT)], 1),
    "share in place just above e^-1": ([(0, KEPT + 1), (3, 10**15 - KEPT - 1)], 1),
    "a tiny budget": ([(0, 10**9), (1, 3), (7, 1)], Fraction(1, 10**12)),
    "a large budget": ([(0, 1), (1, 10**12), (7, 10**17)], 50),
    "a huge budget": ([(1, 10**12), (900, 10**17)], 800),
    "masses beyond the doubles": ([(0, 10**400), (5, 1), (2, 10**200)], 1),
    "masses beyond the doubles, all moved": ([(5, 1), (2, 10**400)], 1),
    "a weight that a double rounds up by half": ([(0, 10**330), (5, 26 * 10**5)], Fraction(1, 10**20)),
    "a weight that a double rounds down by half": ([(0, 10**330), (5, 7 * 10**6)], Fraction(2, 10**20)),
    "one distance": ([(7, 3), (7, 4)], Fraction(1, 2)),
    "tiny distances": ([(1e-300, 1), (2e-300, 1)], Fraction(1, 3)),
    "huge distances": ([(1e300, 1), (2e299, 1)], 2),
}


@pytest.mark.parametrize("name", HARD)
@pytest.mark.parametrize("form", ["row+", "row-"])
def test_hard_cases_keep_twelve_digits(name, form):
    cells, epsilon = HARD[name]
    assert brackets(one_row(cells), form, epsilon)


def test_share_in_place_at_the_edge_decides_between_noise_and_none():
    below = one_row(HARD["share in place just below e^-1"][0])
    above = one_row(HARD["share in place just above e^-1"][0])
    assert form_scale(below, 1, "row-") > 0.08
    assert form_scale(above, 1, "row-") == 0
    assert form_scale(above, 1, "row+") > 1


def test_exact_roots_come_out_exactly():
    assert form_scale(one_row([(7, 3), (7, 4)]), 0.5, "row+") == 14
    assert form_scale(one_row([(7, 3), (7, 4)]), 0.5, "row-") == 14
    assert form_scale(one_row([(1, 1)]), 0.3, "row+") >= Fraction(10, 3)


def test_nothing_moved_needs_nothing_and_epsilon_zero_needs_that():
    still, moving = one_row([(0, 3)]), one_row([(0, 3), (1, 1)])
    for form in FORMS:
        assert form_scale(still, 0.1, form) == form_scale(still, 0, form) == 0
        assert form_scale(moving, 0, form) == math.inf
    assert relaxed_scale(still, 0) == 0


def test_wrong_use_is_refused():
    plan = one_row([(0, 3), (1, 1)])
    for epsilon in (-1, math.nan, math.inf, "1", True):
        with pytest.raises(BadBudget, match="epsilon"):
            relaxed_scale(plan, epsilon)
    with pytest.raises(UnknownName, match="did you mean"):
        form_scale(plan, 1, "col")


def test_many_atoms_agree_with_closed_form():
    """A uniform law against its shift by one: every cell moves one step, so every form needs 1 / epsilon."""
    n = 100_000
    plan = Coupling(np.arange(n), np.arange(n) + 1, np.ones(n, dtype=np.int64), n, np.ones(n, dtype=np.int64))
    assert [form_scale(plan, 0.7, form) for form in FORMS] == pytest.approx([1 / 0.7] * 4, rel=1e-12)
    spread = Coupling(np.arange(n), np.zeros(n, dtype=np.int64), np.ones(n, dtype=np.int64), n, np.arange(n))
    scale = form_scale(spread, 1, "col+")

    def mean(t):  # the sum of e^(k/t), k < n, in closed form
        return mpmath.expm1(mpmath.mpf(n) / t) / mpmath.expm1(1 / mpmath.mpf(t)) / n

    with mpmath.workdps(40):
        assert mean(scale) <= mpmath.e < mean(scale * (1 - 1e-12))
