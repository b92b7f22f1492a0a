"""`Proof`: what was proved of a noise on law pairs."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Proof:
    """Proved upper bounds: every pair, both orders. delta is 0 if the pure bound alone meets epsilon."""

    epsilon: float
    delta: float
    worst_pair: str
    holds: bool
