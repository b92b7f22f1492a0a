"""The public groups of a query: which rows belong to each, what is believed in it, and the noise that follows.

A column that groups the rows is published, so every adversary knows a record's group. Two of them are protected
against: one who believes the pooled laws, and one who believes the laws given the group. Where the reference is too
thin for the latter, or a secret does not occur in the group, no belief is used at all: plain differential privacy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.calibration import calibrate
from fugu.data import Schema, Table
from fugu.data.categories import Categories
from fugu.data.private import Private, label_of
from fugu.errors import BadTable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.laws import LawPair, Shifted
from fugu.mechanism import Additive
from fugu.queries.laws import ALONE, LEAST_ROWS, Mask, RecordLaws, laws_in_group, record_laws, sum_pairs

OTHERS = "the other records of a group follow the pooled law of the reference, whatever the group"
OTHERS_HERE = "for adversary 2 the other records of a group follow the law of that group in the reference"
PLAIN = (
    "plain differential privacy: one record may hold anything within the bounds, and no belief is used, since a secret "
    f"has fewer than {LEAST_ROWS} rows of this group in the reference"
)


Beliefs = list[LawPair | Shifted]
"""What is believed of a sum: laws, or that it moves by at most so much."""


@dataclass(frozen=True, eq=False)
class Group:
    """A group's rows in the private table and in the reference; None if the reference cannot tell its groups."""

    rows: Mask
    known: Mask | None


def find_groups(reference: Table, private: Private, by: str | None) -> dict[str, Group]:
    """The groups of the private table, which are public, each with the rows of the reference that belong to it."""
    if len(private) == 0:
        raise BadTable("the table has no rows")
    if by is None:
        return {"": Group(np.ones(len(private), dtype=bool), None)}
    codes, names = private.public(by).codes(strict=False)
    if len(names) > 1000:
        raise UsageError(f"column {by!r} makes {len(names)} groups; at most 1000 are released at once")
    labels = [label_of(name) for name in names.tolist()]
    found: dict[str, Group] = {}
    for k, (label, known) in enumerate(known_groups(reference, by, labels)):
        rows = codes == k if label not in found else found[label].rows | (codes == k)
        found[label] = Group(rows, known)
    return found


def known_groups(reference: Table, by: str, labels: Sequence[str]) -> list[tuple[str, Mask | None]]:
    """Each group under the name it has in the reference, and its rows there; None if the reference has no groups."""
    if by not in reference.columns:
        return [(label, None) for label in labels]
    codes, names = reference.exact(by).codes(strict=False)
    known = [label_of(name) for name in names.tolist()]
    there = Categories(known).places(list(labels)).tolist()
    return [  # "1.0" and "1" are one group
        (own if place < 0 else known[place], (codes == place) & (place >= 0))
        for own, place in zip(labels, there, strict=True)
    ]


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

    def mechanism(self, name: str, group: Group) -> Additive:
        """The least noise for the sum of a group's records, in steps of the coding."""
        found = self._sealed(*self.beliefs(group))
        told = {**self.asked, "by": self.by, "group": name, "rows": int(group.rows.sum())}
        assumptions = found.context.assumptions
        sealed = found.certificate.amended(assumptions, "one record", self.schema.to_json(), told)
        return replace(found, certificate=sealed)

    def beliefs(self, group: Group) -> tuple[Beliefs, str, tuple[str, ...]]:
        """The laws of a group's sum for every adversary, what they rest on, and what is said of the group."""
        rows = int(group.rows.sum())
        pooled = record_laws(self.codes, self.secrets, self.top)
        if self.by is None:
            return *self._pairs({"": pooled}, rows), ()
        if group.known is None:
            lacking = f"the reference has no column {self.by!r}: a record's group says nothing beyond its secret"
            return *self._pairs({"": pooled}, rows), (lacking,)
        inside = laws_in_group(self.codes, self.secrets, group.known, self.top)
        if inside is None:
            return [Shifted(self.top)], PLAIN, ()
        told = "two adversaries: 1 believes the pooled laws, 2 believes the laws given the group"
        return *self._pairs({"adversary 1: ": pooled, "adversary 2: ": inside}, rows), (told,)

    def _pairs(self, beliefs: Mapping[str, RecordLaws], rows: int) -> tuple[Beliefs, str]:
        found = [sum_pairs(laws, rows, self.budget, who) for who, laws in beliefs.items()]
        return [pair for pairs, _ in found for pair in pairs], found[0][1]

    def _sealed(self, pairs: Beliefs, note: str, more: tuple[str, ...]) -> Additive:
        """Calibrated, with its assumptions. The support of the law is not used to move values: a sum is what it is."""
        alone = note in (ALONE, PLAIN)  # then nothing is assumed of the others but independence
        here = [OTHERS_HERE] if more and self.by is not None and "two adversaries" in more[0] else []
        others = [] if alone else [OTHERS, *here]
        found = calibrate(pairs, self.budget, noise="laplace" if note == ALONE else "best", grid=1)
        assert isinstance(found, Additive)
        context = replace(
            found.context, assumptions=(*self.stated, *more, *others, f"beliefs: {note}"), unit="one record"
        )
        return replace(found, support=None, context=context)
