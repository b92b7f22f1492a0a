"""What questions mean: their words, their features, their noise, their intervals, and how several share an epsilon."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction
from itertools import permutations

import numpy as np
import pytest

import fugu
from fugu.data import Schema
from fugu.errors import BudgetExceeded, UsageError
from fugu.noise.bits import RngBits
from fugu.noise.selection import draw_one
from fugu.queries.answer import cells_of, draw, totals
from fugu.queries.features import feature_from
from fugu.queries.kinds import Options, half_width
from fugu.queries.statistic import NoisedQuestion, StatisticQuestion, plan_of

RNG = np.random.default_rng(2)


def made(n, rng, away=1.0):
    ill = rng.integers(0, 2, n)
    age = np.clip(rng.normal(40 + 5 * away * ill, 15, n), 0, 100).round().astype(int)
    return {"ill": np.where(ill, "y", "n").tolist(), "age": age.tolist(), "ward": rng.choice(list("abc"), n).tolist()}


REFERENCE, TODAY = made(600, RNG), made(200, RNG)
AGE = {"bounds": (0, 100), "step": 10}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("count", StatisticQuestion("count")),
        ("COUNT by ward", StatisticQuestion("count", by="ward")),
        ("count(job=sold by me) by ward", StatisticQuestion("count", ("job",), "sold by me", by="ward")),
        ("proportion(income=>50K)", StatisticQuestion("proportion", ("income",), ">50K")),
        ("median(age) by the ward", StatisticQuestion("quantile", ("age",), at=Fraction(1, 2), by="the ward")),
        ("quantile(age (years), 0.25)", StatisticQuestion("quantile", ("age (years)",), at=Fraction(1, 4))),
        ("top(ward, 3)", StatisticQuestion("top", ("ward",), at=Fraction(3))),
        ("crosstab(a, b) by c", StatisticQuestion("crosstab", ("a", "b"), by="c")),
    ],
)
def test_questions_are_read_and_written(text, found):
    assert StatisticQuestion.parse(text) == found == StatisticQuestion.parse(str(found))


@pytest.mark.parametrize(
    "text", ["", "mean", "mean()", "mean(a, b)", "count(a)", "top(a, 1.5)", "top(a, 0)", "by a", 7]
)
def test_other_texts_are_no_questions(text):
    with pytest.raises(UsageError):
        StatisticQuestion.parse(text)


def test_the_law_route_reads_what_it_always_read():
    assert StatisticQuestion.of_total("count(smoker=yes)") == StatisticQuestion("count", ("smoker",), "yes")
    for text in ("mean(chol) by ward", "median(chol)", "count"):
        with pytest.raises(UsageError):
            StatisticQuestion.of_total(text)


def asked(**options):
    fugu.Session(TODAY, REFERENCE, "ill", fugu.Pure(1)).ask("mean(age)", 0.1, **{**AGE, **options})


def opened(**options):
    fugu.Session(TODAY, REFERENCE, "ill", fugu.Pure(1), **options)


def answered(**options):
    fugu.answer(TODAY, "mean(age)", "ill", fugu.Pure(1), REFERENCE, **{**AGE, **options})


@pytest.mark.parametrize(
    ("call", "options", "words"),
    [
        (asked, {"step": "x"}, "step must be a finite number above 0, got 'x'"),
        (asked, {"step": [1]}, "step must be a finite number"),
        (asked, {"bounds": {"age": (0, 100)}}, "bounds must be two finite numbers, got {'age'"),
        (asked, {"bounds": {0: 1, 9: 2}}, "bounds must be two finite numbers"),
        (asked, {"bounds": "09"}, "bounds must be two finite numbers"),
        (asked, {"bounds": 3}, "bounds must be two finite numbers, got 3"),
        (asked, {"bounds": (0, 50, 100)}, "bounds must be two finite numbers"),
        (answered, {"bounds": {"age": (0, 100)}}, "bounds must be two finite numbers"),
        (answered, {"by": ["ward"]}, "by is the name of one column, got list"),
        (answered, {"unit": 3}, "unit is the name of one column, got int"),
        (answered, {"schema": {"age": {"kind": "number"}}}, r"schema is a fugu.Schema.*got dict"),
        (opened, {"schema": {"age": {"kind": "number"}}}, r"schema is a fugu.Schema.*got dict"),
        (opened, {"unit": ["id"]}, "unit is the name of one column, got list"),
        (opened, {"public": [3]}, "public is the name of one column, got int"),
    ],
)
def test_arguments_of_another_kind_are_refused_in_words(call, options, words):
    with pytest.raises(UsageError, match=words):
        call(**options)


@pytest.mark.parametrize("weights", [3, {"mean(age)": 1}, "loud"])
def test_weights_are_a_list_or_error(weights):
    session = fugu.Session(TODAY, REFERENCE, "ill", fugu.Pure(1))
    with pytest.raises(UsageError, match='weights is a list of positive numbers, or "error", got'):
        session.ask_all([{"query": "mean(age)", **AGE}], 0.1, weights)


def planned(text, **options):
    reading = Schema.from_table(REFERENCE)
    return plan_of(StatisticQuestion.parse(text), reading, reading.read(REFERENCE), Options(**options)), reading


ALL = (
    ("count(ward=a)", {}), ("sum(age)", AGE), ("mean(age)", AGE), ("variance(age)", AGE), ("histogram(ward)", {}),
    ("crosstab(ward, age)", {"bins": {"age": [0, 50, 100]}}), ("median(age)", AGE), ("top(ward, 2)", {}),
    ("quantile(age, 0.9)", {"grid": [0, 30, 60, 90]}), ("proportion(ward=b)", {}), ("top(ward, 1)", {}),
)  # fmt: skip


@pytest.mark.parametrize(("text", "options"), ALL, ids=[text for text, _ in ALL])
def test_features_and_noise_survive_their_documents_and_cost_what_they_say(text, options):
    plan, _ = planned(text, **options)
    noised = plan.noised({"": Fraction(3, 7)})
    assert NoisedQuestion.from_json(noised.to_json()) == noised and noised.own("") == Fraction(3, 7) == noised.most
    for feature in plan.features:
        assert feature_from(feature.to_json()) == feature and feature_from(feature.to_json()).name == feature.name
    assert len({f.name for t, o in ALL for f in planned(t, **o)[0].features}) == 7


def test_intervals_hold_as_often_as_they_say():
    """95 % of 300 draws, less four deviations; half of the width holds far less often."""
    reading = Schema.from_table(REFERENCE)
    table, rows = reading.read(TODAY), {"": 200}
    ages = np.floor(np.array(TODAY["age"]) / 10 + 0.5)
    truth = {
        "mean(age)": 10 * ages.mean(),
        "variance(age)": 100 * ages.var(),
        "count(ward=a)": TODAY["ward"].count("a"),
    }
    source = RngBits(np.random.default_rng(1))
    for text, exact in truth.items():
        plan, _ = planned(text, **(AGE if "age" in text else {}))
        noised = plan.noised({"": Fraction(1, 2)})
        group = np.zeros(200, dtype=np.int64)
        cells = [
            cells_of(noised, {"": draw(noised, totals(noised, reading, table, group, 1), [""], source)[0]}, rows)[0]
            for _ in range(300)
        ]
        held = np.mean([c.low - 1e-9 <= exact <= c.high + 1e-9 for c in cells])
        half = np.mean([abs(c.value - exact) <= (c.high - c.low) / 8 for c in cells])
        assert held >= 0.95 - 4 * math.sqrt(0.95 * 0.05 / 300) and half < held


def test_one_draw_without_tables_has_the_law_of_lattice_laplace():
    source, rate, n = RngBits(np.random.default_rng(0)), Fraction(7, 10), 2000
    found = Counter(draw_one(rate, source) for _ in range(n))
    q = math.exp(-0.7)
    laws = {wrong: [(1 - c) / (1 + c) * c ** abs(k) for k in range(-6, 7)] for wrong, c in (("", q), ("wrong", q**1.3))}
    chi = {
        w: sum((found[k] - n * m) ** 2 / (n * m) for k, m in zip(range(-6, 7), law, strict=True))
        for w, law in laws.items()
    }
    assert chi[""] < 40 < chi["wrong"]


def test_the_utility_of_a_quantile_moves_by_at_most_one_and_is_best_at_the_quantile():
    noised = planned("median(age)", **AGE)[0].noised({"": Fraction(1)})
    rng = np.random.default_rng(4)
    for _ in range(60):
        codes = rng.integers(0, 11, 9)
        moved = codes.copy()
        moved[0] = rng.integers(0, 11)
        one, two = (noised.facts.utilities(noised, np.bincount(c, minlength=11)) for c in (codes, moved))
        assert max(abs(a - b) for a, b in zip(one, two, strict=True)) <= 1
        assert one[int(np.median(codes))] == max(one) == 0


def relative(answers, session):
    rows = np.array(REFERENCE["age"], dtype=float)
    typical = {"mean(age)": rows.mean(), "count(ward=a)": 200 / 3, "histogram(ward)": 200 / 4}
    return sum(a.cells[0].scale / typical[str(a.question)] for a in answers)


def test_several_questions_share_one_epsilon_by_weights_or_by_error():
    asked = [{"query": "mean(age)", **AGE}, "count(ward=a)", "histogram(ward)", "count"]
    found = {}
    for weights in (None, [8, 1, 1], "error"):
        session = fugu.Session(TODAY, REFERENCE, "ill", fugu.Pure(1))
        answers = session.ask_all(asked[:3] if weights == [8, 1, 1] else asked, 0.05, weights)
        assert 0 < float(session.spent().epsilon) <= 0.05
        found[str(weights)] = [float(a.own) for a in answers[:3]], relative(answers[:3], session)
        again = session.ask_all(asked[:3] if weights == [8, 1, 1] else asked, 0.05, weights)
        assert [a.cells for a in again] == [a.cells for a in answers]
    own, _ = found["[8, 1, 1]"]
    assert own[0] == pytest.approx(8 * own[1]) == pytest.approx(8 * own[2])
    assert len(set(found["None"][0])) == 1
    assert found["error"][1] <= found["None"][1] * 1.001  # equal shares are the version that it must not be worse than


def test_a_list_that_does_not_fit_is_refused_as_a_whole():
    session = fugu.Session(TODAY, REFERENCE, "ill", fugu.Pure(0.1))
    session.ask("mean(age)", 0.1, **AGE)
    with pytest.raises(BudgetExceeded):
        session.ask_all(["histogram(ward)", {"query": "median(age)", **AGE}], 0.1)
    assert len(session.certificate.questions) == 1


BINS = {"age": [0, 50, 100]}
COARSE = {"bounds": (0, 100), "step": 50}


def test_methods_ask_the_same_questions():
    session = fugu.Session(TODAY, REFERENCE, "ill", fugu.Pure(2))
    assert session.count().value == 200 and len(session.count(by="ward").cells) == 3
    pairs = [
        (session.count(0.01, ward="a"), "count(ward=a)", {}),
        (session.proportion(0.01, ward="a", by=None), "proportion(ward=a)", {}),
        (session.sum("age", 0.01, **COARSE), "sum(age)", COARSE),
        (session.mean("age", 0.01, by="ward", **COARSE), "mean(age) by ward", COARSE),
        (session.variance("age", 0.01, **COARSE), "variance(age)", COARSE),
        (session.histogram("ward", 0.01), "histogram(ward)", {}),
        (session.crosstab("ward", "age", 0.01, bins=BINS), "crosstab(ward, age)", {"bins": BINS}),
        (session.median("age", 0.01, **COARSE), "median(age)", COARSE),
        (session.quantile("age", 0.9, 0.01, **COARSE), "quantile(age, 0.9)", COARSE),
        (session.top("ward", 2, 0.01), "top(ward, 2)", {}),
    ]  # fmt: skip
    spent = session.spent()
    for answer, text, options in pairs:
        again = session.ask(text, 0.01, **options)
        assert repr(again.cells) == repr(answer.cells) and again.to_json()["query"] == str(answer.question)
    assert session.spent() == spent


def test_a_mean_has_less_noise_than_ordinary_differential_privacy_at_the_same_epsilon():
    session = fugu.Session(TODAY, REFERENCE, "ill", fugu.Pure(1))
    found = session.mean("age", 0.2, **AGE)
    assert found.own > Fraction(1, 2) > Fraction(1, 5)  # plain noise has an epsilon of 0.2 for each record
    assert found.cells[0].scale < 100 / 200 / 0.5


@pytest.mark.parametrize("asked", ["sum(age)", "mean(age)", "variance(age)", "median(age)", "quantile(age, 0.9)"])
def test_a_step_wider_than_the_bounds_is_refused_and_a_narrower_one_is_answered(asked):
    session = fugu.Session(TODAY, REFERENCE, "ill", fugu.Pure(1))
    with pytest.raises(UsageError, match="every record counts the same: of 'age'"):
        session.ask(asked, 0.2, bounds=(0, 2), step=5)
    assert session.ask(asked, 0.2, **COARSE).cells[0].scale != 0


ODD = [-1e9, math.inf, -math.inf, math.nan, None, "text", 1e308, 45, 1e-300, "", True, 2**70]


@pytest.mark.parametrize("text", ["mean(age)", "variance(age)", "quantile(age, 0.3)", "histogram(age)"])
def test_bounds_left_out_are_those_of_the_reference_whatever_the_private_table_holds(text):
    """Rejects bounds that are read off the private table, and a reading that depends on other records."""
    spread = {**REFERENCE, "age": [k / 7 + 2 for k in range(600)]}
    session = fugu.Session({"age": ODD, "ill": ["y", "n"] * 6}, spread, "ill", fugu.Pure(1), ledger=False)
    reading, table = session._belief.reading, session._belief.table
    plan = plan_of(StatisticQuestion.parse(text), reading, table, Options())
    own = reading.read({"age": ODD}, ["age"])
    assert plan.features != plan_of(plan.question, reading, own, Options(bounds=(-1e9, 1e9))).features
    for feature in plan.features:
        together = feature.of(reading, own).tolist()
        alone = [int(feature.of(reading, reading.read({"age": [cell]}, ["age"]))[0]) for cell in ODD]
        assert together == alone and min(alone) >= 0 and max(alone) <= feature.top
    said = "is counted in bins of 5 from 0 to 90" if "hist" in text else "counts in steps of 1 from 2 to 88"
    answer = session.ask(text)
    assert f"'age' {said}: the reference's range, rounded outward, so that none of its rows is clipped" in answer.note
    bounds = {"bins": list(range(0, 95, 5))} if "hist" in text else {"bounds": (2, 88), "step": 1}
    again = session.ask(text, **bounds)  # the same function of one record: the same request, for nothing
    assert again.cost.epsilon == 0 and again.cells == answer.cells


def test_a_range_is_rounded_outward_to_the_step_and_no_whole_number_lies_halfway_between_two_steps():
    def ends(values, **options):
        reference = {"ill": ["y", "n"] * (len(values) // 2), "x": values}
        session = fugu.Session({"x": [1], "ill": ["y"]}, reference, "ill", fugu.Pure(1), ledger=False)
        belief, asked = session._belief, StatisticQuestion.parse("mean(x)")
        (coded,) = plan_of(asked, belief.reading, belief.table, Options(**options)).features
        assert (belief.table.exact("x").values >= float(coded.low)).all()
        return coded.low, coded.low + coded.step * coded.top, coded.step

    tenth = Fraction(1, 10)
    assert ends([0, 1] * 40) == (0, 1, 1)
    assert ends([3.01, 12.97] * 40) == (3, 13, tenth)
    assert ends([3, 205] * 40) == (3, 207, 3)  # not 2: every second number would be rounded up
    assert ends([110, 300, 115, 120] * 20) == (110, 300, 5)  # nor 2 or 3 where all are multiples of 5
    assert ends([0, 1, 600, 601] * 20) == (0, 615, 15)
    assert ends([3, 207] * 40, step=100) == (0, 300, 100)
    assert ends([-0.3, 0.1] * 40) == (-3 * tenth, tenth, Fraction(1, 200))
    for odd, why in ((math.inf, "beyond"), (1e300, "beyond"), (3, "one value"), (3 + 1e-323, "one value")):
        with pytest.raises(UsageError, match=rf"{why}.*give bounds"):
            ends([3, odd] * 40)
    with pytest.raises(UsageError, match=r"one value.*give bounds"):  # a hundredth of it is 0 in doubles
        ends([0, 1e-323] * 40)


def test_beliefs_from_the_private_table_itself_take_no_range_of_it():
    """Rejects a least and a largest private number in the certificate, private numbers as the names of cells, and a
    refusal that tells how many there are."""
    questions = ("mean(age)", "histogram(age)", "crosstab(age, ward)")
    said = set()
    for ages in ([k / 3 for k in range(200)], [k % 30 + 0.25 for k in range(200)], [7] * 200, [1, 1e300] * 100):
        for query in questions:
            with pytest.raises(UsageError, match=r"needs .*schema.*stay private") as refusal:
                own({**TODAY, "age": ages}, query)
            said.add(str(refusal.value))
    assert len(said) == len(questions)  # one for each, whatever the numbers


def own(table, query, **how):
    """The answer under beliefs that are fitted on the private table itself."""
    return fugu.answer(table, query, "ill", fugu.Pure(1), table, public_prior=True, allow_no_noise=True, **how)


@pytest.mark.parametrize("ages", [{"kind": "number", "bounds": (0, 30)}, {"kind": "ordered", "values": range(30)}])
def test_what_a_refusal_names_is_enough_and_nothing_is_named_that_is_not(ages):
    """Rejects bounds for a table of counts, and edges for two columns, which no question of one law takes."""
    table = {**TODAY, "age": [k % 30 for k in range(200)]}
    kinds = {"age": {**ages}, "ward": {"kind": "category", "values": ["a", "b"]}}
    kinds |= {"ill": {"kind": "category", "values": sorted({*TODAY["ill"]})}}
    given = {"bounds": (0, 30), "bins": (0, 10, 30), "schema": Schema(kinds)}
    for query in ("mean(age)", "histogram(age)", "crosstab(age, ward)"):
        with pytest.raises(UsageError) as refusal:
            own(table, query)
        for name, value in given.items():
            cells_unnamed = name == "schema" and ages["kind"] == "number" and query != "mean(age)"
            if name in str(refusal.value) and not cells_unnamed:
                assert own(table, query, **{name: value}).cells
            else:
                with pytest.raises(UsageError):
                    own(table, query, **{name: value})


def test_questions_asked_together_have_the_same_noise_in_any_order_and_one_by_one_what_is_left():
    """Rejects groups that are given what is spare in the order of asking."""
    rng = np.random.default_rng(5)
    ill, ward = rng.integers(0, 2, 300), rng.choice(list("ab"), 300)
    tell = np.where(ward == "a", 0.9, 0.6)  # ward b tells less, so both questions by ward have room to spare there
    size, look = (np.where((rng.random(300) < tell) == (ill == 1), "s", "t").tolist() for _ in range(2))
    reference = {"ill": np.where(ill, "y", "n").tolist(), "ward": ward.tolist(), "size": size, "look": look}
    session = fugu.Session({name: cells[:60] for name, cells in reference.items()}, reference, "ill", fugu.Pure(1),
                           cap=50, public=["ward"], ledger=False)  # fmt: skip
    asked, seen = ["count(look=s) by ward", "count(size=s) by ward", "count(size=t)"], set()
    for order in permutations(asked):
        rehearsed = session.rehearse(list(order), 0.5)
        worth = rehearsed.books.worth()
        rates = sorted((found.query, tuple(found.rates.items())) for found in rehearsed.questions)
        seen.add((tuple(rates), round(float(worth.spent), 9), worth.any_belief))  # summed in another order
        assert [found.query for found in rehearsed.questions] == list(order)
    assert len(seen) == 1
    first, second = session.ask("count(size=s)", 0.3), session.ask("count(size=t)", 0.3)
    near = 2e-6 * 0.6  # as near as the search for the least noise goes
    assert second.cost.epsilon < first.cost.epsilon + near and session.spent().epsilon <= 0.6


def test_the_largest_of_many_noised_counts_lie_in_their_intervals():
    """Whatever counts are the largest, their intervals hold together with 95 %: 2,000 draws of forty counts that are
    alike, of which the largest are those with the largest noise. The wrong version, each count's own interval, holds
    for every second answer."""
    cells = [f"c{k:02}" for k in range(40)]
    table = {"s": ["a", "b"] * 400, "v": cells * 20}
    session = fugu.Session({"v": cells * 10}, table, "s", fugu.Pure(1), ledger=False)
    session.ask("top(v, 3)", 0.1)
    (asked,) = session.certificate.questions
    counts = np.array([[10] * 40 + [0]])
    held, own = 0, half_width(asked.rates[""][0])
    narrow = 0
    for _ in range(2000):
        shown = asked.cells("", draw(asked, counts, [""])[0], 400)
        held += all(cell.low <= 10 <= cell.high for cell in shown)
        narrow += all(abs(cell.value - 10) <= own for cell in shown)
    assert held >= 0.94 * 2000 > 0.7 * 2000 > narrow
