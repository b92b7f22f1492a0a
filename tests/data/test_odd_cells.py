"""Cells that no table should hold: each is read by itself, and none stops the reading."""

from __future__ import annotations

import enum
import math
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import numpy as np
import pytest

from fugu.data.cells import distinct, number_of, text_of
from fugu.data.column import Raw
from fugu.data.field import Field
from fugu.data.schema import Schema


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
