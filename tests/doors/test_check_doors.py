"""The owner's eyes see everything and change nothing: what goes out is the same with the check and without it.

`check` opens the private table and says of it what it likes, to its owner. In a release it sees the open table before
anything is charged; here one record is replaced by hostile ones, and exit code, stdout, stderr and every file but the
private part are the same, byte for byte up to salts and dates, as those of a release with --no-check.
"""

from __future__ import annotations

import json
import re
import sys

import numpy as np
import pytest
from hostile import CELLS, CONTAINERS, TEXTS
from test_one_row import REFERENCE, ROW, TODAY
from typer.testing import CliRunner

import fugu
import fugu.cli.app as cli
import fugu.cli.console as console
from fugu.documents.release import PrivatePart
from fugu.noise import bits
from release_files import RELEASES, prepared, public_part

KINDS = ("column", "mean", "many", "sequence")
HIDDEN = ("--hide", "s=a", "--statistics", "mean(v)", "--bounds", "v:0:6", "--shares", "0.4,0.5")
CELLS_OF = {"column": ("", "31.12.2024", "\ufffd", "inf"), "hide": ("1,5",)}
_SALTED = re.compile(r"[0-9a-f]{16,64}|\d{4}-\d\d-\d\d[T, ]+\d\d:\d\d(:\d\d)?(\+00:00)?")


@pytest.fixture
def same_bits(monkeypatch):
    """The bits of the operating system, the same ones for every release."""

    def start():
        source = bits.RngBits(np.random.default_rng(0))
        monkeypatch.setattr(bits.OsBits, "words", lambda _, size, count: source.words(size, count))

    return start


def outcome(folder, kind, *more):
    """Exit code, all that is printed, and every file but the private part, without salts and dates."""
    exact = () if kind in ("many", "sequence") else ("--allow-no-noise",)
    asked = (*(HIDDEN if kind == "hide" else RELEASES[kind]), *exact)
    args = ["release", folder / "today.csv", "--reference", folder / "ref.csv", *asked, "--epsilon", "1", "--no-ledger",
            "--force", *(("--delta", "0.01") if kind == "hide" else ()), "-o", folder / "out.csv", *more]  # fmt: skip
    for old in folder.glob("out.*"):
        old.unlink()
    ran = CliRunner().invoke(cli.app, [str(word) for word in args], env={"COLUMNS": "200"})
    files = {path.name: path.read_text() for path in folder.glob("out.*") if path.name != "out.private.json"}
    document = public_part(json.loads(files.pop("out.certificate.json", "{}")))
    text = {name: _SALTED.sub("-", said) for name, said in files.items()}
    return ran.exit_code, repr(ran.exception), _SALTED.sub("-", ran.stdout), ran.stderr, document, text


def hostile_line(folder, cell):
    """today.csv with the value of one record replaced."""
    lines = (folder / "today.csv").read_text().splitlines()
    group, secret, _, user, time = lines[ROW].split(",")
    lines[ROW] = f'{group},{secret},"{cell}",{user},{time}'
    (folder / "today.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")


@pytest.mark.parametrize("kind", [*KINDS, "hide"])
def test_a_release_is_the_same_with_the_check_and_without(kind, tmp_path, same_bits):
    for cell in CELLS_OF.get(kind, ("V27.0", "9" * 400)):
        prepared(tmp_path)
        hostile_line(tmp_path, cell)
        same_bits()
        looked = outcome(tmp_path, kind, "--json")
        part = PrivatePart.load(tmp_path / "out.private.json")
        assert looked[0] == 0 and part["check"]["records"] == 60 and "not for publication" in part["check"]["marking"]
        assert (tmp_path / "out.private.json").stat().st_mode & 0o077 == 0
        same_bits()
        assert outcome(tmp_path, kind, "--json", "--no-check") == looked
        assert "check" not in PrivatePart.load(tmp_path / "out.private.json").body


def test_one_record_moves_nothing_that_others_see_through_the_check(tmp_path, same_bits):
    """Exit code, messages and document of a column are those of the table without the hostile record."""
    found = []
    for cell in ("2", "V27.0", "1,5", "ja"):
        prepared(tmp_path)
        hostile_line(tmp_path, cell)
        same_bits()
        found.append(outcome(tmp_path, "column")[:5])
    assert all(each == found[0] for each in found)


@pytest.mark.parametrize("kind", KINDS[1:3])
def test_a_check_that_fails_stops_no_release(kind, tmp_path, same_bits, monkeypatch):
    prepared(tmp_path)
    same_bits()
    base = outcome(tmp_path, kind)

    def broken(*_, **__):
        raise RuntimeError("SENTINEL-5519")

    monkeypatch.setattr(sys.modules["fugu.checking.check"], "tally", broken)
    same_bits()
    assert outcome(tmp_path, kind) == base
    said = PrivatePart.load(tmp_path / "out.private.json")["check"]["failed"]
    assert "RuntimeError" in said and "SENTINEL" not in said


@pytest.mark.parametrize("kind", KINDS)
def test_on_a_terminal_the_owner_sees_it_and_nothing_else_changes(kind, tmp_path, same_bits, monkeypatch):
    prepared(tmp_path)
    same_bits()
    base = outcome(tmp_path, kind, "--json", "--no-check")
    monkeypatch.setattr(console.err, "_force_terminal", True)
    same_bits()
    shown = outcome(tmp_path, kind, "--json")
    assert (shown[:3], shown[4:]) == (base[:3], base[4:])
    said = " ".join(shown[3].split())
    assert "not for publication" in said and "steps outside the promise" in said
    assert "check" not in PrivatePart.load(tmp_path / "out.private.json").body


@pytest.mark.parametrize("container", CONTAINERS, ids=lambda f: f.__name__)
def test_every_cell_is_counted_once_whatever_it_is(container, tmp_path):
    for cell in CELLS[::4] if container.__name__ != "as_dict" else (*CELLS, *TEXTS):
        table = container({n: [*c[:ROW], cell, *c[ROW + 1 :]] for n, c in TODAY.items()}, tmp_path)
        if table is None or container.__name__ == "inferred_pandas":
            continue
        seen = fugu.check(table, REFERENCE)
        for row in seen.rows:
            blank = container.__name__ == "as_sheet" and row.cells == 23  # in a sheet, a row without cells is no record
            assert row.read + row.missing + row.unreadable + row.unknown == row.cells and (row.cells == 24 or blank)
            assert 0 <= row.moved <= row.read + row.unreadable
        assert str(seen) and seen._repr_html_() and json.dumps(seen.to_json())
