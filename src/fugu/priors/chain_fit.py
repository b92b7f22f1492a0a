"""Fitting a chain to reference sequences: transition frequencies, and smoothing only if asked for."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.data.sources import framed
from fugu.errors import BadTable, MissingValues, UsageError
from fugu.priors.chain_check import read_states

if TYPE_CHECKING:
    from fugu.priors.chain import MarkovChain

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
    add = _smoothing(smoothing)
    read, names, counts, begun = counted(sequences, states)
    weights = counts + add
    if (empty := weights.sum(axis=1) == 0).any():
        raise BadTable(
            f"{int(empty.sum())} of {len(names)} states are never left in the reference sequences, so nothing is known "
            "of what follows them; give smoothing= (say 0.5), longer sequences, or states= without them"
        )
    law, begins = _start(start, _normalised((begun + add)[None])[0], len(read))
    return cls(
        _normalised(weights),
        max(map(len, read)) if length is None else length,
        law,
        states=names,
        assumptions=_assumptions(len(read), add, length is None, max(map(len, read)), begins),
    )


def counted(
    sequences: Iterable[Iterable[Hashable]], states: Iterable[Hashable] | None
) -> tuple[list[list[Hashable]], tuple[Hashable, ...], NDArray[np.float64], NDArray[np.float64]]:
    """The sequences, their states, how often each state follows each, and how many sequences begin at each."""
    if not isinstance(sequences, Mapping) and framed(sequences) is not None:
        raise BadTable(
            "a table is not a list of sequences: fugu.sequences.read_sequences(table, by=, order=, state=) makes "
            "sequences of a public one"
        )
    listed = sequences.values() if isinstance(sequences, Mapping) else sequences
    read = [_sequence(sequence) for sequence in listed]
    if not read:
        raise BadTable("sequences must hold at least one reference sequence")
    names = _names(read, states)
    order = {name: at for at, name in enumerate(names)}
    counts, begun = np.zeros((len(names), len(names))), np.zeros(len(names))
    for sequence in read:
        try:
            at = np.array([order[entry] for entry in sequence])
        except KeyError:
            raise BadTable("the reference sequences hold a state that states= does not list; add it") from None
        np.add.at(counts, (at[:-1], at[1:]), 1.0)
        begun[at[0]] += 1
    return read, names, counts, begun


def _start(start: Any, fitted: NDArray[np.float64], sequences: int) -> tuple[Any, str]:
    """What the chain begins with, and what that assumes."""
    if not isinstance(start, str):
        return start, "the law of the first entry is the one that was given"
    if start not in (FITTED, "any", "stationary"):
        raise UsageError(f"start must be 'fitted', 'any', 'stationary' or a law over the states, got {start!r}")
    if start == FITTED and sequences > 1:
        return fitted, "the law of the first entry is that of the first entries of the reference sequences"
    if start == "stationary":
        return start, "every sequence begins in the stationary law: it has run for long before its first entry"
    one = "one reference sequence fits no start: " if start == FITTED else ""
    return "any", f"{one}every law of the first entry is covered"


def _assumptions(sequences: int, add: float, longest: bool, length: int, begins: str) -> tuple[str, ...]:
    many = f"{sequences} reference sequences" if sequences > 1 else "1 reference sequence"
    said = [f"the chain was fitted on {many}, which count{'s' * (sequences == 1)} as public", begins]
    if add > 0:
        said.append(
            f"the guarantee is for the smoothed prior: {add:g} was added to every transition count and every count of "
            "first entries; it is not a guarantee for the chain without smoothing"
        )
    if longest:
        said.append(f"sequences have length {length}, that of the longest reference sequence")
    return tuple(said)


def _normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.array([math.fsum(row) for row in weights])
    return np.asarray(weights / sums[:, None])


def _smoothing(given: Any) -> float:
    if isinstance(given, bool) or not isinstance(given, (int, float, np.integer, np.floating)):
        raise UsageError("smoothing must be a number >= 0, added to every transition count")
    if not math.isfinite(given) or given < 0 or 0 < given < 1e-100:
        raise UsageError("smoothing must be 0 or a finite number of at least 1e-100, added to every transition count")
    return float(given)


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


def _names(read: list[list[Hashable]], states: Iterable[Hashable] | None) -> tuple[Hashable, ...]:
    if states is not None:
        names = tuple(states)
        return read_states(names, len(names))
    seen = list(dict.fromkeys(entry for sequence in read for entry in sequence))
    if len(seen) > _MOST_STATES:
        raise BadTable(f"more than {_MOST_STATES} states; group them first")
    try:
        return tuple(sorted(seen))  # type: ignore[type-var]
    except TypeError:
        return tuple(seen)
