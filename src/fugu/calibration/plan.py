"""`plan`: from a target error to the epsilon it costs; `rows_needed`: how large a reference confidence needs."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import final

from fugu.calibration.channel import Asked, solved
from fugu.calibration.driver import calibrate
from fugu.calibration.lattice import least, problem
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.asks import Ratio
from fugu.guarantee.curve import Guarantee
from fugu.laws.family import SetFamily
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.shapes import Shape, shapes
from fugu.loss.door import bound, covers
from fugu.mechanism.intake import Context
from fugu.noise.kind import Objective, check_objective, kind_of
from fugu.noise.laplace import Laplace
from fugu.numbers.checks import is_real
from fugu.numbers.exact import Real, as_fraction, decimal_up
from fugu.progress import report
from fugu.scenario.scenario import Scenario
from fugu.scenario.table import sampled_of, with_sets

_WIDEST = 2.0**40
_LARGEST = 64.0
"""Of sets of laws: beyond it a promise is none, and linear programs in doubles see nothing."""
_TIMES = 1e-4
"""With a delta, and for sets of laws, how near to the least epsilon the answer is, relatively."""


def plan(
    scenario_or_pairs: PairsLike, error: float, objective: Objective = "absolute", *, delta: Real = 0
) -> Pure | Approx:
    """The least epsilon whose mechanism has at most this expected error.

    Parameters: `scenario_or_pairs` as in `calibrate`; `error` is the expected error to reach, a number >= 0;
    `objective` "absolute" or "squared"; `delta`, if given, is allowed beside epsilon, which normal laws of vectors
    need. Of categories without an order the error is the probability that another one goes out.

    Returns `Pure(epsilon)`, the least epsilon up to the ninth digit, for sets of laws within one part in ten thousand;
    with a delta `Approx(epsilon, delta)`, within the same. Raises `NotProvable` where no finite epsilon reaches the
    error.

    >>> import fugu
    >>> student = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]))
    >>> epsilon = plan(student, 1.5)
    >>> fugu.calibrate(student, epsilon).expected_error() <= 1.5
    True
    """
    _check(error)
    check_objective(objective)
    if Context.of(scenario_or_pairs).nominal is not None:
        return plan_channel(scenario_or_pairs, error, Asked(), delta)
    given = shapes(as_pairs(scenario_or_pairs))
    Approx(0, delta)  # validates delta
    if delta:  # by bisection on the mechanism that would really run; the end that reaches the error is returned
        why = f"no epsilon was found whose mechanism has an expected error of at most {error:g}"
        reaches = lambda epsilon: _reaches(scenario_or_pairs, Approx(epsilon, delta), error, objective)  # noqa: E731
        return Approx(_between(*_bracket(reaches, 4, _WIDEST, why), reaches), delta)
    if any(isinstance(item, SetFamily) for item in given):
        return _for_sets(scenario_or_pairs, given, error, objective)
    if not all(covers(item.shape, Laplace.name) for item in given):
        raise BadBudget("no noise on such laws has a finite pure epsilon; give a delta, as in plan(..., delta=1e-6)")
    return _pure(scenario_or_pairs, given, error, objective)


def _check(error: float) -> None:
    if not isinstance(error, int | float) or isinstance(error, bool) or not 0 <= error < math.inf:
        raise UsageError(f"the target error must be a finite number >= 0, got {error!r}")


def _pure(source: PairsLike, given: tuple[Shape, ...], error: float, objective: Objective) -> Pure:
    """The largest Laplace scale within the error is found first; its proved loss, rounded up to nine digits, is the
    answer."""
    ask = Ratio(Fraction(1), Fraction(0))
    each = error / given[0].dimension  # of every coordinate: errors of a vector are sums
    for _ in range(8):
        asked = problem(given, ask, Laplace)
        scale = _largest_scale(asked.lattice.grid, each, objective)
        proof = bound(asked.items, Laplace(scale, asked.lattice.grid), Ratio(Fraction(0), Fraction(0)))
        if math.isinf(proof.epsilon):
            raise NotProvable(
                f"no finite epsilon allows an expected error of {error:g}: some value is possible under one secret of "
                f"pair {proof.worst_pair!r} and impossible under the other; allow a larger error"
            )
        answer = Pure(float(decimal_up(proof.epsilon, 9)))
        if _reaches(source, answer, error, objective):
            return answer
        ask = Ratio(decimal_up(proof.epsilon * (1 + 1e-6), 9), Fraction(0))
    epsilon = float(answer.epsilon)
    for _ in range(60):  # by small steps, until the mechanism that would really run meets the error
        epsilon = float(decimal_up(epsilon * 1.001, 9))
        if _reaches(source, Pure(epsilon), error, objective):
            return Pure(epsilon)
    raise NotProvable(f"no epsilon was found whose mechanism has an expected error of at most {error:g}")


def _for_sets(source: PairsLike, given: tuple[Shape, ...], error: float, objective: Objective) -> Pure:
    """A channel may need far less epsilon than noise: what noise needs is only where the search begins."""
    if _reaches(source, Pure(0), error, objective):
        return Pure(0)
    try:
        enough = float(_pure(source, given, error, objective).epsilon)
    except NotProvable:
        enough = _LARGEST
        if not _reaches(source, Pure(enough), error, objective):
            raise
    return Pure(_between(0.0, enough, lambda epsilon: _reaches(source, Pure(epsilon), error, objective)))


def _bracket(reaches: Callable[[float], bool], times: int, most: float, why: str) -> tuple[float, float]:
    """Two epsilons of which the second reaches the error and the first, if it is not 0, does not."""
    low, high = 0.0, 1.0
    while not reaches(high):
        low, high = high, times * high
        if high > most:
            raise NotProvable(why)
    return low, high


def _between(low: float, high: float, reaches: Callable[[float], bool], least: float = 1e-9) -> float:
    """The upper end of a short interval with the least epsilon that reaches the error; `high` does, `low` does not."""
    while high - low > _TIMES * high and high > least:
        middle = float(decimal_up((low + high) / 2, 9))
        low, high = (low, middle) if reaches(middle) else (middle, high)
    return high


def _reaches(source: PairsLike, budget: Pure | Approx, error: float, objective: Objective) -> bool:
    """Whether the mechanism for a budget has at most this error; a budget that no noise meets does not."""
    try:
        return calibrate(source, budget, objective=objective).expected_error(objective) <= error
    except NotProvable:
        return False


def _largest_scale(grid: Fraction, error: float, objective: Objective) -> float:
    """The largest scale with expected error <= error, by bisection from the safe side; 0 for error 0."""
    if error == 0:
        return 0.0
    low, high = 0.0, 1.0
    while Laplace(high, grid).expected_error(objective) <= error:
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if Laplace(middle, grid).expected_error(objective) <= error:
            low = middle
        else:
            high = middle
    return float(decimal_up(low * (1 - 1e-9), 10)) if low > 1e-300 else 0.0


def plan_channel(source: PairsLike, error: float, wishes: Asked, delta: Real = 0) -> Pure | Approx:
    """The least epsilon, within one part in ten thousand, whose channel has a proved loss of at most `error`.

    A larger epsilon allows every channel that a smaller one allows, so the least loss falls with epsilon; the end that
    reaches the error is returned. Raises `NotProvable` where none does."""
    _check(error)
    given, names = shapes(as_pairs(source)), Context.of(source).nominal
    asked, slack = replace(wishes, names=names), as_fraction(Approx(0, delta).delta)

    def reaches(epsilon: float) -> bool:
        problem = asked.problem(given, Ratio(as_fraction(epsilon), slack))
        return Fraction(solved(problem, asked)[1].value) <= as_fraction(error)

    why = f"no epsilon up to {_LARGEST:g} has a channel with an expected loss of at most {error:g}"
    high = 0.0 if reaches(0.0) else _between(*_bracket(reaches, 2, _LARGEST, why), reaches, 0.0)
    return Approx(high, delta) if delta else Pure(high)


# `rows_needed`: how large a reference would have to be for confidence to cost little.


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
    if factor is None:
        return RowsNeeded(None, {}, now, target)
    rows = {secret: math.ceil(sum(counts) * factor) for secret, counts in counted.counts.items()}
    return RowsNeeded(float(factor), rows, now, target)


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


def _scale(source: PairsLike, budget: Guarantee, noise: str) -> float:
    """The least scale that a search in doubles finds; nothing is proved by it."""
    kind, ask = kind_of(noise), budget.asks()
    if (why := kind.refusal(ask)) is not None:
        raise NotProvable(why)
    where = problem(shapes(as_pairs(source)), ask, kind)
    return max(least(item, ask, kind) for item in where.items) * float(where.lattice.grid)
