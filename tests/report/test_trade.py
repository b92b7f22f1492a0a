"""The curves of noise against delta and against the number of people fall, and end where no noise is needed."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from typer.testing import CliRunner

from fugu import Approx, Discrete, LawPair, Normal, Pure, Renyi, RenyiCurve, calibrate, compare
from fugu.calibration.comparison import Comparison, Row
from fugu.cli.app import app
from fugu.drawing.marks import escaped
from fugu.numbers.text import number
from fugu.report.compare import deltas, epsilons, errors, noise_by_people, scaled, trade_page
from fugu.report.template import noted

LAWS = {"a": Discrete([0, 1, 2], [5, 3, 2]), "b": Discrete([0, 1, 2], [2, 3, 5])}
PAIR = LawPair(LAWS["a"], LAWS["b"], "a vs b")


def test_noise_falls_with_delta_and_is_what_calibrate_finds():
    budgets = deltas(Pure(0.5))
    (row,) = errors(PAIR, budgets, [("exact", "laplace")], "noise against delta").values()
    assert list(row) == sorted(row, reverse=True) and row[0] > 0
    at = [delta for delta, _ in budgets].index(0.01)
    assert row[at] == calibrate(PAIR, Approx(0.5, 0.01), noise="laplace", method="exact").expected_error()


def test_noise_falls_with_the_number_of_people_until_none_is_needed():
    curve = noise_by_people(LAWS, 0.5, 1e-6)
    errors = [error for _, error in curve]
    assert errors[0] > 0 and errors[-1] == 0
    assert curve[-1][0] == 1000


def test_every_error_drawn_is_what_calibrate_proves():
    budget = Approx(0.5, 0.01)
    ways = [("exact", "laplace"), ("l1", "laplace"), ("exact", "gaussian")]
    found = errors(PAIR, deltas(budget), ways, "x")
    xs = [d for d, _ in deltas(budget)]
    assert xs[0] == 0 and 0.01 in xs and math.isnan(found["exact", "gaussian"][0]), "no pure Gaussian noise"
    for way in ways:
        expected = calibrate(PAIR, budget, method=way[0], noise=way[1]).expected_error()
        assert found[way][xs.index(0.01)] == expected
    assert found["l1", "laplace"] > found["exact", "laplace"]


@pytest.mark.parametrize("budget", [Pure(0.5), Approx(0.5, 0.01), Renyi(2, 0.5), RenyiCurve({2: 0.1, 4: 0.3})], ids=str)
def test_epsilons_around_the_one_asked_for_keep_the_rest(budget):
    found = epsilons(budget)
    assert found[2][1] == budget and [x / found[2][0] for x, _ in found] == [0.25, 0.5, 1, 2, 4]
    assert all(b.delta == budget.delta and type(b) is type(budget) for _, b in found)
    assert scaled(budget, Fraction(2)) != budget


NORMALS = LawPair(Normal(0, 1), Normal(1, 2), "a vs b")


@pytest.mark.parametrize(
    ("pair", "budget"),
    [(PAIR, Pure(0.5)), (PAIR, Approx(0.5, 0.001)), (PAIR, Renyi(2, 0.5)), (NORMALS, Pure(0.5))],
    ids=["pure", "delta", "Renyi", "normal"],
)
def test_the_page_names_every_method_and_why_it_is_refused(pair, budget):
    comparison = compare(pair, budget)
    html = trade_page(pair, comparison, "grade", "support", LAWS if pair is PAIR else None)
    assert "publish “grade” and hide “support”</h1>" in html and len(html) < 150_000
    for row in comparison.rows:
        assert f">{row.method}<" in html.replace(" ★ least noise", "")
        if math.isinf(row.scale):
            assert escaped(noted(row.why)) in html
    assert html.count("★ least noise</th>") == 1
    assert ("If a remainder is allowed" in html) == (not budget.renyi) and "If more or less is promised" in html
    assert ("many people" in html) == (pair is PAIR and not budget.renyi)
    if not budget.renyi:
        assert ">10⁻⁹</text>" in html and ">10⁻⁴</text>" in html, "a delta axis in powers of ten"


def test_the_present_choice_is_the_least_error_there():
    comparison = compare(PAIR, Approx(0.5, 0.01))
    html = trade_page(PAIR, comparison, "grade", "support")
    assert html.count("least, as asked: ") == 4, "two figures, each in two widths"
    assert f"least average error {number(comparison.best.expected_absolute)}" in html


def test_a_budget_that_nothing_meets_still_has_a_page_with_reasons():
    refused = Row("exact", "laplace", math.inf, math.inf, math.inf, math.inf, False, "because <of> this", "")
    html = trade_page(PAIR, Comparison((refused,), Pure(0.5)), "grade", "support")
    assert (
        "No method is proved to meet the budget" in html and "because &lt;of&gt; this" in html and "★ least" not in html
    )


@pytest.mark.parametrize("more", [(), ("--delta", "0.01"), ("--alpha", "2")], ids=["pure", "delta", "Renyi"])
def test_the_command_writes_the_page_for_every_budget(more, tmp_path):
    rows = [f"{s},{v}" for s, v in (("a", 1), ("a", 2), ("b", 2), ("b", 3)) for _ in range(5)]
    table, target = tmp_path / "t.csv", tmp_path / "p.html"
    table.write_text("\n".join(["who,grade", *rows]))
    asked = ("compare", str(table), "--publish", "grade", "--protect", "who", "--epsilon", "1", *more)
    run = CliRunner().invoke(app, [*asked, "--figure", str(target)])
    assert run.exit_code == 0, run.output
    html = target.read_text("utf-8")
    assert "publish “grade” and hide “who”</h1>" in html and ("Rényi" in html) == ("--alpha" in more)
