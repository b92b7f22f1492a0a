"""Secrets of probability 0: under this belief nobody can hold them, so nothing compares them, and they are named."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

_RUNS = 3


def skipped(prior: Any) -> tuple[str, ...]:
    """What the guarantee under a prior does not speak of, in words; for sets and blocks of priors, those of each.

    >>> from fugu.priors.chain import MarkovChain
    >>> skipped(MarkovChain([[0.97, 0.03, 0], [0, 0.98, 0.02], [0, 0, 1]], 100, [1, 0, 0], ["well", "ill", "dead"]))
    ("'ill' at entry 1", "'dead' at entries 1 to 2")
    """
    own = getattr(prior, "skipped", None)
    if own is not None:
        return tuple(own)
    parts: Iterable[Any] = ()
    if isinstance(prior, Mapping):
        parts = prior.values()
    elif isinstance(prior, list | tuple):
        parts = prior
    elif hasattr(prior, "priors"):
        parts = prior.priors
    elif hasattr(prior, "chains"):
        parts = prior.chains
    elif hasattr(prior, "chain"):
        parts = (prior.chain,)
    return tuple(dict.fromkeys(line for part in parts for line in skipped(part)))


def of_supports(states: tuple[Hashable, ...], supports: NDArray[np.bool_], length: int) -> tuple[str, ...]:
    """For each state the entries whose law gives it no mass; `supports` has a row for each entry, or one for all."""
    found = []
    for state, seen in zip(states, supports.T, strict=True):
        if not seen.all():
            found.append(f"{state!r} at {_entries(np.broadcast_to(~seen, (length,)))}")
    return tuple(found)


def _entries(never: NDArray[np.bool_]) -> str:
    if never.all():
        return "every entry"
    edges = np.flatnonzero(np.diff(np.concatenate([[False], never, [False]]).astype(np.int8)))
    runs = [(int(a) + 1, int(b)) for a, b in zip(edges[::2], edges[1::2], strict=True)]
    if len(runs) > _RUNS:
        return f"{int(never.sum())} of {len(never)} entries, the first of them {runs[0][0]}"
    plural = "entries" if len(runs) > 1 or runs[0][0] < runs[0][1] else "entry"
    return f"{plural} {', '.join(str(a) if a == b else f'{a} to {b}' for a, b in runs)}"
