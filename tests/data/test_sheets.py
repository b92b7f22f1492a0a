"""A workbook is read as the CSV file of its sheet: each cell by itself, and nothing that a record holds refuses it."""

from __future__ import annotations

import sys
import zipfile
from datetime import datetime, time, timedelta

import openpyxl
import pytest
from openpyxl.styles import Border, Side

from fugu.data import Schema, read_table
from fugu.data.files import Dialect
from fugu.errors import BadTable, MissingExtra


def saved(folder, *rows, change=None):
    """A workbook of these rows; `change`: what else is done to its sheet."""
    book = openpyxl.Workbook()
    for row in rows:
        book.active.append(row)
    if change is not None:
        change(book.active)
    book.save(folder / "t.xlsx")
    return folder / "t.xlsx"


def cells(path, decimal="."):
    """{column: texts}."""
    return {name: raw.to_list() for name, raw in read_table(path, Dialect(decimal=decimal)).cells().items()}


KINDS = (
    ("0042", "0042"), (42, "42"), (2.0, "2"), (0.1, "0.1"), (1e300, "1e+300"), (True, "TRUE"),
    ("#N/A", "#N/A"), (None, ""), (" a\nb ", " a\nb "), (datetime(2024, 1, 31), "2024-01-31"),
    (datetime(2024, 1, 31, 9, 30), "2024-01-31 09:30:00"), (time(9, 30), "09:30:00"),
    (timedelta(hours=26), "1 day, 2:00:00"),
)  # fmt: skip


def test_the_text_of_a_cell_is_its_own(tmp_path):
    """Wrong version: of a column's kind, which one cell decides; or as it looks, so that 10 % is no number."""

    def shown(sheet):
        sheet["B4"].number_format = "0%"

    for given, text in KINDS:
        for other in (1.5, "moon"):
            found = cells(saved(tmp_path, ["id", "x"], [1, given], [2, other], [3, 0.25], change=shown))
            assert found["x"] == [text, str(other), "0.25"]


def test_numbers_of_a_sheet_are_numbers_whatever_mark_was_declared(tmp_path):
    """Wrong version: 1.5 of a sheet is no number where the schema says that the mark is a comma."""
    path = saved(tmp_path, ["id", "x"], [1, 1.5], [2, "2,5"], [3, 4])
    schema = Schema({"x": {"kind": "number"}}, decimal=",")
    assert schema.read(path, ["x"]).column("x").tolist() == [1.5, 2.5, 4.0]
    assert cells(path, ",")["x"] == ["1,5", "2,5", "4"]


def test_a_row_in_which_nothing_stands_is_no_record_wherever_it_is(tmp_path):
    """Wrong version: rows that only have borders count, so that a table of 3 is published as one of 40."""

    def bordered(sheet):
        for row in range(2, 42):
            sheet.cell(row, 1).border = Border(top=Side("thin"))

    path = saved(tmp_path, ["a", "b"], [1, "x"], [None, None], [2, None], [3, "z"], change=bordered)
    assert cells(path) == {"a": ["1", "2", "3"], "b": ["x", "", "z"]}
    with pytest.raises(BadTable, match="one column"):  # there a blank cell would be no record
        read_table(saved(tmp_path, ["a"], [1], [None], [3]))


def test_what_stands_beside_the_columns_is_not_read(tmp_path):
    """Nor does it refuse the table: it may stand there because of one record."""
    path = saved(tmp_path, ["a", None, "c"], [1, 2, 3, None, "a remark"], [4], change=lambda s: s.merge_cells("A3:B3"))
    assert cells(path) == {"a": ["1", "4"], "column2": ["2", ""], "c": ["3", ""]}


def test_a_formula_is_the_value_that_was_stored_with_it(tmp_path):
    path = saved(tmp_path, ["a", "b"], [1, "=A2*20"], [2, "=A3*20"])
    with zipfile.ZipFile(path) as book:
        parts = {name: book.read(name) for name in book.namelist()}
    sheet = parts["xl/worksheets/sheet1.xml"]
    assert sheet.count(b"<v></v>") + sheet.count(b"<v />") + sheet.count(b"<v/>") == 2
    for empty in (b"<v></v>", b"<v />", b"<v/>"):
        sheet = sheet.replace(empty, b"<v>20</v>", 1)
    parts["xl/worksheets/sheet1.xml"] = sheet
    with zipfile.ZipFile(path, "w") as book:
        for name, part in parts.items():
            book.writestr(name, part)
    assert cells(path)["b"] == ["20", ""]


def test_a_date_beyond_the_calendar_is_a_cell_and_no_warning(tmp_path):
    """Warnings are errors here, and that of openpyxl quotes the cell."""

    def dated(sheet):
        sheet["B2"].number_format = "yyyy-mm-dd"

    assert cells(saved(tmp_path, ["a", "b"], [1, 10**9], [2, 3], change=dated))["b"][1] == "3"


def test_two_sheets_are_no_table_and_neither_is_a_damaged_file(tmp_path):
    path = saved(tmp_path, ["a", "b"], [1, 2], change=lambda sheet: sheet.parent.create_sheet("SENTINEL-1"))
    with pytest.raises(BadTable, match="2 sheets") as caught:
        read_table(path)
    assert "SENTINEL" not in str(caught.value)
    whole = saved(tmp_path, ["a", "b"], *([k, f"SENTINEL-{k}"] for k in range(2000))).read_bytes()
    (tmp_path / "t.xlsx").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(BadTable, match="damaged") as caught:
        read_table(tmp_path / "t.xlsx")
    assert "SENTINEL" not in str(caught.value) and caught.value.__cause__ is None
    with pytest.raises(BadTable, match="header"):
        read_table(saved(tmp_path))
    with pytest.raises(BadTable, match="same name"):
        read_table(saved(tmp_path, ["a", "a"], [1, 2]))


def test_without_openpyxl_it_is_said_what_to_do(tmp_path, monkeypatch):
    path = saved(tmp_path, ["a", "b"], [1, 2])
    monkeypatch.setitem(sys.modules, "openpyxl", None)
    with pytest.raises(MissingExtra, match=r"pip install openpyxl; or save the sheet as CSV"):
        read_table(path)


def test_a_tsv_file_is_cut_at_tabs_whatever_its_header_or_its_records_hold(tmp_path):
    """Wrong versions: by the most frequent mark of the header; at commas where there is no header."""
    (tmp_path / "t.tsv").write_text("a, b, or c\td\n1,5\t2\n")
    assert cells(tmp_path / "t.tsv") == {"a, b, or c": ["1,5"], "d": ["2"]}
    schema = Schema({"a": {"kind": "identifier"}, "d": {"kind": "number"}}, header=False)
    (tmp_path / "u.TSV").write_text("x,y\t2\nz,z\t3\n")
    assert schema.read(tmp_path / "u.TSV").column("d").tolist() == [2.0, 3.0]
    assert Schema({}, separator=",").open(tmp_path / "u.TSV").columns == ("x", "y\t2")
