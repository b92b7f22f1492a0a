"""Every file that fugu writes takes one way: whole or not at all, private until then, onto nothing but a plain file."""

from __future__ import annotations

import ast
import os
import re
import sqlite3
import stat
import threading
from pathlib import Path

import pytest

import fugu
from fugu.data import write_csv
from fugu.errors import UsageError
from fugu.files import check_apart, write_bytes, write_new, write_text, writing
from fugu.ledger.books import save
from fugu.report import write
from structure import SRC

PAIR = fugu.LawPair(fugu.Discrete([0, 1], [3, 1]), fugu.Discrete([0, 1], [1, 3]))
CERTIFICATE = fugu.calibrate(PAIR, fugu.Pure(0.5)).certificate
WRITERS = {
    "text": lambda path: write_text(path, "new"),
    "bytes": lambda path: write_bytes(path, b"new"),
    "csv": lambda path: write_csv(path, {"a": [1]}),
    "certificate": CERTIFICATE.save,
    "page": lambda path: write(path, "new"),
    "ledger export": lambda path: save({"head": "x"}, path),
}
ALLOWED = {
    "files.py": {"os.open", "os.rename", "os.fdopen", "os.link"},
    "data/files.py": {"os.open", "tempfile.mkdtemp", "duckdb.connect", "COPY"},
    "documents/reading.py": {"os.open"},  # read only, O_NONBLOCK
    "publication/spark.py": {"os.rename"},  # what a task wrote becomes a part of a hidden draft
    "ledger/file.py": {"os.open", ".FileIO"},  # whether it may be written; the file itself
    "ledger/gathering.py": {"tempfile.TemporaryFile"},  # without a name, in the private folder of its process
    "auditing/draws.py": {".open"},  # tables of an attack, in a temporary folder
    "studio/work.py": {"os.open", "os.fdopen"},  # its own output, which goes nowhere else, and /dev/null
    "ledger/old.py": {"sqlite3.connect", "shutil.copyfile", ".open"},  # copies in a temporary folder, of mode 0700
}
"""Who may touch the file system otherwise, and how; a new line here is a decision."""
NAMES = {"write_text", "write_bytes", "write_html", "write_image", "to_csv", "to_parquet", "to_json_file", "savefig",
         "tofile", "savez", "savetxt", "touch", "symlink_to", "hardlink_to", "mkstemp", "mkdtemp", "NamedTemporaryFile",
         "TemporaryFile", "FileIO", "copyfile", "copy2", "copytree", "dump"}  # fmt: skip
MODULES = {"os": {"open", "rename", "replace", "link", "symlink", "fdopen", "mkfifo", "truncate"}, "np": {"save"},
           "shutil": {"move", "copy"}, "sqlite3": {"connect"}, "duckdb": {"connect"}, "pickle": {"dump"}}  # fmt: skip


_ANY = re.compile("|".join({"open", "COPY", *NAMES, *(name for names in MODULES.values() for name in names)}))
"""What a file without a single call that writes has none of."""


def writers(source: str) -> set[str]:
    """Calls that write a file, or may, as "module.name" or ".name"; `open` counts unless its mode is a literal "r"."""
    tree, found = ast.parse(source), set()
    own = {a.asname or a.name for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module == "fugu.files"
           for a in n.names}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and re.search(r"\bCOPY\b.*\bTO\b", str(node.value)):
            found.add("COPY")
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        owner = getattr(getattr(node.func, "value", None), "id", "")
        if owner in MODULES and name in MODULES[owner]:
            found.add(f"{owner}.{name}")
        elif name == "open":
            place = 1 if not isinstance(node.func, ast.Attribute) or owner == "gzip" else 0
            given = [*node.args[place : place + 1], *(k.value for k in node.keywords if k.arg == "mode")]
            method = isinstance(node.func, ast.Attribute) and owner != "gzip"  # of a path, or of something else
            known = [mode.value for mode in given if isinstance(mode, ast.Constant)]
            if any(not set(str(mode)) <= set("rbt") for mode in known) or (not method and len(known) < len(given)):
                found.add(".open")
        elif name in NAMES and name not in own:
            found.add(f"{owner}.{name}" if owner in ("tempfile", "shutil", "pickle", "json") else f".{name}")
    return found


def test_nothing_in_the_source_writes_a_file_by_itself():
    found = {}
    for path in SRC.rglob("*.py"):
        name = str(path.relative_to(SRC))
        text = path.read_text()
        other = (writers(text) if _ANY.search(text) else set()) - ALLOWED.get(name, set())
        if other:
            found[name] = other
    assert found == {}
    assert all(known <= writers((SRC / name).read_text()) for name, known in ALLOWED.items()), "no longer needed"


@pytest.mark.parametrize(
    "line",
    ["open(p, 'w')", "open(p, mode='ab')", "Path(p).write_text(t)", "figure.write_html(p)", "frame.to_csv(p)",
     "os.open(p, 2)", "os.replace(a, b)", "duckdb.connect()", "sqlite3.connect(p)", "json.dump(x, f)", "p.open('x')",
     "np.save(p, a)", "tempfile.mkstemp()", "gzip.open(p, 'wt')", "db.execute('COPY t TO x')", "open(p, how)"],
)  # fmt: skip
def test_the_search_sees_every_other_way_of_writing(line):
    assert writers(line)
    assert not writers("open(p)\nopen(p, 'rb')\np.open('rb')\nfrom fugu.files import write_text\nwrite_text(p, t)")


@pytest.mark.parametrize("name", WRITERS)
def test_no_writer_goes_through_a_link_or_onto_anything_but_a_plain_file(name, tmp_path):
    private = tmp_path / "private.csv"
    private.write_text("secret")
    (tmp_path / "link").symlink_to(private)
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")
    with sqlite3.connect(tmp_path / "books.db") as db:
        db.execute("CREATE TABLE t (x)")
    (tmp_path / "books.db-wal").touch()
    before = (tmp_path / "books.db").read_bytes()
    with fugu.Ledger(tmp_path / "today.db", fugu.Pure(1), data="x") as ledger:
        ledger.spent()
    for target in ("link", "dangling", "folder", "pipe", "today.db", "books.db", "books.db-wal", "books.db-journal"):
        with pytest.raises(UsageError):
            WRITERS[name](tmp_path / target)
    with pytest.raises(UsageError):
        WRITERS[name]("/dev/null")
    assert stat.S_ISCHR(os.lstat("/dev/null").st_mode)
    assert private.read_text() == "secret" and (tmp_path / "books.db").read_bytes() == before
    assert not (tmp_path / "nowhere").exists() and not list(tmp_path.glob("*.tmp")) + list(tmp_path.glob(".fugu*"))


@pytest.mark.parametrize("name", WRITERS)
def test_links_prepared_beside_the_target_are_not_followed(name, tmp_path):
    """The fixed names that were used before: each led to the private table."""
    private = tmp_path / "private.csv"
    private.write_text("secret")
    for bait in ("out.partial", f"out.{os.getpid()}.partial", ".out.tmp"):
        (tmp_path / bait).symlink_to(private)
    WRITERS[name](tmp_path / "out")
    assert private.read_text() == "secret" and (tmp_path / "out").is_file() and not (tmp_path / "out").is_symlink()


def test_a_file_that_is_not_finished_has_no_name(tmp_path):
    """So whoever is killed leaves nothing behind: not even a private copy of what was drawn."""
    with writing(tmp_path / "out") as out:
        out.write("half")
        out.flush()
        assert list(tmp_path.iterdir()) == []
    assert (tmp_path / "out").read_text() == "half"
    write_new(tmp_path / "out", "other")
    write_new(tmp_path / "key", "new")
    assert [(p.name, p.read_text()) for p in sorted(tmp_path.iterdir())] == [("key", "new"), ("out", "half")]


@pytest.mark.parametrize("mask", [0o022, 0o077, 0o000])
def test_a_file_is_private_until_it_is_complete_where_every_file_has_a_name(tmp_path, mask, monkeypatch):
    monkeypatch.setattr("fugu.files._OPEN_FILES", "/nowhere")
    old = os.umask(mask)
    try:
        with writing(tmp_path / "out") as out:
            out.write("half")
            out.flush()
            (draft,) = tmp_path.iterdir()
            assert stat.S_IMODE(draft.stat().st_mode) == 0o600 and "out" not in draft.name
        assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o666 & ~mask
        assert os.umask(mask) == mask  # left as it was
        (tmp_path / "out").chmod(0o600)
        write_text(tmp_path / "out", "again")
        assert stat.S_IMODE((tmp_path / "out").stat().st_mode) == 0o600  # no more than it had
    finally:
        os.umask(old)


def test_an_error_leaves_what_was_there(tmp_path):
    (tmp_path / "out").write_text("old")
    with pytest.raises(ZeroDivisionError), writing(tmp_path / "out") as out:
        out.write(str(1 / 0))
    with pytest.raises(UsageError, match="surrogate"):
        write_text(tmp_path / "out", "\ud800")
    assert (tmp_path / "out").read_text() == "old" and [p.name for p in tmp_path.iterdir()] == ["out"]


def test_writers_at_once_leave_one_whole_file(tmp_path):
    texts = [f"{n}" * 100_000 for n in range(8)]
    threads = [threading.Thread(target=write_text, args=(tmp_path / "out", text)) for text in texts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "out").read_text() in texts and [p.name for p in tmp_path.iterdir()] == ["out"]


def test_an_output_that_is_read_is_refused_by_whatever_name(tmp_path):
    table = tmp_path / "table.csv"
    table.write_text("a\n1\n")
    os.link(table, tmp_path / "hard.csv")
    (tmp_path / "inner").symlink_to(tmp_path, target_is_directory=True)
    for name in ("table.csv", "hard.csv", "inner/table.csv", "inner/inner/hard.csv"):
        with pytest.raises(UsageError, match="is read"):
            check_apart(tmp_path / name, None, table)
    assert check_apart(tmp_path / "new.csv", table) == tmp_path / "new.csv"
    for name in ("x" * 300, "no/folder", "table.csv/x"):
        with pytest.raises(UsageError):
            check_apart(Path(tmp_path / name))
