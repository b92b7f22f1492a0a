"""The doors to the profiles of a chain: epsilon at a delta, and a Rényi divergence at an order.

A chain that forgets too slowly for its length has no bound here; the answer is inf, and other bounds stand.

Proofs: docs/proofs/profiles.md#the-total.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from contextlib import suppress
from fractions import Fraction
from functools import partial

from fugu.errors import NotProvable
from fugu.guarantee.numbers import exact, outward
from fugu.numbers.exact import Real, float_up, meant_up
from fugu.priors.chain import MarkovChain
from fugu.translation.profiles.entry import Entry
from fugu.translation.profiles.moments import Tail, divergence
from fugu.translation.profiles.total import ChainProfile

_FAR_BELOW = 2.0**-12
"""Lines with a b this much smaller than the delta asked for do not change the answer."""
_FLOORS = {4: 1e-9, 10: 1e-13, math.inf: 1e-26}
"""The same for divergences up to an order: beyond, a larger order bounds the tail."""


def epsilon_at(chain: MarkovChain, entry: Entry, delta: Fraction) -> float:
    """The least epsilon found at this delta, over all nodes and pairs; inf if none is proved.

    Parameters: `chain`; `entry`, the profile of one entry; `delta`, above 0 and below 1."""
    try:
        near = entry.above(float(delta) * _FAR_BELOW)
        return ChainProfile.of(chain).worst(near, lambda lines: lines.epsilon_at(delta))
    except NotProvable:
        return math.inf


def least_delta(chain: MarkovChain, entry: Entry) -> float:
    """The least delta at which some epsilon is proved, over all nodes and pairs; 1 if there is none.

    Parameters: `chain`; `entry`, the profile of one entry."""
    with suppress(NotProvable):
        return meant_up(ChainProfile.of(chain).worst(entry, lambda lines: float(lines.b[0])))
    return 1.0


def renyi_at(chain: MarkovChain, entry: Entry, alphas: Mapping[Fraction, list[Tail]]) -> dict[Fraction, float]:
    """Bounds on D_alpha, over all nodes and pairs, at several finite orders; inf where none is proved.

    Parameters: `chain`; `entry`; `alphas`, the orders, each with proved divergences of larger orders."""
    found = dict.fromkeys(alphas, math.inf)
    sure = float(entry.one.b[0]) == 0  # a pure epsilon: no tail
    within = {a: min(most for most in _FLOORS if a <= most) for a in alphas}
    for most, floor in _FLOORS.items():
        near = entry.above(floor)  # one for all these orders: its levels are kept
        for alpha in (a for a in alphas if within[a] == most and (sure or any(t.order > a for t in alphas[a]))):
            value = partial(divergence, alpha=alpha, tails=alphas[alpha])
            with suppress(NotProvable):
                found[alpha] = ChainProfile.of(chain).worst(near, value)
    return found


def lesser(
    chain: MarkovChain, entry: Entry, orders: Iterable[Real], known: Mapping[Real, Real], tails: Mapping[Real, Real]
) -> dict[Real, Real]:
    """Order by order the lesser of a divergence that is known and of what the profile of an entry says.

    Parameters: `chain`; `entry`; `orders`, finite; `known`, proved divergences, perhaps not at every order; `tails`,
    proved divergences of any orders, for the tails."""
    more = [Tail(exact(a), float_up(exact(e))) for a, e in tails.items()]
    found = renyi_at(chain, entry, {exact(a): more for a in orders})
    better = {
        a: outward(Fraction(e))
        for a in orders
        if math.isfinite(e := found[exact(a)]) and (a not in known or Fraction(e) < exact(known[a]))
    }
    return {a: better.get(a, known.get(a, math.inf)) for a in orders if a in better or a in known}
