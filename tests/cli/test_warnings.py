"""The commands say aloud when a budget is no protection."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))
from test_commands import Result, release, small

from release_files import certificate_of

__all__ = ["small"]  # a fixture
COLUMNS = ["--publish", "v", "--protect", "s"]


def words(result):
    assert result.code == 0
    return " ".join(result.out.split())


@pytest.mark.parametrize("command", ["compare", "calibrate"])
def test_before_a_release_the_rows_are_those_of_the_reference(small, command):
    loud = [command, small / "ref.csv", *COLUMNS, "--epsilon", "11", "--delta", "0.006"]
    said = words(Result(*loud))
    assert "warning: epsilon 11 is hardly any protection" in said
    assert "warning: delta 0.006 is above 1/rows (a table of 200 rows)" in said
    told = json.loads(Result(*loud, "--json").out)["warnings"]
    assert [w[:5] for w in told[:2]] == ["epsil", "delta"]
    quiet = [command, small / "ref.csv", *COLUMNS, "--epsilon", "0.5", "--delta", "0.005"]
    assert "warning: delta" not in words(Result(*quiet))


def test_a_release_counts_its_own_rows(small):
    """60 rows: 0.01 is below 1/60, 0.02 above."""
    for delta, loud in (("0.01", False), ("0.02", True)):
        (small / "out.csv").unlink(missing_ok=True)
        for options in (("--dry-run", "--rows", "60"), ("--json",)):
            result = release(small, "--delta", delta, *options, "--no-ledger")
            assert ("above 1/rows (a table of 60 rows)" in words(result)) == loud
        assert ("above 1/rows" in (small / "out.report.html").read_text()) == loud
        for file in small.glob("out.*"):
            file.unlink()


def test_verify_works_the_warnings_out_anew(small):
    assert "warning: epsilon 12" in words(release(small, "--allow-no-noise", epsilon="12"))
    path = small / "out.certificate.json"
    assert "warning: epsilon 12" in words(Result("verify", path))
    assert "epsilon 12" in json.loads(Result("verify", path, "--json").out)["warnings"][0]
    assert "epsilon 12" in certificate_of(path).body["warnings"][0]


QUERY = ("--query", "mean(v)", "--bounds", "0,6", "--protect", "s", "--epsilon", "100")
HIDING = ("--hide", "s=a", "--statistics", "mean(v)", "--bounds", "v:0:6", "--shares", "0.4,0.5", "--epsilon", "100")
EVERY = {
    "statistics": ("release", "today.csv", *QUERY, "--reference", "ref.csv", "--no-ledger", "--allow-no-noise"),
    "statistics, rehearsed": ("release", *QUERY, "--reference", "ref.csv", "--dry-run", "--allow-no-noise"),
    "a property, rehearsed": ("release", *HIDING, "--reference", "ref.csv", "--size", "60", "--dry-run",
                              "--allow-no-noise"),
    "statistics compared": ("compare", "ref.csv", *QUERY),
    "a plan": ("plan", "ref.csv", *COLUMNS, "--error", "0.0000001"),
}  # fmt: skip


@pytest.mark.parametrize("asked", EVERY.values(), ids=EVERY)
def test_every_route_says_so_on_the_screen_and_in_json(small, asked):
    """Wrong version: only the page says it."""
    words_of = [small / word if word.endswith(".csv") else word for word in asked]
    more = ("-o", small / "loud.csv", "--force") if asked[0] == "release" else ()
    assert "is hardly any protection" in words(Result(*words_of, *more))
    told = json.loads(Result(*words_of, *more, "--json").out)
    assert sum("is hardly any protection" in line for line in told["warnings"]) == 1
