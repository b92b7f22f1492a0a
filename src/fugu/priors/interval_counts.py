"""Limits of the rows of a chain from the transitions of reference sequences, with a stated confidence.

The i-th departure from a state goes to y with the probability of its row, whatever went before; but how often a state
is left is random, so limits for a fixed number of draws are not proved here. Mixture intervals hold for all numbers of
draws at once (Ville's inequality):

    { p : p^c (1 - p)^(n - c) >= a B(c + 1/2, n - c + 1/2) / B(1/2, 1/2) },    c of n departures from x go to y.

The error 1 - confidence is shared equally over all intervals: one for each ordered pair of declared states, seen or not
(one for each state if there are two), and one for each state as the first entry where the start is fitted (one if there
are two). So all of them hold at once with the confidence, over the draw of the reference.

Proofs: docs/proofs/contraction.md#rows-known-up-to-limits.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np

from fugu.errors import UsageError
from fugu.numbers.checks import is_number
from fugu.numbers.exact import as_fraction
from fugu.priors.interval_limits import Limits

MEANS = (
    "{confidence} is the probability, over the draw of the reference sequences and before they were seen, that the "
    "limits hold the chain they were drawn from; it is spent once, for every release that uses these limits, and is "
    "not a delta: if the limits miss the chain, nothing is promised"
)
RESTS = (
    "the reference sequences are independent of each other and of the protected ones and of their secrets, follow one "
    "chain that is the same at every step, the protected ones follow a chain between the limits, and the states were "
    "declared before the reference was looked at"
)


@dataclass(frozen=True)
class Counted:
    """What was counted in the reference: `transitions` from row to column, the `first` entries (None: the start is not
    fitted), and the `confidence` that all limits hold, in (0, 1)."""

    transitions: tuple[tuple[int, ...], ...]
    first: tuple[int, ...] | None
    confidence: Fraction

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.transitions)

    @property
    def intervals(self) -> int:
        """How many intervals share the error."""
        return (self.size + (self.first is not None)) * (self.size if self.size > 2 else 1)

    @cached_property
    def error(self) -> Fraction:
        """The error of each interval."""
        return (1 - self.confidence) / self.intervals

    def limits(self) -> tuple[Limits, Limits | None]:
        """The limits of the rows, and of the law of the first entry."""
        rows = [self._row(row) for row in self.transitions]
        both = Limits(np.array([low for low, _ in rows]), np.array([high for _, high in rows]))
        if self.first is None:
            return both, None
        low, high = self._row(self.first)
        return both, Limits(np.array(low), np.array(high))

    def _row(self, counts: tuple[int, ...]) -> tuple[list[float], list[float]]:
        from fugu.laws.sets.mixture import mixture_interval  # priors without counts need no sets of laws

        total = sum(counts)
        found = [mixture_interval(count, total, self.error) for count in counts]
        return [low for low, _ in found], [high for _, high in found]

    def words(self) -> tuple[str, str]:
        """What the confidence means, and what it rests on."""
        return MEANS.format(confidence=f"the confidence of {float(self.confidence):.10g}"), RESTS


def read_confidence(given: Any) -> Fraction:
    """A number in (0, 1); UsageError otherwise."""
    if not is_number(given) or not 0 < given < 1:
        raise UsageError(f"confidence must lie between 0 and 1, both excluded, such as 0.95; got {given!r}")
    return as_fraction(given)
