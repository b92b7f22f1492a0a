"""Sums of the public groups of a query: what is believed in each, and the noise that follows.

A column that groups the rows is published, so every adversary knows a record's group. Two of them are protected
against: one who believes the pooled laws, and one who believes the laws given the group. Where the reference is too
thin for the latter, or a secret does not occur in the group, no belief is used at all: plain differential privacy."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.calibration import calibrate
from fugu.data import Schema
from fugu.documents.frozen import frozen
from fugu.documents.sentences import ONE_RECORD
from fugu.guarantee import Approx, Pure
from fugu.laws import LawPair, Shifted
from fugu.mechanism import Additive
from fugu.mechanism.once import Once
from fugu.queries.grouped import Group
from fugu.queries.laws import (
    ALONE,
    LEAST_ROWS,
    Mask,
    RecordLaws,
    inside_of,
    laws_in_group,
    record_laws,
    sum_pairs,
    taken_alone,
)
from fugu.visible import Json

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

    found: dict[Hashable, Additive] = field(default_factory=dict)
    """What was calibrated so far, by the laws: groups that share them share the work."""

    def mechanism(self, name: str, group: Group) -> Additive:
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

    def _sealed(self, pairs: Beliefs, note: str, more: tuple[str, ...]) -> Additive:
        """Calibrated, with its assumptions. The support of the law is not used to move values: a sum is what it is."""
        alone = note in (ALONE, PLAIN)  # then nothing is assumed of the others but independence
        here = [OTHERS_HERE] if TWO in more else []
        others = [] if alone else [OTHERS, *here]
        found = calibrate(pairs, self.budget, noise="laplace" if note == ALONE else "best", grid=1)
        assert isinstance(found, Additive)
        context = replace(
            found.context, assumptions=(*self.stated, *more, *others, f"beliefs: {note}"), unit=ONE_RECORD
        )
        return replace(found, support=None, context=context)
