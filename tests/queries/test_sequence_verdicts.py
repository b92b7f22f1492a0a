"""How usable answers about sequences and of sessions are said to be: moments against enumeration, intervals against
what goes out, a verdict before the charge, on the page and in comparisons, and nothing of it from private entries."""

from __future__ import annotations

import itertools
import json
import math
import random
from fractions import Fraction

import numpy as np
import pytest

import fugu
from fugu.errors import NoiselessRelease
from fugu.noise.gaussian import at_least
from fugu.priors.chain import MarkovChain
from fugu.queries.entry_noise import EntryNoise
from fugu.queries.sequence_query import LatticeMechanism, SequenceMechanism, Several
from fugu.queries.sequences import (
    ArgMax,
    Count,
    Histogram,
    Mean,
    Numbers,
    RandomisedResponse,
    States,
    Sum,
    TopK,
    Transitions,
)
from fugu.queries.usable_sequences import Walk, judged, usable_mechanism
from fugu.utility.usable import CHANCE, NOISE, USABLE
from release_files import command

CHAIN = MarkovChain([[0.7, 0.2, 0.1], [0.3, 0.5, 0.2], [0.0, 0.6, 0.4]], 4, initial=[0.5, 0.5, 0.0], states=(1, 2, 5))


def enumerated(chain, weight):
    """Mean and deviation of the sum of `weight` along one sequence, from the definition: every sequence."""
    kernel, start = chain.transition(1), chain.marginal(1)
    total, square = 0.0, 0.0
    for way in itertools.product(range(chain.size), repeat=chain.length):
        chance = start[way[0]] * math.prod(kernel[a, b] for a, b in itertools.pairwise(way))
        steps = itertools.pairwise(way)
        value = sum(weight[a, b] for a, b in steps) if weight.ndim == 2 else sum(weight[x] for x in way)
        total, square = total + chance * value, square + chance * value**2
    return total, math.sqrt(max(square - total**2, 0))


def test_moments_are_those_of_every_sequence():
    draw = np.random.default_rng(3)
    for _ in range(40):
        m, length = int(draw.integers(2, 4)), int(draw.integers(2, 6))
        kernel = draw.dirichlet(np.ones(m), size=m)
        chain = MarkovChain(kernel, length, initial=draw.dirichlet(np.ones(m)))
        for weight in (draw.normal(size=m), draw.normal(size=(m, m))):
            mean, deviation = enumerated(chain, weight)
            found = Walk(chain, 5 * length).moments(weight)
            assert found == (pytest.approx(5 * mean), pytest.approx(math.sqrt(5) * deviation))
            independent = math.sqrt(
                5 * length * max(enumerated(chain, weight**2)[0] / length - (mean / length) ** 2, 0)
            )
            assert weight.ndim == 2 or found[1] != pytest.approx(independent, rel=1e-6)  # entries are not independent
    counts = Walk(CHAIN, 400).counts(Histogram(States((1, 2, 5))))
    assert counts.sum() == pytest.approx(400)
    steps = Walk(CHAIN, 400).counts(Transitions(States((1, 2, 5))))
    (figure,) = judged(Transitions(States((1, 2, 5))), EntryNoise(Fraction(1)), CHAIN, 400).figures
    assert (figure.cells, figure.value) == (8, pytest.approx(300 / 8))
    assert steps.sum() == pytest.approx(300) and steps[6] == 0  # 5 is never followed by 1


STATES, LEVELS = States((1, 2, 5)), Numbers(0, 5)
QUERIES = [Count(2, STATES), Histogram(STATES), Transitions(STATES), Sum(LEVELS), Mean(LEVELS)]


@pytest.mark.parametrize("query", QUERIES, ids=lambda query: query.name)
@pytest.mark.parametrize("gaussian", [False, True])
def test_the_interval_that_is_announced_is_the_one_that_goes_out(query, gaussian):
    amount = Fraction(1, 3)
    made = LatticeMechanism.of(query, amount) if gaussian else SequenceMechanism(query, amount)
    data = [[1, 2, 5, 2]] * 10
    (figure,) = judged(query, EntryNoise(amount, gaussian), CHAIN, 40).figures
    released = made.simulate(data, np.random.default_rng(1))
    rounding = float(query.step or 0) / (40 if isinstance(query, Mean) else 1) if isinstance(query, Sum | Mean) else 0
    assert abs(released.interval[1] - figure.half) <= rounding
    errors = [np.abs(np.asarray(made.simulate(data, np.random.default_rng(seed)).value - np.asarray(
        query.exact(data), dtype=float))).mean() for seed in range(300)]  # fmt: skip
    assert figure.error == pytest.approx(np.mean(errors), rel=0.2)


def test_noise_beyond_every_count_is_called_noise_and_little_noise_usable():
    for query in (*QUERIES, TopK(2, STATES)):
        assert judged(query, EntryNoise(Fraction(1, 1000)), CHAIN, 400).grade == NOISE
        assert judged(query, EntryNoise(Fraction(20)), CHAIN, 400).grade == USABLE
    both = Several.of([Histogram(STATES), TopK(2, STATES)], [1, 99])
    usable = judged(both, EntryNoise(Fraction(1)), CHAIN, 4000)
    assert usable.worst.name == "histogram" and "ask one question alone" in str(usable)
    assert [figure.name for figure in usable.figures] == ["histogram", "top 2"]


def test_levers_are_what_a_new_release_would_have():
    made = SequenceMechanism(Transitions(STATES), Fraction(fugu.dp_budget(CHAIN, 1.0)))
    usable = usable_mechanism(made, CHAIN, 400, fugu.Pure(1))
    levers = {lever.what: lever for lever in usable.levers}
    error = usable.figures[0].error
    assert levers["twice the epsilon"].times == pytest.approx(
        fugu.dp_budget(CHAIN, 2.0) / fugu.dp_budget(CHAIN, 1.0), rel=1e-3
    )
    short = CHAIN.with_length(2)
    half = levers["sequences of half the length"]
    assert half.times == pytest.approx(fugu.dp_budget(short, 1.0) / float(made.epsilon), rel=1e-3)
    histogram = judged(Histogram(STATES), EntryNoise(made.epsilon), CHAIN, 400).figures[0]
    assert levers["count states instead of steps"].error == pytest.approx(error / 2) == pytest.approx(
        histogram.error, rel=0.01
    )  # fmt: skip


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    place = tmp_path_factory.mktemp("verdicts")
    for name, users, seed in (("ref", 40, 1), ("today", 15, 2), ("other", 15, 3)):
        draw, lines = random.Random(seed), ["user,time,place"]
        for user in range(users):
            lines += [f"u{user},{time},{draw.choice(['home', 'work', 'shop'])}" for time in range(6)]
        (place / f"{name}.csv").write_text("\n".join(lines) + "\n")
    return place


def released(folder, table, *more):
    return command("release", folder / f"{table}.csv", "--reference", folder / "ref.csv", "--by", "user", "--order",
                   "time", "--state", "place", "--no-ledger", "-o", folder / "out.csv", "--force", *more)  # fmt: skip


def test_a_verdict_stands_before_the_charge_on_the_page_and_in_the_comparison(folder):
    asked = ("--query", "transitions", "--epsilon", "0.5")
    code, said = released(folder, "today", *asked, "--dry-run", "--json", "--report", folder / "before.html")
    before = json.loads(said)["usable"]
    assert code == 0 and before["grade"] == "mostly noise" and before["levers"]
    (figure,) = before["figures"]
    assert figure["half"] > figure["value"] and figure["cells"] == 9 and figure["spread"] > 0
    code, said = released(folder, "today", *asked)
    assert code == 0 and said.index("mostly noise") < said.index("wrote")
    for page in ("before.html", "out.report.html"):
        text = (folder / page).read_text()
        assert "How usable it is" in text and "mostly noise" in text and "twice the epsilon" in text
    code, said = released(folder, "other", *asked, "--dry-run", "--json")
    assert json.loads(said)["usable"] == before  # other entries, as many of them: not a word of it is about them
    code, said = command("compare", folder / "ref.csv", "--by", "user", "--order", "time", "--state", "place", *asked,
                         "--users", "15", "--json")  # fmt: skip
    compared = json.loads(said)
    assert code == 0 and compared["usable"]["figures"][0]["half"] == figure["half"] and compared["entries"] == 90
    code, said = command("compare", folder / "ref.csv", "--by", "user", "--order", "time", "--state", "place",
                         "--query", "count(home)", "--epsilon", "0.5", "--delta", "0.01", "--json")  # fmt: skip
    assert code == 0 and json.loads(said)["delta"] == 0.01 and json.loads(said)["usable"]["grade"] != "not known"


def test_answers_of_a_session_are_judged_before_and_after(folder):
    last_year = {"ill": ["y", "n"] * 100, "age": [60, 40, 50, 45] * 50, "ward": ["a", "b", "b", "a"] * 50}
    today = {"ill": ["n", "y"] * 40, "age": [50, 45] * 40, "ward": ["a", "b"] * 40}
    session = fugu.Session(today, last_year, "ill", fugu.Pure(1), rows=80)
    asked = [{"query": "mean(age) by ward", "bounds": (0, 100), "step": 5}, "median(age)"]
    asked[1] = {"query": "median(age)", "bounds": (0, 100), "step": 5}
    rehearsal = session.rehearse(asked, 0.5)
    mean, median = session.ask_all(asked, 0.5)
    halves = {figure.name: figure.half for figure in rehearsal.usable.figures}
    assert halves == {each.name: each.half for answer in (mean, median) for each in answer.usable.figures}
    assert len(halves) == 3
    for cell, figure in zip(mean.cells, mean.usable.figures, strict=True):
        assert (cell.high - cell.low) / 2 == pytest.approx(figure.half)
        known = [age for age, ward in zip(last_year["age"], last_year["ward"], strict=True) if ward == cell.group]
        assert figure.value == pytest.approx(np.mean(known))  # of the reference's group, not of the table's
        assert figure.chance == pytest.approx(CHANCE * np.std(known) / math.sqrt(40))
    (cell,), (figure,) = median.cells, median.usable.figures
    assert "ranks" in median.note and max(cell.high - cell.value, cell.value - cell.low) <= figure.half
    assert "usable" in mean.to_json() and mean.usable.verdict in mean._repr_html_()


AB = States(("a", "b"))
LN3 = Fraction(math.log(3))
NARROW = [
    (Count("a", AB), 1), (Histogram(AB), 2), (Transitions(AB), 4), (Transitions(AB, longest=2), 2),
    (Sum(Numbers(0, 10), 5), 2), (Mean(Numbers(0, 10)), 1000), (Several.of([Count("a", AB), TopK(2, AB)], [1, 3]), 4),
]  # fmt: skip


@pytest.mark.parametrize(("query", "steps"), NARROW, ids=lambda x: getattr(x, "name", str(x)))
def test_numbers_are_called_exact_from_a_noise_that_is_zero_more_often_than_not(query, steps):
    """tanh(r / 2) > 1/2 is r > ln 3 for the rate r = epsilon / steps; at 0.999 of that nothing is said, at 1.001 it is.

    A threshold at another level, or the rate of another question, fails."""
    data = [[1, 2], [3, 4]] if isinstance(query.domain, Numbers) else [["a", "b"], ["b", "a"]]
    below, above = (query.mechanism(steps * LN3 * x) for x in (Fraction("0.999"), Fraction("1.001")))
    assert below.certificate.exact_values == () and below.release(data).value is not None
    (said,) = above.certificate.exact_values
    assert said.startswith("count(a): exact" if isinstance(query, Several) else "exact") and "0.501" in said
    with pytest.raises(NoiselessRelease, match=r"mostly 0: .*exact: each number"):
        above.release(data)
    answer = above.release(data, allow_no_noise=True)  # what was refused has used up nothing
    assert said in answer._repr_html_()


def test_gaussian_noise_is_called_exact_by_its_own_law_and_choices_never_are():
    """P(N = 0) = 1 / sum of exp(-rho k^2), which is 1/2 between rho 0.75 and 0.8."""
    for rho in (Fraction("0.75"), Fraction("0.8"), Fraction(100000)):
        chance = 1 / sum(math.exp(-rho * k * k) for k in range(-30, 31))
        assert chance == pytest.approx(1 - at_least(float(min(rho, Fraction(9999))), 1))
        made = LatticeMechanism.of(Count("a", AB), rho)
        assert (made.certificate.exact_values != ()) == (chance > 0.5) == (rho > Fraction("0.75"))
    with pytest.raises(NoiselessRelease):
        made.release(["a", "b"])
    assert made.release(["a", "b"], allow_no_noise=True).value == 1
    for query in (ArgMax(AB), TopK(1, AB), TopK(2, AB), RandomisedResponse(AB)):
        assert query.mechanism(60).certificate.exact_values == ()
    assert LatticeMechanism.of(TopK(2, AB, "laplace"), 60).certificate.exact_values == ()
