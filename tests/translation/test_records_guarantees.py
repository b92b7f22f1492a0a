"""Deltas, Rényi divergences and many releases of independent records, against mechanisms written out in full.

Wrong versions that must be caught: translated epsilons that are added, the hockey stick of the other order, one
order of a divergence only, "TV^2 rho", a budget that rounding refuses.
"""

from __future__ import annotations

import json
import math
import time
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from records_oracle import best_loss, hockey, mp, real, stick
from records_oracle import divergence as true_divergence

import fugu
from fugu import Approx, Charge, Ledger, PerEntryDP, Pure, Records, Renyi, RenyiCurve
from fugu.errors import BudgetExceeded, NotComposable, NotProvable
from fugu.loss.cells import Ratios, hockey_stick, largest, worth
from fugu.priors.records import INDEPENDENT, KNOWN_BEFORE, NO_AGGREGATE, OWN_RECORD, REFERENCE, WHOLE_DOMAIN, RecordLaw
from fugu.translation.records import bounds
from fugu.translation.records import bounds as screen
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
    with pytest.raises(fugu.errors.UsageError, match="other beliefs"):
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


def test_the_protected_table_as_its_own_reference_tells_by_the_noise_itself():
    """Known rows (s, a) = (1, 1), (0, 0); the third record has a = 0. The epsilon_0 that .5 buys shows its s."""

    def bought(s):
        rows = [(1, 1), (0, 0), (s, 0)]
        laws = {str(secret): [sum(r == (secret, a) for r in rows) for a in (0, 1)] for secret in (0, 1)}
        return fugu.dp_budget(Records.of_laws(laws), 0.5)

    assert bought(0) == 0.5 and bought(1) == pytest.approx(0.83179, abs=1e-5), "two noises, one for each secret"
    assert REFERENCE in Records.example().assumptions


def test_what_was_known_before_is_conditioned_on_and_what_is_published_is_charged():
    """z = 1 has .3 under t and .3 e^-.4 under s; there A is 0 or 1 under s, 1 under t; elsewhere A is 2. A at 2:
    .5743 for the pooled law of A, 1.0338 with z published beside it, 1.4338 for whoever knew z before."""
    z = 0.201096  # .3 e^-.4, in six digits
    pooled = Records.of_laws({"s": [0.100548, 0.100548, 0.798904], "t": [0, 0.3, 0.7]})
    known = Records.of_laws({"s": [1, 1, 0], "t": [0, 1, 0]})
    assert fugu.translate(pooled, 2) == pytest.approx(0.5743, abs=1e-4)
    a = math.exp(2)
    answer = np.array([a, 1]) / (1 + a)  # "A = 0?", said truly with odds a
    before = math.log((answer[0] / 2 + answer[1] / 2) / answer[1])
    beside = math.log(z * (answer[0] / 2 + answer[1] / 2) / (0.3 * answer[1]))
    assert beside == pytest.approx(1.0338, abs=1e-4) and before == pytest.approx(fugu.translate(known, 2))
    assert fugu.translate(pooled, 2) < beside < before and KNOWN_BEFORE in known.assumptions


@pytest.mark.parametrize("k", [2, 5, 20])
def test_columns_that_grow_with_the_answers_are_not_covered_where_there_is_a_delta(k):
    """a of k values, b_a = 1 under t alone. Publish a and b_a with probability delta: delta / k claimed, delta true."""
    delta0, epsilon = 0.1, 1.0
    path = Records.of_laws(
        {"s": [k - 1, 1, 0], "t": [k - 1, 0, 1]}
    )  # of (a = j, b_j) for one j: the columns of one path
    claimed = share(path.laws(), epsilon) * delta0
    s = np.concatenate([[1 - delta0], np.full(k, delta0 / k), np.zeros(k)])  # nothing; (a, 0); (a, 1)
    t = np.concatenate([[1 - delta0], np.zeros(k), np.full(k, delta0 / k)])
    assert hockey(s, t, epsilon) == pytest.approx(delta0) and claimed == pytest.approx(delta0 / k)
    every = Records.of_laws({"s": [1] * k + [0] * k, "t": [0] * k + [1] * k})  # all columns that some path may read
    assert share(every.laws(), epsilon) * delta0 == delta0


def test_a_law_of_bins_says_nothing_of_what_is_read_by_the_year():
    """Ages 20 or 31 under s, 21 or 30 under t: the bins of ten years have one law, the years tell everything."""
    years = {"s": [20, 31] * 40, "t": [21, 30] * 40}
    columns = {"who": ["s"] * 80 + ["t"] * 80, "age": years["s"] + years["t"]}
    bins = {**columns, "age": [age // 10 for age in columns["age"]]}
    assert fugu.translate(Records(bins, "who", "age"), 0.5) == 0
    assert fugu.translate(Records(columns, "who", "age"), 0.5) == 0.5 and "no finer than the law" in WHOLE_DOMAIN


def test_privacy_on_possible_tables_alone_proves_nothing():
    """Two records that are always equal have no possible neighbours; on the whole domain they cost 2 epsilon_0."""
    s, t = np.array([[1.0, 0], [0, 0]]), np.array([[0, 0], [0, 1.0]])
    assert best_loss(s, t, 0.5) == pytest.approx(1.0, abs=1e-8)
    stated = Records.example().assumptions
    assert {WHOLE_DOMAIN, INDEPENDENT, NO_AGGREGATE, OWN_RECORD} <= set(stated)
