"""Chains whose rows are known up to limits: what a finite reference cannot rule out, or what a user declares."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, UsageError
from fugu.numbers.exact import UNIT, MatrixLike, VectorLike
from fugu.priors.chain_check import read_initial, read_length, read_states
from fugu.priors.contracting import contracting_curve
from fugu.priors.curve import InfluenceCurve
from fugu.priors.interval_counts import Counted
from fugu.priors.interval_limits import Array, Limits, diameters, everything, kept, marginals, tightened
from fugu.priors.prior import Belief
from fugu.priors.skipped import of_supports

Beginning = Literal["stationary", "any"] | VectorLike | tuple[VectorLike, VectorLike]
"""The law of the first entry: any at all, one that a step keeps, this law, or any law between these limits."""
Start = Literal["any", "stationary", "given"]
GIVEN: Start = "given"
_NEAR = 1e-9


class IntervalChain(Belief):
    """All chains X_1, ..., X_T with lower[x, y] <= P(X_{t+1} = y | X_t = x) <= upper[x, y]; every one is covered.

    The rows are chosen freely between their limits for each state **and each step**: homogeneous chains are among
    them. `MarkovChain.fit(..., confidence=0.95)` makes one from reference sequences.

    Parameters:

    - `lower`, `upper`: (k, k), limits of the transition probabilities. Each is moved outward by a few roundings, so
      that the decimals written, and rows that sum to 1 up to rounding, lie inside; 0 and 1 stay.
    - `length`: T, a whole number of at least 2.
    - `initial`: "any" covers every law of the first entry; "stationary" covers the laws that some step between the
      limits keeps, for chains that have run for long; or a law; or (lower, upper) limits of it.
    - `states`: names of the rows, by default 0 .. k-1. `assumptions`: further words for certificates.

    Raises `BadLaw` for limits that no law meets, `UsageError` for other arguments.

    >>> chain = IntervalChain([[0.5, 0.3], [0.15, 0.75]], [[0.7, 0.5], [0.25, 0.85]], length=100)
    >>> chain, chain.contains([[0.6, 0.4], [0.2, 0.8]]), chain.contains([[0.6, 0.4], [0.3, 0.7]])
    (IntervalChain(2 states, length 100, any start), True, False)
    """

    lower: Array
    upper: Array
    length: int
    size: int
    states: tuple[Hashable, ...]
    start: Start
    counted: Counted | None
    assumptions: tuple[str, ...]
    _first: Limits | None

    def __init__(
        self,
        lower: MatrixLike,
        upper: MatrixLike,
        length: int,
        initial: Beginning = "any",
        states: Iterable[Hashable] | None = None,
        assumptions: tuple[str, ...] = (),
    ) -> None:
        rows = _outward(_limits(lower, "lower"), _limits(upper, "upper"))
        self._make(rows, length, *beginning(initial), states, assumptions, None)

    @classmethod
    def between(
        cls,
        rows: Limits,
        length: int,
        first: Limits | None,
        start: Start,
        states: Iterable[Hashable] | None,
        assumptions: tuple[str, ...] = (),
        counted: Counted | None = None,
    ) -> IntervalChain:
        """Exactly these limits, as floats, of the `rows` and of the `first` entry: nothing is moved outward.

        `start` says how the law of the first entry is known, "given" with `first`; `counted` is where limits are from;
        `length`, `states`, `assumptions` as always."""
        made = cls.__new__(cls)
        made._make(rows, length, first, start, states, assumptions, counted)
        return made

    def _make(
        self,
        rows: Limits,
        length: int,
        first: Limits | None,
        start: Start,
        states: Iterable[Hashable] | None,
        assumptions: tuple[str, ...],
        counted: Counted | None,
    ) -> None:
        size = len(rows.lower)
        if rows.lower.shape != (size, size) or rows.upper.shape != (size, size) or not size:
            raise BadLaw(f"lower and upper must be (k, k) both, got {rows.lower.shape} and {rows.upper.shape}")
        names = read_states(states, size)
        _check(rows, "the limits of row", names)
        if first is not None:
            if first.lower.shape != (size,) or first.upper.shape != (size,):
                raise BadLaw(f"initial must be 'any', 'stationary', a law over the {size} states, or two limits of it")
            _check(Limits(first.lower[None], first.upper[None]), "the limits of initial", ("",))
            _fixed(first)
        _fixed(rows)
        known = "every step of the chain lies between the limits stated, and steps may differ from entry to entry"
        vars(self).update(
            lower=rows.lower, upper=rows.upper, length=read_length(length), size=size, states=names, start=start,
            counted=counted, assumptions=(known, _BEGINS[start], *assumptions),
            _first=first,
        )  # fmt: skip

    @classmethod
    def example(cls) -> IntervalChain:
        return cls([[0.5, 0.3], [0.15, 0.75]], [[0.7, 0.5], [0.25, 0.85]], 8, states=["well", "ill"])

    @cached_property
    def _remembered(self) -> dict[str, Any]:
        """What others computed from this belief and will want again."""
        return {}

    def __repr__(self) -> str:
        confidence = "" if self.counted is None else f", confidence {float(self.counted.confidence):.10g}"
        return f"IntervalChain({self.size} states, length {self.length}, {self.start} start{confidence})"

    @property
    def entries(self) -> int:
        """The number of entries of the sequence."""
        return self.length

    @property
    def free(self) -> bool:
        """Whether every start is covered."""
        return self.start == "any"

    @property
    def forbidden(self) -> bool:
        """Whether some transition has probability 0 under all of the chains."""
        return bool((self.upper == 0).any())

    @property
    def first(self) -> Limits | None:
        """The limits of the law of the first entry, where they were given."""
        return self._first

    @cached_property
    def rows(self) -> Limits:
        """The same rows between limits that some of them reach."""
        return _fixed(tightened(Limits(self.lower, self.upper)))

    @cached_property
    def diameter(self) -> float:
        """The largest projective diameter of a step between the limits; inf if some probability may be 0."""
        return float(diameters(self.rows).max())

    def laws(self, most: int) -> Limits:
        """Limits (n, k) of the laws of the first n entries, n <= `most`; the last serve for every entry beyond."""
        start = self._first if self._first is not None else everything(self.size) if self.free else kept(self.rows)
        return marginals(tightened(start), self.rows, self.length, most, self._first is None)

    @cached_property
    def supports(self) -> NDArray[np.bool_]:
        """(n, k): which states an entry takes under some of the chains; the last row serves for all entries beyond."""
        found = np.asarray(self.laws(_SUPPORTS).upper > 0)
        found.flags.writeable = False
        return found

    @property
    def skipped(self) -> tuple[str, ...]:
        """The secrets of probability 0 under all of the chains: for each state the entries that never take it."""
        if self.supports.all():
            return ()
        beyond = np.tile(self.supports[-1], (self.length - len(self.supports), 1))
        return of_supports(self.states, np.vstack([self.supports, beyond]), self.length)

    @property
    def centre(self) -> Array:
        """One step between the limits, as far in each row from the lower ones as from the upper ones; to show."""
        room = self.upper - self.lower
        share = (1 - self.lower.sum(-1)) / np.maximum(room.sum(-1), 1e-300)
        found = self.lower + room * np.clip(share, 0.0, 1.0)[:, None]
        return np.asarray(found / found.sum(-1, keepdims=True))

    def contains(self, transition: MatrixLike) -> bool:
        """Whether each row of `transition`, a (k, k) table, lies between its limits; of a stack, every table."""
        given = np.asarray(transition, dtype=np.float64)
        return given.shape[-2:] == self.lower.shape and bool(((self.lower <= given) & (given <= self.upper)).all())

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """That of all chains whose steps have at most this projective diameter, computed up to `max_b`."""
        return contracting_curve(self.diameter, self.length, max_b)

    def with_length(self, length: int) -> IntervalChain:
        """The same limits for sequences of another `length`."""
        rows = Limits(self.lower.copy(), self.upper.copy())
        said = self.assumptions[2:]
        return IntervalChain.between(rows, length, self._first, self.start, self.states, said, self.counted)


_SUPPORTS = 4096
_BEGINS = {
    "any": "every law of the first entry is covered",
    "stationary": "the law of every entry is one that a step between the limits keeps: the chain has run for long",
    "given": "the law of the first entry lies between the limits stated",
}


def _fixed(limits: Limits) -> Limits:
    for limit in limits:
        limit.flags.writeable = False
    return limits


def beginning(initial: Any) -> tuple[Limits | None, Start]:
    """The limits of the law of the first entry, if any, and how they are known."""
    if isinstance(initial, str):
        if initial not in ("any", "stationary"):
            raise UsageError(f"initial must be 'any', 'stationary', a law, or two limits of it, got {initial!r}")
        return None, initial  # type: ignore[return-value]
    found = _limits(initial, "initial")
    if found.ndim == 2 and len(found) == 2:
        return _outward(found[0], found[1]), GIVEN
    law = read_initial(initial, len(found)) if found.ndim == 1 else found
    return _outward(law, law), GIVEN


def _limits(given: Any, name: str) -> Array:
    try:
        found = np.asarray(given)
        if found.dtype.kind in "USMmbc":
            raise TypeError
        found = found.astype(np.float64)
    except (TypeError, ValueError):
        raise BadLaw(f"{name} must be an array of probabilities, all rows of one length") from None
    if not np.isfinite(found).all():
        raise BadLaw(f"{name} has entries that are not finite numbers (NaN or infinite)")
    if ((found < 0) | (found > 1)).any():
        at = tuple(int(i) for i in np.argwhere((found < 0) | (found > 1))[0])
        raise BadLaw(f"{name} has limits outside [0, 1], first at {at}")
    return found


def _outward(lower: Array, upper: Array) -> Limits:
    slack = (lower.shape[-1] + 8) * UNIT
    low = np.where(lower < 1, lower * (1 - slack), lower)
    return Limits(low, np.where(upper < 1, np.minimum(upper * (1 + slack), 1.0), upper))


def _check(box: Limits, what: str, names: tuple[Hashable, ...]) -> None:
    """BadLaw, with the place, where no law lies between the limits; sums near 1 are compared exactly."""
    for name, low, high in zip(names, box.lower, box.upper, strict=True):
        told = f"{what} {name!r}" if name != "" else what
        if (low > high).any():
            raise BadLaw(f"{told} cross at place {int(np.argmax(low > high))}: the lower is above the upper")
        if _compare(low) > 0:
            raise BadLaw(f"{told} leave no law: the lower ones sum to more than 1")
        if _compare(high) < 0:
            raise BadLaw(f"{told} leave no law: the upper ones sum to less than 1")


def _compare(limits: Array) -> float:
    """The sum minus 1, exactly where its sign is in doubt."""
    found = math.fsum(limits) - 1
    return found if abs(found) > _NEAR else float(sum(map(Fraction, limits.tolist()), Fraction(-1)))
