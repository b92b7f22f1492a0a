"""What a Markov kernel does to a profile: the hockey sticks of its rows, and a bound carried through them.

For rows p, q of a kernel and gamma >= 0 let E_gamma = sum of (p - gamma q)_+, the largest p(A) - gamma q(A). It is a
maximum of lines in gamma, one for each corner (p(A), q(A)) of the upper hull: `Corners`. If g(y) <= psi(g(y')) for all
values y, y', with psi(t) >= t concave, then p - gamma q = E mu+ - F mu- with F = E + gamma - 1 gives

    p.g - gamma q.g <= E max g - F min g <= max over t of E psi(t) - F t.

`through` takes psi = Lines: for lines j, i and a share w, E (w a_j + (1 - w) a_i) - F <= 0 leaves the mean of the b's,

    gamma = 1 - E + E (w a_j + (1 - w) a_i),   p.g <= gamma q.g + E (w b_j + (1 - w) b_i),

where E bounds E_g for some g <= gamma. Only the gammas where a line or a corner gives way to the next are needed.

Proofs: docs/proofs/profiles.md#through-a-kernel.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from fugu.translation.contraction.kernel import Array, U, sort_pairs
from fugu.translation.contraction.side import Mask
from fugu.translation.profiles.lines import Lines

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
        return cls(*_hull(p[new], q[new]))

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
    def rows(cls, kernel: Array, reach: Mask, error: float, pairs: tuple[Array, ...]) -> Corners:
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


def _hull(p: Array, q: Array) -> tuple[Array, Array]:
    """Without points that surely lie below the segment between their neighbours; never two neighbours at once."""
    parity, idle = 0, 0
    while idle < 2 and p.size > 2:
        one, two = (q[2:] - q[:-2]) * (p[1:-1] - p[:-2]), (p[2:] - p[:-2]) * (q[1:-1] - q[:-2])
        under = one - two < -16 * U * (np.abs(one) + np.abs(two))
        under &= np.arange(1, p.size - 1) % 2 == parity
        idle, parity = (0 if under.any() else idle + 1), 1 - parity
        keep = np.concatenate([[True], ~under, [True]])
        p, q = p[keep], q[keep]
    return p, q
