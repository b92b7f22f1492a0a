"""Chains whose rows are known up to limits: declared, or what reference sequences cannot rule out."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, UsageError
from fugu.fixed import fixed
from fugu.numbers.checks import is_number
from fugu.numbers.exact import UNIT, MatrixLike, Real, VectorLike, as_fraction
from fugu.priors.interval_limits import Array, Limits, diameters, everything, kept, marginals, tightened
from fugu.priors.prior import Belief, InfluenceCurve, contracting_curve, of_supports
from fugu.priors.transitions import (
    FITTED,
    counted,
    finite_numbers,
    fit_words,
    named,
    read_initial,
    read_length,
    read_states,
)

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
    counted: CountedTransitions | None
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
        vars(self).update(vars(self.between(rows, length, *beginning(initial), states, assumptions)))

    @classmethod
    def between(
        cls,
        rows: Limits,
        length: int,
        first: Limits | None,
        start: Start,
        states: Iterable[Hashable] | None,
        assumptions: tuple[str, ...] = (),
        counted: CountedTransitions | None = None,
    ) -> IntervalChain:
        """Exactly these limits, as floats, of the `rows` and of the `first` entry: nothing is moved outward.

        `start` says how the law of the first entry is known, "given" with `first`; `counted` is where limits are from;
        `length`, `states`, `assumptions` as always."""
        size = len(rows.lower)
        if rows.lower.shape != (size, size) or rows.upper.shape != (size, size) or not size:
            raise BadLaw(f"lower and upper must be (k, k) both, got {rows.lower.shape} and {rows.upper.shape}")
        names = read_states(states, size)
        _check(rows, "the limits of row", names)
        if first is not None:
            if first.lower.shape != (size,) or first.upper.shape != (size,):
                raise BadLaw(f"initial must be 'any', 'stationary', a law over the {size} states, or two limits of it")
            _check(Limits(first.lower[None], first.upper[None]), "the limits of initial", ("",))
            first = Limits(*map(fixed, first))
        rows = Limits(*map(fixed, rows))
        known = "every step of the chain lies between the limits stated, and steps may differ from entry to entry"
        made = cls.__new__(cls)
        vars(made).update(
            lower=rows.lower, upper=rows.upper, length=read_length(length), size=size, states=names, start=start,
            counted=counted, assumptions=(known, _BEGINS[start], *assumptions),
            _first=first,
        )  # fmt: skip
        return made

    @classmethod
    def example(cls) -> IntervalChain:
        return cls([[0.5, 0.3], [0.15, 0.75]], [[0.7, 0.5], [0.25, 0.85]], 8, states=["well", "ill"])

    def __repr__(self) -> str:
        confidence = "" if self.counted is None else f", confidence {float(self.counted.confidence):.10g}"
        return f"IntervalChain({self.size} states, length {self.length}, {self.start} start{confidence})"

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
        return Limits(*map(fixed, tightened(Limits(self.lower, self.upper))))

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
        return fixed(np.asarray(self.laws(_SUPPORTS).upper > 0))

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
        return fixed(np.asarray(found / found.sum(-1, keepdims=True)))

    def contains(self, transition: MatrixLike) -> bool:
        """Whether each row of `transition`, a (k, k) table, lies between its limits; of a stack, every table."""
        given = np.asarray(transition, dtype=np.float64)
        return given.shape[-2:] == self.lower.shape and bool(((self.lower <= given) & (given <= self.upper)).all())

    def influence_curve(self, max_b: int | None = None) -> InfluenceCurve:
        """That of all chains whose steps have at most this projective diameter, computed up to `max_b`."""
        return contracting_curve(self.diameter, self.length, max_b)

    def with_length(self, length: int) -> IntervalChain:
        """The same limits for sequences of another `length`."""
        rows, said = Limits(self.lower, self.upper), self.assumptions[2:]
        return IntervalChain.between(rows, length, self._first, self.start, self.states, said, self.counted)


_SUPPORTS = 4096
_BEGINS = {
    "any": "every law of the first entry is covered",
    "stationary": "the law of every entry is one that a step between the limits keeps: the chain has run for long",
    "given": "the law of the first entry lies between the limits stated",
}


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
    found = finite_numbers(given, name)
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


# Fitting limits of a chain to reference sequences: all chains that they cannot rule out, with a stated confidence.

_ENOUGH = 10
"""Reference sequences for each state: the first entries of fewer are not worth a share of the error."""


def fitted_limits(
    sequences: Iterable[Iterable[Hashable]],
    states: Iterable[Hashable] | None,
    confidence: Real,
    length: int | None,
    start: Any = FITTED,
) -> IntervalChain:
    """All chains whose rows lie in the mixture intervals of the reference transitions.

    `states` must be declared: those that occur are chosen by the reference, and an unseen one has its limits too. A
    state that no sequence leaves may go anywhere. "fitted" gives limits of the law of the first entry too, which share
    the error, if there are at least 10 sequences for each state; of fewer it covers every start. That depends on the
    numbers of sequences and states alone, not on what was counted.

    >>> fitted_limits(["aababb" * 40, "bbabaa" * 40], "ab", 0.95, None)
    IntervalChain(2 states, length 240, any start, confidence 0.95)
    """
    level = read_confidence(confidence)
    if states is None:
        raise UsageError(
            "confidence= needs states=, all that there are, declared before the reference is looked at: a state that "
            "does not occur in it has limits too"
        )
    number, longest, names, counts, begun = counted(sequences, states, start)
    fits = isinstance(start, str) and start == FITTED and number >= _ENOUGH * len(names)
    evidence = CountedTransitions(_whole(counts), _whole(begun[None])[0] if fits else None, level)
    never = np.flatnonzero(counts.sum(axis=1) == 0)
    more = (f"the reference never leaves {named(names, never)}: anything may follow there",) if never.size else ()
    said = fit_words("the limits were found on", number, more, longest if length is None else None)
    begins = "any" if isinstance(start, str) and start == FITTED else start
    return limited(evidence, longest if length is None else length, begins, names, said)


def limited(
    evidence: CountedTransitions, length: int, start: Any, states: Iterable[Hashable], assumptions: tuple[str, ...] = ()
) -> IntervalChain:
    """The chains between the limits of what was counted; `start` counts where no first entries were counted."""
    rows, fitted = evidence.limits()
    first: Limits | None
    kind: Start
    first, kind = (fitted, GIVEN) if fitted is not None else beginning(start)
    return IntervalChain.between(rows, length, first, kind, states, (*evidence.words(), *assumptions), evidence)


def _whole(counts: Any) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(int(n) for n in row) for row in np.asarray(counts))


# Limits of the rows of a chain from the transitions of reference sequences, with a stated confidence.
#
# The i-th departure from a state goes to y with the probability of its row, whatever went before; but how often a state
# is left is random, so limits for a fixed number of draws are not proved here. Mixture intervals hold for all numbers
# of draws at once (Ville's inequality):
#
#     { p : p^c (1 - p)^(n - c) >= a B(c + 1/2, n - c + 1/2) / B(1/2, 1/2) },    c of n departures from x go to y.
#
# The error 1 - confidence is shared equally over all intervals: one for each ordered pair of declared states, seen or
# not (one for each state if there are two), and one for each state as the first entry where the start is fitted (one if
# there are two). So all of them hold at once with the confidence, over the draw of the reference.
#
# Proofs: docs/proofs/contraction.md#rows-known-up-to-limits.

MEANS = (
    "{confidence} is the probability, over the draw of the reference sequences and before they were seen, that the "
    "limits hold the chain they were drawn from; it is spent once, for every release that uses these limits, and is "
    "not a delta: if the limits miss the chain, nothing is promised"
)
RESTS = (
    "the reference sequences are independent of each other and of the protected ones and of their secrets, follow one "
    "chain that is the same at every step, the protected ones follow a chain between the limits, and the states were "
    "declared before the reference was looked at"
)


@dataclass(frozen=True)
class CountedTransitions:
    """What was counted in the reference: `transitions` from row to column, the `first` entries (None: the start is not
    fitted), and the `confidence` that all limits hold, in (0, 1)."""

    DIGESTED: ClassVar[str] = "Counted"
    """What the digests of priors call it since 0.3 (`fugu.ledger.fingerprint`)."""
    transitions: tuple[tuple[int, ...], ...]
    first: tuple[int, ...] | None
    confidence: Fraction

    @property
    def size(self) -> int:
        """The number of states."""
        return len(self.transitions)

    @property
    def intervals(self) -> int:
        """How many intervals share the error."""
        return (self.size + (self.first is not None)) * (self.size if self.size > 2 else 1)

    @cached_property
    def error(self) -> Fraction:
        """The error of each interval."""
        return (1 - self.confidence) / self.intervals

    def limits(self) -> tuple[Limits, Limits | None]:
        """The limits of the rows, and of the law of the first entry."""
        from fugu.laws.sets.levels import mixture_interval  # priors without counts need no sets of laws

        rows = self.transitions if self.first is None else (*self.transitions, self.first)
        found = [[mixture_interval(count, sum(row), self.error) for count in row] for row in rows]
        low, high = np.moveaxis(np.array(found), -1, 0).copy()
        first = None if self.first is None else Limits(low[-1], high[-1])
        return Limits(low[: self.size], high[: self.size]), first

    def words(self) -> tuple[str, str]:
        """What the confidence means, and what it rests on."""
        return MEANS.format(confidence=f"the confidence of {float(self.confidence):.10g}"), RESTS


def read_confidence(given: Any) -> Fraction:
    """A number in (0, 1); UsageError otherwise."""
    if not is_number(given) or not 0 < given < 1:
        raise UsageError(f"confidence must lie between 0 and 1, both excluded, such as 0.95; got {given!r}")
    return as_fraction(given)
