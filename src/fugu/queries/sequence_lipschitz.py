"""A user's own query with a stated l1 sensitivity: Laplace noise on every coordinate (the paper's first algorithm)."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np

from fugu.errors import BadNoise, UsageError
from fugu.noise.bits import BitSource
from fugu.numbers.checks import is_count, plain
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.queries.sequence_data import Numbers, States, require_domain
from fugu.queries.sequence_query import Drawn, SequenceQuery, error_bound, laplace_sampler
from fugu.queries.sequence_sums import nearest_double, rounded

_STEPS = 1024


@final
@dataclass(frozen=True)
class Lipschitz(SequenceQuery):
    """F(sequences): `dimension` numbers, ||F(D) - F(D')||_1 <= lipschitz for all D, D' that differ in one entry.

    fugu trusts the stated number: it must hold on the full product domain. F gets a tuple of tuples, one per user,
    clipped or mapped into the domain; what it returns is read exactly (a float is its decimal), and the stated number
    must hold for what is read. Each coordinate is rounded to a multiple of `step`. With `whole=True` the values
    of F are such multiples already (checked), and the sensitivity stays. Else rounding costs: whole numbers d_j <=
    ceil(x_j) with sum of x_j <= S add up to at most ceil(S) + dimension - 1, in steps, which is what noise is set for.

    >>> size = Lipschitz(lambda users: sum(len(u) for u in users), 1, States(("a", "b")), whole=True)
    >>> size.exact(["a", "b"])
    (Fraction(2, 1),)
    """

    function: Callable[[Any], Any]
    lipschitz: Real
    domain: States | Numbers
    dimension: int = 1
    step: Real | None = None
    whole: bool = False
    label: str = "user query"

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States, Numbers)
        if not callable(self.function):
            raise UsageError("the query must be a function of the sequences")
        stated = positive(self.lipschitz, "lipschitz")
        object.__setattr__(self, "lipschitz", stated)
        if not is_count(self.dimension):
            raise UsageError(f"dimension must be a whole number >= 1, got {self.dimension!r}")
        fine = Fraction(1) if self.whole else stated / (_STEPS * self.dimension)
        object.__setattr__(self, "step", fine if self.step is None else positive(self.step, "step"))
        if self.whole and stated < self.grid:
            raise UsageError("lipschitz is below one step, so a query in whole steps could never change; check both")

    @property
    def grid(self) -> Fraction:
        """The lattice step, exactly."""
        return as_fraction(self.step or 0)

    @property
    def name(self) -> str:
        return self.label

    @property
    def sensitivity(self) -> Fraction:
        """The l1 sensitivity of the rounded query, which is the one that is noised."""
        ratio = as_fraction(self.lipschitz) / self.grid
        return self.grid * (math.floor(ratio) if self.whole else math.ceil(ratio) + self.dimension - 1)

    def evaluate(self, data: Any) -> tuple[Fraction, ...]:
        return exact_numbers(self._call(data), self.dimension)

    def _call(self, data: Any) -> Any:
        return called(self.function, self.domain.plain(data))

    def details(self) -> dict[str, Any]:
        return {
            "sensitivity stated by": "the user",
            "stated": str(self.lipschitz),
            "rounded to multiples of": str(self.step),
            "function": getattr(self.function, "__name__", ""),
            "dimension": self.dimension,
        }

    def draw(self, data: Any, epsilon: Fraction, source: BitSource) -> Drawn:
        values = self.evaluate(data)
        if self.whole and any((value / self.grid).denominator != 1 for value in values):
            raise BadNoise("the query's values are not whole multiples of the step, as whole=True says; leave it out")
        rate = epsilon * self.grid / self.sensitivity
        noise = laplace_sampler(rate).draw(self.dimension, source).tolist()
        drawn = [nearest_double((rounded(v, self.grid) + n) * self.grid) for v, n in zip(values, noise, strict=True)]
        slack = Fraction(0) if self.whole else Fraction(1, 2)
        half = float_up((as_fraction(error_bound(rate, self.dimension)) + slack) * self.grid)
        return Drawn(drawn[0] if self.dimension == 1 else np.array(drawn), None, (-half, half))


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a user's function; what it says when it fails may hold private values and is withheld."""
    try:
        return function(*arguments)
    except Exception as failure:
        raise UsageError(
            f"the query function raised {type(failure).__name__} (its message is withheld, as it may hold private "
            "values); it must be defined for all sequences of the domain"
        ) from None


def exact_numbers(result: Any, dimension: int) -> tuple[Fraction, ...]:
    """What a user's function returned, as that many exact finite numbers."""
    flat = called(lambda: np.asarray(result, dtype=object).ravel().tolist())
    if len(flat) != dimension:  # how many it returned may depend on the data, and is not told
        raise UsageError(f"the query must return {dimension} number{'s' if dimension > 1 else ''} for all sequences")
    return tuple(exact_number(value) for value in flat)


def exact_number(value: Any) -> Fraction:
    """One finite number, exactly; the message does not hold it."""
    number = plain(value)
    if isinstance(number, int | float | Fraction) and -sys.float_info.max <= number <= sys.float_info.max:
        return as_fraction(number)
    raise UsageError("the query returned something that is not a finite number; it must for all sequences")


def positive(value: Real, name: str) -> Fraction:
    """A finite number above zero that the user stated."""
    try:
        exact = as_fraction(value)
    except (TypeError, ValueError):
        exact = Fraction(0)
    if exact <= 0 or isinstance(value, bool):
        raise UsageError(f"{name} must be a finite number above 0, got {value!r}")
    return exact
