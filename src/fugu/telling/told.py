"""What a document says in the few words that every kind has: the parts of a release document that follow from it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from fugu.documents.disclosure import PRIVATE_NUMBERS, WITHHELD
from fugu.documents.document import canonical_json
from fugu.errors import CertificateError
from fugu.numbers.exact import read_number
from fugu.visible import Json


@dataclass(frozen=True)
class Told:
    """One document in the words of all kinds.

    `budget`: what is promised, as `budget_json` writes it; `unit`: whose secret; `secrets`, `pairs`: by name; `noise`:
    what is drawn, in figures and words; `figures`: what the document states as proved; `theorem`, `proof`: what the
    method stands on, and the page that proves the noise; `reading`: how records are read; `assumptions`."""

    budget: Json
    unit: str
    secrets: tuple[str, ...]
    pairs: tuple[str, ...]
    method: str
    theorem: str
    proof: str
    noise: Json
    figures: Json
    worst_pair: str
    assumptions: tuple[str, ...]
    reading: Any = None
    about: Any = None
    """What is published: the statistic and its group, or the query."""
    rules: tuple[str, ...] = ()
    """What missing and unreadable cells count as, in sentences, which say nothing of any cell."""


TELLERS: dict[str, Callable[[Any], Told]] = {}
Teller = TypeVar("Teller", bound=Callable[[Any], "Told"])


def tells(*kinds: str) -> Callable[[Teller], Teller]:
    """Register a function as what says a document of these kinds in words."""

    def register(found: Teller) -> Teller:
        TELLERS.update(dict.fromkeys(kinds, found))
        return found

    return register


def derived(parts: Mapping[str, Told], withheld: bool = False) -> Json:
    """What a release document says of its certificates: one budget and unit, the rest of all groups together.

    Where beliefs were fitted on the private table and are withheld, what else tells its numbers is left out too: which
    secrets there are, how records are read (categories, medians), edges and bounds, and exact figures, since a scale in
    17 digits tells the counts behind it."""
    first = next(iter(parts.values()))
    for part in parts.values():
        for name in ("budget", "unit", "reading"):
            if canonical_json(getattr(part, name)) != canonical_json(getattr(first, name)):
                raise CertificateError(f"the certificates of one release differ in their {name}")
    mechanism = _rough if withheld else _exact
    return {
        "budget": first.budget,
        "unit": first.unit,
        "secrets": [] if withheld else _united(part.secrets for part in parts.values()),
        "pairs": [] if withheld else _united(part.pairs for part in parts.values()),
        "mechanisms": [mechanism(group, part) for group, part in parts.items()],
        "reading": None if withheld else first.reading,
        "rules": [] if withheld else _united(part.rules for part in parts.values()),
        "assumptions": [
            WITHHELD if withheld and line == PRIVATE_NUMBERS else line
            for line in _united(part.assumptions for part in parts.values())
        ],
    }


def _exact(group: str, part: Told) -> Json:
    said = {"about": part.about, "noise": part.noise, "proved": part.figures, "worst pair": part.worst_pair}
    return {"group": group, **_proof(part), **said}


def _rough(group: str, part: Told) -> Json:
    """Without exact figures: two digits of the scale, and of what is published only the question."""
    kind = part.noise.get("kind")
    words = _rough_words(part.noise)
    about = {"query": part.about.get("query") or part.about.get("publish")} if part.about else None
    said = {"about": about, "noise": {"kind": kind, "words": words}, "proved": None, "worst pair": None}
    return {"group": group, **_proof(part), **said}


def _rough_words(noise: Json) -> str:
    """Two digits of the figure that says how much noise there is; a sensitivity may be a range of the table."""
    if (scale := noise.get("scale")) is not None:
        return f"{str(noise['kind']).capitalize()} noise of scale about {scale:.2g}"
    if (epsilon := noise.get("epsilon per entry")) is not None:
        return f"noise at epsilon about {float(read_number(epsilon)):.2g} for each entry"
    return "noise as the withheld certificate says"


def _proof(part: Told) -> Json:
    return {"method": part.method, "theorem": part.theorem, "proof": part.proof}


def _united(lists: Iterable[tuple[str, ...]]) -> list[str]:
    return list(dict.fromkeys(item for items in lists for item in items))
