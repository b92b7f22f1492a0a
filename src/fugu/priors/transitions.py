"""Transition matrices and initial laws: read, fitted to reference sequences, and the stationary law in balls."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from flint import arb
from numpy.typing import NDArray

from fugu.data.frame import framed
from fugu.errors import BadLaw, BadTable, MissingValues, UsageError
from fugu.numbers.balls import precision
from fugu.numbers.exact import is_whole

if TYPE_CHECKING:
    from fugu.priors.chain import MarkovChain


# Fitting a chain to reference sequences: transition frequencies, and smoothing only if asked for.

_MOST_STATES = 4096
FITTED = "fitted"


def fitted(
    cls: type[MarkovChain],
    sequences: Iterable[Iterable[Hashable]],
    states: Iterable[Hashable] | None,
    smoothing: float,
    length: int | None,
    start: Any = FITTED,
) -> MarkovChain:
    """P(y | x) = (n(x, y) + smoothing) / (n(x, .) + k smoothing), n = transitions within the reference sequences.

    The start is P(x) = (f(x) + smoothing) / (N + k smoothing) with f(x) of the N sequences beginning at x. One sequence
    fits no start: "fitted" then covers every one, as "any" does. "stationary" is the caller's own claim, and refused
    where a state has no mass. Without `length` the chain is as long as the longest reference sequence. Smoothing makes
    another prior, and the guarantee is for that one: it is the caller's choice and is written into the assumptions, as
    the start is. A state that no reference sequence ever leaves has no frequencies: refused.

    >>> from fugu.priors.chain import MarkovChain
    >>> chain = MarkovChain.fit(["aababb", "bbabaa", "babbab", "abaabb"])
    >>> chain.states, chain.transition(1)[0].tolist(), chain.marginal(1).tolist(), chain.length
    (('a', 'b'), [0.3, 0.7], [0.5, 0.5], 6)
    >>> MarkovChain.fit(["aababb"])
    MarkovChain(2 states, length 6, any start)
    """
    if isinstance(smoothing, bool) or not isinstance(smoothing, (int, float, np.integer, np.floating)):
        raise UsageError("smoothing must be a number >= 0, added to every transition count")
    if not math.isfinite(smoothing) or smoothing < 0 or 0 < smoothing < 1e-100:
        raise UsageError("smoothing must be 0 or a finite number of at least 1e-100, added to every transition count")
    add = float(smoothing)
    number, longest, names, counts, begun = counted(sequences, states, start)
    weights = counts + add
    if (empty := weights.sum(axis=1) == 0).any():
        raise BadTable(
            f"{int(empty.sum())} of {len(names)} states are never left in the reference sequences, so nothing is known "
            "of what follows them; give smoothing= (say 0.5), longer sequences, or states= without them"
        )
    law, begins = _start(start, _normalised((begun + add)[None])[0], number)
    smoothed = (
        f"the guarantee is for the smoothed prior: {add:g} was added to every transition count and every count of "
        "first entries; it is not a guarantee for the chain without smoothing"
    )
    more = (begins, *((smoothed,) if add > 0 else ()))
    said = fit_words("the chain was fitted on", number, more, longest if length is None else None)
    return cls(_normalised(weights), longest if length is None else length, law, names, said)


def fit_words(what: str, number: int, more: tuple[str, ...], longest: int | None) -> tuple[str, ...]:
    """What a fit takes for granted: how many reference sequences there are, which are public, and how long they are."""
    many = f"{number} reference sequences, which count as public"
    first = f"{what} {many if number > 1 else '1 reference sequence, which counts as public'}"
    told = f"sequences have length {longest}, that of the longest reference sequence"
    return (first, *more, *(() if longest is None else (told,)))


def counted(
    sequences: Iterable[Iterable[Hashable]], states: Iterable[Hashable] | None, start: Any
) -> tuple[int, int, tuple[Hashable, ...], NDArray[np.float64], NDArray[np.float64]]:
    """How many sequences there are, how long the longest is, their states, how often each follows each, and how many
    sequences begin at each; `start` is looked at."""
    if not isinstance(sequences, Mapping) and framed(sequences) is not None:
        raise BadTable(
            "a table is not a list of sequences: fugu.sequences.read_sequences(table, by=, order=, state=) makes "
            "sequences of a public one"
        )
    listed = sequences.values() if isinstance(sequences, Mapping) else sequences
    read = [_sequence(sequence) for sequence in listed]
    if not read:
        raise BadTable("sequences must hold at least one reference sequence")
    if states is not None:
        given = tuple(states)
        names = read_states(given, len(given))
    else:
        seen = list(dict.fromkeys(entry for sequence in read for entry in sequence))
        if len(seen) > _MOST_STATES:
            raise BadTable(f"more than {_MOST_STATES} states; group them first")
        try:
            names = tuple(sorted(seen))  # type: ignore[type-var]
        except TypeError:
            names = tuple(seen)
    order = {name: at for at, name in enumerate(names)}
    counts, begun = np.zeros((len(names), len(names))), np.zeros(len(names))
    for sequence in read:
        try:
            at = np.array([order[entry] for entry in sequence])
        except KeyError:
            raise BadTable("the reference sequences hold a state that states= does not list; add it") from None
        np.add.at(counts, (at[:-1], at[1:]), 1.0)
        begun[at[0]] += 1
    if isinstance(start, str) and start not in (FITTED, "any", "stationary"):
        raise UsageError(f"start must be 'fitted', 'any', 'stationary' or a law over the states, got {start!r}")
    return len(read), max(map(len, read)), names, counts, begun


def _start(start: Any, fitted: NDArray[np.float64], sequences: int) -> tuple[Any, str]:
    """What the chain begins with, and what that assumes."""
    if not isinstance(start, str):
        return start, "the law of the first entry is the one that was given"
    if start == FITTED and sequences > 1:
        return fitted, "the law of the first entry is that of the first entries of the reference sequences"
    if start == "stationary":
        return start, "every sequence begins in the stationary law: it has run for long before its first entry"
    one = "one reference sequence fits no start: " if start == FITTED else ""
    return "any", f"{one}every law of the first entry is covered"


def _normalised(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    sums = np.array([math.fsum(row) for row in weights])
    return np.asarray(weights / sums[:, None])


def _sequence(given: Any) -> list[Hashable]:
    try:
        found = given.tolist() if isinstance(given, np.ndarray) else list(given)
    except TypeError:
        raise BadTable("sequences must be a list of sequences, not one sequence of numbers") from None
    if len(found) < 2:
        raise BadTable("a reference sequence has fewer than 2 entries, so it holds no transition; leave it out")
    for entry in found:
        if entry is None or entry != entry:  # NaN  # noqa: PLR0124
            raise MissingValues("a reference sequence has missing entries; split it there, or name a state for them")
        try:
            hash(entry)
        except TypeError:
            raise BadTable("entries must be hashable states; an array of sequences must be 2-d") from None
    return found


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
