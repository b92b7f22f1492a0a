"""What per-entry privacy is worth under one chain, event by event: the two sides and the cell itself, composed.

    P(S | X_i = x) <= (F_fwd o F_bwd o phi)(P(S | X_i = x'))

in any order of the three, F_fwd over the T - i later nodes, F_bwd over the i - 1 earlier ones, both for the pair (x,
x'): the last step of each side uses the rows of x and x' alone. `worst` takes the largest of a number that grows with
the bound (epsilon at a delta, a Rényi divergence) over nodes and pairs.

Proofs: docs/proofs/profiles.md#the-total.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from itertools import permutations

import numpy as np

from fugu.errors import NotProvable
from fugu.priors.chain import MarkovChain
from fugu.translation.profiles.entry import Entry
from fugu.translation.profiles.levels import Levels, levels
from fugu.translation.profiles.lines import Lines
from fugu.translation.profiles.sides import Hockey, distances, earlier, later

Value = Callable[[Lines], float]
"""A number that does not fall when a bound rises."""
_MOST_PAIRS = 400
"""Pairs of values that are looked at one by one; the others share one bound."""
_FEW = 6
"""Numbers d that are tried for one pair."""


class ChainProfile:
    """The profiles of one chain; the tables of its kernels are kept between calls.

    >>> from fugu.guarantee.kinds import Approx
    >>> from fugu.translation.profiles.entry import of_approx
    >>> from fractions import Fraction
    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> entry = of_approx(Approx(0.3, 1e-9))
    >>> round(ChainProfile(chain).worst(entry, lambda lines: lines.epsilon_at(Fraction(1, 10**8))), 4)
    0.6704
    """

    def __init__(self, chain: MarkovChain) -> None:
        self.chain = chain
        self.later, self.earlier = later(chain), earlier(chain)

    @classmethod
    def of(cls, chain: MarkovChain) -> ChainProfile:
        """The one that is kept with the chain."""
        found: ChainProfile = chain._remembered.setdefault("profiles", None) or cls(chain)
        chain._remembered["profiles"] = found
        return found

    def worst(self, entry: Entry, value: Value) -> float:
        """The largest value of the bound over all nodes and ordered pairs of their values.

        Parameters: `entry` is the profile of one entry; `value` turns a bound into a number."""
        length, chain = self.chain.length, self.chain
        ahead, behind = levels(self.later, entry, length - 1), levels(self.earlier, entry, length - 1)
        if not (ahead.complete and behind.complete):
            raise NotProvable("the chain forgets too slowly for its length; a bound by windows may still be known")
        shared: dict[tuple[int, int], tuple[float, int]] = {}
        for i in self._nodes(ahead, behind):
            key = ahead.at(length - i), behind.at(i - 1)
            if key not in shared or (not self._alike and self._pairs(i)):
                shared[key if self._alike else (length - i, i - 1)] = (0.0, i)
        for key, (_, i) in shared.items():
            one, two = ahead.inner[ahead.at(length - i)], behind.inner[behind.at(i - 1)]
            shared[key] = (value(_total(entry.one, one, two)) if self._pairs(i) else 0.0, i)
        worst, looked = 0.0, 0
        for most, i in sorted(shared.values(), reverse=True):
            if most <= worst:
                break
            pairs = self._pairs(i)
            if looked + len(pairs) > _MOST_PAIRS or chain.size == 1:
                return most
            looked += len(pairs)
            for x, y in pairs:
                one = self._side(self.later, ahead, entry, length - i, x, y)
                two = self._side(self.earlier, behind, entry, i - 1, x, y)
                worst = max(worst, min(most, value(_total(entry.one, one, two))))
        return worst

    @property
    def _alike(self) -> bool:
        """Whether nodes with the same levels on both sides have the same bound."""
        return self.later.same and self.earlier.same

    def _nodes(self, ahead: Levels, behind: Levels) -> list[int]:
        """Nodes that may be the worst: where both sides settle, a middle one stands for all if nothing depends on it."""
        length, first, last = self.chain.length, len(behind.psi), self.chain.length + 1 - len(ahead.psi)
        if self._alike and ahead.settled and behind.settled and first <= last:
            return [first]
        return list(range(1, length + 1))

    def _pairs(self, i: int) -> list[tuple[int, int]]:
        supports = np.asarray(self.chain.supports)
        live = np.flatnonzero(supports[min(i - 1, len(supports) - 1)])
        return [(int(x), int(y)) for x in live for y in live if x != y]

    def _side(self, side: Hockey, known: Levels, entry: Entry, m: int, x: int, y: int) -> Lines:
        """F for one pair: the last step through its own rows."""
        shared = known.inner[known.at(m)]
        parts = []
        for d in [d for d in distances(side.k) if d <= m][:_FEW]:
            passed = side.pair(m, d, x, y).through(known.psi[known.at(m - d)])
            parts.append(passed if d == 1 else entry.power(d - 1).compose(passed))
        return shared.least(*parts) if parts else shared


def _total(own: Lines, ahead: Lines, behind: Lines) -> Lines:
    """The three exchanges one after the other, in every order."""
    found = [reduce(lambda f, g: f.compose(g), order) for order in permutations((own, ahead, behind))]
    return found[0].least(*found[1:])
