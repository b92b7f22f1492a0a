"""Files are read whole or refused, and written whole or not at all."""

from __future__ import annotations

import gzip
import math
import os
import stat
from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import numpy as np
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.data import Schema, read_table, write_csv
from fugu.errors import BadTable, ColumnNotFound, FuguError, UsageError
from hunting import search

SENTINEL = "SENTINEL-93177"


def written(folder, text, name="t.csv"):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def test_csv_gz_and_parquet_give_the_same_columns(tmp_path):
    text = "sex,chol\nF,1.5\nM,\nF,-2\n"
    plain = written(tmp_path, text)
    packed = tmp_path / "t.csv.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    parquet = tmp_path / "t.parquet"
    pl.DataFrame({"sex": ["F", "M", "F"], "chol": [1.5, None, -2.0]}).write_parquet(parquet)
    for path in (plain, packed, parquet, str(plain)):
        table = read_table(path)
        assert table.columns == ("sex", "chol") and len(table) == 3
        assert table.column("sex").tolist() == ["F", "M", "F"]
        np.testing.assert_array_equal(table.column("chol"), [1.5, np.nan, -2.0])


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
def test_the_separator_is_the_one_of_the_header(tmp_path, separator):
    table = read_table(written(tmp_path, f'a{separator}"b,c"\n1{separator}"x{separator}y"\n'))
    assert table.columns == ("a", "b,c")
    assert table.column("b,c").tolist() == [f"x{separator}y"]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1", "2"], [1.0, 2.0]),
        (["0.1", "1e-3", "5e-324", "1e300", "-0.0", "+5"], [0.1, 1e-3, 5e-324, 1e300, 0.0, 5.0]),
        (["1", "NA", "?", "", "n/a", "NaN", "null", "."], [1.0] + [None] * 7),
        (["inf", "1"], [math.inf, 1.0]),
        (['"7"', " 8 "], [7.0, 8.0]),
        (["F", "T"], ["F", "T"]),
        (["true", "false"], ["true", "false"]),
        (["2020-01-01", "x"], ["2020-01-01", "x"]),
        (["NA", "x"], ["NA", "x"]),
        (["NA", "?"], ["NA", "?"]),
        (["#1", "2"], ["#1", "2"]),
        ([" F ", "F"], ["F", "F"]),
        (["", ""], [None, None]),
        (["1,5", "2"], None),
    ],
)
def test_a_column_is_numbers_exactly_if_its_cells_are(tmp_path, cells, expected):
    path = written(tmp_path, "x,y\n" + "".join(f"{c},0\n" for c in cells))
    if expected is None:
        with pytest.raises(BadTable, match="2 cells"):
            read_table(path)
        return
    found = read_table(path).column("x").tolist()
    assert [None if isinstance(v, float) and math.isnan(v) else v for v in found] == expected


def test_types_do_not_depend_on_the_first_rows(tmp_path):
    path = written(tmp_path, "x\n" + "1\n" * 60_000 + f"{SENTINEL}\n")
    assert not read_table(path).is_numeric("x")


def test_long_whole_numbers_stay_apart(tmp_path):
    ids = [2**53 + 1, 2**53, 2**63, 2**64 - 1]
    table = read_table(written(tmp_path, "id\n" + "".join(f"{i}\n" for i in ids)))
    assert table.exact("id").values.tolist() == ids


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "empty"),
        ("t.csv", b"\n\n", "header"),
        ("t.csv", b"a,b\n1,2\n3," + SENTINEL.encode() + b",5\n", "2 cells"),
        ("t.csv", b"a,b\n1,2\n" + SENTINEL.encode() + b"\n", "2 cells"),
        ("t.csv", b'a,b\n"' + SENTINEL.encode() + b",2\n3,4\n", "quotes"),
        ("t.csv", b"a,a\n1,2\n", "same name"),
        ("t.csv", bytes(range(128, 256)) * 20, "UTF-8"),
        ("t.csv.gz", b"a,b\n1,2\n", "UTF-8"),
        ("t.parquet", b"a,b\n1,2\n", "Parquet"),
        ("t.parquet", b"PAR1" + SENTINEL.encode() * 10 + b"PAR1", "Parquet"),
        ("t.xlsx", b"PK", "Excel"),
        ("t", b"a\n1\n", ".csv"),
        ("t*.parquet", b"a\n1\n", "pattern"),
    ],
)
def test_what_is_not_a_table_is_refused_without_quoting_it(tmp_path, name, content, message):
    path = written(tmp_path, content, name)
    with pytest.raises(BadTable, match=message) as caught:
        read_table(path)
    assert "93177" not in str(caught.value) and caught.value.exit_code == 2
    assert caught.value.__cause__ is None


def test_bytes_that_do_not_decode_are_one_cell_and_nobody_elses(tmp_path):
    path = written(tmp_path, b"a,b\nx,1\n" + SENTINEL.encode() + b"\xe9,2\ny,3\n")
    assert read_table(path).column("a").tolist() == ["x", SENTINEL + "\ufffd", "y"]


def test_missing_files_folders_and_pipes_are_refused(tmp_path):
    with pytest.raises(BadTable, match="no file"):
        read_table(tmp_path / "none.csv")
    (tmp_path / "folder.csv").mkdir()
    os.mkfifo(tmp_path / "pipe.csv")
    for name, why in (("folder.csv", "is a folder"), ("pipe.csv", "regular file")):
        with pytest.raises(BadTable, match=why):
            read_table(tmp_path / name)


def test_a_folder_named_like_a_partition_adds_no_column(tmp_path):
    folder = tmp_path / "sex=F"
    folder.mkdir()
    written(folder, "a\n1\n")
    duckdb.sql(f"COPY (SELECT 1 AS a) TO '{folder / 't.parquet'}'")
    assert read_table(folder / "t.csv").columns == ("a",)
    assert read_table(folder / "t.parquet").columns == ("a",)


def test_names_that_differ_in_case_only_stay_apart(tmp_path):
    table = read_table(written(tmp_path, 'a,A,"q""uote"\n1,2,3\n'))
    assert [table.column(c).tolist() for c in ("a", "A", 'q"uote')] == [[1.0], [2.0], [3.0]]
    with pytest.raises(ColumnNotFound):
        table.column("B")


def test_byte_order_mark_and_line_ends_are_no_part_of_the_data(tmp_path):
    for text in (b"\xef\xbb\xbfa,b\r\n1,x\r\n", b"a,b\n1,x", b"a,b\n1,x\n\n"):
        table = read_table(written(tmp_path, text))
        assert table.columns == ("a", "b") and table.column("b").tolist() == ["x"]


def test_a_header_alone_is_a_table_without_rows(tmp_path):
    assert len(read_table(written(tmp_path, "a,b\n"))) == 0


@given(st.lists(st.floats(allow_nan=True, allow_infinity=False) | st.none(), min_size=1, max_size=20))
def test_written_numbers_come_back_to_the_bit(numbers):
    with TemporaryDirectory() as folder:
        path = Path(folder) / "t.csv"
        write_csv(path, {"x": numbers})
        expected = np.array([math.nan if v is None else v for v in numbers], dtype=np.float64) + 0.0
        np.testing.assert_array_equal(read_table(path).column("x"), expected)


def test_numbers_are_written_in_their_shortest_form(tmp_path):
    write_csv(tmp_path / "t.csv", {"a": np.array([0.1, np.nan, 3.0]), "b": [1, 2, 3], "c": ["x", None, 'q",']})
    assert (tmp_path / "t.csv").read_text() == 'a,b,c\n0.1,1,x\n,2,\n3.0,3,"q"","\n'


def test_a_file_is_written_whole_or_not_at_all(tmp_path):
    target = tmp_path / "t.csv"
    target.write_text("old")
    with pytest.raises(BadTable):
        write_csv(target, {"a": [1], "b": [1, 2]})
    with pytest.raises(UsageError, match="does not exist"):
        write_csv(tmp_path / "none" / "t.csv", {"a": [1]})
    assert target.read_text() == "old"
    (tmp_path / "folder").mkdir()
    with pytest.raises(UsageError, match="is a folder"):
        write_csv(tmp_path / "folder", {"a": [1]})
    write_csv(target, {"a": [1]})
    assert target.read_text() == "a\n1\n"
    assert sorted(p.name for p in tmp_path.iterdir()) == ["folder", "t.csv"]


def test_a_written_file_has_the_usual_rights(tmp_path):
    (tmp_path / "usual").write_text("")
    write_csv(tmp_path / "t.csv", {"a": [1]})
    assert stat.S_IMODE((tmp_path / "t.csv").stat().st_mode) == stat.S_IMODE((tmp_path / "usual").stat().st_mode)


@search("damaged Parquet files", quick=40)
def test_a_damaged_parquet_file_is_refused_by_name_or_read(rng, tmp_path):
    """Whatever bytes are lost, fugu's own error without a cell in it; never one of the engine."""
    path = tmp_path / "t.parquet"
    cells = {"who": ["secretname", "b", "c"] * 20, "x": [1.5, 2.0, 3.0] * 20, "n": [1, 2, 3] * 20}
    pl.DataFrame(cells).write_parquet(path)
    number = {"kind": "number"}
    schema = Schema({"who": {"kind": "category", "values": ["b", "c"]}, "x": number, "n": number})
    content = bytearray(path.read_bytes())
    if rng.random() < 0.3:
        content = content[: int(rng.integers(0, len(content)))]
    else:
        for _ in range(int(rng.integers(1, 6))):
            content[int(rng.integers(0, len(content)))] = int(rng.integers(0, 256))
    path.write_bytes(bytes(content))
    refusal = None
    try:
        schema.read(path)
    except FuguError as error:
        refusal = error
    if refusal is not None:
        assert "secretname" not in str(refusal) and refusal.__cause__ is None and refusal.__suppress_context__


def test_an_engine_that_raises_something_else_is_refused_too(tmp_path):
    """The wrong version: only errors of duckdb's own kind were caught."""
    from fugu.data.frame import Relation

    class Broken:
        columns, types = ("x",), ("VARCHAR",)

        def project(self, _):
            raise UnicodeDecodeError("utf-8", b"secretname", 0, 1, "bad")

    for owner in (None, object()):
        with pytest.raises(BadTable) as error:
            Relation(Broken(), owner).fetch(("x",))
        assert "secretname" not in str(error.value)


def test_a_row_in_place_of_the_header_is_read_out_to_nobody(tmp_path):
    """The names of a table without a header are the cells of its first row, which may be a private one."""
    (tmp_path / "t.csv").write_text("39,State-gov,77516,Male\n50,Private,83311,Female\n")
    with pytest.raises(ColumnNotFound, match="names of the columns above it") as refusal:
        Schema({}).open(str(tmp_path / "t.csv")).exact("age")
    assert not refusal.value.available and "State-gov" not in str(refusal.value)
    with pytest.raises(ColumnNotFound, match="did you mean 'age'"):
        Schema({}).open({"age": [1], "2019": [2], "ward": [3]}).exact("agee")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet", "t.csv.gz"])
def test_a_file_that_nobody_may_read_is_called_that(tmp_path, monkeypatch, name):
    (tmp_path / name).write_bytes(b"a,b\n1,2\n")

    def refused(path):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr("fugu.data.files.opened", refused)
    with pytest.raises(BadTable, match="cannot be read; check who may read it"):
        read_table(tmp_path / name)
