"""A mutant that no longer fits the source is noticed by `make check`, not when somebody runs all of them."""

from __future__ import annotations

import ast

import pytest

from edits import Sources
from mutants import Mutant, stale

ROOM = """
def least(a, b):
    while a > b:
        a -= 1  # a comment
    return min(a, b)


class Pair:
    size: int = 2

    def least(self):
        first, last = self
        return first if first < last else last


LIMIT = LARGEST = 9
"""
BODY = ROOM[ROOM.index("while") : ROOM.index("class") - 3]
OTHER = "def least(a): return min(a, 'b')\n\nLIMIT = 9\n"
TEST = "def test_least():\n    assert True\n\n\nclass TestAll:\n    def test_one(self):\n        assert True\n"
FILES = {"src/fugu/room.py": ROOM, "verify/src/fugu_verify/other.py": OTHER, "tests/few/test_room.py": TEST}


@pytest.fixture
def root(tmp_path):
    for file, text in FILES.items():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text)
    return tmp_path


def mutant(right="min(a, b)", wrong="max(a, b)", test="few/test_room.py", where="least"):
    return Mutant(where, "m", right, wrong, (test,))


def test_mutants_that_fit(root):
    every = ("few", "few/test_room.py", "few/test_room.py::test_least[1-a::b]", "few/test_room.py::TestAll::test_one")
    assert [stale([mutant(test=test)], root) for test in every] == [[]] * 4


@pytest.mark.parametrize(
    ("one", "file", "before", "after"),
    [
        (mutant(), "src/fugu/room.py", "min(a, b)", "max(a, b)"),
        (mutant("while a > b:", "if a > b:"), "src/fugu/room.py", "while a > b", "if a > b"),
        (mutant("a -= 1", "pass"), "src/fugu/room.py", "a -= 1", "pass"),
        (mutant("a -= 1", ""), "src/fugu/room.py", "a -= 1", "pass"),
        (mutant("while a > b:\n  a -= 1\nreturn min(a, b)", "return a"), "src/fugu/room.py", BODY, "return a"),
        (
            mutant("first<(last)", "last < first", where="Pair.least"),
            "src/fugu/room.py",
            "first < last",
            "last < first",
        ),
        (mutant("2", "3", where="Pair.size"), "src/fugu/room.py", "size: int = 2", "size: int = 3"),
        (mutant("least(self)", "last(self)", where="Pair"), None, "", ""),
        (mutant("def least(self):", "def last(self):", where="Pair"), "src/fugu/room.py", "least(self)", "last(self)"),
        (mutant("9", "8", where="LARGEST"), "src/fugu/room.py", "LARGEST = 9", "LARGEST = 8"),
        (mutant("9", "8", where="other:LIMIT"), "verify/src/fugu_verify/other.py", "LIMIT = 9", "LIMIT = 8"),
        (mutant('min(a, "b")', "a"), "verify/src/fugu_verify/other.py", "min(a, 'b')", "a"),
    ],
)
def test_edits_of_trees(root, one, file, before, after):
    sources = Sources(root)
    if file is None:
        with pytest.raises(LookupError, match="0 times in Pair"):
            one.edit(sources)
        return
    place, wrong = one.edit(sources)
    assert FILES[file].count(before) == 1 and place.definition.file == file
    wanted = ast.dump(ast.parse(FILES[file].replace(before, after)))
    assert [ast.dump(ast.parse(sources.mutated(place, wrong))) for _ in range(2)] == [wanted] * 2


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (mutant(right="max(b)"), "0 times in least of src/fugu/room.py, verify/src/fugu_verify/other.py"),
        (mutant(right="a > c"), "0 times"),
        (mutant(right="a"), "times in least"),
        (mutant(where="most"), "there is no most"),
        (mutant("9", "8", where="LIMIT"), "2 times in LIMIT of src/fugu/room.py, verify/src/fugu_verify/other.py"),
        (mutant("9", "8", where="gone:LIMIT"), "0 times"),
        (mutant(wrong="min(a, b"), "never closed"),
        (mutant(wrong="min(a,b)"), "the right one"),
        (mutant(test="few/test_gone.py"), "no tests/few/test_gone.py"),
        (mutant(test="few/test_room.py::test_most"), "no test_most"),
        (mutant(test="few/test_room.py::TestAll::test_two"), "no test_two"),
    ],
)
def test_mutants_that_do_not(root, wrong, why):
    (line,) = stale([wrong], root)
    assert f"{wrong.where}: m" in line and why in line


def test_mutants_follow_what_moves(root):
    moved = root / "src" / "fugu" / "far" / "away.py"
    moved.parent.mkdir()
    (root / "src" / "fugu" / "room.py").rename(moved)
    (root / "tests" / "few").rename(root / "verify" / "tests")
    assert stale([mutant(), mutant("9", "8", test="few/test_room.py::test_least", where="away:LIMIT")], root) == []


def test_two_of_one_name(root):
    assert stale([mutant(), mutant(wrong="a")], root) == ["TWICE      least: m"]
