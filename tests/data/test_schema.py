"""A schema is public, total, and the same function for files and frames."""

from __future__ import annotations

import enum
import gzip
import json
import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fugu
from fugu.data import Schema
from fugu.data.cells import Categories, distinct, is_missing, number_of, number_text, text_of
from fugu.data.column import Raw
from fugu.data.field import Field
from fugu.data.private import open_private
from fugu.errors import BadTable, ColumnNotFound, UnknownName, UsageError

NUMBER = {"kind": "number", "bounds": (0, 10), "step": 0.5, "missing": 4}
WARD = {"kind": "category", "values": ["a", "b"], "outside": "b"}
ANY = st.one_of(
    st.none(), st.text(max_size=8), st.integers(), st.floats(), st.booleans(), st.binary(max_size=4), st.decimals(),
    st.fractions(), st.dates(), st.complex_numbers(), st.lists(st.integers(), max_size=2), st.timedeltas(), st.times(),
)  # fmt: skip


def filled(schema, table, name):
    return schema.fields[name].filled(schema.read(table, [name]).exact(name)).values.tolist()


@given(st.lists(ANY, min_size=1, max_size=12))
def test_every_cell_has_a_number_a_category_and_a_place_and_each_is_its_own(cells):
    schema = Schema({"x": NUMBER, "w": WARD, "o": {"kind": "ordered", "values": [1, 2, 5], "outside": "nearest"}})
    for name in ("x", "w", "o"):
        whole = filled(schema, {name: cells}, name)
        assert whole == [filled(schema, {name: [cell]}, name)[0] for cell in cells]
    assert all(0 <= x <= 10 and (2 * x).is_integer() for x in filled(schema, {"x": cells}, "x"))
    assert set(filled(schema, {"w": cells}, "w")) <= {"a", "b", "(other)"}
    assert set(filled(schema, {"o": cells}, "o")) <= {"1", "2", "5"}


@given(ANY)
def test_numbers_and_texts_of_cells_never_raise(cell):
    assert isinstance(number_of(cell), float) and isinstance(is_missing(cell), bool)
    assert is_missing(cell) or isinstance(text_of(cell), str)
    found, codes = distinct([cell, cell, "x"])
    assert codes.tolist()[0] == codes.tolist()[1] and len(found) in (1, 2)


@given(st.floats(allow_nan=False))
def test_the_text_of_a_number_is_the_number(x):
    assert number_of(number_text(x)) == x
    if math.isfinite(x) and x == int(x) and abs(x) < 1e15:
        assert number_text(x) == str(int(x)) == text_of(int(x))


@pytest.mark.parametrize(
    "cells", [[1, 2, 3, 1], [0.5, 2.0, 1e20, -3.25], [True, False, True, True], ["x", "y", "x", "z"]]
)
def test_a_file_and_every_frame_of_it_give_the_same(cells, tmp_path):
    data = {"c": cells, "s": ["p", "q", "p", "q"]}
    schema = Schema.from_table(data)
    pd.DataFrame(data).to_csv(tmp_path / "t.csv", index=False)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress((tmp_path / "t.csv").read_bytes()))
    pl.DataFrame(data).write_parquet(tmp_path / "t.parquet")
    pl.DataFrame(data).write_csv(tmp_path / "p.csv")
    expected = filled(schema, data, "c")
    frames = [
        pd.DataFrame(data), pd.DataFrame(data).convert_dtypes(), pd.DataFrame(data).astype(object), pl.DataFrame(data),
        pl.DataFrame(data).lazy(), pl.DataFrame(data).to_arrow(), {k: np.array(v) for k, v in data.items()},
        pd.DataFrame(data).astype({"c": str}), {k: [*map(str, v)] for k, v in data.items()},
        *(tmp_path / name for name in ("t.csv", "t.csv.gz", "t.parquet", "p.csv")), str(tmp_path / "t.csv"),
    ]  # fmt: skip
    for frame in frames:
        assert filled(schema, frame, "c") == expected


def test_one_missing_cell_that_turns_a_column_into_floats_changes_nothing():
    schema = Schema.from_table({"c": ["1", "2", "x"]})
    assert filled(schema, pd.DataFrame({"c": [1, 2, None]}), "c") == ["1", "2", "(other)"]
    assert filled(schema, pd.DataFrame({"c": [1, 2, 2]}), "c") == ["1", "2", "2"]
    numbers = Schema.from_table({"c": [1, 2, 7]})
    assert filled(numbers, pd.DataFrame({"c": [1, 2, None]}), "c") == [1.0, 2.0, 2.0]


def test_categories_that_are_one_number_are_told_apart_by_letters():
    schema = Schema({"c": {"kind": "category", "values": ["250.0", "250.00"]}})
    assert filled(schema, {"c": ["250.00", "250.0", "250"]}, "c") == ["250.00", "250.0", "(other)"]
    for column in (np.array([250.0]), np.array([1]), pd.Series([1.5]), pl.Series([7])):
        assert set(filled(schema, {"c": column}, "c")) == {"(other)"}
    assert Categories(["250.0", "250.00"]).twins and not Categories(["250.0", "V250"]).twins


def test_a_declared_schema_says_all_and_the_reference_says_the_rest():
    reference = {"chol": ["200", "300", "250", "?"], "ward": ["a", "b", "a", "c"], "id": [1, 2, 3, 4]}
    schema = Schema({"chol": {"kind": "number", "bounds": (100, 260)}}).completed(reference)
    assert schema.fields["chol"].typical == 250 and schema.fields["ward"].values == ("a", "b", "c")
    assert filled(schema, {"chol": ["9999", "", "150"]}, "chol") == [260, 250, 150]
    assert schema.fields["id"].kind == "number"
    with pytest.raises(ColumnNotFound, match="did you mean 'chol'"):
        Schema({}).completed(reference, ["choll"])


@pytest.mark.parametrize(
    ("told", "error"),
    [
        ({"x": {"kind": "numbr"}}, UnknownName),
        ({"x": {"kind": "number", "values": [1]}}, UnknownName),
        ({"x": {"kind": "number", "bounds": (3, 1)}}, UsageError),
        ({"x": {"kind": "number", "bounds": (0, math.inf)}}, UsageError),
        ({"x": {"kind": "number", "step": 1}}, UsageError),
        ({"x": {"kind": "number", "bounds": (0, 1), "missing": 2}}, UsageError),
        ({"x": {"kind": "number", "missing": "text"}}, UsageError),
        ({"x": {"kind": "number", "outside": "nearest"}}, UnknownName),
        ({"x": {"kind": "category", "values": ["a", "a"]}}, UsageError),
        ({"x": {"kind": "category", "values": []}}, UsageError),
        ({"x": {"kind": "category", "values": ["a"], "outside": "b"}}, UnknownName),
        ({"x": {"kind": "ordered"}}, UsageError),
        ({"x": {"kind": "ordered", "values": ["a", "b"], "outside": "nearest"}}, UsageError),
        ({"x": {"kind": "ordered", "values": ["a", "b"], "missing": "(other)"}}, UnknownName),
        ({1: {"kind": "number"}}, UsageError),
        ([], UsageError),
    ],
)
def test_a_schema_that_says_too_little_or_too_much_is_refused(told, error):
    with pytest.raises(error):
        Schema(told)


def test_a_schema_survives_its_file_and_its_json(tmp_path):
    schema = Schema({"x": NUMBER, 'od"d\tname': WARD, "t": {"kind": "time"}, "id": {"kind": "identifier"}},
                    separator=";", decimal=",", encoding="latin-1", header=["a", "b"], absent=("", "-"))  # fmt: skip
    schema.save(tmp_path / "s.toml")
    assert Schema.load(tmp_path / "s.toml") == schema == Schema.from_json(json.loads(json.dumps(schema.to_json())))
    for text in ("", "[schema", "[schema]\ncolumns = 3\n", "[other]\nx = 1\n", "[schema]\nnonsense = 1\n"):
        (tmp_path / "bad.toml").write_text(text)
        with pytest.raises(UsageError):
            Schema.load(tmp_path / "bad.toml")
    with pytest.raises(UsageError):
        Schema.load(tmp_path / "none.toml")


def test_files_in_other_dialects(tmp_path):
    path = tmp_path / "t.csv"
    path.write_bytes("größe;w\n1,5;a\n-;b\n".encode("latin-1"))
    schema = Schema({"größe": {"kind": "number", "missing": 9}, "w": WARD}, ";", ",", "latin-1", absent=("-",))
    assert filled(schema, path, "größe") == [1.5, 9.0]
    path.write_text("7,a\n8,b\n")
    bare = Schema({"x": NUMBER, "w": WARD}, header=False)
    assert filled(bare, path, "x") == [7.0, 8.0]
    with pytest.raises(BadTable, match="has 2 columns, and the schema names 3"):
        Schema({"x": NUMBER, "w": WARD, "z": WARD}, header=False).read(path)
    for wrong in ({"separator": ";;"}, {"separator": '"'}, {"encoding": "no-such"}, {"decimal": "'"}, {"absent": "NA"}):
        with pytest.raises(UsageError):
            Schema({"x": NUMBER}, **wrong)


def test_an_error_about_a_private_table_shows_no_record(tmp_path):
    (tmp_path / "t.csv").write_text("SENTINEL,93177,F\nx,1,M\n")
    schema = Schema({"chol": NUMBER})
    with pytest.raises(BadTable, match=r"3 columns.*--no-header") as caught:
        open_private(tmp_path / "t.csv", schema, ["chol"])
    assert "93177" not in str(caught.value) and "SENTINEL" not in str(caught.value)
    (tmp_path / "t.csv").write_text("93177,93177\n1,2\n")
    with pytest.raises(BadTable) as caught:
        open_private(tmp_path / "t.csv", schema, ["chol"])
    assert "93177" not in str(caught.value)


def test_the_certificate_carries_the_schema():
    table = {"s": ["a", "b"] * 30, "v": [0, 1, 2] * 20}
    scenario = fugu.Scenario.from_table(table, "v", "s", schema=Schema({"v": {"kind": "number", "bounds": (0, 5)}}))
    body = fugu.calibrate(scenario, fugu.Pure(0.5)).certificate.body
    assert body["reading"]["columns"]["v"] == {"kind": "number", "bounds": [0.0, 5.0], "typical": 1.0}
    assert Schema.from_json(body["reading"]).fields["v"].bounds == (0.0, 5.0)
    again = fugu.Scenario.from_recipe(table, body["recipe"])
    assert again.schema == scenario.schema and fugu.verify(fugu.Certificate(body), again).holds


def test_frames_that_lost_the_letters_are_read_alike_in_every_dtype():
    """Which dtype a column has may depend on one cell of it, so no refusal follows from it."""
    schema = Schema({"c": {"kind": "category", "values": ["250.0", "250.00"]}})
    numbers = [250.0, 1.5]
    for column in (
        np.array(numbers, dtype=np.float32), np.array(numbers, dtype=np.float16), pd.Series(numbers, dtype="Float32"),
        pd.Series(numbers).astype("category"), pd.Series(numbers, dtype="float[pyarrow]"),
        pl.Series(numbers, dtype=pl.Float32),
        pl.Series(["1.5"]).cast(pl.Decimal(10, 2)), pl.DataFrame({"c": numbers}).to_arrow()["c"].dictionary_encode(),
    ):  # fmt: skip
        assert set(filled(schema, {"c": column}, "c")) == {"(other)"}
    assert filled(schema, {"c": pd.Series(["250.00"]).astype("category")}, "c") == ["250.00"]


def test_a_day_is_its_midnight_however_it_is_typed(tmp_path):
    days = ["2020-01-01", "2020-01-02", "2020-02-01"]
    schema = Schema({"d": {"kind": "ordered", "values": days}})
    typed = pd.to_datetime(pd.Series(days))
    texts = [f"{day} 00:00:00" for day in days]
    for column in (days, typed, typed.dt.date, pl.Series(typed), pl.Series(typed).dt.date(), texts):
        assert filled(schema, {"d": column}, "d") == days


def test_long_cells_blank_lines_and_odd_encodings(tmp_path):
    path = tmp_path / "t.csv"
    bare = Schema({"w": WARD, "x": NUMBER, "z": {"kind": "identifier"}}, header=False)
    path.write_text("a,1," + "x" * 200_000 + "\nb,2,q\n")
    assert filled(bare, path, "x") == [1.0, 2.0]
    named = Schema({"w": WARD, "x": NUMBER})
    path.write_text("w,x\na,1\n\nb,2\n")
    with pytest.raises(BadTable, match="every line"):
        named.read(path)
    path.write_text("w,x\na,1\nb,2\n\n\n")
    assert filled(named, path, "x") == [1.0, 2.0]
    path.write_bytes("w,x\na,1\n".encode("utf-16-le"))
    with pytest.raises(BadTable):
        Schema({"w": WARD, "x": NUMBER}, encoding="utf-16").read(path)
    for encoding in ("rot13", "base64", "zlib", "no-such"):
        with pytest.raises(UsageError):
            Schema({"x": NUMBER}, encoding=encoding)


def test_names_of_a_file_without_a_header_survive_what_a_scenario_keeps(tmp_path):
    (tmp_path / "ref.csv").write_text("".join(f"{'ab'[i % 2]},{i},{(i * 7) % 5}\n" for i in range(60)))
    (tmp_path / "t.csv").write_text("".join(f"{'ab'[i % 2]},{i},{(i * 3) % 5}\n" for i in range(20)))
    schema = Schema({"s": {"kind": "category"}, "id": {"kind": "identifier"}, "v": {"kind": "number"}}, header=False)
    scenario = fugu.Scenario.from_table(tmp_path / "ref.csv", "v", "s", unit="id", schema=schema)
    mechanism = fugu.calibrate(scenario, fugu.Pure(0.5))
    from fugu.publication.releasing import release_column

    assert len(release_column(mechanism, tmp_path / "t.csv", allow_no_noise=True)) == 20


def test_reprs_hold_no_cell():
    schema = Schema({"w": WARD})
    private = open_private({"w": ["SENTINEL"]}, schema, ["w"])
    for thing in (private, private.table, private.whole, private.whole.raw("w"), private.table.exact("w")):
        assert "SENTINEL" not in repr(thing)


class Text(str):
    """A text with its own ideas."""

    __slots__ = ()

    def __str__(self):
        raise ValueError

    def __hash__(self):
        raise ValueError

    def __eq__(self, other):
        raise ValueError


class Number(float):
    """A number with its own ideas."""

    __slots__ = ()

    def __hash__(self):
        raise ValueError

    def __eq__(self, other):
        raise ValueError


class Grade(enum.IntEnum):
    GOOD = 1


class Letter(str, enum.Enum):  # noqa: UP042 - whose str() is not what it holds
    A = "a"


def read(cells):
    found, codes = distinct(cells)
    return [None if found[code] is None else text_of(found[code]) for code in codes]


def test_subclasses_are_what_they_hold():
    assert read([Text("a"), Number(2.5), Number("nan"), Grade.GOOD, Letter.A]) == ["a", "2.5", None, "1", "a"]


def test_numpy_durations_are_no_whole_numbers():
    assert math.isnan(number_of(np.timedelta64(3, "s"))) and text_of(np.timedelta64(3, "s")) == "3 seconds"


@pytest.mark.parametrize("cell", [np.void(b"ab"), np.zeros(1, dtype=[("a", int)])[0], np.array(3), 1j, {}, Decimal])
def test_what_is_no_plain_value_is_other(cell):
    assert read([cell, "a"]) == ["(other)", "a"]


def test_two_ways_to_write_one_instant_are_two_texts_whatever_stands_before():
    here = datetime(2024, 1, 1, 0, tzinfo=UTC)
    there = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    assert here == there and read([here, there]) == [*read([here]), *read([there])]
    long, short = np.timedelta64(1, "s"), np.timedelta64(1000, "ms")
    assert read([long, short]) == [*read([long]), *read([short])]


@pytest.mark.parametrize("values", [["0", "0.0"], ["0", "a"], ["0.00", "-0"]])
def test_zeros_are_read_alike_whatever_their_signs_and_whatever_stands_before(values):
    """Python takes them for equal, so the first of them speaks for all."""
    whole, other = Decimal("0.0"), Decimal("-0.0")
    schema = Schema({"x": {"kind": "category", "values": values}})
    found = [schema.column("x", Raw.of("x", cells)).array().tolist() for cells in ([whole, other], [other, whole])]
    assert found[0] == found[1] and len(set(found[0])) == 1
    assert text_of(other) == text_of(whole) == text_of(-0.0) == "0"


def test_one_complex_number_leaves_the_others_numbers():
    """numpy and pandas make a whole column complex."""
    assert read(np.array([1, 2.5, math.nan, 3j]).tolist()) == ["1", "2.5", None, "(other)"]
    column = Schema({"x": {"kind": "number"}}).column("x", Raw.of("x", np.array([1, 2.5, math.nan, 3j])))
    assert column.values[:2].tolist() == [1, 2.5] and column.missing.tolist() == [False, False, True, True]


def test_a_text_is_near_no_number_and_becomes_the_middle():
    field = Field.of("x", {"kind": "ordered", "values": ["1", "2", "5"], "outside": "nearest"})
    assert field.read("x", Raw.of("x", ["abc", "1", "7", math.inf])).values.tolist() == ["2", "1", "5", "5"]


def test_numbers_beyond_the_doubles_are_infinite_without_a_warning():
    wide = np.array([np.longdouble("1e400"), 1], dtype=np.longdouble)
    assert Field("number").read("x", Raw.of("x", wide)).values.tolist() == [math.inf, 1]


def test_declared_numbers_are_found_in_files_with_a_decimal_comma():
    cells = Raw.of("x", ["1,5", "2,0", "7,25", "99,9", "abc"])
    near = Schema({"x": {"kind": "ordered", "values": [1.5, 2, 7.25], "outside": "nearest"}}, decimal=",")
    assert near.column("x", cells).values.tolist() == ["1.5", "2", "7.25", "7.25", "2"]
    plain = Schema({"x": {"kind": "category", "values": [1.5, 2, "7,25"]}}, decimal=",")
    assert plain.column("x", cells).values.tolist() == ["1.5", "2", "7,25", "(other)", "(other)"]
