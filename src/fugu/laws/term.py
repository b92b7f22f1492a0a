"""`Term`: some users of one kind, who add a whole number each to the sum."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Term:
    """`times` independent users with P(X = at[k]) = parts[k] / total, where 0 = at[0] < at[1] < ... and parts > 0.

    >>> Term.of([0, 3], [2, 4])
    Term(at=[0, 3], parts=[1, 2], total=3, times=1)
    """

    at: list[int]
    parts: list[int]
    total: int
    times: int = 1

    @staticmethod
    def of(at: Sequence[int], parts: Sequence[int], times: int = 1) -> Term:
        """The term with these counts, in lowest terms."""
        common = math.gcd(*parts)
        reduced = [part // common for part in parts]
        return Term(list(at), reduced, sum(reduced), times)

    def dense(self) -> list[int]:
        """The counts at 0, 1, 2, ..., zeros between the atoms."""
        filled = [0] * (self.at[-1] + 1)
        for k, part in zip(self.at, self.parts, strict=True):
            filled[k] = part
        return filled

    def floats(self) -> list[float]:
        """The probabilities, each correctly rounded."""
        return [part / self.total for part in self.parts]
