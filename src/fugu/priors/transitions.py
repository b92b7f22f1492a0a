"""Transition matrices and initial laws: read, the stationary law in balls, and products with proved errors."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from itertools import accumulate
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.errors import BadLaw, UsageError
from fugu.numbers.balls import precision
from fugu.numbers.exact import is_whole

if TYPE_CHECKING:
    from fugu.priors.chain import MarkovChain

# Reading transition matrices and initial laws: what is not a probability is refused, and its place named.

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


def finite_numbers(given: Any, name: str) -> Array:
    """An array of finite numbers, in doubles; BadLaw for anything else."""
    try:
        found = np.asarray(given)
        if found.dtype.kind in "USMmbc":
            raise TypeError
        found = found.astype(np.float64)
    except (TypeError, ValueError):
        raise BadLaw(f"{name} must be an array of probabilities, all rows of one length") from None
    if not np.isfinite(found).all():
        raise BadLaw(f"{name} has entries that are not finite numbers (NaN or infinite)")
    return found


def _numbers(given: Any, name: str) -> Array:
    found = finite_numbers(given, name)
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


# The stationary law of a chain by elimination without subtraction (Grassmann, Taksar and Heyman 1985), in balls.
#
# Proofs: docs/proofs/influence.md#the-stationary-law.

UNIT = 2.0**-53
ENTRY = 8 * UNIT  # how far a stored probability may be from the one meant, relatively
_BITS = 128
_BALLS = 128


def reachable(positive: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """closure[x, y]: y can be reached from x in zero or more steps of positive probability."""
    found = positive | np.eye(len(positive), dtype=bool)
    for _ in range(max(1, math.ceil(math.log2(len(positive) + 1)))):
        found = (found.astype(np.float32) @ found.astype(np.float32)) > 0
    return found


def stationary_law(transition: Array) -> tuple[Array, float]:
    """The law pi = pi P and a bound on the relative error of each of its entries; 0 exactly on transient states.

    A chain with two classes that are never left has many stationary laws and is refused.

    pi(x) is proportional to a sum over spanning trees of products of k - 1 off-diagonal probabilities, so relative
    errors of at most e in those move pi by at most ((1 + e) / (1 - e))^(k-1): here e = 8u. Elimination only adds,
    multiplies and divides numbers >= 0. Up to 128 states it is run in balls of 128 bits. Above, in floats: removing
    the last of n states perturbs the entries of the smaller chain by at most (n + 1)u relatively, hence pi by
    2 n (n + 1)u; back substitution adds 2 n u a state; together less than (k + 2)^3 u.

    >>> law, error = stationary_law(np.array([[0.6, 0.4], [0.2, 0.8]]))
    >>> bool(abs(law[0] - 1 / 3) <= error), error < 1e-14
    (True, True)
    """
    reach = reachable(transition > 0)
    recurrent = ~np.asarray((reach & ~reach.T).any(axis=1))
    kept = np.flatnonzero(recurrent)  # the states of the only class that is never left
    if not np.array_equal(recurrent, reach[kept[0]] & recurrent):
        raise BadLaw(
            "the chain has several classes of states that are never left, so its stationary law is not unique; "
            "give initial= a law over the states"
        )
    inner = transition[np.ix_(kept, kept)]
    size = len(kept)
    law = np.zeros(len(transition))
    if size <= _BALLS:
        with precision(_BITS):
            found = _eliminate(np.array([[arb(float(x)) for x in row] for row in inner], dtype=object))
            total = sum(found[1:], found[0])
            law[kept] = [float((x / total).mid()) for x in found]
    else:
        if np.min(inner[inner > 0]) < 1e-100:
            raise BadLaw("a chain of more than 128 states needs probabilities of 0 or at least 1e-100")
        floats = np.array(_eliminate(inner.copy()))
        law[kept] = floats / math.fsum(floats)
    own = 2 * UNIT if size <= _BALLS else (size + 2) ** 3 * UNIT
    return law, 1.01 * (own + 2 * size * ENTRY)


def _eliminate(matrix: NDArray[Any]) -> list[Any]:
    """Remove the states from the last to the second, then substitute back; not yet normalised."""
    size = len(matrix)
    leaves: list[Any] = [None] * size
    for n in range(size - 1, 0, -1):
        leaves[n] = sum(matrix[n, 1:n], matrix[n, 0])
        matrix[:n, :n] += np.outer(matrix[:n, n] / leaves[n], matrix[n, :n])
    law = [matrix[0, 0] * 0 + 1]
    for n in range(1, size):
        law.append(sum((law[i] * matrix[i, n] for i in range(1, n)), law[0] * matrix[0, n]) / leaves[n])
    return law


# Products of transition kernels as logarithms, with exact zeros and an a-priori bound on the error.
#
# Proofs: docs/proofs/influence.md#rounding and docs/proofs/influence.md#any-start.

Mask = NDArray[np.bool_]
_FLOOR = 1e-250  # below, products move to logarithms


@dataclass(frozen=True)
class Product:
    """A product of nonnegative matrices: logs (-inf exactly at the true zeros), each within `error` of the truth.

    In floats, a product of d kernels of k states has relative error at most d (k + 9) u: sums of products of
    nonnegative numbers lose at most k u a step, and each stored entry is within 8u of the one meant. Numbers that
    underflow add at most d k^2 2^-1074 in all (rows sum to at most 1), which is nothing next to entries above 1e-250.
    Which entries are zero is decided by reachability, never by underflow; as soon as a positive entry falls below
    1e-250 the product goes on in logarithms.
    """

    logs: Array
    positive: Mask
    error: float
    floats: Array | None = None
    relative: float = 0.0

    def then(self, step: Product) -> Product:
        """This kernel followed by one step."""
        positive = (self.positive.astype(np.float32) @ step.positive.astype(np.float32)) > 0
        inner = step.logs.shape[0]
        if self.floats is not None and step.floats is not None:
            floats = self.floats @ step.floats
            if floats[positive].min(initial=1.0) >= _FLOOR:
                relative = self.relative + step.relative + (inner + 1) * UNIT
                return _of_floats(np.where(positive, floats, 0.0), positive, relative)
        logs, most = np.empty((self.logs.shape[0], step.logs.shape[1])), 0.0  # most: the largest finite exponent met
        for x, row in enumerate(self.logs):
            terms = row[:, None] + step.logs
            top = terms.max(axis=0)
            shift = np.where(np.isfinite(top), top, 0.0)
            with np.errstate(divide="ignore"):
                logs[x] = shift + np.log(np.exp(terms - shift).sum(axis=0))
            most = max(most, largest(terms))
        return Product(logs, positive, self.error + step.error + (inner + 24 + 3 * most) * UNIT)

    def ratios(self) -> Array:
        """max over y of log K(x, y) - log K(x', y), for all (x, x'); +inf where x reaches a y that x' does not.

        A y that x does not reach has a zero numerator and is left out (corrected Definition 7). An upper bound.
        """
        return _worst(self.logs, self.error)

    def left_ratios(self, rows: Mask, free: bool) -> Array:
        """What the value z at the near end of this kernel adds for (x, x') at its far end, but for the law of X.

        That is max over z in `rows` of log K(z, x) - log K(z, x'), plus log mu(x') - log mu(x), which the caller adds.
        If the law of z is `free`, the two together are at most D(x, x') = max over z, z' in `rows` of
        log K(z, x) K(z', x') / (K(z, x') K(z', x)): mu(x') / mu(x) is a mean of K(z', x') / K(z', x) over z' with
        weights mu(z') K(z', x). Nothing is to be added then."""
        found = _worst(np.ascontiguousarray(self.logs[rows].T), self.error)
        return padded(found + found.T, 0.0) if free else found


def single(kernel: Array, relative: float = ENTRY) -> Product:
    """One kernel (or one law, as a row)."""
    return _of_floats(kernel, kernel > 0, relative)


def largest(values: Array) -> float:
    """The largest finite absolute value."""
    return float(np.max(np.abs(values), where=np.isfinite(values), initial=0.0))


def padded(values: Array, error: float) -> Array:
    """Upper bounds: each value plus its error and 16 roundings of the largest, enough for two later additions."""
    return values + (1.01 * error + 16 * UNIT * largest(values))


def _of_floats(floats: Array, positive: Mask, relative: float) -> Product:
    with np.errstate(divide="ignore"):
        logs = np.log(floats)
    error = 1.01 * relative + 8 * UNIT * largest(logs)
    return Product(logs, positive, error, None if floats[positive].min(initial=1.0) < _FLOOR else floats, relative)


def _worst(rows: Array, error: float) -> Array:
    found = np.zeros((len(rows), len(rows)))  # 0 for an x that reaches nothing: never compared
    for x, row in enumerate(rows):
        some = np.isfinite(row)
        if some.all():
            found[x] = (row - rows).max(axis=1)
        elif some.any():
            found[x] = (row[some] - rows[:, some]).max(axis=1)
    return padded(found, 2 * error)


@dataclass
class StepProducts:
    """Products of steps of a chain: of those that end with one, or, `ahead`, of those that begin with it. Where steps
    differ up to `most` of them are kept, of the step that was asked last."""

    chain: MarkovChain
    most: int = 32
    ahead: bool = False
    _powers: list[Product] = field(default_factory=list)
    _last: int = 0

    def of(self, m: int, d: int) -> Product:
        """Of d steps, the nearest of which is step m; quick where the one beyond it was asked last."""
        if self.chain.homogeneous:
            while len(self._powers) < d:
                step = self.chain.step(1)
                self._powers.append(step if not self._powers else self._powers[-1].then(step))
        elif self._last != m:
            found, step = self._powers, self.chain.step(m)
            if self._last == (m + 1 if self.ahead else m - 1):
                found = [step, *(step.then(p) if self.ahead else p.then(step) for p in found)]
            elif self.ahead:
                found = [step]
                for t in range(m + 1, min(m + self.most, self.chain.length)):
                    found.append(found[-1].then(self.chain.step(t)))
            else:
                found = [step]
                for t in range(m - 1, max(0, m - self.most), -1):
                    found.append(self.chain.step(t).then(found[-1]))
            self._last, self._powers = m, found[: self.most]
        return self._powers[d - 1]


def powers_of(kernel: Array, wanted: Iterable[int]) -> dict[int, Array]:
    """The powers of a kernel, by squaring, the same doubles on every machine; rows normalised.

    `BadLaw` where a positive probability is too small for a double: it would count as impossible."""
    squares, found = [kernel], {}
    for m in sorted(wanted):
        while 2 ** len(squares) <= m:
            squares.append(_times(squares[-1], squares[-1]))
        parts = [square for i, square in enumerate(squares) if m >> i & 1]
        found[m] = parts[0]
        for part in parts[1:]:
            found[m] = _times(found[m], part)
    return found


def _times(a: Array, b: Array) -> Array:
    """a b, summed in order: no library decides the last digit."""
    total = np.zeros_like(a)
    for j in range(len(a)):
        total += a[:, j, None] * b[None, j, :]
    possible = ((a > 0).astype(np.int64) @ (b > 0).astype(np.int64)) > 0
    if (possible != (total > 0)).any():
        raise BadLaw("a power of the transition has probabilities that are too small for a double; give smoothing")
    sums = np.array(list(accumulate(total.T, np.add))[-1])
    return np.asarray(total / sums[:, None])
