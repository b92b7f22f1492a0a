"""Deltas, Rényi divergences and many releases of independent records, against mechanisms written out in full.

Wrong versions that must be caught: translated epsilons that are added, the hockey stick of the other order, one
order of a divergence only, "TV^2 rho", a budget that rounding refuses.
"""

from __future__ import annotations

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from records_oracle import divergence as true_divergence
from records_oracle import hockey

import fugu
from fugu import Approx, Charge, Ledger, PerEntryDP, Pure, Records, Renyi, RenyiCurve
from fugu.errors import BudgetExceeded, NotComposable, NotProvable
from fugu.loss.cells import Ratios
from fugu.translation.records.bounds import balanced, divergence, renyi, share
from hunting import search

VECTORS = json.loads((Path(__file__).parent / "records_vectors.json").read_text(encoding="utf-8"))
HALF = Records.of_laws({"s": [1, 1], "t": [0, 1]})
TILTED = Records.of_laws({"s": [7, 3], "t": [4, 6]})


def counts(*numbers):
    return np.array(numbers, dtype=np.int64)


def drawn(rng):
    k = int(rng.integers(2, 6))
    p, q = rng.integers(0, 9, (2, k))
    p[rng.integers(k)] += 1
    q[rng.integers(k)] += 1
    return p, q


def kernel(rng, states):
    """What a release may look like: some near each other, some nearly apart, some with outputs that never come."""
    outputs = int(rng.integers(2, 6))
    base = rng.dirichlet(np.full(outputs, 0.7))
    tilt = np.exp(rng.normal(0, rng.choice([0.1, 0.5, 2.0]), (states, outputs)))
    rows = base * tilt * (rng.random((states, outputs)) > rng.choice([0, 0.1]))
    rows[:, 0] += 1e-3
    return rows / rows.sum(axis=1, keepdims=True)


@search("(epsilon, delta) of records against kernels", quick=150)
def test_no_kernel_has_a_larger_delta(rng):
    p, q = drawn(rng)
    rows = kernel(rng, p.size)
    epsilon0 = float(rng.uniform(0, 2))
    delta0 = max(hockey(a, b, epsilon0) for a in rows for b in rows)
    if not 1e-12 < delta0 < 0.99:
        return 0
    belief = Records.of_laws({"s": p, "t": q})
    found = fugu.translate(belief, Approx(epsilon0, delta0))
    assert found.epsilon <= epsilon0 and found.delta <= delta0
    narrow = None
    if share(belief.laws(), 74.0) * delta0 < found.delta / 3:
        narrow = fugu.translate(belief, Approx(epsilon0, delta0), delta=found.delta / 2)
        assert narrow.delta <= found.delta / 2 and narrow.epsilon >= found.epsilon
    for first, second in ((p, q), (q, p)):
        x, y = first / first.sum() @ rows, second / second.sum() @ rows
        assert hockey(x, y, float(found.epsilon)) <= float(found.delta) + 1e-15
        assert narrow is None or hockey(x, y, float(narrow.epsilon)) <= float(narrow.delta) + 1e-15
    return 1


@pytest.mark.parametrize("case", VECTORS["profile"], ids=lambda v: f"{v['p']}{v['q']}{v['eps']}")
def test_delta_is_that_of_the_vectors_and_some_kernel_attains_it(case):
    """The kernel that says "s" openly with probability delta0 on the best set, and "t" openly elsewhere."""
    p, q = counts(*case["p"]), counts(*case["q"])
    belief = Records.of_laws({"s": p, "t": q})
    assert share(belief.laws(), case["eps"]) == pytest.approx(case["E"], rel=1e-14, abs=1e-300)
    if not case["E"]:
        return
    bought = fugu.dp_budget(belief, case["eps"])
    found = fugu.translate(belief, Approx(bought, 1e-6), delta=case["delta_for_delta0_1e_6"] * (1 + 1e-9))
    assert found.epsilon == pytest.approx(case["eps"], rel=1e-9)
    assert found.delta == pytest.approx(case["delta_for_delta0_1e_6"], rel=1e-8)
    a, d, losses = math.exp(bought), 0.01, []
    for first, second in ((p / p.sum(), q / q.sum()), (q / q.sum(), p / p.sum())):
        best = first > math.exp(case["eps"]) * second
        on = np.array([d, (1 - d) * a / (1 + a), (1 - d) / (1 + a), 0])
        rows = np.where(best[:, None], on, on[::-1])
        assert hockey(rows[best][0], on[::-1], bought) == pytest.approx(d) if best.any() else True
        losses.append(hockey(first @ rows, second @ rows, case["eps"]))
    assert max(losses) == pytest.approx(case["E"] * d, rel=1e-9)


def share_of_one_order(p, q, epsilon):
    return hockey(p / p.sum(), q / q.sum(), epsilon)


def test_the_hockey_stick_of_the_other_order_would_be_too_small():
    both = [(counts(*v["p"]), counts(*v["q"]), v["eps"], v["E"]) for v in VECTORS["profile"]]
    assert any(min(share_of_one_order(p, q, e), share_of_one_order(q, p, e)) < E * 0.99 for p, q, e, E in both)


@search("Rényi divergences of records against kernels", quick=150)
def test_no_kernel_has_a_larger_divergence(rng):
    p, q = drawn(rng)
    rows = kernel(rng, p.size)
    alpha = float(rng.choice([1.25, 1.5, 2, 4, 8, 32]))
    rho = max(true_divergence(a, b, alpha) for a in rows for b in rows)
    if not math.isfinite(rho):
        return 0
    laws = Records.of_laws({"s": p, "t": q}).laws()
    found = renyi(laws, Fraction(alpha), rho * (1 + 1e-12))
    for first, second in ((p, q), (q, p)):
        truth = true_divergence(first / first.sum() @ rows, second / second.sum() @ rows, alpha)
        assert truth <= found + 1e-12, (p, q, alpha)
    assert found <= rho * (1 + 1e-11)
    return 1


NOTED = [(2, 0.64, 0.16209675, 0.16977968), (8, 2.56, 0.44993821, 0.53269984)]


@pytest.mark.parametrize(("alpha", "rho", "forth", "back"), NOTED)
def test_the_plan_of_a_binary_law_in_both_orders(alpha, rho, forth, back):
    p, q = counts(7, 3), counts(4, 6)
    assert divergence(p, q, Fraction(alpha), rho) == pytest.approx(forth, abs=6e-9)
    assert divergence(q, p, Fraction(alpha), rho) == pytest.approx(back, abs=6e-9)
    assert fugu.translate(TILTED, Renyi(alpha, rho)).epsilon == pytest.approx(back, abs=6e-9)


def test_a_plan_that_brings_less_than_it_takes_proves_nothing():
    """(7, 3) / 10 against (4, 6) / 10: cut at 1.3, .18 is taken; .6 l - .3 fills up to l, at e^(1/2)."""
    ratios = Ratios(counts(7, 3), counts(4, 6))
    needed = (0.3 + 0.18 * math.exp(0.5)) / 0.6
    for low, enough in ((0.5, False), (0.81, False), (needed * 0.999, False), (needed * 1.001, True), (1.2, True)):
        assert balanced(ratios, low, 1.3, Fraction(2), 1.0) is enough
    assert 0.6 * 0.81 - 0.3 > 0.18, "what comes in costs more than it weighs"


def test_a_plan_is_the_best_of_its_kind():
    """The programme over all plans, solved by brute force on a grid of two states."""
    p, q, alpha, rho = np.array([0.7, 0.3]), np.array([0.4, 0.6]), 4.0, 1.0
    w = math.exp((alpha - 1) * rho / alpha)
    moved, back = np.meshgrid(np.linspace(0, 0.7, 701), np.linspace(0, 0.3, 301))
    first, second = p[0] - moved + w * back, p[1] - back + w * moved
    least = np.log(np.min(q[0] ** -3 * first**4 + q[1] ** -3 * second**4)) / 3
    assert divergence(counts(7, 3), counts(4, 6), Fraction(4), rho) == pytest.approx(least, abs=1e-5)


def test_the_limit_of_small_noise_is_no_bound():
    """TV^2 rho: .3^2 times a binary release of rho = .64 at order 8 is below the truth."""
    e = 1.5
    rows = np.array([[math.exp(e), 1], [1, math.exp(e)]]) / (1 + math.exp(e))
    rho = true_divergence(rows[0], rows[1], 8)
    truth = true_divergence(np.array([0.4, 0.6]) @ rows, np.array([0.7, 0.3]) @ rows, 8)
    assert truth > 0.3**2 * rho * 1.05 and truth <= fugu.translate(TILTED, Renyi(8, rho)).epsilon


def test_renyi_limits():
    laws = TILTED.laws()
    assert renyi(laws, Fraction(2), 0.0) == 0 and renyi(laws, Fraction(2), 1e-9) <= 1e-9
    own = true_divergence(np.array([0.4, 0.6]), np.array([0.7, 0.3]), 2)
    assert renyi(laws, Fraction(2), 1e4) == pytest.approx(own, rel=1e-12)
    assert renyi(laws, Fraction(2), 50.0) == pytest.approx(own, rel=1e-9)
    apart = Records.of_laws({"s": [1, 0], "t": [0, 1]}).laws()
    for rho in (1e-6, 0.3, 5.0, 1e3):
        assert renyi(apart, Fraction(3), rho) == pytest.approx(rho, rel=1e-11) and renyi(apart, Fraction(3), rho) <= rho
    curve = fugu.translate(TILTED, RenyiCurve({2: 0.1, math.inf: 0.4}))
    assert curve(math.inf) == fugu.translate(TILTED, 0.4) and curve(2) <= 0.1
    with pytest.raises(NotProvable):
        fugu.translate(TILTED, RenyiCurve({2: 0.1}, 1e-6))


def test_translated_epsilons_do_not_add():
    """Two answers about one bit, at 1 each: 1.4338 true, 1.2402 by adding what each is worth."""
    a = math.e
    answer = np.array([[a, 1], [1, a]]) / (1 + a)
    twice = np.einsum("xi,xj->xij", answer, answer).reshape(2, 4)
    truth = math.log(np.max((np.array([0.5, 0.5]) @ twice) / (np.array([0, 1]) @ twice)))
    added = 2 * fugu.translate(HALF, 1)
    assert truth == pytest.approx(1.43378083) == fugu.translate(HALF, 2) and added == pytest.approx(1.24022901)
    assert added < truth


def spent(ledger, request, epsilon, delta=0, **more):
    ledger.spend(request, PerEntryDP(lambda data: 0, epsilon, delta), lambda: 1, **more)
    return ledger.spent()


def test_a_ledger_adds_first_and_translates_once(tmp_path):
    ledger = Ledger(tmp_path / "pure.db", Pure(1.43379), data="table", prior=HALF)
    assert spent(ledger, "one", 1) == Pure(fugu.translate(HALF, 1))
    assert spent(ledger, "two", 1) == Pure(fugu.translate(HALF, 2))
    with pytest.raises(BudgetExceeded):
        spent(ledger, "three", 0.001)
    again = Records.of_laws({"s": [1, 1], "t": [0, 1]})
    assert Ledger(tmp_path / "pure.db", Pure(1.43379), data="table", prior=again).spent() == ledger.spent()
    with pytest.raises(fugu.errors.UsageError, match="another prior"):
        Ledger(tmp_path / "pure.db", Pure(1.43379), data="table", prior=TILTED)


@pytest.mark.parametrize("each", [Fraction(1, 10), Fraction(1, 30), Fraction(0.1)], ids=str)
def test_a_request_that_is_the_budget_is_not_refused(tmp_path, each):
    """Singular laws: T is the sum itself, which no rounding may exceed."""
    apart = Records.of_laws({"s": [1, 0], "t": [0, 1]})
    ledger = Ledger(tmp_path / "exact.db", Pure(3 * each), data="x", prior=apart)
    for request in ("a", "b", "c"):
        spent(ledger, request, each)
    assert ledger.spent() == Pure(3 * each)
    with pytest.raises(BudgetExceeded):
        spent(ledger, "d", 1e-9)


def test_deltas_are_a_filter_inside_the_cap_that_the_budget_fixes(tmp_path):
    """Nobody says `planned`: sums stay within (dp_budget, delta / HS), whatever they were chosen by."""
    budget = Approx(1, 1e-6)
    ledger = Ledger(tmp_path / "approx.db", budget, data="table", prior=HALF)
    cap = fugu.dp_budget(HALF, 1), 1e-6 / share(HALF.laws(), 1)
    assert cap[1] == pytest.approx(2e-6)
    for request in ("a", "b"):
        assert spent(ledger, request, cap[0] / 2 * (1 - 1e-9), cap[1] / 2 * (1 - 1e-9)).epsilon <= 1
    for more in ((1e-3, 0), (1e-12, 1e-8)):
        with pytest.raises(BudgetExceeded):
            spent(ledger, f"more {more}", *more)
    chain = fugu.MarkovChain([[0.6, 0.4], [0.2, 0.8]], 5)
    tied = Ledger(tmp_path / "tied.db", Approx(9, 0.1), data="t", prior=chain)
    spent(tied, "a", 0.1, 1e-9)
    with pytest.raises(NotComposable):
        spent(tied, "b", 0.1, 1e-9)


def test_renyi_divergences_under_records_must_be_planned(tmp_path):
    ledger = Ledger(tmp_path / "renyi.db", Renyi(2, 0.5), data="table", prior=HALF)
    ledger.spend("a", Charge.per_entry(Renyi(2, 0.2)), lambda: 1, planned=True)
    with pytest.raises(NotComposable, match="planned"):
        ledger.spend("b", Charge.per_entry(Renyi(2, 0.2)), lambda: 1)
    ledger.spend("c", Charge.per_entry(Renyi(2, 0.2)), lambda: 1, planned=True)
    assert ledger.spent() == fugu.translate(HALF, RenyiCurve({2: Fraction(2, 5)}))
