"""Several chains that an adversary may believe in: a set of priors, protected all at once.

Proofs: docs/proofs/influence.md#sets-of-priors.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator

from fugu.errors import UsageError
from fugu.priors.chain import MarkovChain
from fugu.priors.prior import Several


class ChainSet(Several):
    """Chains of one length over the same states; a bound for the set is the largest over its members.

    `chains`: at least one `MarkovChain`. Raises `UsageError` where lengths or states differ.

    >>> weak, strong = (MarkovChain([[p, 1 - p], [1 - p, p]], length=9) for p in (0.6, 0.8))
    >>> len(ChainSet([weak, strong])), ChainSet([weak, strong]).size
    (2, 2)
    """

    chains: tuple[MarkovChain, ...]
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

    @property
    def members(self) -> tuple[MarkovChain, ...]:
        """The chains."""
        return self.chains

    @property
    def entries(self) -> int:
        """The number of entries of the sequence."""
        return self.length

    def __iter__(self) -> Iterator[MarkovChain]:
        return iter(self.chains)

    def __len__(self) -> int:
        return len(self.chains)

    def __repr__(self) -> str:
        return f"ChainSet({len(self)} chains, {self.size} states, length {self.length})"

    @property
    def length(self) -> int:
        """The number of entries of the sequence."""
        return self.chains[0].length

    @property
    def size(self) -> int:
        """The number of states."""
        return self.chains[0].size

    @property
    def states(self) -> tuple[Hashable, ...]:
        """The states, in the order of the rows."""
        return self.chains[0].states

    @property
    def forbidden(self) -> bool:
        """Whether some transition has probability 0 in some chain."""
        return any(chain.forbidden for chain in self.chains)
