"""Measures of the house: how much of it there is, how often it asks what a thing is, how far a call has to walk.

python tests/golden/figures.py            a table
python tests/golden/figures.py --json     the same as JSON (tests/golden/figures-before.json was written so)
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import fugu

SRC = Path(fugu.__file__).resolve().parent
_TESTS = ("isinstance", "issubclass")
_ATTRIBUTES = ("getattr", "hasattr")


def files() -> list[Path]:
    """Every source file."""
    return sorted(SRC.rglob("*.py"))


def room_of(path: Path) -> str:
    """The folder under src/fugu, or the file itself at the top."""
    parts = path.relative_to(SRC).parts
    return parts[0] if len(parts) > 1 else path.stem


def sizes(paths: list[Path]) -> dict[str, Any]:
    """Files and lines, the median and the largest file."""
    lines = {path: path.read_text().count("\n") for path in paths}
    largest = max(lines, key=lambda path: lines[path])
    return {
        "files": len(lines),
        "lines": sum(lines.values()),
        "median file": statistics.median(lines.values()),
        "largest file": lines[largest],
        "largest file is": largest.relative_to(SRC).as_posix(),
    }


def switches(tree: ast.AST) -> Counter[str]:
    """How often a file asks what a thing is: by type, by a name in a string, by an attribute.

    >>> code = "if kind == 'a' or type(x) is int:\\n    y = getattr(x, 'z', 0)\\nz = kind == 'b'"
    >>> sorted(switches(ast.parse(code)).items())
    [('attributes', 1), ('strings', 1), ('types', 1)]
    """
    found: Counter[str] = Counter()
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            found["types"] += node.func.id in _TESTS
            found["attributes"] += node.func.id in _ATTRIBUTES
        elif isinstance(node, ast.Compare):
            found["types"] += _asks_type(node)
        elif isinstance(node, ast.match_case):
            found["types"] += any(isinstance(part, ast.MatchClass) for part in ast.walk(node.pattern))
    compared = {
        id(node): node for test in _conditions(tree) for node in ast.walk(test) if isinstance(node, ast.Compare)
    }
    found["strings"] += sum(map(_names_string, compared.values()))
    found["strings"] += sum(isinstance(node, ast.MatchValue) and _is_text(node.value) for node in ast.walk(tree))
    return found


def _asks_type(node: ast.Compare) -> bool:
    sides = (node.left, *node.comparators)
    called = any(isinstance(s, ast.Call) and isinstance(s.func, ast.Name) and s.func.id == "type" for s in sides)
    return called and any(isinstance(op, ast.Is | ast.IsNot | ast.Eq | ast.NotEq | ast.In) for op in node.ops)


def _conditions(tree: ast.AST) -> Iterator[ast.expr]:
    """Every expression that decides: tests of if, else, while, assert, of comprehensions, and parts of and, or."""
    for node in ast.walk(tree):
        if isinstance(node, ast.If | ast.IfExp | ast.While | ast.Assert):
            yield node.test
        elif isinstance(node, ast.comprehension):
            yield from node.ifs
        elif isinstance(node, ast.BoolOp):
            yield from node.values
        elif isinstance(node, ast.match_case) and node.guard is not None:
            yield node.guard


def _names_string(node: ast.Compare) -> bool:
    """x == "a", "a" != x, x in ("a", "b"); the empty string is not a name."""
    for op, side in zip(node.ops, node.comparators, strict=True):
        if isinstance(op, ast.Eq | ast.NotEq) and (_is_text(side) or _is_text(node.left)):
            return True
        if isinstance(op, ast.In | ast.NotIn) and isinstance(side, ast.Tuple | ast.List | ast.Set):
            return any(map(_is_text, side.elts))
    return False


def _is_text(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value != ""


def asking(paths: list[Path]) -> dict[str, Any]:
    """Type tests, string switches and attribute tests: in total, for 1,000 lines, and room by room."""
    total: Counter[str] = Counter()
    rooms: dict[str, Counter[str]] = {}
    for path in paths:
        text = path.read_text()
        here = switches(ast.parse(text))
        total += here
        rooms.setdefault(room_of(path), Counter()).update({**here, "lines": text.count("\n")})
    lines = sum(count["lines"] for count in rooms.values())
    every = sum(total.values())
    return {
        "type tests": total["types"],
        "string switches": total["strings"],
        "getattr and hasattr": total["attributes"],
        "all of them": every,
        "per 1,000 lines": round(1000 * every / lines, 1),
        "rooms": {
            room: {
                "lines": count["lines"],
                "asked": (asked := count["types"] + count["strings"] + count["attributes"]),
                "per 1,000 lines": round(1000 * asked / max(count["lines"], 1), 1),
            }
            for room, count in sorted(rooms.items())
        },
    }


def module_of(path: Path) -> str:
    """fugu.room.file; a package by its own name."""
    parts = ["fugu", *path.relative_to(SRC).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.Module, known: set[str]) -> tuple[set[str], set[str]]:
    """The fugu modules that a file imports when it is loaded, and those that its functions import later."""
    load: set[str] = set()
    lazy: set[str] = set()

    def walk(node: ast.AST, inside: bool) -> None:
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            for child in node.orelse:
                walk(child, inside)
            return
        if isinstance(node, ast.Import | ast.ImportFrom):
            (lazy if inside else load).update(_modules(node, known))
        for child in ast.iter_child_nodes(node):
            walk(child, inside or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda))

    walk(tree, False)
    return load, lazy


def _modules(node: ast.Import | ast.ImportFrom, known: set[str]) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names} & known
    if node.module is None or node.module.split(".")[0] != "fugu":
        return set()
    inner = {f"{node.module}.{alias.name}" for alias in node.names} & known
    return inner or {node.module} & known


def laziness(paths: list[Path]) -> dict[str, Any]:
    """Imports inside functions, and those without which the modules would import each other in a circle."""
    known = {module_of(path) for path in paths}
    found = {module_of(path): imports(ast.parse(path.read_text()), known) for path in paths}
    load = {name: now | _packages(now, name) for name, (now, _) in found.items()}
    lazy = sorted((name, other) for name, (_, later) in found.items() for other in later)
    cycles = [(a, b) for a, b in lazy if a == b or a in _reached(b, load)]
    return {
        "lazy imports": len(lazy),
        "lazy imports that hide a cycle": len(cycles),
        "cycles": [f"{a} -> {b}" for a, b in cycles],
    }


def _packages(now: set[str], name: str) -> set[str]:
    """Importing a.b.c loads a and a.b too; those that a module itself lives in are being loaded already."""
    above = {".".join(module.split(".")[:k]) for module in now for k in range(2, module.count(".") + 1)}
    return {package for package in above if not name.startswith(package)}


def _reached(start: str, load: dict[str, set[str]]) -> set[str]:
    seen, left = set(), [start]
    while left:
        module = left.pop()
        if module not in seen:
            seen.add(module)
            left.extend(load.get(module, ()))
    return seen


def passed(work: Callable[[], object]) -> dict[str, int]:
    """The distinct functions of fugu, and their files, that one call passes once everything is loaded."""
    work()
    seen: set[tuple[str, int, str]] = set()

    def note(frame: Any, event: str, _: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(SRC)) and not code.co_name.startswith("<"):
            seen.add((code.co_filename, code.co_firstlineno, code.co_name))

    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
    return {"functions": len(seen), "files": len({file for file, _, _ in seen})}


def scalar() -> object:
    """One scalar calibration: the student example."""
    student = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]))
    return fugu.calibrate(student, fugu.Pure(1))


def normal() -> object:
    """One calibration of normal vectors, as a property needs it."""
    cov = [[1, 0.3], [0.3, 2]]
    pair = fugu.LawPair(fugu.MultivariateNormal([0, 0], cov), fugu.MultivariateNormal([1, 0.5], cov))
    return fugu.calibrate(pair, fugu.Renyi(2, 0.5))


def import_seconds(times: int = 5) -> float:
    """Median seconds of `import fugu` in fresh processes."""
    code = "import time; t = time.perf_counter(); import fugu; print(time.perf_counter() - t)"
    runs = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True) for _ in range(times)
    ]
    return round(statistics.median(float(run.stdout) for run in runs), 4)


def documented() -> dict[str, Any]:
    """Public callables, and those whose docstring names every parameter; a class counts with its __init__."""
    total, missing = 0, []
    for name in sorted(fugu.__all__):
        thing = getattr(fugu, name)
        if not callable(thing):
            continue
        total += 1
        init = inspect.getdoc(thing.__init__) if inspect.isclass(thing) else ""
        text = f"{inspect.getdoc(thing) or ''}\n{init or ''}"
        wanted = [p for p in inspect.signature(thing).parameters if p not in ("self", "args", "kwargs", "_")]
        if any(f"`{p}`" not in text and f"{p}:" not in text and f"{p}=" not in text for p in wanted):
            missing.append(name)
    return {"public callables": total, "every parameter documented": total - len(missing), "not documented": missing}


def figures() -> dict[str, Any]:
    """All measures."""
    paths = files()
    return {
        "size": sizes(paths),
        "asking what a thing is": asking(paths),
        "imports": {**laziness(paths), "seconds of import fugu": import_seconds()},
        "passed in a scalar calibration": passed(scalar),
        "passed in a calibration of normal vectors": passed(normal),
        "documentation": documented(),
    }


def table(found: dict[str, Any]) -> str:
    """The measures as lines; a list by its items, rooms with the most questions first."""
    lines = []
    for title, part in found.items():
        lines.append(title)
        for name, value in part.items():
            if name == "rooms":
                most = sorted(value.items(), key=lambda item: -item[1]["asked"])
                lines += [f"    {r:<40}{v['asked']:>6}  ({v['per 1,000 lines']} per 1,000 lines)" for r, v in most]
            elif isinstance(value, list):
                lines += [f"    {name}:", *(f"        {item}" for item in value)]
            else:
                lines.append(f"  {name:<42}{value!s:>6}")
    return "\n".join(lines)


def main(arguments: list[str] | None = None) -> int:
    """The command."""
    parser = argparse.ArgumentParser(description="measures of the source")
    parser.add_argument("--json", action="store_true", help="as JSON")
    found = figures()
    print(json.dumps(found, indent=1) if parser.parse_args(arguments).json else table(found))
    return 0


if __name__ == "__main__":
    sys.exit(main())
