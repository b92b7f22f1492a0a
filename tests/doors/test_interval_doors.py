"""One interval whose times are secret, whatever its begin, end or state holds, moves entries and nothing public.

Public are the users, and of each the first begin and the last end. A row inside them is replaced cell by cell: empty,
text, another kind of time, both times swapped. Exit code, messages, names and number of files, users, lengths, rows and
certificate stay to the letter. A row that reaches beyond moves what is public, and is answered by that alone.
"""

from __future__ import annotations

import json
import math
from datetime import datetime, timedelta
from decimal import Decimal

import numpy as np
import pytest
from hostile import CELLS, CONTAINERS, as_csv, called, ways
from typer.testing import CliRunner

import fugu.cli.app as cli
from fugu.data import Schema
from fugu.data.column import Column
from fugu.data.layout import Layout
from fugu.data.moments import times_of
from fugu.data.sequences import open_timed, sequence_schema
from fugu.errors import BadTable, FuguError, UsageError
from fugu.noise.bits import RngBits
from fugu.queries import sequence_query
from release_files import public_part

START = datetime(2023, 12, 31, 6)
LAYOUT = Layout(end="to", every="1h", between="away", overlaps="last", backwards="drop", inside="secret")
ROUTE = ("--by", "user", "--order", "from", "--end", "to", "--state", "place", "--every", "1h", "--between", "away",
         "--overlaps", "last", "--backwards", "drop", "--inside", "secret")  # fmt: skip
PLACES = ("home", "work", "shop")
ROW = 4
"""Of the first user's nine: neither the first to begin nor the last to end."""
NUMBERS = ("moon", "", "nan", "inf", "-inf", "1e999", "1.5", " 1 ", "\u0661", "True", "[1, 2]", "9" * 2000, None,
           math.nan, math.inf, 1.5, 2.0, 0, True, b"\xff\xfe", b"1", [1], {"a": 1}, 1j, Decimal("sNaN"),
           Decimal("2.00"), np.float32(1.5), np.int8(2), np.timedelta64(3, "s"), np.ma.masked, object())  # fmt: skip
"""No time, or one inside the record."""


def diary(users=2, shift=0, step=lambda hours: (START + timedelta(hours=hours)).isoformat(sep=" ")):
    """Nine intervals of four hours for each user, two of them apart, two of them overlapping."""
    found = {"user": [], "from": [], "to": [], "place": []}
    for u in range(users):
        for k in range(9):
            begin = 4 * k + u
            for name, cell in (("user", f"u{u}"), ("from", step(begin)), ("to", step(begin + (3, 4, 5)[k % 3]))):
                found[name].append(cell)
            found["place"].append(PLACES[(k * k + u + shift) % 3])
    return found


def schema_of(table, layout=LAYOUT):
    return sequence_schema(table, "user", "from", "place", Schema({}, sequence=layout))


def replaced(table, name, cell, row=ROW):
    return {**table, name: [*table[name][:row], cell, *table[name][row + 1 :]]}


def shape_of(table, schema):
    """What is public of sequences: the users, and the times of their entries; and the entries of all other users."""
    found = open_timed(table, "user", "from", "place", schema)
    others = {user: entries for user, entries in found.sequences.items() if user != "u0"}
    return list(found.sequences), found.plan.times, {user: len(e) for user, e in found.sequences.items()}, others


@pytest.mark.parametrize(("name", "container"), ways(["from", "to", "place"], ["from"]), ids=called)
def test_one_cell_moves_no_length_no_time_and_no_other_user(name, container, tmp_path):
    table = diary()
    schema = schema_of(table)
    base = shape_of(container(table, tmp_path), schema)
    for cell in CELLS:
        held = container(replaced(table, name, cell), tmp_path)
        if held is not None:
            assert shape_of(held, schema) == base, repr(cell)[:40]


def test_numbers_as_times_are_read_one_by_one_too(tmp_path):
    table, layout = diary(step=lambda hours: hours), Layout(**{**LAYOUT.to_json(), "every": "1"})
    schema = schema_of(table, layout)
    for container in CONTAINERS:
        base = shape_of(container(table, tmp_path), schema)
        for name in ("from", "to"):
            for cell in NUMBERS:
                held = container(replaced(table, name, cell), tmp_path)
                if held is not None:
                    assert shape_of(held, schema) == base, (container.__name__, name, repr(cell)[:40])


@pytest.fixture
def fixed(monkeypatch):
    """The bits of the operating system, the same ones for every release."""
    monkeypatch.setattr(
        sequence_query.SequenceMechanism,
        "release",
        lambda self, sequences, charged=False, allow_no_noise=False: self._answer(
            self.query._read(sequences), RngBits(np.random.default_rng(5))
        ),
    )


def command(folder, *more):
    """Exit code and words, the names of all files, the rows of the published one, and the certificate."""
    for old in folder.glob("out.*"):
        old.unlink()
    args = ["release", folder / "t.csv", "--reference", folder / "ref.csv", *ROUTE, "--epsilon", 1, "-o",
            folder / "out.csv", "--no-ledger", *more]  # fmt: skip
    found = CliRunner().invoke(cli.app, [str(a) for a in args], env={"COLUMNS": "200"})
    if found.exception is not None and not isinstance(found.exception, SystemExit | FuguError):
        raise found.exception
    files = {p.name: p.read_text() for p in folder.glob("out.*")}
    lines = files.get("out.csv", "").splitlines()
    document = public_part(json.loads(files.get("out.certificate.json", "{}")))
    words = found.output if "--dry-run" in more or found.exit_code else found.output.split("\n", 2)[:2]
    return found.exit_code, str(found.exception), words, sorted(files), len(lines), lines[:1], document


ODD = ("", "soon", b"\xff\xfe", "2023-12-31T20:00Z", "2024-01-01")
SWAPPED = replaced(replaced(diary(), "from", diary()["to"][ROW]), "to", diary()["from"][ROW])


@pytest.mark.parametrize(
    ("more", "tables"),
    [
        (
            ("--query", "histogram"),
            [SWAPPED, replaced(diary(), "place", ""), *(replaced(diary(), "to", x) for x in ODD)],
        ),
        (("--query", "top2", "--dry-run", "--json"), [SWAPPED, *(replaced(diary(), "from", x) for x in ODD[:3])]),
    ],
    ids=["histogram", "dry run"],
)
def test_the_command_says_and_writes_the_same_whatever_an_interval_holds(more, tables, tmp_path, fixed):
    as_csv(diary(users=6, shift=1), tmp_path).rename(tmp_path / "ref.csv")
    as_csv(diary(), tmp_path)
    base = command(tmp_path, *more)
    assert base[0] == 0 and ("--dry-run" in more or base[4] > 3), base[:3]
    for held in tables:
        as_csv(held, tmp_path)
        assert command(tmp_path, *more) == base


def test_a_row_beyond_the_record_is_answered_by_what_is_public_alone(tmp_path, fixed):
    """Two tables of the same first begin and last end have the same answer, were it a refusal; no cell is in it."""
    table, schema, said = diary(), schema_of(diary()), set()
    for odd in ("home", "", None, "SENTINEL"):
        far = replaced(replaced(table, "to", "9876-05-04T03:00"), "place", odd)
        with pytest.raises(UsageError, match=r"first begin to the last end.*public") as error:
            open_timed(far, "user", "from", "place", schema)
        said.add(str(error.value))
    assert len(said) == 1 and not any("98" in text or "SENTINEL" in text for text in said)
    longer = open_timed(replaced(table, "to", "2024-01-03T00:00"), "user", "from", "place", schema)
    assert longer.plan.times["u0"][-1] > open_timed(table, "user", "from", "place", schema).plan.times["u0"][-1]
    for odd in ("", "soon", math.nan):  # no user has a begin and an end
        none = {**table, "to": [odd] * len(table["to"])}
        with pytest.raises(BadTable, match="no user has a first begin and a last end"):
            open_timed(none, "user", "from", "place", schema)


def test_the_harness_sees_a_row_that_decides_about_a_refusal(monkeypatch):
    """The times of all rows as one column, which public intervals have: one text refuses the table."""

    def together(begins, ends, layout, decimal):
        columns = [Column.of(name, list(cells)) for name, cells in (("from", begins), ("to", ends))]
        return tuple(times_of(column, decimal) for column in columns)

    table = diary()
    schema = schema_of(table)
    base = shape_of(table, schema)
    monkeypatch.setattr("fugu.data.sequences.secret_times", together)
    assert shape_of(table, schema) == base
    with pytest.raises(BadTable):
        shape_of(replaced(table, "to", "soon"), schema)
