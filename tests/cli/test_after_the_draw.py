"""Clipping and rounding: functions of what goes out, named in every document, and bound with the file."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import BadBudget, FuguError, UsageError
from fugu.mechanism import post
from fugu.question import Question
from fugu.releasing.column_route import followed

EXAMPLES = "src/fugu/examples/"
TODAY, LAST = EXAMPLES + "clinic_today.csv", EXAMPLES + "clinic_reference.csv"
COLUMN = ("--publish", "chol", "--protect", "smoker", "--epsilon", "0.5", "--reference", LAST)
VISITS = {"s": ["a", "b"] * 60, "visit": [f"2020-01-{1 + (i // 2) % 20 + 3 * (i % 2):02d}" for i in range(120)]}
NAMES = {"s": ["a", "b"] * 60, "c": ["x", "y", "z", "x", "y"] * 24}


def run(*words):
    found = CliRunner().invoke(cli.app, [str(word) for word in words], env={"COLUMNS": "300"})
    if isinstance(found.exception, FuguError):
        raise found.exception
    assert found.exit_code == 0, found.output
    return found.stdout


def made(**asked):
    return fugu.calibrate(fugu.Scenario.from_table(VISITS, publish="visit", protect="s", **asked), fugu.Pure(0.5))


def test_released_numbers_are_in_the_range_and_on_the_steps(tmp_path):
    said = run("release", TODAY, *COLUMN, "--clip", "150,250", "--round", "2.5", "--ledger", tmp_path / "l.db", "-o",
               tmp_path / "o.csv")  # fmt: skip
    assert "afterwards: clip(150, 250), round_to(2.5)" in said
    with open(tmp_path / "o.csv") as file:
        numbers = np.array([float(row["chol"]) for row in csv.DictReader(file)])
    assert numbers.min() == 150 and numbers.max() == 250 and np.all(numbers % 2.5 == 0)
    document = json.loads((tmp_path / "o.certificate.json").read_text())
    noise = document["mechanisms"][0]["noise"]
    assert noise["post"] == ["clip(150, 250)", "round_to(2.5)"] and "which costs nothing" in noise["words"]
    verdict = fugu.examine(tmp_path / "o.certificate.json", published=tmp_path / "o.csv", reference=LAST)
    assert verdict.holds and verdict.epsilon <= 0.5
    (tmp_path / "o.csv").write_text((tmp_path / "o.csv").read_text().replace("150", "151", 1))
    assert not fugu.examine(tmp_path / "o.certificate.json", published=tmp_path / "o.csv").holds
    with pytest.raises(FuguError):  # another step is another request, and the table is spent
        run("release", TODAY, *COLUMN, "--clip", "150,240", "--ledger", tmp_path / "l.db", "-o", tmp_path / "p.csv")


def test_nothing_is_paid_and_nothing_else_changes():
    plain = made()
    after = followed(Question(clip="2020-01-05,2020-01-20", round="7"), plain)
    assert after.guarantee == plain.guarantee and after.noise == plain.noise and after.once is plain.once
    assert after.certificate.body["post"] == ["clip(2020-01-05, 2020-01-20)", "round_to(7 days)"]
    assert fugu.verify(after.certificate).holds
    released = after.release(["2020-01-09"] * 300)
    assert set(released.values.tolist()) <= {"2020-01-02", "2020-01-09", "2020-01-16", "2020-01-23"}
    assert followed(Question(), plain) is plain
    named = Question(clip="0,1", round="2").told(None, None, {})
    assert (named["clip"], named["round"]) == ("0,1", "2") and not {"clip", "round"} & set(
        Question().told(None, None, {})
    )


def test_the_interval_of_a_release_knows_of_rounding():
    """Wrong version: the interval of the noise alone, in which a value that was rounded need not lie."""
    plain = made()
    half = plain.interval(0.95)[1]
    assert plain.then(post.round_to(7)).release(["2020-01-09"]).interval == (-half - 3.5, half + 3.5)
    assert made().then(post.clip(0, 10)).release(["2020-01-09"]).interval == (-half, half)


def test_multiples_are_the_nearest_doubles():
    """Wrong version: k * 0.1, which prints 0.30000000000000004."""
    assert post.round_to(0.1)(np.array([0.29, -0.04, 0.7])).tolist() == [0.3, 0.0, 0.7]
    assert post.round_to(0.1).__name__ == "round_to(0.1)" and post.clip(0, 1234567.25).__name__ == "clip(0, 1234567.25)"


@pytest.mark.parametrize(
    ("clip", "step", "error"),
    [("3", None, UsageError), ("2020-01-05", None, UsageError), ("2020-01-05,2020-01-01", None, UsageError),
     ("2020-01-05,soon", None, UsageError), ("1,2", None, UsageError), ("a,b,c", None, UsageError),
     (None, "0", BadBudget), (None, "inf", BadBudget), (None, "week", BadBudget)],
)  # fmt: skip
def test_what_is_asked_wrongly(clip, step, error):
    with pytest.raises(error, match="two dates, .*the lower first" if step is None else "--round"):
        followed(Question(clip=clip, round=step), made())


def test_names_and_statistics_are_not_clipped(tmp_path):
    schema = fugu.Schema({"c": {"kind": "category", "values": ["x", "y", "z"]}})
    scenario = fugu.Scenario.from_table(NAMES, publish="c", protect="s", schema=schema)
    named = fugu.optimal_channel(scenario, fugu.Pure(0.01))
    with pytest.raises(UsageError, match="no order"):
        followed(Question(clip="0,1"), named)
    with pytest.raises(UsageError, match="--clip: for columns only"):
        run(
            "release",
            TODAY,
            "--query",
            "mean(chol)",
            *COLUMN[2:],
            "--clip",
            "0,1",
            "--no-ledger",
            "-o",
            tmp_path / "o.csv",
        )
