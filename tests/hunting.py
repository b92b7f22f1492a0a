"""Random searches for a broken promise: a few fixed seeds in `make test`, fresh ones without end in `make hunt`.

A search is a function of one seed. It draws a case (or a few), compares the library with an oracle, and *asserts*:

    from hunting import search

    @search("chains against all mechanisms", quick=500)
    def test_no_chain_loses_more_than_stated(rng):              # rng: numpy Generator; or seed: an int
        kernel = rng.dirichlet(np.ones(3), 3)
        assert stated(kernel) >= truth(kernel)

That is all: no list to add it to, no mark, no count of twenty thousand. `make test` runs it on the seeds 0 to 499 as an
ordinary test; `make hunt` finds it by walking the tests folder and calls it with one fresh seed after another.

- Parameters, by name: `rng` or `seed` (one of the two), `tmp_path` (an empty folder), and nothing else that pytest
  gives: a search has no fixtures (`pytest.MonkeyPatch.context()` where something must be replaced).
- `each=VALUES` hunts every value in a search of its own, and passes it as the first argument:

      @search("releases under every prior", each=["chain", "network"], quick=15)
      def test_no_release_loses_more(kind, rng): ...

- It returns how many cases it tried; anything but a whole number means one. A draw that is no case returns 0.
- One call is one piece: seconds, better milliseconds. A call that takes longer than `limit` seconds (300 if not said)
  is reported as a failure: the library hangs there.
- Whatever it raises is a violation, warnings too; `pytest.skip` and `hypothesis.assume` say that this is no case.
- A short form that asserts more than single cases do (that some case is tight, that a wrong version is caught) is
  written by hand: decorate the function of one case, without `quick` and without `test_`, and call it in a test.
- `note(...)` keeps what became of a case beyond its count (refused, attacked); `make hunt` writes .hunt/notes.jsonl.
- Property tests (`@given`) are searches already: the hunt finds those too, and gives them fresh seeds.
"""

from __future__ import annotations

import functools
import importlib
import inspect
import json
import math
import os
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import hypothesis
import numpy as np
import pytest

TESTS = Path(__file__).resolve().parent  # look_in() may point it elsewhere
SISTERS = [TESTS.parent / name / "tests" for name in ("verify", "papers")]
LIMIT = 300.0
NOTES = "FUGU_HUNT_NOTES"
"""The variable that names the file of notes; set by the hunt alone."""
_FEW = 10  # seeds of one test; more are several tests, for pytest to share out
_NOTHING = object()
_MARKS = ("@search(", "@hunting.search(", "@given(")


@dataclass(frozen=True)
class Search:
    """What is hunted, where it stands, and one call of it."""

    what: str
    key: str
    call: Callable[[int], int]
    limit: float = LIMIT
    quick: int = 0

    @property
    def again(self) -> str:
        """The command that repeats one seed, but for the seed."""
        return f"make hunt-again SEARCH='{self.key}'"


REGISTRY: dict[str, Search] = {}


def search(what: str, *, quick: int = 0, each: Iterable[Any] | None = None, limit: float = LIMIT) -> Callable[..., Any]:
    """Register a function of one seed as a search; `quick` seeds of it are a test. See the top of this file."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        values = [_NOTHING] if each is None else list(each)
        names = [_name(value) for value in values]
        made = [_of(function, what, value, name, limit, quick) for value, name in zip(values, names, strict=True)]
        if len(set(names)) < len(names):
            raise ValueError(f"{function.__name__}: two values of each= are written the same")
        REGISTRY.update({one.key: one for one in made})
        if function.__name__.startswith("test_") != bool(quick):
            raise ValueError(f"{function.__name__}: a search is called test_... if it has quick=, and only then")
        return _as_test(function, made, names) if quick else function

    return register


def _name(value: Any) -> str:
    return "" if value is _NOTHING else str(getattr(value, "__name__", value))


def _of(function: Callable[..., Any], what: str, value: Any, name: str, limit: float, quick: int) -> Search:
    parameters = inspect.signature(function).parameters.values()
    own = [p.name for p in parameters if p.default is p.empty][0 if value is _NOTHING else 1 :]
    if len({"rng", "seed"} & set(own)) != 1 or set(own) - {"rng", "seed", "tmp_path"}:
        raise ValueError(f"{function.__name__}: a search takes rng or seed, and tmp_path if it likes, not {own}")
    file = _place(Path(inspect.getfile(function)))
    given = () if value is _NOTHING else (value,)

    def call(seed: int) -> int:
        more: dict[str, Any] = {"rng": np.random.default_rng(seed)} if "rng" in own else {"seed": seed}
        if "tmp_path" not in own:
            return counted(function(*given, **more))
        with tempfile.TemporaryDirectory() as folder:
            return counted(function(*given, **more, tmp_path=Path(folder)))

    label, end = (f"{what}: {name}", f"[{name}]") if name else (what, "")
    return Search(label, f"{file}::{function.__name__}{end}", call, limit, quick)


def counted(answer: Any) -> int:
    """The number of cases of a call: what it returned if that is a whole number, else one."""
    return int(answer) if isinstance(answer, (bool, int, np.bool_, np.integer)) else 1


def _as_test(function: Callable[..., Any], made: list[Search], names: list[str]) -> Callable[..., Any]:
    """The first `quick` seeds as a test: one per value of `each`, and several if the seeds are many."""

    def run(hunted: Search, seeds: range) -> None:
        cases = 0
        for seed in seeds:
            try:
                cases += attempt(hunted, seed)
            except Exception as error:
                error.add_note(f"repeat it: {hunted.again} SEED={seed}")
                raise
        assert cases, "no seed gave a case: the search looks at nothing"

    every = range(made[0].quick)
    size = max(_FEW, math.ceil(len(every) / _FEW))
    parts = [every[start : start + size] for start in range(0, len(every), size)]
    ids = [f"{name}{'-' if name else ''}{part[0]}" if len(parts) > 1 else name for name in names for part in parts]
    if len(ids) == 1 and not ids[0]:
        test: Callable[..., Any] = lambda: run(made[0], every)  # noqa: E731
    else:
        pieces = [(one, part) for one in made for part in parts]
        test = pytest.mark.parametrize(("hunted", "seeds"), pieces, ids=ids)(run)
    marks = getattr(test, "pytestmark", [])
    test = functools.wraps(function)(test)
    del test.__wrapped__  # pytest would look for its parameters among the fixtures
    test.pytestmark = [*marks, *getattr(function, "pytestmark", [])]
    return test


def note(kind: str, seed: int, facts: dict[str, int]) -> None:
    """What became of one case, as counts: a line of the hunt's notes; nothing in an ordinary test."""
    if place := os.environ.get(NOTES):
        line = json.dumps({"kind": kind, "seed": seed, "facts": facts}, sort_keys=True)
        with open(place, "a") as out:  # one write of one short line: processes do not mix theirs
            out.write(line + "\n")


def attempt(one: Search, seed: int) -> int:
    """One call: how many cases it tried. What is skipped was no case; whatever else is raised is a violation."""
    try:
        return one.call(seed)
    except (pytest.skip.Exception, hypothesis.errors.UnsatisfiedAssumption):
        return 0


# ---- finding all of them --------------------------------------------------------------------------------------------


def property_searches(module: Any) -> Iterator[Search]:
    """The property tests of a module, as searches whose seed is hypothesis' own."""
    spots = [(None, module), *((c, c) for c in vars(module).values() if inspect.isclass(c))]
    for owner, spot in spots:
        if getattr(spot, "__module__", module.__name__) != module.__name__:
            continue
        for name, test in list(vars(spot).items()):
            if name.startswith("test_") and getattr(test, "is_hypothesis_test", False):
                yield _property(module, owner, name, test)


def _property(module: Any, owner: type | None, name: str, test: Any) -> Search:
    file = _place(Path(module.__file__))
    inside = f"{owner.__name__}::" if owner else ""
    left = list(inspect.signature(test).parameters)[bool(owner) :]
    if left:
        raise ValueError(f"{file}::{name}: a property test that takes {left} beside what is drawn cannot be hunted")
    wish = getattr(test, "_hypothesis_internal_use_settings", None) or hypothesis.settings.default
    calm = {"deadline": None, "suppress_health_check": list(hypothesis.HealthCheck)}  # a busy machine is no violation
    fresh = hypothesis.settings(wish, database=None, derandomize=False, print_blob=False, **calm)
    instance = [owner()] if owner else []
    count = 0
    plain = test.hypothesis.inner_test

    @functools.wraps(plain)
    def counting(*args: Any, **more: Any) -> Any:
        nonlocal count
        count += 1
        return plain(*args, **more)

    def call(seed: int) -> int:
        nonlocal count
        count = 0
        test._hypothesis_internal_use_settings = fresh  # the decorator refuses a second time
        test.hypothesis.inner_test = counting
        try:
            hypothesis.seed(seed)(test)(*instance)
        finally:
            test.hypothesis.inner_test = plain
        return count

    what = f"property: {name.removeprefix('test_').replace('_', ' ')}"
    return Search(what, f"{file}::{inside}{name}", call)


def look_in(folder: Path) -> None:
    """Walk this folder instead of the one that holds this file, and those of the sister packages."""
    global TESTS
    if folder.resolve() != TESTS:
        TESTS = folder.resolve()
        SISTERS.clear()


def _place(file: Path) -> str:
    """How a key names a file: from the tests folder, or from the checkout where it tests a sister package."""
    found = file.resolve()
    return found.relative_to(TESTS if found.is_relative_to(TESTS) else TESTS.parent).as_posix()


def collect(key: str | None = None) -> dict[str, Search]:
    """Every search under the tests folder (or of the one file that a key names), by key.

    A file is imported if it holds one of the decorators; one that is skipped as a whole (no data, no optional package)
    has no searches here.
    """
    files = [file for folder in (TESTS, *SISTERS) for file in sorted(folder.rglob("*.py"))]
    if key is not None:
        name = key.partition("::")[0]
        files = [file for file in files if _place(file) == name] or [TESTS / name]
    found: dict[str, Search] = {}
    _first(TESTS)
    for file in files:
        if not file.is_file():
            raise LookupError(f"there is no file tests/{key.partition('::')[0] if key else file}")
        text = file.read_text()
        if file.resolve() == Path(__file__).resolve() or not any(mark in text for mark in _MARKS):
            continue
        _first(file.parent)
        try:
            module = importlib.import_module(file.stem)
        except pytest.skip.Exception:
            continue
        if Path(str(module.__file__)).resolve() != file.resolve():
            raise LookupError(f"two files under tests are called {file.name}; pytest and the hunt need different names")
        prefix = f"{_place(file)}::"
        found |= {k: one for k, one in REGISTRY.items() if k.startswith(prefix)}
        found |= {one.key: one for one in property_searches(module)}
    return found


def _first(folder: Path) -> None:
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def prepare() -> None:
    """What pytest would have set up: warnings are errors; property tests have no deadline."""
    warnings.simplefilter("error")
    hypothesis.settings.register_profile("hunt", deadline=None, database=None)
    hypothesis.settings.load_profile("hunt")
