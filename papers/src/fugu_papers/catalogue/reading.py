"""The files of the catalogue, read: papers and their results."""

from __future__ import annotations

import re
import tomllib
from dataclasses import dataclass, fields
from functools import cache
from importlib import resources
from typing import Any, final

from fugu.errors import UnknownName
from fugu_papers.errata.registry import CLASSES

FILES = ("pierquin", "ding", "bai", "yang", "chen")
"""The files, in the order of the numbers of the papers; pages of docs/papers/ and docs/errata/ have the same names."""
VERDICTS = ("sound", *CLASSES, "reproduced", "reproduced in part", "drawn", "not reproducible", "definition")
"""What is said of a printed result. Up to `CLASSES` they are of statements, the next four of numbers and figures."""
KINDS = (
    "Definition", "Assumption", "Theorem", "Proposition", "Lemma", "Corollary", "Remark", "Algorithm", "Example",
    "Table", "Figure",
)  # fmt: skip
"""What the papers number; other statements with a claim are of the kind "other"."""
_PROOFS = ("docs", "proofs")


@final
@dataclass(frozen=True)
class Result:
    """One result of a paper.

    `paper`: its number; `label`: "Theorem 3.3"; `name`: what it is called; `verdict`: one of `VERDICTS`; `says`: what
    is true, in our words; `functions`: dotted names of fugu; `command`: how it is asked for on the command line;
    `tests`: files; `proof`: a page of proofs, with an anchor; `errata`: ids of `fugu errata`; `runs`: the
    experiment of `fugu reproduce`, where its name is not that of the label."""

    paper: str
    label: str
    name: str
    verdict: str
    says: str
    functions: tuple[str, ...] = ()
    command: str = ""
    tests: tuple[str, ...] = ()
    proof: str = ""
    errata: tuple[str, ...] = ()
    runs: str = ""

    @property
    def kind(self) -> str:
        """What kind of result it is: one of `KINDS`, or "other"."""
        word = self.label.replace("Fig.", "Figure").partition(" ")[0].strip(",")
        return word if word in KINDS else "other"

    @property
    def experiment(self) -> str:
        """The name of its experiment, "003-table4", if there is one that runs; else empty.

        >>> find_one("003", "Table 4").experiment, find_one("003", "Lemma 4.2").experiment
        ('003-table4', '')
        """
        from fugu_papers.reproduce import experiments

        number = re.search(r"[\d.]+$", self.label)
        by_label = f"{self.paper}-{self.kind.lower()}{number[0]}" if number else ""
        known = {each.name for each in experiments()}
        return next((name for name in (self.runs, by_label) if name in known), "")

    @property
    def typed(self) -> tuple[str, ...]:
        """What runs it: its command, its experiment; where there is neither, the counterexample of its erratum.

        >>> find_one("003", "Table 4").typed, find_one("003", "Lemma 4.2").typed
        (('fugu compare', 'fugu reproduce 003-table4'), ('fugu errata R-lemma-4.2',))
        """
        reproduced = f"fugu reproduce {self.experiment}" if self.experiment else ""
        own = tuple(text for text in (self.command, reproduced) if text)
        return own or tuple(f"fugu errata {name}" for name in self.errata[:1])

    @property
    def proof_page(self) -> str:
        """The page of its proof, from the root of the repository; empty if there is none."""
        return "/".join((*_PROOFS, self.proof)) if self.proof else ""

    @property
    def place(self) -> str:
        """The paper and the label: "000 Theorem 3.3"."""
        return f"{self.paper} {self.label}"

    def to_dict(self) -> dict[str, object]:
        """Plain content for JSON."""
        content = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "runs"}
        return {**content, "proof": self.proof_page, "experiment": self.experiment}


@final
@dataclass(frozen=True)
class Paper:
    """A paper: its `number` in `fugu reproduce`, `file` (the name of its pages), `authors`, `title`, the `letter` that
    ids of its errata begin with, and its `results` in the order of the paper."""

    number: str
    file: str
    authors: str
    title: str
    letter: str
    results: tuple[Result, ...]

    @property
    def page(self) -> str:
        """Its page of the documentation."""
        return f"docs/papers/{self.file}.md"


@cache
def papers() -> tuple[Paper, ...]:
    """The five papers."""
    return tuple(_read(file) for file in FILES)


def paper(number: str) -> Paper:
    """The paper of this number, or of the name of its file; UnknownName, with a suggestion, if there is none.

    `number`: "000" to "004", or "pierquin", "ding", "bai", "yang", "chen".

    >>> paper("003").authors.split(",")[0], paper("chen").number
    ('Yang', '004')
    """
    known = {name: each for each in papers() for name in (each.number, each.file)}
    found = known.get(number.strip().lower())
    if found is None:
        raise UnknownName("paper", number, known)
    return found


def results() -> tuple[Result, ...]:
    """Every result of every paper."""
    return tuple(result for each in papers() for result in each.results)


def find_one(number: str, label: str) -> Result:
    """The result of that label in one paper; UnknownName if there is none.

    `number` as for `paper`; `label` as the catalogue has it."""
    known = {result.label: result for result in paper(number).results}
    if label not in known:
        raise UnknownName(f"result of paper {number} called", label, known)
    return known[label]


def _read(file: str) -> Paper:
    text = resources.files("fugu_papers.catalogue").joinpath(f"{file}.toml").read_text(encoding="utf-8")
    found: dict[str, Any] = tomllib.loads(text)
    number = found["number"]
    made = tuple(Result(number, **_fixed(each)) for each in found["result"])
    return Paper(number, file, found["authors"], found["title"], found["letter"], made)


def _fixed(content: dict[str, Any]) -> dict[str, Any]:
    """Lists as tuples."""
    return {name: tuple(part) if isinstance(part, list) else part for name, part in content.items()}
