"""A mutant that no longer fits the source is noticed by `make check`, not when somebody runs all of them."""

from __future__ import annotations

import pytest

from mutants import Mutant, stale

SOURCE = "def least(a, b):\n    return min(a, b)\n\n\nLIMIT = LARGEST = 9\n"
TEST = "def test_least():\n    assert True\n\n\nclass TestAll:\n    def test_one(self):\n        assert True\n"


@pytest.fixture
def root(tmp_path):
    for file, text in {"src/fugu/room.py": SOURCE, "tests/few/test_room.py": TEST}.items():
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text(text)
    return tmp_path


def mutant(right="min(a, b)", wrong="max(a, b)", test="few/test_room.py", file="room.py"):
    return Mutant("room: m", file, right, wrong, (f"tests/{test}",))


def test_mutants_that_fit(root):
    every = ("few", "few/test_room.py", "few/test_room.py::test_least[1-a::b]", "few/test_room.py::TestAll::test_one")
    assert [stale([mutant(test=test)], root) for test in every] == [[]] * 4


@pytest.mark.parametrize(
    ("wrong", "why"),
    [
        (mutant(right="max(a, b)"), "0 times"),
        (mutant(right="a, b"), "2 times"),
        (mutant(file="gone.py"), "0 times"),
        (mutant(wrong="min(a, b"), "never closed"),
        (mutant(test="few/test_gone.py"), "no tests/few/test_gone.py"),
        (mutant(test="few/test_room.py::test_most"), "no test_most"),
        (mutant(test="few/test_room.py::TestAll::test_two"), "no test_two"),
    ],
)
def test_mutants_that_do_not(root, wrong, why):
    (line,) = stale([wrong], root)
    assert "room: m" in line and why in line


def test_two_of_one_name(root):
    assert stale([mutant(), mutant(wrong="a")], root) == ["TWICE      room: m"]
