"""`fugu.describe`: what a column may be used for is said of every kind, the same in every frame and file, with reasons
that releases share.

Wrong versions that are rejected: a running number, or text that names rows, is called usable row by row; ten ages that
happen to differ are called a running number; a column of lists refuses the table; a reason is formatted with a column's
own name; the verdict of a release calls a running number usable."""

from __future__ import annotations

import csv
import itertools
import json
import random
import re
from contextlib import chdir
from datetime import date, datetime, timedelta
from datetime import time as clock

import numpy as np
import pandas as pd
import polars as pl
import pytest

import fugu
from fugu.data.uses import HEAD, USES, numbers_rows, texts
from fugu.errors import BadTable, ColumnNotFound
from golden.doors import command, screens

DRAW, N = random.Random(7), 400
WORDS = ["the", "ward", "was", "full", "and", "nobody", "came", "to", "see", "him", "today"]
COLUMNS = {
    "id": list(range(1000, 1000 + N)),
    "name": [f"N-{k:04d}" for k in range(N)],
    "note": [" ".join(DRAW.choice(WORDS) for _ in range(9)) for _ in range(N)],
    "day": [(date(2020, 1, 1) + timedelta(days=DRAW.randrange(200))).isoformat() for _ in range(N)],
    "seen": [datetime(2020, 1, 1) + timedelta(hours=k) for k in range(N)],
    "clock": [clock(k % 24) for k in range(N)],
    "income": [DRAW.randrange(10_000, 90_000) for _ in range(N)],
    "home": [7 + k // 4 for k in range(N)],
    "share": [DRAW.random() for _ in range(N)],
    "code": [DRAW.randrange(3) for _ in range(N)],
    "ward": [DRAW.choice("nsw") for _ in range(N)],
    "zip": [f"Z{DRAW.randrange(60)}" for _ in range(N)],
    "ok": [True, False] * (N // 2),
    "half": [k if k % 2 else None for k in range(N)],
    "same": ["x"] * N,
    "gone": [None] * N,
    "{0} {x}": ["a", "b"] * (N // 2),
}
KINDS = {
    "id": "running", "name": "names", "note": "text", "day": "dates", "seen": "dates", "clock": "times",
    "income": "numbers", "home": "shared", "share": "numbers", "code": "numbers", "ward": "categories",
    "zip": "categories", "ok": "categories", "half": "running", "same": "constant", "gone": "nothing",
    "{0} {x}": "categories",
}  # fmt: skip
SEEN = fugu.describe(COLUMNS)


def may(column):
    return {use: may for use, (may, _) in SEEN[column].uses.items()}


def test_every_kind_is_known_and_every_no_and_if_has_a_reason():
    assert {row.column: row.kind for row in SEEN.rows} == KINDS
    for row in SEEN.rows:
        assert set(row.uses) == set(USES)
        for found, why in row.uses.values():
            assert (found == "yes") == (why == "") and (found == "if") == why.startswith("if "), (row.column, why)
    assert set(KINDS.values()) | {"unread", "counts"} == set(texts())


def test_a_number_that_as_many_rows_share_each_is_no_cut_to_hide():
    """Rejects: a secret such as home>=57, and a measurement with ties called a name."""
    assert SEEN["home"].what == f"whole numbers 7 to {6 + N // 4}, 4 rows each"
    assert ">=" not in SEEN["home"].why("protect") and "households" in SEEN["home"].why("protect")
    ties = {"hour": [k % 24 for k in range(480)], "age": [18 + k * k % 61 for k in range(480)]}
    assert {row.kind for row in fugu.describe({**ties, "wide": [k // 4 * 9 for k in range(480)]}).rows} == {"numbers"}


def test_what_names_rows_is_for_nothing_but_that():
    for name in ("id", "name"):
        assert [use for use, found in may(name).items() if found == "yes"] == ["unit"] + ["order"] * (name == "id")
    assert set(may("note").values()) == set(may("same").values()) == set(may("gone").values()) == {"no"}
    assert may("half")["unit"] == "if" and "200 of its cells" in SEEN["half"].why("unit")
    assert SEEN.usable("unit") == ("id", "name")
    assert "publish" not in {use for use, _ in SEEN.reasons() if "gone" in _}  # said once, not for every use


def test_numbers_that_happen_to_differ_are_no_running_number():
    """By chance 9 ages differ with probability 0.6, 400 incomes of 80,000 with 0.37."""
    assert not numbers_rows(np.arange(18, 90, 8), 9) and may("income")["publish"] == "yes"
    ages = fugu.describe({"age": [18, 25, 31, 44, 52, 60, 71, 78, 83, 90]})
    assert ages["age"].kind == "numbers"
    assert fugu.describe({"x": [k * 7 for k in range(300)]})["x"].kind == "running"


def test_what_makes_a_column_usable_is_accepted_by_the_library():
    """A suggestion that is refused is worse than none."""
    for name in ("income", "share", "day"):
        for text in SEEN[name].why("protect").split('"')[1::2]:
            fugu.Scenario.from_table(COLUMNS, publish="code", protect=text)
    (hidden,) = SEEN["zip"].why("protect").split('"')[1::2]
    fugu.Scenario.from_table(COLUMNS, publish="code", protect=hidden)
    assert SEEN["ward"].uses["protect"] == SEEN["ward"].uses["query"] == SEEN["ward"].uses["by"] == ("yes", "")
    few = fugu.describe({"ill": ["yes"] * 4 + ["no"] * 400})["ill"]
    assert few.uses["protect"][0] == "if" and "4 rows for 'yes'" in few.why("protect")
    assert "at most 1000" in fugu.describe({"s": [f"k{k % 1500}" for k in range(3000)]})["s"].why("protect")


def test_frames_and_files_of_any_kind_say_the_same(tmp_path):
    told = SEEN.to_json()
    frames = {"pandas": pd.DataFrame(COLUMNS), "polars": pl.DataFrame(COLUMNS), "lazy": pl.LazyFrame(COLUMNS)}
    for kind, frame in frames.items():
        found = fugu.describe(frame).to_json()
        for before, after in zip(told["columns"], found["columns"], strict=True):
            assert before == after, kind
    parts = [name for name in COLUMNS if name not in ("seen", "clock", "gone")]
    frames["polars"].select(parts).write_parquet(tmp_path / "r.parquet")
    with open(tmp_path / "r.csv", "w", newline="") as file:
        csv.writer(file).writerows([parts, *zip(*(COLUMNS[name] for name in parts), strict=True)])
    for name in ("r.parquet", "r.csv"):
        found = fugu.describe(tmp_path / name)
        assert {row.column: row.kind for row in found.rows} == {name: KINDS[name] for name in parts}, name


@pytest.mark.parametrize("rows", [0, 1, 2])
def test_small_and_empty_tables_and_cells_of_any_kind(rows):
    cells = {"a": [1, 2], "b": ["x", "y"], "c": [None, None], "d": [b"x", [1]], "e": [float("inf"), float("nan")]}
    found = fugu.describe({name: each[:rows] for name, each in cells.items()})
    assert found.records == rows and len(found.rows) == 5 and str(found)
    assert "inf" not in found["a"].what and (not rows or found["d"].kind == "unread")
    assert all(not found.usable(use) for use in USES) or rows == 2
    with pytest.raises(BadTable):
        fugu.describe({})
    with pytest.raises(ColumnNotFound, match="'a'"):
        _ = found["aa"]


def test_it_prints_and_goes_out_as_json_frame_notebook_and_command(tmp_path):
    hostile = {
        "a\x1b[2J": ["\u202ex", "y"] * (N // 2),
        **{name: cells for name, cells in COLUMNS.items() if name != "seen"},
    }
    shown = str(fugu.describe(hostile))
    assert "\x1b" not in shown and "\u202e" not in shown and "a\\x1b[2J" in shown
    frame = SEEN.to_frame("dict")
    assert frame["publish"] == [row.uses["publish"][0] for row in SEEN.rows] and len(frame["column"]) == len(COLUMNS)
    assert "names the row" in SEEN._repr_html_() and "<table" in SEEN._repr_html_()
    pd.DataFrame({"id": COLUMNS["id"], "ward": COLUMNS["ward"]}).to_csv(tmp_path / "r.csv", index=False)
    with chdir(tmp_path), screens(120):
        code, said, _ = command("describe", "r.csv", "--json")
        assert code == 0 and json.loads(said) == fugu.describe("r.csv").to_json()
        code, said, _ = command("describe", "r.csv")
        assert code == 0 and all(name in said for name in HEAD) and "names the row" in " ".join(said.split())


def test_a_release_says_the_same_of_a_running_number_and_never_calls_it_usable():
    reason = SEEN["id"].why("publish")
    scenario = fugu.Scenario.from_table(COLUMNS, publish="id", protect="ward")
    mechanism = fugu.calibrate(scenario, fugu.Pure(1))
    assert mechanism.noise.scale < 100  # noise is small beside the spread of 1,000 numbers
    verdict = fugu.usable(mechanism, scenario).verdict
    assert reason in verdict and "usable" not in verdict
    assert "usable" in fugu.usable(fugu.calibrate(
        fugu.Scenario.from_table(COLUMNS, publish="income", protect="ok"), fugu.Pure(5)
    )).verdict  # fmt: skip


@pytest.mark.parametrize("asked", [("--query", "mean(id)"), ("--publish", "id"), ("--query", "count(ward=n) by name"),
                                   ("--query", "mean(id)", "--route", "law", "--allow-no-noise")])  # fmt: skip
def test_a_dry_run_warns_in_the_same_words(asked, tmp_path):
    pd.DataFrame({name: COLUMNS[name] for name in ("id", "name", "ward", "ok")}).to_csv(tmp_path / "r.csv", index=False)
    words = ("release", "--reference", "r.csv", "--protect", "ok", "--epsilon", "1", "--dry-run")
    with chdir(tmp_path), screens(300):
        code, said, why = command(*words, *asked)
    use = "publish" if asked[0] == "--publish" else "by" if " by " in asked[1] else "query"
    assert code == 0 and SEEN["name" if use == "by" else "id"].why(use) in " ".join(said.split()), (said, why)


def test_cuts_that_are_shown_have_rows_on_both_sides():
    """A cut at the lowest value, which most rows have, is true of every row."""
    table = {"s": ["a", "b"] * 40, "v": [0] * 70 + [1, 1, 1, 1, 1, 2, 2, 2, 3, 4]}
    text = fugu.describe(table)["v"].uses["protect"][1]
    cut, first, last = re.search(r'"v>=(\d+)" or "v:(\d+),(\d+)"', text).groups()
    assert int(cut) > 0 and 0 < int(first) < int(last)
    fugu.Session(table, table, f"v>={cut}", fugu.Pure(1), public=("s",))


def test_cuts_are_shown_wherever_most_rows_are():
    """Also where most rows have the highest value, beyond which there is nothing to cut at."""
    for counts in itertools.product((1, 2, 29), repeat=4):
        table = {"v": [float(v) for v, count in enumerate(counts) for _ in range(count)]}
        text = fugu.describe(table)["v"].uses["protect"][1]
        cut, first, last = map(int, re.search(r'"v>=(\d+)" or "v:(\d+),(\d+)"', text).groups())
        assert 0 < cut <= 3 and 0 < first < last <= 3, counts


def test_a_decimal_comma_is_seen_said_and_written_into_the_scenario(tmp_path):
    """And none where a number has a point, or where commas mark thousands: a wrong mark would lose every number."""
    rows = [("a" if k % 2 else "b", f"{k % 7},5", str(k % 9)) for k in range(200)]
    text = "\n".join(["s;v;n", *map(";".join, rows)])
    (tmp_path / "comma.csv").write_text(text)
    (tmp_path / "today.csv").write_text(text.replace("1,5", "2,5"))
    with chdir(tmp_path):
        seen = fugu.describe("comma.csv")
        assert seen["v"].what == "numbers 0.5 to 6.5" and "decimal comma" in seen.title in str(seen)
        code, *_ = command("init", "comma.csv", "--protect", "s", "--query", "mean(v)", "--table", "today.csv")
        dry = command("release", "--scenario", "scenario.toml", "--dry-run")
        assert (code, dry[0]) == (0, 0) and "from 0.5 to 6.5" in dry[1], dry
    for other in ("0.5", "1.25"):
        assert fugu.describe({"v": ["1,5", "2,25", other], "s": ["a", "b", "c"]}).schema.decimal == "."
    assert fugu.describe({"v": ["1,234", "20,500", "3,000"]}).schema.decimal == "."
