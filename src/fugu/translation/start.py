"""The earlier nodes of a chain that is not stationary: the kernels of a given start, or a bound for every start."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from fugu.priors.chain import MarkovChain
from fugu.priors.transitions import StepProducts, largest, padded
from fugu.translation.kernel import (
    Array,
    Frontiers,
    KeptRows,
    U,
    by_variation,
    frontier,
    pairs_of,
    shortest_paths,
    up,
    variations,
)
from fugu.translation.number import DS, Numbered, Wide, WideLevels
from fugu.translation.side import (
    EVERY,
    NEAR,
    Kernel,
    Mask,
    OneSide,
    Own,
    Places,
    StationaryLimit,
    blocks,
    limit_of,
    open_cell,
)

# P(X_(t-d) = y | X_t = x) = mu_(t-d)(y) P^d(y, x) / mu_t(x): powers of the transition kernel and two marginals give
# every product of backward kernels. What they pass on is bounded in three ways.
#
# - *Given start*: by the kernels themselves (`GivenStart`).
# - *Any start*: with D(z, z', x, x') = log K(z, x) K(z', x') / (K(z, x') K(z', x)), K = P^d, and whatever the law mu
#   of X_(t-d) is (`AnyStart`),
#
#       L(x, x') <= max over z, z' of 4 artanh(tanh(Lam(z, z') / 4) tanh(D(z, z', x, x')_+ / 4)).
#
#   For many values: with the largest of all these losses and the largest D of x and x'.
# - *The start is forgotten*: by the kernels of the stationary chain and a little more (`limit`).
#
# Proofs: docs/proofs/contraction.md#a-given-start and docs/proofs/contraction.md#any-start.


def through_any(alpha: Array, diameter: Array) -> Array:
    """4 artanh(tanh(alpha / 4) tanh(diameter / 4)), rounded up, at most either.

    As 2 log1p(expm1(alpha/2) (1 - e^(-D/2)) / (1 + e^((alpha - D)/2))): no digits are lost, and D may be inf."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        share = -np.expm1(-diameter / 2) / (1 + np.exp((alpha - diameter) / 2))
        slack = (64 + 4 * np.minimum(alpha, 1e4)) * U  # (alpha - D)/2 is off by u alpha
        found = 2 * np.log1p(np.expm1(alpha / 2) * share) * (1 + slack) + 4e-323
    least = np.minimum(alpha, diameter)
    return np.where(np.isfinite(found), np.minimum(found, least), least)


_ROOM_BY_NODE = ((1e-9, 0), (1e-7, 0), (1e-6, 0), (1e-5, 200), (1e-4, 400), (1e-3, 1600))
"""What may be lost where the recursion stops, as a share, and from which node on."""
_RECURSION = 5
"""With more values the bound of the stationary chain is found for all m at once, not by recursion."""
_MOST_ODDS = 20_000
"""Fourfold odds of a step that are looked at pair by pair."""


@dataclass
class Start(OneSide):
    """The earlier nodes of a chain: what passes from a node with m further nodes, entry m + 1, to the d-th beyond it.

    The recursion over them is stopped where the start is forgotten (docs/proofs/contraction.md#the-start-is-forgotten).
    Let A bound the last D of the F_m, D the largest number of kernels taken at once, and w that of the first of these
    nodes. If

        min over d of (d - 1) eps + L_stationary(K^d; O + A) + 2 log(1 + (e^(max O + A) - 1) tanh(w / 4)) <= A,

    then A bounds F_m for every later m too, by induction: w only falls. A is the bound of the stationary chain for
    every number of nodes, or the largest of the last D levels where these are above it, and a little room; more of it
    the longer the recursion has gone on. Where the cell is seen through an emission it is the least of them."""

    chain: MarkovChain
    own: Own = open_cell
    pairwise: bool = True

    def __post_init__(self) -> None:
        self.slots = 2 if self.own is open_cell else 1
        self.k, self.ds, self._kept = self.chain.size, blocks(self.chain.size, self.pairwise), KeptRows()
        self._goals: dict[float, Array | None] = {}

    @cached_property
    def steps(self) -> StepProducts:
        """The products of the steps that end at a node."""
        return StepProducts(self.chain)

    @cached_property
    def limit(self) -> StationaryLimit | None:  # type: ignore[override]
        """What the side tends to."""
        nodes = self.chain.length - 1
        return limit_of(self.chain, nodes, self.own, self.pairwise) if self.chain.homogeneous else None

    @cached_property
    def _numbered(self) -> Numbered:
        assert self.limit is not None
        return Numbered(self.limit.side)

    def valid_at(self, m: int) -> Mask:
        return np.asarray(self.chain.supports[m])

    def settled(self, found: list[Array], m: int, epsilon: float, nodes: int) -> Array | None:
        """The bound A for every node beyond the m-th, or None if it does not hold yet."""
        widest, limit = self.ds[-1], self.limit
        if limit is None or nodes <= 2 * widest or m % EVERY or m <= widest:
            return None
        if epsilon not in self._goals:
            if self.k > _RECURSION and self.own is open_cell:
                ever = self._numbered.ever(epsilon)
            else:
                levels = limit.side.levels(epsilon, nodes)
                ever = levels.values[-1] if levels.settled else None
            self._goals = {epsilon: ever}  # of the stationary chain, for every number of earlier nodes
        if (goal := self._goals[epsilon]) is None:
            return None
        least = np.maximum(np.max(np.stack(found[-widest:]), axis=0), goal)
        size, alpha = float(least.max()), float(limit.side.losses([least], epsilon).max())
        valid, pairs = limit.side.valid_at(0), limit.side.pairs_at(0)
        for room in (room for room, first in _ROOM_BY_NODE if m >= first and (room == 1e-9 or self.own is open_cell)):
            more = room * size + max(1e-14, 1e-10 * alpha)
            bound = np.where(pairs, least + more, 0.0)
            beyond = [bound] * len(self.ds)
            extra = float(limit.extra(float(limit.side.losses(beyond[:1], epsilon).max()), m + 1 - widest))
            if extra <= more / 2:
                each = up(limit.side.passed(m, beyond, self.ds, epsilon) + extra)
                after = np.where(pairs, shortest_paths(each.min(axis=0), valid), 0.0)
                if bool(np.all(after <= bound)):
                    return bound
        return None


@dataclass
class GivenStart(Start):
    """A chain with a stated start."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._stacks: dict[tuple[int, ...], tuple[Array, Mask, Array]] = {}

    def kernel(self, m: int, d: int) -> Kernel:
        """P(X_(t-d) = y | X_t = x) in row x."""
        kernels, reach, errors = self.kernels(m, (d,))
        return kernels[0], reach[0], float(errors[0])

    def kernels(self, m: int, ds: tuple[int, ...]) -> tuple[Array, Mask, Array]:
        """The same for several d; formed in logarithms."""
        logs, errors = self.chain.log_marginals
        if ds not in self._stacks or not self.chain.homogeneous:
            powers = [self.steps.of(m, d) for d in ds]
            parts = [p.logs.T for p in powers], [p.positive.T for p in powers], [p.error for p in powers]
            self._stacks[ds] = np.stack(parts[0]), np.stack(parts[1]), np.array(parts[2])
        power, positive, error = self._stacks[ds]
        before, supports = m - np.asarray(ds), np.asarray(self.chain.supports)
        here, there = supports[m], supports[before]
        reach = positive & there[:, None, :] & here[None, :, None]
        first, last = np.where(there, logs[before], 0.0), np.where(here, logs[m], 0.0)
        with np.errstate(under="ignore", invalid="ignore"):
            whole = np.where(reach, first[:, None, :] + power - last[None, :, None], -np.inf)
            kernel = np.where(reach, np.maximum(np.exp(np.minimum(whole, 0.0)), 1e-320), 0.0)
        widest = np.max(np.abs(whole), where=reach, initial=0.0, axis=(1, 2))
        size = np.abs(first).max(axis=1) + largest(last) + widest
        return kernel, reach, 1.01 * (errors[m] + errors[before] + error + 8 * U * (1 + size))


@dataclass
class AnyStart(Start):
    """A chain, its steps alike or not, of which the start is unknown: every start is covered."""

    def __post_init__(self) -> None:
        super().__post_init__()
        self._known: dict[tuple[bytes, int, int], tuple[Array, Mask]] = {}
        self._odds: dict[tuple[bytes, int, int], Array] = {}

    def through(self, m: int, losses: Array, ds: tuple[int, ...], which: Places | None = None) -> Array:
        found = np.stack([self._through(m, d, loss) for d, loss in zip(ds, losses, strict=True)])
        at = [n for n, d in enumerate(ds) if self.limit is not None and self.limit.at(m - d) < NEAR]
        if which is not None:
            found = np.take_along_axis(found, which, axis=0)
            if self.limit is not None and len(at) == len(ds):
                found = np.minimum(found, self.limit.through(m, losses, ds, which))
        elif at and self.limit is not None:
            found[at] = np.minimum(found[at], self.limit.through(m, losses[at], tuple(ds[n] for n in at)))
        return found

    def _through(self, m: int, d: int, losses: Array) -> Array:
        if self.k**4 <= _MOST_ODDS:
            return np.asarray(through_any(losses[:, :, None, None], self.odds(m, d)).max(axis=(0, 1)))
        diameter, reach = self.diameter(m, d)
        return through_any(most_reached(losses, reach), diameter)

    def odds(self, m: int, d: int) -> Array:
        """D(z, z', x, x') of the d steps that end at this node, from above; 0 for values that are not possible."""
        rows, power = self.valid_at(m - d), self.steps.of(m, d)
        key = (rows.tobytes(), d, 0)
        if not self.chain.homogeneous or key not in self._odds:
            reach = power.positive & rows[:, None]
            logs = np.where(reach, power.logs, 0.0)
            apart = logs[:, None, :] - logs[None, :, :]
            moved = padded(apart[:, :, :, None] - apart[:, :, None, :], 4 * power.error)
            there = reach[:, None, :, None] & reach[None, :, None, :]
            finite = reach[:, None, None, :] & reach[None, :, :, None]
            self._odds[key] = np.where(there, np.where(finite, np.maximum(moved, 0.0), np.inf), 0.0)
        return self._odds[key]

    def diameter(self, m: int, d: int) -> tuple[Array, Mask]:
        """D(x, x') of the d steps that end at this node, and which of the nodes before reach x: (k, k), (k, k)."""
        rows = self.valid_at(m - d)
        key = (rows.tobytes(), d, 0 if self.chain.homogeneous else m)
        if key not in self._known:
            power = self.steps.of(m, d)
            self._known[key] = power.left_ratios(rows, True), np.asarray((power.positive & rows[:, None]).T)
        return self._known[key]


def most_reached(losses: Array, reach: Mask) -> Array:
    """For (x, x') the largest loss between values that x or x' reach."""
    to_x = np.where(reach[:, :, None], losses[None], 0.0).max(axis=1)  # (x, z'): over z that x reaches
    both = np.where(reach[None], to_x[:, None, :], 0.0).max(axis=2)  # (x, x'): and z' that x' reaches
    own = np.diagonal(both)
    return np.asarray(np.maximum(np.maximum(both, both.T), np.maximum(own[:, None], own[None, :])))


# Many values and a start that is not stationary: the scalar recursion over the earlier nodes.
#
# l_(m,d), the most that passes the d kernels from a node with m further nodes to the d-th beyond, over all pairs of its
# values, belongs to a place. It is bounded by the frontier of these kernels, by the closed form for any start, or,
# where the start is nearly forgotten, by the frontier of the stationary chain and what `StationaryLimit` adds; it
# stops as `Start.settled` does. Frontiers do not depend on eps and are kept. Where there would be too many, fewer d
# are used, and in the end only the total variation eta between rows: L <= log (1 + (e^alpha - 1) eta).
#
# Proofs: docs/proofs/contraction.md#many-values and docs/proofs/contraction.md#the-start-is-forgotten.

_MOST_SORTED = 10**8
_LEAST_FRONTIERS = 40
_FORGOTTEN, _NOTHING = 1e-3, 1e-6
_ROOMS = (1e-9, 1e-7, 1e-6)
_FEW = 3
"""How many frontiers are made at one node for one epsilon: those that promise most."""
_TRIED = 2
"""How many numbers d are tried pair by pair at one node."""
_KEPT = 120
"""Tables of total variations that are kept."""


@dataclass
class WideSweep:
    """The earlier side of a chain of many values."""

    start: GivenStart | AnyStart
    _fronts: dict[tuple[int, int], Frontiers] = field(default_factory=dict)
    _etas: dict[int, float] = field(default_factory=dict)
    _tables: dict[tuple[int, int], Array] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.k, self.alike = self.start.k, False
        self.wide = None if self.start.limit is None else Wide(self.start.limit.side)

    def levels(self, epsilon: float, nodes: int) -> StartLevels:
        """alpha_m up to `nodes`; settled where the start is forgotten before."""
        limit, far, goal = self.start.limit, DS[-1], np.inf
        ds: tuple[int, ...] = ()
        if self.wide is not None:
            long = nodes > 2 * far
            found = self.wide.levels(epsilon, None if long else nodes)
            ds = found.ds  # those that count at this epsilon
            goal = found.alphas[-1] if long and found.known else np.inf
        alphas, own = [up(epsilon)], up(np.array(DS) * epsilon)
        for m in range(1, nodes + 1):
            best = float(up(own + self.most(m, alphas, ds)).min())
            alphas.append(min(best, up((m + 1) * epsilon)))
            if limit is None or m <= far or not np.isfinite(goal) or self.wide is None:
                continue
            for room in _ROOMS:
                bound = max(goal, *alphas[-far:]) * (1 + room) + 1e-14
                more = float(limit.extra(bound, m + 1 - far))
                if more <= room * bound and self.wide.holds(bound, epsilon, ds, more):
                    return StartLevels(self, epsilon, ds, [*alphas, bound], True, range(m + 2))
        return StartLevels(self, epsilon, ds, alphas, False, range(nodes + 1))

    @cached_property
    def _sorted(self) -> tuple[int, ...]:
        """The numbers d whose frontiers are made at every node where the start still counts."""
        nodes, limit = self.start.chain.length, self.start.limit
        if limit is not None:
            nodes = int(np.sum(limit.spread > _FORGOTTEN)) + DS[-1]
        most = max(_LEAST_FRONTIERS, _MOST_SORTED // self.start.chain.size**3)
        return next((ds for ds in (DS, DS[:8:2], DS[:1]) if nodes * len(ds) <= most), ())

    def most(self, m: int, alphas: list[float], ds: tuple[int, ...]) -> Array:
        """l_(m,d)(alpha_(m-d)) for every d, at most alpha; inf where there are no d further nodes. `ds`: those whose
        frontiers of the stationary chain are asked."""
        beyond = np.array([alphas[m - d] if d <= m else np.inf for d in DS])
        found, limit = beyond.copy(), self.start.limit
        here = [n for n, d in enumerate(DS) if d <= m]
        if limit is not None and self.wide is not None and np.isfinite(limit.at(m - 1)):
            far = m - np.asarray(DS)[here]
            found[here] = np.minimum(found[here], self._near(beyond, ds)[here] + limit.extra(beyond[here], far))
            here = [n for n in here if limit.at(m - DS[n]) > _FORGOTTEN]
        if isinstance(self.start, AnyStart):
            for n in here:
                pairs = pairs_of(self.start.valid_at(m))
                diameter = np.max(self.start.diameter(m, DS[n])[0], where=pairs, initial=0.0)
                found[n] = min(found[n], float(through_any(beyond[n], np.asarray(diameter))))
        elif self._sorted:
            own = np.array(DS) * alphas[0]
            guess = own + self._near(beyond, ds)
            for n in sorted((n for n in here if DS[n] in self._sorted), key=lambda n: guess[n])[:_FEW]:
                if own[n] < float((own + found).min()):  # what passes is at least 0
                    if (m, DS[n]) not in self._fronts:
                        kernels = self.start.kernel(m, DS[n])
                        self._fronts[m, DS[n]] = Frontiers([frontier(*kernels, self.start.valid_at(m))])
                    found[n] = min(found[n], float(self._fronts[m, DS[n]].passed(beyond[[n]])[0]))
        elif 0 in here:
            if m not in self._etas:
                apart = variations(*self.start.kernel(m, 1))
                self._etas[m] = float(np.max(apart, where=self.start.pairs_at(m), initial=0.0))
            found[0] = min(found[0], float(by_variation(alphas[m - 1], self._etas[m])))
        return found

    def _near(self, beyond: Array, ds: tuple[int, ...]) -> Array:
        """What passes in the stationary chain, where its frontier is asked; else all that is beyond."""
        found = beyond.copy()
        if self.wide is not None and ds:
            at = [DS.index(d) for d in ds]
            found[at] = self.wide.together(ds).passed(beyond[at])
        return found

    def nearest(self, _: int) -> int:
        return 0

    def tried(self, m: int, levels: WideLevels) -> list[int]:
        scores = (np.array(DS) - 1) * levels.epsilon + self.most(m, levels.alphas, levels.ds)
        return [DS[n] for n in np.argsort(scores)[:_TRIED] if DS[n] <= m]

    def through(self, m: int, d: int) -> Kernel | None:
        return self.start.kernel(m, d) if isinstance(self.start, GivenStart) else None

    def rough(self, m: int, d: int, alpha: float) -> Array:
        """By the total variation of rows; for any start by the closed form."""
        if isinstance(self.start, GivenStart):
            if (m, d) not in self._tables:
                if len(self._tables) >= _KEPT:
                    self._tables.clear()
                self._tables[m, d] = variations(*self.start.kernel(m, d))
            return by_variation(alpha, self._tables[m, d])
        diameter = self.start.diameter(m, d)[0]
        return through_any(np.full(diameter.shape, alpha), diameter)


@dataclass
class StartLevels(WideLevels):
    """The same where the start counts, up to where it is forgotten."""

    source: WideSweep

    @cached_property
    def _late(self) -> tuple[int, float, WideLevels] | None:
        """From this m on F is that of the stationary chain with this much more, for losses of at most the largest.

        m is the first from which on w hardly counts, if what is beyond begins there; None where w counts up to it."""
        known, alpha = len(self.alphas) - 1 - (DS[-1] if self.settled else 0), max(self.alphas)
        limit, wide = self.source.start.limit, self.source.wide
        if wide is None or limit is None or not self.ds:
            return None
        first = min(known, int(np.argmax(np.append(limit.spread, 0.0) <= _NOTHING)))
        if not np.isfinite(limit.at(first)):
            return None
        table = WideLevels(wide, self.epsilon, self.ds, [alpha], True, [0])
        return first + max(wide.tried(DS[-1], table)), float(limit.extra(alpha, first)), table

    def at(self, m: int, asked: Mask | None = None) -> Array:
        if self._late is None or m < self._late[0]:
            return super().at(m, asked)
        _, more, table = self._late
        return np.asarray(up(table.at(m, asked) + more))

    rough = at
