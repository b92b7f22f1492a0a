"""Documents without laws have pages: the promise, the odds and the noise in words that their numbers bear out. Pages of
channels: what becomes of each value, what goes out exactly, the warning, names that cannot break out."""

from __future__ import annotations

import math
import re
from fractions import Fraction

import numpy as np
import pytest

import fugu
import record_documents
from fugu import Box, Discrete, LawPair, PerEntryDP, Pure, optimal_channel
from fugu.documents.document import later
from fugu.documents.kinds import SCHEMAS
from fugu.drawing.charts import Heat
from fugu.iterate import LinearRegression
from fugu.numbers.text import factor, number
from fugu.queries.sequences import ArgMax, Count, Histogram, Mean, Numbers, RandomisedResponse, States, Sum
from fugu.report import page
from fugu.report.page import PAGES
from fugu.report.template import describe, noise_of, questions_of, sheet

STATES = States(["a", "b", "c"])


def test_every_kind_that_can_be_verified_has_a_page():
    assert {kind for place in SCHEMAS.values() for kind in later(place).KINDS} - {"composition"} <= set(PAGES)


def test_the_word_of_others_is_called_that():
    text = page(PerEntryDP(len, 0.5).certificate)
    assert "the word of the user" in text and "does not describe the noise" in text
    own = page(Count("a", STATES).mechanism(Fraction(1, 2)))
    assert "worked out by fugu" in own and "the word of" not in own and "scale of 2 is added" in own


def test_the_odds_are_those_of_what_is_promised_and_a_remainder_is_said():
    text = page(PerEntryDP(len, 0.5, 1e-9).certificate)
    assert f"factor of {factor(0.5)}" in text and "δ\xa0=\xa010⁻⁹" in text and "worst single value" in text
    pure = page(PerEntryDP(len, 0.5).certificate)
    assert "worst single value" not in pure and "δ" not in pure[pure.index("</head>") :]


def test_what_dependence_would_add_is_said_and_not_promised():
    text = page(Histogram(STATES).mechanism(1))
    assert "depend on each other" in text and "is not on this page" in text


@pytest.mark.parametrize("query", [Count("a", STATES), Histogram(STATES), Sum(Numbers(0, 10))], ids=lambda q: q.name)
def test_the_scale_told_is_that_of_the_noise_drawn(query):
    """The mean size of what is really drawn is within the one told, and not far below it; half of it would be seen."""
    epsilon = Fraction(1, 5)
    told = float(query.sensitivity / epsilon)
    data = [["a", "b", "c"] * 5] if query.name != "sum" else [[1, 2, 3]]
    mechanism, source = query.mechanism(epsilon), np.random.default_rng(1)
    exact = np.asarray(query.exact(data), dtype=float)
    draws = [np.asarray(mechanism.simulate(data, source).value, dtype=float) - exact for _ in range(3000)]
    size = float(np.abs(draws).mean())
    assert 0.9 * told < size < 1.1 * told
    said, cards = describe(query, epsilon)
    assert cards[0][0] == f"{told:g}" and f"scale of {told:g}" in said


def test_entries_published_one_by_one_are_kept_as_often_as_told():
    query = RandomisedResponse(STATES)
    said, _ = describe(query, Fraction(1))
    assert f"{100 * math.e / (math.e + 2):.1f}" in said


def test_means_and_rankings_tell_no_scale_of_what_is_published():
    assert describe(Mean(Numbers(0, 1)), Fraction(1))[1] == () == describe(ArgMax(STATES), Fraction(1))[1]
    assert "not the counts" in describe(ArgMax(STATES), Fraction(1))[0]
    assert noise_of(ArgMax(STATES).mechanism(1).certificate.claims)[0][0] == describe(ArgMax(STATES), Fraction(1))[0]


def test_a_training_says_what_its_certificate_holds():
    x = np.random.default_rng(2).uniform(-1, 1, (30, 2))
    model = LinearRegression(2.0, 1e-4, bounds=(-1, 1), target_bounds=(-1, 1), ordered=True, epochs=5).fit(x, x[:, 0])
    text, certificate = page(model.certificate_), model.certificate_
    assert certificate.neighbours in text and "30 records" in text and f"factor of {factor(2.0)}" in text
    assert "anything may be revealed" in text and "1 in 10,000" not in text


def test_names_in_these_documents_stay_text():
    text = page(PerEntryDP(len, 0.5, name="<script>alert(1)</script>\u202e").certificate, title="<b>t</b>")
    assert "<script" not in text and "\u202e" not in text and "<b>t" not in text and "&lt;script&gt;" in text


def test_a_page_of_nothing_is_refused():
    with pytest.raises(fugu.errors.UsageError, match="mechanism or a certificate"):
        page(object())


def test_the_interval_of_a_mean_is_in_the_unit_of_the_mean_not_of_its_sum_nor_in_steps():
    """Worked out again for the noisiest group: 95 % of discrete Laplace noise, times the step, over its rows."""
    certificate = record_documents.certificate()
    said = dict(row[0::2] for row in questions_of(certificate)["questions"])
    (mean,) = (asked for asked in certificate.questions if asked.facts.name == "mean")
    (feature,), wide = mean.features, {}
    for kind in certificate.types:
        rate = float(mean.rates[kind.groups["ward"]][0])
        steps = next(k for k in range(10**5) if 2 * math.exp(-rate * (k + 1)) / (1 + math.exp(-rate)) <= 0.05)
        wide[steps * float(feature.step) / kind.rows] = steps
    most = max(wide)
    assert said[mean.query] == f"±\xa0{number(most, 'up')}"
    assert number(most, "up") not in {number(wide[most] * k, "up") for k in (1, float(feature.step))}


EVIL = "<script>alert(1)</script>"
PAIR = LawPair(Discrete([0, 1, 5], [3, 1, 2]), Discrete([0, 1, 5], [1, 3, 3]), f"{EVIL} vs b")
BOX = LawPair(
    Box([0, 1, 5], [0.4, 0.1, 0.2], [0.6, 0.3, 0.5]), Box([0, 1, 5], [0.2, 0.3, 0.1], [0.4, 0.6, 0.3]), "a vs b"
)
LONG = LawPair(Discrete(range(90), range(1, 91)), Discrete(range(90), range(90, 0, -1)), "a vs b")
MADE = {
    "one pair": lambda: optimal_channel(PAIR, Pure(1)),
    "delta and cap": lambda: optimal_channel(PAIR, fugu.Approx(0.5, 0.01), cap=3),
    "sets": lambda: optimal_channel(BOX, Pure(1)),
    "squared": lambda: optimal_channel(PAIR, Pure(1), "squared"),
    "mixture": lambda: fugu.mix(0.5, optimal_channel(PAIR, Pure(1)), optimal_channel(PAIR, Pure(0.5))),
    "many values": lambda: optimal_channel(LONG, Pure(1)),
    "constant": lambda: optimal_channel(PAIR, Pure(0)),
}


@pytest.mark.parametrize("name", MADE)
def test_a_page_stands_alone_and_says_what_matters(name):
    made = MADE[name]()
    text = page(made, query_name=EVIL, secret_name=EVIL).replace(sheet(), "")
    assert EVIL not in text and "http" not in text.replace("http-equiv", "") and "<script" not in text
    assert text.count("<h1") == 1 and "What becomes of each value" in text
    ids = re.findall(r' id="([^"]+)"', text)
    assert len(ids) == len(set(ids))
    assert ("beliefs a little off may lose everything" in text) is (name != "sets")
    assert text.count("<figure") == (2 if name == "mixture" else 1)
    assert "nan" not in text.lower().replace("finance", "")


def test_many_values_are_gathered_and_said_to_be():
    text = page(MADE["many values"]())
    assert "Neighbouring values are gathered" in text and text.count('class="heat a"') < 2 * 45 * 45
    assert "Neighbouring" not in page(MADE["one pair"]())


def test_figures_are_those_of_the_certificate():
    made = optimal_channel(PAIR, Pure(1))
    text = page(made)
    shown = [f"{x:g}" for x in made.exact_atoms()]
    assert f"<dd>{', '.join(shown) or 'none'}</dd>" in text
    assert "Surely unchanged" in text and "proved" in text


def test_a_heat_chart_may_have_other_columns_than_rows():
    chart = Heat("h", "t", "a", ("r1", "r2"), ((0.5, 0.25, 0.25), (0.0, 1.0, 0.0)), ("c1", "c2", "c3"), ("chance", ""))
    drawn, height = chart.draw(400)
    text = str(drawn)
    assert height > 0 and text.count("<rect") == 7 and "r1 to c3: 0.25" in text and "chance" in text


def test_a_withheld_release_shows_nothing_of_its_channel(tmp_path):
    table = tmp_path / "private.csv"
    table.write_text("x,s\n" + "".join(f"{i % 4},{'ab'[i % 4 < 1 + i % 2]}\n" for i in range(60)))
    scenario = fugu.Scenario.from_table(table, publish="x", protect="s", public_prior=True)
    released = fugu.release_column(optimal_channel(scenario, Pure(1)), table, allow_no_noise=True)
    document = fugu.publish(tmp_path / "out.csv", released, table=table)
    assert document.certificates is None
    text = (tmp_path / "out.report.html").read_text(encoding="utf-8") + document.text
    assert "What becomes of each value" not in text and '"floor"' not in text and "lower bound" not in text
