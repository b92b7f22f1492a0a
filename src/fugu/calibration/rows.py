"""`rows_needed`: how large a reference would have to be for confidence to cost little."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import final

from fugu.calibration.lattice import problem
from fugu.calibration.search import least
from fugu.errors import NotProvable, UsageError
from fugu.guarantee.curve import Guarantee
from fugu.laws.items import shapes
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.sets.sampled import Sampled
from fugu.noise.kind import kind_of
from fugu.numbers.checks import is_real
from fugu.progress import report
from fugu.scenario.sampling import sampled_of, with_sets
from fugu.scenario.scenario import Scenario

_MOST_ROWS = 2_000_000
"""Larger references are not looked at: making their sets takes minutes."""
_HALVINGS = 3
ADVICE = (
    "declare a narrower range (values outside are clipped)",
    "give more rows of the rarest secret",
    "protect fewer secrets or pairs",
    "declare ten bins or fewer",
    "ask for a larger epsilon",
)
"""What lowers the noise that confidence needs, the most effective first. A range or bins chosen after the noise was
seen break the confidence: choose them before, or on another reference."""


@final
@dataclass(frozen=True)
class RowsNeeded:
    """`factor`: how many times the rows suffice, None if two million rows do not; `rows`: of each secret then; `scale`:
    of the noise that the reference needs now; `target`: the scale that is to be reached; `advice`: what else lowers the
    noise."""

    factor: float | None
    rows: Mapping[str, int]
    scale: float
    target: float
    advice: tuple[str, ...] = ADVICE

    def __str__(self) -> str:
        now = f"the reference needs scale {self.scale:.6g} now"
        if self.factor is None:
            return f"{now}; two million rows do not bring it to {self.target:.6g}"
        if self.factor <= 1:
            return f"{now}, which is within the target {self.target:.6g}"
        each = ", ".join(f"{count} of {secret}" for secret, count in self.rows.items())
        return f"{now}; about {self.factor:.3g} times the rows would bring it to {self.target:.6g}: {each}"


def rows_needed(
    scenario: Scenario, budget: Guarantee, within: float = 0.1, *, noise: str = "laplace", confidence: float = 0.95
) -> RowsNeeded:
    """The least multiple of the reference's rows whose sets of beliefs need at most 1 + `within` times the noise of the
    empirical laws: counts are scaled, sets made anew, and the scale searched, in doubles.

    Parameters: `scenario`, from a table; `budget`, as in `calibrate`; `within`, a number above 0; `noise`, "laplace"
    or "gaussian"; `confidence`, where the scenario has none of its own. Raises `UsageError` for scenarios that are not
    counts of a reference."""
    if not is_real(within) or not 0 < within < math.inf:
        raise UsageError(f"within must be a number above 0, such as 0.1, got {within!r}")
    if not isinstance(scenario, Scenario):
        raise UsageError("rows are needed of a reference: give a Scenario from a table, not laws")
    level = scenario.sampled.confidence if scenario.sampled is not None else Fraction(str(confidence))
    if not 0 < level < 1:
        raise UsageError(f"confidence must lie strictly between 0 and 1, got {confidence!r}")
    counted = sampled_of(scenario, level)
    if counted is None:
        raise UsageError("only beliefs that are counts of a reference grow surer with its rows; see from_table")
    plain = Scenario(counted.laws, scenario.pairs)
    target = _scale(plain, budget, noise) * (1 + within)

    def needs(factor: Fraction) -> float:
        return _scale(with_sets(scenario, counted.times(factor)), budget, noise)

    most = Fraction(_MOST_ROWS, max(sum(counts) for counts in counted.counts.values()))
    now = needs(Fraction(1))
    factor = Fraction(1) if now <= target else _least(needs, target, most)
    rows = {} if factor is None else _rows(counted, factor)
    return RowsNeeded(None if factor is None else float(factor), rows, now, target)


def _least(needs: Callable[[Fraction], float], target: float, most: Fraction) -> Fraction | None:
    """By factors of four, then by halving their ratio; the scale is not surely monotone in the rows: an estimate."""
    low = high = Fraction(1)
    while high < most:
        low, high = high, min(4 * high, most)
        report("rows that would suffice", int(high), int(most))
        if needs(high) <= target:
            break
    else:
        return None
    for _ in range(_HALVINGS):
        middle = Fraction(math.sqrt(low * high)).limit_denominator(1000)
        low, high = (low, middle) if needs(middle) <= target else (middle, high)
    return high


def _rows(counted: Sampled, factor: Fraction) -> dict[str, int]:
    return {secret: math.ceil(sum(counts) * factor) for secret, counts in counted.counts.items()}


def _scale(source: PairsLike, budget: Guarantee, noise: str) -> float:
    """The least scale that a search in doubles finds; nothing is proved by it."""
    kind, ask = kind_of(noise), budget.asks()
    if (why := kind.refusal(ask)) is not None:
        raise NotProvable(why)
    where = problem(shapes(as_pairs(source)), ask, kind)
    return max(least(item, ask, kind) for item in where.items) * float(where.lattice.grid)
