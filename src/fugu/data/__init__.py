"""Frames and files of any engine, as columns of numbers and text. This room knows nothing of privacy."""

from typing import TYPE_CHECKING

from fugu.lazily import names

if TYPE_CHECKING:
    from fugu.data.cells import count_pairs as count_pairs
    from fugu.data.column import Column as Column
    from fugu.data.files import csv_text as csv_text
    from fugu.data.files import read_table as read_table
    from fugu.data.files import write_csv as write_csv
    from fugu.data.frame import Table as Table
    from fugu.data.schema import Schema as Schema
else:
    __getattr__ = names(__name__)
