"""The recursion along one side: how a bound for one entry grows with the nodes beyond it, and where it stops growing.

For a node with m further nodes and its own cell fixed let F_m bound the conditional means of f, E[f | x] <= F_m(E[f |
x']) for all pairs, and psi_m the same with its own cell. With phi the profile of one entry, phi^d that of d entries,

    psi_m = phi o F_m,   F_0 = id,   F_m = min( phi^m, min over d <= m of phi^(d-1) o through(K^d, psi_(m-d)) ).

*Settled.* If A >= psi_m, and A >= phi o min over d of phi^(d-1) o through(K^d, A), then A bounds psi_n for all n >= m
(and for smaller n, where psi_n grows with n: kernels that do not depend on the place). A is psi_m with a little room,
and the inequality is checked.

Proofs: docs/proofs/profiles.md#the-recursion and docs/proofs/profiles.md#every-length.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fugu.translation.contraction.kernel import U
from fugu.translation.profiles.entry import Entry
from fugu.translation.profiles.lines import Lines
from fugu.translation.profiles.sides import Hockey, distances

_MOST_GROUP = 128
_MOST_LEVELS = 2_000
_ROOMS = (1e-5, 1e-4, 1e-3)
_LAST_ROOM, _LATE = 1e-2, 60
_REFINED = 2


@dataclass(frozen=True)
class Levels:
    """psi_m for m = 0, 1, ...; if `settled`, the last one bounds psi for every larger m, and all smaller if `grows`."""

    psi: list[Lines]
    inner: list[Lines]
    settled: bool
    complete: bool
    """Whether every m that was asked for is bounded."""

    def at(self, m: int) -> int:
        """The level that bounds a node with m further nodes."""
        return min(m, len(self.psi) - 1)


def levels(side: Hockey, entry: Entry, nodes: int) -> Levels:
    """The recursion up to `nodes` further nodes, or until it settles."""
    psi, inner = [entry.one], [Lines.same()]
    ds, tried = distances(side.k), 4
    for m in range(1, min(nodes, _MOST_LEVELS) + 1):
        parts = [_jump(side, entry, m, d, psi[m - d]) for d in ds if d <= m]
        group = [entry.power(m)] if m <= _MOST_GROUP else []
        inner.append(parts[0].least(*parts[1:], *group))
        psi.append(entry.one.compose(inner[-1]))
        if m >= tried and m < nodes:
            tried = max(m + 3, int(1.25 * m))
            if (bound := _settled(side, entry, psi, m)) is not None:
                inner.append(bound)
                psi.append(entry.one.compose(bound))
                return Levels(psi, inner, True, True)
    return Levels(psi, inner, False, len(psi) > nodes)


def _jump(side: Hockey, entry: Entry, m: int, d: int, beyond: Lines) -> Lines:
    """phi^(d-1) o through(K^d, .)."""
    passed = side.all_pairs(m, d).through(beyond)
    return passed if d == 1 else entry.power(d - 1).compose(passed)


def _settled(side: Hockey, entry: Entry, psi: list[Lines], m: int) -> Lines | None:
    """F for this and all later m, or None."""
    if side.same:
        home, moved, before = side, 0.0, psi[-1:]
    else:
        ds = distances(side.k)
        near = side.forgotten(m - ds[-1]) if m > ds[-1] else None
        if near is None:
            return None
        home, moved = near
        before = psi[-ds[-1] :]

    def after(beyond: Lines) -> Lines:
        parts = []
        for d in distances(home.k):
            passed = home.all_pairs(1, d).moved(moved).through(beyond)
            parts.append(passed if d == 1 else entry.power(d - 1).compose(passed))
        return parts[0].least(*parts[1:])

    for room in _ROOMS if m < _LATE else (*_ROOMS, _LAST_ROOM):
        bound = roomy(psi[-1], room)
        if all(p.below(bound) for p in before):
            found = after(bound)
            if entry.one.compose(found).below(bound):
                for _ in range(_REFINED):
                    found = after(entry.one.compose(found))
                return found
    return None


def roomy(lines: Lines, room: float) -> Lines:
    """A little above: log slopes and b larger by this share, mirrored."""
    keep = lines.a >= 1
    a, b = lines.a[keep], lines.b[keep]
    return Lines.of(a ** (1 + room) * (1 + 64 * U), np.minimum(b * (1 + room), 1.0)).mirrored()
