"""`--mechanism optimal` on the command line, and columns of categories without an order."""

from __future__ import annotations

import csv
import json

import numpy as np
import pytest
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.errors import FuguError


def call(*args):
    """(exit code, stdout, message) of a command."""
    found = CliRunner().invoke(cli.app, [str(a) for a in args])
    if isinstance(found.exception, FuguError):
        return found.exception.exit_code, found.stdout, str(found.exception)
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, " ".join(found.stdout.split()), ""


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("FUGU_LEDGER", str(tmp_path / "ledger.db"))
    rng = np.random.default_rng(4)
    for name, rows in (("ref.csv", 600), ("today.csv", 80)):
        secret = rng.integers(0, 2, rows)
        lines = ["s,v,job"]
        for s in secret.tolist():
            v = int(rng.choice(5, p=[0.4, 0.3, 0.15, 0.1, 0.05] if s else [0.05, 0.1, 0.15, 0.3, 0.4]))
            job = rng.choice(["cook", "clerk", "nurse"], p=[0.6, 0.3, 0.1] if s else [0.2, 0.3, 0.5])
            lines.append(f"{'ab'[s]},{v},{job}")
        (tmp_path / name).write_text("\n".join(lines) + "\n")
    values = '["cook", "clerk", "nurse", "pilot"]'
    (tmp_path / "schema.toml").write_text(f'[schema.columns.job]\nkind = "category"\nvalues = {values}\n')
    return tmp_path


V = ["--publish", "v", "--protect", "s", "--epsilon", "1"]
JOB = ["--publish", "job", "--protect", "s", "--epsilon", "1"]


def test_calibrate_says_what_the_channel_does_and_warns(folder):
    code, out, _ = call("calibrate", folder / "ref.csv", *V, "--mechanism", "optimal", "-o", folder / "c.json")
    assert (
        code == 0 and "A channel of 5 values and 5 outputs" in out and "no channel with these outputs is below" in out
    )
    assert "beliefs a little off may lose everything" in out and "values go out as they are" in out
    assert fugu.verify(folder / "c.json").holds
    code, out, _ = call("calibrate", folder / "ref.csv", *V, "--mechanism", "optimal", "--loss", "squared", "--json")
    found = json.loads(out)
    assert found["loss"] == "squared" and found["lower_bound"] <= found["expected_loss"] and found["scale"] is None
    capped = json.loads(call("calibrate", folder / "ref.csv", *V, "--mechanism", "optimal", "--cap", "2", "--json")[1])
    assert capped["any_belief"] <= 2.0000001 and capped["cap"] == 2.0


def test_release_publishes_and_verifies_through_the_ledger(folder):
    args = [
        folder / "today.csv",
        "--reference",
        folder / "ref.csv",
        *V,
        "--mechanism",
        "optimal",
        "--allow-no-noise",
        "-o",
    ]
    code, out, _ = call("release", *args, folder / "out.csv", "--report", folder / "before.html")
    assert code == 0 and "wrote" in out
    with (folder / "out.csv").open() as lines:
        assert {row["v"] for row in csv.DictReader(lines)} <= {
            "0",
            "1",
            "2",
            "3",
            "4",
            "0.0",
            "1.0",
            "2.0",
            "3.0",
            "4.0",
        }
    assert fugu.verify(folder / "out.certificate.json").holds
    document = fugu.ReleaseDocument.load(folder / "out.certificate.json")
    assert document["mechanisms"][0]["noise"]["kind"] == "channel" and document["ledger"] is not None
    for page in ("before.html", "out.report.html"):
        text = (folder / page).read_text(encoding="utf-8")
        assert "What becomes of each value" in text and "beliefs a little off may lose everything" in text
        assert "<script" not in text and "channel-chart-0" in text
    again, _, said = call("release", *args, folder / "other.csv", "--request", "another")
    assert again != 0 and said  # a second release of the same data is refused


def test_another_loss_is_another_request(folder):
    args = ["release", folder / "today.csv", "--reference", folder / "ref.csv", *V, "--mechanism", "optimal"]
    code, _, said = call(*args, "-o", folder / "out.csv")
    assert code == 3 and "mostly 0: exact" in said  # a channel that keeps most values is told, before it is charged
    args.append("--allow-no-noise")
    assert call(*args, "-o", folder / "out.csv")[0] == 0
    code, _, said = call(*args, "--loss", "zero-one", "-o", folder / "out2.csv")
    assert (code != 0 and "released" in said) or code != 0


def test_a_rehearsal_is_refused_as_the_release_is_and_what_is_advised_works(folder):
    """It was recommended and rehearsed, and then refused, with a smaller epsilon as advice that did not help."""
    args = ["release", folder / "today.csv", "--reference", folder / "ref.csv", *V, "--mechanism", "optimal"]
    (code, _, said), (_, _, after) = (call(*args, *more, "-o", folder / "r.csv") for more in (["--dry-run"], []))
    assert code == 3 and said == after and "mostly 0: exact" in said and "smaller epsilon" not in said
    assert "cap=1.09" in said and call(*args, "--cap", "1.09", "--dry-run")[0] == 0
    assert call(*args, "--allow-no-noise", "--dry-run")[0] == 0
    code, out, _ = call("compare", folder / "ref.csv", *V, "--json")
    levers = {lever["option"]: lever["price"] for lever in json.loads(out)["usable"]["levers"]}
    assert code == 0 and levers["--mechanism optimal"].endswith("needs --allow-no-noise")


def test_compare_and_plan_take_the_channel_too(folder):
    code, out, _ = call("compare", folder / "ref.csv", *V, "--mechanism", "optimal", "--json")
    found = json.loads(out)
    assert code == 0 and found["best"] != "optimal-channel"  # never taken by itself
    row = next(row for row in found["beside"] if row["method"] == "optimal-channel")
    assert row["proven"] and "little off" in row["note"]
    plan = ["plan", folder / "ref.csv", "--publish", "v", "--protect", "s", "--error", "0.2", "--json"]
    channel, noise = (json.loads(call(*plan, *more)[1]) for more in (["--mechanism", "optimal"], []))
    assert channel["epsilon"] < noise["epsilon"] and channel["error"] <= 0.2 and channel["scale"] is None
    said = call(*plan[:-1])[1]
    assert f"Verdict: {noise['verdict']}" in " ".join(said.split()) and "fugu compare --epsilon" in said


def test_names_go_out_and_noise_on_them_does_not(folder):
    schema = ["--schema", folder / "schema.toml"]
    args = [folder / "today.csv", "--reference", folder / "ref.csv", *JOB, *schema]
    code, _, said = call("release", *args, "-o", folder / "job.csv")
    assert code == 3 and "mostly 0" in said
    assert call("release", *args, "--allow-no-noise", "-o", folder / "job.csv")[0] == 0
    with (folder / "job.csv").open() as lines:
        assert {row["job"] for row in csv.DictReader(lines)} <= {"cook", "clerk", "nurse", "pilot"}
    assert fugu.verify(folder / "job.certificate.json").holds
    code, out, _ = call("audit", folder / "job.certificate.json", "--draws", "20000")
    assert code == 0 and "through files" in out
    code, _, said = call("calibrate", folder / "ref.csv", *JOB, *schema, "--noise", "laplace")
    assert code == 2 and "no order" in said
    code, out, _ = call("compare", folder / "ref.csv", *JOB, *schema, "--json")
    assert [row["method"] for row in json.loads(out)["rows"]] == ["optimal-channel"]


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--mechanism", "best"], "noise"),
        (["--loss", "squared"], "--mechanism optimal"),
        (["--mechanism", "optimal", "--noise", "laplace"], "leave out --noise"),
        (["--mechanism", "optimal", "--method", "exact"], "leave out --noise"),
        (["--mechanism", "optimal", "--grid", "1"], "leave out --noise"),
        (["--mechanism", "optimal", "--loss", "cubic"], "cubic"),
        (["--mechanism", "optimal", "--cap", "-1"], "cap"),
        (["--mechanism", "optimal", "--alpha", "2"], "Pure"),
    ],
)
def test_options_that_do_not_go_together(folder, more, said):
    code, _, message = call("calibrate", folder / "ref.csv", *V, *more)
    assert code in (2, 3, 4) and said in message


def test_a_cap_is_kept_by_noise_too(folder):
    free, capped = (
        json.loads(call("calibrate", folder / "ref.csv", *V, *more, "--json")[1]) for more in ([], ["--cap", "2"])
    )
    assert capped["scale"] > free["scale"] and capped["promise"].endswith("epsilon 2 against anybody")
    for command in ("compare", "plan"):
        more = ["--error", "1"] if command == "plan" else []
        words = [word for word in V if command != "plan" or word not in ("--epsilon", V[-1])]
        code, _, said = call(command, folder / "ref.csv", *words, *more, "--cap", "2")
        assert code == 2 and "--cap" in said


def test_options_of_columns_are_refused_elsewhere(folder):
    args = ["release", folder / "today.csv", "--reference", folder / "ref.csv", "--query", "mean(v)", "--protect", "s"]
    code, _, said = call(*args, "--epsilon", "1", "--mechanism", "optimal", "-o", folder / "out.csv")
    assert code == 2 and "--mechanism" in said
