"""Which shares a scenario about a property speaks of, and which of them are proved to look alike.

Of n records k have the property, so a share is k/n, and two of them differ by at most the tolerance t where their
numbers differ by at most K = floor(n t). Proving one pair says nothing of the others: noise for 45 and 55 records of
100 may be too little for 5 and 15. Without shares of the user's own, numbers from 0 to n are gone through:

- where the law of the statistics is normal with a mean and a covariance that are affine in k, every two numbers that
  differ by at most K are covered (docs/proofs/correlated.md): a pair that is nearer loses no more than one at distance
  K, and all pairs (k, k + K) with g <= k <= h lose no more than the pair in which h - g records are left out;
- otherwise the pairs (k, k + K) of a list of numbers are proved, and nothing is said of others."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import combinations
from typing import final

import numpy as np

from fugu.errors import BadTable, UsageError
from fugu.numbers.checks import is_list, is_row
from fugu.numbers.exact import Real, number
from fugu.scenario.moves import said

MOST_RANGES = 20
"""Ranges of numbers, or pairs of vectors, that are proved one by one."""
MOST_NUMBERS = 11
"""The same for a single statistic, where one proof takes about half a second."""


@final
@dataclass(frozen=True)
class Shares:
    """Shares, or ranges of them, and the pairs that must look alike.

    >>> found = spread_shares(10, Fraction(1, 5), every=True)
    >>> found.labels(10)[:3], found.pairs[:2], found.every
    (('p=0', 'p=0.1', 'p=0.2'), ((0, 2), (1, 3)), True)
    """

    shares: tuple[Fraction, ...]
    widths: tuple[int, ...]
    """For each share how many more records it stands for as well: k .. k + width."""
    pairs: tuple[tuple[int, int], ...]
    given: bool
    """Whether the user named the shares."""
    every: bool = False
    """Whether every two numbers at most K apart, between the least and the largest one, are covered."""

    def labels(self, size: int) -> tuple[str, ...]:
        """The secrets' names, "p=0.45", or "p=0.45..0.47" for a range."""
        return tuple(
            f"p={said(share)}" + (f"..{said(share + Fraction(width, size))}" if width else "")
            for share, width in zip(self.shares, self.widths, strict=True)
        )


def records_of(size: int, share: Real | Fraction) -> int:
    """floor(n p + 1/2): how many of n records have the property under the share p; halves go up.

    >>> records_of(10, Fraction("0.05")), records_of(10, Fraction("0.25")), round(10 * 0.25)
    (1, 3, 2)
    """
    return math.floor(size * Fraction(share) + Fraction(1, 2))


def given_shares(values: Sequence[Real], tolerance: Fraction) -> Shares:
    """The shares that a user named, with every two of them that differ by at most the tolerance."""
    if not (is_list(values) or is_row(values)) or len(values) < 2:
        raise UsageError("values must be a list of at least two shares, such as [0.45, 0.55]")
    shares = tuple(number(float(x) if isinstance(x, np.floating) else x, "each of the values", None) for x in values)
    if any(not 0 <= share <= 1 for share in shares):
        raise UsageError("the values are shares of records, so each must be in [0, 1]")
    if len({said(share) for share in shares}) < len(shares):
        raise UsageError("two of the values are equal; give each share once")
    close = tuple((i, j) for i, j in combinations(range(len(shares)), 2) if abs(shares[i] - shares[j]) <= tolerance)
    if not close:
        raise UsageError("no two of the values differ by at most the tolerance, so there is nothing to protect")
    return Shares(shares, (0,) * len(shares), close, given=True)


def spread_shares(
    size: int, tolerance: Fraction, every: bool, single: bool = False, ends: tuple[int, int] | None = None
) -> Shares:
    """Shares over all numbers of records that are possible (`ends`: the least and the largest; all of 0 .. n without).

    every: the laws are normal and affine in the number, so ranges cover all of them; otherwise a list of pairs."""
    least, most = (0, size) if ends is None else ends
    apart = math.floor(size * tolerance)
    if apart == 0:
        raise UsageError(
            f"a tolerance of {said(tolerance)} is less than one of {size} records, so no two shares are that near; use "
            "a larger size or tolerance"
        )
    last = most - apart
    if last < least:
        raise BadTable(
            "a class of the reference has fewer records than a data set would take without replacement; give a "
            "larger reference, a smaller size, or replacement=True"
        )
    if every:
        step = -(-(last - least + 1) // MOST_RANGES)
        ranges = [(start, min(start + step - 1, last)) for start in range(least, last + 1, step)]
    else:
        limit = min(last - least + 1, MOST_NUMBERS if single else MOST_RANGES)
        starts = {least + round(Fraction(i * (last - least), max(1, limit - 1))) for i in range(limit)}
        ranges = [(start, start) for start in sorted(starts)]
    found = dict.fromkeys(cell for g, h in ranges for cell in ((g, h), (g + apart, h + apart)))
    ordered = sorted(found)
    place = {cell: i for i, cell in enumerate(ordered)}
    return Shares(
        tuple(Fraction(g, size) for g, _ in ordered),
        tuple(h - g for g, h in ordered),
        tuple((place[g, h], place[g + apart, h + apart]) for g, h in ranges),
        given=False,
        every=every or (apart == 1 and len(ranges) == last - least + 1),
    )
