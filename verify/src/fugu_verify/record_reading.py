"""What a certificate of many statistics says, read from its decoded JSON: what is drawn, what that can tell of one
record, which laws are believed of which records, and the proofs that belong to each. Charges that the document states
are not believed: they are worked out from what is drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from itertools import combinations, permutations

from fugu_verify.reading import Part, number, part, rows, whole
from fugu_verify.result import BadCertificate, NotSummed

Group = frozenset[tuple[str, object]]
"""What is known of a record: (column, group) for some of the columns that make groups."""
_THIN, _PUBLIC = 30, 6
"""A law needs so many reference rows of every secret."""
_SUMS = {"count", "proportion", "sum", "mean", "variance"}
_CELLS = {("histogram", "lattice-laplace"), ("crosstab", "lattice-laplace"), ("top", "lattice-laplace"),
          ("top", "permute-and-flip"), ("quantile", "permute-and-flip")}  # fmt: skip


@dataclass
class Load:
    """What all draws together can tell of one record: rates of sums by feature, epsilons of cells, the rest."""

    lines: dict[str, Fraction] = field(default_factory=dict)
    cells: dict[frozenset[str], Fraction] = field(default_factory=dict)
    apart: Fraction = Fraction(0)
    own: Fraction = Fraction(0)

    @property
    def features(self) -> frozenset[str]:
        """What the draws read."""
        return frozenset(self.lines).union(*self.cells)

    def key(self) -> tuple[object, ...]:
        """The same for loads that cost the same."""
        return frozenset(self.lines.items()), frozenset(self.cells.items()), self.apart

    def add(self, asked: Part, rates: Sequence[Fraction], known: Mapping[str, Feature]) -> None:
        """One question more: mass ~ e^(-rate |k|) on sums or on every cell, or a choice at this rate.

        One record that changes moves a sum by at most the range of its feature, and two cells, or two of the numbers
        that a choice goes by, by one each."""
        names = [str(name) for name in rows(asked["features"])]
        kind, law = str(asked["kind"]), str(asked["law"])
        if not rates or min(rates) <= 0:
            raise BadCertificate("a question of the certificate has no noise of a positive rate")
        if kind in _SUMS and law == "lattice-laplace":
            if len(names) != len(rates) or len(names) != 1 + (kind == "variance"):
                raise BadCertificate("a sum of the certificate has not one rate for each feature")
            own = sum((rate * known[name].range for name, rate in zip(names, rates, strict=True)), Fraction(0))
        elif (kind, law) in _CELLS and len(rates) == len(names) == 1:
            own = 2 * rates[0]
        else:
            raise NotSummed("a draw of it was made outside of fugu, on somebody's word, or is not known here")
        self.own += own
        if not all(known[name].modelled for name in names):
            self.apart += own
        elif kind in _SUMS:
            for name, rate in zip(names, rates, strict=True):
                self.lines[name] = self.lines.get(name, Fraction(0)) + rate
        else:
            self.cells[frozenset(names)] = self.cells.get(frozenset(names), Fraction(0)) + own


@dataclass(frozen=True)
class Feature:
    """How far apart two records can be, if the feature can be summed, and whether the laws speak of it."""

    top: int | None
    modelled: bool

    @property
    def range(self) -> int:
        """The largest difference; BadCertificate for what is no number."""
        if self.top is None:
            raise BadCertificate("the certificate sums a feature that is no number")
        return self.top

    @staticmethod
    def read(stated: Part, columns: set[object]) -> Feature:
        """Coded numbers have a top; squares of the distance from the middle code have that of the farther end."""
        kind, axes = stated["kind"], stated.get("axes")
        own = {part(axis)["column"] for axis in rows(axes)} if kind == "placed" else {stated["column"]}
        top = 1 if kind == "is" else whole(stated["top"]) if kind in ("coded", "squared") else None
        if top is not None and top < 1:
            raise BadCertificate("a feature of the certificate has no range")
        if kind == "squared" and top is not None:
            top = (top - top // 2) ** 2
        return Feature(top, own <= columns)


@dataclass(frozen=True)
class Need:
    """Two secrets that must be compared under a load: `laws` of one adversary, on different features, each with the
    proofs that the document has for it: the features by which a plan counts states, and the proof."""

    pair: tuple[str, str]
    load: Load
    laws: Sequence[tuple[Part, Sequence[tuple[frozenset[str], Part]]]]
    ranges: Mapping[str, int]

    @property
    def size(self) -> int:
        """How many terms are summed, at most."""
        plans = (proof.get("plan", ()) for _, proofs in self.laws for _, proof in proofs)
        return sum(len(plan) for plan in plans if isinstance(plan, Sequence)) + sum(
            len(rows(part(law["given"])[self.pair[0]])) for law, _ in self.laws
        )

    def states(self, law: Part, features: Sequence[str]) -> list[tuple[tuple[int, ...], int, int]]:
        """The distinct values in order, with the masses of both laws; what neither has is left out."""
        columns = [[whole(x) for x in rows(part(law["states"])[name])] for name in features]
        p, q = ([whole(x) for x in rows(part(law["given"])[secret])] for secret in self.pair)
        found: dict[tuple[int, ...], tuple[int, int]] = {}
        values = zip(*columns, strict=True) if columns else [()] * len(p)
        for x, mass, there in zip(values, p, q, strict=True):
            before = found.get(x, (0, 0))
            if mass or there:
                found[x] = before[0] + mass, before[1] + there
        for name, column in zip(features, columns, strict=True):
            if name in self.load.lines and max(column) - min(column) > self.ranges[name]:
                raise BadCertificate("a law of the certificate has a state beyond the range of its feature")
        return [(x, *found[x]) for x in sorted(found)]


@dataclass(frozen=True)
class Read:
    """The loads of all types of records: those without laws, and those with, each with the laws of one adversary."""

    content: Part
    plain: list[Load]
    believed: list[tuple[tuple[int, ...], Load]]
    ranges: dict[str, int]

    @property
    def own(self) -> Fraction:
        """The largest sum of own epsilons of any type."""
        return max(load.own for load in (*self.plain, *(load for _, load in self.believed)))

    def needed(self) -> Iterator[Need]:
        """Every adversary, load and ordered pair of secrets, once."""
        laws = [part(stated) for stated in rows(self.content["laws"])]
        named = [frozenset(_names(load)) for load in rows(self.content["loads"])]
        proofs: dict[tuple[int, str, str], list[tuple[frozenset[str], Part]]] = {}
        for stated in map(part, rows(self.content["proofs"])):
            first, second = (str(name) for name in rows(stated["pair"]))
            found = named[whole(stated["load"])], part(stated["proof"])
            proofs.setdefault((whole(stated["law"]), first, second), []).append(found)
        secrets = [str(name) for name in rows(self.content["secrets"])]
        for law in laws:
            _check_law(law, secrets)
        for listed, load in {(listed, load.key()): (listed, load) for listed, load in self.believed}.values():
            speaking = [k for k in listed if load.features <= set(part(laws[k]["states"]))]
            for pair in permutations(secrets, 2):
                of_laws = [
                    (laws[k], [(names, proof) for names, proof in proofs.get((k, *pair), ()) if load.features <= names])
                    for k in speaking
                ]
                if not any(fitting for _, fitting in of_laws):
                    raise BadCertificate("the certificate has no proof for an adversary and a pair of secrets")
                yield Need(pair, load, of_laws, self.ranges)


def read_records(content: Part) -> Read:
    """Loads from what is drawn, and the laws that each type of records needs."""
    columns = set(rows(content["columns"]))
    known = {name: Feature.read(part(stated), columns) for name, stated in part(content["features"]).items()}
    questions = [part(stated) for stated in rows(content["questions"])]
    every = {str(asked["by"]) for asked in questions if asked["by"] is not None}
    laws: dict[Group, list[int]] = {}
    for k, stated in enumerate(map(part, rows(content["laws"]))):
        for groups in rows(stated["known"]):
            laws.setdefault(frozenset(part(groups).items()), []).append(k)
    plain, believed, elsewhere = list[Load](), list[tuple[tuple[int, ...], Load]](), number(content["elsewhere"])
    if elsewhere < 0:
        raise BadCertificate("the certificate states a negative epsilon of other releases")
    for kind in map(part, rows(content["types"])):
        groups = part(kind["groups"])
        if not every <= set(groups):
            raise BadCertificate("a type of records in the certificate is not in one group of every question")
        load = Load(apart=elsewhere, own=elsewhere)
        for asked in questions:
            group = "" if asked["by"] is None else str(groups[str(asked["by"])])
            rates = part(asked["rates"]).get(group)
            if rates is not None:
                load.add(asked, [number(rate) for rate in rows(rates)], known)
        if kind["plain"] is True or not load.features:
            plain.append(load)
            continue
        if len(groups) > _PUBLIC:
            raise BadCertificate("the certificate makes more columns public than are worked through")
        each = sorted(groups.items())
        wanted: set[Group] = {frozenset(x) for k in range(len(each) + 1) for x in combinations(each, k)}
        if not wanted <= laws.keys():
            raise BadCertificate("a type of records in the certificate lacks a law, and is not marked as plain")
        believed += [(tuple(laws[group]), load) for group in sorted(wanted, key=sorted)]
    if not plain and not believed:
        raise BadCertificate("the certificate is about no records")
    return Read(content, plain, believed, {name: found.top for name, found in known.items() if found.top is not None})


def _names(load: object) -> Iterator[str]:
    """The features that stated charges read: they say in which order a plan counts states, and nothing else."""
    for charge in map(part, rows(load)):
        yield from (str(name) for name in rows(charge.get("features", [])))
        if "feature" in charge:
            yield str(charge["feature"])


def _check_law(law: Part, secrets: list[str]) -> None:
    states, given = part(law["states"]), part(law["given"])
    lengths = {len(rows(x)) for x in (*states.values(), *given.values())}
    if set(given) != set(secrets) or len(lengths) != 1 or len(secrets) < 2:
        raise BadCertificate("a law of the certificate lacks a secret, or has another number of states")
    for counts in given.values():
        found = [whole(x) for x in rows(counts)]
        if min(found) < 0 or sum(found) < _THIN:
            raise BadCertificate("a law of the certificate rests on too few rows, or has negative ones")
