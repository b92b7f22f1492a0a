"""How a profile is carried through kernels along one side of a chain, and where it stops growing."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.guarantee.lines import EntryProfile, Lines
from fugu.translation.kernel import Array, U, corners, sort_pairs
from fugu.translation.side import Mask, Side
from fugu.translation.start import AnyStart, GivenStart

# The recursion along one side: how a bound for one entry grows with the nodes beyond it, and where it stops growing.
#
# For a node with m further nodes and its own cell fixed let F_m bound the conditional means of f, E[f | x] <= F_m(E[f |
# x']) for all pairs, and psi_m the same with its own cell. With phi the profile of one entry, phi^d that of d entries,
#
#     psi_m = phi o F_m,   F_0 = id,   F_m = min( phi^m, min over d <= m of phi^(d-1) o through(K^d, psi_(m-d)) ).
#
# *Settled.* If A >= psi_m, ..., psi_(m-D+1), D the largest d, and A >= phi o min over d of phi^(d-1) o through(K^d, A)
# for the kernels of all later nodes, then A bounds psi_n for all n > m - D. Where the kernels do not depend on the
# place
# the true psi_n grow with n, so A >= psi_m is enough, and then every n is bounded. A is psi_m with a little room, and
# the inequality is checked.
#
# Proofs: docs/proofs/profiles.md#the-recursion and docs/proofs/profiles.md#every-length.

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
class ProfileLevels:
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


def levels(side: Hockey, entry: EntryProfile, nodes: int) -> ProfileLevels:
    """The recursion up to `nodes` further nodes, or until it settles."""
    psi, inner = [entry.one], [Lines.same()]
    ds, tried = distances(side.side.k), 4
    useful = ds
    for m in range(1, min(nodes, _MOST_STEPS // len(ds)) + 1):
        usable = [d for d in (ds if m % _ALL == 0 or m <= _ALL else useful) if d <= m]
        parts = [jump(side.tables(m, d), entry, d, psi[m - d]) for d in usable]
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
                return ProfileLevels(psi, inner, True, True, ever)
    return ProfileLevels(psi, inner, False, len(psi) > nodes, psi[-1])


def _change(psi: list[Lines], m: int) -> float:
    """By which share the bound grew in the last two steps, seen at a few slopes; a guess where to try."""
    last, before = psi[m], psi[m - 2]
    some = before.b[:: max(1, before.b.size // 8)]
    some = some[(some > _FLOORS * last.floor) & (some < 0.5)]
    one, two = (np.log(np.maximum(np.interp(some, lines.b, lines.a), 1.0)) for lines in (last, before))
    return float(np.max((one - two) / np.maximum(two, 1e-2 * np.max(two, initial=1e-300)), initial=0.0))


def jump(tables: list[Corners], entry: EntryProfile, d: int, beyond: Lines) -> Lines:
    """phi^(d-1) o through(K^d, .), by all that is known of K^d."""
    first, *others = (corners.through(beyond) for corners in tables)
    passed = first.least(*others) if others else first
    return passed if d == 1 else entry.power(d - 1).compose(passed)


def _settled(side: Hockey, entry: EntryProfile, psi: list[Lines], m: int, change: float) -> tuple[Lines, Lines] | None:
    """(A, F for all later m), or None."""
    widest, last = distances(side.side.k)[-1], psi[-1]
    if side.side.same:
        home, moved, before = side, 0.0, psi[-1:]
    elif m > widest and (near := side.forgotten(m - widest)) is not None:
        (home, moved), before = near, psi[-widest:]
    else:
        return None

    def after(beyond: Lines) -> Lines:
        parts = [jump([home.all_pairs(1, d).moved(moved)], entry, d, beyond) for d in distances(home.side.k)]
        return parts[0].least(*parts[1:]).even()

    for room in [r for r in _ROOMS if r > change][:2]:
        # a little above: log slopes and b larger by this share, b by some floors more, mirrored
        a, b = last.a[last.a >= 1], last.b[last.a >= 1]
        more = room * np.log(a) + 0.1 * room * float(np.log(np.max(a, initial=1.0)))
        above = np.minimum(b * (1 + room) + _FLOORS * last.floor, 1.0)
        bound = Lines.of(a * np.exp(more) * (1 + 64 * U), above, last.floor).mirrored()
        if all(p.below(bound) for p in before):
            found = after(bound)
            if entry.one.compose(found).below(bound):
                rounds = _REFINED if room < _STEADY / 4 else _REFINED_MORE
                for _ in range(rounds if side.side.same else 0):  # else that would hold for later nodes only
                    bound = entry.one.compose(found).even()
                    found = after(bound)
                return bound, found
    return None


# The hockey sticks between rows of the kernels of one side of a chain: all pairs together, or one pair.
#
# A node with m further nodes on this side, and the product of the d kernels to the d-th beyond it. Later nodes: the
# transition kernels. Earlier nodes: the real backward kernels of this start; whatever the start, two of their rows have
# quotients within a factor e^D, D the projective diameter of the columns of P^d (`Corners.apart`). Where a start is
# nearly forgotten, the kernels of the stationary chain moved by tanh(w / 4) in total variation.
#
# Proofs: docs/proofs/profiles.md#the-sides.

_TWO, _MANY, _VERY_MANY = 2, 12, 60
_NEAR = 0.05
"""A start within this total variation of the stationary chain is compared with it."""


def distances(k: int) -> tuple[int, ...]:
    """The numbers d of kernels taken at once: fewer where there are many values."""
    if k > _VERY_MANY:
        return (1, 2, 4, 8, 16)
    if k == _TWO:
        return (1, 2, 4)
    return (1, 2, 3, 4, 6, 8, 12, 16) if k > _MANY else (1, 2, 3, 4, 5, 6, 8, 10, 12, 16)


@dataclass
class Hockey:
    """Corners of one side of a chain, kept between calls."""

    side: Side | GivenStart | AnyStart
    _known: dict[tuple[int, ...], Corners] = field(default_factory=dict)
    _home: Hockey | None = None

    def all_pairs(self, m: int, d: int, *pair: int) -> Corners:
        """For every ordered pair of values that a node with m further nodes can take, or for one `pair` (x, y)."""
        key = (0 if self.side.same else m, d, *pair)
        if key not in self._known:
            x, y = np.array(pair).reshape(2, 1) if pair else np.nonzero(self.side.pairs_at(m))
            if isinstance(self.side, AnyStart):
                self._known[key] = Corners.apart(float(np.max(self.side.diameter(m, d)[0][x, y], initial=0.0)))
            else:
                self._known[key] = Corners.rows(*self.side.kernel(m, d), (x, y))
        return self._known[key]

    def tables(self, m: int, d: int, *pair: int) -> list[Corners]:
        """Every bound that is known, for all pairs or for one: by the kernels, and by those of the stationary chain."""
        found = [self.all_pairs(m, d, *pair)]
        if isinstance(self.side, AnyStart) and (near := self.forgotten(m - d)) is not None and near[1] < _NEAR:
            home, moved = near
            found.append(home.all_pairs(1, d, *pair).moved(moved))
        return found

    def at_last(self, m: int, d: int, *pair: int) -> list[Corners]:
        """For one pair at a node with m further nodes or more, m beyond the largest d."""
        near = self.forgotten(m - 1 - distances(self.side.k)[-1])
        return [] if near is None else [near[0].all_pairs(1, d, *pair).moved(near[1])]

    def forgotten(self, m: int) -> tuple[Hockey, float] | None:
        """The stationary side and the total variation from it of every row that leads to this node or a later one."""
        limit = self.side.limit
        if limit is None or not math.isfinite(limit.at(m)):
            return None
        if self._home is None:
            self._home = Hockey(limit.side)
        return self._home, math.tanh(limit.at(m) / 4) * (1 + 16 * U)


# What a Markov kernel does to a profile: the hockey sticks of its rows, and a bound carried through them.
#
# For rows p, q of a kernel and gamma >= 0 let E_gamma = sum of (p - gamma q)_+, the largest p(A) - gamma q(A). It is a
# maximum of lines in gamma, one for each corner (p(A), q(A)) of the upper hull: `Corners`. If g(y) <= psi(g(y')) for
# all values y, y', with psi(t) >= t concave, then p - gamma q = E mu+ - F mu- with F = E + gamma - 1 gives
#
#     p.g - gamma q.g <= E max g - F min g <= max over t of E psi(t) - F t.
#
# `through` takes psi = Lines: for lines j, i and a share w, E (w a_j + (1 - w) a_i) - F <= 0 leaves the mean of the
# b's,
#
#     gamma = 1 - E + E (w a_j + (1 - w) a_i),   p.g <= gamma q.g + E (w b_j + (1 - w) b_i),
#
# where E bounds E_g for some g <= gamma. Only the gammas where a line or a corner gives way to the next are needed.
#
# Proofs: docs/proofs/profiles.md#through-a-kernel.

_TANGENTS = 65
_MOST_DIAMETER = 500.0


@dataclass(frozen=True, eq=False)
class Corners:
    """Points (p(A), q(A)), p from above and q from below, sorted by both; E_gamma is at most max of p - gamma q."""

    p: Array
    q: Array

    @classmethod
    def of(cls, p: Array, q: Array) -> Corners:
        """The upper hull of these points, of nothing (0, 0) and of everything (1, 1)."""
        p, q = np.concatenate([[0.0], np.minimum(p, 1.0), [1.0]]), np.concatenate([[0.0], q, [1.0]])
        order = np.lexsort((-p, q))
        p, q = p[order], q[order]
        new = np.concatenate([[True], p[1:] > np.maximum.accumulate(p)[:-1]])
        return cls(*corners(p[new], q[new]))

    @classmethod
    def apart(cls, diameter: float) -> Corners:
        """Any two laws with p / q in [m, M], M <= e^diameter m: E_gamma <= (sqrt r - sqrt gamma)_+^2 / (r - 1).

        r = e^diameter; the corners are those of the tangents at some gamma between 1 / r and r."""
        if diameter > _MOST_DIAMETER:
            return cls.of(np.array([1.0]), np.array([0.0]))
        if diameter <= 0:
            return cls.of(np.empty(0), np.empty(0))
        wide = diameter * (1 + 16 * U)
        logs = wide * np.linspace(-1, 1, _TANGENTS)
        gamma = np.exp(logs)
        e = np.expm1((logs - wide) / 2) ** 2 / -np.expm1(-diameter) * (1 + 32 * U) + 8 * (4 + diameter) * U
        q = np.maximum(-np.diff(e) / np.diff(gamma) * (1 - 16 * U) - 8 * U * e[:-1] / np.diff(gamma), 0.0)
        return cls.of((e[:-1] + gamma[:-1] * q) * (1 + 8 * U), np.minimum(q, 1.0))

    @classmethod
    def rows(cls, kernel: Array, reach: Mask, error: float, pairs: tuple[NDArray[Any], ...]) -> Corners:
        """Of pairs (x, y) of rows of a kernel whose entries have this relative error, all together."""
        p, q = [np.empty(0)], [np.empty(0)]
        for x in np.unique(pairs[0]):
            some = pairs[0] == x
            rows = sort_pairs(kernel, reach, error, (pairs[0][some], pairs[1][some]))
            part = cls.of(np.cumsum(rows.u, -1)[..., :-1].ravel(), np.cumsum(rows.v, -1)[..., :-1].ravel())
            p.append(part.p)
            q.append(part.q)
        return cls.of(np.concatenate(p), np.concatenate(q))

    def moved(self, distance: float) -> Corners:
        """For laws within this total variation of the two: p(A) + distance, q(A) - distance, for every set A.

        Not cut at 1 and 0: the largest p(A) - gamma q(A) may be at a set between two corners, where nothing is cut."""
        if distance <= 0:
            return self
        return Corners((self.p + distance) * (1 + 4 * U), self.q - distance - 16 * U * (self.q + distance))

    @cached_property
    def kinks(self) -> Array:
        """The gammas at which E_gamma passes from one corner to the next."""
        found: Array = np.diff(self.p) / np.maximum(np.diff(self.q), 1e-300)
        return found

    def sticks(self, gamma: Array) -> Array:
        """Upper bounds on E_gamma, at most 1."""
        with np.errstate(under="ignore", over="ignore"):
            found = self.p * (1 + 4 * U) - gamma[:, None] * (self.q * (1 - 4 * U))
        return np.asarray(np.clip(found.max(axis=1), 0.0, 1.0))

    def meeting(self, slopes: Array) -> Array:
        """For each slope a the gamma with gamma - 1 = (a - 1) E_gamma, where psi passes from one line to the next."""
        more = (slopes - 1)[:, None]
        ratio = (1 + more * self.p) / np.maximum(1 + more * self.q, 1e-300)
        return np.asarray(np.where(slopes >= 1, ratio.max(axis=1), ratio.min(axis=1)))

    def through(self, psi: Lines) -> Lines:
        """p.g <= phi(q.g) for all g in [0, 1] with g(y) <= psi(g(y')) for all y, y'."""
        if psi.a.size == 1:
            return psi
        meeting = self.meeting(psi.a)
        gamma = np.concatenate([meeting, meeting * (1 + 64 * U), self.kinks])  # past the rounding of a meeting, too
        gamma = np.unique(gamma[np.isfinite(gamma) & (gamma >= 0)])
        e = self.sticks(gamma)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            s = np.where(e > 0, (gamma - (1 - e)) / e, np.inf)
        at = np.clip(np.searchsorted(-psi.a, -s, side="right"), 1, psi.a.size - 1)
        a, b, c, d = psi.a[at - 1], psi.b[at - 1], psi.a[at], psi.b[at]
        share = np.clip(np.where(np.isfinite(s), (s - c) / (a - c), 1.0), 0.0, 1.0)
        slope = ((1 - e) + e * (share * a + (1 - share) * c)) * (1 + 16 * U)
        height = e * (share * b + (1 - share) * d) * (1 + 16 * U)
        return Lines.of(np.maximum(slope, gamma), height, psi.floor)
