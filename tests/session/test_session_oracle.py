"""No session loses more than it says: whole transcripts of small worlds, enumerated from the definition.

Each test also rejects a stated wrong version: adding translated epsilons, pooled laws for known groups, histograms
charged 1/b, quantiles without their factor 2, variances that charge one of their two sums."""

from __future__ import annotations

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from transcripts import loss

import fugu
from fugu.errors import BadBudget, BudgetExceeded, RequestReused, UsageError
from fugu.queries import statistic as charging
from fugu.queries.records_certificate import RecordsCertificate
from fugu.translation.records.problem import Jump, Rate
from fugu_verify import BadCertificate, prove_again
from hunting import search

SLACK = 1e-9
T2 = 1.4337808304830271  # log((1 + (e^2 - 1) / 2) ) for p = (1/2, 1/2), q = (0, 1)


def world(rng, by=False):
    """A reference of two secrets, a column of few numbers, one of few words, and perhaps groups; a table of 3 rows."""
    rows = []
    for s in "st":
        law = rng.integers(0, 4, (3, 2, 2 if by else 1)) * rng.integers(0, 2, (3, 2, 1))
        law[rng.integers(3), rng.integers(2), :] += 1
        for v, w, g in itertools.product(range(3), range(2), range(law.shape[2])):
            rows += [(s, v, "uv"[w], "gh"[g])] * int(law[v, w, g] * 31)
    table = {"s": [r[0] for r in rows], "v": [r[1] for r in rows], "w": [r[2] for r in rows], "g": [r[3] for r in rows]}
    groups = ["g", "h", "g"] if by else ["g"] * 3
    today = {"s": ["s"] * 3, "v": rng.integers(0, 3, 3).tolist(), "w": rng.choice(["u", "v"], 3).tolist(), "g": groups}
    return table, today


QUESTIONS = (
    ("count(w=u)", {}),
    ("mean(v)", {"bounds": (0, 2), "step": 1}),
    ("histogram(w)", {}),
    ("crosstab(w, v)", {}),
    ("median(v)", {"bounds": (0, 2), "step": 1}),
    ("top(w, 1)", {}),
    ("variance(v)", {"bounds": (0, 2), "step": 1}),
)


def worst(session):
    """The exact loss of everything asked so far: all types, adversaries and ordered pairs, others known, two ways."""
    state, found = session.certificate, 0.0
    for law in state.laws:
        for known in law.known:
            for kind in state.types:
                if kind.plain or any(kind.groups[by] != group for by, group in known.items()):
                    continue
                for s, t in itertools.permutations(law.given, 2):
                    for others in (0, -1):
                        rest = {name: np.repeat(values[others], 2) for name, values in law.states.items()}
                        found = max(found, loss(
                            state.questions, lambda q, kind=kind: kind.groups.get(q.by, ""), law.states,
                            law.given[s].astype(float), law.given[t].astype(float), rest,
                        ))  # fmt: skip
    return found


@search("sessions against all their transcripts", quick=4)
def test_no_transcript_loses_more_than_is_spent(rng):
    by = bool(rng.integers(2))
    reference, today = world(rng, by)
    words = fugu.Schema({"w": {"kind": "category", "values": ["u", "v"]}})
    session = fugu.Session(today, reference, "s", fugu.Pure(2), schema=words)
    said = []
    for _ in range(rng.integers(1, 4)):
        text, options = QUESTIONS[rng.integers(len(QUESTIONS))]
        try:
            session.ask(text + (" by g" if by and rng.integers(2) else ""), float(rng.choice([0.1, 0.4])), **options)
        except fugu.errors.BudgetExceeded:
            return 0
        said.append(float(session.spent().epsilon))
    assert worst(session) <= said[-1] + SLACK
    assert all(a <= b + SLACK for a, b in itertools.pairwise(said))
    own = max(
        sum(float(q.own(kind.groups.get(q.by, ""))) for q in session.certificate.questions)
        for kind in session.certificate.types
    )
    assert said[-1] <= own + SLACK <= float(session.certificate.any_belief) + 2 * SLACK
    return 1


def columns(counts, n=40):
    """A reference with these counts of (s, a, b) and a table that is not it."""
    rows = [key for key, count in counts.items() for _ in range(n * count)]
    reference = {name: [row[k] for row in rows] for k, name in enumerate(("s", "a", "b"))}
    return reference, {"s": ["0", "1"], "a": ["0", "1"], "b": ["1", "1"]}


def xor_session(budget=4):
    """a fair, b = a xor s: each by itself says nothing of s, both together everything."""
    reference, today = columns({(s, a, str(int(s) ^ int(a))): 1 for s, a in itertools.product("01", "01")})
    return fugu.Session(today, reference, "s", fugu.Pure(budget))


def silent(epsilon):
    return fugu.PerEntryDP(lambda _: 0, epsilon)


def test_two_columns_that_tell_the_secret_together_cost_one_epsilon():
    session = xor_session()
    session.spend(silent(1), ["a"])
    assert float(session.spent().epsilon) == pytest.approx(0, abs=1e-9)
    session.spend(silent(1), ["b"])
    spent = float(session.spent().epsilon)
    assert spent == pytest.approx(1, abs=1e-6)  # not 0, as each by itself; not 2, as the sum
    session.spend(silent(Fraction(1, 10)), ["b"])
    assert spent <= float(session.spent().epsilon) <= spent + 0.1 + 1e-6


def test_translated_epsilons_do_not_add():
    reference, today = columns({("0", "0", "0"): 1, ("0", "1", "0"): 1, ("1", "1", "0"): 2})
    session = fugu.Session(today, reference, "s", fugu.Pure(4))
    session.spend(silent(1), ["a"])
    one = float(session.spent().epsilon)
    session.spend(silent(1), ["a"])
    assert float(session.spent().epsilon) == pytest.approx(T2, rel=1e-7)
    assert 2 * one == pytest.approx(1.24022901, abs=1e-7) and 2 * one < T2  # what adding them would claim


def test_the_public_group_counts_although_the_pooled_laws_are_equal():
    """ward = s xor a: count(a) says nothing of s, and everything to those who know the ward."""
    rows = [(s, a, str(int(s) ^ int(a))) for s, a in itertools.product("01", "01")] * 60
    reference = {"s": [r[0] for r in rows], "a": [r[1] for r in rows], "ward": [r[2] for r in rows]}
    today = {"a": ["0", "1", "1"], "ward": ["0", "1", "0"]}
    session = fugu.Session(today, reference, "s", fugu.Pure(1))
    found = session.ask("count(a=1) by ward", 0.3)
    assert float(found.own) == pytest.approx(0.3, abs=1e-6) == float(session.spent().epsilon)
    state = session.certificate
    pooled = next(law for law in state.laws if {} in law.known)
    feature = state.questions[0].features[0].name
    assert loss(state.questions, lambda q: "0", pooled.states, *pooled.given.values(), {feature: np.zeros(0)}) < 1e-12
    assert worst(session) == pytest.approx(0.3, abs=1e-6)  # the pooled law would have said 0


def test_groups_that_were_only_counted_are_known_all_the_same():
    """The sizes of wards are public, so the ward of a record is: count(a) without groups then costs all it may."""
    rows = [(s, a, str(int(s) ^ int(a))) for s, a in itertools.product("01", "01")] * 60
    reference = {"s": [r[0] for r in rows], "a": [r[1] for r in rows], "ward": [r[2] for r in rows]}
    today = {"a": ["0", "1", "1"], "ward": ["0", "1", "0"]}
    session = fugu.Session(today, reference, "s", fugu.Pure(1))
    session.ask("count by ward")
    assert float(session.ask("count(a=1)", 0.3).own) == pytest.approx(0.3, abs=1e-6)
    late = fugu.Session(today, reference, "s", fugu.Pure(1))
    assert float(late.ask("count(a=1)", 0.3).own) > 1 and float(late.spent().epsilon) == 0
    with pytest.raises(fugu.errors.BudgetExceeded, match="public"):
        late.ask("count by ward")


def test_a_column_that_the_reference_lacks_costs_its_epsilon_on_top():
    reference, today = columns({("0", "0", "0"): 1, ("0", "1", "0"): 1, ("1", "1", "0"): 2})
    schema = fugu.Schema({"new": {"kind": "category", "values": ["x", "y"]}})
    session = fugu.Session({**today, "new": ["x", "z"]}, reference, "s", fugu.Pure(2), schema=schema)
    session.spend(silent(1), ["a"])
    before = session.spent()
    found = session.ask("histogram(new)", 0.25)
    assert found.own == Fraction(1, 4) and "lacks column 'new'" in found.note
    assert float(session.spent().epsilon) == pytest.approx(float(before.epsilon) + 0.25, abs=1e-9)


def test_a_thin_group_is_plain_and_so_is_one_that_the_reference_lacks():
    rng = np.random.default_rng(1)
    n = 400
    wards = ["a"] * 350 + ["thin"] * 50
    reference = {"s": rng.choice(["0", "1"], n).tolist(), "x": rng.choice(["u", "v"], n).tolist(), "ward": wards}
    today = {"x": ["u", "v", "u", "v"], "ward": ["a", "a", "thin", "new"]}
    session = fugu.Session(today, reference, "s", fugu.Pure(1))
    session.ask("count(x=u) by ward", 0.2)
    (asked,) = session.certificate.questions
    assert asked.own("thin") == asked.own("new") == Fraction(1, 5) < asked.own("a")
    assert {kind.groups["ward"]: kind.plain for kind in session.certificate.types} == {
        "a": False,
        "thin": True,
        "new": True,
    }


def halved(features, rates):
    return (Jump(tuple(f.name for f in features), rates[0]),)


def first_sum(features, rates):
    return (Rate(features[0].name, rates[0], features[0].top),)


WRONG = (
    ("histogram", halved, "histogram(a)"),
    ("quantile", halved, "median(a)"),
    ("variance", first_sum, "variance(a)"),
)


@pytest.mark.parametrize(("kind", "wrong", "question"), WRONG)
def test_charges_that_are_too_small_are_caught(kind, wrong, question, monkeypatch):
    """A secret that is the column: the exact loss comes near what is charged, and passes what is charged wrongly."""
    other = 1 if kind == "variance" else 2
    rows = [("s", 0)] * 40 + [("t", other)] * 40
    reference = {"s": [r[0] for r in rows], "a": [r[1] for r in rows]}
    today = {"a": [0, other, other, 0]}
    options = {"bounds": (0, 2), "step": 1} if kind != "histogram" else {}

    def asked():
        session = fugu.Session(today, reference, "s", fugu.Pure(2))
        session.ask(question, 0.5, **options)
        state = session.certificate
        law, features = state.laws[0], state.questions[0].features
        name = features[0].name
        states = {f.name: law.states.get(f.name, (law.states[name] - 1) ** 2) for f in features}
        others = [np.array(o) for n in range(4) for o in itertools.combinations_with_replacement((0, 1, 2), n)]
        return max(
            loss(state.questions, lambda q: "", states, law.given[a], law.given[b], {name: o})
            for o in others
            for a, b in (("s", "t"), ("t", "s"))
        ), float(session.spent().epsilon)

    exact, said = asked()
    assert exact <= said + SLACK
    monkeypatch.setattr(charging, "charges_of", lambda _, features, rates, _modelled: wrong(features, rates))
    exact, said = asked()
    assert exact > said * 1.05


def test_the_second_promise_holds_for_beliefs_that_are_not_the_reference():
    rng = np.random.default_rng(3)
    reference, today = world(rng)
    session = fugu.Session(today, reference, "s", fugu.Pure(2))
    session.ask("histogram(w)", 0.4)
    session.ask("mean(v)", 0.4, bounds=(0, 2), step=1)
    state = session.certificate
    states = state.laws[0].states
    k = len(next(iter(states.values())))
    others = {name: np.zeros(1, dtype=int) for name in states}
    for _ in range(50):
        p, q = rng.dirichlet(np.full(k, 0.3)), rng.dirichlet(np.full(k, 0.3))
        assert loss(state.questions, lambda q: "", states, p, q, others) <= float(state.any_belief) + SLACK
    assert math.isfinite(float(state.any_belief))


def rows(count, seed=0):
    """x = a xor b xor s, wrong in one row of ten; c says what x says."""
    draw = random.Random(seed)
    bits = [[draw.randrange(2) for _ in "abs"] for _ in range(count)]
    x = [a ^ b ^ s ^ (draw.random() < 0.1) for a, b, s in bits]
    named = {name: [f"{name}{bit[k]}" for bit in bits] for k, name in enumerate("abs")}
    return {**named, "x": [f"x{v}" for v in x], "c": [f"c{v}" for v in x]}


def known_loss(table, known, own):
    """The loss of a histogram of x with this epsilon for each record, for whoever knows these columns."""
    worst = 0.0
    cells = list(zip(*(table[name] for name in known), strict=True)) if known else [()] * len(table["x"])
    for cell in set(cells):
        law = {s: [0, 0] for s in ("s0", "s1")}
        for s, x, here in zip(table["s"], table["x"], cells, strict=True):
            if here == cell:
                law[s][int(x[1])] += 1
        p, q = (np.array(law[s]) / sum(law[s]) for s in law)
        for one, two in ((p, q), (q, p)):
            for g in itertools.product((1, math.exp(own)), repeat=2):
                worst = max(worst, math.log((one @ g) / (two @ g)))
    return worst


def test_two_of_three_public_columns_may_be_known():
    """The wrong version covers those who know nothing, one column or all: spent falls to 0 where 2.2 is true."""
    table = rows(4000)
    session = fugu.Session(rows(80, 1), table, "s", fugu.Pure(1), public=["a", "b"])
    asked = session.ask("histogram(x)", 0.9)
    before = session.spent().epsilon
    assert known_loss(table, "ab", float(asked.own)) == pytest.approx(float(before), rel=1e-6)
    session.ask("count by c")
    assert session.spent().epsilon >= before
    with pytest.raises(BudgetExceeded):
        session.ask("count(x=x1)", 0.5)
    two, three = (fugu.Records(table, "s", "x", by=list(by)) for by in ("ab", "abc"))
    assert fugu.translate(three, 2) >= fugu.translate(two, 2) >= known_loss(table, "ab", 2) * (1 - 1e-12)
    assert known_loss(table, "abc", 2) < 0.1 < fugu.translate(three, 2)


def test_a_certificate_without_the_law_of_such_a_part_does_not_hold():
    session = fugu.Session(rows(80, 1), rows(4000), "s", fugu.Pure(2), public=["a", "b"])
    session.ask("histogram(x)", 0.5)
    certificate = session.certificate
    assert fugu.verify(certificate).holds and prove_again(certificate.body).outcome == "holds"
    forged = _thawed(certificate.claims)
    kept = [k for k, law in enumerate(forged["laws"]) if not any(len(known) == 1 for known in law["known"])]
    forged["laws"] = [forged["laws"][k] for k in kept]
    forged["proofs"] = [{**p, "law": kept.index(p["law"])} for p in forged["proofs"] if p["law"] in kept]
    sealed = RecordsCertificate.sealed(forged)
    assert not fugu.verify(sealed).holds
    with pytest.raises(BadCertificate, match="lacks a law"):
        prove_again(sealed.body)


def _thawed(value):
    if isinstance(value, dict) or hasattr(value, "items"):
        return {name: _thawed(part) for name, part in value.items()}
    return [_thawed(part) for part in value] if isinstance(value, list | tuple) else value


def test_many_public_columns_are_refused():
    names = [f"p{k}" for k in range(7)]
    table = {"s": ["y", "n"] * 200, "x": ["u", "v", "v", "u"] * 100}
    draw = random.Random(1)
    table |= {name: [str(draw.randrange(2)) for _ in range(400)] for name in names}
    today = {name: cells[:40] for name, cells in table.items()}
    with pytest.raises(UsageError, match="at most 6"):
        fugu.Session(today, table, "s", fugu.Pure(1), public=names).ask("histogram(x)", 0.1)


def clinic():
    return fugu.Session({"s": ["y", "n", "n", "y"]}, {"s": ["y", "n"] * 100}, "s", fugu.Pure(1))


def test_a_name_stands_for_one_question_in_memory_too():
    session = clinic()

    def fails(_):
        raise ValueError

    with pytest.raises(UsageError, match="ValueError"):
        session.spend(fugu.PerEntryDP(fails, 0.01, name="weak"), ["s"], request="r")
    with pytest.raises(RequestReused):
        session.spend(fugu.PerEntryDP(list, 1000, name="all"), ["s"], request="r")
    assert session.spent().epsilon == pytest.approx(0.01)


@pytest.mark.parametrize("kept", [False, True])
def test_a_mechanism_that_fails_has_answered(kept, tmp_path):
    """The wrong version runs it again under the same charge, and shows a second draw by how it fails."""
    more = {"ledger": tmp_path / "l.db"} if kept else {}
    session = fugu.Session({"s": ["y", "n", "n", "y"]}, {"s": ["y", "n"] * 100}, "s", fugu.Pure(1), **more)
    seen = []

    def fails(_):
        seen.append(1)
        raise (ValueError, KeyError, TypeError)[len(seen) % 3]

    for _ in range(3):
        with pytest.raises(UsageError, match="KeyError"):
            session.spend(fugu.PerEntryDP(fails, 0.5, name="fails"), ["s"], request="r")
    assert len(seen) == 1 and float(session.spent().epsilon) == pytest.approx(0.5)


def test_what_makes_no_sense_is_refused_before_it_is_charged():
    session = fugu.Session(rows(80, 1), rows(400), "s", fugu.Pure(1))
    with pytest.raises(BadBudget, match="above 0"):
        session.ask("histogram(x)", 0)
    with pytest.raises(UsageError, match="wider than can be drawn"):
        session.ask_all(["histogram(a)", "histogram(x)"], 0.1, weights=[1e-300, 1])
    assert session.spent().epsilon == 0
