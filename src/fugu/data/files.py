"""CSV and Parquet files: read through duckdb, written at once or not at all."""

from __future__ import annotations

import csv
import gzip
import os
import re
import zlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO, cast, final

from fugu.data.column import Column
from fugu.data.engine import connect, refused
from fugu.data.frame import Table
from fugu.data.sources import Relation, quoted
from fugu.errors import BadTable
from fugu.files import writing

_CSV = (".csv", ".csv.gz", ".tsv", ".tsv.gz")
_PARQUET = (".parquet", ".pq")
_ABSENT = "('na', 'n/a', 'nan', 'null', 'none', '?', '.')"
"""Words that mean "missing" in a CSV column whose other cells are numbers; in text only "" does."""
_CHUNK = 100_000


def read_table(path: str | os.PathLike[str]) -> Table:
    """The table in a CSV (also .csv.gz) or Parquet file, with a header line that names the columns.

    The separator of a CSV file is the one its header uses; blanks around a cell are no part of it; a column is
    numbers if all its cells are, but for the missing ones. Nothing depends on a sample of the rows."""
    file = Path(path)
    name = str(file)
    if not file.exists():
        raise BadTable(f"no file {name!r}; check the path")
    if not file.is_file():
        raise BadTable(f"{name!r} is not a regular file; give the path of a CSV or Parquet file")
    if not name.lower().endswith(_CSV + _PARQUET):
        raise BadTable(f"{name!r} is not a table fugu reads; give a file ending in .csv, .csv.gz or .parquet")
    if file.stat().st_size == 0:
        raise BadTable(f"{name!r} is empty; a table needs a header line and rows")
    if any(mark in str(file.absolute()) for mark in "*?["):
        raise BadTable(f"{name!r} has one of * ? [ in its path, which duckdb takes for a pattern; rename it")
    return _parquet(file) if name.lower().endswith(_PARQUET) else _csv(file)


def write_csv(path: str | os.PathLike[str], columns: Mapping[str, object]) -> None:
    """Write columns of one length under a header; numbers in shortest exact form, missing as an empty cell.

    The file appears whole or not at all (`fugu.files`)."""
    table = Table(columns)
    cells = [table.exact(name) for name in table.columns]
    with writing(path) as out:
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow(table.columns)
        for start in range(0, len(table), _CHUNK):
            chunk = slice(start, start + _CHUNK)
            writer.writerows(zip(*(_printed(c, chunk) for c in cells), strict=True))


def _printed(column: Column, chunk: slice) -> Iterable[Any]:
    cells = column.values[chunk].tolist()
    return ("" if gone else cell for cell, gone in zip(cells, column.missing[chunk].tolist(), strict=True))


def _parquet(file: Path) -> Table:
    import duckdb

    connection = connect()
    try:
        relation = connection.from_parquet(str(file.absolute()), hive_partitioning=False)
        return Table(Relation(relation, connection))
    except duckdb.Error as error:
        raise refused(error, f"{str(file)!r} is not a Parquet file, or it is damaged; write it again") from None


def _csv(file: Path) -> Table:
    import duckdb

    header, separator = _header(file)
    connection = connect()
    shape = "{" + ", ".join(f"'c{i}': 'VARCHAR'" for i in range(len(header))) + "}"
    dialect = """quote='"', escape='"', header=true, auto_detect=false, strict_mode=true"""
    try:
        connection.execute(
            "CREATE TABLE cells AS "
            f"FROM read_csv($path, columns={shape}, delim=$separator, hive_partitioning=false, {dialect})",
            {"path": str(file.absolute()), "separator": separator},
        )
    except duckdb.Error as error:
        raise refused(
            error,
            f"{str(file)!r} is not a table: every line must have {len(header)} cells, as the header has, "
            "in UTF-8, with quotes closed",
        ) from None
    return Table(CsvCells(header, connection))


def _header(file: Path) -> tuple[tuple[str, ...], str]:
    """The column names and the separator, from the first line alone."""
    try:
        with _open_text(file) as lines:
            unquoted = re.sub('"[^"]*"', "", lines.readline())
        separator = max(",;\t|", key=unquoted.count)
        with _open_text(file) as lines:
            names = tuple(cell.strip() for cell in next(csv.reader(lines, delimiter=separator), []))
    except (UnicodeDecodeError, OSError, EOFError, zlib.error, csv.Error):
        raise BadTable(f"{str(file)!r} is not a CSV file in UTF-8; save it as UTF-8, plain or gzip") from None
    if not any(names):
        raise BadTable(f"{str(file)!r} has no header line; the first line must name the columns")
    return tuple(name or f"column{i + 1}" for i, name in enumerate(names)), separator


def _open_text(file: Path) -> TextIO:
    opener = gzip.open if file.suffix.lower() == ".gz" else open
    return cast(TextIO, opener(file, "rt", encoding="utf-8-sig", newline=""))


@final
@dataclass(frozen=True, eq=False)
class CsvCells:
    """The cells of a CSV file, as text in a duckdb table; a column becomes numbers when it is asked for."""

    names: tuple[str, ...]
    connection: Any

    def fetch(self, names: tuple[str, ...]) -> Mapping[str, object]:
        import duckdb

        parts = [self._typed(f"c{self.names.index(name)}") for name in names]
        chosen = ", ".join(f"{part} AS {quoted(str(i))}" for i, part in enumerate(parts))
        try:
            arrays = self.connection.execute(f"SELECT {chosen} FROM cells").fetchnumpy()
        except duckdb.Error as error:
            raise refused(error, "the cells of the file could not be read") from None
        return {name: arrays[str(i)] for i, name in enumerate(names)}

    def _typed(self, cell: str) -> str:
        """The SQL of a column as the narrowest of BIGINT, UBIGINT, DOUBLE, VARCHAR that holds every cell."""
        text = f"nullif(trim({cell}), '')"
        known = f"CASE WHEN lower(trim({cell})) IN {_ABSENT} THEN NULL ELSE {text} END"
        whole = f"CASE WHEN NOT regexp_matches({cell}, '[.eE]') THEN {known} END"
        filled, some, double, signed, unsigned = self.connection.execute(
            f"SELECT count({text}), count({known}), count(TRY_CAST({known} AS DOUBLE)), "
            f"count(TRY_CAST({whole} AS BIGINT)), count(TRY_CAST({whole} AS UBIGINT)) FROM cells"
        ).fetchone()
        if double < some or (filled and not some):
            return text
        kind = "BIGINT" if signed == some else "UBIGINT" if unsigned == some else "DOUBLE"
        return f"CAST({known} AS {kind})"
