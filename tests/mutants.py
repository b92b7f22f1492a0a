"""Hand mutants of the code that carries a promise: one wrong version at a time, and the named tests must notice it.

`make mutants`, or `python tests/mutants.py [--only TEXT] [--jobs 2]`; this is no test, and pytest does not collect it.
`--stale` runs no test: it only says which mutants no longer fit the source, and is part of `make check`.
The packages and their tests are copied to a temporary folder, and the copy shadows what is installed (every run checks
that).
Killed means that a test failed. Survival, a timeout, a test that is not there, a piece that is no longer in its
definition or is there twice, and tests that fail without any mutant all make this script fail. The list is in
mutant_list.py; a mutant names a definition and an edit of its syntax tree (edits.py), so code may move and be laid out anew.
A run of the whole list is recorded in trust.json, from which `make trust` writes docs/promises.md.
"""

from __future__ import annotations

import argparse
import ast
import functools
import gc
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from edits import PACKAGES, Piece, Place, Sources, pieces
from mutant_list import LIST
from trust import remember

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 300
ITSELF = "itself"
ELSEWHERE, CRASH = 99, 98
PYTEST = f"""
import sys
from importlib.util import find_spec
from pathlib import Path
for package in map(Path, {PACKAGES}):
    if Path(find_spec(package.name).origin).resolve().parent != package.resolve():
        sys.exit({ELSEWHERE})
import pytest


class Repeatable:
    def pytest_configure(self):
        from hypothesis import Phase, settings

        phases = [Phase.explicit, Phase.generate]  # a failing example need not be made small
        settings.register_profile("mutants", derandomize=True, deadline=None, database=None, phases=phases)
        settings.load_profile("mutants")


sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *sys.argv[1:]], plugins=[Repeatable()]))
"""


@dataclass(frozen=True)
class Mutant:
    """One wrong version: the definition, the piece of it that is right, the one that is wrong, and the tests that see it."""

    where: str
    title: str
    right: str
    wrong: str
    tests: tuple[str, ...]

    @property
    def name(self) -> str:
        """Where and what."""
        return f"{self.where}: {self.title}"

    def edit(self, sources: Sources) -> tuple[Place, Piece]:
        """The place of the right piece and the wrong one for it; LookupError or SyntaxError if it does not fit."""
        right, wrong = pieces(self.right, self.wrong)
        if right.there(wrong.nodes):
            raise LookupError("its wrong piece is the right one")
        return sources.place(self.where, right), wrong

    def needed(self, sources: Sources, root: Path) -> tuple[str, ...]:
        """Its tests where they stand now: a file of the same name counts if the one named is gone."""
        return tuple(self._test(test, sources, root) for test in self.tests)

    def _test(self, test: str, sources: Sources, root: Path) -> str:
        if test == ITSELF:
            return self.edit(sources)[0].definition.file
        file, *inside = test.split("::", 1)
        if not (root / "tests" / file).exists():
            return "::".join([test_files(root).get(Path(file).name, f"tests/{file}"), *inside])
        return f"tests/{test}"

    def fits(self, sources: Sources, root: Path) -> None:
        """It can be applied, and the tests it names are there; LookupError or SyntaxError if not."""
        self.edit(sources)
        for test in self.needed(sources, root):
            file, *inside = test.partition("[")[0].split("::")
            if not (root / file).exists():
                raise LookupError(f"there is no {file}")
            body = parsed(root / file) if inside else []
            for name in inside:
                named = [node for node in body if getattr(node, "name", None) == name]
                if not named:
                    raise LookupError(f"there is no {name} in {file}")
                body = getattr(named[0], "body", [])


@functools.cache
def test_files(root: Path) -> dict[str, str]:
    """The files of tests of all packages by name."""
    folders = (root / folder / "tests" for folder in (".", "verify", "papers"))
    return {path.name: path.relative_to(root).as_posix() for folder in folders for path in folder.rglob("test_*.py")}


@functools.cache
def parsed(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text()).body


def mutants() -> Iterator[Mutant]:
    """The list, read: [tests] opens a group, (where, title, right, wrong[, tests]) is one mutant of it."""
    usual = ""
    for entry in LIST:
        if isinstance(entry, list):
            (usual,) = entry
            continue
        where, title, right, wrong, *own = entry
        yield Mutant(where, title, right, wrong, tuple(" ".join(own or [usual]).split()))


def copied(folder: Path, origin: Path) -> Path:
    """A copy of what a test run needs."""
    for name in ("src", "tests", "verify", "papers", "docs"):
        shutil.copytree(origin / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    for name in ("pyproject.toml", "conftest.py"):
        shutil.copy(origin / name, folder)
    return folder


def run(folder: Path, tests: tuple[str, ...], seconds: float) -> tuple[int | None, str]:
    """pytest on the copy in this folder: its exit code (None: out of time), and what it said in the end."""
    environment = {
        **os.environ,
        "PYTHONPATH": os.pathsep.join(str((folder / package).parent) for package in PACKAGES),
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    command = [sys.executable, "-c", PYTEST, *tests]
    try:
        done = subprocess.run(
            command, cwd=folder, env=environment, capture_output=True, text=True, timeout=seconds, check=False
        )
    except subprocess.TimeoutExpired:
        return None, f"after {seconds} seconds"
    failed = re.findall(r"^(?:FAILED|ERROR) (?:tests/)?(.*?)(?: - .*)?$", done.stdout, re.MULTILINE)
    if failed or done.returncode not in (1, 2):
        return done.returncode, failed[0] if failed else (done.stdout + done.stderr).strip()[-300:]
    return CRASH, (done.stdout + done.stderr).strip()[-300:]


def stale(chosen: list[Mutant], root: Path) -> list[str]:
    """A line for each mutant that no longer fits."""
    sources, lines = Sources(root), []
    for mutant in chosen:
        try:
            mutant.fits(sources, root)
        except (LookupError, SyntaxError) as error:
            lines.append(f"STALE      {mutant.name}: {error}")
    times = Counter(mutant.name for mutant in chosen)
    return lines + [f"TWICE      {name}" for name in sorted(times) if times[name] > 1]


def judged(mutant: Mutant, origin: Path, sources: Sources) -> tuple[bool, str]:
    """Whether the mutant is killed, and one line about it."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = copied(Path(folder), origin)
        right, wrong = mutant.edit(sources)
        (place / right.definition.file).write_text(sources.mutated(right, wrong), encoding="utf-8")
        code, why = run(place, mutant.needed(sources, origin), TIMEOUT)
    killed = code in (1, 2)  # 2: the tests could not even be collected
    words = {0: "SURVIVED", None: "TIMED OUT", ELSEWHERE: "NOT USED", CRASH: "CRASHED"}
    word = "killed" if killed else words.get(code, f"EXIT {code}")
    return killed, f"{word:<10} {time.monotonic() - begin:4.0f} s  {mutant.name:<55} {why if code else ''}"


def main() -> int:
    """Judge every mutant, after the same tests have passed without any."""
    parser = argparse.ArgumentParser(description=str(__doc__).partition("\n")[0])
    parser.add_argument("--only", default="", metavar="TEXT", help="mutants whose name holds this text")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time")
    parser.add_argument("--unchecked", action="store_true", help="do not run the tests without a mutant first")
    parser.add_argument("--stale", action="store_true", help="only say which mutants no longer fit the source")
    options = parser.parse_args()
    chosen = [m for m in mutants() if options.only in m.name]
    gc.disable()  # a million nodes, all of them in use: three times as fast
    old = stale(chosen, ROOT)
    if old or options.stale or not chosen:
        print("\n".join(old) or f"mutants: all {len(chosen)} fit the source")
        return int(bool(old) or not chosen)
    with tempfile.TemporaryDirectory() as folder:
        origin = copied(Path(folder), ROOT)
        sources = Sources(origin)
        wanted = tuple(dict.fromkeys(test for m in chosen for test in m.needed(sources, origin)))
        code, why = (0, "") if options.unchecked else run(origin, wanted, 4 * TIMEOUT)
        if code != 0:
            print(f"the tests do not pass without a mutant (exit {code}): {why}")
            return 1
        killed = 0
        with ThreadPoolExecutor(options.jobs) as pool:
            for dead, line in pool.map(lambda m: judged(m, origin, sources), chosen):
                killed += dead
                print(line, flush=True)
    print(f"{killed} of {len(chosen)} mutants killed")
    if not options.only:
        remember("mutants", {"listed": len(chosen), "killed": killed})
    return int(killed < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
