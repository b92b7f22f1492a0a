"""Fitting chains to reference sequences: one chain, or the limits of all that they cannot rule out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from fugu.data.counted import CountedSequences
from fugu.data.frame import framed
from fugu.errors import BadTable, MissingValues, UsageError
from fugu.numbers.checks import is_number
from fugu.numbers.exact import Real, as_fraction
from fugu.priors.interval_chain import (
    GIVEN,
    IntervalChain,
    Limits,
    Start,
    beginning,
)
from fugu.priors.transitions import named, read_states

if TYPE_CHECKING:
    from fugu.priors.chain import MarkovChain

# Fitting a chain to reference sequences: transition frequencies, and smoothing only if asked for.

_MOST_STATES = 4096
FITTED = "fitted"


def fitted(
    cls: type[MarkovChain],
    sequences: Iterable[Iterable[Hashable]],
    states: Iterable[Hashable] | None,
    smoothing: float,
    length: int | None,
    start: Any = FITTED,
) -> MarkovChain:
    """P(y | x) = (n(x, y) + smoothing) / (n(x, .) + k smoothing), n = transitions within the reference sequences.

    The start is P(x) = (f(x) + smoothing) / (N + k smoothing) with f(x) of the N sequences beginning at x. One sequence
    fits no start: "fitted" then covers every one, as "any" does. "stationary" is the caller's own claim, and refused
    where a state has no mass. Without `length` the chain is as long as the longest reference sequence. Smoothing makes
    another prior, and the guarantee is for that one: it is the caller's choice and is written into the assumptions, as
    the start is. A state that no reference sequence ever leaves has no frequencies: refused.

    >>> from fugu.priors.chain import MarkovChain
    >>> chain = MarkovChain.fit(["aababb", "bbabaa", "babbab", "abaabb"])
    >>> chain.states, chain.transition(1)[0].tolist(), chain.marginal(1).tolist(), chain.length
    (('a', 'b'), [0.3, 0.7], [0.5, 0.5], 6)
    >>> MarkovChain.fit(["aababb"])
    MarkovChain(2 states, length 6, any start)
    """
    if isinstance(smoothing, bool) or not isinstance(smoothing, (int, float, np.integer, np.floating)):
        raise UsageError("smoothing must be a number >= 0, added to every transition count")
    if not math.isfinite(smoothing) or smoothing < 0 or 0 < smoothing < 1e-100:
        raise UsageError("smoothing must be 0 or a finite number of at least 1e-100, added to every transition count")
    add = float(smoothing)
    number, longest, names, counts, begun = counted(sequences, states, start)
    weights = counts + add
    if (empty := weights.sum(axis=1) == 0).any():
        raise BadTable(
            f"{int(empty.sum())} of {len(names)} states are never left in the reference sequences, so nothing is known "
            "of what follows them; give smoothing= (say 0.5), longer sequences, or states= without them"
        )
    law, begins = _start(start, _normalised((begun + add)[None])[0], number)
    smoothed = (
        f"the guarantee is for the smoothed prior: {add:g} was added to every transition count and every count of "
        "first entries; it is not a guarantee for the chain without smoothing"
    )
    more = (begins, *((smoothed,) if add > 0 else ()))
    said = fit_words("the chain was fitted on", number, more, longest if length is None else None)
    return cls(_normalised(weights), longest if length is None else length, law, names, said)


def fit_words(what: str, number: int, more: tuple[str, ...], longest: int | None) -> tuple[str, ...]:
    """What a fit takes for granted: how many reference sequences there are, which are public, and how long they are."""
    many = f"{number} reference sequences, which count as public"
    first = f"{what} {many if number > 1 else '1 reference sequence, which counts as public'}"
    told = f"sequences have length {longest}, that of the longest reference sequence"
    return (first, *more, *(() if longest is None else (told,)))


def counted(
    sequences: Iterable[Iterable[Hashable]] | CountedSequences[Any], states: Iterable[Hashable] | None, start: Any
) -> tuple[int, int, tuple[Hashable, ...], NDArray[np.float64], NDArray[np.float64]]:
    """How many sequences there are, how long the longest is, their states, how often each follows each, and how many
    sequences begin at each; `start` is looked at."""
    if not isinstance(sequences, Mapping) and framed(sequences) is not None:
        raise BadTable(
            "a table is not a list of sequences: fugu.sequences.read_sequences(table, by=, order=, state=) makes "
            "sequences of a public one"
        )
    if isinstance(sequences, CountedSequences):
        found = sequences
    else:
        listed = sequences.values() if isinstance(sequences, Mapping) else sequences
        found = CountedSequences.of([_sequence(sequence) for sequence in listed])
    if not found.number:
        raise BadTable("sequences must hold at least one reference sequence")
    if states is not None:
        given = tuple(states)
        names = read_states(given, len(given))
    else:
        seen = list(found.entries)
        if len(seen) > _MOST_STATES:
            raise BadTable(f"more than {_MOST_STATES} states; group them first")
        try:
            names = tuple(sorted(seen))
        except TypeError:
            names = tuple(seen)
    order = {name: at for at, name in enumerate(names)}
    counts, begun = np.zeros((len(names), len(names))), np.zeros(len(names))
    if not order.keys() >= found.entries.keys():
        raise BadTable("the reference sequences hold a state that states= does not list; add it")
    for (before, entry), n in found.steps.items():
        counts[order[before], order[entry]] += n
    for entry, n in found.first.items():
        begun[order[entry]] += n
    if isinstance(start, str) and start not in (FITTED, "any", "stationary"):
        raise UsageError(f"start must be 'fitted', 'any', 'stationary' or a law over the states, got {start!r}")
    return found.number, found.longest, names, counts, begun


def _start(start: Any, fitted: NDArray[np.float64], sequences: int) -> tuple[Any, str]:
    """What the chain begins with, and what that assumes."""
    if not isinstance(start, str):
        return start, "the law of the first entry is the one that was given"
    if start == FITTED and sequences > 1:
        return fitted, "the law of the first entry is that of the first entries of the reference sequences"
    if start == "stationary":
        return start, "every sequence begins in the stationary law: it has run for long before its first entry"
    one = "one reference sequence fits no start: " if start == FITTED else ""
    return "any", f"{one}every law of the first entry is covered"


def _normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.array([math.fsum(row) for row in weights])
    return np.asarray(weights / sums[:, None])


def _sequence(given: Any) -> list[Hashable]:
    try:
        found = given.tolist() if isinstance(given, np.ndarray) else list(given)
    except TypeError:
        raise BadTable("sequences must be a list of sequences, not one sequence of numbers") from None
    if len(found) < 2:
        raise BadTable("a reference sequence has fewer than 2 entries, so it holds no transition; leave it out")
    for entry in found:
        if entry is None or entry != entry:  # NaN  # noqa: PLR0124
            raise MissingValues("a reference sequence has missing entries; split it there, or name a state for them")
        try:
            hash(entry)
        except TypeError:
            raise BadTable("entries must be hashable states; an array of sequences must be 2-d") from None
    return found


# Fitting limits of a chain to reference sequences: all chains that they cannot rule out, with a stated confidence.

_ENOUGH = 10
"""Reference sequences for each state: the first entries of fewer are not worth a share of the error."""


def fitted_limits(
    sequences: Iterable[Iterable[Hashable]],
    states: Iterable[Hashable] | None,
    confidence: Real,
    length: int | None,
    start: Any = FITTED,
) -> IntervalChain:
    """All chains whose rows lie in the mixture intervals of the reference transitions.

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
    number, longest, names, counts, begun = counted(sequences, states, start)
    fits = isinstance(start, str) and start == FITTED and number >= _ENOUGH * len(names)
    evidence = CountedTransitions(_whole(counts), _whole(begun[None])[0] if fits else None, level)
    never = np.flatnonzero(counts.sum(axis=1) == 0)
    more = (f"the reference never leaves {named(names, never)}: anything may follow there",) if never.size else ()
    said = fit_words("the limits were found on", number, more, longest if length is None else None)
    begins = "any" if isinstance(start, str) and start == FITTED else start
    return limited(evidence, longest if length is None else length, begins, names, said)


def limited(
    evidence: CountedTransitions, length: int, start: Any, states: Iterable[Hashable], assumptions: tuple[str, ...] = ()
) -> IntervalChain:
    """The chains between the limits of what was counted; `start` counts where no first entries were counted."""
    rows, fitted = evidence.limits()
    first: Limits | None
    kind: Start
    first, kind = (fitted, GIVEN) if fitted is not None else beginning(start)
    return IntervalChain.between(rows, length, first, kind, states, (*evidence.words(), *assumptions), evidence)


def _whole(counts: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(n) for n in row) for row in np.asarray(counts))


# Limits of the rows of a chain from the transitions of reference sequences, with a stated confidence.
#
# The i-th departure from a state goes to y with the probability of its row, whatever went before; but how often a state
# is left is random, so limits for a fixed number of draws are not proved here. Mixture intervals hold for all numbers
# of draws at once (Ville's inequality):
#
#     { p : p^c (1 - p)^(n - c) >= a B(c + 1/2, n - c + 1/2) / B(1/2, 1/2) },    c of n departures from x go to y.
#
# The error 1 - confidence is shared equally over all intervals: one for each ordered pair of declared states, seen or
# not (one for each state if there are two), and one for each state as the first entry where the start is fitted (one if
# there are two). So all of them hold at once with the confidence, over the draw of the reference.
#
# Proofs: docs/proofs/contraction.md#rows-known-up-to-limits.

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
class CountedTransitions:
    """What was counted in the reference: `transitions` from row to column, the `first` entries (None: the start is not
    fitted), and the `confidence` that all limits hold, in (0, 1)."""

    DIGESTED: ClassVar[str] = "Counted"
    """What the digests of priors call it since 0.3 (`fugu.ledger.fingerprint`)."""
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
        from fugu.laws.sets.levels import mixture_interval  # priors without counts need no sets of laws

        rows = self.transitions if self.first is None else (*self.transitions, self.first)
        found = [[mixture_interval(count, sum(row), self.error) for count in row] for row in rows]
        low, high = np.moveaxis(np.array(found), -1, 0).copy()
        first = None if self.first is None else Limits(low[-1], high[-1])
        return Limits(low[: self.size], high[: self.size]), first

    def words(self) -> tuple[str, str]:
        """What the confidence means, and what it rests on."""
        return MEANS.format(confidence=f"the confidence of {float(self.confidence):.10g}"), RESTS


def read_confidence(given: Any) -> Fraction:
    """A number in (0, 1); UsageError otherwise."""
    if not is_number(given) or not 0 < given < 1:
        raise UsageError(f"confidence must lie between 0 and 1, both excluded, such as 0.95; got {given!r}")
    return as_fraction(given)
