"""From one number to one loss per pair: a bound that holds for every number of further nodes, improved step by step.

If F bounds the losses of a side for every number m of further nodes, then so does, for every d,

    (d - 1) eps + L(K^d_x, K^d_x'; eps + F)

(for m >= d by the recursion of `contraction_side`; for m < d because F_m <= m eps <= (d - 1) eps). Starting at the
scalar bound, the least of these and F is taken again and again; one may stop anywhere. Cheaper than the recursion from
m = 0.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from fugu.translation.contraction.kernel import Array, Rows, sort_rows
from fugu.translation.contraction.side import Side, step
from fugu.translation.contraction.wide import DS, Wide

_DS = (1, 2, 3, 4, 6, 8, 12, 16)
_ROUNDS = 40
_ENOUGH = 1e-6


@dataclass
class Refined:
    """One side of a chain of a few values whose kernel is the same everywhere."""

    side: Side
    wide: Wide = field(init=False)
    rows: Rows = field(init=False)

    def __post_init__(self) -> None:
        self.wide = Wide(self.side)
        at = [DS.index(d) for d in _DS]
        plain, reach = np.stack([self.wide.powers[n] for n in at]), np.stack([self.wide.reach[n] for n in at])
        self.rows = sort_rows(plain, reach, self.side.relative(_DS), self.side.valid_at(0))

    def pairs(self, epsilon: float, nodes: int | None) -> Array:
        """F(x, x') for every number of further nodes up to `nodes` (None: every number); rounded up."""
        found = self.wide.pairs(epsilon, nodes)
        if not np.all(np.isfinite(found)):
            return found
        valid = self.side.valid_at(0)
        for _ in range(_ROUNDS):
            new = step(self.rows, [found] * len(_DS), _DS, epsilon, valid)
            new = np.minimum(found, np.where(self.rows.valid[0], new, 0.0))
            gain = float(np.max(found - new))
            found = new
            if gain <= _ENOUGH * float(found.max()):
                break
        return found
