"""Cells that nobody expects, and the containers in which they arrive."""

from __future__ import annotations

import gzip
import math
from datetime import date, datetime
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

PLAIN = (str, int, float, bool)
TEXTS = (
    "V27.0", "moon", "", "NA", "nan", "inf", "-inf", "1e308", "1e999", "1.5", "2.0", "02", "True", "(other)", "None",
    "[1, 2]", "a,b;c\td|e", 'say "hi"', "two\nlines", " 1 ", "\u0661", "9" * 400, "\x00", "x" * 20_000, "1_000", "0x10",
    "=1+1", "-0.0", "250.0", "250.00", "1e-400", "\u202e12", "\ufeff3", "yes ",
)  # fmt: skip
CELLS = (
    *TEXTS, None, math.nan, math.inf, -math.inf, 1e308, -1e308, 1.5, 2.0, 0, -1, True, 10**400, 2**60 + 1,
    b"\xff\xfe", b"1", [1], [], ["home"], {"a": 1}, (), set(), 1j, Decimal("sNaN"), Decimal("1e999999"),
    Decimal("2.00"), Fraction(10**400, 3), np.float32(1.5), np.float16("inf"), np.int8(2), np.timedelta64(3, "s"),
    np.datetime64("NaT"), np.ma.masked, np.array(["home"]), date(2024, 1, 1), datetime(2024, 1, 1), object(), len,
)  # fmt: skip


class Grumpy:  # noqa: PLW1641
    """A cell with its own ideas of everything."""

    def __eq__(self, *others):
        raise RuntimeError("SENTINEL-93177")

    __hash__ = __str__ = __repr__ = __float__ = __bool__ = __len__ = __eq__


CELLS = (*CELLS, Grumpy())


def random_cell(rng):
    """One of the list, or a random number or text."""
    kind = int(rng.integers(4))
    if kind == 0:
        return CELLS[int(rng.integers(len(CELLS)))]
    if kind == 1:
        return float(rng.normal()) * 10.0 ** int(rng.integers(-320, 308))
    if kind == 2:
        return int(rng.integers(-5, 300))
    return "".join(chr(int(c)) for c in rng.integers(1, 0x2FFF, int(rng.integers(0, 12))) if not 0xD800 <= c < 0xE000)


# --- containers: {name: cells} to what a user would hand over; None where a cell cannot be put in --------------------


def as_dict(data, folder):
    return dict(data)


def as_objects(data, folder):
    return {name: _array(cells) for name, cells in data.items()}


def as_masked(data, folder):
    gone = {name: [cell is np.ma.masked or cell is None for cell in cells] for name, cells in data.items()}
    return {name: np.ma.array(_array(cells), mask=gone[name]) for name, cells in data.items()}


def as_pandas(data, folder):
    pd = pytest.importorskip("pandas")
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in data.items()})


def inferred_pandas(data, folder):
    """As pandas itself types a column: one odd cell changes the type of all."""
    pd = pytest.importorskip("pandas")
    try:
        return pd.DataFrame({name: pd.Series(cells) for name, cells in data.items()})
    except Exception:
        return None


def categorical_pandas(data, folder):
    """Columns of categories, whose own dtype pandas infers: one odd cell changes it. None where pandas itself makes one
    category of equal cells (True and 1), which is a table of other records."""
    pd = pytest.importorskip("pandas")
    try:
        if any(len({type(c) for c in cells if c == cell}) > 1 for cells in data.values() for cell in set(cells)):
            return None
        return pd.DataFrame({name: pd.Categorical(cells) for name, cells in data.items()})
    except Exception:  # cells that cannot be compared or hashed
        return None


def as_polars(data, folder):
    """As polars types what a file holds: numbers, or text as soon as one cell is text; None for other cells."""
    pl = pytest.importorskip("polars")
    columns = {}
    for name, cells in data.items():
        kinds = {type(cell) for cell in cells} - {type(None)}
        if not kinds <= set(PLAIN) or any(type(c) is int and abs(c) >= 2**63 for c in cells):
            return None
        text = str in kinds or (bool in kinds and len(kinds) > 1)
        columns[name] = [None if cell is None else str(cell) if text else cell for cell in cells]
    return pl.DataFrame({name: pl.Series(name, cells, strict=False) for name, cells in columns.items()})


def as_csv(data, folder):
    return _written(folder / "t.csv", data)


def as_gzip(data, folder):
    path = _written(folder / "t.csv", data)
    if path is None:
        return None
    packed = folder / "t.csv.gz"
    packed.write_bytes(gzip.compress(path.read_bytes()))
    return packed


def as_tsv(data, folder):
    return _written(folder / "t.tsv", data, b"\t")


def as_sheet(data, folder):
    """A workbook, each cell of the kind that it has by itself; None for what none can hold."""
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook(write_only=True)
    sheet = book.create_sheet()
    try:
        for row in (data, *zip(*data.values(), strict=True)):
            sheet.append([None if cell is np.ma.masked else cell for cell in row])
        book.save(folder / "t.xlsx")
    except Exception:
        return None
    return folder / "t.xlsx"


def as_parquet(data, folder):
    frame = as_polars(data, folder)
    if frame is None:
        return None
    frame.write_parquet(folder / "t.parquet")
    return folder / "t.parquet"


CONTAINERS = (
    as_dict, as_objects, as_masked, as_pandas, inferred_pandas, categorical_pandas, as_polars, as_csv, as_gzip,
    as_parquet, as_tsv, as_sheet,
)  # fmt: skip
PACKED = (as_gzip, as_parquet, as_tsv)
"""Read as the CSV file and the frame of polars that they hold: one case or two for each reader."""


def ways(asked, packed):
    """Every question in a third of the containers, in turn, so that every container meets a third of the questions (the
    searches meet all pairs); those of `packed` in packed files too."""
    whole = [box for box in CONTAINERS if box not in PACKED]
    return [
        (one, box) for k, one in enumerate(asked) for box in (*whole[k % 3 :: 3], *(PACKED if one in packed else ()))
    ]


def called(thing):
    """The name of a case."""
    shown = thing.items() if isinstance(thing, dict) else ()
    return getattr(thing, "__name__", None) or " ".join(f"{k}={str(v)[:20]}" for k, v in shown) or str(thing)[:30]


def _array(cells):
    found = np.empty(len(cells), dtype=object)
    for k, cell in enumerate(cells):
        found[k] = None if cell is np.ma.masked else cell
    return found


def _written(path, data, mark=b","):
    with open(path, "wb") as file:
        file.write(mark.join(map(str.encode, data)) + b"\n")
        for row in zip(*data.values(), strict=True):
            cells = [_bytes(cell) for cell in row]
            if None in cells:
                return None
            file.write(mark.join(cells) + b"\n")
    return path


def _bytes(cell):
    if isinstance(cell, bytes):
        return cell
    if cell is None or cell is np.ma.masked:
        return b""
    if isinstance(cell, str | bool | int | float | np.generic | Decimal):
        try:
            text = repr(cell) if isinstance(cell, float) and not isinstance(cell, np.generic) else str(cell)
        except ValueError:  # a whole number of more digits than Python prints
            return None
        return ('"' + text.replace('"', '""') + '"').encode("utf-8", "replace")
    return None
