"""Reading transition matrices and initial laws: what is not a probability is refused, and its place named."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, UsageError
from fugu.numbers.exact import is_whole

Array = NDArray[np.float64]
TOLERANCE = 1e-12
LEAST = 1e-300
_MATRIX = 2
_STACK = 3


def read_length(length: Any) -> int:
    """The number of entries of a sequence: a whole number, at least 2."""
    if not is_whole(length):
        raise UsageError(f"length must be a whole number, got {type(length).__name__}")
    if length < 2:
        raise UsageError(f"length must be at least 2: a sequence of {int(length)} has no transitions to depend on")
    return int(length)


def read_transition(given: Any, length: int) -> Array:
    """One (k, k) matrix, or a stack of length - 1 of them; each row a law, normalised up to 4 roundings."""
    found = _numbers(given, "transition")
    if found.ndim not in (_MATRIX, _STACK) or found.shape[-1] != found.shape[-2] or found.shape[-1] == 0:
        raise BadLaw(f"transition must be (k, k), or (length - 1, k, k) for steps that differ, got {found.shape}")
    if found.ndim == _STACK and len(found) != length - 1:
        raise BadLaw(f"a sequence of length {length} has {length - 1} steps, got {len(found)} transition matrices")
    return _laws(found, "transition")


def read_initial(given: Any, size: int) -> Array:
    """The law of the first entry."""
    found = _numbers(given, "initial")
    if found.shape != (size,):
        raise BadLaw(f"initial must be 'stationary' or a law over the {size} states, got shape {found.shape}")
    return _laws(found, "initial")


def read_states(states: Iterable[Hashable] | None, size: int) -> tuple[Hashable, ...]:
    """The names of the states, in the order of the rows; 0 .. k-1 if not given."""
    if states is None:
        return tuple(range(size))
    found = tuple(states)
    if len(found) != size:
        raise UsageError(f"states must name the {size} rows of transition, got {len(found)} names")
    try:
        distinct = len(set(found))
    except TypeError:
        raise UsageError("states must be hashable names: numbers, strings or tuples") from None
    if distinct != size:
        raise UsageError("states must be distinct")
    return found


def named(states: tuple[Hashable, ...], at: Iterable[int]) -> str:
    """Some states by their names, the first eight of them."""
    found = [repr(states[i]) for i in at]
    return ", ".join(found[:8]) + (", ..." if len(found) > 8 else "")


def _numbers(given: Any, name: str) -> Array:
    try:
        found = np.asarray(given)
        if found.dtype.kind in "USMmbc":
            raise TypeError
        found = found.astype(np.float64)
    except (TypeError, ValueError):
        raise BadLaw(f"{name} must be an array of probabilities, all rows of one length") from None
    if not np.isfinite(found).all():
        raise BadLaw(f"{name} has entries that are not finite numbers (NaN or infinite)")
    if (found < 0).any():
        raise BadLaw(f"{name} has negative entries, first at {_first(found < 0)}")
    if ((found > 0) & (found < LEAST)).any():
        raise BadLaw(f"{name} has positive entries below 1e-300, first at {_first((found > 0) & (found < LEAST))}")
    return found


def _laws(found: Array, name: str) -> Array:
    rows = found.reshape(-1, found.shape[-1])
    sums = np.array([math.fsum(row) for row in rows])
    wrong = np.abs(sums - 1) > TOLERANCE
    if wrong.any():
        where = _first(wrong.reshape(found.shape[:-1])) if found.ndim > 1 else "the law"
        raise BadLaw(
            f"every row of {name} must sum to 1 within 1e-12; the first that does not is {where}, "
            f"with the sum {float(sums[wrong][0])!r}"
        )
    result: Array = (rows / sums[:, None]).reshape(found.shape)
    result.flags.writeable = False
    return result


def _first(mask: NDArray[np.bool_]) -> str:
    return str(tuple(int(i) for i in np.argwhere(mask)[0]))
