"""The ratchet of the house: how much there is to hold in mind, measured; no figure grows without a reason.

`house.toml` holds a limit for each figure. A figure above its limit fails `make check`; so does one that fell by more
than a hundredth, until `python tests/house.py --record` has lowered the limit. A limit is raised by hand, together with
a line that says what that bought. `docs/design.md` shows the same figures."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections import Counter
from functools import cache
from pathlib import Path

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
    }


def longest_chain(files: list[Path]) -> int:
    """How many files stand one upon the other at most; of a circle, each file once."""
    modules = {
        ".".join(("fugu", *p.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__"): p for p in files
    }

    @cache
    def imports(name: str) -> tuple[str, ...]:
        found = imported_modules(modules[name])
        return tuple({n if n in modules else n.rpartition(".")[0] for n in found} & set(modules) - {name})

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
