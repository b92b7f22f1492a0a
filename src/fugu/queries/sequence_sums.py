"""Sums and means of bounded numbers: clipped exactly, added exactly, rounded once onto a lattice, then noised.

Rounding keeps the sensitivity: if |a - b| <= n step for a whole n, then a / step + 1/2 and b / step + 1/2 have floors
that differ by at most n. So a sum that one entry moves by at most high - low = n step needs lattice Laplace noise of
mass ~ exp(-epsilon |k| / n), no more than without rounding.
"""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from fugu.errors import UsageError
from fugu.noise.bits import BitSource
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.queries.sequence_data import Figures, Numbers, require_domain
from fugu.queries.sequence_query import Drawn, SequenceQuery, error_bound, laplace_sampler

_STEPS = 1000


@dataclass(frozen=True)
class _Total(SequenceQuery):
    """What is made of the sum of all entries, clipped to the bounds: replacing one moves it by at most high - low."""

    domain: Numbers
    step: Real | None = None

    def __post_init__(self) -> None:
        require_domain(self, self.domain, Numbers)
        object.__setattr__(self, "step", whole_step(self.domain.width, self.step))

    @property
    def sensitivity(self) -> Fraction:
        return self.domain.width

    def total(self, data: Figures) -> Fraction:
        """The exact sum; private."""
        return sum((sum(user, Fraction(0)) for user in data), Fraction(0))

    def noised(self, data: Figures, epsilon: Fraction, over: int, source: BitSource) -> Drawn:
        """The noised sum over a public number."""
        return noised_sum(self.total(data), self.domain.width, as_fraction(self.step or 0), epsilon, over, source)


@final
@dataclass(frozen=True)
class Sum(_Total):
    """The sum of all entries, clipped to the bounds. Replacing one entry moves it by at most high - low.

    >>> Sum(Numbers(0, 10)).exact([[1, 2.5], [99]])
    Fraction(27, 2)
    """

    @property
    def name(self) -> str:
        return "sum"

    def evaluate(self, data: Figures) -> Fraction:
        return self.total(data)

    def details(self) -> dict[str, Any]:
        return {"rounded to multiples of": str(self.step)}

    def draw(self, data: Figures, epsilon: Fraction, source: BitSource) -> Drawn:
        return self.noised(data, epsilon, 1, source)


@final
@dataclass(frozen=True)
class Mean(_Total):
    """The mean of all entries, clipped to the bounds: the sum over the public number n of entries.

    Replacing one entry moves the sum by at most high - low (the sensitivity stated) and the mean by 1/n of it.

    >>> Mean(Numbers(0, 10)).exact([1, 2])
    Fraction(3, 2)
    """

    @property
    def name(self) -> str:
        return "mean"

    def evaluate(self, data: Figures) -> Fraction:
        return self.total(data) / sum(map(len, data))

    def details(self) -> dict[str, Any]:
        of = "the sum, before division by the public number of entries"
        return {"sensitivity of": of, "rounded to multiples of": str(self.step)}

    def draw(self, data: Figures, epsilon: Fraction, source: BitSource) -> Drawn:
        return self.noised(data, epsilon, sum(map(len, data)), source)


def noised_sum(
    exact: Fraction, sensitivity: Fraction, step: Fraction, epsilon: Fraction, over: int, source: BitSource
) -> Drawn:
    """(round(exact / step) + N) step / over with P(N = k) ~ exp(-epsilon |k| step / sensitivity)."""
    rate = epsilon * step / sensitivity
    index = rounded(exact, step) + int(laplace_sampler(rate).draw(1, source)[0])
    half = float_up((as_fraction(error_bound(rate)) + Fraction(1, 2)) * step / over)
    return Drawn(nearest_double(index * step / over), None, (-half, half))


def nearest_double(exact: Fraction) -> float:
    """The nearest finite double: a sum beyond the doubles is not an error, which would tell of the data.

    >>> nearest_double(Fraction(10) ** 400)
    1.7976931348623157e+308
    """
    try:
        return float(exact)
    except OverflowError:
        return sys.float_info.max if exact > 0 else -sys.float_info.max


def rounded(exact: Fraction, step: Fraction) -> int:
    """floor(exact / step + 1/2)."""
    return math.floor(exact / step + Fraction(1, 2))


def whole_step(width: Fraction, step: Real | None) -> Fraction:
    """The lattice step: width / 1000 unless given; a given one must go into the width a whole number of times."""
    if step is None:
        return width / _STEPS
    try:
        exact = as_fraction(step)
    except (TypeError, ValueError):
        raise UsageError(f"step must be a number, got {step!r}") from None
    if exact <= 0 or (width / exact).denominator != 1:
        raise UsageError(f"step must be positive and divide high - low = {float(width):g}, got {float(exact):g}")
    return exact
