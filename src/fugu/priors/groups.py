"""Priors known by their blocks: dependent groups of bounded size, and blocks independent of each other."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from fugu.errors import UsageError
from fugu.priors.curve import InfluenceCurve, largest_of, whole


class DependentGroups:
    """Entries depend on each other in any way inside groups of at most `size`; groups are independent.

    Setting the whole group aside leaves nothing that knows of the entry: a(size) = 0. Below that nothing is known, and
    a(b) = +inf. `size` equal to the number of entries is plain group privacy.

    >>> curve = DependentGroups(size=5).influence_curve()
    >>> curve(4), curve(5)
    (inf, 0.0)
    """

    def __init__(self, size: int) -> None:
        self.size = whole(size, "size")
        self.assumptions = (
            f"entries are dependent inside groups of at most {self.size} only",
            "different groups are independent under every belief (no common unknown parameter)",
        )

    def __repr__(self) -> str:
        return f"DependentGroups(size={self.size})"

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """+inf below the size of a group, 0 from there on."""
        return InfluenceCurve(lambda _: math.inf, self.size, max_b)


class IndependentBlocks:
    """Blocks (users), each with its own prior, independent of each other under every belief.

    The law of the whole table is a product over the blocks, so what lies outside the block of an entry has the same law
    whatever the entry is: a(b) is the largest over the blocks, and a = 0 once the longest block is set aside. A common
    unknown parameter (a latent season, a shared fitted chain that is itself uncertain) breaks this: the table is then a
    mixture of products, and outside blocks do tell about the entry.

    >>> from fugu.priors.chain import MarkovChain
    >>> long = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=9)
    >>> users = IndependentBlocks(long, MarkovChain([[0.5, 0.5], [0.4, 0.6]], length=4))
    >>> curve = users.influence_curve()
    >>> round(curve(1), 6), curve(9), curve.length
    (2.197225, 0.0, 9)
    """

    def __init__(self, *priors: Any) -> None:
        self.priors: tuple[Any, ...] = tuple(priors)
        if not self.priors:
            raise UsageError("independent blocks need the prior of at least one block")
        said: Iterable[str] = (line for prior in self.priors for line in getattr(prior, "assumptions", ()))
        self.assumptions = ("blocks are independent of each other under every belief", *dict.fromkeys(said))

    def __repr__(self) -> str:
        return f"IndependentBlocks({len(self.priors)} priors)"

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """The largest of the curves of the blocks."""
        from fugu.translation.influence import influence

        return largest_of([influence(prior, max_b) for prior in self.priors])
