"""The hunt itself: what fails, dies or hangs is reported with its seed, totals add up, every search has its turn."""

from __future__ import annotations

import ast
import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import hunting

HERE = Path(__file__).resolve().parent
SOUND = """
from hunting import search

@search("sums", each=["two", "three"], quick=5)
def test_sums(count, rng):
    values = rng.integers(0, 9, {"two": 2, "three": 3}[count])
    assert sum(values) == values.sum()
    return 2
"""
BROKEN = """
import os, time
from hypothesis import given, strategies as st
from hunting import search

@search("odd ones")
def odd(seed):
    assert seed % 4, "divisible"

@search("endless", limit=1.5)
def endless(seed):
    time.sleep(60)

@search("mortal")
def mortal(seed, tmp_path):
    assert tmp_path.is_dir()
    os._exit(7)

@given(st.integers(0, 1000))
def test_small(n):
    assert n < 3
"""


def hunt(folder, *more, minutes=0.05):
    (folder / "tests").mkdir(exist_ok=True)
    command = [sys.executable, str(HERE / "hunt.py"), "--tests", str(folder / "tests"), "--minutes", str(minutes)]
    done = subprocess.run(
        [*command, "--state", str(folder / "state.json"), *more], capture_output=True, text=True, check=False
    )
    return done.returncode, done.stdout + done.stderr


def state(folder):
    return json.loads((folder / "state.json").read_text())


def written(folder, **files):
    (folder / "tests").mkdir(exist_ok=True)
    for name, text in files.items():
        (folder / "tests" / f"{name}.py").write_text(text)


def test_totals_add_up_over_runs_and_every_search_gets_its_turn(tmp_path):
    written(tmp_path, test_sound=SOUND)
    code, said = hunt(tmp_path, "--seed", "3")
    assert code == 0 and "sums: two" in said and "sums: three" in said and "SEED=3" in said
    first = state(tmp_path)
    assert set(first["searches"]) == {"test_sound.py::test_sums[two]", "test_sound.py::test_sums[three]"}
    assert all(found["cases"] == 2 * found["calls"] > 0 for found in first["searches"].values())
    assert hunt(tmp_path, "--seed", "3")[0] == 0
    second = state(tmp_path)
    for key, found in first["searches"].items():
        assert second["searches"][key]["calls"] > found["calls"]
        assert second["reached"][key] > first["reached"][key]  # the same SEED goes on, it does not repeat
    hunt(tmp_path)
    assert state(tmp_path)["root"] != 3  # fresh seeds if none is given


def test_what_fails_dies_or_hangs_is_reported_with_the_command_that_repeats_it(tmp_path):
    written(tmp_path, test_broken=BROKEN, test_sound=SOUND)
    code, said = hunt(tmp_path, minutes=0.25)
    assert code == 1
    why = {found["key"]: found for found in state(tmp_path)["violations"]}
    assert "divisible" in why["test_broken.py::odd"]["why"] and why["test_broken.py::odd"]["seed"] % 4 == 0
    assert "no end after 1.5 seconds" in why["test_broken.py::endless"]["why"]
    assert "exit code 7" in why["test_broken.py::mortal"]["why"]
    assert "test_broken.py::test_small" in why
    assert state(tmp_path)["searches"]["test_sound.py::test_sums[two]"]["cases"] > 0  # the others had their turns
    for key, found in why.items():
        assert f"make hunt-again SEARCH='{key}' SEED={found['seed']}" in said
    again = [f"--again=test_broken.py::{name}" for name in ("odd", "test_small")]
    for option in again:
        key = option.removeprefix("--again=")
        assert hunt(tmp_path, option, "--seed", str(why[key]["seed"]))[0] == 1
    assert hunt(tmp_path, again[0], "--seed", "5")[0] == 0
    assert hunt(tmp_path, again[0])[0] == 2  # which seed?
    assert hunt(tmp_path, "--report")[0] == 1  # still open

    mended = BROKEN.replace("seed % 4", "True").replace("n < 3", "n < 3000").replace("time.sleep(60)", "pass")
    written(tmp_path, test_broken=mended.replace("os._exit(7)", "pass"))
    code, said = hunt(tmp_path, minutes=0.15)
    assert code == 0 and not state(tmp_path)["violations"]  # the old seeds were tried first, and pass


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_an_interrupted_hunt_keeps_what_it_found_and_leaves_no_process(tmp_path):
    written(tmp_path, test_sound=SOUND, test_broken=BROKEN.replace("limit=1.5", "limit=50"))
    command = [sys.executable, str(HERE / "hunt.py"), "--tests", str(tmp_path / "tests"), "--minutes", "5"]
    running = subprocess.Popen(
        [*command, "--state", str(tmp_path / "state.json")], stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not (tmp_path / "state.json").exists():
        time.sleep(0.2)
    assert hunt(tmp_path)[0] == 2  # one hunt at a time in one place
    time.sleep(3)
    children = Path(f"/proc/{running.pid}/task/{running.pid}/children").read_text().split()
    running.send_signal(signal.SIGINT)
    said, _ = running.communicate(timeout=30)
    assert "cases in all" in said and state(tmp_path)["searches"]
    assert children and not any(alive(int(child)) for child in children)


def alive(process):
    """Whether a process runs, with a moment to end; one that only nobody has waited for does not."""
    for _ in range(50):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] == "Z":
                return False
        except FileNotFoundError:
            return False
        time.sleep(0.1)
    return True


def test_the_quick_form_runs_the_first_seeds_and_says_how_to_repeat_a_failure():
    seen = []

    @hunting.search("this test", quick=4)
    def test_inner(seed):
        seen.append(seed)
        assert seed < 3

    with pytest.raises(AssertionError) as caught:
        test_inner()
    hunting.REGISTRY.pop(key := "test_hunting.py::test_inner")
    assert seen == [0, 1, 2, 3]
    assert caught.value.__notes__ == [f"repeat it: make hunt-again SEARCH='{key}' SEED=3"]


def test_a_search_that_looks_at_nothing_or_asks_for_fixtures_is_refused():
    @hunting.search("no case", quick=2)
    def test_inner(seed):
        pytest.skip("never")

    hunting.REGISTRY.pop("test_hunting.py::test_inner")
    with pytest.raises(AssertionError, match="looks at nothing"):
        test_inner()
    with pytest.raises(ValueError, match="takes rng or seed"):
        hunting.search("fixtures", quick=1)(lambda rng, monkeypatch: None)
    with pytest.raises(ValueError, match="test_"):
        hunting.search("no name", quick=1)(lambda rng: None)
    with pytest.raises(ValueError, match="written the same"):
        hunting.search("twice", each=[1, "1"])(lambda x, rng: None)


def called(tree):
    """The names that the tests of a module mention."""
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef) and node.name.startswith("test_"):
            yield from (name.id for name in ast.walk(node) if isinstance(name, ast.Name))


def test_every_search_has_a_short_form_in_the_suite():
    """A search without quick= is called, itself or through a helper of its file, by a test of that file. The hunt has
    said where it looks by then, and walks the sister packages all the same."""
    hunting.look_in(hunting.TESTS)
    found = {key: one.quick for key, one in hunting.collect().items()}
    assert len(found) > 30 and {"papers", "verify"} <= {key.split("/")[0] for key in found}
    for key, quick in found.items():
        file, name = key.split("::")[0], key.split("::")[-1].split("[")[0]
        if not quick and not name.startswith("test_"):
            assert name in set(called(ast.parse((HERE / file).read_text()))), key
