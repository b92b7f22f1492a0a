"""Fitting limits of a chain to reference sequences: all chains that they cannot rule out, with a stated confidence."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from fugu.errors import UsageError
from fugu.numbers.exact import Real
from fugu.priors.chain_fit import FITTED, counted
from fugu.priors.interval_chain import GIVEN, IntervalChain, Start, beginning
from fugu.priors.interval_counts import Counted, read_confidence
from fugu.priors.interval_limits import Limits

_ENOUGH = 10
"""Reference sequences for each state: the first entries of fewer are not worth a share of the error."""


def fitted_limits(
    sequences: Iterable[Iterable[Hashable]],
    states: Iterable[Hashable] | None,
    confidence: Real,
    length: int | None,
    start: Any = FITTED,
) -> IntervalChain:
    """All chains whose rows lie in the mixture intervals of the reference transitions (`interval_counts`).

    `states` must be declared: those that occur are chosen by the reference, and an unseen one has its limits too. A
    state that no sequence leaves may go anywhere. "fitted" gives limits of the law of the first entry too, which share
    the error, if there are at least 10 sequences for each state; of fewer it covers every start. That depends on the
    numbers of sequences and states alone, not on what was counted.

    >>> fitted_limits(["aababb" * 40, "bbabaa" * 40], "ab", 0.95, None)
    IntervalChain(2 states, length 240, any start, confidence 0.95)
    """
    level = read_confidence(confidence)
    if states is None:
        raise UsageError(
            "confidence= needs states=, all that there are, declared before the reference is looked at: a state that "
            "does not occur in it has limits too"
        )
    read, names, counts, begun = counted(sequences, states)
    fits = isinstance(start, str) and start == FITTED and len(read) >= _ENOUGH * len(names)
    if isinstance(start, str) and start not in (FITTED, "any", "stationary"):
        raise UsageError(f"start must be 'fitted', 'any', 'stationary' or a law over the states, got {start!r}")
    evidence = Counted(_whole(counts), _whole(begun[None])[0] if fits else None, level)
    longest = max(map(len, read))
    many = f"{len(read)} reference sequences" if len(read) > 1 else "1 reference sequence"
    said: tuple[str, ...] = (f"the limits were found on {many}, which count{'s' * (len(read) == 1)} as public",)
    if length is None:
        said = (*said, f"sequences have length {longest}, that of the longest reference sequence")
    return limited(evidence, longest if length is None else length, "any" if start == FITTED else start, names, said)


def limited(
    evidence: Counted, length: int, start: Any, states: Iterable[Hashable], assumptions: tuple[str, ...] = ()
) -> IntervalChain:
    """The chains between the limits of what was counted; `start` counts where no first entries were counted."""
    rows, fitted = evidence.limits()
    first: Limits | None
    kind: Start
    first, kind = (fitted, GIVEN) if fitted is not None else beginning(start)
    return IntervalChain.between(rows, length, first, kind, states, (*evidence.words(), *assumptions), evidence)


def _whole(counts: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(n) for n in row) for row in np.asarray(counts))
