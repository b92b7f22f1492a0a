"""What a certificate of many statistics says, read from its decoded JSON: what is drawn, what that can tell of one
record, which laws are believed of which records, and the proof that belongs to each. Charges that the document states
are not read: they are worked out from what is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import permutations

from fugu.errors import CertificateError
from fugu.second.reading import Part, number, part, rows, whole
from fugu.second.result import NotSummed

_THIN = 30
"""A law given a group needs so many reference rows of every secret."""


@dataclass
class Load:
    """What all draws together can tell of one record: rates of sums by feature, epsilons of cells, the rest."""

    lines: dict[str, Fraction] = field(default_factory=dict)
    cells: dict[frozenset[str], Fraction] = field(default_factory=dict)
    apart: Fraction = Fraction(0)
    own: Fraction = Fraction(0)

    @property
    def features(self) -> set[str]:
        """What the draws read."""
        return set(self.lines).union(*self.cells)

    def add(self, draw: Part, rate: Fraction, tops: Mapping[str, int]) -> None:
        """One draw more: e^(-rate |k|) on a sum or on every cell, or a choice that is private at this rate."""
        names = [str(name) for name in rows(draw["features"])]
        law, on = draw["law"], draw["on"]
        if rate <= 0:
            raise CertificateError("a draw of the certificate has no positive rate")
        if (law, on) == ("laplace", "sum"):
            (name,) = names
            if name not in tops:
                raise CertificateError("a draw of the certificate falls on the sum of what is not a number")
            self.own += rate * tops[name]
            if draw["modelled"] is True:
                self.lines[name] = self.lines.get(name, Fraction(0)) + rate
            else:
                self.apart += rate * tops[name]
            return
        if (law, on) not in (("laplace", "cells"), ("permute-and-flip", "choice")):
            raise NotSummed("a draw of it was made outside of fugu, on somebody's word, or is not known here")
        epsilon = 2 * rate if on == "cells" else rate
        self.own += epsilon
        if draw["modelled"] is True and names:
            key = frozenset(names)
            self.cells[key] = self.cells.get(key, Fraction(0)) + epsilon
        else:
            self.apart += epsilon


@dataclass(frozen=True)
class Need:
    """Two laws that must be compared under a load, and the proof that the document has for it."""

    states: dict[str, Sequence[int]]
    p: Sequence[int]
    q: Sequence[int]
    load: int
    proof: Part
    label: str

    @property
    def size(self) -> int:
        """How many terms are summed."""
        plan = self.proof.get("plan")
        return len(self.p) + (len(plan) if isinstance(plan, Sequence) else 0)


@dataclass(frozen=True)
class Read:
    """Loads, one for each type of records; which of the types have no law; and the laws of the others."""

    content: Part
    loads: list[Load]
    plain: list[int]
    believed: list[tuple[int, int]]
    """(law, type) for every type with laws."""

    @property
    def own(self) -> Fraction:
        """The largest sum of own epsilons of any type."""
        return max(load.own for load in self.loads)

    @property
    def steps(self) -> int:
        """How many ordered pairs are compared."""
        pairs = len(rows(self.content["secrets"]))
        return len(self.believed) * pairs * (pairs - 1)

    def needed(self) -> Iterator[Need]:
        """Every law, type and ordered pair of secrets that is not plain."""
        laws, types = [part(x) for x in rows(self.content["laws"])], [part(x) for x in rows(self.content["types"])]
        proofs = {}
        for stated in map(part, rows(self.content["proofs"])):
            first, second = (str(name) for name in rows(stated["pair"]))
            proofs[whole(stated["law"]), whole(stated["load"]), first, second] = part(stated["proof"])
        secrets = [str(name) for name in rows(self.content["secrets"])]
        seen = set()
        for law, kind in self.believed:
            load = whole(types[kind]["load"])
            states = {name: _wholes(column) for name, column in part(laws[law]["states"]).items()}
            given = {name: _wholes(counts) for name, counts in part(laws[law]["given"]).items()}
            _check_law(states, given, secrets, self.loads[kind], thick=bool(part(laws[law]["group"])))
            key = (law, _key(self.loads[kind]))
            if key in seen:
                continue
            seen.add(key)
            for s, t in permutations(secrets, 2):
                if (law, load, s, t) not in proofs:
                    raise CertificateError("the certificate has no proof for a law and an ordered pair of secrets")
                label = f"{s} vs {t}, {laws[law]['who']}"
                yield Need(states, given[s], given[t], kind, proofs[law, load, s, t], label)


def read_records(content: Part) -> Read:
    """Loads from what is drawn, and the laws that each type of records needs."""
    tops = {name: _top(part(stated)) for name, stated in part(content["features"]).items()}
    known = {name: top for name, top in tops.items() if top is not None}
    questions = [part(stated) for stated in rows(content["questions"])]
    types = [part(stated) for stated in rows(content["types"])]
    if not types:
        raise CertificateError("the certificate is about no records")
    every = {str(asked["by"]) for asked in questions if asked["by"] is not None}
    loads, plain, believed = [], [], []
    laws: dict[frozenset[tuple[str, object]], int] = {}
    for k, stated in enumerate(map(part, rows(content["laws"]))):
        laws[frozenset(part(stated["group"]).items())] = k
    for k, kind in enumerate(types):
        groups = part(kind["groups"])
        if set(groups) != every:
            raise CertificateError("a type of records in the certificate is not in one group of every question")
        load = Load()
        for asked in questions:
            group = "" if asked["by"] is None else str(groups[str(asked["by"])])
            for draw in map(part, rows(asked["draws"])):
                load.add(draw, number(part(draw["rates"])[group]), known)
        loads.append(load)
        if kind["plain"] is True:
            plain.append(k)
            continue
        wanted = {frozenset[tuple[str, object]](), frozenset(groups.items()), *(frozenset([x]) for x in groups.items())}
        if not wanted <= laws.keys():
            raise CertificateError("a type of records in the certificate lacks a law, and is not marked as plain")
        believed += [(laws[group], k) for group in wanted]
    return Read(content, loads, plain, believed)


def _top(stated: Part) -> int | None:
    """The largest difference of a feature that can be summed; None for others."""
    kind = stated["kind"]
    if kind == "is":
        return 1
    if kind not in ("coded", "squared"):
        return None
    top = whole(stated["top"])
    if top < 1:
        raise CertificateError("a feature of the certificate has no range")
    return top if kind == "coded" else (top - top // 2) ** 2


def _wholes(stated: object) -> Sequence[int]:
    return [whole(x) for x in rows(stated)]


def _check_law(
    states: Mapping[str, Sequence[int]], given: Mapping[str, Sequence[int]], secrets: list[str], load: Load, thick: bool
) -> None:
    lengths = {len(x) for x in (*states.values(), *given.values())}
    if set(given) != set(secrets) or len(lengths) != 1 or not load.features <= states.keys():
        raise CertificateError("a law of the certificate lacks a secret or a feature, or has another number of states")
    for counts in given.values():
        if min(counts) < 0 or sum(counts) < (_THIN if thick else 1):
            raise CertificateError("a law of the certificate rests on too few rows, or has negative ones")


def _key(load: Load) -> tuple[object, ...]:
    return (frozenset(load.lines.items()), frozenset(load.cells.items()), load.apart)
