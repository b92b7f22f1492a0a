"""Documents do not lie: their code runs, their commands answer as printed, their links lead somewhere.

In one document all blocks run in the order of the page, in one namespace and one folder that holds the example tables.

- ```python    is executed; a ```text block right after it is what it prints.
- ```python noise/new.py   is a file that is added to the package, as far as this page can see.
- ```console   holds `$ fugu ...` lines (a backslash continues one) and what they print; `$ echo $?` is the exit code of
  the command before, and a command without it must end with 0.

Printed text is compared with blanks taken together, and "..." stands for anything.
"""

from __future__ import annotations

import contextlib
import doctest
import functools
import importlib
import io
import os
import re
import runpy
import shlex
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from unittest.mock import patch

import pytest

import structure
from fugu import errors
from fugu.calibration import offer as registry
from fugu.documents.document import later
from fugu.documents.kinds import SCHEMAS
from fugu.loss import door
from fugu.noise import kind
from fugu.queries.kinds import KINDS
from golden.doors import command as fugu
from golden.doors import screens

ROOT = Path(__file__).resolve().parent.parent
TABLES = {"clinic_reference.csv": "last-year.csv", "clinic_today.csv": "patients.csv"}
"""As a checkout has them, and as `fugu demo` calls its copies."""
CONTRIBUTING = ROOT / "CONTRIBUTING.md"
GALLERY = ROOT / "docs" / "gallery.md"
PAGES = [ROOT / "README.md", CONTRIBUTING, *sorted(ROOT.glob("docs/**/*.md"))]
WITH_CODE = [path for path in PAGES if path != GALLERY]
DOCUMENTS = [*PAGES, ROOT / "CHANGELOG.md", ROOT / "SECURITY.md"]
ADDED_TO = ("noise", "laws", "loss", "calibration.methods", "documents", "priors", "queries")
GENERATED = ("scaling.md", "results-users.md", "results.md", "before-and-now.md", "papers.md")
"""Written by the benchmarks, by examples and by the registries: their tables may be wide."""
TUTORIALS = sorted(ROOT.glob("docs/tutorials/*.md"))
CONCEPTS = sorted(ROOT.glob("docs/concepts/*.md"))
MAKERS = {"make_clinic.py", "make_counts.py", "peers.py", "results.py"}
"""What writes files of the repository, from data or packages that are not always there."""
EXAMPLES = [path for path in sorted(ROOT.glob("examples/*.py")) if path.name not in MAKERS]

_FENCE = re.compile(r"^```(?P<kind>\w*)(?P<file>[^\n]*)\n(?P<body>.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
_LINK = re.compile(r"(?<!\\)!?\[[^\]]*\]\((?P<target>[^)\s]+)\)")
_SAME = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


@dataclass(frozen=True)
class Block:
    """A fenced block: its kind, its text, the line it starts in, and what a ```text block after it says it prints."""

    kind: str
    body: str
    line: int
    prints: str | None = None
    file: str = ""


def blocks(page: str) -> list[Block]:
    """The ```python and ```console blocks of a page, in order."""
    fences = list(_FENCE.finditer(page))
    found = []
    for number, fence in enumerate(fences):
        if fence["kind"] not in ("python", "console"):
            continue
        after = fences[number + 1] if number + 1 < len(fences) else None
        adjacent = after is not None and after["kind"] == "text" and not page[fence.end() : after.start()].strip()
        line = page.count("\n", 0, fence.start()) + 2
        found.append(
            Block(
                fence["kind"], fence["body"], line, after["body"] if after and adjacent else None, fence["file"].strip()
            )
        )
    return found


def run_page(page: str, name: str) -> None:
    """Execute the blocks of a page in order, the Python ones in one namespace."""
    namespace: dict[str, object] = {"__name__": "page"}
    for block in blocks(page):
        if block.file:
            add_file(block)
        elif block.kind == "python":
            run_python(block, name, namespace)
        else:
            run_console(block, name)


def add_file(block: Block) -> None:
    """A new file of the package, in a folder beside it; registries look again."""
    path = Path.cwd() / "added" / block.file
    package = importlib.import_module(".".join(("fugu", *Path(block.file).parent.parts)))
    assert not any((Path(place) / path.name).exists() for place in package.__path__), f"{block.file} is there already"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(block.body, encoding="utf-8")
    package.__path__ = [*dict.fromkeys((*package.__path__, str(path.parent)))]
    forget()


def forget() -> None:
    """Registries walk their folders again."""
    importlib.invalidate_caches()
    for walk in (registry.methods, kind.kinds, door.leakage, door.covers):
        walk.cache_clear()


@contextlib.contextmanager
def own_package() -> Iterator[None]:
    """Files that a page adds to the package are gone after it."""
    rooms = [importlib.import_module(f"fugu.{name}") for name in ADDED_TO]
    paths, modules = [list(room.__path__) for room in rooms], set(sys.modules)
    methods, kinds, statistics = list(registry.methods()), dict(kind.kinds()), dict(KINDS)
    documents = dict(SCHEMAS)
    try:
        yield
    finally:
        KINDS.clear()
        KINDS.update(statistics)
        SCHEMAS.clear()
        SCHEMAS.update(documents)
        later.cache_clear()
        for room, path in zip(rooms, paths, strict=True):
            room.__path__ = path
        for name in set(sys.modules) - modules:
            if "added" in Path(getattr(sys.modules[name], "__file__", None) or "").parts:
                parent, _, child = name.rpartition(".")
                del sys.modules[name]
                vars(sys.modules[parent]).pop(child, None)
        registry._METHODS[:] = methods
        kind._KINDS.clear()
        kind._KINDS.update(kinds)
        forget()


def run_python(block: Block, name: str, namespace: dict[str, object]) -> None:
    """Execute a block; tracebacks show the line of the page."""
    printed = io.StringIO()
    code = compile("\n" * (block.line - 1) + block.body, name, "exec")
    with contextlib.redirect_stdout(printed):
        exec(code, namespace)  # the project's own documents
    if block.prints is not None:
        compare(block.prints, printed.getvalue(), f"{name}:{block.line}")


def run_console(block: Block, name: str) -> None:
    """Execute the `$` lines of a block and compare what they print."""
    code = 0
    body = re.sub(r"\\\n *", "", block.body)  # a backslash continues a line
    for part in re.split(r"^\$ ", body, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        where = f"{name}:{block.line}: $ {command}"
        if command.strip() == "echo $?":
            compare(expected, f"{code}\n", where)
            code = 0
            continue
        assert code == 0, f"{where}: the command before it ended with {code}; show it with $ echo $?"
        words = shlex.split(command)
        assert words[0] == "fugu", f"{where}: only fugu commands are run"
        with screens(100):
            code, printed, _ = fugu(*words[1:], together=True)
        compare(expected, printed, where)
    assert code == 0, f"{name}:{block.line}: the last command ended with {code}; show it with $ echo $?"


def compare(expected: str, printed: str, where: str) -> None:
    """Equal up to blanks and "..."; an expectation of nothing accepts only nothing."""
    same = doctest.OutputChecker().check_output(expected.strip() + "\n", printed.strip() + "\n", _SAME)
    assert same, f"{where}\n--- the page says\n{expected}\n--- it prints\n{printed}"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with the tables that `fugu demo` leaves in one, and those of a checkout where it has them."""
    inside = tmp_path / "src" / "fugu" / "examples"
    inside.mkdir(parents=True)
    for table, copied in TABLES.items():
        shutil.copy(ROOT / "src" / "fugu" / "examples" / table, inside)
        shutil.copy(ROOT / "src" / "fugu" / "examples" / table, tmp_path / copied)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def names(paths: list[Path]) -> list[str]:
    return [str(path.relative_to(ROOT)) for path in paths]


@pytest.mark.parametrize("path", WITH_CODE, ids=names(WITH_CODE))
def test_the_code_of_a_document_runs_and_prints_what_it_says(path, folder):
    with own_package():
        run_page(path.read_text(encoding="utf-8"), path.name)


JOBS = re.findall(r"^## (\d\. .+)$", GALLERY.read_text(encoding="utf-8"), re.MULTILINE)


@pytest.mark.skipif(not os.environ.get("FUGU_DATA"), reason="FUGU_DATA is not set: the gallery works on real files")
@pytest.mark.parametrize("job", JOBS)
def test_a_job_of_the_gallery_runs_from_the_raw_file_and_comes_to_its_verdict(job, folder):
    opening, *sections = re.split(r"^## ", GALLERY.read_text(encoding="utf-8"), flags=re.MULTILINE)
    section = next(section for section in sections if section.startswith(f"{job}\n"))
    assert "verify" in section
    run_page(f"{opening}## {section}", f"gallery.md, {job}")


def test_things_are_added_in_as_many_files_as_the_page_says():
    page = CONTRIBUTING.read_text(encoding="utf-8")
    listed = {
        name: int(count)
        for name, count in re.findall(r"^\| \[([\w ]+)\]\(#[\w-]+\)[^|]* \| (\d)\b", page, re.MULTILINE)
    }
    assert listed == {"a method": 1, "a noise": 1, "a law": 1, "a prior": 1, "a statistic": 1, "a query": 1}
    for name, count in listed.items():
        section = page.split(f"## {name.capitalize()}\n", 1)[1].split("\n## ", 1)[0]
        assert sum(bool(block.file) for block in blocks(section)) == count


def test_what_a_page_adds_is_gone_after_it(folder):
    before = [m.name for m in registry.methods()], list(kind.kinds())
    with own_package():
        run_page(CONTRIBUTING.read_text(encoding="utf-8"), "CONTRIBUTING.md")
        assert "binomial" in kind.kinds() and "half-wasserstein" in [m.name for m in registry.methods()]
    assert ([m.name for m in registry.methods()], list(kind.kinds())) == before
    assert not door.covers("line", "binomial")


@pytest.mark.parametrize("path", EXAMPLES, ids=names(EXAMPLES))
def test_an_example_runs(path, folder):
    assert printed_by(path).strip()


@functools.cache
def printed_by(example: Path) -> str:
    """What an example prints, run as a script, in this process."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed), patch.object(sys, "argv", [str(example)]):
        try:
            runpy.run_path(str(example), run_name="__main__")
        except SystemExit as end:
            if end.code:
                raise
    return printed.getvalue()


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_links_between_documents_lead_somewhere(path):
    for link in _LINK.finditer(_FENCE.sub("", path.read_text(encoding="utf-8"))):
        target, _, anchor = link["target"].partition("#")
        if "://" in target:
            continue
        found = path if not target else (path.parent / target).resolve()
        assert found.exists(), f"{path.name} links to {target!r}, which is not there"
        if anchor:
            assert anchor in anchors(found), f"{path.name} links to {target}#{anchor}, which has no such heading"


def anchors(path: Path) -> set[str]:
    """The anchors of the headings of a page, as hosting pages make them."""
    page = _FENCE.sub("", path.read_text(encoding="utf-8"))
    titles = re.findall(r"^#+[ \t]+(.+?)[ \t]*$", page, re.MULTILINE)
    return {anchor(title) for title in titles}


def anchor(title: str) -> str:
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


def _in_table(line: str, page: str) -> bool:
    """A row of a table that is written by a program, which says so on its page."""
    return line.startswith("|") and "<!-- generated by " in page


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_a_document_is_readable_and_names_no_machine(path):
    page = path.read_text(encoding="utf-8")
    generated = path.name in GENERATED or "reference" in path.parent.parts
    lines = [(n, line) for n, line in enumerate(page.split("\n"), start=1) if not (generated or _in_table(line, page))]
    long = [n for n, line in lines if len(line) > 120]
    assert not long, f"lines over 120 characters: {long}"
    assert not re.search(r"(?<![\w.])/(work|home|root|tmp|Users)/", page)


def test_the_rooms_in_the_design_are_those_of_the_source_in_import_order():
    page = (ROOT / "docs" / "design.md").read_text(encoding="utf-8")
    section = page.split("## Rooms, in import order", 1)[1].split("\n## ", 1)[0]
    cells = [line.split("|")[1] for line in section.split("\n") if line.startswith("| `")]
    listed = [room for cell in cells for room in re.findall(r"`(\w+)", cell)]
    assert listed == [room for room in structure.ROOMS if not room.startswith("_")]


def test_the_table_of_errata_is_complete():
    pages = [ROOT / "docs" / "errata.md", *sorted(ROOT.glob("docs/errata/*.md"))]
    texts = [_FENCE.sub("", path.read_text(encoding="utf-8")) for path in pages]
    listed = set(re.findall(r"#([^)\s]+)\)", texts[0]))
    sections = {anchor(title) for text in texts for title in re.findall(r"^##[ \t]+(.+?)[ \t]*$", text, re.MULTILINE)}
    assert sections and sections <= listed, f"errata.md does not list {sorted(sections - listed)}"


def test_the_map_leads_to_every_page():
    page = (ROOT / "docs" / "guide.md").read_text(encoding="utf-8")
    linked = {(ROOT / "docs" / link["target"].partition("#")[0]).resolve() for link in _LINK.finditer(page)}
    assert len(TUTORIALS) > 10 and len(CONCEPTS) == 5
    assert [path.name for path in (*TUTORIALS, *CONCEPTS) if path not in linked] == []


@pytest.mark.parametrize("path", TUTORIALS, ids=names(TUTORIALS))
def test_a_tutorial_says_for_whom_it_is_what_comes_out_what_is_needed_and_what_to_do_when_refused(path):
    page = path.read_text(encoding="utf-8")
    opening = page.partition("\n\n")[2].partition("\n\n")[0]
    assert opening.startswith("- **For** ")
    assert "\n- **At the end** " in opening and "\n- **You need** " in opening
    assert re.search(
        r"^## (When you are refused|When something does not hold|Exit codes and errors)$", page, re.MULTILINE
    )
    assert page.count("\n") < 320, "a page that long is two pages"


def test_every_picture_has_words_for_those_who_do_not_see_it():
    for path in DOCUMENTS:
        text = _FENCE.sub("", path.read_text(encoding="utf-8"))
        for words in re.findall(r"!\[([^\]]*)\]\([^)]+\)", text):
            assert len(words) > 15, f"{path.name}: a picture needs words"


def test_the_readme_is_short():
    assert (ROOT / "README.md").read_text(encoding="utf-8").count("\n") < 150


def test_every_error_is_in_the_list():
    page = (ROOT / "docs" / "tutorials" / "command-line.md").read_text(encoding="utf-8")
    tree = [kind.__name__ for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, Exception)]
    assert len(tree) > 20
    assert [name for name in tree if f"`{name}`" not in page and f"fugu.errors.{name}`" not in page] == []


@pytest.mark.parametrize("path", DOCUMENTS, ids=names(DOCUMENTS))
def test_files_that_a_document_names_exist(path):
    page = path.read_text(encoding="utf-8")
    for name in re.findall(r"`((?:tests|docs|examples|benchmarks|src)/[\w./-]+)`", page):
        assert (ROOT / name).exists(), f"{path.name} names {name}, which is not there"


def test_every_proof_is_linked_from_the_list_of_proofs_and_the_promises():
    proofs = [path.name for path in ROOT.glob("docs/proofs/*.md") if path.name != "README.md"]
    for page, prefix in (("docs/proofs/README.md", "]("), ("docs/promises.md", "proofs/")):
        text = (ROOT / page).read_text(encoding="utf-8")
        assert [name for name in proofs if f"{prefix}{name}" not in text] == []
    assert "(docs/proofs/README.md)" in (ROOT / "README.md").read_text(encoding="utf-8")


def test_the_numbers_in_the_documents_are_those_of_the_example():
    printed = printed_by(ROOT / "examples" / "explicit_laws.py")
    rows = [line for line in printed.split("\n") if line.startswith("|")]
    assert len(rows) == 2 + 4 * 4
    page = (ROOT / "docs" / "numbers.md").read_text(encoding="utf-8")
    assert "\n".join(rows) in page, "run examples/explicit_laws.py and put its table into docs/numbers.md"


def test_the_licence_is_the_whole_text():
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert "Version 2.0, January 2004" in text
    assert "END OF TERMS AND CONDITIONS" in text and "APPENDIX" in text


@pytest.mark.parametrize(
    ("page", "complaint"),
    [
        ("```python\nprint(1)\n```\n\n```text\n2\n```\n", "the page says"),
        ("```python\nassert False\n```\n", "AssertionError"),
        ("```console\n$ fugu --version\nfugu 0.0.0\n```\n", "the page says"),
        ("```console\n$ fugu verify nothing.json\n...\n```\n", "ended with 4"),
    ],
)
def test_a_document_that_lies_is_caught(page, complaint, folder):
    with pytest.raises(AssertionError) as caught:
        run_page(page, "page")
    assert complaint in f"{type(caught.value).__name__}: {caught.value}"
