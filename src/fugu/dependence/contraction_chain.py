"""The contraction accountant of a Markov chain: per-entry eps to Pufferfish epsilon, node by node and pair by pair.

    log P(output | X_i = x) / P(output | X_i = x') <= eps + F_fwd(x, x') + F_bwd(x, x')

with F_fwd over the T - i later nodes and F_bwd over the i - 1 earlier ones: exchange the law of the later nodes, that
of the earlier nodes, and the cell itself, one after the other (composition notes, section 6.3). The backward kernels
are those of this chain with this start, P(X_(t-1) | X_t), not the reversal of the stationary chain. Finite with
forbidden transitions for a finite length.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from fugu.dependence.chain import MarkovChain
from fugu.dependence.contraction import Array, U
from fugu.dependence.contraction_refine import Refined
from fugu.dependence.contraction_side import Side, levels
from fugu.dependence.contraction_wide import Wide, levels_scalar
from fugu.errors import NotProvable
from fugu.exact import meant_up

MOST_PAIRWISE = 12
"""Chains with at most this many values carry one loss per ordered pair; larger ones a single number."""
MOST_RECURSION = 5
"""Up to here, and for short chains, the recursion is run from m = 0; above, a bound for all m is refined."""
_SHORT = 12
_LEAST_LOG = -650.0
_POSITIVE = 1e-320
"""Stands for any smaller positive number; far below the entries whose digits are used."""


class Contraction:
    """What per-entry privacy is worth under one chain; tables are kept between calls.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=6)
    >>> round(Contraction(chain)(0.3), 8), round(Contraction(chain).node(3, 0.3), 8)
    (0.67037357, 0.67037357)
    """

    def __init__(self, chain: MarkovChain) -> None:
        self.chain = chain
        self.length = chain.length

    @cached_property
    def forward(self) -> Side:
        """The later nodes: the transition kernels."""
        chain, supports = self.chain, np.asarray(self.chain.supports)
        if chain.homogeneous:
            return Side([chain.transition(1)], [np.asarray(supports.any(axis=0))])
        kernels = [chain.transition(self.length - m) for m in range(1, self.length)]
        return Side(kernels, [supports[self.length - 1 - m] for m in range(self.length)])

    @cached_property
    def backward(self) -> Side:
        """The earlier nodes: P(X_(t-1) = y | X_t = x) = mu_(t-1)(y) P(y, x) / mu_t(x), one float for each marginal."""
        chain, supports = self.chain, np.asarray(self.chain.supports)
        logs, errors = chain.log_marginals
        if np.any(logs[supports] < _LEAST_LOG):
            raise NotProvable("a state has a probability below e^-650; leave it out or give it probability 0")
        error = float(np.max(errors)) * 1.01 + 2000 * U
        laws = np.where(supports, np.exp(np.where(supports, logs, 0.0)), 0.0)
        if chain.stationary:
            return Side([_reversed(laws[0], chain.transition(1), laws[0])], [supports[0]], error)
        kernels = [_reversed(laws[m - 1], chain.transition(m), laws[m]) for m in range(1, self.length)]
        return Side(kernels, list(supports), error)

    def __call__(self, epsilon: float) -> float:
        """The largest bound over all nodes and ordered pairs of possible values; `epsilon` is the per-entry one."""
        return self._worst(epsilon, range(1, self.length + 1))

    def node(self, i: int, epsilon: float) -> float:
        """The bound for the secrets of node i alone, i = 1 .. T."""
        return self._worst(epsilon, [i])

    def every_length(self, epsilon: float) -> float:
        """A bound for every node of a stationary chain of any length; inf if none is found.

        A true F grows with the number of further nodes (f may ignore some), so the settled one bounds all."""
        if not self.chain.stationary:
            raise NotProvable("a bound for every length needs a stationary chain; state the length")
        if self._wide:
            total = self._wide[0].pairs(epsilon, None) + self._wide[1].pairs(epsilon, None)
        else:
            found = [levels(side, epsilon, None) for side in (self.forward, self.backward)]
            if not all(f.settled for f in found):
                return float("inf")
            total = found[0].values[-1] + found[1].values[-1]
        worst = float(np.max(total[self._pairs(0)], initial=0.0))
        return self._sum(epsilon, worst)

    @cached_property
    def _wide(self) -> tuple[Wide | Refined, Wide | Refined] | None:
        """The two sides where one table serves all nodes; None where the recursion runs node by node."""
        sides, k = (self.forward, self.backward), self.chain.size
        if not all(s.same for s in sides) or k <= MOST_RECURSION or (k <= MOST_PAIRWISE and self.length <= _SHORT):
            return None
        kind = Refined if k <= MOST_PAIRWISE else Wide
        return kind(sides[0]), kind(sides[1])

    def _worst(self, epsilon: float, nodes: range | list[int]) -> float:
        if self._wide:  # the same bound for every node
            most = self.length - 1
            total = self._wide[0].pairs(epsilon, most) + self._wide[1].pairs(epsilon, most)
            return self._sum(epsilon, float(np.max(total[self._pairs(0)], initial=0.0)))
        solve = levels if self.chain.size <= MOST_PAIRWISE else levels_scalar
        later = solve(self.forward, epsilon, self.length - 1)
        earlier = solve(self.backward, epsilon, self.length - 1)
        worst, seen = 0.0, set()
        for i in nodes:
            at = min(self.length - i, len(later.values) - 1), min(i - 1, len(earlier.values) - 1)
            if at in seen and self.chain.stationary:
                continue
            seen.add(at)
            total = later.at(self.length - i) + earlier.at(i - 1)
            worst = max(worst, float(np.max(total[self._pairs(i - 1)], initial=0.0)))
        return self._sum(epsilon, worst)

    def _pairs(self, row: int) -> Array:
        """Ordered pairs of different values that node `row` + 1 can take."""
        supports = np.asarray(self.chain.supports)
        valid = supports[min(row, len(supports) - 1)]
        pairs: Array = valid[:, None] & valid[None, :] & ~np.eye(len(valid), dtype=bool)
        return pairs

    def _sum(self, epsilon: float, worst: float) -> float:
        return meant_up(float((epsilon + worst * (1 + 4 * U)) * (1 + 4 * U))) if worst > 0 else epsilon


def _reversed(before: Array, kernel: Array, after: Array) -> Array:
    """mu_(t-1)(y) P(y, x) / mu_t(x) in row x; the ratio of the marginals first, so that nothing is lost to underflow.

    What is positive stays positive: zeros are told apart by the kernel, not by arithmetic."""
    live = (before[:, None] > 0) & (kernel > 0) & (after[None, :] > 0)
    with np.errstate(under="ignore"):
        ratio = before[:, None] / np.where(after > 0, after, 1.0)[None, :]
        out: Array = np.where(live, np.maximum(ratio * kernel, _POSITIVE), 0.0).T
    return out
