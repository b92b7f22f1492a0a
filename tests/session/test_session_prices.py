"""The least noise is the least: what a search in doubles finds, against a linear program over every pair of values.

The oracle enumerates the law of a record given each secret from the reference, takes the charges from the words of the
proof page (a rate times a distance, twice a rate where cells differ), and maximises p.g / q.g over all g that no pair
of values forbids, for every adversary, every pair of secrets and both orders. Wrong versions are rejected: a search
that leaves out one order of a pair, and one that hands out a scale that nobody proved."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import linprog

import fugu
from fugu.errors import BudgetExceeded
from fugu.queries.table_belief import Pricing
from fugu.session import allocation
from fugu.translation.records import pricer
from fugu_verify import prove_again
from hunting import search

BOUNDS = {"bounds": (0, 3), "step": 1}
QUESTIONS = (
    ("mean(v)", BOUNDS), ("sum(v)", BOUNDS), ("histogram(w)", {}), ("median(v)", BOUNDS), ("count(w=a)", {}),
    ("crosstab(v, w)", {}),
)  # fmt: skip


def tables(rng, rows=400):
    """A reference of two or three secrets, some of whose values never occur under one of them; a table of its kind."""
    secrets, rates = int(rng.integers(2, 4)), rng.choice([0.3, 2.0])
    laws = [rng.dirichlet(np.full(8, rates)) * (rng.random(8) < 0.8) for _ in range(secrets)]
    laws = [(law + 1e-12) / (law + 1e-12).sum() for law in laws]

    def drawn(n):
        held = rng.integers(0, secrets, n)
        cells = np.array([rng.choice(8, p=laws[s]) for s in held])
        return {"s": [f"s{k}" for k in held], "v": (cells // 2).tolist(), "w": [f"{'ab'[k % 2]}" for k in cells]}

    return drawn(rows), drawn(60)


def truth(law, questions):
    """The largest loss of these questions under a law over all ordered pairs: by a program over all pairs of values."""
    states = {name: np.asarray(column) for name, column in law.states.items()}
    size = law.size
    lam = np.zeros((size, size))
    for asked in questions:
        for feature, rate in zip(asked.features, asked.rates[""], strict=False):
            values = states[feature.name].astype(float)
            away = np.abs(values[:, None] - values)
            lam += float(rate) * away if asked.facts.summed else 2 * float(rate) * (away > 0)
    most = 0.0
    for s, t in itertools.permutations(law.given, 2):
        p, q = (law.given[secret] / law.given[secret].sum() for secret in (s, t))
        seen = np.flatnonzero(p + q > 0)
        rows = []
        for x, y in itertools.permutations(range(len(seen)), 2):
            row = np.zeros(len(seen))
            row[x], row[y] = 1.0, -math.exp(lam[seen[x], seen[y]])
            rows.append(row)
        if not rows:
            continue
        found = linprog(-p[seen], rows, np.zeros(len(rows)), [q[seen]], [1.0], bounds=(0, None), method="highs-ds")
        most = max(most, math.log(-found.fun)) if found.status == 0 else most
    return most


def stretched(questions, factor):
    """The same questions with more of everything."""
    return [replace(q, rates={g: tuple(r * factor for r in rates) for g, rates in q.rates.items()}) for q in questions]


def case(rng, weights=None):
    """A rehearsal of some questions whose noise only the budget holds back, with the law that prices them."""
    reference, today = tables(rng)
    asked = [QUESTIONS[k] for k in sorted(rng.permutation(len(QUESTIONS))[: rng.integers(1, 4)])]
    budget = float(rng.choice([0.05, 0.3, 1.0]))
    session = fugu.Session(today, reference, "s", fugu.Pure(budget), cap=40, ledger=False)
    rehearsed = session.rehearse([{"query": q, **more} for q, more in asked], weights=weights, allow_no_noise=True)
    return rehearsed, budget, rehearsed.certificate.laws[0]


@search("the largest scale that a program over all pairs allows", quick=30)
def test_the_noise_found_is_the_least_that_the_definition_allows(rng):
    rehearsed, budget, law = case(rng)
    worth = rehearsed.books.worth()
    loss = truth(law, rehearsed.questions)
    assert loss <= float(worth.spent) * (1 + 1e-7) + 1e-7 and worth.spent <= Fraction(str(budget))
    if worth.any_belief < 39:  # the cap does not bind, so the budget does
        assert loss >= budget * (1 - 1e-5) - 1e-7
        assert truth(law, stretched(rehearsed.questions, Fraction(101, 100))) > budget


@pytest.mark.parametrize("seed", range(6))
def test_a_search_that_forgets_one_order_of_a_pair_is_noticed(seed, monkeypatch):
    """Rejects the pruning that drops a worst pair: what is proved at the end asks for more noise."""
    rng, state = np.random.default_rng(seed), np.random.default_rng(seed).bit_generator.state
    _, budget, law = case(rng)
    estimate = Pricing.estimate

    def pruned(self, law, charges, pair, limits, only_known=False):
        about = estimate(self, law, charges, pair, limits, only_known)
        return about if pair == min(itertools.permutations(law.given, 2)) else pricer.PriceEstimate(0, 0, {}, True)

    monkeypatch.setattr(Pricing, "estimate", pruned)
    rng.bit_generator.state = state
    again, _, _ = case(rng)
    assert again.books.worth().spent <= Fraction(str(budget))
    assert truth(law, again.questions) <= budget * (1 + 1e-7)


def test_a_scale_that_nobody_proved_is_not_given_out(monkeypatch):
    """Rejects a warm start that is taken for a result: the proof at the end lowers it, or refuses."""
    monkeypatch.setattr(allocation, "largest_rate", lambda price, target, low, high, *more: high)
    for seed in range(8):
        try:
            rehearsed, budget, law = case(np.random.default_rng(seed))
        except BudgetExceeded:
            continue
        assert rehearsed.books.worth().spent <= Fraction(str(budget))
        assert truth(law, rehearsed.questions) <= budget * (1 + 1e-7)


def test_what_estimates_say_is_what_proofs_prove(monkeypatch):
    """On laws of few and of many states: near estimates are near, and none that says "enough" is below the proof."""
    monkeypatch.setattr(pricer, "EXACT", 8)
    rng = np.random.default_rng(3)
    for _ in range(20):
        size = int(rng.integers(2, 90))
        states = {"v": rng.integers(0, 40, size), "w": rng.integers(0, 3, size)}
        p, q = rng.integers(0, 5, (2, size)) + (rng.random((2, size)) < 0.3)
        if not p.any() or not q.any():
            continue
        work, fresh = pricer.Pricer(states, p, q), pricer.Pricer(states, p, q)
        for k in range(1, 5):
            charges = [pricer.Rate("v", Fraction(k, 100), 40), pricer.Jump(("w",), Fraction(k, 7))]
            near, proved = work.estimate(charges, pricer.NEAR), fresh.price(charges).epsilon
            assert near.high == pytest.approx(proved, rel=1e-9, abs=1e-9) and near.low <= proved + 1e-12
            loose = pricer.Pricer(states, p, q).price(charges, enough=1.5 * proved)
            assert proved * (1 - 1e-9) <= loose.epsilon <= 1.5 * proved + 1e-12
            more = [*charges, pricer.Apart(Fraction(1, 10))]
            known = work.estimate(more, pricer.Nearness(10.0), True)
            assert known.high >= fresh.price(more).epsilon - 1e-9


def test_a_hundred_questions_and_the_same_ones_twice():
    """Zero weights, one value, huge ranges, small groups, many questions, in any order: priced, proved, verified."""
    rng = np.random.default_rng(1)
    n = 300
    ill = rng.integers(0, 2, n)
    reference = {
        "s": ["yn"[k] for k in ill], "v": rng.integers(0, 10**6, n).tolist(), "one": ["same"] * n,
        "g": [f"g{k}" for k in np.minimum(rng.geometric(0.5, n), 5)], "told": ["ab"[k] for k in ill],
    }  # fmt: skip
    today = {name: cells[:100] for name, cells in reference.items()}
    wide = {"bounds": (0, 10**6), "step": 250_000}
    asked = [{"query": f"quantile(v, {k / 40})", **wide} for k in range(1, 40)]
    asked += [{"query": "mean(v) by g", **wide}] * 2 + [{"query": "sum(v)", **wide}]
    asked += [{"query": q} for q in ("histogram(one)", "histogram(told)", "count(told=a) by g", "histogram(g)")] * 15
    for weights in (None, "error"):
        session = fugu.Session(today, reference, "s", fugu.Pure(1), ledger=False)
        rates = []
        for order in (asked, asked[::-1]):
            found = session.rehearse(order, weights=weights)
            assert found.books.worth().spent <= 1 and found.books.worth().any_belief <= 5
            rates.append(sorted((q.query, tuple(q.rates.items())) for q in found.questions))
        assert len(asked) >= 100 and rates[0] == rates[1]
        assert fugu.verify(found.certificate).holds


@pytest.mark.parametrize("line", ["mean(chol), mean(age)", "sum(age), mean(chol) by ward"])
def test_two_numbers_of_one_table_are_priced_in_whatever_order(line):
    """What the first tutorial leads to: another mean of the same table. Both verifiers take the proof, whose plans have
    a few pairs a state; the price of both orders is the same."""
    folder = Path(fugu.__file__).parent / "examples"
    what, _, by = line.partition(" by ")
    turned = ", ".join(reversed(what.split(", "))) + f" by {by}" * bool(by)
    spent = []
    for asked in (line, turned) if not by else (line,):
        session = fugu.Session(folder / "clinic_today.csv", folder / "clinic_reference.csv", "smoker", fugu.Pure(1),
                               unit="patient", ledger=False)  # fmt: skip
        certificate = session.rehearse(asked).certificate
        assert fugu.verify(certificate).holds and prove_again(json.loads(certificate.text)).outcome == "holds"
        plans = [proof["proof"]["plan"] for proof in certificate["proofs"] if proof["proof"]["how"] == "plan"]
        assert plans and all(len(plan) <= 40 * (1 + max(i for i, *_ in plan)) for plan in plans)
        spent.append(certificate)
    one, other = ({asked.query: asked.rates for asked in spent[at].questions} for at in (0, -1))
    assert one == other and float(spent[0].spent) == pytest.approx(float(spent[-1].spent), rel=1e-4)
