"""Several chains that an adversary may believe in, and users on a grid of times, each seen at some of its points."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from itertools import accumulate, pairwise

import numpy as np

from fugu.errors import BadLaw, UsageError
from fugu.numbers.exact import MatrixLike, is_whole
from fugu.priors.chain import STATIONARY, Array, MarkovChain, Start
from fugu.priors.prior import SeveralPriors

# Proofs: docs/proofs/influence.md#sets-of-priors.


class SeveralChains(SeveralPriors):
    """Chains over the same states, of which the worst counts."""

    chains: tuple[MarkovChain, ...]

    @property
    def members(self) -> tuple[MarkovChain, ...]:
        """The chains."""
        return self.chains

    def __iter__(self) -> Iterator[MarkovChain]:
        return iter(self.chains)

    @property
    def length(self) -> int:
        """The number of entries of the longest."""
        return max(chain.length for chain in self.chains)

    @property
    def size(self) -> int:
        """The number of states."""
        return self.chains[0].size

    @property
    def states(self) -> tuple[Hashable, ...]:
        """The states, in the order of the rows."""
        return self.chains[0].states


class ChainSet(SeveralChains):
    """Chains of one length over the same states; a bound for the set is the largest over its members.

    `chains`: at least one `MarkovChain`. Raises `UsageError` where lengths or states differ.

    >>> weak, strong = (MarkovChain([[p, 1 - p], [1 - p, p]], length=9) for p in (0.6, 0.8))
    >>> len(ChainSet([weak, strong])), ChainSet([weak, strong]).size
    (2, 2)
    """

    assumptions: tuple[str, ...]

    def __init__(self, chains: Iterable[MarkovChain]) -> None:
        given = tuple(chains)
        if not given:
            raise UsageError("a set of chains needs at least one chain")
        if any(not isinstance(chain, MarkovChain) for chain in given):
            raise UsageError("a set of chains holds MarkovChain objects only")
        if len({chain.length for chain in given}) > 1:
            raise UsageError("all chains of a set must have one length: they are beliefs about the same sequence")
        if len({chain.states for chain in given}) > 1:
            raise UsageError("all chains of a set must have the same states in the same order")
        said = dict.fromkeys(line for chain in given for line in chain.assumptions)
        vars(self).update(chains=given, assumptions=(f"the sequence follows one of {len(given)} chains", *said))

    @classmethod
    def example(cls) -> ChainSet:
        return cls([MarkovChain([[p, 1 - p], [1 - p, p]], length=9) for p in (0.6, 0.8)])

    def __len__(self) -> int:
        return len(self.chains)

    def __repr__(self) -> str:
        return f"ChainSet({len(self)} chains, {self.size} states, length {self.length})"

    @property
    def forbidden(self) -> bool:
        """Whether some transition has probability 0 in some chain."""
        return any(chain.forbidden for chain in self.chains)


# Users on a regular grid of times, each seen at some of its points: for each pattern a chain with powers of a kernel.
#
# Proofs: docs/proofs/gaps.md#powers, docs/proofs/gaps.md#patterns-that-cover-others.

Steps = tuple[int, ...]
_PATTERNS, _ENTRIES = 256, 20_000
_WORK = 10_000
"""Entries times states squared: a minute of translation."""


class GapChains(SeveralChains):
    """Independent users who follow one kernel on a regular grid and are seen at some points of it; the worst counts.

    Parameters:

    - `transition`: (k, k), the kernel of one step of the grid.
    - `steps`: for each pattern the steps between neighbouring entries that are seen, whole numbers of at least 1: 1
      without a gap, g + 1 where g points are missing. The kernel of m steps is the m-th power, worked out in doubles
      and normalised; the prior meant is that with these numbers.
    - `initial`: the law of the first entry that is seen, of every user: a law, "any", or "stationary".
    - `states`: names of the rows, by default 0 .. k-1. `assumptions`: further words for certificates.

    Raises `BadLaw` and `UsageError` as `MarkovChain` does.

    >>> GapChains([[0.9, 0.1], [0.2, 0.8]], [(1, 1, 3), (2, 1)])
    GapChains(2 patterns, 2 states, up to 4 entries)
    """

    steps: tuple[Steps, ...]
    step: MarkovChain
    assumptions: tuple[str, ...]

    def __init__(
        self,
        transition: MatrixLike,
        steps: Iterable[Sequence[int]],
        initial: Start = "any",
        states: Iterable[Hashable] | None = None,
        assumptions: tuple[str, ...] = (),
    ) -> None:
        patterns = tuple(map(tuple, steps))
        if any(not given or not all(is_whole(m, 1, 2**62) for m in given) for given in patterns):
            raise UsageError(
                "a pattern is a list of whole numbers of at least 1: the steps between neighbouring entries"
            )
        patterns = tuple(tuple(map(int, given)) for given in patterns)
        if not patterns or len(patterns) > _PATTERNS or sum(map(len, patterns)) > _ENTRIES:
            raise UsageError(f"steps must be 1 to {_PATTERNS} patterns with at most {_ENTRIES} steps in all")
        one = MarkovChain(transition, 2, initial, states)
        start: Start = one.marginal(1) if isinstance(initial, str) and initial == STATIONARY else initial
        powers = powers_of(np.asarray(one.transition(1)), {m for pattern in patterns for m in pattern})
        chains = tuple(
            MarkovChain(np.array([powers[m] for m in pattern]), len(pattern) + 1, start, one.states, assumptions)
            for pattern in patterns
        )
        said = f"users are seen at some points of a regular grid, in one of {len(patterns)} patterns, which are public"
        words = dict.fromkeys((said, *(line for chain in chains for line in chain.assumptions)))
        vars(self).update(chains=chains, steps=patterns, step=one, assumptions=tuple(words))

    @classmethod
    def example(cls) -> GapChains:
        return cls([[0.6, 0.4], [0.2, 0.8]], [(1, 3, 1), (2, 1)], [0.9, 0.1], ["well", "ill"])

    def __repr__(self) -> str:
        return f"GapChains({len(self.steps)} patterns, {self.size} states, up to {self.length} entries)"

    @property
    def free(self) -> bool:
        """Whether every start is covered."""
        return self.step.free


def powers_of(kernel: Array, wanted: Iterable[int]) -> dict[int, Array]:
    """The powers of a kernel, by squaring, the same doubles on every machine; rows normalised.

    `BadLaw` where a positive probability is too small for a double: it would count as impossible."""
    squares, found = [kernel], {}
    for m in sorted(wanted):
        while 2 ** len(squares) <= m:
            squares.append(_times(squares[-1], squares[-1]))
        parts = [square for i, square in enumerate(squares) if m >> i & 1]
        found[m] = parts[0]
        for part in parts[1:]:
            found[m] = _times(found[m], part)
    return found


def _times(a: Array, b: Array) -> Array:
    """a b, summed in order: no library decides the last digit."""
    total = np.zeros_like(a)
    for j in range(len(a)):
        total += a[:, j, None] * b[None, j, :]
    possible = ((a > 0).astype(np.int64) @ (b > 0).astype(np.int64)) > 0
    if (possible != (total > 0)).any():
        raise BadLaw("a power of the transition has probabilities that are too small for a double; give smoothing")
    sums = np.array(list(accumulate(total.T, np.add))[-1])
    return np.asarray(total / sums[:, None])


def covering(times: Iterable[Sequence[int]], states: int, most: int = _WORK) -> tuple[Steps, ...] | None:
    """Patterns of steps that cover those of users seen at these points of a grid; None for the whole grid.

    A user who is seen at some of the points of a pattern, the first among them, is covered by it: the others are
    entries that are not published. Patterns inside others are left out; if the rest is more than `most` entries times
    states squared, all are covered by the one pattern of all points; if that is too much too, None."""
    seen = {frozenset(t - at[0] for t in at) for at in times if len(at) > 1}
    if not seen:
        return None
    if len(seen) <= _PATTERNS:
        largest = [points for points in seen if not any(points < other for other in seen)]
        if sum(map(len, largest)) * states**2 <= most:
            return tuple(sorted(map(_steps, largest)))
    together = _steps(frozenset[int]().union(*seen))
    whole = all(m == 1 for m in together) or (len(together) + 1) * states**2 > most
    return None if whole else (together,)


def _steps(points: frozenset[int]) -> Steps:
    return tuple(b - a for a, b in pairwise(sorted(points)))
