"""The slips of the papers: one registry, each entry with a counterexample that runs."""

from __future__ import annotations

import difflib
import importlib
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache, partial
from importlib import resources
from types import MappingProxyType

from fugu.errors import UsageError
from fugu.progress import report
from fugu_papers.errata.finding import Finding

PAPERS: Mapping[str, str] = MappingProxyType(
    {
        "R": "Yang, Ding, Zhang, Sun, Li, Wu, Sun, Lin, Liu, An, Zhu: Noise Reduction for Pufferfish Privacy",
        "G": "Ding 2024: Approximation of Pufferfish Privacy for Gaussian Priors",
        "D": "Chen, Ohrimenko 2023: Protecting Global Properties of Datasets with Distribution Privacy Mechanisms",
        "P": "Pierquin, Bellet, Tommasi, Boussard 2024: Rényi Pufferfish Privacy",
        "C": "Bai, He, Gu, Kifer, Maeng: Composition for Pufferfish Privacy",
        "trap": "in no paper, but easily assumed",
    }
)
"""What an ID begins with, and the paper it stands for; docs/errata.md uses the same letters."""

PAGES: Mapping[str, str] = MappingProxyType(
    {"R": "yang", "G": "ding", "D": "chen", "P": "pierquin", "C": "bai", "trap": "traps"}
)
"""The page of docs/errata/ that holds the entries of each, without its ending."""

CLASSES: Mapping[str, str] = MappingProxyType(
    {
        "sound with correction": "true once a slip or a missing condition is mended, as the table has it",
        "misprint": "the proof or the text gives the right thing: a missing bar, < for <=, an index, a sign",
        "false as stated": "refuted under the paper's own assumptions, by a counterexample that runs",
        "not a bound as used": "the statement is about something else than what its use needs",
    }
)
"""How a printed statement fails, and what that means."""


@dataclass(frozen=True)
class Erratum:
    """A printed statement that is not true as it stands.

    `id` begins with the letter of the paper, `where` says where in it, `verdict` what is wrong in a few words,
    `grade` is its class, one of `CLASSES`, `assumes` what it was checked under, `printed` and `corrected` are the two
    statements in our words, `section` is the anchor in its page of docs/errata/.
    """

    id: str
    where: str
    verdict: str
    grade: str
    assumes: str
    printed: str
    corrected: str
    section: str
    counterexample: Callable[[], Finding] = field(repr=False, compare=False)

    @property
    def label(self) -> str:
        """The letter of the paper, or "trap"."""
        return self.id.partition("-")[0]

    @property
    def paper(self) -> str:
        """Authors and title."""
        return PAPERS[self.label]

    @property
    def link(self) -> str:
        """Where the statement, the verdict and the way out are explained."""
        return f"docs/errata/{PAGES[self.label]}.md#{self.section}"

    def run(self) -> Finding:
        """Compute the counterexample; nothing is remembered."""
        return self.counterexample()

    def to_dict(self) -> dict[str, object]:
        """Plain content for JSON, without running anything."""
        names = ("id", "paper", "where", "verdict", "grade", "assumes", "printed", "corrected", "link")
        return {name: getattr(self, name) for name in names}


_THOUSANDTHS = 1000
"""Progress is told in these: each entry is long work, not one of many thousand points."""

_counterexamples: dict[str, Callable[[], Finding]] = {}


def refutes(name: str) -> Callable[[Callable[[], Finding]], Callable[[], Finding]]:
    """Register the counterexample of the erratum with the id `name`; errata.toml says in words what it refutes."""

    def register(counterexample: Callable[[], Finding]) -> Callable[[], Finding]:
        if name in _counterexamples or name not in {entry.id for entry in errata()}:
            raise ValueError(f"{name!r} has its counterexample already, or is not in errata.toml")
        _counterexamples[name] = counterexample
        return counterexample

    return register


def _run(topic: str, name: str) -> Finding:
    importlib.import_module(f"fugu_papers.errata.{topic}")
    return _counterexamples[name]()


@cache
def errata() -> tuple[Erratum, ...]:
    """Every slip that is known, paper by paper, in the order of docs/errata.md.

    >>> [entry.id for entry in errata() if entry.label == "G"]
    ['G-theorem-2', 'G-after-equation-11', 'G-after-corollary-1', 'G-figure-1', 'G-equation-22', 'G-equation-34']
    """
    topics = tomllib.loads(resources.files("fugu_papers.errata").joinpath("errata.toml").read_text(encoding="utf-8"))
    return tuple(
        Erratum(name, **words, counterexample=partial(_run, topic, name))
        for topic, entries in topics.items()
        for name, words in entries.items()
    )


def find(name: str) -> Erratum:
    """The erratum with this id, in upper or lower case; UsageError, with near ids, if there is none.

    `name` is an id of `errata()`.

    >>> find("p-LEMMA-c.1").where
    'Lemma C.1'
    """
    known = {entry.id.lower(): entry for entry in errata()}
    wanted = name.strip().lower()
    if wanted in known:
        return known[wanted]
    raise UsageError(f"no erratum {name!r}; {_near(wanted, known)}`fugu errata` lists them all")


def _near(wanted: str, known: Mapping[str, Erratum]) -> str:
    """The ids that contain what was asked for, else its last part ("000-C.1"), else those spelled alike."""
    last = wanted.rpartition("-")[2]
    close = [name for name in known if wanted and wanted in name] or [
        name for name in known if len(last) > 1 and last in name
    ]
    close = (close or difflib.get_close_matches(wanted, list(known)))[:4]
    return "did you mean " + " or ".join(repr(known[name].id) for name in close) + "? " if close else ""


def run(name: str) -> Finding:
    """Run the counterexample of one erratum: what is printed, what is true, both computed.

    `name` is an id of `errata()`.

    >>> found = run("P-lemma-C.1")
    >>> found.printed.stated, found.printed.truth, found.refuted
    ('the least P(|V| > 0) over all couplings is below 1/10', Fraction(1, 10), True)
    """
    return find(name).run()


def run_all() -> tuple[tuple[Erratum, Finding], ...]:
    """Run every counterexample, in the order of `errata()`, reporting progress."""
    entries, found = errata(), []
    for number, entry in enumerate(entries):
        report("counterexamples", _THOUSANDTHS * number, _THOUSANDTHS * len(entries))
        found.append((entry, entry.run()))
    report("counterexamples", _THOUSANDTHS * len(entries), _THOUSANDTHS * len(entries))
    return tuple(found)
