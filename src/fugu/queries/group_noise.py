"""What a query of public groups says about one record: the laws of sums and of cells, and the noise that follows."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fugu.calibration.driver import calibrate
from fugu.data import Schema
from fugu.documents.reading import frozen
from fugu.documents.sentences import ONE_RECORD, TOTALS
from fugu.errors import BadTable
from fugu.guarantee import Approx, Pure
from fugu.laws import CellLaw, Discrete, LawPair, Shifted
from fugu.laws.discrete import sum_of
from fugu.loss.histograms import gaussian_delta
from fugu.mechanism import Mechanism
from fugu.mechanism.release import Once
from fugu.noise.gaussian import Gaussian
from fugu.queries.groups import Rows
from fugu.visible import Json, several

# What a query of the public groups says about one record's secret: the laws behind it, and the noise that follows.
#
# A column that groups the rows is published, so every adversary knows a record's group. Two of them are protected
# against: one who believes the pooled laws, and one who believes the laws given the group. Where the reference is too
# thin for the latter, or a secret does not occur in the group, no belief is used at all: plain differential privacy.


LEAST_ROWS = 30
"""Reference rows that every secret needs in a group before its laws given the group are believed."""
Mask = NDArray[np.bool_]
Counts = NDArray[np.int64]
Beliefs = list[LawPair | Shifted]
"""What is believed of a sum or of a cell: laws, or that it moves by at most so much."""
TWO = "two adversaries: 1 believes the pooled laws, 2 believes the laws given the group"
LACKING = "the reference has no column {!r}: a record's group says nothing beyond its secret"


ALONE = "one record's law alone: the other records only add randomness, which is post-processing"
OTHERS = "the other records of a group follow the pooled law of the reference, whatever the group"
OTHERS_HERE = "for adversary 2 the other records of a group follow the law of that group in the reference"
PLAIN_SUM = (
    "plain differential privacy: one record may hold anything within the bounds, and no belief is used, since a secret "
    f"has fewer than {LEAST_ROWS} rows of this group in the reference"
)
CELLS = (
    "beliefs: the law of one record's cell given its secret, as the reference shows it; the other records may be "
    "anything that is independent of the record and its secret, even known"
)
NO_TOTALS = "no other exact count or total of this table is public, but its number of rows and those of its groups"
PLAIN_CELL = (
    "plain differential privacy: one record may be in any cell, and no belief is used, since a secret has fewer than "
    f"{LEAST_ROWS} rows of the reference here; changing one record changes the counts by at most 2 in all"
)
_SMALL = 2000
_ROUGH = 5e4
"""How finely sums are kept to see whether Gaussian noise could be the better one."""


@dataclass(frozen=True, eq=False)
class GroupNoise:
    """The reference's codes and secrets, from which every group's mechanism is worked out.

    `tabulated`: a histogram or a cross-tabulation. One record's secret tilts the law of its own cell and nothing else,
    so the loss is that of two laws of a cell, whatever the other records are, known ones included
    (docs/proofs/histograms.md). Else a sum over the records of a group: one record's law, and those of the others that
    hide it."""

    codes: Counts
    """The code, or the cell, of every row of the reference: 0 .. top."""
    secrets: Mapping[str, Mask]
    top: int
    tabulated: bool
    budget: Pure | Approx
    stated: tuple[str, ...]
    schema: Schema
    by: str | None
    asked: Json
    """What is asked, in JSON types, for the certificates."""
    found: dict[Hashable, Mechanism] = field(default_factory=dict)
    """What was calibrated so far, by the laws: groups that share them share the work."""

    def mechanism(self, name: str, size: int, known: Rows | None) -> Mechanism:
        """The least noise for a group's sum, in steps of the coding, or for its counts. `size`: how many rows it has;
        `known`: its rows of the reference, None if that cannot tell its groups."""
        key = self._key(size, known)
        if key not in self.found:
            made, said = self._calibrated(size, known)
            context = replace(made.context, assumptions=(*self.stated, *said), unit=ONE_RECORD)
            self.found[key] = replace(made, context=context)
        found, (asked, reading) = self.found[key], self._written
        told = {**asked, "by": self.by, "group": name, "rows": size}
        sealed = found.certificate.amended(found.context.assumptions, ONE_RECORD, reading, told)
        return replace(found, certificate=sealed, once=Once())

    @cached_property
    def _written(self) -> tuple[Json, Json]:
        """What is asked and how records are read, frozen once for all groups."""
        return frozen(self.asked), frozen(self.schema.to_json())

    def laws(self, known: Rows | None) -> dict[str, dict[str, Counts]]:
        """{adversary: {secret: counts of codes}}; empty where no belief is used."""
        pooled = self._pooled
        if self.tabulated and (self.top < 1 or _thin(pooled)):
            return {}
        if self.by is None or known is None:
            return {"": pooled}
        inside = {label: counts for label, counts in self._counts(known).items() if label in pooled}
        return {} if _thin(inside) else {"adversary 1: ": pooled, "adversary 2: ": inside}

    @cached_property
    def _pooled(self) -> dict[str, Counts]:
        """Of all rows. A secret that has none is as protected as the others in a table of counts, which then uses no
        belief; of a sum nothing is promised about it."""
        found = self._counts(slice(None))
        if self.tabulated:
            return found
        found = {label: counts for label, counts in found.items() if counts.any()}
        if len(found) < 2:
            raise BadTable(f"the reference has rows for {several(len(found), 'secret')}; at least two are needed")
        return found

    def _counts(self, rows: Rows | slice) -> dict[str, Counts]:
        """Counts of codes given each secret, among these rows of the reference."""
        codes = self.codes[rows]
        return {label: np.bincount(codes[mask[rows]], minlength=self.top + 1) for label, mask in self.secrets.items()}

    def _key(self, size: int, known: Rows | None) -> Hashable:
        """What the laws of a group follow from: two groups of one key have the same."""
        laws = self.laws(known)
        if not laws:
            return "plain"
        whole = self.tabulated or (size > 1 and taken_alone(size, self.top + 1, self.budget))
        here: Rows | slice = slice(0) if self.by is None or known is None else known
        others = np.bincount(self.codes[here], minlength=self.top + 1).tobytes()
        counts = [law.tobytes() for given in laws.values() for law in given.values()]
        return "many" if whole else size, *counts, others

    def beliefs(self, size: int, known: Rows | None) -> tuple[Beliefs, tuple[str, ...]]:
        """What every adversary believes of a group, and what is said of that, last what it rests on."""
        laws = self.laws(known)
        if not laws and not self.tabulated:
            return [Shifted(self.top)], (f"beliefs: {PLAIN_SUM}",)
        if not laws and (self.top < 1 or not self.budget.delta):
            return [Shifted(2)], (PLAIN_CELL,)
        if not laws:
            one, other = (CellLaw(np.eye(self.top + 1, dtype=np.int64)[k]) for k in (0, 1))
            return [LawPair(one, other, "any cell vs any other")], (PLAIN_CELL,)
        said = (TWO,) if len(laws) > 1 else () if self.by is None or known is not None else (LACKING.format(self.by),)
        pairs: Beliefs = []
        if self.tabulated:
            for who, given in laws.items():
                cells = {label: CellLaw(counts) for label, counts in given.items()}
                pairs += [LawPair(cells[a], cells[b], f"{who}{a} vs {b}") for a, b in combinations(cells, 2)]
            return pairs, (*said, CELLS, NO_TOTALS)
        values, note = np.arange(self.top + 1), ""
        for (who, given), rows in zip(laws.items(), (slice(None), known), strict=False):
            pooled = Discrete(values, np.bincount(self.codes[rows], minlength=self.top + 1))
            own = {label: Discrete(values, counts) for label, counts in given.items()}
            found, note = sum_pairs(own, pooled, size, self.budget, who)
            pairs += found
        if note != ALONE:  # else nothing is assumed of the others but independence
            said = (*said, OTHERS, *([OTHERS_HERE] if TWO in said else []))
        return pairs, (*said, f"beliefs: {note}")

    def _calibrated(self, size: int, known: Rows | None) -> tuple[Mechanism, tuple[str, ...]]:
        """The least noise, and what is said. No support of a law is used to move values: a number is what it is.

        On counts Laplace noise, or Gaussian noise where that has the smaller error: with a delta that is not small."""
        pairs, said = self.beliefs(size, known)
        if not self.tabulated:
            alone = said[-1] == f"beliefs: {ALONE}"
            found = calibrate(pairs, self.budget, noise="laplace" if alone else "best", grid=1)
            return replace(found, support=None), said
        found = calibrate(pairs, self.budget, noise="laplace", grid=1)
        if self.budget.delta and self.top > 0 and self._gaussian_may_win(found, known):
            other = calibrate(pairs, self.budget, noise="gaussian", grid=1)
            found = min(found, other, key=lambda m: m.noise.expected_error())
        return found, said

    def _gaussian_may_win(self, found: Mechanism, known: Rows | None) -> bool:
        """Whether Gaussian noise of the same expected error comes near the budget, seen roughly."""
        if found.noise.silent:
            return False
        ask = self.budget.asks()
        same = Gaussian(found.noise.expected_error() * math.sqrt(math.pi / 2), 1)
        pairs = [pair for given in self.laws(known).values() for pair in combinations(given.values(), 2)]
        pairs = pairs or [(np.array([1, 0]), np.array([0, 1]))]
        target = float(ask.delta)
        rough = (
            gaussian_delta(p, q, same.precision, ask.epsilon, target, _ROUGH)
            for one, other in pairs
            for p, q in ((one, other), (other, one))
        )
        return all(value <= 1.5 * target for value in rough)


def _thin(given: Mapping[str, Counts]) -> bool:
    """Whether a secret has too few rows of the reference for its laws to be believed."""
    return len(given) < 2 or any(int(counts.sum()) < LEAST_ROWS for counts in given.values())


def sum_pairs(
    given: Mapping[str, Discrete], pooled: Discrete, rows: int, budget: Pure | Approx, who: str = ""
) -> tuple[list[LawPair], str]:
    """The laws of the sum of `rows` records given each secret of one of them, and what they rest on.

    `given`: the law of one record's code given each secret; `pooled`: of a record of which nothing is known. Given
    secret s the sum is X_s + (rows - 1) pooled records, independent. A pure budget needs exact laws, and its loss is
    mostly decided in the tails, where the others hide nothing: for large groups the pair of single-record laws is
    taken, which is sound (the others are added after the noise) and assumes nothing of the others' laws."""
    if rows == 1:
        totals, note = given, "one record's law: the group has no other"
    elif taken_alone(rows, len(pooled.values), budget):
        totals, note = given, ALONE
    else:
        others = pooled.iid_sum(rows - 1, method="auto" if budget.delta > 0 else "exact")
        totals = {name: sum_of([law, others]) for name, law in given.items()}
        note = f"one record's law and {rows - 1} {TOTALS}"
    return [LawPair(totals[a], totals[b], f"{who}{a} vs {b}") for a, b in combinations(totals, 2)], note


def taken_alone(rows: int, values: int, budget: Pure | Approx) -> bool:
    """Whether a group is so large that only one record's law is looked at, whatever the others."""
    return not budget.delta > 0 and rows * values > _SMALL
