"""`plan_channel`: the least epsilon at which the channel of least loss has at most a given one."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

from fugu.calibration.channel import Solved
from fugu.calibration.channel_problem import Asked
from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.asks import Ratio
from fugu.laws.items import shapes
from fugu.laws.pair import PairsLike, as_pairs
from fugu.mechanism.context import Context
from fugu.numbers.exact import Real, as_fraction, decimal_up

_TIMES = 1e-4
"""How near to the least epsilon the answer is, relatively."""
_LARGEST = 64.0
"""Beyond it a promise is none, and linear programs in doubles see nothing."""


def plan_channel(source: PairsLike, error: float, wishes: Asked, delta: Real = 0) -> Pure | Approx:
    """The least epsilon, within one part in ten thousand, whose channel has a proved loss of at most `error`.

    A larger epsilon allows every channel that a smaller one allows, so the least loss falls with epsilon; the end that
    reaches the error is returned. Raises `NotProvable` where none does."""
    if not isinstance(error, int | float) or isinstance(error, bool) or not 0 <= error < math.inf:
        raise UsageError(f"the target error must be a finite number >= 0, got {error!r}")
    given, names = shapes(as_pairs(source)), Context.of(source).nominal
    asked, slack = replace(wishes, names=names), as_fraction(Approx(0, delta).delta)

    def reaches(epsilon: float) -> bool:
        problem = asked.problem(given, Ratio(as_fraction(epsilon), slack))
        return Fraction(Solved.of(problem, asked).optimum.value) <= as_fraction(error)

    low, high = 0.0, 1.0
    if reaches(low):
        high = low
    while low < high and not reaches(high):
        low, high = high, 2 * high
        if high > _LARGEST:
            raise NotProvable(f"no epsilon up to {_LARGEST:g} has a channel with an expected loss of at most {error:g}")
    while high - low > _TIMES * high:
        middle = float(decimal_up((low + high) / 2, 9))
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return Approx(high, delta) if delta else Pure(high)
