"""A release whose process is killed at any point: the same command, run again, finishes, and gives the one draw.

A child dies by SIGKILL before or after the k-th call that changes a file: writing, syncing, linking, renaming,
removing. Then the command runs again without --force: one charge, the values that were drawn for it, every file of the
release, and nothing else beside the output, beside the ledger or in TMPDIR."""

from __future__ import annotations

import json
import os
import signal
from contextlib import suppress
from itertools import count

import pytest

from fugu.documents.release import file_sha256
from fugu.ledger import Books, books
from fugu.publication import drafts as files
from hunting import search
from release_files import beside, checks, command, prepared, released

CALLS = ("pwrite", "fsync", "link", "rename", "unlink", "ftruncate")
KINDS = ("column", "groups", "many", "sequence", "model")


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    return prepared(tmp_path_factory.mktemp("tables"))


def run(tables, kind, folder, *more):
    """Release into a folder of its own, charged to a ledger there."""
    (folder / "made").mkdir(parents=True, exist_ok=True)
    for name in ("ref.csv", "today.csv"):
        if not (folder / name).exists():
            (folder / name).write_bytes((tables / name).read_bytes())
    return released(folder, kind, *more, books=("--ledger", folder / "ledger" / "l.db"))


def die_at(number, after, about=""):
    """Arm this process: it dies at the so-manieth call that changes a file, of those about a name."""
    passed = count()

    def armed(call):
        def last(*args, **more):
            here = about in str(args) and next(passed) + 1 == number
            if here and not after:
                os.kill(os.getpid(), signal.SIGKILL)
            try:
                return call(*args, **more)
            finally:
                if here:
                    os.kill(os.getpid(), signal.SIGKILL)

        return last

    for name in CALLS:
        setattr(os, name, armed(getattr(os, name)))


def killed(tables, kind, folder, number, after, about=""):
    """Run the command in a child that dies there; whether it did."""
    (folder / "tmp").mkdir(parents=True)
    (folder / "ledger").mkdir()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            os.environ["TMPDIR"] = str(folder / "tmp")
            die_at(number, after, about)
            run(tables, kind, folder)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGKILL


def everything(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file())


def one_kill(tables, kind, folder, number, after):
    """Whether there was such a call to die at, after which all is well."""
    if not killed(tables, kind, folder, number, after):
        return False
    pending = [p for p in (folder / "made").iterdir() if p.name.endswith(files.PENDING)]
    drawn = {p.read_bytes() for p in pending}
    assert len(drawn) <= 1, "several draws on disk"
    out = run(tables, kind, folder)
    if kind == "column" or out.suffix == ".csv":
        assert drawn <= {out.read_bytes()}, "drawn again"
    parts = [out.name, *(out.with_suffix(end).name for end in (".certificate.json", ".private.json", ".report.html"))]
    expected = [f"made/{part}" for part in parts] + ["ledger/l.db", "ledger/l.db.key", "ref.csv", "today.csv"]
    assert everything(folder) == sorted(expected), "something is left over"
    entries = Books(folder / "ledger" / "l.db").read(books.history)
    assert [e.state for e in entries] == ["settled"] and Books(folder / "ledger" / "l.db").read(books.verify)
    told = json.loads(beside(out).read_text())
    assert told["published"][0]["sha256"] == file_sha256(out)
    first, document = out.read_bytes(), beside(out).read_bytes()
    assert run(tables, kind, folder) == out and out.read_bytes() == first and beside(out).read_bytes() == document
    return True


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_command_finishes_what_was_killed(tables, tmp_path, kind):
    """A few places of each kind, all places of a column's last steps; `make hunt` takes the others."""
    number, ends = 1, 0
    while number < 200:
        ends = number
        if not one_kill(tables, kind, tmp_path / f"{number}", number, after=number % 2 == 0):
            break
        number += 5 if kind == "column" else 29
    assert 10 < ends < 200
    assert checks(tmp_path / "1" / "made" / f"{'model' if kind == 'model' else 'out'}.certificate.json")[0] == 0
    (tmp_path / "any").mkdir()
    assert every_call(kind, 7, tmp_path / "any")


@search("releases that are killed at any call", each=KINDS)
def every_call(kind, seed, tmp_path):
    tables = prepared(tmp_path)
    return int(one_kill(tables, kind, tmp_path / "f", 1 + seed % 60, bool(seed % 2)))


def test_what_was_moved_away_is_not_written_over(tables, tmp_path):
    """Only a draft beside it shows that a release was killed: a certificate alone is that of a file that went out."""
    (tmp_path / "ledger").mkdir()
    out = run(tables, "groups", tmp_path)
    document = beside(out).read_bytes()
    out.rename(tmp_path / "elsewhere.csv")
    code, said = command("release", tmp_path / "today.csv", "--query", "mean(v)", "--route", "law", "--protect", "s",
                         "--by", "g", "--bounds", "0,5", "--step", "1", "--epsilon", "1", "--reference",
                         tmp_path / "ref.csv", "--allow-no-noise", "--ledger", tmp_path / "ledger" / "l.db",
                         "-o", out)  # fmt: skip
    assert code == 2 and "exists" in said and beside(out).read_bytes() == document


def test_another_question_does_not_take_the_files_of_the_first(tables, tmp_path):
    (tmp_path / "ledger").mkdir()
    out = run(tables, "many", tmp_path, "--budget", "5")
    before = out.read_bytes()
    for query in ("count; mean(v)", "histogram(v)"):
        code, said = command("release", tmp_path / "today.csv", "--query", query, "--protect", "s", "--bounds", "0,5",
                             "--step", "1", "--epsilon", "0.1", "--budget", "5", "--reference", tmp_path / "ref.csv",
                             "--ledger", tmp_path / "ledger" / "l.db", "-o", out)  # fmt: skip
        assert code == 2 and "exists" in said and out.read_bytes() == before
    assert [e.state for e in Books(tmp_path / "ledger" / "l.db").read(books.history)] == ["settled"]


def test_an_edited_draft_is_not_taken_for_the_draw(tables, tmp_path):
    place = tmp_path / "f"
    assert killed(tables, "column", place, 1, True, about=files.PENDING)
    (draft,) = (place / "made").glob(f".*{files.PENDING}")
    draft.write_text("v\n" + "7\n" * 60)
    states = [e.state for e in Books(place / "ledger" / "l.db").read(books.history)]
    assert states == ["reserved"]
    assert "7\n7\n7\n7\n7\n7\n7\n7\n7" not in run(tables, "column", place).read_text()
