"""`--noise atoms`, `--remap` and the second table of `fugu compare` on the command line."""

from __future__ import annotations

import json

import numpy as np
import pytest
from test_commands import COLUMNS, REFERENCE, Result, release

import fugu


@pytest.fixture
def small(tmp_path):
    """A reference and a private table with two secrets and five values."""
    rng = np.random.default_rng(0)
    for name, count in (("ref.csv", 200), ("today.csv", 60)):
        rows = [f"{i},{'ab'[i % 2]},{rng.integers(0, 4) + i % 2}" for i in range(count)]
        (tmp_path / name).write_text("\n".join(["id,s,v", *rows]) + "\n")
    return tmp_path


def test_a_remapped_column_is_released_certified_and_verified(small):
    result = release(small, "--noise", "atoms", "--remap", "absolute", "--no-ledger")
    assert result.code == 0 and "least absolute loss" in result.out
    drawn = np.loadtxt(small / "out.csv", skiprows=1)
    assert set(drawn) <= {0, 1, 2, 3, 4}
    checked = Result("verify", small / "out.certificate.json", "--twice", "--json")
    assert checked.code == 0 and json.loads(checked.out)["holds"]
    assert "Laplace noise on the known values" in (small / "out.certificate.json").read_text()
    assert "least expected absolute loss" in (small / "out.report.html").read_text()


def test_a_weight_counted_in_the_private_table_is_refused_and_nothing_is_written(small):
    result = release(small, "--remap", "absolute", "--no-ledger", source="--public-prior")
    assert result.code == 3 and "declared" in result.message
    assert not (small / "out.csv").exists()


@pytest.mark.parametrize(
    ("more", "says"),
    [(["--remap", "median"], "loss 'median'"), (["--noise", "atom"], "noise 'atom'")],
)
def test_a_name_that_there_is_not_is_refused_with_those_that_there_are(small, more, says):
    result = release(small, *more, "--no-ledger")
    assert result.code == 2 and says in result.message and ("squared" in result.message or "atoms" in result.message)


def test_a_statistic_takes_no_remap(small):
    given = ["--query", "mean(v)", "--protect", "s", "--epsilon", "1", "--reference", small / "ref.csv", "--no-ledger"]
    result = Result("release", small / "today.csv", *given, "--remap", "absolute", "-o", small / "out.csv")
    assert result.code == 2 and "--remap" in result.message


def test_calibrate_tells_the_remap_and_its_error():
    plain, moved = (
        json.loads(Result("calibrate", REFERENCE, *COLUMNS, "--epsilon", "0.5", *more, "--json").out)
        for more in (["--noise", "atoms"], ["--noise", "atoms", "--remap", "squared"])
    )
    assert plain["noise"] == moved["noise"] == "atoms" and plain["scale"] == moved["scale"]
    assert plain["remap"] is None and moved["remap"] == "squared"
    assert moved["expected_squared_error"] < plain["expected_squared_error"]


def test_compare_says_how_far_each_way_is_from_the_limit():
    shown = Result("compare", REFERENCE, *COLUMNS, "--epsilon", "0.5")
    assert all(word in shown.out for word in ("How far from the limit", "constant", "remapped", "x limit", "11.36"))
    found = json.loads(Result("compare", REFERENCE, *COLUMNS, "--epsilon", "0.5", "--json").out)
    ratios = {row["method"]: row["times_limit"] for row in (*found["rows"], *found["beside"])}
    assert ratios["limit"] == 1 < ratios["remapped"] < ratios["atoms"] < ratios["exact"] < ratios["l1"]
    scenario = fugu.Scenario.from_table(REFERENCE, publish="chol", protect="smoker")
    assert fugu.compare(scenario, fugu.Pure(0.5)).limit == pytest.approx(2.2185001, rel=1e-7)
