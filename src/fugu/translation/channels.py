"""Finite mechanisms as exact tables P(output | dataset): reading, post-processing, and the leakage of several runs.

What it is for: docs/proofs/composition.md#the-condition.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import lru_cache
from itertools import combinations_with_replacement, product
from typing import Any

from fugu.errors import BadLaw, UsageError
from fugu.numbers import balls
from fugu.numbers.exact import as_fraction, meant_up

Law = tuple[Fraction, ...]
Channel = tuple[Law, ...]
_BITS = 128
_MOST_OUTPUTS = 200_000
_TOLERANCE = Fraction(1, 10**9)


def read_law(given: Any, name: str = "a law") -> Law:
    """Probabilities as the decimals they stand for, summing to one within 1e-9, divided by their exact sum."""
    try:
        found = tuple(as_fraction(x) for x in given)
    except (TypeError, ValueError):
        raise BadLaw(f"{name} must be a list of probabilities") from None
    total = sum(found, Fraction(0))
    if not found or min(found) < 0 or abs(total - 1) > _TOLERANCE:
        raise BadLaw(f"{name} must be numbers >= 0 that sum to one")
    return tuple(x / total for x in found)


def read_channel(given: Any) -> Channel:
    """A row per dataset, a column per output."""
    try:
        rows = tuple(read_law(row, "each row of a mechanism") for row in given)
    except TypeError:
        raise BadLaw("a mechanism is a table: a row per dataset, a column per output") from None
    if not rows or len({len(row) for row in rows}) != 1:
        raise BadLaw("all rows of a mechanism need the same outputs")
    return rows


def check(channels: Sequence[Channel], first: Law, second: Law) -> None:
    """One dataset per row everywhere, and no dataset that carries both secrets."""
    if not channels or {len(c) for c in channels} != {len(first)} or len(first) != len(second):
        raise UsageError("every mechanism needs one row per dataset, and both laws one entry per dataset")
    if any(a > 0 and b > 0 for a, b in zip(first, second, strict=True)):
        raise UsageError("a dataset is possible under both secrets; secrets must be functions of the dataset")


def processed(mechanism: Any, after: Any) -> Channel:
    """The mechanism followed by a channel A(z | w): rows of `after` are the outputs of the mechanism."""
    rows, then = read_channel(mechanism), read_channel(after)
    if len(rows[0]) != len(then):
        raise UsageError(f"the post-processing needs a row for each of the {len(rows[0])} outputs")
    columns = tuple(zip(*then, strict=True))
    return tuple(tuple(_dot(row, column) for column in columns) for row in rows)


def _dot(a: Law, b: Law) -> Fraction:
    return sum((x * y for x, y in zip(a, b, strict=True)), Fraction(0))


def joint_leakage(mechanisms: Sequence[Any], first: Any, second: Any, runs: Sequence[int]) -> float:
    """max over all outputs of the runs of log P(outputs | s1) / P(outputs | s2), by enumeration; from above.

    +inf if some outputs are possible under s1 alone.

    >>> joint_leakage([[[0.5, 0.5], [0.5, 0.5]]], [1, 0], [0, 1], [3])
    0.0
    """
    channels = [read_channel(m) for m in mechanisms]
    p, q = read_law(first, "first"), read_law(second, "second")
    check(channels, p, q)
    if len(runs) != len(channels):
        raise UsageError("runs needs one number per mechanism")
    if math.prod(math.comb(r + len(c[0]) - 1, r) for r, c in zip(runs, channels, strict=True)) > _MOST_OUTPUTS:
        raise UsageError("too many combinations of outputs to enumerate; ask for fewer runs")
    worst = Fraction(1)
    for chances in _outputs(channels, runs):
        a, b = _dot(p, chances), _dot(q, chances)
        if a > 0 and b == 0:
            return math.inf
        if a > 0:
            worst = max(worst, a / b)
    return log_up(worst)


def _outputs(channels: Sequence[Channel], runs: Sequence[int]) -> Iterator[Law]:
    """For every multiset of outputs, its probability under each dataset (up to the number of orders)."""
    options = [combinations_with_replacement(range(len(c[0])), r) for c, r in zip(channels, runs, strict=True)]
    for chosen in product(*options):
        yield tuple(
            math.prod((c[d][w] for c, ws in zip(channels, chosen, strict=True) for w in ws), start=Fraction(1))
            for d in range(len(channels[0]))
        )


@lru_cache(maxsize=1024)
def log_up(ratio: Fraction) -> float:
    """A float at or above ln(ratio) for a ratio >= 1; 0 for 1."""
    if ratio == 1:
        return 0.0
    with balls.precision(_BITS):
        return meant_up(balls.upper(balls.of(ratio).log()))
