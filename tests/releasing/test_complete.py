"""What is missing is said all at once, with an example that runs.

Wrong versions that are rejected: the first missing thing alone is said; the example names columns of the private table;
the table is opened to say what is missing; the Python example is a command; the example is refused when it is run."""

from __future__ import annotations

import shlex
from contextlib import chdir

import pytest

import fugu
from fugu.errors import UsageError
from golden.doors import command, screens


def rows(start, last):
    return [(k, ("no", "yes")[k % 3 == 0], 40 + k * 7 % 30, "nsw"[k * k % 3]) for k in range(start, last)]


THINGS = {
    "table": "the private TABLE", "reference": "a reference", "protect": "what is secret", "query": "what to publish",
    "epsilon": "how much may be learnt", "output": "where it goes",
}  # fmt: skip
GIVEN = {
    "table": ("today.csv",), "reference": ("--reference", "ref.csv"), "protect": ("--protect", "ill"),
    "query": ("--query", "mean(age)"), "epsilon": ("--epsilon", "1"), "output": ("-o", "own.csv"),
}  # fmt: skip


@pytest.fixture
def folder(tmp_path, monkeypatch):
    for name, columns, made in (
        ("ref.csv", "id,ill,age,ward", rows(0, 300)), ("today.csv", "id,ill,age,ward,SECRETCOLUMN", rows(300, 450))
    ):  # fmt: skip
        lines = [",".join(map(str, (*row, "CELL")[: columns.count(",") + 1])) for row in made]
        (tmp_path / name).write_text("\n".join([columns, *lines]) + "\n")
    monkeypatch.setenv("FUGU_LEDGER", str(tmp_path / "ledger.db"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def refused(*given):
    with screens(4000):
        code, shown, said = command("release", *(word for name in given for word in GIVEN[name]))
    assert code == 2 and not shown and "SECRETCOLUMN" not in said and "CELL" not in said, said
    return said


SOME = [(), ("table",), ("table", "reference"), ("reference", "protect"), ("query",), ("table", "query", "epsilon"),
        ("table", "protect", "epsilon", "output")]  # fmt: skip


@pytest.mark.parametrize("given", SOME)
def test_all_that_is_missing_is_said_at_once(given, folder):
    said = refused(*given)
    assert {name for name, words in THINGS.items() if words in said} == set(THINGS) - set(given)
    assert f"needs {len(THINGS) - len(given)} more things" in said
    assert not (folder / "ledger.db").exists() and not (folder / "own.csv").exists()


@pytest.mark.parametrize("missing", THINGS)
def test_one_missing_thing_is_said_alone_and_the_example_runs(missing, folder):
    said = refused(*(name for name in THINGS if name != missing))
    assert "more things" not in said and sum(words in said for words in THINGS.values()) <= 1
    words = shlex.split(said.partition("For example: ")[2])
    runs = [{"TABLE.csv": "today.csv", "REFERENCE.csv": "ref.csv"}.get(word, word) for word in words]
    assert (words[:2] == ["fugu", "release"] and "COLUMN" not in " ".join(words).replace("SECRETCOLUMN", "")) or (
        missing == "reference"
    )
    assert command(*runs[1:])[0] == 0, command(*runs[1:])


def test_the_example_has_columns_of_the_reference_and_no_private_table_is_needed(folder):
    (folder / "today.csv").unlink()
    said = refused("table", "reference")
    assert "--protect ill" in said and "'count, mean(age), histogram(ward)'" in said and "--reference ref.csv" in said
    assert "--protect COLUMN" in refused("table").partition("For example")[2]  # nothing is known without a reference


def test_in_python_it_is_said_in_python(folder):
    with pytest.raises(UsageError, match="needs 5 more things") as refusal:
        fugu.release({"reference": "ref.csv"})
    said, _, call = str(refusal.value).partition("For example: ")
    assert "--" not in said + call and call.startswith("fugu.release(fugu.Question(reference='ref.csv', protect='ill'")
    with chdir(folder):
        assert eval(call.replace("TABLE.csv", "today.csv"), {"fugu": fugu}).columns["query"][0] == "count"
