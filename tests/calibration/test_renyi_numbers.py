"""The numbers of theory sections 4, 5 and 7 (Pierquin et al. 2024), and what is wrong in print, as computations."""

from __future__ import annotations

import json
import math
from fractions import Fraction as F

import numpy as np
import pytest
from scipy.optimize import linprog

import fugu
from fugu.errors import BadBudget, NotProvable, UnknownName, UsageError
from fugu.laws.masses import Masses
from fugu.loss.cost import log_cost
from fugu.loss.shifts import shift_renyi
from fugu.noise import Gaussian, GeneralizedCauchy, Laplace
from fugu.transport.coupling import monotone
from fugu.transport.matching import closeness_index
from fugu.transport.plan import optimal_plan, partial_plan, plan_log_cost
from release_files import certificate_of
from release_files import command as run

POINTS = np.arange(5)
A, B = np.array([2, 1, 0, 0, 1]), np.array([1, 0, 2, 1, 0])
PAIR = fugu.LawPair(fugu.Discrete(POINTS, A), fugu.Discrete(POINTS, B))
P, Q = Masses(A, F(4)), Masses(B, F(4))
APART = np.abs(POINTS[:, None] - POINTS[None, :]).astype(float)


def costs(noise, alpha):
    return log_cost(noise, alpha, APART.ravel()).reshape(APART.shape)


def least_by_lp(cost, p, q, kept=1.0):
    """min sum c gamma over sub-couplings of that mass, by linear programming."""
    n, m = cost.shape
    rows = [np.kron(np.eye(n)[i], np.ones(m)) for i in range(n)] + [np.kron(np.ones(n), np.eye(m)[j]) for j in range(m)]
    found = linprog(cost.ravel(), A_ub=rows, b_ub=[*p, *q], A_eq=[np.ones(n * m)], b_eq=[kept], bounds=(0, None))
    return found.fun


# --- section 5, the table -------------------------------------------------------------------------------------------
TABLE = [
    (Gaussian(2), 2, 0.452083496923, 1, 0.108770879, 0.090425205),
    (Gaussian(3), 5, 0.784492410407, 1.111111111111, 0.111814885, 0.068300231),
    (Laplace(1), 2, 0.880325870869, 1.595773500588, 0.329167296, 0.493207812),
    (Laplace(2), 3, 0.399529505113, 0.746828141069, 0.127167069, 0.164008885),
    (GeneralizedCauchy(1), 2, 0.559615787935, 1.098612288668, 0.214566767, 0.314757667),
    (GeneralizedCauchy(2), 3, 0.255803284375, 0.528026337125, 0.077879133, 0.090051696),
    (GeneralizedCauchy(1, 4), 2, 1.918759159989, 2.944438979166, 0.708008896, 1.247590006),
]


@pytest.mark.parametrize(("noise", "alpha", "expected", "gwm", "one", "two"), TABLE)
def test_the_table_of_section_five(noise, alpha, expected, gwm, one, two):
    plan = monotone(POINTS, P, Q)
    found = plan_log_cost(plan, log_cost(noise, alpha, plan.distances.astype(float))) / (alpha - 1)
    assert found == pytest.approx(expected, abs=2e-12)
    best = optimal_plan(costs(noise, alpha), P, Q)
    assert plan_log_cost(best, costs(noise, alpha)) / (alpha - 1) == pytest.approx(expected, abs=2e-12)
    lp = least_by_lp(np.exp(costs(noise, alpha)), A / 4, B / 4)
    assert math.log(lp) / (alpha - 1) == pytest.approx(expected, abs=1e-9)
    assert shift_renyi(noise, 2, alpha) == pytest.approx(gwm, abs=2e-12)
    true = fugu.renyi(noise, PAIR, alpha)
    assert true == pytest.approx(max(one, two), abs=1e-9)
    assert true == fugu.renyi(noise, fugu.LawPair(PAIR.q, PAIR.p), alpha)
    assert true < found < shift_renyi(noise, 2, alpha)


def test_distances_of_the_test_laws():
    law_a, law_b = PAIR.p, PAIR.q
    assert fugu.wasserstein(law_a, law_b) == 2
    assert fugu.wasserstein(law_a, law_b, order=1) == 1
    assert fugu.wasserstein(law_a, law_b, order=2) == pytest.approx(1.224744871392, abs=1e-12)
    assert fugu.wasserstein(law_a, law_b, order=4) == pytest.approx(1.456475315122, abs=1e-12)
    for delta, z in ((F(3, 4), 0), (F(1, 4), 1), (F(0), 2), (F(249, 1000), 2), (F(749, 1000), 1)):
        assert closeness_index(POINTS, P, Q, delta) == z


@pytest.mark.parametrize(
    ("scale", "alpha", "delta", "expected"),
    [(2, 2, F(1, 4), 0.173407172970), (2, 2, F(1, 10), 0.367536287448), (3, 5, F(1, 4), 0.214505168215)],
)
def test_partial_transport_of_gaussian_noise(scale, alpha, delta, expected):
    cost = costs(Gaussian(scale), alpha)
    plan = partial_plan(cost, P, Q, delta)
    assert plan.kept >= 1 - delta
    found = (plan_log_cost(plan, cost) - math.log(plan.kept)) / (alpha - 1)
    assert found == pytest.approx(expected, abs=1e-11)
    lp = least_by_lp(np.exp(cost), A / 4, B / 4, float(1 - delta))
    assert math.log(lp / float(1 - delta)) / (alpha - 1) == pytest.approx(expected, abs=1e-9)
    assert found < plan_log_cost(monotone(POINTS, P, Q), cost) / (alpha - 1)


def test_q_one_is_the_best_choice():
    """E[e^{q (a-1) D_{q(a-1)+1}}]^{1/q} grows with q: printed as a free parameter, it never helps."""
    plan, alpha, found = monotone(POINTS, P, Q), 2.0, []
    for q in (1, 1.5, 2, 4):
        order = q * (alpha - 1) + 1
        found.append(plan_log_cost(plan, log_cost(Gaussian(2), order, plan.distances.astype(float))) / q / (alpha - 1))
    assert found == pytest.approx([0.45208, 0.65701, 0.92264, 2.15371], abs=1e-5)
    assert found == sorted(found)
    assert found[2] < shift_renyi(Gaussian(2), 2, 2) < found[3]  # Proposition D.1 fails for q > 1


# --- section 4 --------------------------------------------------------------------------------------------------------
def test_closeness_needs_no_logarithms():
    """Theorem 4.3 at delta = 1/4: the printed 2 a/(a-1) log terms are not needed, both laws being conditioned."""
    z = closeness_index(POINTS, P, Q, F(1, 4))
    tight = shift_renyi(Gaussian(2), z, 2)
    assert tight == 0.25
    assert tight + 2 / 1 * math.log(4 / 3) == pytest.approx(0.8253641449, abs=1e-10)
    mechanism = fugu.calibrate(PAIR, fugu.Renyi(2, 0.25, 0.25), noise="gaussian", method="closeness")
    assert mechanism.noise.scale == pytest.approx(2, abs=1e-8)
    assert fugu.verify(mechanism, PAIR).holds


def test_the_numbers_of_proposition_c_2():
    alpha, epsilon, delta = 2, 1.0, 0.1
    lost = alpha / (alpha - 1) * math.log(1 / (1 - delta))
    assert alpha / (2 * (epsilon - lost)) == pytest.approx(1.266979153983, abs=1e-12)
    assert shift_renyi(Gaussian(1), 1, alpha) == epsilon  # sigma^2 = 1 does
    assert 1 / (epsilon + math.log(1 - delta)) == pytest.approx(1.117768685042, abs=1e-12)
    assert shift_renyi(Laplace(1), 1, math.inf) == epsilon
    assert shift_renyi(Laplace(1), 1, alpha) + lost == pytest.approx(0.829844661314, abs=1e-12)
    assert shift_renyi(Laplace(1), 1, alpha) == pytest.approx(0.619123629999, abs=1e-12)


def test_one_sided_events_fail_in_the_other_order():
    """Theorem 4.3's proof conditions one law only. mu = point 0, nu = 0.9 at 0 and 0.1 at K: given an event of the
    first alone the reverse order grows with K without end; given both events nothing is lost."""
    found = []
    for far in (5, 50, 500):
        pair = fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([0, far], [9, 1]))
        found.append(fugu.renyi(Gaussian(1, grid=1), pair, 2))
        assert fugu.calibrate(pair, fugu.Renyi(2, 0.01, 0.1)).noise.scale == 0
        assert fugu.calibrate(pair, fugu.Renyi(2, 0.01, 0.0999)).noise.scale > 0
    assert found[0] > 10 and found[1] > 100 * found[0] / 10 and found[2] > 50 * found[1]


def test_corollary_4_1_corrected():
    """Cauchy noise of tail 2 and order 3: R(W_4) by the Legendre polynomial P_2(1 + w/2), in place of 1 + w."""
    distance = fugu.wasserstein(PAIR.p, PAIR.q, order=4)
    w = (distance / 2) ** 2
    legendre = lambda x: (3 * x * x - 1) / 2  # noqa: E731
    expected = math.log(legendre(1 + w / 2)) / 2
    assert shift_renyi(GeneralizedCauchy(2), distance, 3) == pytest.approx(expected, rel=1e-12)
    plan = monotone(POINTS, P, Q)
    exact = plan_log_cost(plan, log_cost(GeneralizedCauchy(2), 3, plan.distances.astype(float))) / 2
    assert fugu.renyi(GeneralizedCauchy(2), PAIR, 3) < exact <= expected < shift_renyi(GeneralizedCauchy(2), 2, 3)
    offered = fugu.calibrate(PAIR, fugu.Renyi(3, expected), noise="cauchy", method="cauchy-moments")
    assert offered.noise.scale == pytest.approx(2, rel=1e-8)


# --- section 7 --------------------------------------------------------------------------------------------------------


# --- refusals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("epsilon", "delta", "word"), [(-1, 0, "epsilon"), (math.nan, 0, "epsilon"), (1, -0.1, "delta"), (1, 1, "delta")]
)
def test_figures_outside_their_domain(epsilon, delta, word):
    with pytest.raises(BadBudget, match=word):
        fugu.Renyi(2, epsilon, delta)
    with pytest.raises(BadBudget, match=word):
        fugu.RenyiCurve({2: epsilon}, delta)


@pytest.mark.parametrize(
    ("budget", "options", "error", "words"),
    [
        (fugu.Renyi(2, math.inf), {}, BadBudget, "promises nothing"),
        (fugu.RenyiCurve({2: math.inf}), {}, BadBudget, "promises nothing"),
        (fugu.RenyiCurve({2: 1, math.inf: 3}), {}, NotProvable, "order inf"),
        (fugu.Renyi(2, 1), {"method": "wassertein"}, UnknownName, "did you mean 'wasserstein'"),
        (fugu.Renyi(2, 1), {"method": "relaxed"}, NotProvable, "methods that are: wasserstein, transport, exact"),
        (fugu.Renyi(2, 1), {"noise": "cauchi"}, UnknownName, "did you mean 'cauchy'"),
        (fugu.Renyi(2, 1), {"noise": "laplace", "method": "cauchy-moments"}, NotProvable, "is not for laplace noise"),
        (fugu.Renyi(2.5, 1), {"noise": "cauchy", "method": "cauchy-moments"}, NotProvable, "whole number"),
        (fugu.Renyi(2, 1), {"method": "partial-transport"}, NotProvable, "delta is 0"),
        (fugu.Renyi(2, 1, 0.1), {"noise": "cauchy"}, NotProvable, "without delta"),
        (fugu.Renyi(2, 0), {}, NotProvable, "no finite noise"),
        (fugu.Pure(1), {"noise": "cauchy"}, NotProvable, "Renyi budgets only"),
        (fugu.Renyi(2, 1), {"objective": "median"}, UnknownName, "objective"),
    ],
)
def test_calibrate_refuses(budget, options, error, words):
    with pytest.raises(error, match=words):
        fugu.calibrate(PAIR, budget, **options)


def test_mixing_is_for_one_order_and_planning_is_for_an_error():
    mechanism = fugu.calibrate(PAIR, fugu.Renyi(2, 1))
    assert fugu.mix(0.5, mechanism, fugu.calibrate(PAIR, fugu.Renyi(2, 2))).guarantee == fugu.Renyi(2, 2)
    with pytest.raises(NotProvable, match="same orders"):
        fugu.mix(0.5, mechanism, fugu.calibrate(PAIR, fugu.Renyi(3, 1)))
    with pytest.raises(UsageError, match="target error"):
        fugu.plan(PAIR, fugu.Renyi(2, 1))
    assert isinstance(fugu.plan(PAIR, 1.5), fugu.Pure)


def test_an_analysis_names_the_pair_that_needs_the_noise():
    laws = {name: fugu.Discrete([0, 1, 5], counts) for name, counts in {
        "a": [5, 4, 1], "b": [4, 5, 1], "c": [8, 1, 1], "d": [1, 1, 8]}.items()}  # fmt: skip
    near, far = fugu.LawPair(laws["a"], laws["b"], "near"), fugu.LawPair(laws["c"], laws["d"], "far")
    for pairs in ([near, far], [far, near]):
        found = fugu.calibrate(pairs, fugu.Renyi(2, 0.5), noise="cauchy")
        assert found.certificate.worst_pair == fugu.verify(found).worst_pair == "far"
        assert found.certificate.proved["epsilon"] == pytest.approx(fugu.renyi(found.noise, [far], 2), rel=1e-9)
        assert fugu.renyi(found.noise, [near], 2) < 0.1


def test_an_analysis_is_never_released():
    mechanism = fugu.calibrate(PAIR, fugu.Renyi(2, 1), noise="cauchy")
    for call in (
        lambda: mechanism.release([1.0]),
        lambda: mechanism.release([1.0], allow_no_noise=True),
        lambda: mechanism.simulate([1.0], np.random.default_rng(0)),
        lambda: mechanism.then(abs),
    ):
        with pytest.raises(NotProvable, match="analysis only"):
            call()
    assert math.isinf(mechanism.expected_error())
    verdict = fugu.verify(mechanism, fugu.Shifted(0.3))
    assert not verdict.holds and "do not fit" in verdict.reason


# --- the commands -----------------------------------------------------------------------------------------------------
@pytest.fixture
def table(tmp_path):
    rng = np.random.default_rng(1)
    for name, n in (("ref", 200), ("today", 50)):
        rows = [f"{'ab'[i % 2]},{rng.integers(0, 4) + i % 2}" for i in range(n)]
        (tmp_path / f"{name}.csv").write_text("\n".join(["s,v", *rows]) + "\n")
    return tmp_path


def test_commands_take_an_order(table):
    given = ["--publish", "v", "--protect", "s", "--epsilon", "0.2", "--alpha", "2"]
    code, shown = run("compare", table / "ref.csv", *given, "--json")
    rows = json.loads(shown)["rows"]
    assert code == 0 and {row["noise"] for row in rows} == {"laplace", "gaussian", "cauchy"}
    code, shown = run("compare", table / "ref.csv", *given)
    assert code == 0 and "transport" in shown and "gaussian" in shown and "cauchy-moments" in shown
    code, shown = run("calibrate", table / "ref.csv", *given, "--json", "-o", table / "c.json")
    assert code == 0 and json.loads(shown)["guarantee"] == {"kind": "Renyi", "alpha": 2, "epsilon": 0.2, "delta": 0}
    assert fugu.verify(table / "c.json").holds
    code, shown = run("release", table / "today.csv", *given, "--reference", table / "ref.csv", "-o", table / "o.csv")
    assert code == 0 and (table / "o.csv").is_file()
    assert isinstance(certificate_of(table / "o.csv").budget, fugu.Renyi)


def test_commands_refuse(table):
    given = ["--publish", "v", "--protect", "s", "--epsilon", "0.2"]
    ref = table / "ref.csv"
    for alpha in ("1", "nan", "two"):
        code, message = run("calibrate", ref, *given, "--alpha", alpha)
        assert code == 2 and "alpha" in message
    code, message = run("compare", ref, "--publish", "v", "--protect", "s", "--epsilon", "0", "--alpha", "2")
    assert code == 4 and "no finite noise" in message
    out = table / "o.csv"
    code, message = run(
        "release", table / "today.csv", *given, "--alpha", "2", "--noise", "cauchy", "--reference", ref, "-o", out
    )
    assert code == 4 and message and {f.name for f in table.iterdir()} == {"ref.csv", "today.csv"}
