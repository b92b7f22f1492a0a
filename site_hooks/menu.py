"""The menu of the site, by person and by need. Pages are found by folder: a new one needs no entry to be reachable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from fugu.lazily import subjects

PAPERS = ("pierquin", "ding", "bai", "yang", "chen")
"""In the order of their numbers, 000 to 004."""
MENU: tuple[tuple[str, tuple[str | tuple[str, tuple[str, ...]], ...]], ...] = (
    ("Start", ("index.md", "which.md", "gallery.md", "studio.md", "pages.md", "faq.md", "coming-from.md", "tour.md",
               "scope.md", "guide.md")),
    (
        "Tutorials",
        (
            ("For stewards", ("tutorials/first.md", "tutorials/choosing.md", "tutorials/statistics.md",
                              "tutorials/column.md", "tutorials/question.md", "tutorials/property.md",
                              "tutorials/noises.md", "tutorials/beliefs.md")),
            ("For officers", ("tutorials/officer*.md",)),
            ("For analysts of sequences", ("tutorials/sequences*.md", "tutorials/sequence-*.md")),
            ("For engineers who train", ("tutorials/training.md", "tutorials/training*.md")),
            ("For researchers", ("tutorials/researcher.md", "tutorials/researcher*.md", "tutorials/renyi.md",
                                 "tutorials/vectors.md")),
            ("For everybody", ("tutorials/*.md",)),
        ),
    ),
    ("Concepts", ("concepts/pufferfish.md", "concepts/not-enough.md", "concepts/beliefs.md",
                  "concepts/composition.md", "concepts/certificates.md", "concepts/*.md")),
    (
        "How to",
        ("tables.md", "usable.md", "shared-ledger.md", "scenario-files.md", "sequences.md", "sequence-queries.md",
         "networks.md", "fields.md", "record-certificates.md", "notebooks.md", "howto/*.md"),
    ),
    (
        "Reference",
        (
            "reference/commands.md",
            "reference/methods.md",
            "reference/*.md",
            ("API", ("reference/api/index.md", *(f"reference/api/{name}.md" for name in subjects()["subjects"]))),
        ),
    ),
    ("Results", ("results.md", "numbers.md", "limits.md", "results-users.md", "before-and-now.md", "scaling.md",
                 "growth.md", "channel-growth.md", "results/*.md")),
    (
        "Papers",
        ("papers.md", "related-work.md", *(f"papers/{name}.md" for name in PAPERS), "papers/*.md", "glossary.md",
         "glossary/*.md", "errata.md", ("Errata by paper", (*(f"errata/{name}.md" for name in PAPERS), "errata/*.md"))),
    ),
    ("Proofs", ("proofs/README.md", "proofs/*.md")),
    ("Project", ("promises.md", "changelog.md", "design.md", "contributing.md", "security.md", "*.md", "*/*.md")),
)  # fmt: skip
"""Titles of tabs, and which pages stand there: names or patterns, in order; a page stands where it is first matched by
name, else where a pattern first matches it. The last tab has what no other has: nothing is left out."""

Entry = str | dict[str, "list[Entry]"]


def menu(pages: Iterable[str]) -> list[Entry]:
    """The `nav` of the site for these pages of docs/: every page once, none left out."""
    left = sorted(pages)
    named = {name for _, entries in MENU for name in _flat(entries) if "*" not in name}
    taken: set[str] = set()

    def of(patterns: Sequence[str | tuple[str, tuple[str, ...]]]) -> list[Entry]:
        found: list[Entry] = []
        for pattern in patterns:
            if isinstance(pattern, tuple):
                below = of(pattern[1])
                if below:
                    found.append({pattern[0]: below})
                continue
            for page in left:
                fits = page == pattern or (page not in named and _matches(page, pattern))
                if fits and page not in taken:
                    taken.add(page)
                    found.append(page)
        return found

    return [{title: below} for title, patterns in MENU if (below := of(patterns))]


def _matches(page: str, pattern: str) -> bool:
    """Like a path: a star does not cross a slash, except that "*/*.md" stands for every folder."""
    return fnmatchcase(page, pattern) and (pattern == "*/*.md" or page.count("/") == pattern.count("/"))


def _flat(entries: Sequence[str | tuple[str, tuple[str, ...]]]) -> list[str]:
    return [name for entry in entries for name in (entry[1] if isinstance(entry, tuple) else (entry,))]


def listed(entries: Sequence[Entry]) -> list[str]:
    """Every page of a menu, in order."""
    found: list[str] = []
    for entry in entries:
        found += [entry] if isinstance(entry, str) else [p for below in entry.values() for p in listed(below)]
    return found
