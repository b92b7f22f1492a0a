"""The recursion along one side: how a bound for one entry grows with the nodes beyond it, and where it stops growing.

For a node with m further nodes and its own cell fixed let F_m bound the conditional means of f, E[f | x] <= F_m(E[f |
x']) for all pairs, and psi_m the same with its own cell. With phi the profile of one entry, phi^d that of d entries,

    psi_m = phi o F_m,   F_0 = id,   F_m = min( phi^m, min over d <= m of phi^(d-1) o through(K^d, psi_(m-d)) ).

*Settled.* If A >= psi_m, ..., psi_(m-D+1), D the largest d, and A >= phi o min over d of phi^(d-1) o through(K^d, A)
for the kernels of all later nodes, then A bounds psi_n for all n > m - D. Where the kernels do not depend on the place
the true psi_n grow with n, so A >= psi_m is enough, and then every n is bounded. A is psi_m with a little room, and the
inequality is checked.

Proofs: docs/proofs/profiles.md#the-recursion and docs/proofs/profiles.md#every-length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fugu.translation.contraction.kernel import U
from fugu.translation.profiles.entry import Entry
from fugu.translation.profiles.lines import Lines
from fugu.translation.profiles.sides import Hockey, distances

_MOST_GROUP = 24
_MOST_STEPS = 2_400
"""Kernels that a bound is carried through before a long chain is given up."""
_ROOMS = (1e-3, 5e-3, 2e-2, 1e-1)
_STEADY = 4e-2
_FLOORS = 8
_ALL = 6
"""Every so many levels all d are tried, in between those that were of use."""
_REFINED, _REFINED_MORE = 4, 10


@dataclass(frozen=True)
class Levels:
    """psi_m for m = 0, 1, ...; if `settled`, the last one bounds psi for every larger m, and all smaller if `grows`."""

    psi: list[Lines]
    inner: list[Lines]
    settled: bool
    complete: bool
    """Whether every m that was asked for is bounded."""
    ever: Lines
    """If settled: a bound on psi for this number of further nodes, all larger ones, and D less."""

    def at(self, m: int) -> int:
        """The level that bounds a node with m further nodes."""
        return min(m, len(self.psi) - 1)

    def last(self, m: int) -> bool:
        """Whether the bound for m is the one that holds from some m on."""
        return self.settled and m >= len(self.psi) - 1


def levels(side: Hockey, entry: Entry, nodes: int) -> Levels:
    """The recursion up to `nodes` further nodes, or until it settles."""
    psi, inner = [entry.one], [Lines.same()]
    ds, tried = distances(side.k), 4
    useful = ds
    for m in range(1, min(nodes, _MOST_STEPS // len(ds)) + 1):
        usable = [d for d in (ds if m % _ALL == 0 or m <= _ALL else useful) if d <= m]
        parts = [_jump(side, entry, m, d, psi[m - d]) for d in usable]
        group = [entry.power(m)] if m <= _MOST_GROUP else []
        inner.append(parts[0].least(*parts[1:], *group).even())
        psi.append(entry.one.compose(inner[-1]).even())
        useful = tuple(d for d, p in zip(usable, parts, strict=True) if d == 1 or np.isin(p.a, inner[-1].a).any())
        if tried <= m < nodes and (change := _change(psi, m)) < _STEADY:
            tried = m + 4
            if (found := _settled(side, entry, psi, m, change)) is not None:
                ever, bound = found
                inner.append(bound)
                psi.append(entry.one.compose(bound).even())
                return Levels(psi, inner, True, True, ever)
    return Levels(psi, inner, False, len(psi) > nodes, psi[-1])


def _change(psi: list[Lines], m: int) -> float:
    """By which share the bound grew in the last two steps, seen at a few slopes; a guess where to try."""
    last, before = psi[m], psi[m - 2]
    some = before.b[:: max(1, before.b.size // 8)]
    some = some[(some > _FLOORS * last.floor) & (some < 0.5)]
    one, two = (np.log(np.maximum(np.interp(some, lines.b, lines.a), 1.0)) for lines in (last, before))
    return float(np.max((one - two) / np.maximum(two, 1e-2 * np.max(two, initial=1e-300)), initial=0.0))


def _jump(side: Hockey, entry: Entry, m: int, d: int, beyond: Lines) -> Lines:
    """phi^(d-1) o through(K^d, .)."""
    first, *others = (corners.through(beyond) for corners in side.tables(m, d))
    passed = first.least(*others) if others else first
    return passed if d == 1 else entry.power(d - 1).compose(passed)


def _settled(side: Hockey, entry: Entry, psi: list[Lines], m: int, change: float) -> tuple[Lines, Lines] | None:
    """(A, F for all later m), or None."""
    widest = distances(side.k)[-1]
    if side.same:
        home, moved, before = side, 0.0, psi[-1:]
    elif m > widest and (near := side.forgotten(m - widest)) is not None:
        (home, moved), before = near, psi[-widest:]
    else:
        return None

    def after(beyond: Lines) -> Lines:
        parts = []
        for d in distances(home.k):
            passed = home.all_pairs(1, d).moved(moved).through(beyond)
            parts.append(passed if d == 1 else entry.power(d - 1).compose(passed))
        return parts[0].least(*parts[1:]).even()

    for room in [r for r in _ROOMS if r > change][:2]:
        bound = roomy(psi[-1], room)
        if all(p.below(bound) for p in before):
            found = after(bound)
            if entry.one.compose(found).below(bound):
                for _ in range(_refinements(room) if side.same else 0):  # else that would hold for later nodes only
                    bound = entry.one.compose(found).even()
                    found = after(bound)
                return bound, found
    return None


def _refinements(room: float) -> int:
    return _REFINED if room < _STEADY / 4 else _REFINED_MORE


def roomy(lines: Lines, room: float) -> Lines:
    """A little above: log slopes and b larger by this share, b by some floors more, mirrored."""
    keep = lines.a >= 1
    a, b = lines.a[keep], lines.b[keep]
    more = room * np.log(a) + 0.1 * room * float(np.log(np.max(a, initial=1.0)))
    return Lines.of(
        a * np.exp(more) * (1 + 64 * U), np.minimum(b * (1 + room) + _FLOORS * lines.floor, 1.0), lines.floor
    ).mirrored()
