"""Secrets of probability 0: under this belief nobody can hold them, so nothing compares them, and they are named."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from functools import singledispatch
from typing import Any

import numpy as np
from numpy.typing import NDArray

_RUNS = 3


@singledispatch
def skipped(prior: object) -> tuple[str, ...]:
    """What the guarantee under a prior does not speak of, in words; for lists and mappings of priors, that of each.

    >>> from fugu.priors.chain import MarkovChain
    >>> skipped(MarkovChain([[0.97, 0.03, 0], [0, 0.98, 0.02], [0, 0, 1]], 100, [1, 0, 0], ["well", "ill", "dead"]))
    ("'ill' at entry 1", "'dead' at entries 1 to 2")
    """
    return tuple(getattr(prior, "skipped", ()))  # a class from outside may have no such thing


@skipped.register(list)
@skipped.register(tuple)
def _of_each(priors: Iterable[object]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(line for prior in priors for line in skipped(prior)))


@skipped.register(Mapping)
def _of_values(priors: Mapping[Any, object]) -> tuple[str, ...]:
    return _of_each(list(priors.values()))


def of_supports(states: tuple[Hashable, ...], supports: NDArray[np.bool_], length: int) -> tuple[str, ...]:
    """For each state the entries whose law gives it no mass; `supports` has a row for each entry, or one for all."""
    found = []
    for state, seen in zip(states, supports.T, strict=True):
        if not seen.all():
            found.append(f"{state!r} at {_entries(np.broadcast_to(~seen, (length,)))}")
    return tuple(found)


def of_variables(names: Iterable[str], supports: Iterable[NDArray[np.bool_]]) -> tuple[str, ...]:
    """For each variable the numbers, from 0, of the values that it never has."""
    never = [(name, np.flatnonzero(~seen)) for name, seen in zip(names, supports, strict=True)]
    return tuple(f"value {int(value)} of {name!r}" for name, values in never for value in values)


def _entries(never: NDArray[np.bool_]) -> str:
    if never.all():
        return "every entry"
    edges = np.flatnonzero(np.diff(np.concatenate([[False], never, [False]]).astype(np.int8)))
    runs = [(int(a) + 1, int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    if len(runs) > _RUNS:
        return f"{int(never.sum())} of {len(never)} entries, the first of them {runs[0][0]}"
    plural = "entries" if len(runs) > 1 or runs[0][0] < runs[0][1] else "entry"
    return f"{plural} {', '.join(str(a) if a == b else f'{a} to {b}' for a, b in runs)}"
