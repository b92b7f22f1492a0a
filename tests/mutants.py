"""Hand mutants of the code that carries a promise: one wrong version at a time, and the named tests must notice it.

`make mutants`, or `python tests/mutants.py [--only TEXT] [--jobs 2]`; this is no test, and pytest does not collect it.
`--stale` runs no test: it only says which mutants no longer fit the source, and is part of `make check`.
src and tests are copied to a temporary folder, and the copy shadows the installed package (every run checks that).
Killed means that a test failed. Survival, a timeout, a test that is not there, a text that is no longer in the source
or is there twice, and tests that fail without any mutant all make this script fail. The list is in mutant_list.py.
A run of the whole list is recorded in trust.json, from which `make trust` writes docs/promises.md.
"""

from __future__ import annotations

import argparse
import ast
import functools
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from mutant_list import LIST
from trust import remember

ROOT = Path(__file__).resolve().parent.parent
TIMEOUT = 300
ELSEWHERE, CRASH = 99, 98
PYTEST = f"""
import sys
from pathlib import Path
import fugu
if Path(fugu.__file__).resolve().parent != Path("src/fugu").resolve():
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
    """One wrong version: the file, the text that is right, the text that is wrong, and the tests that must see it."""

    name: str
    file: str
    right: str
    wrong: str
    tests: tuple[str, ...]

    def mutated(self, root: Path) -> str:
        """The file with the wrong text in the place of the right one; LookupError or SyntaxError if it does not fit."""
        path = root / "src" / "fugu" / self.file
        text = path.read_text() if path.exists() else ""
        if text.count(self.right) != 1:
            raise LookupError(f"its text is {text.count(self.right)} times in {self.file}")
        wrong = text.replace(self.right, self.wrong)
        ast.parse(wrong)
        return wrong

    def fits(self, root: Path) -> None:
        """It can be applied, and the tests it names are there; LookupError or SyntaxError if not."""
        self.mutated(root)
        for test in self.tests:
            file, *inside = test.partition("[")[0].split("::")
            if not (root / file).exists():
                raise LookupError(f"there is no {file}")
            body = parsed(root / file) if inside else []
            for name in inside:
                found = [node for node in body if getattr(node, "name", None) == name]
                if not found:
                    raise LookupError(f"there is no {name} in {file}")
                body = getattr(found[0], "body", [])


@functools.cache
def parsed(path: Path) -> list[ast.stmt]:
    return ast.parse(path.read_text()).body


def mutants() -> Iterator[Mutant]:
    """The list, read: [file, tests] opens a file, (name, right, wrong[, tests]) is one mutant of it."""
    file, usual = "", ""
    for entry in LIST:
        if isinstance(entry, list):
            file, usual = entry
            continue
        name, right, wrong, *own = entry
        tests = tuple(t if t.startswith("src/") else f"tests/{t}" for t in " ".join(own or [usual]).split())
        yield Mutant(f"{file.removesuffix('.py')}: {name}", file, right, wrong, tests)


def copied(folder: Path, origin: Path) -> Path:
    """A copy of what a test run needs."""
    for name in ("src", "tests"):
        shutil.copytree(origin / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy(origin / "pyproject.toml", folder)
    return folder


def run(folder: Path, tests: tuple[str, ...], seconds: float) -> tuple[int | None, str]:
    """pytest on the copy in this folder: its exit code (None: out of time), and what it said in the end."""
    environment = {**os.environ, "PYTHONPATH": str(folder / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
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
    found = []
    for mutant in chosen:
        try:
            mutant.fits(root)
        except (LookupError, SyntaxError) as error:
            found.append(f"STALE      {mutant.name}: {error}")
    names = [m.name for m in chosen]
    return found + [f"TWICE      {name}" for name in sorted({n for n in names if names.count(n) > 1})]


def judged(mutant: Mutant, origin: Path) -> tuple[bool, str]:
    """Whether the mutant is killed, and one line about it."""
    begin = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        place = copied(Path(folder), origin)
        try:
            wrong = mutant.mutated(place)
            (place / "src" / "fugu" / mutant.file).write_text(wrong)
        except (LookupError, SyntaxError) as error:
            return False, f"STALE      {mutant.name}: {error}"
        code, why = run(place, mutant.tests, TIMEOUT)
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
    if options.stale:
        old = stale(chosen, ROOT)
        print("\n".join(old) or f"mutants: all {len(chosen)} fit the source")
        return int(bool(old) or not chosen)
    with tempfile.TemporaryDirectory() as folder:
        origin = copied(Path(folder), ROOT)
        wanted = tuple(dict.fromkeys(test for m in chosen for test in m.tests))
        code, why = (0, "") if options.unchecked or not chosen else run(origin, wanted, 4 * TIMEOUT)
        if code != 0:
            print(f"the tests do not pass without a mutant (exit {code}): {why}")
            return 1
        killed = 0
        with ThreadPoolExecutor(options.jobs) as pool:
            for dead, line in pool.map(lambda m: judged(m, origin), chosen):
                killed += dead
                print(line, flush=True)
    print(f"{killed} of {len(chosen)} mutants killed")
    if not options.only:
        remember("mutants", {"listed": len(chosen), "killed": killed})
    return int(killed < len(chosen) or not chosen)


if __name__ == "__main__":
    sys.exit(main())
