"""The table of a release of sequences against its prior: more entries, or other gaps, than the prior has are named."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.auditing.examine import examine

NAME = "length of the prior"
ROUTES = {
    "plain": (),
    "gaps": ("--every", "1h", "--gaps", "modelled"),
}


def lines(users, gap=None, length=9, seed=0):
    """Hours of users who come and go; an hour is missing for each one in `gap`."""
    found = ["user,time,place"]
    for u in range(users):
        hours = [h for h in range(length) if gap is None or h not in gap]
        for h in hours:
            place = ("home", "work")[(h * h + h * u + u + seed) // 2 % 2]
            found.append(f"u{u},{datetime(2024, 1, 1) + timedelta(hours=h):%Y-%m-%dT%H:%M},{place}")
    return "\n".join(found) + "\n"


@pytest.fixture(scope="module")
def released(tmp_path_factory):
    folder = tmp_path_factory.mktemp("lengths")
    for kind, route in ROUTES.items():
        gap = (3, 4) if kind == "gaps" else None
        (folder / f"{kind}.ref.csv").write_text(lines(12, gap, 9, 1))
        (folder / f"{kind}.t.csv").write_text(lines(4, gap))
        args = ["release", folder / f"{kind}.t.csv", "--reference", folder / f"{kind}.ref.csv", "--query", "histogram",
                "--by", "user", "--order", "time", "--state", "place", *route, "--smoothing", 1, "--epsilon", 1, "-o",
                folder / f"{kind}.csv", "--no-ledger"]  # fmt: skip
        found = CliRunner().invoke(cli.app, [str(a) for a in args])
        assert found.exit_code == 0, (found.output, found.exception)
    return folder


def line(folder, kind, table):
    checks = examine(folder / f"{kind}.certificate.json", data=table).checks
    return {name: (outcome, why) for name, outcome, why in checks}


@pytest.mark.parametrize("kind", ROUTES)
def test_the_table_that_was_released_fits_its_prior(released, kind):
    found = line(released, kind, released / f"{kind}.t.csv")
    assert found[NAME][0] == "holds" and found["data"][0] == "holds"
    assert NAME not in {name for name, _, _ in examine(released / f"{kind}.certificate.json").checks}


@pytest.mark.parametrize(
    ("kind", "gap", "length", "why"),
    [
        ("plain", None, 10, "a user with 10 entries, and the prior is for 9"),
        ("gaps", (3,), 9, "seen at steps that no pattern"),
        ("gaps", (2, 4), 9, "seen at steps that no pattern"),
    ],
)
def test_longer_sequences_and_other_gaps_are_named(released, tmp_path, kind, gap, length, why):
    (tmp_path / "t.csv").write_text(lines(4, gap, length))
    outcome, said = line(released, kind, tmp_path / "t.csv")[NAME]
    assert outcome == "fails" and why in said and "u0" not in said


def test_what_stands_in_a_state_does_not_matter(released, tmp_path):
    (tmp_path / "t.csv").write_text(lines(4).replace("home", "SENTINEL", 3))
    assert line(released, "plain", tmp_path / "t.csv")[NAME][0] == "holds"
    (tmp_path / "t.csv").write_text(lines(4, (1, 5)).replace("work", ""))
    assert line(released, "plain", tmp_path / "t.csv")[NAME][0] == "holds"  # fewer entries are covered


def test_a_table_that_is_none_of_sequences_fails_and_says_no_cell(released, tmp_path):
    (tmp_path / "t.csv").write_text(lines(4) + "u0,2024-01-01T00:00,SENTINEL\n")  # a time twice
    outcome, said = line(released, "plain", tmp_path / "t.csv")[NAME]
    assert outcome == "fails" and "repeats a time" in said and "SENTINEL" not in said and "2024" not in said
