"""What per-entry privacy is worth under one chain, event by event: epsilon at a delta, divergence at an order."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial, reduce
from itertools import pairwise, permutations

import numpy as np
from flint import arb

from fugu.errors import NotProvable
from fugu.guarantee.asks import exact, outward
from fugu.guarantee.lines import EntryProfile, Lines
from fugu.numbers import balls
from fugu.numbers.exact import Real, float_up, meant_up
from fugu.priors.chain import MarkovChain
from fugu.translation.hockey import Hockey, ProfileLevels, distances, jump, levels
from fugu.translation.sequence import earlier_side, later_side

# The doors to the profiles of a chain: epsilon at a delta, and a Rényi divergence at an order.
#
# A chain that forgets too slowly for its length has no bound here; the answer is inf, and other bounds stand.
#
# Proofs: docs/proofs/profiles.md#the-total.

_FAR_BELOW = 2.0**-12
"""Lines with a b this much smaller than the delta asked for do not change the answer."""
_FLOORS = {4: 1e-9, 10: 1e-13, math.inf: 1e-26}
"""The same for divergences up to an order: beyond, a larger order bounds the tail."""


def epsilon_at(chain: MarkovChain, entry: EntryProfile, delta: Fraction) -> float:
    """The least epsilon found at this delta, over all nodes and pairs; inf if none is proved.

    Parameters: `chain`; `entry`, the profile of one entry; `delta`, above 0 and below 1."""
    try:
        near = entry.above(float(delta) * _FAR_BELOW)
        return ChainProfile.of(chain).worst(near, lambda lines: lines.epsilon_at(delta))
    except NotProvable:
        return math.inf


def least_delta(chain: MarkovChain, entry: EntryProfile) -> float:
    """The least delta at which some epsilon is proved, over all nodes and pairs; 1 if there is none.

    Parameters: `chain`; `entry`, the profile of one entry."""
    with suppress(NotProvable):
        return meant_up(ChainProfile.of(chain).worst(entry, lambda lines: float(lines.b[0])))
    return 1.0


def lesser(
    chain: MarkovChain,
    entry: EntryProfile,
    orders: Collection[Real],
    known: Mapping[Real, Real],
    tails: Mapping[Real, Real],
) -> dict[Real, Real]:
    """Order by order, over all nodes and pairs, the lesser of a divergence that is known and of what the profile of an
    entry says.

    Parameters: `chain`; `entry`; `orders`, finite; `known`, proved divergences, perhaps not at every order; `tails`,
    proved divergences of any orders, for the tails."""
    more = [(exact(a), float_up(exact(e))) for a, e in tails.items()]
    least = {a: known[a] for a in orders if a in known}
    sure = float(entry.one.b[0]) == 0  # a pure epsilon: no tail
    within = {a: min(most for most in _FLOORS if exact(a) <= most) for a in orders}
    for most, floor in _FLOORS.items():
        near = entry.above(floor)  # one for all these orders: its levels are kept
        for a in (a for a in orders if within[a] == most and (sure or any(order > exact(a) for order, _ in more))):
            with suppress(NotProvable):
                found = ChainProfile.of(chain).worst(near, partial(divergence, alpha=exact(a), tails=more))
                if math.isfinite(found) and (a not in known or Fraction(found) < exact(known[a])):
                    least[a] = outward(Fraction(found))
    return {a: least[a] for a in orders if a in least}


# What per-entry privacy is worth under one chain, event by event: the two sides and the cell itself, composed.
#
#     P(S | X_i = x) <= (F_fwd o F_bwd o phi)(P(S | X_i = x'))
#
# in any order of the three, F_fwd over the T - i later nodes, F_bwd over the i - 1 earlier ones, both for the pair (x,
# x'): the last step of each side uses the rows of x and x' alone. `worst` takes the largest of a number that grows with
# the bound (epsilon at a delta, a Rényi divergence) over nodes and pairs.
#
# Proofs: docs/proofs/profiles.md#the-total.

Value = Callable[[Lines], float]
"""A number that does not fall when a bound rises."""
_MOST_PAIRS = 400
"""Pairs of values that are looked at one by one; the others share one bound."""
_FEW = 6
"""Numbers d that are tried for one pair."""


class ChainProfile:
    """The profiles of one chain; the tables of its kernels are kept between calls.

    >>> from fugu.guarantee.kinds import Approx
    >>> from fugu.guarantee.lines import of_approx
    >>> from fractions import Fraction
    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> entry = of_approx(Approx(0.3, 1e-9))
    >>> round(ChainProfile(chain).worst(entry, lambda lines: lines.epsilon_at(Fraction(1, 10**8))), 4)
    0.6704
    """

    def __init__(self, chain: MarkovChain) -> None:
        self.chain = chain
        self.later, self.earlier = Hockey(later_side(chain)), Hockey(earlier_side(chain))
        self._last: tuple[EntryProfile, ProfileLevels, ProfileLevels] | None = None
        self._totals: dict[tuple[int, tuple[int, int] | None, int], Lines] = {}

    @classmethod
    def of(cls, chain: MarkovChain) -> ChainProfile:
        """The one that is kept with the chain."""
        if "profiles" not in chain._remembered:
            chain._remembered["profiles"] = cls(chain)
        found: ChainProfile = chain._remembered["profiles"]
        return found

    def worst(self, entry: EntryProfile, value: Value) -> float:
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

    def _bound(self, entry: EntryProfile, i: int, pair: tuple[int, int] | None = None, few: int = 0) -> Lines:
        """The total at one node, for all pairs or for one with `few` numbers d; kept."""
        if (i, pair, few) not in self._totals:
            ahead, behind = self._levels(entry)
            m, n = self.chain.length - i, i - 1
            if pair is None:
                one, two = ahead.inner[ahead.at(m)], behind.inner[behind.at(n)]
            else:
                one = self._side(self.later, ahead, entry, m, pair, few)
                two = self._side(self.earlier, behind, entry, n, pair, few)
            found = [entry.one.compose(one.compose(two))]
            if few != 1:  # the three exchanges one after the other, in every order
                orders = permutations((entry.one, one, two))
                found = [reduce(lambda f, g: f.compose(g), order) for order in orders]
            self._totals[i, pair, few] = found[0].least(*found[1:]) if few != 1 else found[0]
        return self._totals[i, pair, few]

    def _levels(self, entry: EntryProfile) -> tuple[ProfileLevels, ProfileLevels]:
        """Both sides; those of the last entry are kept."""
        if self._last is None or self._last[0] is not entry:
            most, self._totals = self.chain.length - 1, {}
            self._last = entry, levels(self.later, entry, most), levels(self.earlier, entry, most)
        return self._last[1:]

    def _nodes(self, ahead: ProfileLevels, behind: ProfileLevels) -> list[int]:
        """Nodes that may be the worst: one stands for all that have settled on both sides.

        Later nodes whose kernels are all alike say more the more there are: once the earlier side has settled, a node
        with fewer later ones is no worse."""
        length = self.chain.length
        middle = len(behind.psi)  # the first node whose earlier side has settled, if it settles
        if self.later.side.same and ahead.settled and behind.settled and ahead.last(length - middle):
            return [middle] if self.earlier.side.same else list(range(1, middle + 1))
        return list(range(1, length + 1))

    def _pairs(self, i: int) -> list[tuple[int, int]]:
        supports = np.asarray(self.chain.supports)
        live = np.flatnonzero(supports[min(i - 1, len(supports) - 1)])
        return [(int(x), int(y)) for x in live for y in live if x != y]

    def _side(
        self, side: Hockey, known: ProfileLevels, entry: EntryProfile, m: int, pair: tuple[int, int], few: int
    ) -> Lines:
        """F for one pair: the last step through its own rows."""
        shared, forever = known.inner[known.at(m)], known.last(m)
        parts = []
        for d in [d for d in distances(side.side.k) if d <= m][:few]:
            if forever and not side.side.same:
                tables, beyond = side.at_last(len(known.psi) - 1, d, *pair), known.ever
            else:
                tables, beyond = side.tables(m, d, *pair), known.psi[-1 if forever else m - d]
            parts.append(jump(tables, entry, d, beyond))
        return shared.least(*parts) if parts else shared


# A Rényi divergence from a profile.
#
#     int P^a Q^(1-a) = 1 + a (a-1) [ int_1^inf g^(a-2) E_g dg + int_0^1 g^(a-2) (E_g - (1 - g)) dg ],
#
# with E_g = E_g(P || Q), as u^a has the second derivative a (a-1) u^(a-2). E_g is convex in g, so between two lines it
# is at most the mean of their b: each piece has a closed form, evaluated in balls. Beyond the steepest line E_g is at
# most its b, and at most what a divergence R of a larger order r says: ((r-1)^(r-1) / r^r) e^((r-1) R) g^(1-r).
#
# Proofs: docs/proofs/profiles.md#back-to-renyi.

_BITS = 192


HigherOrder = tuple[Fraction, float]
"""A larger order, and a proved divergence there."""


def divergence(lines: Lines, alpha: Fraction, tails: list[HigherOrder]) -> float:
    """An upper bound on D_alpha(P || Q) where P(S) <= lines(Q(S)) for every event S; inf if the tail is not bounded.

    Parameters: `lines`; `alpha`, a finite order above 1; `tails`, divergences of larger orders of the same P and Q."""
    with balls.precision(_BITS):
        a = balls.of(alpha)
        points = [(arb(float(x)), arb(float(y))) for x, y in zip(lines.a, lines.b, strict=True)]
        total = arb(0)
        for (g1, e1), (g0, e0) in pairwise(points):
            total += _piece(a, g0, e0, g1, e1)
        if float(lines.a[0]) < 1:
            return math.inf
        if float(lines.b[0]) > 0:
            rest = [_beyond(a, alpha, *points[0], *tail) for tail in tails if tail[0] > alpha]
            if not rest or not all(r.is_finite() for r in rest):
                return math.inf
            total += min(rest, key=balls.upper)
        total = total if total > 0 else arb(max(0.0, balls.upper(total)))
        return max(0.0, balls.upper(total.log1p() / (a - 1)))


def _piece(a: arb, g0: arb, e0: arb, g1: arb, e1: arb) -> arb:
    """a (a-1) times the integral of g^(a-2) (E_g - (1 - g)_+) from g0 to g1 with E_g linear; 1 cuts a piece in two."""
    if g0 < 1 < g1:
        middle = e0 + (e1 - e0) * (1 - g0) / (g1 - g0)
        return _piece(a, g0, e0, arb(1), middle) + _piece(a, arb(1), middle, g1, e1)
    if g1 <= 1:
        e0, e1 = e0 - (1 - g0), e1 - (1 - g1)
    slope = (e1 - e0) / (g1 - g0)
    level = e0 - slope * g0
    return a * level * (_power(g1, a - 1) - _power(g0, a - 1)) + (a - 1) * slope * (_power(g1, a) - _power(g0, a))


def _power(g: arb, a: arb) -> arb:
    return g**a if g > 0 else arb(0)


def _beyond(a: arb, alpha: Fraction, g: arb, e: arb, order: Fraction, bound: float) -> arb:
    """a (a-1) times the integral beyond g: E <= e up to where the tail is below it, then the tail."""
    if not math.isfinite(bound):
        return arb("inf")
    r, d = balls.of(order), arb(bound)
    log_c = (r - 1) * d + (r - 1) * (r - 1).log() - r * r.log()
    start = arb(max(balls.upper(g.log()), balls.upper((log_c - e.log()) / (r - 1))))
    flat = a * e * (((a - 1) * start).exp() - g ** (a - 1))
    return flat + a * (a - 1) * (log_c + (a - r) * start).exp() / balls.of(order - alpha)
