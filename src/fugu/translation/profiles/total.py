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
        self._last: tuple[Entry, Levels, Levels] | None = None
        self._totals: dict[tuple[int, tuple[int, int] | None, int], Lines] = {}

    @classmethod
    def of(cls, chain: MarkovChain) -> ChainProfile:
        """The one that is kept with the chain."""
        if "profiles" not in chain._remembered:
            chain._remembered["profiles"] = cls(chain)
        found: ChainProfile = chain._remembered["profiles"]
        return found

    def worst(self, entry: Entry, value: Value) -> float:
        """The largest value of the bound over all nodes and ordered pairs of their values.

        Parameters: `entry` is the profile of one entry; `value` turns a bound into a number."""
        ahead, behind = self._levels(entry)
        if not (ahead.complete and behind.complete):
            raise NotProvable("the chain forgets too slowly for its length; a bound by windows may still be known")
        nodes = [i for i in self._nodes(ahead, behind) if self._pairs(i)]
        shared = [(value(self._bound(entry, i)), i) for i in nodes]
        worst, looked = 0.0, 0
        for most, i in sorted(shared, reverse=True):
            pairs = self._pairs(i)
            if most <= worst or looked + len(pairs) > _MOST_PAIRS:
                return max(most, worst)
            looked += len(pairs)
            for quick, pair in sorted(((value(self._bound(entry, i, pair, 1)), pair) for pair in pairs), reverse=True):
                if min(most, quick) <= worst:
                    break
                worst = max(worst, min(most, quick, value(self._bound(entry, i, pair, _FEW))))
        return worst

    def _bound(self, entry: Entry, i: int, pair: tuple[int, int] | None = None, few: int = 0) -> Lines:
        """The total at one node, for all pairs or for one with `few` numbers d; kept."""
        if (i, pair, few) not in self._totals:
            ahead, behind = self._levels(entry)
            m, n = self.chain.length - i, i - 1
            if pair is None:
                one, two = ahead.inner[ahead.at(m)], behind.inner[behind.at(n)]
            else:
                one = self._side(self.later, ahead, entry, m, pair, few)
                two = self._side(self.earlier, behind, entry, n, pair, few)
            once = entry.one.compose(one.compose(two))
            self._totals[i, pair, few] = once if few == 1 else _total(entry.one, one, two)
        return self._totals[i, pair, few]

    def _levels(self, entry: Entry) -> tuple[Levels, Levels]:
        """Both sides; those of the last entry are kept."""
        if self._last is None or self._last[0] is not entry:
            most, self._totals = self.chain.length - 1, {}
            self._last = entry, levels(self.later, entry, most), levels(self.earlier, entry, most)
        return self._last[1:]

    def _nodes(self, ahead: Levels, behind: Levels) -> list[int]:
        """Nodes that may be the worst: one stands for all that have settled on both sides.

        Later nodes whose kernels are all alike say more the more there are: once the earlier side has settled, a node
        with fewer later ones is no worse."""
        length = self.chain.length
        middle = len(behind.psi)  # the first node whose earlier side has settled, if it settles
        if self.later.same and ahead.settled and behind.settled and ahead.last(length - middle):
            return [middle] if self.earlier.same else list(range(1, middle + 1))
        return list(range(1, length + 1))

    def _pairs(self, i: int) -> list[tuple[int, int]]:
        supports = np.asarray(self.chain.supports)
        live = np.flatnonzero(supports[min(i - 1, len(supports) - 1)])
        return [(int(x), int(y)) for x in live for y in live if x != y]

    def _side(self, side: Hockey, known: Levels, entry: Entry, m: int, pair: tuple[int, int], few: int) -> Lines:
        """F for one pair: the last step through its own rows."""
        shared, forever = known.inner[known.at(m)], known.last(m)
        parts = []
        for d in [d for d in distances(side.k) if d <= m][:few]:
            if forever and not side.same:
                tables, beyond = side.at_last(len(known.psi) - 1, d, *pair), known.ever
            else:
                tables, beyond = side.tables(m, d, *pair), known.psi[-1 if forever else m - d]
            first, *others = (corners.through(beyond) for corners in tables)
            passed = first.least(*others) if others else first
            parts.append(passed if d == 1 else entry.power(d - 1).compose(passed))
        return shared.least(*parts) if parts else shared


def _total(own: Lines, ahead: Lines, behind: Lines) -> Lines:
    """The three exchanges one after the other, in every order."""
    found = [reduce(lambda f, g: f.compose(g), order) for order in permutations((own, ahead, behind))]
    return found[0].least(*found[1:])
