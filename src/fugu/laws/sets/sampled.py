"""`Sampled`: counts of a reference on declared values, and the sets of laws that they cannot rule out.

P(every true law is in its set) >= confidence, over the draw of the reference rows. Secrets whose rows are disjoint
share the error as 1 - (1 - error)^(1/m) each, others as error / m."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, final

import numpy as np

from fugu.errors import CertificateError
from fugu.fixed import Fixed
from fugu.laws.discrete import Discrete
from fugu.laws.sets.checked import check_confidence
from fugu.laws.sets.confidence import confidence_set, secret_error
from fugu.laws.sets.law_set import LawSet
from fugu.numbers.exact import read_number, read_whole

_KEYS = ("level", "values", "counts", "ordered", "disjoint", "shift", "declared")


@final
@dataclass(frozen=True)
class Sampled:
    """`confidence`: over the draw of the reference. `values`: every value that may be published, seen or not. `counts`:
    for each secret its rows with each value. `ordered`: whether the values are numbers or an ordering. `disjoint`:
    whether no row has two of the secrets. `shift`: how far, in total variation, the protected rows may be from the
    population of the reference. `declared`: what was declared before the counts were looked at."""

    confidence: Fraction
    values: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    ordered: bool
    disjoint: bool
    shift: Fraction
    declared: str

    @property
    def error(self) -> Fraction:
        """The error of each secret's set."""
        return secret_error(self.confidence, len(self.counts), self.disjoint)

    @cached_property
    def sets(self) -> Mapping[str, LawSet]:
        """The set of every secret."""
        return Fixed(
            {
                secret: confidence_set(self.values, counts, self.error, ordered=self.ordered, shift=self.shift)
                for secret, counts in self.counts.items()
            }
        )

    @property
    def laws(self) -> Mapping[str, Discrete]:
        """The empirical laws: what the counts would be believed to be without confidence."""
        values = np.array(self.values)
        return Fixed({secret: Discrete(values, np.array(counts)) for secret, counts in self.counts.items()})

    def times(self, factor: Fraction) -> Sampled:
        """As if the reference had so many times the rows, in the same proportions."""
        more = {s: tuple(round(c * factor) for c in counts) for s, counts in self.counts.items()}
        return Sampled(self.confidence, self.values, more, self.ordered, self.disjoint, self.shift, self.declared)

    def check(self, secret: str, stated: LawSet) -> None:
        """CertificateError unless `stated` is the set that the counts of `secret` give at this confidence, or holds
        it; its points stand for the declared values, in order."""
        if secret not in self.counts:
            raise CertificateError(f"the certificate states no counts for the secret {secret!r}")
        named = stated.at(np.arange(len(self.values)), self.values)
        check_confidence(named, self.values, self.counts[secret], self.error, self.ordered, self.shift)

    def to_json(self) -> dict[str, Any]:
        """In JSON types, exactly."""
        return {
            "level": str(self.confidence),
            "values": list(self.values),
            "counts": {secret: list(counts) for secret, counts in self.counts.items()},
            "ordered": self.ordered,
            "disjoint": self.disjoint,
            "shift": str(self.shift),
            "declared": self.declared,
        }

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Sampled:
        """What `to_json` wrote."""
        if not isinstance(found, Mapping) or set(found) != set(_KEYS):
            raise CertificateError(f"the confidence of a certificate has the parts {', '.join(_KEYS)}")
        level, shift = read_number(found["level"]), read_number(found["shift"])
        values = tuple(float(v) for v in found["values"])
        counts = {str(s): tuple(read_whole(c) for c in row) for s, row in found["counts"].items()}
        fits = all(len(row) == len(values) and min(row) >= 0 and sum(row) > 0 for row in counts.values())
        if not (0 < level < 1 and 0 <= shift < 1 and values and counts and fits):
            raise CertificateError("the confidence of the certificate, or its counts, make no sense")
        if not all(a < b for a, b in pairwise(values)):
            raise CertificateError("the declared values of the certificate are not in order")
        return Sampled(
            level, values, Fixed(counts), bool(found["ordered"]), bool(found["disjoint"]), shift, str(found["declared"])
        )
