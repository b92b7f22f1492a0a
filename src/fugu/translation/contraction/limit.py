"""What a chain tends to: once the start is forgotten, its backward kernels are nearly those of the stationary chain.

h_t = mu_t / pi is averaged by every step, h_(t+1)(x) = sum over y of pi(y) P(y, x) / pi(x) h_t(y), so its extremes only
come closer. With w = log max h - log min h at t - d, the law of X_(t-d) given X_t = x is h_(t-d)(y) / h_t(x) times that
of the stationary chain, and two laws with quotients in [m, M], M / m <= e^w, differ by at most tanh(w / 4) in total
variation. Hence, for losses of at most alpha,

    L <= L_stationary + 2 log(1 + (e^alpha - 1) tanh(w / 4)),

at this entry and at every later one.

Proofs: docs/proofs/contraction.md#the-start-is-forgotten.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw
from fugu.priors.chain import MarkovChain
from fugu.priors.products import largest, single
from fugu.priors.stationary import stationary_law
from fugu.translation.contraction.closed import from_total_variation
from fugu.translation.contraction.kernel import Array, Rows, U, chosen, passed, sort_rows, up
from fugu.translation.contraction.side import Side

_FORGOTTEN = 1e-13
_MOST_POWERS = 4096
_EVER = 1e-3
"""A chain that does not come this near within its length is not compared at all."""
NEAR = 1.0
"""A start whose w is above this is not yet worth comparing with the stationary chain."""


Places = NDArray[np.intp]


def losses_of(beyond: list[Array], epsilon: float) -> Array:
    """eps + F off the diagonal, rounded up."""
    stack = np.stack(beyond)
    return np.where(~np.eye(stack.shape[-1], dtype=bool), up(epsilon + stack), 0.0)


def backward_kernel(before: Array, kernel: Array, after: Array) -> Array:
    """before(y) kernel(y, x) / after(x) in row x; the ratio of the marginals first, so that nothing is lost below.

    What is positive stays positive: zeros are told apart by the kernel, not by arithmetic."""
    live = (before[:, None] > 0) & (kernel > 0) & (after[None, :] > 0)
    with np.errstate(under="ignore"):
        ratio = before[:, None] / np.where(after > 0, after, 1.0)[None, :]
        out: Array = np.where(live, np.maximum(ratio * kernel, 1e-320), 0.0).T
    return out


@dataclass
class Limit:
    """The backward side of the stationary chain, and w for a node with m further nodes, m = 0, 1, ...; inf: far."""

    side: Side
    spread: Array

    def at(self, m: int) -> float:
        """w; the last one computed bounds the later ones."""
        return float(self.spread[min(m, len(self.spread) - 1)])

    def extra(self, alpha: float, m: int) -> float:
        """2 log(1 + (e^alpha - 1) tanh(w / 4)), rounded up."""
        w = self.at(m)
        return alpha if not math.isfinite(w) else 2 * from_total_variation(alpha, math.tanh(w / 4) * (1 + 16 * U))

    def passed(
        self, far: list[int], beyond: list[Array], ds: tuple[int, ...], epsilon: float, which: Places | None = None
    ) -> Array:
        """(n, k, k): (d - 1) eps + L for d in `ds`, the losses `beyond` them, and the number of nodes beyond those.

        `which` (n, k, k): the place in `ds` that is asked for each pair; all of them if None."""
        losses = losses_of(beyond, epsilon)
        more = [self.extra(float(loss.max()), m) for m, loss in zip(far, losses, strict=True)]
        own = up((np.asarray(ds) - 1) * epsilon + np.array(more))
        if which is None:
            return up(own[:, None, None] + passed(self.rows(ds), losses))
        return up(own[which] + passed(chosen(self.rows(ds), which), losses, which))

    def rows(self, ds: tuple[int, ...]) -> Rows:
        """The sorted rows of the powers; kept."""
        if ds not in self.side._cache:
            powers, reach = [self.side.kernel(1)], [self.side.kernel(1) > 0]
            for _ in range(ds[-1] - 1):
                with np.errstate(under="ignore"):
                    powers.append(powers[-1] @ powers[0])
                reach.append((reach[-1].astype(np.float32) @ reach[0].astype(np.float32)) > 0)
            stack, positive = np.stack([powers[d - 1] for d in ds]), np.stack([reach[d - 1] for d in ds])
            self.side._cache[ds] = sort_rows(stack, positive, self.side.relative(ds), self.side.valid_at(0))
        return self.side._cache[ds]


def limit_of(chain: MarkovChain, nodes: int) -> Limit | None:
    """The stationary chain that this homogeneous one tends to; None if it has many, or is not near any."""
    try:
        law, error = stationary_law(chain.transition(1))
    except BadLaw:
        return None
    live = law > 0
    pi = np.where(live, np.log(np.where(live, law, 1.0)), 0.0)
    own = 1.01 * error + 16 * U * (1 + largest(pi))
    found = np.full(nodes + 1, np.inf)
    if chain.free:
        power = single(np.eye(chain.size))
        for m in range(1, min(nodes, _MOST_POWERS) + 1):
            power = power.then(chain.step(1))
            if np.array_equal(chain.supports[m], live):
                found[m] = _spread(power.logs[:, live] - pi[live], power.error + own)
                if found[m] <= _FORGOTTEN:
                    break
    else:
        logs, errors = chain.log_marginals
        near = (np.asarray(chain.supports)[: nodes + 1] == live).all(axis=1)
        h = logs[: nodes + 1][near][:, live] - pi[live]
        pad = 2.02 * (errors[: nodes + 1][near] + own) + 32 * U * (1 + np.abs(h).max(axis=1, initial=0.0))
        found[near] = h.max(axis=1, initial=-np.inf) - h.min(axis=1, initial=np.inf) + pad
    found = np.minimum.accumulate(found)
    if not found[-1] < _EVER:
        return None
    kernel = backward_kernel(law, chain.transition(1), law)
    return Limit(Side([kernel], [live], 2.02 * error + 16 * U), found)


def _spread(h: Array, error: float) -> float:
    return float(h.max() - h.min()) + 2.02 * error + 32 * U * (1 + largest(h)) if np.isfinite(h).all() else math.inf
