"""`plan`: from a target error to the epsilon it costs."""

from __future__ import annotations

import math

from fugu.calibration.calibrate import calibrate
from fugu.calibration.problem import problem
from fugu.calibration.prove import prove
from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Pure
from fugu.laws.pair import PairsLike, as_pairs
from fugu.noise.kind import OBJECTIVES
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import decimal_up


def plan(scenario_or_pairs: PairsLike, error: float, objective: str = "absolute") -> Pure:
    """The least epsilon whose exact mechanism has at most this expected error, up to the ninth digit.

    The largest scale within the error is found first; its proved loss, rounded up to nine digits, is the answer.

    >>> import fugu
    >>> student = fugu.LawPair(fugu.Discrete([0, 1], [376, 204]), fugu.Discrete([0, 1], [34, 35]))
    >>> epsilon = plan(student, 1.5)
    >>> fugu.calibrate(student, epsilon).expected_error() <= 1.5
    True
    """
    if not isinstance(error, int | float) or isinstance(error, bool) or not 0 <= error < math.inf:
        raise UsageError(f"the target error must be a finite number >= 0, got {error!r}")
    pairs = as_pairs(scenario_or_pairs)
    guess = Pure(1)
    for _ in range(8):
        asked = problem(pairs, guess)
        scale = _largest_scale(asked.lattice.grid, error, objective)
        proof = prove(asked.items, Laplace(scale, asked.lattice.grid), Pure(0))
        if math.isinf(proof.epsilon):
            raise NotProvable(
                f"no finite epsilon allows an expected error of {error:g}: some value is possible under one "
                "secret of pair "
                f"{proof.worst_pair!r} and impossible under the other; allow a larger error"
            )
        answer = Pure(float(decimal_up(proof.epsilon, 9)))
        if calibrate(pairs, answer).expected_error(objective) <= error:
            return answer
        guess = Pure(float(decimal_up(proof.epsilon * (1 + 1e-6), 9)))
    return _stepped(pairs, answer, error, objective)


def _stepped(pairs: PairsLike, start: Pure, error: float, objective: str) -> Pure:
    """Raise epsilon by small steps until the mechanism that would really run meets the error."""
    epsilon = float(start.epsilon)
    for _ in range(60):
        epsilon = float(decimal_up(epsilon * 1.001, 9))
        if calibrate(pairs, Pure(epsilon)).expected_error(objective) <= error:
            return Pure(epsilon)
    raise NotProvable(f"no epsilon was found whose mechanism has an expected error of at most {error:g}")


def _largest_scale(grid: object, error: float, objective: str) -> float:
    """The largest scale with expected error <= error, by bisection from the safe side; 0 for error 0."""
    if objective not in OBJECTIVES:
        Laplace(1).expected_error(objective)  # raises with the names there are
    if error == 0:
        return 0.0
    low, high = 0.0, 1.0
    while Laplace(high, grid).expected_error(objective) <= error:  # type: ignore[arg-type]
        low, high = high, 2 * high
    for _ in range(200):
        middle = (low + high) / 2
        if not low < middle < high:
            break
        if Laplace(middle, grid).expected_error(objective) <= error:  # type: ignore[arg-type]
            low = middle
        else:
            high = middle
    return float(decimal_up(low * (1 - 1e-9), 10)) if low > 1e-300 else 0.0
