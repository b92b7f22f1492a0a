"""The probability that the order statistics of uniform rows stay between limits, bounded from below.

With N(t) the number of rows up to t, U_(r) <= b is N(b) >= r, and U_(r) >= a is N(a) <= r - 1. N is a Poisson process
of rate n given N(1) = n. So the law of N is pushed through the sorted limits by Poisson weights, and what leaves
[least, most] is set to 0 (Steck 1971; Moscovich, Nadler 2017).

Everything is a sum of products of positive doubles: a rounding changes each by a factor of 1 +- 2^-53, and the number
of roundings in a row is counted. Dropping a tail of the weights or a tiny entry only makes the result smaller. So the
result, less the counted roundings, is a proved lower bound.
"""

from __future__ import annotations

import math

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.numbers.balls import precision, upper
from fugu.numbers.exact import UNIT

Floats = NDArray[np.float64]
_TINY = 1e-20
"""Entries below this share of the largest are dropped: that costs less than one part in 10^12."""
_SPREAD = 8.0
"""How many standard deviations of Poisson weights are kept: what is dropped is below 1e-15 for large rates."""


def noncrossing(ranks: NDArray[np.int64], low: Floats, high: Floats, n: int) -> tuple[float, float]:
    """A proved lower bound of P(low[i] <= U_(ranks[i]) <= high[i] for all i), and how much of it roundings cost.

    - `ranks`: increasing, between 1 and n. - `low`, `high`: doubles in [0, 1], nondecreasing, low <= high.
    - `n`: the number of uniform rows.

    >>> low, high = np.array([0.05, 0.1, 0.3]), np.array([0.7, 0.9, 0.95])
    >>> round(noncrossing(np.array([1, 2, 3]), low, high, 3)[0], 10)
    0.688
    """
    times = np.unique(np.concatenate([low, high]))
    times = times[(times > 0) & (times < 1)]
    least = np.concatenate([[0], ranks])[np.searchsorted(high, times, side="right")]
    most = np.concatenate([ranks - 1, [n]])[np.searchsorted(low, times, side="left")]
    if np.any(least > most):
        return 0.0, 0.0
    law, start, before, roundings = np.ones(1), 0, 0.0, 0
    for t, lowest, highest in zip([*times.tolist(), 1.0], [*least.tolist(), n], [*most.tolist(), n], strict=True):
        weights, first, count = _poisson(n * (t - before))
        roundings += count + min(len(law), len(weights))
        moved = np.convolve(law, weights)
        begin, end = max(0, lowest - start - first), highest + 1 - start - first
        law, start, before = moved[begin:end] if end > 0 else moved[:0], start + first + begin, t
        kept = np.flatnonzero(law > _TINY * law.max()) if law.size else law
        if not kept.size:
            return 0.0, 0.0
        law, start = law[kept[0] : kept[-1] + 1], start + int(kept[0])
    with precision(96):
        given = upper((n * (arb(n).log() - 1) - arb(n + 1).lgamma()).exp())  # P(N(1) = n), from above
    slack = 1.1 * UNIT * (roundings + 5 * n + 16)  # 5 n: the rates n (t - s) are rounded too, and n rows feel it
    found = float(law[0]) / given
    return max(0.0, found * (1.0 - slack)), found * slack


def _poisson(rate: float) -> tuple[Floats, int, int]:
    """Weights of a Poisson law around its mode, the first one's place, and a bound of the roundings in each of them.

    They are products of ratios from the mode outward, over a total that includes a bound of the dropped tails: so none
    is too large, but for roundings."""
    mode = int(rate)
    reach = int(_SPREAD * math.sqrt(rate) + 18)
    first, last = max(0, mode - reach), mode + reach
    with np.errstate(under="ignore"):
        up = np.cumprod(rate / np.arange(mode + 1, last + 1))
        down = np.cumprod(np.arange(mode, first, -1) / rate)[::-1]
    weights = np.concatenate([down, [1.0], up])
    weights[weights < 1e-100] = 0.0
    over = rate / (last + 1)
    rest = max(float(up[-1]), 1e-100) * over / (1 - over)
    if first > 0:
        under = first / rate
        rest += max(float(down[0]), 1e-100) * under / (1 - under)
    return weights / (float(weights.sum()) + rest), first, 5 * len(weights) + 20
