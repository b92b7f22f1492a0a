"""What a sum over independent records says about one record's secret: the law pairs behind a query."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadTable, NotProvable
from fugu.guarantee import Approx, Pure
from fugu.laws import Discrete, LawPair
from fugu.laws.sums import sum_of
from fugu.scenario.secrets import Secrets

ALONE = "one record's law alone: the other records only add randomness, which is post-processing"


@dataclass(frozen=True)
class RecordLaws:
    """The law of one record's code given each secret, and for a record of which nothing is known."""

    given: dict[str, Discrete]
    pooled: Discrete


def record_laws(codes: NDArray[np.int64], secrets: Secrets, top: int) -> RecordLaws:
    """Empirical laws of the codes in the reference."""
    values = np.arange(top + 1)
    given = {}
    for label, mask in secrets.masks().items():
        counts = np.bincount(codes[mask], minlength=top + 1)
        if counts.sum():
            given[label] = Discrete(values, counts)
    if len(given) < 2:
        raise BadTable(f"the reference has rows for {len(given)} secrets; at least two are needed")
    return RecordLaws(given, Discrete(values, np.bincount(codes, minlength=top + 1)))


def sum_pairs(laws: RecordLaws, rows: int, budget: Pure | Approx) -> tuple[list[LawPair], str]:
    """The laws of the sum of `rows` records given each secret of one of them, and what they rest on.

    Given secret s the sum is X_s + (rows - 1) pooled records, independent. A pure budget needs exact laws; where they
    are too large, the pair of single-record laws is taken, which is sound: the others are added after the noise."""
    try:
        if rows == 1:
            totals = laws.given
        else:
            method = "auto" if _has_delta(budget) else "exact"
            others = laws.pooled.iid_sum(rows - 1, method=method)
            totals = {name: sum_of([law, others], method=method) for name, law in laws.given.items()}
        if not _has_delta(budget) and any(law.error for law in totals.values()):
            raise NotProvable("a pure budget needs exact laws")
        note = f"one record's law and {rows - 1} independent others"
    except NotProvable:
        totals, note = laws.given, ALONE
    return [LawPair(totals[a], totals[b], f"{a} vs {b}") for a, b in combinations(totals, 2)], note


def _has_delta(budget: Pure | Approx) -> bool:
    return isinstance(budget, Approx) and budget.delta > 0
