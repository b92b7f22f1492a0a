"""The quilts of one entry: which entries shield it, how many stay near, and what those that shield say about it.

A quilt of entry i splits the other entries into N (near, with i in it), Q (the quilt) and R (remote) such that X_R is
independent of X_i given X_Q. What it leaks is max_q log P(X_Q = q | X_i = x) / P(X_Q = q | X_i = x'). What follows from
that for a release is the matter of `fugu.translation.quilts`.

Proofs: docs/proofs/quilts.md#quilts.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fugu.errors import UsageError
from fugu.priors.counted import Floats
from fugu.priors.stationary import UNIT


@dataclass(frozen=True)
class Quilts:
    """The quilts of one entry: card(N), and an upper bound of the leakage for every ordered pair of its values.

    The trivial quilt (Q empty, N everything, leakage 0) must be among them. Pairs with an impossible value are -inf.
    """

    length: int
    cards: Any
    leaks: Floats
    separators: tuple[tuple[int, ...], ...] = ()

    def __post_init__(self) -> None:
        trivial = (self.cards == self.length) & np.all(self.leaks <= 0, axis=(1, 2))
        if not trivial.any():
            raise UsageError("a set of quilts must contain the trivial one: everything near, leakage 0")
        if np.any(self.cards < 1) or np.any(np.isnan(self.leaks)):
            raise UsageError("a quilt has at least the entry itself near, and a leakage that is a number")
        impossible = np.isneginf(self.leaks).any(axis=0)
        object.__setattr__(self, "leaks", np.where(impossible, -np.inf, self.leaks))

    def worst(self) -> Floats:
        """Per quilt, the largest leakage over pairs."""
        return np.asarray(np.maximum(self.leaks.max(axis=(1, 2)), 0.0))


def assemble(length: int, t: int, left: Floats, right: Floats, trivial: Floats) -> Quilts:
    """The quilts of entry t of a sequence from the leakages of its sides, nearest first: both ends, one of them, none.

    `trivial` is -inf for the pairs that cannot occur."""
    a, b = np.arange(1, len(left) + 1), np.arange(1, len(right) + 1)
    both = np.nextafter(left[:, None] + right[None, :], np.inf) * (1 + 4 * UNIT)
    cards = np.concatenate([(a[:, None] + b[None, :] - 1).ravel(), length - t + a, t + b - 1, [length]])
    leaks = np.concatenate([both.reshape(-1, *trivial.shape), left, right, trivial[None]])
    return Quilts(length, cards, np.where(np.isneginf(trivial), -np.inf, leaks))
