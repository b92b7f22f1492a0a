"""One private record of dates, whatever it holds, moves its own contribution and nothing else; nor do secrets that are
spelt, clipping and rounding let it say anything."""

from __future__ import annotations

import json
from datetime import date, timedelta

import numpy as np
import pytest
from hostile import CELLS, CONTAINERS, TEXTS, random_cell
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
from fugu.data import Schema
from fugu.data.column import Raw
from fugu.data.field import Field
from fugu.publication.releasing import open_column
from fugu.scenario.query import ColumnQuery
from hunting import search

N, ROW = 120, 11
REFERENCE = {
    "s": ["a", "b"] * (N // 2),
    "visit": [(date(2020, 1, 1) + timedelta(days=5 * i % 40)).isoformat() for i in range(N)],
    "born": [(date(1940, 1, 1) + timedelta(days=97 * i)).isoformat() for i in range(N)],
}
TODAY = {name: [cells[(7 * i + 3) % N] for i in range(24)] for name, cells in REFERENCE.items()}
DATES = (*CELLS[::3], "2020-01-03", "2020-01-03T25:00", "0001-01-01", "9999-12-31T23:59:59+14:00", "0000-00-00",
         "2020-1-1", np.datetime64("2020-01-01"), np.datetime64(2**62, "Y"), date.min,
         "2020-01-01T00:00" + "0" * 30)  # fmt: skip
ASKED = (
    {"protect": "s"},
    {"protect": "born<1943-01-01"},
    {"protect": "s=a", "bins": ["2020-01-01", "2020-01-15", "2020-03-01"]},
    {"protect": "s!=a", "bins": 4, "missing": "drop"},
    {"protect": "born:1943-01-01,1955-01-01", "missing": "2020-01-09"},
    {
        "protect": "s",
        "schema": Schema(
            {"visit": {"kind": "time", "bounds": ["2020-01-01", "2020-02-20"], "step": 7, "outside": "missing"}}
        ),
    },
)


def mechanism(**asked):
    return fugu.calibrate(fugu.Scenario.from_table(REFERENCE, publish="visit", **asked), fugu.Pure(0.5))


def column_of(made, table):
    return ColumnQuery.from_json(made.context.query).of_private(open_column(made, table))


def replaced(cell):
    return {**TODAY, "visit": [*TODAY["visit"][:ROW], cell, *TODAY["visit"][ROW + 1 :]]}


ROUTES = [(k, container) for k in range(len(ASKED)) for container in CONTAINERS[k % 3 :: 3]]
"""Every question with a third of the containers, every container with two questions."""


@pytest.mark.parametrize(("k", "container"), ROUTES, ids=lambda x: getattr(x, "__name__", str(x)))
def test_one_date_moves_its_own_row_alone(k, container, tmp_path):
    """Wrong version: an engine's type, or a day beyond the calendar, changes how the other rows are read."""
    made = mechanism(**ASKED[k])
    base = column_of(made, container(TODAY, tmp_path))
    for cell in DATES:
        table = container(replaced(cell), tmp_path)
        if table is None:
            continue
        found = column_of(made, table)
        assert found.shape == base.shape and found.dtype == base.dtype
        assert np.array_equal(np.delete(found, ROW), np.delete(base, ROW), equal_nan=True), repr(cell)[:60]


def test_dates_of_a_frame_are_those_of_a_file():
    pd, pl = pytest.importorskip("pandas"), pytest.importorskip("polars")
    made = mechanism(protect="s")
    base = column_of(made, TODAY)
    days = [date.fromisoformat(day) for day in TODAY["visit"]]
    for visits in (days, np.array(TODAY["visit"], dtype="datetime64[ns]"), pd.to_datetime(TODAY["visit"]),
                   pl.Series(days), pl.Series(days).cast(pl.Datetime("us", "UTC"))):  # fmt: skip
        assert np.array_equal(column_of(made, {**TODAY, "visit": visits}), base)


@search("cells of dates", quick=100)
def test_no_random_cell_is_refused(rng):
    field = Field.of("d", {"kind": "time", "bounds": ["2020-01-01", "2021-01-01"], "step": 3})
    read = field.read("d", Raw.of("d", [random_cell(rng)]))
    assert len(read) == 1
    assert read.missing[0] or 18262 <= read.values[0] <= 18628


def test_no_cell_changes_a_message_a_code_or_a_certificate_of_the_command(tmp_path):
    def written(name, table):
        lines = [",".join(table), *(",".join(f'"{x}"' for x in row) for row in zip(*table.values(), strict=True))]
        (tmp_path / name).write_text("\n".join(lines) + "\n")
        return str(tmp_path / name)

    asked = ["--publish", "visit", "--protect", "s=a", "--epsilon", "0.5", "--reference", written("r.csv", REFERENCE),
             "--clip", "2020-01-01,2020-02-09", "--round", "7", "-o", str(tmp_path / "o.csv"), "--dry-run",
             "--json"]  # fmt: skip
    seen = set()
    for cell in ("2020-01-09", *[x for x in TEXTS if '"' not in x and "\n" not in x and "\x00" not in x][:12]):
        found = CliRunner().invoke(cli.app, ["release", written("t.csv", replaced(cell)), *asked])
        assert found.exit_code == 0, found.output
        seen.add(found.stdout)
    (told,) = seen
    assert json.loads(told)["post"] == ["clip(2020-01-01, 2020-02-09)", "round_to(7 days)"]
