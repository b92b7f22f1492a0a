"""Pages of channels: what becomes of each value, what goes out exactly, the warning, names that cannot break out."""

from __future__ import annotations

import re

import pytest

import fugu
from fugu import Box, Discrete, LawPair, Pure, optimal_channel
from fugu.drawing.charts import Heat
from fugu.report import page
from fugu.report.template import sheet

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
    text = (tmp_path / "out.report.html").read_text(encoding="utf-8") + document.to_json()
    assert "What becomes of each value" not in text and '"floor"' not in text and "lower bound" not in text
