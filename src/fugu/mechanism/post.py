"""Ready-made post-processing for `Mechanism.then`: functions of the released column alone."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.data.cells import number_text
from fugu.errors import UsageError
from fugu.numbers.exact import Real, as_fraction

Step = Callable[[NDArray[np.float64]], ArrayLike]


def clip(low: float, high: float) -> Step:
    """Move released values into [low, high].

    >>> clip(0, 10)(np.array([-3.0, 4.0, 12.0]))
    array([ 0.,  4., 10.])
    """
    if not low <= high:
        raise UsageError(f"clip needs low <= high, got {low} and {high}")
    return _named(partial(np.clip, a_min=low, a_max=high), f"clip({_shown(low)}, {_shown(high)})")


def round_to(step: Real) -> Step:
    """Round released values to multiples of `step`, each the double nearest to that multiple.

    A value moves by at most step/2, by which the interval of a release is wider.

    >>> round_to(0.1)(np.array([0.29, 0.31, 0.7]))
    array([0.3, 0.3, 0.7])
    """
    if not 0 < step < math.inf:
        raise UsageError(f"round_to needs a positive step, got {step}")
    width = as_fraction(step)
    rounded = _named(partial(_rounded, float(step), width.numerator, width.denominator), f"round_to({_shown(step)})")
    rounded.moves = float(width / 2)  # type: ignore[attr-defined]
    return rounded


def moves(post: tuple[Step, ...]) -> float:
    """How far the steps that round move a value, at most; others say nothing of it."""
    return float(sum(getattr(step, "moves", 0.0) for step in post))


def valid(values: ArrayLike) -> Step:
    """Move released values to the nearest of these."""
    allowed = np.unique(np.asarray(values, dtype=np.float64))
    if allowed.size == 0 or not np.all(np.isfinite(allowed)):
        raise UsageError("valid needs at least one finite value")

    return _named(partial(_moved, allowed), f"valid({allowed.size} values)")


def _rounded(step: float, above: int, below: int, column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each number moved to the nearest multiple of above / below, of which `step` is the double."""
    return np.rint(column / step) * float(above) / float(below) + 0.0


def _moved(allowed: NDArray[np.float64], column: NDArray[np.float64]) -> NDArray[np.float64]:
    """Each number moved to the nearest allowed one; NaN stays."""
    from fugu.laws.components import nearest

    known = ~np.isnan(column)
    moved = column.copy()
    moved[known] = nearest(allowed, column[known])
    return moved


def _shown(number: Real) -> str:
    """A parameter as it was given: the shortest text of its double."""
    return number_text(float(number))


def one_by_one(post: tuple[Step, ...]) -> bool:
    """Whether there are steps, and each is one of these, which look at every value by itself."""
    return bool(post) and all(hasattr(step, "one_by_one") for step in post)


def _named(f: partial[Any], name: str) -> Step:
    """A step of that name, which can be sent to other processes."""
    f.__name__, f.one_by_one = name, True  # type: ignore[attr-defined]
    return f
