"""Every slip on the pages of errata is in the registry and vice versa; each counterexample runs and refutes."""

from __future__ import annotations

import math
import re
import subprocess
import sys
import tomllib
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest

import fugu
from fugu.errors import UsageError
from fugu_papers.errata import Claim, Finding, errata, find, run
from fugu_papers.errata.finding import above, at_least, at_most, below, equal
from fugu_papers.errata.registry import CLASSES, PAGES, PAPERS, refutes

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "errata.md").read_text(encoding="utf-8")
IDS = [entry.id for entry in errata()]


def prose(name: str) -> str:
    """A page of docs/errata/ without its code."""
    page = (ROOT / "docs" / "errata" / f"{name}.md").read_text(encoding="utf-8")
    return re.sub(r"^```.*?^```[ \t]*$", "", page, flags=re.MULTILINE | re.DOTALL)


PROSE = "".join(prose(name) for name in PAGES.values())


def sections() -> list[tuple[str, list[str]]]:
    """The sections of the pages in order: the anchor, and the IDs in the line below the heading."""
    found = []
    for title, ids in re.findall(r"^## (.+)\n\n(`.+`)?$", PROSE, re.MULTILINE):
        found.append((re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-"), re.findall(r"`([^`]+)`", ids)))
    return found


def registered() -> list[tuple[str, list[str]]]:
    """The same from the registry."""
    places = dict.fromkeys(entry.section for entry in errata())
    return [(place, [entry.id for entry in errata() if entry.section == place]) for place in places]


def test_the_table_of_the_page_lists_the_registry_in_order_with_links():
    rows = re.findall(r"^\| \[(.+?)\]\((.+?)\) \| (.+?) \| (.+?) \| (.+?) \|", PAGE, re.MULTILINE)
    assert rows == [
        (entry.id, entry.link.removeprefix("docs/"), entry.verdict, entry.grade, entry.assumes.replace("|", r"\|"))
        for entry in errata()
    ]


def test_every_section_names_its_ids_and_every_id_has_its_section_in_the_same_order():
    assert len(re.findall(r"^## ", PROSE, re.MULTILINE)) == len(sections())
    assert sections() == registered()


def test_a_section_without_an_id_and_an_id_without_a_section_are_seen():
    assert [*sections(), ("a-new-slip", [])] != registered()
    assert sections()[:-1] != registered() and len(sections()) > 55


def test_the_letters_are_those_of_the_page():
    assert re.findall(r"^- \*\*\[(\w)\]\*\*", PAGE, re.MULTILINE) == [label for label in PAPERS if label != "trap"]
    for entry in errata():
        title = next(line for line in re.findall(r"^## (.+)$", prose(PAGES[entry.label]), re.MULTILINE)
                     if re.sub(r"[^\w\- ]", "", line.lower()).replace(" ", "-") == entry.section)  # fmt: skip
        assert title.startswith("A trap" if entry.label == "trap" else f"[{entry.label}]"), entry.id


def test_every_file_with_entries_is_walked_and_ids_are_found_in_any_case():
    folder = ROOT / "papers" / "src" / "fugu_papers" / "errata"
    refuted = {path.stem: re.findall(r'^@refutes\("(.+)"\)$', path.read_text(encoding="utf-8"), re.MULTILINE)
               for path in folder.glob("*.py")}  # fmt: skip
    topics = tomllib.loads((folder / "errata.toml").read_text(encoding="utf-8"))
    assert {topic: list(entries) for topic, entries in topics.items()} == {k: v for k, v in refuted.items() if v}
    assert len({name.lower() for name in IDS}) == len(IDS)
    assert find(f" {IDS[0].upper()} ") is errata()[0]


def test_the_order_does_not_depend_on_what_was_imported_first():
    code = "import fugu_papers.errata.traps; from fugu_papers.errata import errata; print(*[e.id for e in errata()])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == IDS


@pytest.mark.parametrize("name", IDS)
def test_a_counterexample_refutes_what_is_printed_and_the_correction_stands(name):
    finding = run(name)
    assert finding.refuted, finding.printed
    assert finding.stands, finding.corrected
    # the wrong version: with the corrected statement in place of the printed one nothing is refuted, and vice versa
    assert not replace(finding, printed=finding.corrected).refuted
    assert not replace(finding, corrected=finding.printed).stands


@pytest.mark.parametrize("entry", errata(), ids=IDS)
def test_an_entry_says_everything_in_whole_sentences(entry):
    for text in (entry.printed, entry.corrected, entry.assumes):
        assert text.rstrip(")").endswith(".") and 3 < len(text) < 240
    assert 3 < len(entry.verdict) < 60 and not entry.verdict.endswith(".")
    assert entry.grade in CLASSES
    assert set(entry.to_dict()) == {
        "id", "paper", "where", "verdict", "grade", "assumes", "printed", "corrected", "link"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("claim", "holds"),
    [
        (at_most("x", Fraction(1, 3), Fraction(1, 3)), True),
        (below("x", Fraction(1, 3), Fraction(1, 3)), False),
        (below("x", Fraction(1, 3), Fraction(1, 3) + Fraction(1, 10**30)), True),  # exact: no tolerance
        (at_most("x", 1 + Fraction(1, 10**30), 1), False),
        (at_most("x", 1 + 1e-12, 1.0), True),  # doubles: rounding refutes nothing
        (at_most("x", 1 + 1e-8, 1.0), False),
        (at_most("x", 1e9 * (1 + 1e-12), 1e9), True),
        (above("x", 1 + 1e-12, 1.0), False),
        (equal("x", 0.1 + 0.2, 0.3), True),
        (equal("x", 0.30001, 0.3), False),
        (at_least("x", math.inf, math.inf), True),
        (at_most("x", math.inf, 1e308), False),
        (at_most("x", -math.inf, -1e308), True),
    ],
)
def test_a_claim_is_decided_by_its_numbers(claim, holds):
    assert claim.holds is holds
    assert Finding("e", claim, claim).refuted is not holds and Finding("e", claim, claim).stands is holds


def test_what_is_not_a_number_refutes_nothing():
    for truth, bound in ((math.nan, 1.0), (1.0, math.nan)):
        with pytest.raises(UsageError, match="not a number"):
            Claim("x", truth, "<=", bound)
    with pytest.raises(UsageError, match="no relation '=<'"):
        Claim("x", 1, "=<", 1)


@pytest.mark.parametrize(
    ("name", "near"),
    [
        ("000-C.1", "'P-lemma-C.1'?"),
        ("C.1", "'P-lemma-C.1'?"),
        ("P-lema-C.1", "'P-lemma-C.1'"),
        ("theorem-9", "'C-theorem-9'?"),
    ],
)
def test_an_unknown_id_is_answered_with_near_ones(name, near):
    with pytest.raises(UsageError, match=re.escape(near)):
        run(name)


def test_an_unknown_id_like_nothing_is_told_where_the_list_is():
    for name in ("", "zzzz"):
        with pytest.raises(UsageError, match=r"; `fugu errata` lists them all$"):
            find(name)


def test_an_id_is_refuted_once_and_begins_with_a_paper():
    run(IDS[0])
    for name in (IDS[0], "X-theorem-1"):
        with pytest.raises(ValueError, match="counterexample already, or is not in"):
            refutes(name)(lambda: run(IDS[0]))
    assert {name.partition("-")[0] for name in IDS} == set(PAPERS)


def test_the_top_level_has_no_errata():
    assert not hasattr(fugu, "errata") and "errata" not in dir(fugu)
