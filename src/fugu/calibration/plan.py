"""`plan`: from a target error to the epsilon it costs."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from fugu.calibration.calibrate import calibrate
from fugu.calibration.channel_plan import plan_channel
from fugu.calibration.channel_problem import Asked
from fugu.calibration.lattice import problem
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.asks import Ratio
from fugu.laws.items import Shape, shapes
from fugu.laws.pair import PairsLike, as_pairs
from fugu.laws.set_family import SetFamily
from fugu.loss.door import bound, covers
from fugu.mechanism.context import Context
from fugu.noise.kind import Objective, check_objective
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, decimal_up

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
    if not isinstance(error, int | float) or isinstance(error, bool) or not 0 <= error < math.inf:
        raise UsageError(f"the target error must be a finite number >= 0, got {error!r}")
    check_objective(objective)
    if Context.of(scenario_or_pairs).nominal is not None:
        return plan_channel(scenario_or_pairs, error, Asked(), delta)
    given = shapes(as_pairs(scenario_or_pairs))
    Approx(0, delta)  # validates delta
    if delta:
        return _searched(scenario_or_pairs, error, objective, delta)
    if any(isinstance(item, SetFamily) for item in given):
        return _for_sets(scenario_or_pairs, given, error, objective)
    if not all(covers(item.shape, Laplace.name) for item in given):
        raise BadBudget("no noise on such laws has a finite pure epsilon; give a delta, as in plan(..., delta=1e-6)")
    return _pure(scenario_or_pairs, given, error, objective)


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


def _searched(source: PairsLike, error: float, objective: Objective, delta: Real) -> Approx:
    """By bisection on the mechanism that would really run; the end that reaches the error is returned."""

    def reaches(epsilon: float) -> bool:
        return _reaches(source, Approx(epsilon, delta), error, objective)

    low, high = 0.0, 1.0
    while not reaches(high):
        low, high = high, 4 * high
        if high > _WIDEST:
            raise NotProvable(f"no epsilon was found whose mechanism has an expected error of at most {error:g}")
    return Approx(_between(low, high, reaches), delta)


def _between(low: float, high: float, reaches: Callable[[float], bool]) -> float:
    """The upper end of a short interval with the least epsilon that reaches the error; `high` does, `low` does not."""
    while high - low > _TIMES * high and high > 1e-9:
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
