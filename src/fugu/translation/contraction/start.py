"""The earlier nodes of a chain that is not stationary: the kernels of a given start, or a bound for every start.

P(X_(t-d) = y | X_t = x) = mu_(t-d)(y) P^d(y, x) / mu_t(x): powers of the transition kernel and two marginals give every
product of backward kernels. What they pass on is bounded in three ways.

- *Given start*: by the kernels themselves (`GivenStart`).
- *Any start*: for losses of at most alpha and D(x, x') = max over z, z' of log K(z, x) K(z', x') / (K(z, x') K(z', x)),
  K = P^d, and whatever the law mu of X_(t-d) is (`AnyStart`),

      L <= 4 artanh(tanh(alpha / 4) tanh(D / 4)).

  Proof: an extreme g takes two values 1 and e^alpha; let it be e^alpha on A. With a, a' the probabilities of A given x
  and x' the odds a / (1 - a) and a' / (1 - a') have a quotient of at most e^D (quotients of sums of mu K over A and
  over the rest), and (1 + (e^alpha - 1) a) / (1 + (e^alpha - 1) a') is largest, for that quotient, where the odds of a
  and a' are e^(-alpha/2 +- D/2). Its value is ((1 + e^((alpha + D)/2)) / (e^(alpha/2) + e^(D/2)))^2.
- *The start is forgotten*: by the kernels of the stationary chain and a little more (`limit`).

Proofs: docs/proofs/contraction.md#a-given-start and docs/proofs/contraction.md#any-start.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from fugu.priors.chain import MarkovChain
from fugu.priors.products import Product, largest
from fugu.translation.contraction.kernel import Array, Rows, U, chosen, passed, sort_rows, up
from fugu.translation.contraction.limit import NEAR, Limit, limit_of, losses_of
from fugu.translation.contraction.rowpairs import passed_pairs
from fugu.translation.contraction.side import Mask

Places = tuple[NDArray[np.intp], ...]
Which = NDArray[np.intp]


def through_any(alpha: Array, diameter: Array) -> Array:
    """4 artanh(tanh(alpha / 4) tanh(diameter / 4)), rounded up, at most either.

    As 2 log1p(expm1(alpha/2) (1 - e^(-D/2)) / (1 + e^((alpha - D)/2))): no digits are lost, and D may be inf."""
    with np.errstate(over="ignore", invalid="ignore", under="ignore"):
        share = -np.expm1(-diameter / 2) / (1 + np.exp((alpha - diameter) / 2))
        slack = (64 + 4 * np.minimum(alpha, 1e4)) * U  # (alpha - D)/2 is off by u alpha
        found = 2 * np.log1p(np.expm1(alpha / 2) * share) * (1 + slack) + 4e-323
    least = np.minimum(alpha, diameter)
    return np.where(np.isfinite(found), np.minimum(found, least), least)


@dataclass
class Start:
    """The earlier nodes: what passes from a node with m further nodes, entry m + 1, to the d-th beyond it."""

    chain: MarkovChain
    _powers: list[Product] = field(default_factory=list)

    @property
    def k(self) -> int:
        """How many values a node has."""
        return self.chain.size

    @cached_property
    def limit(self) -> Limit | None:
        """What the side tends to."""
        return limit_of(self.chain, self.chain.length - 1) if self.chain.homogeneous else None

    def valid_at(self, m: int) -> Mask:
        """The values a node with m further nodes can take."""
        return np.asarray(self.chain.supports[m])

    def power(self, m: int, d: int) -> Product:  # noqa: ARG002 - steps that differ need m
        """The product of the d steps that end at the node with m further nodes."""
        while len(self._powers) < d:
            step = self.chain.step(1)
            self._powers.append(step if not self._powers else self._powers[-1].then(step))
        return self._powers[d - 1]

    def passed(
        self, m: int, beyond: list[Array], ds: tuple[int, ...], epsilon: float, which: Which | None = None
    ) -> Array:
        """(n, k, k): bounds on (d - 1) eps + L for d in `ds`, with the losses `beyond` them.

        `which` (n, k, k): the places in `ds` that are asked for each pair; all of them if None."""
        raise NotImplementedError

    def through(self, m: int, d: int, alpha: float, pairs: Places) -> Array:
        """What passes d kernels for some pairs of values, if all losses beyond are at most alpha."""
        raise NotImplementedError


@dataclass
class GivenStart(Start):
    """A homogeneous chain with a stated start."""

    _kept: dict[tuple[int, tuple[int, ...]], Rows] = field(default_factory=dict)
    _stacks: dict[tuple[int, ...], tuple[Array, Mask, Array]] = field(default_factory=dict)
    _size: int = 0

    def passed(
        self, m: int, beyond: list[Array], ds: tuple[int, ...], epsilon: float, which: Which | None = None
    ) -> Array:
        own, rows, losses = up((np.asarray(ds) - 1) * epsilon), self.rows(m, ds), losses_of(beyond, epsilon)
        if which is None:
            return up(own[:, None, None] + passed(rows, losses))
        return up(own[which] + passed(chosen(rows, which), losses, which))

    def through(self, m: int, d: int, alpha: float, pairs: Places) -> Array:
        return passed_pairs(*self.kernel(m, d), pairs, alpha)

    def rows(self, m: int, ds: tuple[int, ...]) -> Rows:
        """The sorted rows of the backward kernels; they serve every epsilon, so as many as fit are kept."""
        if (m, ds) in self._kept:
            return self._kept[m, ds]
        rows = self.sorted_rows(m, ds)[0]
        self._size += rows.u.size
        if self._size > _MOST_KEPT:
            self._kept.clear()
            self._size = rows.u.size
        self._kept[m, ds] = rows
        return rows

    def sorted_rows(self, m: int, ds: tuple[int, ...]) -> tuple[Rows, Array]:
        """The sorted rows and the relative errors of the kernels."""
        kernels, reach, error = self.kernels(m, ds)
        return sort_rows(kernels, reach, error, self.valid_at(m)), error

    def kernel(self, m: int, d: int) -> tuple[Array, Mask, float]:
        """P(X_(t-d) = y | X_t = x) in row x, what is positive, and the relative error."""
        kernels, reach, errors = self.kernels(m, (d,))
        return kernels[0], reach[0], float(errors[0])

    def kernels(self, m: int, ds: tuple[int, ...]) -> tuple[Array, Mask, Array]:
        """The same for several d; formed in logarithms."""
        logs, errors = self.chain.log_marginals
        if ds not in self._stacks:
            powers = [self.power(m, d) for d in ds]
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


_MOST_KEPT = 3 * 10**6
"""Entries of sorted rows that are kept, 33 bytes each."""


@dataclass
class AnyStart(Start):
    """A chain, its steps alike or not, of which the start is unknown: every start is covered."""

    _known: dict[tuple[bytes, int, int], tuple[Array, Mask]] = field(default_factory=dict)
    _last: tuple[int, list[Product]] = (0, [])

    def passed(
        self, m: int, beyond: list[Array], ds: tuple[int, ...], epsilon: float, which: Which | None = None
    ) -> Array:
        losses = losses_of(beyond, epsilon)
        found = np.stack(
            [
                up((d - 1) * epsilon) + through_any(_most(loss, self.diameter(m, d)[1]), self.diameter(m, d)[0])
                for d, loss in zip(ds, losses, strict=True)
            ]
        )
        near = tuple(d for d in ds if self.limit is not None and self.limit.at(m - d) < NEAR)
        if which is not None:
            found = np.take_along_axis(found, which, axis=0)
            if self.limit is not None and len(near) == len(ds):
                found = np.minimum(found, self.limit.passed([m - d for d in ds], beyond, ds, epsilon, which))
        elif near and self.limit is not None:
            at = [ds.index(d) for d in near]
            less = self.limit.passed([m - d for d in near], [beyond[n] for n in at], near, epsilon)
            found[at] = np.minimum(found[at], less)
        return up(found)

    def through(self, m: int, d: int, alpha: float, pairs: Places) -> Array:
        return through_any(np.full(pairs[0].shape, alpha), self.diameter(m, d)[0][pairs])

    def diameter(self, m: int, d: int) -> tuple[Array, Mask]:
        """D(x, x') of the d steps that end at this node, and which of the nodes before reach x: (k, k), (k, k)."""
        rows = self.valid_at(m - d)
        key = (rows.tobytes(), d, 0 if self.chain.homogeneous else m)
        if key not in self._known:
            power = self.power(m, d)
            self._known[key] = power.left_ratios(rows, True), np.asarray((power.positive & rows[:, None]).T)
        return self._known[key]

    def power(self, m: int, d: int) -> Product:
        if self.chain.homogeneous:
            return super().power(m, d)
        place, found = self._last
        if place != m:
            step = self.chain.step(m)
            found = [step, *(p.then(step) for p in found)][:_MOST_DIFFERING] if place == m - 1 else self._anew(m)
            self._last = m, found
        return found[d - 1]

    def _anew(self, m: int) -> list[Product]:
        found = [self.chain.step(m)]
        for t in range(m - 1, max(0, m - _MOST_DIFFERING), -1):
            found.append(self.chain.step(t).then(found[-1]))
        return found


_MOST_DIFFERING = 32


def _most(losses: Array, reach: Mask) -> Array:
    """For (x, x') the largest loss between values that x or x' reach."""
    to_x = np.where(reach[:, :, None], losses[None], 0.0).max(axis=1)  # (x, z'): over z that x reaches
    both = np.where(reach[None], to_x[:, None, :], 0.0).max(axis=2)  # (x, x'): and z' that x' reaches
    own = np.diagonal(both)
    return np.asarray(np.maximum(np.maximum(both, both.T), np.maximum(own[:, None], own[None, :])))
