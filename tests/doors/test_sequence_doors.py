"""One row of private sequences, whatever stands in it, moves its own entry and nothing else: every way in.

Each entry point is one function from a private table (or from sequences in memory) to what can be seen of it: the
entries as codes, or the answer for fixed random bits with all words around it. `HOSTILE` replaces one cell of the state
column; the rest is compared to the letter, and the answer in steps of the stated sensitivity.
"""

from __future__ import annotations

import csv
import math
import random
from datetime import date
from fractions import Fraction
from itertools import cycle

import numpy as np
import pandas as pd
import pytest
from hostile import CELLS, as_csv, called, ways
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.data.sequences import open_sequences, read_sequences, sequence_schema, sequences_digest
from fugu.errors import BadTable, FuguError
from fugu.noise.bits import RngBits
from fugu.queries import sequence_query
from fugu.queries.sequences import (
    ArgMax,
    Count,
    Histogram,
    Lipschitz,
    Mean,
    Numbers,
    RandomisedResponse,
    Select,
    States,
    Sum,
    TopK,
    Transitions,
)
from release_files import document_of, public_part

NAMES = {"by": "user", "order": "time", "state": "place"}
ROUTE = ("--by", "user", "--order", "time", "--state", "place")
KINDS = {  # states of the reference, as a file has them
    "text": ("home", "work", "shop"),
    "number": ("1", "2", "3"),
    "codes": ("250.00", "401.9", "8"),  # numbers in the reference
    "letters": ("V27.0", "250.0", "250.00"),  # two of these are one number, and two states
}
BYTES = (b"\xff\xfe\x00", b"\xc3(", "caf\u00e9".encode("latin-1"))


def told(states, users=5, hours=6, seed=0):
    """Rows of a table, as texts: user, time, state."""
    draw = random.Random(seed)
    return [[f"u{u}", str(hour), draw.choice(states)] for u in range(users) for hour in range(hours)]


def columns(rows):
    return {name: [row[i] for row in rows] for i, name in enumerate(("user", "time", "place"))}


def typed(cell, kind):
    """A state as a frame holds it: numbers as numbers."""
    return cell if kind in ("text", "letters") else float(cell) if "." in cell else int(cell)


# --- the ways in: private rows to what can be seen of them ---------------------------------------------------------


def entries_of(table, schema, states):
    """`open_sequences` and the domain of a query: each user's codes, and the type of each user's entries."""
    found = open_sequences(table, **NAMES, schema=schema)
    sequences_digest(found)
    return dict(zip(found, States(states).read(found), strict=True))


def figures_of(table, schema, bounds):
    """The same for numbers."""
    found = open_sequences(table, **NAMES, schema=schema)
    return dict(zip(found, Numbers(*bounds).read(found), strict=True))


def answer_of(query, sequences):
    """`SequenceMechanism.release` with fixed random bits: the value, its labels and shape, and the certificate."""
    answer = query.mechanism(Fraction(1, 2))._answer(query._read(sequences), RngBits(np.random.default_rng(3)))
    value = answer.value
    kind = (type(value).__name__, getattr(value, "dtype", None), getattr(value, "shape", None), answer.labels)
    return value, (kind, answer.interval, answer.certificate)


def release_of(table, reference, query, out, *more):
    """`fugu release --state` with fixed random bits: the values, and all the words around them."""
    args = ["release", table, "--query", query, *ROUTE, "--reference", reference, "--epsilon", 1, "-o", out,
            "--no-ledger", "--force", *more]  # fmt: skip
    found = CliRunner().invoke(cli.app, [str(a) for a in args], env={"COLUMNS": "200"})
    if found.exception is not None and not isinstance(found.exception, SystemExit | FuguError):
        raise found.exception
    said = f"{type(found.exception).__name__}: {found.exception}" if found.exception else ""
    if found.exit_code or found.exception or "--dry-run" in more:
        return None, (found.exit_code, said, found.output)
    with open(out, encoding="utf-8", newline="") as file:
        written = list(csv.DictReader(file))
    labels = [{k: v for k, v in row.items() if k not in ("value", "low", "high")} for row in written]
    sealed = public_part(document_of(out).body)
    first = found.output.split("\n", 2)[:2]  # the table of values comes after them
    values = [float(row["value"]) for row in written if "value" in row]
    return values, (found.exit_code, said, first, labels if values else len(labels), list(written[0]), sealed)


def written(path, rows):
    """A CSV file with every cell as it is."""
    return as_csv(columns(rows), path.parent).rename(path)


def row_moves_alone(base, other, row, hours=6):
    """All entries but one are identical; the public shape is."""
    assert list(base) == list(other)
    changed = [
        (user, at)
        for user in base
        for at, (a, b) in enumerate(zip(base[user], other[user], strict=True))
        if a != b or type(a) is not type(b)
    ]
    assert changed in ([], [(f"u{row // hours}", row % hours)])


def reference(kind):
    """A public table: text in a file, typed in a frame; both give one schema."""
    rows = told(KINDS[kind], users=20, seed=9)
    schema = sequence_schema(columns(rows), **NAMES)
    if kind in ("number", "codes"):  # a dict of texts is not typed: that is what a file is for
        typed_rows = [[u, t, typed(s, kind)] for u, t, s in rows]
        schema = sequence_schema(columns(typed_rows), **NAMES)
        assert schema.fields["place"].kind == "number"
    return schema, tuple(dict.fromkeys(typed(s, kind) for s in KINDS[kind]))


ROWS = (0, 13, 29)
"""Cells stand in these in turn."""


@pytest.mark.parametrize(("kind", "container"), ways(list(KINDS), list(KINDS)), ids=called)
def test_a_table_of_any_cells_has_each_read_by_itself(kind, container, tmp_path):
    """1, 1.0 and "1" are one state, in every file and frame."""
    schema, states = reference(kind)
    rows = told(KINDS[kind])
    for held in (str, lambda cell: typed(cell, kind)):
        data = columns([[u, t, held(s)] for u, t, s in rows])
        base = entries_of(container(data, tmp_path), schema, states)
        assert base == entries_of(columns(rows), schema, states)
        for cell, row in zip((*CELLS, *BYTES), cycle(ROWS), strict=False):
            place = [*data["place"][:row], cell, *data["place"][row + 1 :]]
            if (table := container({**data, "place": place}, tmp_path)) is not None:
                row_moves_alone(base, entries_of(table, schema, states), row)


def test_numbers_move_alone_and_within_the_bounds(tmp_path):
    schema, _ = reference("number")
    rows = told(KINDS["number"])
    base = figures_of(columns(rows), schema, (1, 3))
    for cell in CELLS:
        for row in ROWS:
            new = columns(rows)
            new["place"][row] = cell
            found = figures_of(new, schema, (1, 3))
            row_moves_alone(base, found, row)
            assert all(1 <= x <= 3 for user in found.values() for x in user)


def test_numbers_that_lost_their_letters_are_read_cell_by_cell():
    """ "250.0" and "250.00" are two states here, and one double, which is neither; one text beside it changes nothing.
    An engine makes numbers of a column only where no cell is a text, so no refusal may follow from that."""
    schema, states = reference("letters")
    numbers = {"user": ["u0"] * 3, "time": [1, 2, 3], "place": np.array([250.0, 1.0, math.nan])}
    base = entries_of(numbers, schema, states)
    for cells in ([250.0, 1.0, "250.00"], pd.Categorical([250.0, 1.0, "250.00"]), pd.Categorical([250.0, 1.0, 250.0])):
        row_moves_alone(base, entries_of({**numbers, "place": pd.Series(cells)}, schema, states), 2)


PLAIN = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(), st.binary(), st.decimals(), st.fractions(),
    st.complex_numbers(), st.dates(), st.datetimes(timezones=st.none() | st.timezones()), st.timedeltas(),
    st.sampled_from(["home", "1", "2.0", "250.0", " 250.00", "(other)", "V27.0"]),
)  # fmt: skip
RANDOM = PLAIN | st.lists(PLAIN, max_size=2) | st.dictionaries(st.text(), PLAIN, max_size=1)


@given(st.sampled_from(list(KINDS)), st.lists(RANDOM, min_size=2, max_size=8), st.data())
def test_random_entries_move_alone_in_a_random_table(kind, cells, data):
    """Here the other rows are odd too: what they become does not depend on the one that is replaced."""
    schema, states = reference(kind)
    table = {"user": ["u0"] * len(cells), "time": list(range(len(cells))), "place": cells}
    row, new = data.draw(st.integers(0, len(cells) - 1)), data.draw(RANDOM)
    place = [*cells[:row], new, *cells[row + 1 :]]
    base, other = (entries_of({**table, "place": held}, schema, states) for held in (cells, place))
    row_moves_alone(base, other, row, hours=len(cells))
    low, high = Numbers(0, 2).read([cells]), Numbers(0, 2).read([place])
    row_moves_alone({"u0": low[0]}, {"u0": high[0]}, row, hours=len(cells))


# --- sequences in memory -------------------------------------------------------------------------------------------

STATES = States(("home", "work", "shop"), other="shop")
QUERIES = [
    Count("work", STATES),
    Histogram(STATES),
    Transitions(STATES),
    TopK(2, STATES),
    TopK(1, STATES),
    ArgMax(STATES, "exponential"),
    RandomisedResponse(STATES),
    Lipschitz(lambda users: sum(u.count("home") for u in users), 1, STATES, whole=True),
    Select(lambda users, c: sum(u.count(c) for u in users), ("home", "work"), 1, STATES),
    Sum(Numbers(1, 3)),
    Mean(Numbers(1, 3, missing=1)),
]


def moved(query, base, other, n):
    """The exact answers before noise, in l1; a mean in units of the sum."""
    if isinstance(query, TopK | ArgMax | RandomisedResponse | Select):
        domain = Histogram(query.domain)
        return sum(abs(domain.exact(base) - domain.exact(other))) / 2  # no count by more than 1
    a, b = (np.asarray(query.exact(data), dtype=object).ravel() for data in (base, other))
    return sum(abs(a - b)) * (n if isinstance(query, Mean) else 1)


@pytest.mark.parametrize("query", QUERIES, ids=lambda q: f"{type(q).__name__}")
def test_sequences_in_memory_hold_any_entry(query):
    kind = "text" if isinstance(query.domain, States) else "number"
    rows = told(KINDS[kind], users=3, hours=4, seed=2)
    users = [[typed(row[2], kind) for row in rows[4 * u : 4 * u + 4]] for u in range(3)]
    forms = (lambda x: x, lambda x: {str(i): u for i, u in enumerate(x)}, lambda x: [e for u in x for e in u])
    for form in forms:
        base, words = answer_of(query, form(users))
        assert words[2]["entries"] == query.domain.describe()
        for cell in CELLS:
            for u, at in ((0, 0), (2, 3)):
                new = [list(user) for user in users]
                new[u][at] = cell
                value, said = answer_of(query, form(new))
                assert said == words
                assert moved(query, form(users), form(new), 12) <= query.sensitivity
                if not isinstance(query, TopK | ArgMax | RandomisedResponse | Select):
                    change = np.abs(np.asarray(value, dtype=float) - np.asarray(base, dtype=float)).sum()
                    assert change * (12 if isinstance(query, Mean) else 1) <= query.sensitivity + Fraction(1, 100)


def test_a_release_of_any_entry_takes_the_bits_of_the_operating_system():
    for cell in CELLS:
        assert Histogram(STATES).mechanism(1).release([["home", cell], ["work"]]).value.shape == (3,)
        assert isinstance(Sum(Numbers(0, 1)).mechanism(1).release([cell, 1]).value, float)


# --- the command ---------------------------------------------------------------------------------------------------


@pytest.fixture
def fixed(monkeypatch):
    """The operating system's bits, the same ones for every release."""

    monkeypatch.setattr(
        sequence_query.SequenceMechanism,
        "release",
        lambda self, sequences, charged=False, allow_no_noise=False: self._answer(
            self.query._read(sequences), RngBits(np.random.default_rng(5))
        ),
    )


ASKED = [
    ("text", "histogram", 2, ()),
    ("text", "histogram", 2, ("--other", "shop")),
    ("number", "histogram", 2, ()),
    ("codes", "count(401.9)", 1, ()),
    ("letters", "histogram", 2, ()),
    ("text", "transitions", 4, ()),
    ("text", "top2", 0, ()),
    ("number", "mean(place)", 2 / 30, ()),
    ("number", "sum(place)", 10, ("--bounds", "0,10")),
    ("text", "histogram", 2, ("--dry-run",)),
    ("text", "top2", 0, ("--json", "--dry-run")),
]


@pytest.mark.parametrize(("kind", "query", "sensitivity", "more"), ASKED, ids=lambda x: str(x).replace("/", ""))
def test_the_command_says_and_does_the_same_whatever_one_cell_holds(kind, query, sensitivity, more, tmp_path, fixed):
    ref = written(tmp_path / "ref.csv", told(KINDS[kind], users=20, hours=8, seed=9))
    rows = told(KINDS[kind])
    table, out = tmp_path / "table.csv", tmp_path / "out.csv"
    base, words = release_of(written(table, rows), ref, query, out, *more)
    assert words[:2] == (0, "")
    for cell in ("V27.0", "moon", "", "nan", "inf", "1e308", "1.5", '"', "a,b\nc", b"\xff\xfe", "9" * 400):
        new = [list(row) for row in rows]
        new[13][2] = cell
        value, said = release_of(written(table, new), ref, query, out, *more)
        assert said == words
        if base:
            assert sum(abs(a - b) for a, b in zip(base, value, strict=True)) <= sensitivity * 1.001


@pytest.mark.parametrize("column", [0, 1])
def test_public_columns_refuse_without_a_cell(column, tmp_path, fixed):
    """A missing user or time, a time that is none, a time twice: exit 2, by the name of the column."""
    ref = written(tmp_path / "ref.csv", told(KINDS["text"], users=20, hours=8, seed=9))
    rows = told(KINDS["text"])
    for cell in ("", "SENTINEL-1", b"\xff\xfe") if column else ("", b"\xff\xfe"):
        new = [list(row) for row in rows]
        new[13][column] = cell
        _, (code, said, shown) = release_of(written(tmp_path / "table.csv", new), ref, "histogram", tmp_path / "o.csv")
        assert code in (1, 2) and f"column '{('user', 'time')[column]}'" in said
        for text in (said, shown):
            assert "SENTINEL" not in text and "u2" not in text and "\ufffd" not in text
    new = [list(row) for row in rows]
    new[13][1] = new[12][1]
    _, (_, said, _) = release_of(written(tmp_path / "table.csv", new), ref, "histogram", tmp_path / "o.csv")
    assert "repeats a time" in said and "u2" not in said


def test_times_are_exact_and_dates_are_times():
    """Nanoseconds beyond the doubles keep their order, and a frame of dates is ordered as they are."""
    late = [2**60 + 2, 2**60, 2**60 + 1]
    for times in (late, [str(t) for t in late], np.array(late), [date(2024, 1, 3), date(2024, 1, 1), date(2024, 1, 2)]):
        table = {"user": ["u"] * 3, "time": times, "place": ["c", "a", "b"]}
        assert read_sequences(table, **NAMES) == {"u": ["a", "b", "c"]}
    for odd in ([[1], [2], [3]], [math.inf, 1, 2], [None, 1, 2], [b"\xff", 1, 2]):
        with pytest.raises(BadTable, match="'time'"):
            read_sequences({"user": ["u"] * 3, "time": odd, "place": ["c", "a", "b"]}, **NAMES)
    with pytest.raises(BadTable, match="'user'"):
        read_sequences({"user": [[1], [1], [2]], "time": [1, 2, 3], "place": ["c", "a", "b"]}, **NAMES)
