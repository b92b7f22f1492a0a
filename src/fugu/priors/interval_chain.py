"""Chains whose rows are known up to limits, and what laws between limits can do to a mean."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, UsageError
from fugu.fixed import fixed
from fugu.numbers.exact import UNIT, MatrixLike, VectorLike
from fugu.priors.prior import Belief, InfluenceCurve, contracting_curve, of_supports
from fugu.priors.transitions import finite_numbers, read_initial, read_length, read_states

if TYPE_CHECKING:
    from fugu.priors.fitting import CountedTransitions

Beginning = Literal["stationary", "any"] | VectorLike | tuple[VectorLike, VectorLike]
"""The law of the first entry: any at all, one that a step keeps, this law, or any law between these limits."""
Start = Literal["any", "stationary", "given"]
GIVEN: Start = "given"
_NEAR = 1e-9


class IntervalChain(Belief):
    """All Markov chains whose transitions lie between two tables of limits: lower[x, y] <= P(X_{t+1} = y | X_t = x) <=
    upper[x, y]; every one is covered.

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


# Laws that are known up to limits, lower <= p <= upper: what they can do to a mean, pushed forward and seen backwards.
#
# A *box* is the set of all laws between two limits. For weights w and **any** number s
#
#     <p, w> = s + sum p (w - s) <= s + sum upper (w - s)_+ - sum lower (s - w)_+,
#
# with equality at the largest p if s is the weight where it runs out of mass (a knapsack). So a poor s costs sharpness
# and never the proof. Everything is rounded outward. Boxes are arrays (..., k) of lower and of upper limits.
#
# Proofs: docs/proofs/contraction.md#rows-known-up-to-limits.

Array = NDArray[np.float64]
_ROUNDS = 2_000
_SETTLED = 1e-14
_STILL, _LEAST = 1e-13, 1e-13
_TRIES = 60


class Limits(NamedTuple):
    """Laws p with `lower` <= p <= `upper`: one (k,), or a row of limits for each of several (n, k)."""

    lower: Array
    upper: Array


def highest(box: Limits, weights: Array) -> Array:
    """The largest <p, w> over the box, rounded up; weights (..., k) >= 0 against limits that broadcast with them."""
    k = weights.shape[-1]
    order = np.argsort(-weights, axis=-1, kind="stable")
    s = _last(box, weights, order, 1e-300)  # no mass left: the least weight, so that nothing is subtracted
    over, under = np.maximum(weights - s, 0.0), np.maximum(s - weights, 0.0)
    more, less = (box.upper * over).sum(-1), (box.lower * under).sum(-1)
    found = s[..., 0] + more - less + (2 * k + 16) * UNIT * (s[..., 0] + more + less)
    return np.asarray(np.minimum(found, weights.max(axis=-1)))


def lowest(box: Limits, weights: Array) -> Array:
    """The least <p, w> over the box, rounded down, at least the least weight."""
    k = weights.shape[-1]
    order = np.argsort(weights, axis=-1, kind="stable")
    s = _last(box, weights, order, 0.0)
    over, under = np.maximum(weights - s, 0.0), np.maximum(s - weights, 0.0)
    more, less = (box.lower * over).sum(-1), (box.upper * under).sum(-1)
    found = s[..., 0] + more - less - (2 * k + 16) * UNIT * (s[..., 0] + more + less)
    return np.asarray(np.maximum(found, weights.min(axis=-1)))


def _last(box: Limits, weights: Array, order: NDArray[np.intp], least: float) -> Array:
    """The weight at which the mass above the lower limits runs out, filled in this order; (..., 1)."""
    lower, upper = np.broadcast_to(box.lower, weights.shape), np.broadcast_to(box.upper, weights.shape)
    room = np.cumsum(np.take_along_axis(upper - lower, order, -1), axis=-1)
    left = np.maximum(1.0 - lower.sum(-1, keepdims=True), least)
    at = np.minimum((room < left).sum(-1, keepdims=True), weights.shape[-1] - 1)
    return np.take_along_axis(weights, np.take_along_axis(order, at, -1), -1)


def tightened(box: Limits) -> Limits:
    """The same laws between limits that some of them reach: p_y = 1 - the others, which have limits too."""
    below, above = box.lower.sum(-1, keepdims=True), box.upper.sum(-1, keepdims=True)
    slack = (2 * box.lower.shape[-1] + 8) * UNIT * (1 + above)
    lower = np.maximum(box.lower, 1.0 - (above - box.upper) - slack)
    upper = np.minimum(box.upper, 1.0 - (below - box.lower) + slack)
    return Limits(np.minimum(lower, box.upper), np.maximum(upper, box.lower))


def pushed(law: Limits, rows: Limits) -> Limits:
    """Limits of the law of the next entry: every law in `law` (k,) or (n, k), every row of a step in `rows` (k, k)."""
    at = Limits(law.lower[..., None, :], law.upper[..., None, :])
    shape = (*law.lower.shape[:-1], *rows.lower.shape)
    lower = lowest(at, np.broadcast_to(rows.lower.T, shape))
    upper = np.minimum(1.0, highest(at, np.broadcast_to(rows.upper.T, shape)))
    return tightened(Limits(lower, upper))


def seen_backwards(law: Limits, rows: Limits) -> Limits:
    """Limits of P(X_(t-1) = y | X_t = x) in row x, for X_(t-1) in `law` and a step in `rows`.

    m_y K_yx / (m_y K_yx + sum over z != y of m_z K_zx) grows with m_y and K_yx and falls with the others. It is least
    with m_y at its lower limit, K_yx too, and the rest of the mass where it leads to x most; largest the other way.
    Where x has probability 0 under a member, there is nothing to bound."""
    low, high = law.lower[:, None] * rows.lower, law.upper[:, None] * rows.upper  # (y, x)
    other_high = highest(_pinned(law, law.lower), _others(rows.upper))
    other_low = lowest(_pinned(law, law.upper), _others(rows.lower))
    slack = (2 * len(low) + 24) * UNIT
    with np.errstate(divide="ignore", invalid="ignore", under="ignore"):
        lower = np.where(low > 0, low / (low + other_high * (1 + slack)) * (1 - slack), 0.0)
        upper = np.where(high > 0, high / (high + other_low * (1 - slack)) * (1 + slack), 0.0)
    lower = np.where(low < 1e-290, 0.0, lower)  # below that digits may be lost
    upper = np.where((high > 0) & (high < 1e-290), 1.0, upper)
    return tightened(Limits(lower.T, np.minimum(1.0, upper).T))


def _pinned(law: Limits, at: Array) -> Limits:
    """(y, 1, z): the same laws with the mass of y fixed. Those of less (more) mass in all are bounded with them from
    above (below), as the weights are not negative: the number s of a bound is one of them."""
    k = len(at)
    lower, upper = (np.where(np.eye(k, dtype=bool), at[:, None], limit)[:, None] for limit in law)
    return Limits(lower, upper)


def _others(rows: Array) -> Array:
    """(y, x, z): how much z leads to x, nothing for z = y."""
    k = len(rows)
    return np.where(np.eye(k, dtype=bool)[:, None], 0.0, rows.T[None])


def log_ratios(rows: Limits) -> Array:
    """(z, x, x'): the largest log K(z, x) / K(z, x') in each row, rounded up; inf if it has no bound, -inf if always 0.

    p_x is as large as the mass allows with p_x' at its lower limit; p_x' then as small as the mass demands."""
    lower, upper, k = rows.lower, rows.upper, rows.lower.shape[-1]
    below, above = lower.sum(-1)[:, None, None], upper.sum(-1)[:, None, None]
    slack = (2 * k + 16) * UNIT * (1 + above)
    one, two = (slice(None), slice(None), None), (slice(None), None, slice(None))
    most = 1.0 - (below - lower[one] - lower[two]) + slack  # of p_x + p_x'
    least = 1.0 - (above - upper[one] - upper[two]) - slack
    top = np.maximum(np.minimum(upper[one], most - lower[two]), 0.0) * np.ones((1, 1, k))
    bottom = np.maximum(lower[two], least - top - slack)
    top = np.where(upper[one] > 0, top, 0.0)
    with np.errstate(divide="ignore", invalid="ignore"):
        logs = np.log(top) - np.log(np.maximum(bottom, 0.0))
        logs = logs + 16 * UNIT * (1 + np.abs(np.where(np.isfinite(logs), logs, 0.0)))
        logs = logs + 4 * UNIT * np.where(np.isfinite(logs), np.abs(np.log(np.maximum(top, 5e-324))), 0.0)
    found: Array = np.where(top > 0, np.where(bottom > 0, logs, np.inf), -np.inf)
    found[:, np.arange(k), np.arange(k)] = 0.0
    return found


def diameters(rows: Limits, possible: NDArray[np.bool_] | None = None) -> Array:
    """D(x, x'): the largest log K(z, x) K(z', x') / (K(z, x') K(z', x)) over z != z' that are `possible`, rounded up.

    For two rows of one step, each anywhere in its box; the largest of all is the projective diameter."""
    logs = log_ratios(rows)[slice(None) if possible is None else possible]
    k = logs.shape[-1]
    found = np.full((k, k), -np.inf)
    for z, row in enumerate(logs):
        others = np.delete(logs, z, axis=0)
        if len(others):
            with np.errstate(invalid="ignore"):
                both = row + np.swapaxes(others, 1, 2).max(axis=0)
            found = np.maximum(found, np.where(np.isnan(both), -np.inf, both))
    np.fill_diagonal(found, 0.0)
    return np.asarray(np.maximum(0.0, np.nextafter(found, np.inf)))


def everything(k: int) -> Limits:
    """All laws on k values."""
    return Limits(np.zeros(k), np.ones(k))


def kept(rows: Limits) -> Limits:
    """Limits of every law m with m K = m for some step K in `rows`: all laws pushed forward, again and again.

    Such a law is its own image, so it stays inside; the images are nested, so one may stop anywhere."""
    law = everything(len(rows.lower))
    for _ in range(_ROUNDS):
        new = _inside(law, pushed(law, rows))
        moved, law = _gap(law, new), new
        if moved <= _SETTLED:
            break
    return law


def _inside(one: Limits, two: Limits) -> Limits:
    return Limits(np.maximum(one.lower, two.lower), np.minimum(one.upper, two.upper))


def marginals(start: Limits, rows: Limits, length: int, most: int, nested: bool) -> Limits:
    """Limits (n, k) of the laws of the first n entries; the last serve for every entry beyond. n <= `most`, `length`.

    `nested`: the start covers its own image (every law, or the laws that are kept), so the images only shrink."""
    found, far, tried = [start], start if nested else kept(rows), 0
    while len(found) < length:
        new = pushed(found[-1], rows)
        if nested:
            new = _inside(found[-1], new)
            if _gap(found[-1], new) <= _SETTLED or len(found) >= _ROUNDS:
                break
        else:
            still = max(_gap(found[-1], new), _gap(new, found[-1])) <= _STILL
            rest = None
            if still and len(found) >= 2 * tried:
                rest, tried = _ever(new, rows) or _ever(_around(new, far), rows), len(found)
            if rest is not None or len(found) >= _ROUNDS:
                found.append(rest or everything(len(start.lower)))
                break
        found.append(new)
    lower, upper = np.array([box.lower for box in found]), np.array([box.upper for box in found])
    if len(found) > most:
        lower = np.vstack([lower[: most - 1], lower[most - 1 :].min(axis=0)])
        upper = np.vstack([upper[: most - 1], upper[most - 1 :].max(axis=0)])
    return Limits(lower, upper)


def _ever(law: Limits, rows: Limits) -> Limits | None:
    """A box around this one that covers its own image: then it covers every later law; None if none is found."""
    around = Limits(np.where(law.lower < _LEAST, 0.0, law.lower), law.upper)  # a limit that falls and falls
    for _ in range(_TRIES):
        image = pushed(around, rows)
        if (image.lower >= around.lower).all() and (image.upper <= around.upper).all():
            return around
        around = _around(around, image)
    return None


def _around(one: Limits, two: Limits) -> Limits:
    return Limits(np.minimum(one.lower, two.lower), np.maximum(one.upper, two.upper))


def _gap(outer: Limits, inner: Limits) -> float:
    """How far the limits of `inner` lie inside those of `outer`, at most."""
    return max(float((inner.lower - outer.lower).max()), float((outer.upper - inner.upper).max()))
