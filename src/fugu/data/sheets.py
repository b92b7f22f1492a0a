"""The one sheet of an Excel workbook, as the texts that a CSV file of it would hold.

Each text is a function of its cell alone: what was typed as text stays as it is; numbers are in their shortest form
whatever they look like on the screen (10 % is 0.1), dates in ISO 8601, truth values TRUE and FALSE; an error is its
text, as #N/A; a formula is the value that was stored with it; of merged cells the first one has what they show."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import closing
from datetime import date, datetime, time
from pathlib import Path

from fugu.data.cells import number_text
from fugu.data.frame import refused
from fugu.errors import BadTable, FuguError, MissingExtra


def sheet_rows(file: Path, decimal: str) -> Iterator[list[str]]:
    """The rows in which something stands, without what is blank at their ends."""
    try:
        from openpyxl import load_workbook
    except ImportError:
        raise MissingExtra(
            f"{file.name!r} is an Excel workbook, which openpyxl reads: pip install openpyxl; or save the sheet as CSV "
            "(in the spreadsheet: save as, CSV UTF-8), and give that file"
        ) from None
    try:
        with warnings.catch_warnings():  # which would quote cells
            warnings.simplefilter("ignore")
            with closing(load_workbook(file, read_only=True, data_only=True, keep_links=False)) as book:
                if len(book.worksheets) != 1:
                    raise BadTable(
                        f"{str(file)!r} has {len(book.worksheets)} sheets, and a table is one: save the one that is "
                        "meant as CSV, or as a workbook of its own"
                    )
                sheet = book.worksheets[0]
                sheet.reset_dimensions()  # what a file says of its size may be wrong
                for cells in sheet.iter_rows(values_only=True):
                    texts = [cell_text(cell, decimal) for cell in cells]
                    while texts and not texts[-1]:
                        texts.pop()
                    if texts:
                        yield texts
    except FuguError:
        raise
    except Exception as error:  # whatever it raises may quote a cell
        damaged = f"{str(file)!r} is not an Excel workbook, or it is damaged; save it again, or as CSV"
        raise refused(error, damaged) from None


def cell_text(cell: object, decimal: str) -> str:
    """The text of one cell.

    >>> [cell_text(cell, ",") for cell in (None, " 007 ", 2.0, 0.1, True, datetime(2024, 1, 31), time(9, 30))]
    ['', ' 007 ', '2', '0,1', 'TRUE', '2024-01-31', '09:30:00']
    """
    if cell is None or isinstance(cell, str):
        return cell or ""
    if isinstance(cell, bool):
        return str(cell).upper()
    if isinstance(cell, datetime):
        return cell.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(cell, date | time):
        return cell.isoformat()
    return number_text(cell).replace(".", decimal) if isinstance(cell, float) else str(cell)
