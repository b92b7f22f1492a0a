"""One step of a hidden chain, what is seen and what is hidden taken together, by plans that a linear program finds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from fugu.channels.program import INFINITE, Program, new_solver, run
from fugu.errors import NotProvable
from fugu.priors.joint import STEP, RoundedFloats
from fugu.translation.kernel import Array, U, pairs_of, shortest_paths, up
from fugu.translation.side import EVERY, OneSide, SideLevels

# Let F(h, h') bound ln E[f | h] / E[f | h'] over all f whose logarithm changes by at most eps per seen cell beyond H,
# and Lam((y, h1), (y', h1')) = eps [y != y'] + F(h1, h1'). One state further out, with p and q the laws of (Y, H1)
# given h and h', G(y, h1) = E[f(y, rest) | h1] has G(a) <= e^Lam(a, b) G(b), so F'(h, h') is at most the largest
# ln p.G / q.G over such G. A plan says for each a how its mass is shared among the b:
#
#     p.G = sum p(a) share(a, b) G(a) <= sum p(a) share(a, b) e^Lam(a, b) G(b) <= t q.G,
#
#     t = max over b of sum over a of p(a) share(a, b) e^Lam(a, b) / q(b).
#
# Any shares give a bound; those of the linear program give the largest ratio itself. Its G gives a lower one, which
# shows how much better shares could be, also for other p, q and Lam than those that it was solved for.
#
# Proofs: docs/proofs/trees.md#seen-and-hidden-together.

MOST_JOINT = 16
"""Values of what is seen and hidden together, beyond which nothing is taken together."""
_MOST_SOLVED = 400
"""Linear programs of one side at one epsilon."""
_MOST_NODES = 1500
_NEAR, _SAME = 2e-5, 1e-9
"""How near to the best a plan is before another one is looked for."""
_LARGE = 100.0
_LEAST = 1e-250
"""Laws with rarer values are not looked at: digits may have been lost."""
_ROOM = (0.0, 1e-13, 1e-12, 1e-11, 1e-10, 1e-9, 1e-8, 1e-7, 1e-6)


class Plans(NamedTuple):
    """For each ordered pair: shares (n, n), whose rows sum to 1, and G (n)."""

    shares: Array
    heights: Array


@dataclass
class JointSteps:
    """The steps of one side of a hidden chain. A step begins with the plans of the one before; nothing is kept from one
    epsilon to another, so that an answer does not depend on what was asked before."""

    side: OneSide
    emission: RoundedFloats
    _last: Plans | None = None
    _left: int = 0

    def levels(self, epsilon: float, known: SideLevels, nodes: int) -> SideLevels:
        """Bounds below those that are known, number by number; `nodes`: how many there are at most."""
        side, found = self.side, [np.zeros((self.side.k,) * 2)]
        self._last, self._left = None, _MOST_SOLVED
        if known.places is not None or not 0 < epsilon < _LARGE:
            return known
        first = len(known.values) - 1 if known.settled else nodes + 1  # from here on the last of what is known holds
        for m in range(1, (first if side.same else min(nodes, _MOST_NODES) + 1)):
            found.append(np.minimum(known.at(m), self.after(m, found[-1], epsilon)))
            late = not side.same and m >= first and m % EVERY == 0
            if late and (rest := self.rest(m, found[-1], known.values[-1], epsilon)) is not None:
                return SideLevels([*found, rest], True)
        if not known.settled:
            return SideLevels([*found, *known.values[len(found) :]], False)
        rest = self.rest(first - 1, found[-1], known.values[-1], epsilon) if side.same else None
        return SideLevels([*found, known.values[-1] if rest is None else rest], True)

    def rest(self, m: int, last: Array, known: Array, epsilon: float) -> Array | None:
        """A bound for m nodes and every larger number: one that no further step raises; None if none is found near by.

        `known`: a bound for every larger number. Where kernels tend to those of a stationary chain its step is taken,
        with what all later ones can differ from it."""
        limit = None if self.side.same else self.side.limit
        if limit is None and not self.side.same:
            return None
        steps = self if limit is None else JointSteps(limit.side, self.emission, _left=_MOST_SOLVED)
        for room in _ROOM:
            bound = np.where(last > 0, last + room * (1 + float(last.max())), 0.0)
            more = 0.0 if limit is None else float(limit.extra(epsilon + float(bound.max()), m))
            if np.all(np.minimum(up(steps.after(1, bound, epsilon) + more), known) <= bound):
                return np.minimum(bound, known)
        return None

    def after(self, m: int, beyond: Array, epsilon: float) -> Array:
        """A bound for m further nodes from one for m - 1."""
        laws, error = self.laws(m)
        x, y = np.nonzero(pairs_of(self.side.valid_at(m)))
        out = np.full((self.side.k,) * 2, np.inf)
        if len(x) and np.min(laws, where=laws > 0, initial=1.0) > _LEAST:
            out[x, y] = self.passed(laws[x], laws[y], error, self.growth(beyond, epsilon))
        return np.where(self.side.pairs_at(m), shortest_paths(out, self.side.valid_at(m)), 0.0)

    def laws(self, m: int) -> tuple[Array, float]:
        """P(Y = y, H1 = h | H) of the next hidden state and what is seen of it, and a relative error."""
        kernel, _, error = self.side.kernel(m, 1)
        seen, size = self.emission.values, self.side.k * self.emission.values.shape[1]
        joint = (kernel[:, :, None] * seen[None]).reshape(len(kernel), size)
        return joint, 1.01 * (error + self.emission.roundings * STEP + 2 * U)

    def growth(self, beyond: Array, epsilon: float) -> Array:
        """e^Lam."""
        apart = np.where(np.eye(self.emission.values.shape[1], dtype=bool), 0.0, epsilon)
        size = len(beyond) * len(apart)
        lam: Array = (beyond[:, None, :, None] + apart[None, :, None, :]).reshape(size, size)
        return np.asarray(np.exp(up(lam)))

    def passed(self, p: Array, q: Array, error: float, growth: Array) -> Array:
        """ln t of each pair, rounded up; plans that are not near the best are looked for again, while there is room."""
        old = self._last
        plans = _idle(p) if old is None or old.heights.shape != p.shape else Plans(*(part.copy() for part in old))
        high, low = _high(p, q, plans, growth), _low(p, q, plans, growth)
        for n in np.flatnonzero(~(np.log(high) <= np.log(low) * (1 + _NEAR) + _SAME))[: self._left]:
            self._left -= 1
            if (better := best(p[n], q[n], growth)) is None:
                continue
            one = Plans(better.shares[None], better.heights[None])
            if (now := float(_high(p[[n]], q[[n]], one, growth)[0])) < high[n]:
                plans.shares[n], plans.heights[n], high[n] = better.shares, better.heights, now
        self._last = plans
        return _outward(high, p.shape[1], error)


def _outward(t: Array, n: int, error: float) -> Array:
    """ln t, past the errors of p, q, of shares that sum to 1 - n u, of e^Lam and of the sums."""
    lost = 2.02 * error + 16 * (n + 8) * U
    return np.asarray(np.maximum(up(np.log(t)) + 1.01 * lost, 0.0))


def loss(p: Array, q: Array, growth: Array, error: float) -> float:
    """ln t of one pair, rounded up: of the plan of the linear program, or of the one that moves nothing; inf where
    neither leads to values that q has. `error`: relative, of p and of q."""
    idle, found = _idle(p[None]), best(p, q, growth)
    plans = [idle] if found is None else [idle, Plans(found.shares[None], found.heights[None])]
    least = np.min([_high(p[None], q[None], plan, growth) for plan in plans], axis=0)
    return float(_outward(least, len(p), error)[0])


def _idle(p: Array) -> Plans:
    """All mass stays; G is 1."""
    pairs, n = p.shape
    return Plans(np.tile(np.eye(n), (pairs, 1, 1)), np.ones((pairs, n)))


def _high(p: Array, q: Array, plans: Plans, growth: Array) -> Array:
    """t of each pair; inf where mass goes to what q does not have."""
    came = np.einsum("ia,iab,ab->ib", p, plans.shares, growth)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(came > 0, came / q, 0.0).max(axis=1))


def _low(p: Array, q: Array, plans: Plans, growth: Array) -> Array:
    """p.G / q.G for the largest G below that of the plan which is allowed."""
    allowed = (growth[None] * plans.heights[:, None, :]).min(axis=2)
    return np.asarray((p * allowed).sum(axis=1) / (q * allowed).sum(axis=1))


def best(p: Array, q: Array, growth: Array) -> Plans | None:
    """The plan of the linear program, its rows made to sum to 1; None where the solver has none.

    Shares are measured by the smaller of the two masses, rows by the larger, so that entries are of one size."""
    rows, columns = np.flatnonzero(p > 0), np.flatnonzero(q > 0)
    a, b = (grid.ravel() for grid in np.meshgrid(np.arange(rows.size), np.arange(columns.size), indexing="ij"))
    mass, room = p[rows], np.maximum(p, q)[columns]
    size = np.minimum(mass[a], room[b])
    program = Program()
    into, under = program.rows(rows.size, 1.0, 1.0), program.rows(columns.size, -INFINITE, 0.0)
    ways, top = program.variables(np.zeros(a.size)), program.variables(np.zeros(1))
    program.enter(into[a], ways, size / mass[a])
    program.enter(under[b], ways, size * growth[rows[a], columns[b]] / room[b])
    program.enter(under, np.repeat(top, columns.size), -q[columns] / room)
    solver = new_solver()
    try:
        program.load(solver, np.append(np.zeros(a.size), 1.0))
        x, dual, _ = run(solver)
    except NotProvable:
        return None
    shares, heights = np.eye(p.size), np.ones(p.size)
    shares[rows] = 0.0
    shares[rows[a], columns[b]] = np.maximum(x[ways], 0.0) * size / mass[a]
    total = shares.sum(axis=1, keepdims=True)
    if not (np.isfinite(shares).all() and (total > 0.5).all()):
        return None
    heights[columns] = np.maximum(np.abs(dual[under]) / room, 1e-300)
    outside = q <= 0
    if outside.any():  # the largest that is allowed
        heights[outside] = (growth[np.ix_(outside, ~outside)] * heights[~outside]).min(axis=1)
    return Plans(shares / total, heights / heights.max())


def joint_steps(side: OneSide, emission: RoundedFloats) -> JointSteps | None:
    """Of a side whose kernels are known; None for two hidden states, whose steps are attained, or for too many."""
    known = type(side).kernel is not OneSide.kernel
    return JointSteps(side, emission) if known and side.k > 2 and emission.values.size <= MOST_JOINT else None
