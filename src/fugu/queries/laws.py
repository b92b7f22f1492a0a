"""What a sum over independent records says about one record's secret: the law pairs behind a query."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fugu.documents.sentences import TOTALS
from fugu.errors import BadTable
from fugu.guarantee import Approx, Pure
from fugu.laws import Discrete, LawPair
from fugu.laws.sums import sum_of
from fugu.queries.grouped import Rows
from fugu.visible import several

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
