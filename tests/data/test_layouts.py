"""Every layout against a slow reading written here, and one changed cell: only the entries that show it move.

`slow` follows the sentences of the guide with lists and dicts. The users, times, ends and places of rows are public; a
reading may use them as it likes. The states are not: `moved` replaces one state by anything at all and compares every
entry. The wrong readings below are all of the kind that looks harmless, and each is caught by the same comparison.
"""

from __future__ import annotations

import math
from datetime import datetime, timedelta
from fractions import Fraction
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fugu.data import Schema, sequences
from fugu.data import layout as plan
from fugu.data.layout import Layout
from fugu.data.sequences import (
    open_sequences,
    open_timed,
    read_sequences,
    read_timed,
    sequence_schema,
    spacing,
    unbroken,
)
from fugu.errors import BadTable, ColumnNotFound, FuguError, MissingValues, NotProvable, UnknownName, UsageError
from hunting import search

STATES = ("rest", "walk", "run")
HOSTILE = ("", "NA", "moon", "nan", "inf", "-inf", "1e999", "9" * 400, "\x00", "é✓", "(other)", " walk ", "x" * 5000,
           None, math.nan, math.inf, 10**400, b"\xff", [1], object(), 1j, True)  # fmt: skip
START = datetime(2024, 11, 5, 8)


def table_of(kind, rng, numbers=False):
    """A random public table of a kind: columns, the arguments that read it, and the names of its state columns."""
    rows = int(rng.integers(1, 9))
    states = [float(x) for x in rng.integers(-3, 9, 60)] if numbers else [STATES[i] for i in rng.integers(0, 3, 60)]
    users = [f"u{i}" for i in rng.integers(0, 2, rows)]
    if kind == "wide":
        found = {"id": [f"u{i}" for i in range(rows)], "m1": states[:rows], "x": [1] * rows, "m2": states[9 : rows + 9]}
        return {**found, "m3": states[20 : rows + 20]}, ("id", None, "state"), ("m1", "m2", "m3")
    if kind == "intervals":
        begin = [int(x) for x in rng.integers(0, 30, rows)]
        length = [int(x) for x in rng.integers(-2, 12, rows)]
        pairs = list(zip(begin, length, strict=True))
        found = {"user": users, "from": begin, "to": [a + b for a, b in pairs], "s": states[:rows]}
        return found, ("user", "from", "s"), ("s",)
    return {"user": users, "time": [int(x) for x in rng.integers(0, 12, rows)], "s": states[:rows]}, (
        "user", "time", "s"), ("s",)  # fmt: skip


def slow(table, names, layout):
    """{user: [(name of the column, row) of each entry]}, from the public columns; None where an interval is missing."""
    by, order, state = names
    rows = range(len(next(iter(table.values()))))
    if layout.columns:
        return {str(table[by][row]): [(name, row) for name in layout.columns] for row in rows}
    found, step = {}, None if layout.every is None else Fraction(layout.every)
    for user in dict.fromkeys(["1"] if by is None else table[by]):
        own = [row for row in rows if by is None or table[by][row] == user]
        if layout.end is not None:
            own = [row for row in own if table[order][row] < table[layout.end][row]]
            if not own:
                continue
            low, high = min(table[order][r] for r in own), max(table[layout.end][r] for r in own)
            points = [k for k in range(-100, 200) if low <= k * step < high]
            pick = min if layout.overlaps == "first" else max
            shown = []
            for k in points:
                holds = [r for r in own if table[order][r] <= k * step < table[layout.end][r]]
                shown.append((state, pick(holds, key=lambda r: (table[order][r], r))) if holds else None)
            if points:
                found[user] = shown
            continue
        if order is None:
            found[user] = [(state, row) for row in own]
            continue
        moment = {row: table[order][row] if step is None else table[order][row] // step for row in own}
        kept = sorted(own, key=lambda row: (moment[row], row))
        if layout.repeats in ("first", "last"):
            end = 0 if layout.repeats == "first" else -1
            kept = [[r for r in kept if moment[r] == m][end] for m in sorted(set(moment.values()))]
        found[user] = [(state, row) for row in kept]
    return found


LAYOUTS = {
    "first": ("long", {"repeats": "first"}),
    "last": ("long", {"repeats": "last"}),
    "rows": ("long", {"repeats": "rows"}),
    "a coarser step": ("long", {"repeats": "last", "every": "5/2"}),
    "wide": ("wide", {"columns": "m1:m3"}),
    "the first to begin": ("intervals", {"overlaps": "first"}),
    "the last to begin": ("intervals", {"overlaps": "last"}),
}


def laid(kind, said):
    if kind == "intervals":
        said = {"end": "to", "every": "2", "between": "none", "backwards": "drop", "inside": "secret", **said}
    if kind == "wide":
        said = {"columns": "m1,m2,m3"}
    return Layout(**said)


def case(name, rng, numbers=False):
    """A table, its schema from a reference of the same kind, what reads it, its slow reading; None if it is empty."""
    kind, said = LAYOUTS[name]
    layout = laid(kind, said)
    if numbers:
        layout = Layout(**{**layout.to_json(), "bins": "0,4"})
    table, names, columns = table_of(kind, rng, numbers)
    if kind == "long" and rng.random() < 0.2:
        names = (None, *names[1:])
    expected = slow(table, names, layout)
    if not any(expected.values()):
        return None
    declared = {"kind": "number"} if numbers else {"kind": "category", "values": list(STATES)}
    schema = sequence_schema(table, *names, schema=Schema({names[2]: declared}, sequence=layout))
    return table, schema, names, columns, expected


@search("layouts against a slow reading", each=sorted(LAYOUTS), quick=60)
def test_every_layout_is_the_slow_reading(name, rng):
    found = case(name, rng)
    if found is None:
        return 0
    table, schema, names, _, expected = found
    images = {user: [table[at[0]][at[1]] if at else "none" for at in shown] for user, shown in expected.items()}
    assert open_sequences(table, *names, schema) == images
    assert read_sequences(table, *names, schema) == images
    return 1


def moved(found, cell, rng, read=open_sequences):
    """The entries that another state in one cell changes, and those that show the cell; KeyError for other shapes."""
    table, schema, names, columns, expected = found
    column = columns[int(rng.integers(len(columns)))]
    row = int(rng.integers(len(table[column])))
    changed = {**table, column: [cell if i == row else x for i, x in enumerate(table[column])]}
    before, after = read(table, *names, schema), read(changed, *names, schema)
    assert {u: len(e) for u, e in before.items()} == {u: len(e) for u, e in after.items()}, "another shape"
    differ = {(u, i) for u, e in before.items() for i, x in enumerate(e) if (type(x), x) != (type(y := after[u][i]), y)}
    return differ, {(u, i) for u, shown in expected.items() for i, at in enumerate(shown) if at == (column, row)}


@search("one state of a layout changed", each=sorted(LAYOUTS), quick=60)
def test_one_cell_moves_the_entries_that_show_it_and_nothing_else(name, rng):
    """Whatever stands in it; with numbers in bins too."""
    numbers = bool(rng.random() < 0.4)
    found = case(name, rng, numbers)
    if found is None:
        return 0
    differ, shown = moved(found, HOSTILE[int(rng.integers(len(HOSTILE)))], rng)
    assert differ <= shown
    differ, shown = moved(found, 1e6 if numbers else "another", rng)
    assert differ <= shown and (numbers or differ == shown)
    return 1


def broken(found, cell, rng, read):
    """Whether another state changes the shape, or an entry that does not show it."""
    try:
        differ, shown = moved(found, cell, rng, read)
    except (AssertionError, KeyError):
        return True
    return not differ <= shown


def by_value(users, by, order, layout, decimal, images=()):
    """Keep-last by value: of rows at one time the one with the largest state."""
    codes, names = users
    rows = sorted(range(len(codes)), key=lambda r: (codes[r], order.values[r], str(images[r]), r))
    kept = {(codes[r], order.values[r]): r for r in rows}
    cells = {name: [r for (c, _), r in kept.items() if names[c] == name] for name in names}
    return plan.EntryPlan(cells, None)


def test_keeping_the_last_by_its_value_is_caught(monkeypatch):
    """Which row counts would then be decided by the states."""

    def wrong(table, by, order, images, schema, state, opened):
        codes, users = table.exact(by).codes(ordered=False)
        users = codes, users.tolist()
        found = by_value(users, by, table.exact(order), schema.sequence, ".", images)
        return sequences.Timed(found.filled(images, None), found, schema)

    table = {"user": ["u"] * 3, "time": [1, 1, 2], "s": ["walk", "rest", "run"]}
    layout = Layout(repeats="last")
    names = ("user", "time", "s")
    schema = sequence_schema(table, *names, schema=Schema({"s": {"kind": "category", "values": list(STATES)}},
                                                          sequence=layout))  # fmt: skip
    found = (table, schema, names, ("s",), slow(table, names, layout))
    rng = np.random.default_rng(0)
    assert all(d <= s for d, s in (moved(found, cell, rng) for cell in (*STATES, "zz") * 9))
    monkeypatch.setattr(sequences, "_timed", wrong)
    assert any(not d <= s for d, s in (moved(found, cell, rng) for cell in (*STATES, "zz") * 9))


def test_bins_fitted_on_the_private_table_are_caught():
    """Quantiles of the private numbers as cut points: one number moves the bins of all."""

    def wrong(table, by, order, state, schema):
        numbers = [x for x in table[state] if isinstance(x, float) and math.isfinite(x)]
        own = Schema({state: {"kind": "number"}}, sequence=Layout(bins=sorted(set(np.quantile(numbers, [0.3, 0.6])))))
        return open_sequences(table, by, order, state, sequence_schema(table, by, order, state, own))

    rng, table = np.random.default_rng(1), {"t": list(range(8)), "w": [float(x) for x in range(8)]}
    names = (None, "t", "w")
    schema = sequence_schema(table, *names, schema=Schema({}, sequence=Layout(bins="2,5")))
    found = (table, schema, names, ("w",), slow(table, names, schema.sequence))
    cells = (100.0, -3.0, 2.5) * 8
    assert all(d <= s for d, s in (moved(found, cell, rng) for cell in cells))
    assert any(not d <= s for d, s in (moved(found, cell, rng, wrong) for cell in cells))


def test_a_step_inferred_from_the_states_rows_is_caught():
    """The finest distance between rows that are not missing: one missing state changes the grid of all."""

    def wrong(table, by, order, state, schema):
        times = sorted(t for t, s in zip(table[order], table[state], strict=True) if s not in HOSTILE[:2])
        step = min(b - a for a, b in pairwise(times))
        own = Schema({state: {"kind": "category", "values": list(STATES)}},
                     sequence=Layout(repeats="last", every=str(step)))  # fmt: skip
        return open_sequences(table, by, order, state, sequence_schema(table, by, order, state, own))

    rng, names = np.random.default_rng(2), (None, "t", "s")
    table = {"t": [0, 1, 4, 8, 12], "s": ["rest", "walk", "run", "rest", "walk"]}
    layout = Layout(repeats="last", every="1")
    schema = sequence_schema(table, *names, schema=Schema({}, sequence=layout))
    found = (table, schema, names, ("s",), slow(table, names, layout))
    assert all(d <= s for d, s in (moved(found, cell, rng) for cell in HOSTILE * 2))
    assert any(broken(found, "", rng, wrong) for _ in range(30))


@given(st.one_of(st.text(max_size=30), st.floats(), st.integers(), st.binary(max_size=8), st.none(), st.booleans()))
def test_bins_are_defined_for_every_cell(cell):
    """A number has its bin, by its place among the cut points; what is no number is missing."""
    layout = Layout(bins="-1,0,2.5")
    known = sequence_schema({"t": [1, 2], "w": [0.5, 3]}, None, "t", "w", Schema({}, sequence=layout))
    (entry,) = open_sequences({"t": [1], "w": [cell]}, None, "t", "w", known)["1"]
    assert entry is None or entry in layout.labels
    if isinstance(cell, float) and not math.isnan(cell):
        assert entry == layout.labels[sum(cell >= cut for cut in (-1, 0, 2.5))]


def test_a_missing_number_is_the_bin_of_what_the_schema_says():
    told = Schema({"w": {"kind": "number", "missing": 7}}, sequence=Layout(bins="5,10"))
    known = sequence_schema({"t": [1, 2], "w": [1, 9]}, None, "t", "w", told)
    assert open_sequences({"t": [1, 2], "w": ["", "x"]}, None, "t", "w", known) == {"1": ["5..10", "5..10"]}


def test_one_interval_is_several_entries_and_its_times_decide_how_many():
    """The state at each full hour; half open; rows of length 0 and rows that run backwards cover nothing."""
    hours = [(0, 3), (3, 3), (9, 7), (5, 6)]
    texts = [[(START + timedelta(hours=h)).isoformat(sep=" ") for h in pair] for pair in hours]
    table = {"from": [a for a, _ in texts], "to": [b for _, b in texts], "s": ["rest", "walk", "run", "run"]}
    layout = Layout(end="to", every="1h", between="none", backwards="drop")
    public = sequence_schema(table, None, "from", "s", Schema({}, sequence=layout))
    with pytest.raises(NotProvable, match="all entries of one are equal"):
        open_timed(table, None, "from", "s", public)
    secret = Layout(**{**layout.to_json(), "overlaps": "last", "inside": "secret"})
    schema = sequence_schema(table, None, "from", "s", Schema({}, sequence=secret))
    found = open_timed(table, None, "from", "s", schema)
    assert found.sequences == {"1": ["rest", "rest", "rest", "none", "none", "run"]}
    shown = [cell for cell in found.plan.cells["1"] if cell >= 0]
    assert max(map(shown.count, shown)) == 3 and found.plan.span == 6
    assert "as secret as the states are" in " ".join(secret.sentences())
    for odd in ("", "soon", "9", None, math.nan, "2024-13-01", "2024-11-05T01:00Z"):
        other = {**table, "to": [odd, *table["to"][1:]]}
        assert set(open_timed(other, None, "from", "s", schema).sequences) == {"1"}, "a row decides about a refusal"
    with pytest.raises(UsageError, match="say what happens in every case"):
        Layout(end="to", every="1h", between="none", backwards="drop", inside="secret")
    with pytest.raises(BadTable, match="'to' has intervals that end before they begin; --backwards drop"):
        read_sequences(table, None, "from", "s", Schema({}, sequence=Layout(end="to", every="1h", between="none")))
    with pytest.raises(BadTable, match="gaps between the intervals"):
        read_sequences(table, None, "from", "s", Schema({}, sequence=Layout(end="to", every="1h", backwards="drop")))
    table["to"][0] = texts[3][1]
    with pytest.raises(BadTable, match="overlap, by columns 'from' and 'to'"):
        read_sequences(table, None, "from", "s", Schema({}, sequence=layout))


def test_zones_and_kinds_of_times_must_agree():
    table = {"from": ["2024-01-01T00:00Z"], "to": ["2024-01-01T03:00"], "s": ["a"]}
    layout = Schema({}, sequence=Layout(end="to", every="1h"))
    with pytest.raises(BadTable, match="both have a time zone"):
        read_sequences(table, None, "from", "s", layout)
    numbers = {"from": [1], "to": [4], "s": ["a"]}
    with pytest.raises(UsageError, match="--every 1h: column 'from' holds numbers"):
        read_sequences(numbers, None, "from", "s", layout)
    table["to"] = ["2024-01-01T05:00+02:00"]
    assert read_sequences(table, None, "from", "s", layout) == {"1": ["a", "a", "a"]}
    with pytest.raises(UsageError, match="20,000,000 entries"):
        read_sequences({"from": [0], "to": [10**12], "s": ["a"]}, None, "from", "s",
                       Schema({}, sequence=Layout(end="to", every="1")))  # fmt: skip


def test_wide_columns_are_named_once_and_found_again_in_the_private_table():
    table = {"id": ["a", "b"], "m1": ["x", "y"], "m2": ["y", "y"], "k:m": ["q", "q"]}
    for said in ("m1:m2", "m?", "m*", ["m1", "m2"]):
        schema = sequence_schema(table, "id", None, "state", Schema({}, sequence=Layout(columns=said)))
        assert schema.sequence.columns == ("m1", "m2")
        shuffled = {"m2": ["y"], "id": ["c"], "m1": ["zz"]}
        assert open_sequences(shuffled, "id", None, "state", schema) == {"c": ["zz", "y"]}
        assert open_sequences(table, None, None, "state", schema) == {"1": ["x", "y"], "2": ["y", "y"]}
        with pytest.raises(BadTable, match="none is named 'm2'"):
            open_sequences({"id": ["c"], "m1": ["x"]}, "id", None, "state", schema)
        with pytest.raises(BadTable, match="column 'id' repeats a user"):
            open_sequences({**table, "id": ["a", "a"]}, "id", None, "state", schema)
    for said, error, words in [
        ("m2:m1", UsageError, "'m2'|'m1' in the file"), ("z*", UsageError, "no column is like 'z"),
        ("m1,m1", UsageError, "twice: 'm1'"), ("m1", UsageError, "at least two"), ("m1,m9", ColumnNotFound, "'m9'"),
        ("id,m1", UsageError, "holds the column 'id' of --by"),
    ]:  # fmt: skip
        with pytest.raises(error, match=words):
            sequence_schema(table, "id", None, "state", Schema({}, sequence=Layout(columns=said)))
    schema = Schema({"state": {"kind": "category", "values": ["x", "y"], "missing": "x"}},
                    sequence=Layout(columns="m1:m2"))  # fmt: skip
    assert read_sequences({**table, "m1": ["", "y"]}, "id", None, "state", schema) == {"a": ["x", "y"], "b": ["y", "y"]}
    with pytest.raises(MissingValues, match="'m1'"):
        read_sequences({**table, "m1": ["", "y"]}, "id", None, "state", Schema({}, sequence=Layout(columns="m1:m2")))
    numbers = {"id": ["a", "b"], "m1": [1, 2], "m2": [2.5, None]}  # cells that are no texts ended in a traceback
    schema = Schema({"state": {"kind": "number", "missing": 2}}, sequence=Layout(columns="m1:m2"))
    assert read_sequences(numbers, "id", None, "state", schema) == {"a": [1, 2.5], "b": [2, 2]}


@pytest.mark.parametrize(
    ("said", "words"),
    [
        ({"repeats": "newest"}, "newest"), ({"gaps": "filled"}, "filled"), ({"end": "to"}, "every="),
        ({"between": "none"}, "end="), ({"every": "1 month"}, "--every"), ({"every": "0h"}, "--every"),
        ({"columns": "a:b", "every": "1h"}, "leave out end"), ({"gaps": "modelled"}, "every="),
        ({"bins": "5,3"}, "rise"), ({"bins": "0:10"}, "LOW:HIGH:STEP"), ({"bins": "0:10:3"}, "whole steps"),
        ({"bins": "a,b"}, "not a number"), ({"bins": "1e999"}, "finite"), ({"columns": 3}, "columns must"),
        ({"end": ""}, "end must"), ({"bins": "0:1e9:1"}, "at most 4096"),
    ],
)  # fmt: skip
def test_what_no_layout_can_be_is_refused_by_name(said, words):
    with pytest.raises(UsageError, match=words):
        Layout(**said)


def test_layouts_are_read_back_and_two_that_disagree_are_refused():
    for name, (kind, said) in LAYOUTS.items():
        layout = laid(kind, said)
        assert Layout.from_json(layout.to_json()) == layout, name
        assert Schema.from_json(Schema({}, sequence=layout).to_json()).sequence == layout
    assert "sequence" not in Schema({}).to_json()
    with pytest.raises(UnknownName, match="'repeat'"):
        Layout.from_json({"repeat": "last"})
    with pytest.raises(UsageError, match="--repeats says one thing"):
        Layout(repeats="last").merged(Layout(repeats="first"))
    assert Layout(bins="1,2").merged(Layout(repeats="last")) == Layout(bins="1,2", repeats="last")
    declared = Layout(columns="m1:m3")
    assert declared.agrees(Layout(columns=("m1", "m2", "m3")))
    assert not declared.agrees(Layout(columns=("m1", "m2"))) and not declared.agrees(Layout(repeats="last"))


def test_a_file_says_the_same_as_options(tmp_path):
    path = tmp_path / "s.toml"
    Schema({"w": {"kind": "number"}}, sequence=Layout(bins="0:800:200", every="1min", repeats="last")).save(path)
    assert "[sequence]" in path.read_text()
    assert Schema.load(path).sequence == Layout(bins="0:800:200", every="1min", repeats="last")
    path.write_text('[sequence]\ncolumns = "a:c"\n')
    assert Schema.load(path).sequence.columns == ("a:c",)
    path.write_text("[other]\n")
    with pytest.raises(UsageError, match=r"no .schema. part"):
        Schema.load(path)


def test_gaps_are_said_in_steps_and_cut_sequences():
    table = {"t": [0, 1, 2, 7, 8], "s": ["a", "b", "a", "b", "a"]}
    found = read_timed(table, None, "t", "s", Schema({}, sequence=Layout(every="1")))
    (said,) = spacing(found.plan)
    assert "25 % of the entries" in said and "4 missing steps of 1 (4)" in said
    assert list(unbroken(found).values()) == [["a", "b", "a"], ["b", "a"]] and found.plan.span == 9
    loose = read_timed(table, None, "t", "s")
    assert "between 1 and 5 apart, half of them at most 1" in spacing(loose.plan)[0]
    assert spacing(read_timed({"t": [0, 2, 4], "s": ["a", "b", "a"]}, None, "t", "s").plan) == ()


def test_no_message_holds_a_state():
    secret = "OnlyInACell"
    for layout, columns in [
        (Layout(), {"user": ["u", "u"], "time": [1, 1]}),
        (Layout(repeats="last"), {"user": ["u", ""], "time": [1, 2]}),
        (Layout(end="to", every="1"), {"user": ["u", "u"], "time": [1, 2], "to": [9, 5]}),
        (Layout(end="to", every="1"), {"user": ["u", "u"], "time": [1, 8], "to": [2, 5]}),
        (Layout(every="1h"), {"user": ["u", "u"], "time": [1, 2]}),
    ]:
        fine = {"user": ["u", "u"], "time": [1, 2], "to": [2, 3], "s": ["a", "b"]}
        schema = sequence_schema(fine, "user", "time", "s", Schema({}, sequence=layout))
        with pytest.raises(FuguError) as caught:
            open_sequences({**columns, "s": [secret, secret]}, "user", "time", "s", schema)
        assert secret not in str(caught.value)
