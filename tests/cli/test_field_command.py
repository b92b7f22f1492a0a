"""`fugu field`: what it prints is what Python says, and what it cannot do it says."""

from __future__ import annotations

import json

import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import FuguError

FIELD = fugu.GaussianField([[1, 0.5], [0.5, 2]], width=0.25)


def run(*args):
    found = CliRunner().invoke(cli.app, ["field", *map(str, args)], env={"COLUMNS": "200"})
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code, str(found.exception)
    return found.exit_code, found.stdout


def test_a_covariance_from_a_file(tmp_path):
    (tmp_path / "c.csv").write_text("1, .5\n0.5,2\n")
    code, text = run(
        tmp_path / "c.csv", "--width", "0.25", "--rho", "0.01", "--epsilon", "1", "--delta", "1e-5", "--json"
    )
    told = json.loads(text)
    assert code == 0 and told["entries"] == 2 and told["influence"][0]["rho"] == fugu.influence(FIELD).rho(1)
    worth = fugu.translate(FIELD, fugu.ZCDP(0.01))
    assert told["worth"]["worth"]["rho"] == worth.rho
    assert told["worth"]["approximately"]["epsilon"] == worth.to_approx(1e-5).epsilon
    assert told["kept"]["rho per entry"] == fugu.dp_budget(FIELD, fugu.Approx(1, 1e-5)).rho
    code, text = run(tmp_path / "c.csv", "--width", "0.25", "--rho", "0.01", "--budget", "0.1")
    assert code == 0 and "rho 0.01 for each entry is worth rho" in text and "to keep rho 0.1 (zCDP)" in text


def test_a_sequence_that_is_described():
    code, text = run("--ar1", "0.5", "--entries", "12", "--width", "0.2", "--json")
    field = fugu.GaussianField.ar1(12, 0.5, width=0.2)
    assert code == 0 and [p["rho"] for p in json.loads(text)["influence"]][:2] == [
        fugu.influence(field).rho(b) for b in (1, 2)
    ]


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--ar1", "0.5", "--entries", "3"], "give --width"),
        (["--width", "1"], "give COV.csv, or --ar1"),
        (["none.csv", "--width", "1"], "there is no file"),
        (["--ar1", "0.5", "--width", "1"], "--ar1 needs --entries"),
        (["--ar1", "2", "--entries", "3", "--width", "1"], "-1 < rho < 1"),
        (["--ar1", "0.5", "--entries", "3", "--width", "0"], "above 0"),
        (["--ar1", "0.5", "--entries", "3", "--width", "1", "--budget", "1", "--epsilon", "1"], "not both"),
    ],
)
def test_wrong_use_is_said(args, said):
    code, message = run(*args)
    assert code == 2 and said in message


def test_a_file_that_is_no_covariance(tmp_path):
    for content in ("a,b\n1,2\n", "1,2\n3\n", "", "1,2\n2,1\n"):
        (tmp_path / "c.csv").write_text(content)
        code, message = run(tmp_path / "c.csv", "--width", "1")
        assert code in (2, 4) and ("number" in message or "covariance" in message)
