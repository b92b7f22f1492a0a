"""The least epsilon for an accuracy: a release at it has that error by its own certificate, and one a digit below has
not."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import NotProvable, UsageError
from fugu.session.routes import least_epsilon

CHOL = {"bounds": (100, 300), "step": 5}
ASKED = {
    "means": ([{"query": "mean(chol) by ward", **CHOL}], 0.5),
    "counts": ([{"query": "count(smoker=yes)"}, {"query": "histogram(ward)"}], 2),
    "shares": ([{"query": "proportion(smoker=yes) by ward"}], 0.01),
    "ranks": ([{"query": "median(chol)", **CHOL}], 3),
    "hardly any": ([{"query": "mean(chol)", **CHOL}], 80),
    "the least noise": ([{"query": "count(smoker=yes)"}], 0.76),
}


def table(rows, seed=4):
    rng = np.random.default_rng(seed)
    ill = rng.random(rows) < 0.4
    return {
        "sex": np.where(rng.random(rows) < 0.3 + 0.3 * ill, "F", "M").tolist(),
        "ward": rng.choice(["north", "south"], rows).tolist(),
        "smoker": np.where(rng.random(rows) < 0.2 + 0.4 * ill, "yes", "no").tolist(),
        "chol": (5 * rng.integers(30, 50, rows) + 10 * ill).tolist(),
    }


def largest_error(certificate):
    """E|N| of every number by its definition: the sum of |k| P(N = k), P(N = k) in proportion to e^-(rate |k|); of
    choices the scale in ranks. Nothing of fugu's own arithmetic of errors."""
    worst = 0.0
    for asked in certificate.questions:
        for group, rates in asked.rates.items():
            rows = sum(t.rows for t in certificate.types if asked.by is None or t.groups.get(asked.by) == group)
            rate = float(rates[-1])
            k = np.arange(1, 1 + min(10**6, math.ceil(60 / rate)))
            weights = np.exp(-rate * k)
            step = {"mean": Fraction(5, rows), "proportion": Fraction(1, rows)}.get(asked.kind, Fraction(1))
            found = 1 / rate if asked.kind == "quantile" else 2 * (k @ weights) / (1 + 2 * weights.sum())
            worst = max(worst, float(found) * float(step))
    return worst


def rehearsed(reference, questions, epsilon):
    session = fugu.Session("not there.csv", reference, "sex", fugu.Pure(epsilon), rows=400, ledger=False)
    return session.rehearse(questions, epsilon).certificate


def a_digit_below(epsilon):
    unit = Fraction(10) ** (math.floor(math.log10(epsilon)) - 2)
    return Fraction(str(epsilon)) - (unit if epsilon > unit * 100 else unit / 10)


@pytest.mark.parametrize("kind", ASKED)
def test_the_least_epsilon_reaches_the_error_and_a_digit_less_does_not(kind):
    """Wrong versions: the epsilon of one question when there are several, of one group, rounded to nearest."""
    reference, (questions, error) = table(400), ASKED[kind]
    found = least_epsilon(reference, questions, "sex", error).epsilon
    assert Fraction(str(found)) == Fraction(f"{found:.3g}")
    assert largest_error(rehearsed(reference, questions, found)) <= error * (1 + 1e-9)
    if kind != "hardly any":
        assert largest_error(rehearsed(reference, questions, a_digit_below(found))) > error


def test_what_no_epsilon_reaches_and_what_needs_none_is_said():
    reference = table(300)
    mean, age = {"query": "mean(chol)", **CHOL}, {"query": "count(smoker=yes)"}
    for questions, error, said in (
        ([mean, age], 1, "different units: mean(chol); count(smoker=yes)"),
        (["count by ward"], 1, "public and exact"),
        ([mean], 0, "above 0"),
        ([mean], math.nan, "error"),
    ):
        with pytest.raises(UsageError, match=said.replace("(", r"\(").replace(")", r"\)")):
            least_epsilon(reference, questions, "sex", error)
    with pytest.raises(NotProvable, match=r"no epsilon up to 64 .* at most 0.7: at 64 it is 0.75.*allow_no_noise"):
        least_epsilon(reference, [age], "sex", 0.7)


def test_the_command_says_it_and_what_a_release_at_it_would_show(tmp_path):
    reference = table(400)
    lines = [",".join(reference), *(",".join(map(str, row)) for row in zip(*reference.values(), strict=True))]
    (tmp_path / "last.csv").write_text("\n".join(lines) + "\n")
    line = ["plan", tmp_path / "last.csv", "--protect", "sex", "--query", "mean(chol) by ward", "--bounds", "100,300",
            "--step", "5", "--error", "0.5"]  # fmt: skip
    found = CliRunner().invoke(cli.app, [*map(str, line), "--json"])
    told = json.loads(found.stdout)
    least = least_epsilon(reference, ASKED["means"][0], "sex", 0.5).epsilon
    assert told["epsilon"] == float(least) and told["questions"][0]["records"] <= 0.5
    shown = " ".join(CliRunner().invoke(cli.app, [*map(str, line)]).stdout.split())
    assert (
        f"epsilon {float(least):g} is the least, to three digits, with which every expected error is at most 0.5"
        in shown
    )
    assert list(tmp_path.iterdir()) == [tmp_path / "last.csv"]
