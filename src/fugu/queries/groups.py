"""The public groups of a query: their rows, the laws of sums over them, and the noise that follows."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.driver import calibrate
from fugu.data import Schema, Table
from fugu.data.cells import Categories
from fugu.data.private import Private, label_of
from fugu.data.secrets import Secrets
from fugu.documents.plain_json import frozen
from fugu.documents.sentences import ONE_RECORD, TOTALS
from fugu.errors import BadTable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.laws import Discrete, LawPair, Shifted
from fugu.laws.discrete import sum_of
from fugu.mechanism import Mechanism
from fugu.mechanism.release import Once
from fugu.visible import Json, several

# The public groups of a query: which rows of the private table and of the reference belong to each.


MOST_GROUPS = 100_000
ANY = "(any group)"
"""Stands for the groups of a column of which nothing is public before the table is opened."""
Rows = NDArray[np.int64]
"""The numbers of rows, in order."""


@dataclass(frozen=True, eq=False)
class Group:
    """A group's rows in the private table and in the reference; None if the reference cannot tell its groups."""

    rows: Rows
    known: Rows | None


def find_groups(reference: Table, private: Private, by: str | None) -> dict[str, Group]:
    """The groups of the private table, which are public, each with the rows of the reference that belong to it."""
    if len(private) == 0:
        raise BadTable("the table has no rows")
    if by is None:
        return {"": Group(np.arange(len(private)), None)}
    codes, names = private.public(by).codes(strict=False)
    if len(names) > MOST_GROUPS:
        raise UsageError(f"column {by!r} makes {len(names)} groups; at most {MOST_GROUPS} are released at once")
    labels = [label_of(name) for name in names.tolist()]
    rows = rows_of(codes, len(labels))
    found: dict[str, Group] = {}
    for k, (label, known) in enumerate(known_groups(reference, by, labels)):
        own = rows[k] if label not in found else np.union1d(found[label].rows, rows[k])
        found[label] = Group(own, known)
    return found


def expected_groups(known: Mapping[str, int], declared: Iterable[str], rows: int) -> dict[str, int]:
    """The groups to expect in a table of so many rows, and their sizes: an estimate, from public facts only.

    `known`: the groups of the reference and their numbers of rows, whose shares are taken; `declared`: those that a
    schema names. A group has at least one row; of a column that neither knows there is one group, `ANY`.

    >>> expected_groups({"a": 30, "b": 10}, ["a", "c"], 100)
    {'a': 75, 'b': 25, 'c': 1}
    """
    ends = np.rint(np.cumsum([*known.values()], dtype=np.float64) * (rows / max(sum(known.values()), 1)))
    sizes = dict(zip(known, np.diff(ends, prepend=0).astype(np.int64).tolist(), strict=True))
    more = [name for name in declared if name not in sizes]
    share = 1 if sizes or not more else rows // len(more)
    found = {name: max(size, 1) for name, size in (sizes | dict.fromkeys(more, share)).items()}
    return found or {ANY: rows}


def known_groups(reference: Table, by: str, labels: Sequence[str]) -> list[tuple[str, Rows | None]]:
    """Each group under the name it has in the reference, and its rows there; None if the reference has no groups."""
    if by not in reference.columns:
        return [(label, None) for label in labels]
    codes, names = reference.exact(by).codes(strict=False)
    known = [label_of(name) for name in names.tolist()]
    rows = rows_of(codes, len(known))
    there = Categories(known).places(list(labels)).tolist()
    nowhere = np.zeros(0, dtype=np.int64)
    return [  # "1.0" and "1" are one group
        (own, nowhere) if place < 0 else (known[place], rows[place]) for own, place in zip(labels, there, strict=True)
    ]


def rows_of(codes: NDArray[np.int64], count: int) -> list[Rows]:
    """The rows with each of the codes 0 ... count - 1, by sorting them once."""
    order = np.argsort(codes, kind="stable")
    ends = np.searchsorted(codes[order], np.arange(count + 1))
    return [order[a:b] for a, b in zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True)]


# Groups are public, so a column that makes them must not tell the secret.


def require_public_groups(by: str | None, secrets: Secrets, reference: Table) -> None:
    """Refuse to group by what the secret is worked out from, or by a column that determines it in the reference.

    secrets.columns are those that the conditions looked at, functions included. A column determines the secret if no
    group of the reference with at least two rows that hold a secret holds two different ones, and there is such a
    group: a recoding of the secret, or a finer one. Groups of one row show nothing either way."""
    if by is None:
        return
    if by in secrets.columns:
        raise UsageError(
            f"column {by!r} groups the rows, which makes it public, and the secret is worked out from it; group by "
            "another"
        )
    if by in reference.columns and _determines(by, secrets, reference):
        raise UsageError(
            f"column {by!r} groups the rows, which makes it public, and in the reference it determines the secret: no "
            "group holds two different ones. Group by another column, or by a coarser one"
        )


def _determines(by: str, secrets: Secrets, reference: Table) -> bool:
    groups, names = reference.exact(by).codes(ordered=False)
    used = (groups >= 0) & (secrets.covered() > 0)
    if not used.any():
        return False
    kinds = np.unique(np.stack(secrets.layers, axis=1)[used], axis=0, return_inverse=True)[1].reshape(-1)
    rows = np.bincount(groups[used], minlength=len(names))
    cells = np.unique(np.stack([groups[used], kinds], axis=1), axis=0)
    different = np.bincount(cells[:, 0], minlength=len(names))
    several = rows >= 2
    return bool(several.any() and np.all(different[several] == 1) and len(np.unique(kinds)) > 1)


# What a sum over independent records says about one record's secret: the law pairs behind a query.


_SMALL = 2000
ALONE = "one record's law alone: the other records only add randomness, which is post-processing"
LEAST_ROWS = 30
"""Reference rows that every secret needs in a group before its laws given the group are believed."""
Mask = NDArray[np.bool_]


@dataclass(frozen=True)
class RecordLaws:
    """The law of one record's code given each secret, and for a record of which nothing is known."""

    given: dict[str, Discrete]
    pooled: Discrete


def record_laws(codes: NDArray[np.int64], secrets: Mapping[str, Mask], top: int) -> RecordLaws:
    """Empirical laws of the codes in the reference."""
    values = np.arange(top + 1)
    given = {}
    for label, mask in secrets.items():
        counts = np.bincount(codes[mask], minlength=top + 1)
        if counts.sum():
            given[label] = Discrete(values, counts)
    if len(given) < 2:
        raise BadTable(f"the reference has rows for {several(len(given), 'secret')}; at least two are needed")
    return RecordLaws(given, Discrete(values, np.bincount(codes, minlength=top + 1)))


def laws_in_group(codes: NDArray[np.int64], secrets: Mapping[str, Mask], rows: Rows, top: int) -> RecordLaws | None:
    """The laws given the group too, or None where some secret has fewer than `LEAST_ROWS` reference rows in it.

    The group is public: an adversary knows it, and believes the law of a record given its secret *and* its group."""
    inside = inside_of(secrets, rows)
    return None if inside is None else record_laws(codes[rows], inside, top)


def inside_of(secrets: Mapping[str, Mask], rows: Rows) -> dict[str, Mask] | None:
    """The secrets that occur in the reference, among these rows of it; None where one has fewer than `LEAST_ROWS`."""
    inside = {label: mask[rows] for label, mask in secrets.items() if mask.any()}
    return None if any(int(mask.sum()) < LEAST_ROWS for mask in inside.values()) else inside


def sum_pairs(laws: RecordLaws, rows: int, budget: Pure | Approx, who: str = "") -> tuple[list[LawPair], str]:
    """The laws of the sum of `rows` records given each secret of one of them, and what they rest on.

    Given secret s the sum is X_s + (rows - 1) pooled records, independent. A pure budget needs exact laws, and its loss
    is mostly decided in the tails, where the others hide nothing: for large groups the pair of single-record laws is
    taken, which is sound (the others are added after the noise) and assumes nothing of the others' laws."""
    if rows == 1:
        totals, note = laws.given, "one record's law: the group has no other"
    elif taken_alone(rows, len(laws.pooled.values), budget):
        totals, note = laws.given, ALONE
    else:
        others = laws.pooled.iid_sum(rows - 1, method="auto" if _has_delta(budget) else "exact")
        totals = {name: sum_of([law, others]) for name, law in laws.given.items()}
        note = f"one record's law and {rows - 1} {TOTALS}"
    return [LawPair(totals[a], totals[b], f"{who}{a} vs {b}") for a, b in combinations(totals, 2)], note


def taken_alone(rows: int, values: int, budget: Pure | Approx) -> bool:
    """Whether a group is so large that only one record's law is looked at, whatever the others."""
    return not _has_delta(budget) and rows * values > _SMALL


def _has_delta(budget: Pure | Approx) -> bool:
    return budget.delta > 0


# Sums of the public groups of a query: what is believed in each, and the noise that follows.
#
# A column that groups the rows is published, so every adversary knows a record's group. Two of them are protected
# against: one who believes the pooled laws, and one who believes the laws given the group. Where the reference is too
# thin for the latter, or a secret does not occur in the group, no belief is used at all: plain differential privacy.


OTHERS = "the other records of a group follow the pooled law of the reference, whatever the group"
TWO = "two adversaries: 1 believes the pooled laws, 2 believes the laws given the group"
OTHERS_HERE = "for adversary 2 the other records of a group follow the law of that group in the reference"
PLAIN = (
    "plain differential privacy: one record may hold anything within the bounds, and no belief is used, since a secret "
    f"has fewer than {LEAST_ROWS} rows of this group in the reference"
)


def lacking(by: str) -> str:
    """What is assumed where the reference cannot tell groups apart."""
    return f"the reference has no column {by!r}: a record's group says nothing beyond its secret"


Beliefs = list[LawPair | Shifted]
"""What is believed of a sum: laws, or that it moves by at most so much."""


@dataclass(frozen=True, eq=False)
class Sums:
    """The reference's codes and secrets, from which every group's mechanism is worked out."""

    codes: NDArray[np.int64]
    secrets: Mapping[str, Mask]
    top: int
    budget: Pure | Approx
    stated: tuple[str, ...]
    schema: Schema
    by: str | None
    asked: dict[str, Any]
    """What is asked, in JSON types, for the certificates."""

    found: dict[Hashable, Mechanism] = field(default_factory=dict)
    """What was calibrated so far, by the laws: groups that share them share the work."""

    def mechanism(self, name: str, group: Group) -> Mechanism:
        """The least noise for the sum of a group's records, in steps of the coding."""
        key = self._key(group)
        if key not in self.found:
            self.found[key] = self._sealed(*self.beliefs(group))
        found = self.found[key]
        told = {**self.asked, "by": self.by, "group": name, "rows": len(group.rows)}
        sealed = found.certificate.amended(found.context.assumptions, ONE_RECORD, self._reading, told)
        return replace(found, certificate=sealed, once=Once())

    @cached_property
    def _reading(self) -> Json:
        return frozen(self.schema.to_json())  # type: ignore[no-any-return]

    @cached_property
    def _pooled(self) -> RecordLaws:
        return record_laws(self.codes, self.secrets, self.top)

    def _key(self, group: Group) -> Hashable:
        """What the laws of a group's sum follow from: two groups of one key have the same."""
        rows = len(group.rows)
        size: int | str = "many" if rows > 1 and taken_alone(rows, self.top + 1, self.budget) else rows
        if self.by is None or group.known is None:
            return size
        inside = inside_of(self.secrets, group.known)
        if inside is None:
            return "plain"
        codes = self.codes[group.known]
        counts = [np.bincount(codes[mask], minlength=self.top + 1).tobytes() for mask in inside.values()]
        return size, *counts, np.bincount(codes, minlength=self.top + 1).tobytes()

    def beliefs(self, group: Group) -> tuple[Beliefs, str, tuple[str, ...]]:
        """The laws of a group's sum for every adversary, what they rest on, and what is said of the group."""
        rows, pooled = len(group.rows), self._pooled
        if self.by is None:
            return *self._pairs({"": pooled}, rows), ()
        if group.known is None:
            return *self._pairs({"": pooled}, rows), (lacking(self.by),)
        inside = laws_in_group(self.codes, self.secrets, group.known, self.top)
        if inside is None:
            return [Shifted(self.top)], PLAIN, ()
        return *self._pairs({"adversary 1: ": pooled, "adversary 2: ": inside}, rows), (TWO,)

    def _pairs(self, beliefs: Mapping[str, RecordLaws], rows: int) -> tuple[Beliefs, str]:
        found = [sum_pairs(laws, rows, self.budget, who) for who, laws in beliefs.items()]
        return [pair for pairs, _ in found for pair in pairs], found[0][1]

    def _sealed(self, pairs: Beliefs, note: str, more: tuple[str, ...]) -> Mechanism:
        """Calibrated, with its assumptions. The support of the law is not used to move values: a sum is what it is."""
        alone = note in (ALONE, PLAIN)  # then nothing is assumed of the others but independence
        here = [OTHERS_HERE] if TWO in more else []
        others = [] if alone else [OTHERS, *here]
        found = calibrate(pairs, self.budget, noise="laplace" if note == ALONE else "best", grid=1)
        context = replace(
            found.context, assumptions=(*self.stated, *more, *others, f"beliefs: {note}"), unit=ONE_RECORD
        )
        return replace(found, support=None, context=context)
