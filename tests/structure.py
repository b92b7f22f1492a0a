"""Checks on the shape of the source: rooms import only rooms before them; files stay small. Run by `make check`."""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SRC, SECOND = ROOT / "src" / "fugu", ROOT / "verify" / "src" / "fugu_verify"
ROOMS = [
    "_version", "lazily", "errors", "visible", "shown", "aliases", "question", "fixed", "files", "progress", "numbers",
    "guarantee", "noise", "laws", "transport", "noised", "loss", "channels", "data", "priors", "translation",
    "documents", "scenario", "mechanism", "utility", "calibration", "queries", "sequences", "training", "iterate",
    "verifier", "ledger", "checking", "session", "publication", "auditing", "drawing", "report", "releasing",
    "examples", "studio", "cli",
]  # fmt: skip
MAX_LINES, QUESTION = 600, 450
LONG: dict[str, str] = {
    "channels/exact.py": "an exact channel, what it costs and what none goes below: one proof in rationals",
    "data/files.py": "text files cut into cells by one parser, and what may stand in them: reading and writing agree",
    "data/frame.py": "where columns come from, how each engine counts them, and the frames that go out as they came in",
    "documents/certificate.py": "one sealed certificate of additive noise: its parts, its proof, and its words",
    "documents/promises.py": "what is promised, about what, between which answers, to whom: every sentence of it once",
    "documents/release.py": "one document, its private part, and the commitments that bind both to files",
    "laws/adding.py": "the law of a sum: in integers, term by term or by one FFT, each with its error",
    "laws/sets/levels.py": "what counts say of a law: limits of cells, radii of balls, bands of order statistics",
    "ledger/accountant.py": "what releases promise together: each way to add them, and what is refused, side by side",
    "ledger/books.py": "what the file of a ledger says: requests, charges, persons, accounts, each account in words",
    "ledger/events.py": "the chain of events, the state that they add up to, and checkpoints of it",
    "loss/continuous_divergence.py": "one divergence of continuous noise: the same integral on atoms and on components",
    "noise/kind.py": "what every noise is: the protocol, its defaults and the sums that follow from masses alone",
    "queries/features.py": "what a record contributes: its axes, how its numbers are rounded, and what that moves",
    "queries/law_price.py": "a question, its laws and their noise: each line of the argument rests on the one before",
    "releasing/dispatch.py": "what every release goes through from its question to its files, in that order",
    "report/compare.py": "one page of a comparison, and its two charts",
    "scenario/query.py": "how a column is read, published, and who is in it: one plan for every engine",
    "session/allocation.py": "how questions share what is left, and the least noise: one search, proved at its end",
    "session/books.py": "the books of a session: what was asked, what it is worth, and who is in the table",
    "utility/reading.py": "what is said of published numbers beside the reference: one rule for each kind of release",
    "utility/usable.py": "how usable a release is: its figures, its verdict, and what they are measured against",
}
"""Files above 450 lines, each with the reason why it is one idea; above 600 there is none."""


def room_of(path: Path) -> str:
    """The room a file lives in: its folder, or its own name for a file at the top."""
    parts = path.relative_to(SRC).parts
    return parts[0] if len(parts) > 1 else path.stem


def imported_rooms(path: Path) -> set[str]:
    """The rooms that a file imports, wherever in the file; annotations (TYPE_CHECKING) may name figures, which are
    drawn by what `fugu.shown` asks."""
    found = _rooms_in(path.read_text())
    return found if "drawing" in {name.split(".")[1] for name in imported_modules(path)} else found - {"drawing"}


@cache
def _rooms_in(text: str) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "fugu":
            names = [node.module] if node.module != "fugu" else [f"fugu.{a.name}" for a in node.names]
        elif isinstance(node, ast.Import):
            names = [a.name for a in node.names if a.name.split(".")[0] == "fugu"]
        else:
            continue
        found |= {n.split(".")[1] for n in names if "." in n}
    return found


TABLED = {f"loss/{name}.py" for name in ("generic", "number", "on_atoms", "histograms", "sets")}
"""Entries of the table of losses, which search as well as prove."""
BEGIN_WITH_A_SEARCH = {"loss/shifts.py", "loss/vectors.py", "loss/vectors_gaussian.py", "loss/normal.py"}
"""Proofs that are told by a search where to look; what they state they prove in balls."""


def believed_searches(files: list[Path]) -> list[str]:
    """Proofs of losses that import a search in doubles: search and proof are told apart by where they stand."""
    found = []
    for path in files:
        name = path.relative_to(SRC).as_posix()
        proof = name.startswith("loss/") and name.split("/")[1] not in ("__init__.py", "search") and name not in TABLED
        if proof and name not in BEGIN_WITH_A_SEARCH and re.search(r"fugu\.loss(\.| import )search", path.read_text()):
            found.append(f"{name} proves, and imports a search in doubles")
    return found


NOT_FOR_THE_VERIFIER = {"scenario", "calibration", "ledger", "auditing", "drawing", "report", "examples",
                        "cli"}  # fmt: skip
"""What finds noise, keeps the books or speaks to people: a mistake in one of these must not reach a second opinion."""
AN_HOUR = 1060
"""Lines that somebody reads in an hour."""


PROVES = ("fugu.loss.door", "fugu.loss.vectors_gaussian")
"""What documents import when they prove: reached by calls, so no import says it."""


def dependent_verifier(files: list[Path]) -> list[str]:
    """What the verifier imports, through any number of files, that it must be independent of; and its size."""
    modules = {
        ".".join(("fugu", *p.relative_to(SRC).with_suffix("").parts)).removesuffix(".__init__"): p for p in files
    }
    own = [name for name in modules if name.split(".")[1:2] == ["verifier"]]
    found = {*own, *(name for name in PROVES if name in modules)}
    waiting = list(found)
    while waiting:
        for name in imported_modules(modules[waiting.pop()]):
            parts = name.split(".")
            for known in (".".join(parts[:k]) for k in range(2, len(parts) + 1)):
                if known in modules and known not in found:
                    found.add(known)
                    waiting.append(known)
    wrong = sorted(name for name in found if name.split(".")[1] in NOT_FOR_THE_VERIFIER)
    lines = sum(modules[name].read_text().count("\n") for name in own)
    said = [f"the verifier reaches {', '.join(wrong[:5])}"] if wrong else []
    return said + ([f"the verifier has {lines} lines, which nobody reads in an hour"] if lines > AN_HOUR else [])


def imported_modules(path: Path) -> set[str]:
    """The modules of fugu that importing a file imports, or that it names as "module:name" and imports when they are
    met: not those under TYPE_CHECKING or inside functions."""
    return _modules_in(path.read_text())


@cache
def _modules_in(text: str) -> set[str]:
    whole = ast.parse(text)
    texts = (node.value for node in ast.walk(whole) if isinstance(node, ast.Constant) and isinstance(node.value, str))
    found = {place[1] for text in texts if (place := re.fullmatch(r"(fugu(?:\.\w+)+):\w+", text))}
    waiting: list[ast.AST] = [whole]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            waiting.extend(node.orelse)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("fugu"):
            found |= {f"{node.module}.{a.name}" for a in node.names}
        elif isinstance(node, ast.Import):
            found |= {a.name for a in node.names if a.name.startswith("fugu.")}
        elif not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            waiting.extend(ast.iter_child_nodes(node))
    return found


EXACT = {"__future__", "collections", "dataclasses", "fractions", "functools", "itertools", "math", "operator", "re",
         "typing", "fugu_verify"}  # fmt: skip
"""All that the second proof imports: what it shared with the first could be wrong in both, and nothing that computes in
doubles or is installed beside it is needed."""
COMMAND = {"argparse", "decimal", "hashlib", "json", "sys"}
"""What its command reads files and writes screens with."""
WHOLE = {"inf", "isinf", "isqrt", "prod", "floor", "ceil", "nextafter", "comb", "gcd", "lcm"}
"""What it takes from `math`: whole numbers, infinity and the neighbours of a double; no exp, log, sqrt or erf."""


def shared_proofs() -> list[str]:
    """Files of the second proof that import more than the standard library's integers and rationals."""
    found = []
    for path in sorted(SECOND.rglob("*.py")):
        known = EXACT | (COMMAND if path.stem in ("command", "__main__") else set())
        for node in ast.walk(ast.parse(path.read_text())):
            names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            names = [a.name for a in node.names] if isinstance(node, ast.Import) else names
            for name in names:
                if name.split(".")[0] not in known:
                    found.append(f"fugu_verify/{path.name} imports {name}; the second proof stands alone")
            of_math = isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "math"
            if of_math and node.attr not in WHOLE:
                found.append(f"fugu_verify/{path.name} uses math.{node.attr}, which is in doubles")
            if isinstance(node, ast.ImportFrom) and node.module == "math":
                found.append(f"fugu_verify/{path.name} imports from math; write math.name, which is checked")
    return found


def sisters(files: list[Path]) -> list[str]:
    """Files of the product that import what no release needs: fugu-papers is found by its entry points alone."""
    pattern = re.compile(r"^\s*(?:from|import) fugu_papers", re.MULTILINE)
    return [f"{path.relative_to(SRC)} imports fugu_papers" for path in files if pattern.search(path.read_text())]


def problems(files: list[Path]) -> list[str]:
    """Every breach of the layers or of the size limit."""
    found = believed_searches(files) + shared_proofs() + sisters(files) + dependent_verifier(files)
    for path in files:
        room = room_of(path)
        if room in ("__init__", "__main__"):
            continue
        if room not in ROOMS:
            found.append(f"{path.name}: room {room!r} has no place in the import order (tests/structure.py)")
            continue
        for other in imported_rooms(path) - {room}:
            if other in ROOMS and ROOMS.index(other) > ROOMS.index(room):
                found.append(f"{room}/{path.name} imports {other}, which comes after it")
        lines, name = path.read_text().count("\n"), path.relative_to(SRC).as_posix()
        if lines > MAX_LINES or (lines > QUESTION and name not in LONG):
            found.append(f"{name} has {lines} lines; past {QUESTION} it needs a reason in LONG, past {MAX_LINES} a cut")
        if lines <= QUESTION and name in LONG:
            found.append(f"{name} has {lines} lines and needs no place in LONG")
    return found


def questions(files: list[Path]) -> list[str]:
    """Files that may hold two ideas."""
    sizes = {path: path.read_text().count("\n") for path in files}
    return [f"{path.relative_to(SRC)} ({lines} lines)" for path, lines in sizes.items() if lines > QUESTION]


if __name__ == "__main__":
    files = sorted(SRC.rglob("*.py"))
    breaches, asked = problems(files), questions(files)
    print("\n".join(breaches) or "layers and sizes: fine" + (f"; one idea each? {', '.join(asked)}" if asked else ""))
    sys.exit(bool(breaches))
