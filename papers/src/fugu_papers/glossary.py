"""What the papers call things, and fugu's own words: each with what it is here, and what differs.

docs/glossary.md is made of it (`python -m fugu_papers.catalogue`); errors about names of the papers link to it."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, final

from fugu.errors import UnknownName


@final
@dataclass(frozen=True)
class Term:
    """A word, and what it is in fugu.

    `name`: the heading of its section; `other`: other spellings; `means`: a sentence; `differs`: what is not the same
    here, empty for fugu's own words; `ours`: fugu's names for it, as one types them; `where`: places in the papers
    ("000 Theorem 3.3"); `page`: a page of docs/ that says more."""

    name: str
    means: str
    other: tuple[str, ...] = ()
    differs: str = ""
    ours: tuple[str, ...] = ()
    where: tuple[str, ...] = ()
    page: str = ""

    @property
    def anchor(self) -> str:
        """The anchor of its section in docs/glossary.md.

        >>> find("W1 mechanism").anchor
        'w1-mechanism'
        """
        kept = "".join(c for c in self.name.lower() if c.isalnum() or c in "-_ ")
        return kept.replace(" ", "-")


@cache
def terms() -> dict[str, tuple[Term, ...]]:
    """The words of the papers, and fugu's own, each in the order of the page."""
    text = resources.files("fugu_papers").joinpath("glossary.toml").read_text(encoding="utf-8")
    found: dict[str, list[dict[str, Any]]] = tomllib.loads(text)
    return {part: tuple(Term(**_fixed(each)) for each in found[part]) for part in ("papers", "own")}


def _fixed(content: dict[str, Any]) -> dict[str, Any]:
    """Lists as tuples."""
    return {name: tuple(part) if isinstance(part, list) else part for name, part in content.items()}


def find(name: str) -> Term:
    """The term of that name or spelling, in upper or lower case; UnknownName, with a suggestion, if there is none.

    `name`: a word of docs/glossary.md.

    >>> find("gwm").ours[0]
    'method="wasserstein"'
    """
    known = {said.casefold(): term for part in terms().values() for term in part for said in (term.name, *term.other)}
    if name.strip().casefold() not in known:
        raise UnknownName("word of the glossary", name, sorted({t.name for t in known.values()}))
    return known[name.strip().casefold()]
