"""What code claims is proved in this repository, or in a paper that it names: links resolve, theorems have a proof.

- Every mention of `docs/proofs/...` in the source is a page that exists and, with `#section`, a heading of it.
- The source cites no notes that are not in the repository, and the pages name files of the source that exist.
- A name in backticks in a docstring is one of the code: of a module, a definition, an argument or a key.
- Every theorem that a method, a way or a certificate can name gives a paper with authors and year, links a page, or
  stands in the list of docs/proofs/README.md with a link to its proof.
"""

from __future__ import annotations

import ast
import builtins
import keyword
import re
from collections.abc import Collection, Iterator
from functools import cache, lru_cache
from pathlib import Path

import pytest

from edits import PACKAGES
from test_docs import anchors

ROOT = Path(__file__).resolve().parent.parent
SOURCE = ROOT / "src" / "fugu"
PAGES = ROOT / "docs" / "proofs"

_MENTION = re.compile(r"docs/proofs(?P<page>[\w./-]*)(?P<anchor>#[\w-]*)?")
_AWAY = re.compile(
    r"(?<!in )\btheory\b|\bnotes?, section \d|\b(?:the|composition|confidence) notes\b|\bdistribution\.md\b", re.I
)
_PAPER = re.compile(r"\b[A-Z]\w+(?:,? (?:and )?[A-Z]\w+| et al\.)* (?:19|20)\d\d\b")
_LISTED = re.compile(r"^- \*(?P<text>[^*]+)\*:\s+\[proof\]\((?P<target>[^)\s]+)\)", re.MULTILINE)
_REGISTRARS = ("method", "renyi_method", "Method", "RenyiMethod")
"""What a method is registered with: its name comes first, its theorem second or as `theorem=`; `WAYS` lists others."""


@lru_cache
def sections(page: Path) -> frozenset[str]:
    return frozenset(anchors(page))


def wrong_links(text: str) -> list[str]:
    """The mentions of pages in a text that lead nowhere."""
    found = []
    for mention in _MENTION.finditer(text):
        page = ROOT / "docs" / "proofs" / mention["page"].strip("/").rstrip(".")
        section = (mention["anchor"] or "").lstrip("#")
        if page == PAGES or page.suffix != ".md" or not page.is_file() or (section and section not in sections(page)):
            found.append(mention[0])
    return found


def citations_from_outside(text: str) -> list[str]:
    """What is cited and not in the repository; "in theory" cites nothing."""
    return [match[0] for match in _AWAY.finditer(text)]


def theorems(source: str) -> Iterator[str]:
    """The texts that a piece of source passes as a theorem: to what registers methods, or as an entry of a document."""
    tree = ast.parse(source)
    names = {**imported(tree), **assigned(tree)}
    for node in ast.walk(tree):
        given: ast.expr | None = None
        if isinstance(node, ast.Call) and getattr(node.func, "id", getattr(node.func, "attr", "")) in _REGISTRARS:
            given = next((k.value for k in node.keywords if k.arg == "theorem"), None)
            given = given or (node.args[1] if len(node.args) > 1 else None)
        if given is not None and (text := spelled(given, names)) is not None:
            yield text
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Dict) and ast.unparse(node.targets[0]) == "WAYS":
            yield from (text for value in node.value.values if (text := spelled(value, names)) is not None)
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                stated = isinstance(key, ast.Constant) and key.value == "theorem"
                if stated and (text := spelled(value, names)) is not None:
                    yield text


@cache
def spelled_in(path: Path) -> dict[str, ast.expr]:
    """What names stand for in a file of fugu."""
    return assigned(ast.parse(path.read_text(encoding="utf-8")))


def assigned(tree: ast.AST) -> dict[str, ast.expr]:
    """What names stand for, as far as a file itself says so."""
    return {
        node.targets[0].id: node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name)
    }


def imported(tree: ast.AST) -> dict[str, ast.expr]:
    """What names stand for that another file of fugu spells out."""
    found = {}
    for node in ast.walk(tree):
        path = ROOT / "src" / f"{(getattr(node, 'module', None) or '').replace('.', '/')}.py"
        if isinstance(node, ast.ImportFrom) and path.is_relative_to(SOURCE) and path.is_file():
            there = spelled_in(path)
            found |= {one.asname or one.name: there[one.name] for one in node.names if one.name in there}
    return found


def spelled(node: ast.expr, names: dict[str, ast.expr]) -> str | None:
    """The text of a literal, also of an f-string of literals; None for what is computed elsewhere."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.Name) and node.id in names:
        return spelled(names[node.id], {k: v for k, v in names.items() if k != node.id})
    if isinstance(node, ast.FormattedValue):
        return spelled(node.value, names)
    if isinstance(node, ast.JoinedStr):
        parts = [spelled(part, names) for part in node.values]
        return None if None in parts else "".join(str(part) for part in parts)
    return None


def listed() -> dict[str, str]:
    """The texts of the index that stand for a proof, and where it is."""
    page = (PAGES / "README.md").read_text(encoding="utf-8")
    return {" ".join(found["text"].split()): found["target"] for found in _LISTED.finditer(page)}


def unproved(text: str) -> bool:
    """Whether a theorem names neither a paper nor a page, nor stands in the index."""
    if wrong_links(text) or citations_from_outside(text):
        return True
    return not (_PAPER.search(text) or _MENTION.search(text) or text in listed())


def sources() -> list[Path]:
    return sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", sources(), ids=lambda path: str(path.relative_to(SOURCE)))
def test_links_to_proofs_lead_somewhere_and_nothing_outside_is_cited(path):
    text = path.read_text(encoding="utf-8")
    assert wrong_links(text) == []
    assert citations_from_outside(text) == []


@cache
def theorems_of_the_source() -> set[str]:
    texts = (path.read_text(encoding="utf-8") for path in sources())
    return {
        theorem for text in texts if re.search(r"[mM]ethod\(|\"theorem\"|\bWAYS\b", text) for theorem in theorems(text)
    }


def test_every_theorem_that_a_certificate_can_name_has_a_proof():
    found = theorems_of_the_source()
    assert len(found) > 20, "the methods are registered in a new way: teach it to `theorems`"
    assert [text for text in sorted(found) if unproved(text)] == []


def test_the_registries_name_no_theorem_that_the_source_does_not_spell():
    """What methods really say when imported; a text that is put together at run time would escape the search above."""
    registered = {way.theorem for way in ways_registered()}
    assert len(registered) > 10
    assert [text for text in sorted(registered) if unproved(text)] == []


def ways_registered() -> Iterator[object]:
    """Every object with a theorem that a module of calibration holds, by itself or in a list or a mapping."""
    import importlib
    import pkgutil

    import fugu.calibration

    names = [info.name for info in pkgutil.walk_packages(fugu.calibration.__path__, "fugu.calibration.")]
    for held in [vars(module) for module in map(importlib.import_module, names)]:
        inside = [thing for value in held.values() if isinstance(value, dict) for thing in value.values()]
        inside += [thing for value in held.values() if isinstance(value, list | tuple) for thing in value]
        for thing in [*held.values(), *inside]:
            if not isinstance(thing, type) and isinstance(getattr(thing, "theorem", None), str):
                yield thing


def test_the_index_lists_every_page_and_every_text_it_lists_is_in_use():
    page = (PAGES / "README.md").read_text(encoding="utf-8")
    assert [p.name for p in PAGES.glob("*.md") if p.name != "README.md" and f"]({p.name})" not in page] == []
    assert listed() and set(listed()) <= theorems_of_the_source() | {way.theorem for way in ways_registered()}
    for target in listed().values():
        assert wrong_links(f"docs/proofs/{target}") == [], target


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.name)
def test_files_of_the_source_that_a_proof_names_exist(page):
    named = re.findall(r"`(\w+/[\w/]+\.py)`", page.read_text(encoding="utf-8"))
    gone = [name for name in named if not (SOURCE / name).is_file() and not (ROOT / name).is_file()]
    assert gone == [], "the code has moved: name the file where it stands now"


@pytest.mark.parametrize(
    "text",
    [
        "(docs/proofs/nowhere.md)",
        "docs/proofs/laplace.md#no-such-section",
        "from the two outermost atoms (docs/proofs, 4)",
        "docs/proofs/laplace#0-notation",
    ],
)
def test_a_made_up_link_is_caught(text):
    assert wrong_links(text)
    assert unproved(f"the tight loss: {text}")


def test_what_is_right_is_not_caught():
    assert citations_from_outside("in theory; a note of the section; notes are drawn beside the curve") == []
    assert wrong_links("see docs/proofs/laplace.md#0-notation, docs/proofs/renyi.md. And docs/proofs/vectors.md)") == []


@pytest.mark.parametrize(
    "text",
    ["(theory F1)", "theory section 4, R1 to R4", "(composition notes, section 6.3)", "(second check of the notes)"],
)
def test_a_citation_of_notes_that_are_not_here_is_caught(text):
    assert citations_from_outside(text)
    assert unproved(f"Ding 2024, Theorem 2: {text}")


@pytest.mark.parametrize(
    "source",
    [
        '@method("new", "it is well known", laws="any")\ndef f(): ...',
        'WAYS = {"new": "obviously"}',
        '_WHO = "folklore"\nbody = {"theorem": f"{_WHO}, as printed"}',
    ],
)
def test_a_theorem_without_a_proof_is_caught(source):
    (text,) = theorems(source)
    assert unproved(text)


# ---- names in docstrings ---------------------------------------------------------------------------------------------

_NAME = re.compile(r"(?<!`)`(?P<name>[A-Za-z_][\w.]*)(?:\([^`]*\))?`(?!`)")
_FOREIGN = {"PrivacyEngine", "make_private_with_epsilon", "py"}
"""Names of Opacus, and how files end."""


def docstrings(tree: ast.Module) -> Iterator[ast.Constant]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0] if node.body else None
            if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
                yield first.value


def words_of(tree: ast.Module) -> Iterator[str]:
    """Every name that code uses, and every word of its short texts, docstrings apart."""
    said = set(docstrings(tree))
    for node in ast.walk(tree):
        yield from (part for key in ("id", "attr", "arg", "name", "asname", "module")
                    if isinstance(name := getattr(node, key, None), str) for part in name.split("."))  # fmt: skip
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and len(node.value) < 200
            and node not in said
        ):
            yield from re.findall(r"\w+", node.value)


def unknown(text: str, known: Collection[str]) -> list[str]:
    """The names in backticks of which some part is no name of the code."""
    named = (match["name"] for match in _NAME.finditer(text))
    return [name for name in named if not {part for part in name.split(".") if part} <= known]


def test_docstrings_name_what_exists():
    known, said = {*dir(builtins), *keyword.kwlist, *_FOREIGN}, []
    for path in (path for package in PACKAGES for path in (ROOT / package).rglob("*.py")):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        known |= {*path.with_suffix("").parts, *words_of(tree)}
        said += [(f"{path.relative_to(ROOT)}:{text.lineno}", str(text.value)) for text in docstrings(tree)]
    assert [f"{where}: {name}" for where, text in said for name in unknown(text, known)] == []


def test_a_name_that_is_gone_is_caught():
    tree = ast.parse('"""`gone` and `kept`."""\ndef kept(a, key="part"): "`kept.a`, `part`, `kept.gone(1)`, ``gone``"')
    assert [unknown(str(said.value), set(words_of(tree))) for said in docstrings(tree)] == [["gone"], ["kept.gone"]]
