"""The ratchet of the house: how much there is to hold in mind, measured; no figure grows without a reason.

`house.toml` holds a limit for each figure. A figure above its limit fails `make check`; so does one that fell by more
than a hundredth, until `python tests/house.py --record` has lowered the limit. A limit is raised by hand, together with
a line that says what that bought. `docs/design.md` shows the same figures."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable
from contextlib import chdir
from functools import cache
from pathlib import Path
from types import FrameType

import fugu
from edits import PACKAGES
from golden.doors import command, steady, tables
from structure import SRC, imported_modules

HERE = Path(__file__).resolve().parent
LIMITS, DESIGN = HERE / "house.toml", HERE.parent / "docs" / "design.md"
CERTIFICATE = HERE / "mechanism" / "old_0_3" / "column.json"
NAMES = {
    "files": "files",
    "lines": "lines",
    "functions": "functions",
    "classes": "classes",
    "shared_class_names": "class names defined more than once",
    "import_chain": "longest chain of imports",
    "modules_of_verify": "modules that `verify` loads",
    "modules_of_help": "modules that `fugu --help` loads",
    "longest_signature": "parameters of the longest signature",
    "passed_by_calibration": "functions passed by a scalar calibration",
    "passed_by_page": "functions passed by `fugu report`",
    "passed_by_question": "functions passed by the first question of a session",
    "passed_by_sequences": "functions passed by `fugu release` of sequences",
    "files_that_name_a_noise": "files of all packages that name noise on atoms",
    "files_that_name_a_document": "files of all packages that name the kind `records`",
    "files_of_sisters": "files of fugu-verify and fugu-papers",
    "lines_of_sisters": "lines of fugu-verify and fugu-papers",
}
_NAMING = {
    "files_that_name_a_noise": re.compile(r'AtomLaplace|"atoms"|on_atoms|\bATOMS\b'),
    "files_that_name_a_document": re.compile(r'"records"|sentences import .*\bRECORDS\b'),
}
_SLACK = 0.01


def measured() -> dict[str, int]:
    """Every figure as it is now."""
    files = sorted(SRC.rglob("*.py"))
    trees = [ast.parse(path.read_text()) for path in files]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    classes = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return {
        "files": len(files),
        "lines": sum(path.read_text().count("\n") for path in files),
        "functions": len(functions),
        "classes": classes.total(),
        "shared_class_names": sum(count > 1 for count in classes.values()),
        "import_chain": longest_chain(files),
        "modules_of_verify": loaded(f"import fugu; fugu.verify(fugu.Certificate.load({str(CERTIFICATE)!r}))"),
        "modules_of_help": loaded(
            "sys.argv = ['fugu', '--help']\nimport contextlib, fugu.cli\n"
            "with contextlib.suppress(SystemExit):\n    fugu.cli.main()"
        ),
        "longest_signature": max(_parameters(node.args) for node in functions),
        **passed(),
        **named(),
    }


def named() -> dict[str, int]:
    """How many files know a kind by its name, and how large the sisters are."""
    texts = {path: path.read_text() for package in PACKAGES for path in sorted((HERE.parent / package).rglob("*.py"))}
    sisters = [text for path, text in texts.items() if SRC not in path.parents]
    return {
        **{name: sum(bool(pattern.search(text)) for text in texts.values()) for name, pattern in _NAMING.items()},
        "files_of_sisters": len(sisters),
        "lines_of_sisters": sum(text.count("\n") for text in sisters),
    }


def passed() -> dict[str, int]:
    """The distinct functions of fugu that one call passes, once everything is loaded."""
    with tempfile.TemporaryDirectory() as folder, chdir(folder), steady(1):
        for name, lines in tables():
            Path(name).write_text("\n".join(lines) + "\n")
        column = ("--publish", "v", "--protect", "s", "--reference", "ref.csv")
        command("release", "today.csv", *column, "--epsilon", "1", "--no-ledger", "-o", "out.csv")
        walks = (
            "--query",
            "histogram",
            "--by",
            "user",
            "--order",
            "time",
            "--state",
            "place",
            "--reference",
            "last.csv",
        )
        pair = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]))
        people, reference = fugu.read_table("today.csv"), fugu.read_table("ref.csv")
        sessions = [fugu.Session(people, reference, "s", fugu.Pure(9)) for _ in range(2)]
        calls: dict[str, Callable[[], object]] = {
            "passed_by_calibration": lambda: fugu.calibrate(pair, fugu.Pure(1)),
            "passed_by_page": lambda: command("report", "out.certificate.json", "-o", "page.html", "--force"),
            "passed_by_question": lambda: sessions.pop().ask("mean(v)", 0.5, bounds=(0, 5), step=1),
            "passed_by_sequences": lambda: command(
                "release", "week.csv", *walks, "--epsilon", "2", "--no-ledger", "-o", "walks.csv", "--force"
            ),
        }
        return {name: _functions(call) for name, call in calls.items()}


def _functions(call: Callable[[], object]) -> int:
    call()
    seen: set[tuple[str, int]] = set()

    def note(frame: FrameType, event: str, _: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SRC)) and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_firstlineno))

    sys.setprofile(note)
    try:
        call()
    finally:
        sys.setprofile(None)
    return len(seen)


def longest_chain(files: list[Path]) -> int:
    """How many files stand one upon the other at most; of a circle, each file once."""
    modules = {
        ".".join(("fugu", *p.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__"): p for p in files
    }

    @cache
    def imports(name: str) -> list[str]:
        return sorted(set(map(defining, imported_modules(modules[name]))) & set(modules) - {name})

    def defining(name: str) -> str:
        """The module behind an imported name: that of a package which imports it late is the one where it stands."""
        package, _, last = name.rpartition(".")
        return name if name in modules else late(package).get(last, package)

    @cache
    def late(package: str) -> dict[str, str]:
        tree = ast.parse(modules[package].read_text() if package in modules else "")
        found = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module != package)
        return {a.name: str(node.module) for node in found for a in node.names if a.asname == a.name}

    depth: dict[str, int] = {}

    def below(name: str) -> int:
        if name not in depth:
            depth[name] = 1  # stands while its own imports are looked at, so a circle ends
            depth[name] = 1 + max(map(below, imports(name)), default=0)
        return depth[name]

    sys.setrecursionlimit(10_000)
    return max(map(below, sorted(modules)))


def loaded(code: str) -> int:
    """How many modules of fugu are there after `code` ran."""
    counted = f"import sys\n{code}\nprint('\\n', sum(m.split('.')[0] == 'fugu' for m in sys.modules))"
    done = subprocess.run([sys.executable, "-c", counted], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[-1])


def _parameters(args: ast.arguments) -> int:
    return len(args.posonlyargs) + len(args.args) + len(args.kwonlyargs)


def problems(now: dict[str, int], told: dict[str, dict[str, object]]) -> list[str]:
    """Figures above their limits or far below, limits above 0.3 for which no reason is given."""
    found = []
    for name, figure in now.items():
        limit, begun = int(str(told["limits"][name])), int(str(told["0.3"][name]))
        if figure > limit:
            found.append(
                f"{NAMES[name]}: {figure:,}, and the limit is {limit:,}: take something out, or say what it buys"
            )
        elif figure < limit * (1 - _SLACK):
            found.append(f"{NAMES[name]}: {figure:,}, and the limit is still {limit:,}: python tests/house.py --record")
        if limit > begun and name not in told["bought"]:
            found.append(f"{NAMES[name]}: the limit is above that of 0.3, and house.toml does not say what that bought")
    return found


def table(told: dict[str, dict[str, object]]) -> str:
    """The figures as docs/design.md has them."""
    lines = ["| | 0.3 | limit now |", "|---|---|---|"]
    return "\n".join(lines + [f"| {NAMES[n]} | {told['0.3'][n]:,} | {told['limits'][n]:,} |" for n in NAMES])


def record(now: dict[str, int], told: dict[str, dict[str, object]]) -> None:
    """Lower every limit to the figure of today, here and in the design; raise none."""
    text = LIMITS.read_text()
    head, rest = text.split("[limits]\n", 1)
    _, end = rest.split("\n[", 1)
    limits = {name: min(now[name], int(str(told["limits"][name]))) for name in NAMES}
    LIMITS.write_text(head + "[limits]\n" + "".join(f"{n} = {x}\n" for n, x in limits.items()) + "\n[" + end)
    pattern = re.compile(r"\| \| 0\.3 \| limit now \|\n(\|.*\n)*")
    DESIGN.write_text(pattern.sub(table({**told, "limits": dict(limits)}) + "\n", DESIGN.read_text()))


if __name__ == "__main__":
    stated, figures = tomllib.loads(LIMITS.read_text()), measured()
    if "--record" in sys.argv:
        record(figures, stated)
        stated = tomllib.loads(LIMITS.read_text())
    wrong = problems(figures, stated)
    if table(stated) not in DESIGN.read_text():
        wrong.append("docs/design.md shows other figures than tests/house.toml: python tests/house.py --record")
    print("\n".join(wrong) or "the house: " + ", ".join(f"{figures[n]:,} {NAMES[n]}" for n in ("files", "lines")))
    sys.exit(bool(wrong))
