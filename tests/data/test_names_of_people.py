"""Who is one person: an engine may tell names apart only where each has one spelling.

Wrong version that is rejected (it was ours, for a day): texts that differ are people who differ."""

from __future__ import annotations

import duckdb
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import fugu
from fugu.errors import RepeatedUnit
from hunting import search

REFERENCE = {"s": ["a", "b"] * 50, "v": [1, 2, 3, 4] * 25}
ALIKE = [("1", "01"), ("7", "7.0"), ("10", "1e1"), ("True", "true"), ("é", "e\u0301"), ("5", " 5"), ("x", "x")]
FORMS = ("dict", "pandas", "polars", "arrow", "duckdb", "csv", "parquet")


def formed(form, table, folder):
    frame = pd.DataFrame(table)
    made = {
        "dict": lambda: table,
        "pandas": lambda: frame,
        "polars": lambda: pl.DataFrame(table),
        "arrow": lambda: pa.table(table),
        "duckdb": lambda: duckdb.from_arrow(pa.table(table)),
    }
    if form in made:
        return made[form]()
    path = folder / f"t.{form}"
    frame.to_csv(path, index=False) if form == "csv" else pq.write_table(pa.table(table), path)
    return path


def ask(table, **more):
    schema = fugu.Schema({"u": {"kind": "identifier", **more}})
    session = fugu.Session(table, REFERENCE, "s", fugu.Pure(1), unit="u", schema=schema, ledger=False)
    return session.ask("mean(v)", bounds=(0, 5), step=1)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("two", ALIKE, ids=lambda two: "-".join(map(ascii, two)))
def test_two_spellings_of_one_name_are_one_person_on_every_engine(form, two, tmp_path):
    names = [*two, *(f"p{k}" for k in range(58))]
    with pytest.raises(RepeatedUnit):
        ask(formed(form, {"s": ["a", "b"] * 30, "v": [1, 2, 3] * 20, "u": names}, tmp_path))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gone", ["", "NA"])
def test_a_word_for_a_missing_name_is_nobodys_name(form, gone, tmp_path):
    names = [gone, *(f"p{k}" for k in range(59))]
    with pytest.raises(RepeatedUnit):
        ask(formed(form, {"s": ["a", "b"] * 30, "v": [1, 2, 3] * 20, "u": names}, tmp_path))


@pytest.mark.parametrize("form", FORMS)
def test_names_of_one_spelling_are_let_through(form, tmp_path):
    names = [*(f"Ann{k}" for k in range(30)), *map(str, range(30))]
    assert ask(formed(form, {"s": ["a", "b"] * 30, "v": [1, 2, 3] * 20, "u": names}, tmp_path)).cells


@search("names of people on every engine", quick=20)
def test_every_engine_says_of_names_what_python_says(rng, tmp_path):
    letters = ["a", "B", "0", "1", ".", "e", " ", "é", "-", "true", "NA", "\n"]
    names = ["".join(rng.choice(letters, rng.integers(0, 4))) for _ in range(6)] + [f"p{k}" for k in range(6)]
    table = {"s": ["a", "b"] * 6, "v": [1, 2, 3] * 4, "u": names}

    def passes(form):
        try:
            ask(formed(form, table, tmp_path))
        except RepeatedUnit:
            return False
        return True

    said = passes("dict")
    for form in ("pandas", "polars", "arrow", "duckdb", "parquet"):
        assert passes(form) == said, (form, names)
