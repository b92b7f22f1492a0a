"""The public names are there, typed, documented, and `import fugu` stays light."""

from __future__ import annotations

import ast
import importlib
import inspect
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

import fugu
import structure
from fugu.lazily import subjects

DOOR = Path(fugu.__file__)
MODULES = {"errors", "iterate", "sequences"}
NEEDED = {
    *(
        "Answer",
        "AttackReport",
        "Audit",
        "audit",
        "ChainSet",
        "Charge",
        "Comparison",
        "DependentGroups",
        "GaussianField",
        "HiddenMarkov",
    ),
    *("IndependentBlocks", "InfluenceCurve", "JointTable", "Release", "answer", "decode", "guarantee_within"),
    *("property_attack", "read_table", "release_column", "swap_counts", "swap_shift", "swap_sigma"),
}
"""Names that the tutorials use and that are easily forgotten at the front door."""


@pytest.mark.parametrize("name", sorted(set(fugu.__all__) - {"__version__"}))
def test_a_public_name_exists_and_says_what_it_is(name):
    assert inspect.getdoc(getattr(fugu, name)), name


def test_ten_names_come_first_and_nothing_is_listed_that_is_not_there():
    """In `help(fugu)` and the reference as in the file. Wrong version: the file is forgotten when a name is added."""
    first, listed = subjects()["first"], set(dir(fugu))
    assert first == re.findall(r"^    (\w+) {2,}", fugu.__doc__, re.MULTILINE) and len(first) == 10
    assert set(first) < listed < set(fugu.__all__) and {"release_column", "answer", "iterate"} < listed
    assert len(listed) <= 60 and not any(isinstance(getattr(fugu, n), type) and n.endswith("Answer") for n in listed)


def test_the_front_door_has_what_the_tutorials_use():
    assert set(fugu.__all__) >= NEEDED


def test_a_type_checker_sees_the_names_that_there_are_and_no_others():
    tree = ast.parse(DOOR.read_text())
    guarded = next(n for n in tree.body if isinstance(n, ast.If) and n.test.id == "TYPE_CHECKING")
    seen = {alias.asname: f"{node.module}.{alias.name}" for node in guarded.body for alias in node.names}
    assert set(seen) == set(fugu.__all__) - {"__version__", "errors"}
    for name in set(seen) - MODULES:
        module, _, attribute = seen[name].rpartition(".")
        assert getattr(importlib.import_module(module), attribute) is getattr(fugu, name)


def test_names_of_inner_modules_are_imported_in_tutorials_only_where_the_door_lacks_them():
    docs = DOOR.parents[2] / "docs"
    pages = "\n".join(
        path.read_text() for room in ("tutorials", "concepts") for path in sorted(docs.glob(f"{room}/*.md"))
    )
    inner = re.findall(r"^from (fugu\.[a-z_.]+) import (.+)$", pages, re.MULTILINE)
    known = {name for module, names in inner if module.split(".")[1] not in MODULES for name in names.split(", ")}
    assert known and not known & set(fugu.__all__)


def test_functions_stay_functions_after_their_rooms_are_imported():
    import fugu.auditing
    import fugu.calibration

    assert callable(fugu.calibrate) and callable(fugu.verify) and callable(fugu.plan)


def test_an_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match="no attribute 'calibrat'"):
        _ = fugu.calibrat
    with pytest.raises(AttributeError, match="no attribute 'NoisySDG'"):
        _ = fugu.iterate.NoisySDG


def test_import_fugu_loads_nothing_heavy():
    heavy = [
        "scipy",
        "duckdb",
        "pandas",
        "polars",
        "pyarrow",
        "typer",
        "rich",
        "sklearn",
        "narwhals",
    ]
    code = f"import sys, fugu; fugu.Pure(1); print([m for m in {heavy} if m in sys.modules])"
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_calibrating_loads_no_engine_and_no_scipy():
    code = (
        "import sys, fugu; m = fugu.calibrate(fugu.LawPair(fugu.Discrete([0]), fugu.Discrete([1])), "
        "fugu.Pure(1)); m.release(1);"
        "print([n for n in ('scipy', 'duckdb', 'pandas', 'typer') if n in sys.modules])"
    )
    assert (
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip() == "[]"
    )


def test_verifying_loads_nothing_that_finds_noise():
    """Documents of every kind of 0.3; a column alone brings in no search either, and little of the house."""
    code = (
        "import json, sys\nfrom pathlib import Path\nimport fugu\n"
        "def rooms(): return {m.removeprefix('fugu.') for m in sys.modules if m.startswith('fugu.')}\n"
        "fugu.verify(FOLDER + '/column.json')\n"
        "column = rooms()\n"
        "for file in Path(FOLDER).glob('*.json'):\n    fugu.verify(file)\n"
        "print(json.dumps([sorted(column), sorted(rooms())]))\n"
    )
    folder = str(Path(__file__).parent / "mechanism" / "old_0_3")
    done = subprocess.run(
        [sys.executable, "-c", f"FOLDER = {folder!r}\n{code}"], capture_output=True, text=True, check=True
    )
    column, every = json.loads(done.stdout)
    every.remove("auditing")  # the door, which imports what looks at other files when they are given
    assert not {room.partition(".")[0] for room in every} & structure.NOT_FOR_THE_VERIFIER
    searches = [room for room in column if room.startswith("loss.search.")]
    assert "loss.door" in column and len(searches) <= 1  # trainings are read with every kind, and begin with that one


def test_the_layer_check_notices_a_breach(tmp_path, monkeypatch):
    monkeypatch.setattr(structure, "SRC", tmp_path)
    for room, text in {
        "laws": "from fugu.loss import epsilon\n",
        "loss": "x = 1\n" * 501,
        "data": "x = 1\n" * 451,
        "odd": "",
        "noise": "import fugu.errors\n",
        "queries": "if TYPE_CHECKING:\n    from fugu.drawing.charts import Figure\n",
        "priors": "from fugu.drawing.charts import Figure\n",
    }.items():
        (tmp_path / room).mkdir()
        (tmp_path / room / "a.py").write_text(text)
    found = structure.problems(sorted(tmp_path.rglob("*.py")))
    assert len(found) == 5 and any("data/a.py has 451 lines" in f for f in found)
    assert structure.questions(sorted(tmp_path.rglob("*.py"))) == ["data/a.py (451 lines)", "loss/a.py (501 lines)"]
    assert (
        any("imports loss" in f for f in found)
        and "priors/a.py imports drawing, which comes after it" in found
        and any("501 lines" in f for f in found)
        and any("'odd'" in f for f in found)
    )


def test_no_file_uses_pickle_eval_or_a_seeded_generator():
    banned = {"eval", "exec", "pickle", "default_rng", "seed", "RandomState"}
    for path in Path(fugu.__file__).parent.rglob("*.py"):
        text = path.read_text()
        for node in ast.walk(ast.parse(text)) if any(word in text for word in banned) else ():
            used = {ast.Name: "id", ast.Attribute: "attr"}.get(type(node))
            names = (
                {getattr(node, used)}
                if used
                else {a.name for a in node.names}
                if isinstance(node, ast.Import)
                else set()
            )
            assert not names & banned, f"{path.name}: {names & banned}"


def test_no_assert_guards_a_promise_with_optimised_python():
    """`python -O` drops asserts: a guarantee must not hang on one."""
    code = (
        "import fugu\n"
        "p = fugu.LawPair(fugu.Discrete([0, 1], [9, 1]), fugu.Discrete([0, 1], [1, 9]))\n"
        "m = fugu.calibrate(p, fugu.Pure(0.5)); m.release(1)\n"
        "try:\n    m.release(1)\nexcept fugu.errors.AlreadyReleased:\n    print('refused')\n"
    )
    done = subprocess.run([sys.executable, "-O", "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "refused"
