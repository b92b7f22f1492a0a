"""Fitting a chain to reference sequences: transition frequencies, and smoothing only if asked for."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fugu.dependence.chain_check import read_states
from fugu.errors import BadTable, MissingValues, UsageError

if TYPE_CHECKING:
    from fugu.dependence.chain import MarkovChain

_MOST_STATES = 4096


def fitted(
    cls: type[MarkovChain],
    sequences: Iterable[Iterable[Hashable]],
    states: Iterable[Hashable] | None,
    smoothing: float,
    length: int | None,
) -> MarkovChain:
    """P(y | x) = (n(x, y) + smoothing) / (n(x, .) + k smoothing), n = transitions within the reference sequences.

    The start is the stationary law of the fitted chain. Without `length` the chain is as long as the longest
    reference sequence. Smoothing makes another prior, and the guarantee is for that one: it is the caller's choice
    and is written into the assumptions. A state that no reference sequence ever leaves has no frequencies: refused.

    >>> from fugu.dependence.chain import MarkovChain
    >>> chain = MarkovChain.fit(["aababb", "bbabaa"])
    >>> chain.states, chain.transition(1).tolist(), chain.length
    (('a', 'b'), [[0.4, 0.6], [0.6, 0.4]], 6)
    """
    add = _smoothing(smoothing)
    read = [_sequence(sequence) for sequence in sequences]
    if not read:
        raise BadTable("sequences must hold at least one reference sequence")
    names = _names(read, states)
    order = {name: at for at, name in enumerate(names)}
    counts = np.zeros((len(names), len(names)))
    for sequence in read:
        try:
            at = np.array([order[entry] for entry in sequence])
        except KeyError:
            raise BadTable("the reference sequences hold a state that states= does not list; add it") from None
        np.add.at(counts, (at[:-1], at[1:]), 1.0)
    weights = counts + add
    if (empty := weights.sum(axis=1) == 0).any():
        raise BadTable(
            f"{int(empty.sum())} of {len(names)} states are never left in the reference sequences, so nothing is known "
            "of what follows them; give smoothing= (say 0.5), longer sequences, or states= without them"
        )
    return cls(
        _normalised(weights),
        max(map(len, read)) if length is None else length,
        states=names,
        assumptions=_assumptions(len(read), add, length is None, max(map(len, read))),
    )


def _assumptions(sequences: int, add: float, longest: bool, length: int) -> tuple[str, ...]:
    said = [f"the chain was fitted on {sequences} reference sequences, which count as public"]
    if add > 0:
        said.append(
            f"the guarantee is for the smoothed prior: {add:g} was added to every transition count; "
            "it is not a guarantee for the chain without smoothing"
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
