"""A sequence whose next entry depends on the present one; several such chains, and users seen at points of a grid."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Final, Literal, overload
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, UsageError
from fugu.fixed import fixed
from fugu.numbers.exact import MatrixLike, Real, VectorLike, is_whole
from fugu.priors.fitting import fitted, fitted_limits
from fugu.priors.interval_chain import IntervalChain
from fugu.priors.prior import Belief, SeveralPriors, of_supports
from fugu.priors.transitions import (
    ENTRY,
    Product,
    named,
    powers_of,
    read_initial,
    read_length,
    read_states,
    read_transition,
    single,
    stationary_law,
)

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
STATIONARY: Final = "stationary"
ANY: Final = "any"
Start = Literal["stationary", "any"] | VectorLike
"""How the first entry is distributed: as in the long run, in any way at all, or by this law over the states."""
FittedStart = Start | Literal["fitted"]
Entries = Iterable[Iterable[Hashable]]
States = Iterable[Hashable] | None


class _Memory(dict[str, Any]):
    """What was computed from a chain."""


_MEMORIES: WeakValueDictionary[Any, _Memory] = WeakValueDictionary()
"""Those of the chains that are alive, by all that a chain is made of."""


class MarkovChain(Belief):
    """A sequence in which each state depends on the one before it alone: P(X_{t+1} = y | X_t = x, past) = transition[x,
    y]; a belief about a whole sequence.

    Parameters:

    - `transition`: (k, k), or (T-1, k, k) for steps that differ. The prior meant is the exactly normalised rows of the
      numbers given (they must sum to 1 within 1e-12); every bound covers that rounding.
    - `length`: T, a whole number of at least 2.
    - `initial`: the law of the first entry; or "stationary", refused where a state has no mass in that law; or "any":
      the belief is then the set of all chains with these steps, and what is proved holds for every start (`free`).
    - `states`: names of the rows, by default 0 .. k-1. `assumptions`: further words for certificates.

    Raises `BadLaw` for what is not a law, `UsageError` for other arguments.

    A state that an entry never takes is not a secret of that entry: it is compared with nothing, and named in
    `skipped`; `unused` lists the states that no entry takes. `independent`: all rows are the same law.

    >>> chain = MarkovChain([[0.6, 0.4], [0.2, 0.8]], length=100)
    >>> chain.size, chain.length, chain.stationary, chain.marginal(7).round(6).tolist()
    (2, 100, True, [0.333333, 0.666667])
    """

    length: int
    size: int
    states: tuple[Hashable, ...]
    homogeneous: bool
    independent: bool
    stationary: bool
    assumptions: tuple[str, ...]
    _kernels: Array
    _initial: Array | None
    _initial_error: float

    def __init__(
        self,
        transition: MatrixLike | Sequence[MatrixLike],
        length: int,
        initial: Start = "stationary",
        states: States = None,
        assumptions: tuple[str, ...] = (),
    ) -> None:
        entries = read_length(length)
        kernels = read_transition(transition, entries)
        given = np.asarray(transition, dtype=np.float64)
        size = int(kernels.shape[-1])
        names = read_states(states, size)
        law, error = _start(initial, kernels, names)
        known = "the transition probabilities are public, and every law of the first entry is covered"
        if law is not None:
            law.flags.writeable = False
            known = "the transition probabilities and the law of the first entry are public"
        vars(self).update(
            length=entries,
            size=size,
            states=names,
            homogeneous=kernels.ndim == 2,
            independent=given.ndim == 2 and bool((given == given[0]).all()),
            stationary=isinstance(initial, str) and initial == STATIONARY,
            assumptions=(known, *assumptions),
            _kernels=kernels,
            _initial=law,
            _initial_error=error,
        )

    @classmethod
    def example(cls) -> MarkovChain:
        return cls([[0.6, 0.4], [0.2, 0.8]], 8, [0.9, 0.1], ["well", "ill"])

    @overload
    @classmethod
    def fit(cls, sequences: Entries, states: States = None, smoothing: float = 0.0, length: int | None = None,
            start: FittedStart = "fitted", *, confidence: None = None) -> MarkovChain: ...  # fmt: skip
    @overload
    @classmethod
    def fit(cls, sequences: Entries, states: States = None, smoothing: float = 0.0, length: int | None = None,
            start: FittedStart = "fitted", *, confidence: Real) -> IntervalChain: ...  # fmt: skip
    @classmethod
    def fit(cls, sequences: Entries, states: States = None, smoothing: float = 0.0, length: int | None = None,
            start: FittedStart = "fitted", *, confidence: Real | None = None,
            ) -> MarkovChain | IntervalChain:  # fmt: skip
        """The chain with the transition frequencies of reference sequences; see `fugu.priors.transitions`.

        `sequences`: at least one, of entries that can be compared; `states`: all that there are, None for those that
        occur; `smoothing`: added to every count, a number >= 0; `length`: of the chain, None for the longest sequence.
        Raises `BadTable` for a state that no sequence leaves.
        `start`: "fitted" from their first entries ("any" if there is one sequence only: it fits no start), "any",
        "stationary", or the law of the first entry.
        `confidence`: in (0, 1), such as 0.95: all chains that the sequences do not rule out, an `IntervalChain` whose
        limits hold the true rows with this probability over the draw of the sequences; needs `states`, no smoothing."""
        if confidence is None:
            return fitted(cls, sequences, states, smoothing, length, start)
        if smoothing != 0:
            raise UsageError("smoothing= makes another prior and confidence= covers the true one: give one of the two")
        return fitted_limits(sequences, states, confidence, length, start)

    @cached_property
    def _remembered(self) -> dict[str, Any]:
        """What others computed from this belief, or from the same one as a document states it, and will want again."""
        start = None if self._initial is None else self._initial.tobytes()
        same = (self._kernels.shape, self._kernels.tobytes(), start, self._initial_error, self.length, self.states)
        return _MEMORIES.setdefault((type(self), self.stationary, self.independent, *same), _Memory())

    def __repr__(self) -> str:
        steps = "" if self.homogeneous else ", steps differ"
        start = "any start" if self.free else "stationary" if self.stationary else "given start"
        return f"MarkovChain({self.size} states, length {self.length}, {start}{steps})"

    @property
    def forbidden(self) -> bool:
        """Whether some transition between states has probability 0."""
        return bool((self._kernels == 0).any())

    @property
    def chains(self) -> tuple[MarkovChain, ...]:
        """The chains that are believed in: itself. Those of a `ChainSet` are several."""
        return (self,)

    @property
    def free(self) -> bool:
        """Whether every start is covered: no law of any entry is stated."""
        return self._initial is None

    @cached_property
    def skipped(self) -> tuple[str, ...]:
        """The secrets of probability 0 under this belief: for each state the entries that never take it, in words."""
        return of_supports(self.states, self.supports, self.length)

    @cached_property
    def unused(self) -> tuple[Hashable, ...]:
        """States that no entry ever takes: they are secrets of probability 0, and skipped."""
        seen = np.asarray(self.supports.any(axis=0))
        return tuple(state for state, used in zip(self.states, seen, strict=True) if not used)

    def transition(self, t: int) -> Array:
        """The kernel of the step from `t` to t + 1, t = 1 .. T-1."""
        t = self._time(t, 1, self.length - 1)
        return self._kernels if self.homogeneous else np.asarray(self._kernels[t - 1])

    def marginal(self, t: int) -> Array:
        """The law of X_t, `t` = 1 .. T; `UsageError` for a chain that covers every start."""
        t = self._time(t, 1, self.length)
        return self._stated().copy() if self.stationary else np.asarray(np.exp(self.log_marginals[0][t - 1]))

    def _stated(self) -> Array:
        if self._initial is None:
            raise UsageError("this chain covers every start, so its entries have no one law; state initial= a law")
        return self._initial

    def backward(self, t: int) -> Array:
        """P(X_{t-1} = y | X_t = x) in row x, `t` = 2 .. T; a row of zeros where X_t is never x.

        The true kernel for this start: marginal(t-1)[y] transition[y, x] / marginal(t)[x]. The reversal of the
        stationary chain is another kernel, and no bound for this one (docs/proofs/contraction.md#coefficients).
        """
        t = self._time(t, 2, self.length)
        joint = (self.marginal(t - 1)[:, None] * self.transition(t - 1)).T
        total = joint.sum(axis=1, keepdims=True)
        return np.asarray(np.divide(joint, total, out=np.zeros_like(joint), where=total > 0))

    def step(self, t: int) -> Product:
        """The kernel of the step from t to t + 1 with its error."""
        if not self.homogeneous:
            return single(self.transition(t))
        if "step" not in self._remembered:
            self._remembered["step"] = single(self._kernels)
        found: Product = self._remembered["step"]
        return found

    @cached_property
    def supports(self) -> Mask:
        """(T, k): which states have positive probability, by reachability; one row if the chain is stationary.

        With "any": under some start, and then all of them at once under a mixture of such starts."""
        rows = [np.ones(self.size, dtype=bool) if self._initial is None else self._initial > 0]
        for t in () if self.stationary else range(1, self.length):
            rows.append(np.asarray(self.transition(t)[rows[-1]].any(axis=0)))
            if self.homogeneous and np.array_equal(rows[-1], rows[-2]):
                return fixed(np.vstack([*rows, np.tile(rows[-1], (self.length - len(rows), 1))]))
        return fixed(np.array(rows))

    @cached_property
    def log_marginals(self) -> tuple[Array, Array]:
        """The logarithms of the marginals and the errors of each row: (T, k) and (T,); one row if stationary."""
        law = single(self._stated()[None, :], self._initial_error)
        rows, errors = [law.logs[0]], [law.error]
        if not self.stationary:
            for t in range(1, self.length):
                law = law.then(self.step(t))
                rows.append(law.logs[0])
                errors.append(law.error)
                if self.homogeneous and law.floats is not None and np.array_equal(rows[-1], rows[-2]):
                    left = np.arange(1, self.length - t)  # the same floats from here on; only their error grows
                    more = errors[-1] + left * (1.01 * (errors[-1] - errors[-2]))
                    all_rows = np.vstack([*rows, np.tile(rows[-1], (len(left), 1))])
                    return fixed(all_rows), fixed(np.concatenate([errors, more]))
        return fixed(np.array(rows)), fixed(np.array(errors))

    def with_length(self, length: int) -> MarkovChain:
        """The same homogeneous chain for sequences of another `length`."""
        if not self.homogeneous:
            raise UsageError("a chain whose steps differ has one length; give the steps of the longer one")
        start: Start = STATIONARY if self.stationary else ANY if self._initial is None else self._initial
        return MarkovChain(self._kernels, length, start, self.states, self.assumptions[1:])

    def _time(self, t: int, least: int, most: int) -> int:
        if not is_whole(t, least, most):
            raise UsageError(f"t must be a whole number from {least} to {most}")
        return int(t)


def _start(initial: Any, kernels: Array, states: tuple[Hashable, ...]) -> tuple[Array | None, float]:
    """The law of the first entry and its error; None if every start is covered."""
    if not isinstance(initial, str):
        return read_initial(initial, len(states)), ENTRY
    if initial == ANY:
        return None, ENTRY
    if initial != STATIONARY:
        raise UsageError(f"initial must be 'stationary', 'any' or a law over the states, got {initial!r}")
    if kernels.ndim != 2:
        raise UsageError("steps that differ have no stationary law; give initial= the law of the first entry")
    law, error = stationary_law(kernels)
    if (empty := np.flatnonzero(law == 0)).size:  # these would be secrets that nothing protects
        raise BadLaw(
            f"{len(empty)} of {len(states)} states have no mass in the stationary law, as they are left for good: "
            f"{named(states, empty)}. Nothing would protect them; give the law of the first entry, or 'any', "
            "which covers every start"
        )
    return law, error


# Proofs: docs/proofs/influence.md#sets-of-priors.


class SeveralChains(SeveralPriors):
    """Chains over the same states, of which the worst counts."""

    chains: tuple[MarkovChain, ...]

    @property
    def members(self) -> tuple[MarkovChain, ...]:
        """The chains."""
        return self.chains

    def __iter__(self) -> Iterator[MarkovChain]:
        return iter(self.chains)

    @property
    def length(self) -> int:
        """The number of entries of the longest."""
        return max(chain.length for chain in self.chains)

    @property
    def size(self) -> int:
        """The number of states."""
        return self.chains[0].size

    @property
    def states(self) -> tuple[Hashable, ...]:
        """The states, in the order of the rows."""
        return self.chains[0].states


class ChainSet(SeveralChains):
    """Chains of one length over the same states; a bound for the set is the largest over its members.

    `chains`: at least one `MarkovChain`. Raises `UsageError` where lengths or states differ.

    >>> weak, strong = (MarkovChain([[p, 1 - p], [1 - p, p]], length=9) for p in (0.6, 0.8))
    >>> len(ChainSet([weak, strong])), ChainSet([weak, strong]).size
    (2, 2)
    """

    assumptions: tuple[str, ...]

    def __init__(self, chains: Iterable[MarkovChain]) -> None:
        given = tuple(chains)
        if not given:
            raise UsageError("a set of chains needs at least one chain")
        if any(not isinstance(chain, MarkovChain) for chain in given):
            raise UsageError("a set of chains holds MarkovChain objects only")
        if len({chain.length for chain in given}) > 1:
            raise UsageError("all chains of a set must have one length: they are beliefs about the same sequence")
        if len({chain.states for chain in given}) > 1:
            raise UsageError("all chains of a set must have the same states in the same order")
        said = dict.fromkeys(line for chain in given for line in chain.assumptions)
        vars(self).update(chains=given, assumptions=(f"the sequence follows one of {len(given)} chains", *said))

    @classmethod
    def example(cls) -> ChainSet:
        return cls([MarkovChain([[p, 1 - p], [1 - p, p]], length=9) for p in (0.6, 0.8)])

    def __len__(self) -> int:
        return len(self.chains)

    def __repr__(self) -> str:
        return f"ChainSet({len(self)} chains, {self.size} states, length {self.length})"

    @property
    def forbidden(self) -> bool:
        """Whether some transition has probability 0 in some chain."""
        return any(chain.forbidden for chain in self.chains)


# Users on a regular grid of times, each seen at some of its points: for each pattern a chain with powers of a kernel.
#
# Proofs: docs/proofs/gaps.md#powers, docs/proofs/gaps.md#patterns-that-cover-others.

Steps = tuple[int, ...]
_PATTERNS, _ENTRIES = 256, 20_000
_WORK = 10_000
"""Entries times states squared: a minute of translation."""


class GapChains(SeveralChains):
    """Independent users who follow one kernel on a regular grid and are seen at some points of it; the worst counts.

    Parameters:

    - `transition`: (k, k), the kernel of one step of the grid.
    - `steps`: for each pattern the steps between neighbouring entries that are seen, whole numbers of at least 1: 1
      without a gap, g + 1 where g points are missing. The kernel of m steps is the m-th power, worked out in doubles
      and normalised; the prior meant is that with these numbers.
    - `initial`: the law of the first entry that is seen, of every user: a law, "any", or "stationary".
    - `states`: names of the rows, by default 0 .. k-1. `assumptions`: further words for certificates.

    Raises `BadLaw` and `UsageError` as `MarkovChain` does.

    >>> GapChains([[0.9, 0.1], [0.2, 0.8]], [(1, 1, 3), (2, 1)])
    GapChains(2 patterns, 2 states, up to 4 entries)
    """

    steps: tuple[Steps, ...]
    step: MarkovChain
    assumptions: tuple[str, ...]

    def __init__(
        self,
        transition: MatrixLike,
        steps: Iterable[Sequence[int]],
        initial: Start = "any",
        states: Iterable[Hashable] | None = None,
        assumptions: tuple[str, ...] = (),
    ) -> None:
        patterns = tuple(map(tuple, steps))
        if any(not given or not all(is_whole(m, 1, 2**62) for m in given) for given in patterns):
            raise UsageError(
                "a pattern is a list of whole numbers of at least 1: the steps between neighbouring entries"
            )
        patterns = tuple(tuple(map(int, given)) for given in patterns)
        if not patterns or len(patterns) > _PATTERNS or sum(map(len, patterns)) > _ENTRIES:
            raise UsageError(f"steps must be 1 to {_PATTERNS} patterns with at most {_ENTRIES} steps in all")
        one = MarkovChain(transition, 2, initial, states)
        start: Start = one.marginal(1) if isinstance(initial, str) and initial == STATIONARY else initial
        powers = powers_of(np.asarray(one.transition(1)), {m for pattern in patterns for m in pattern})
        chains = tuple(
            MarkovChain(np.array([powers[m] for m in pattern]), len(pattern) + 1, start, one.states, assumptions)
            for pattern in patterns
        )
        said = f"users are seen at some points of a regular grid, in one of {len(patterns)} patterns, which are public"
        words = dict.fromkeys((said, *(line for chain in chains for line in chain.assumptions)))
        vars(self).update(chains=chains, steps=patterns, step=one, assumptions=tuple(words))

    @classmethod
    def example(cls) -> GapChains:
        return cls([[0.6, 0.4], [0.2, 0.8]], [(1, 3, 1), (2, 1)], [0.9, 0.1], ["well", "ill"])

    def __repr__(self) -> str:
        return f"GapChains({len(self.steps)} patterns, {self.size} states, up to {self.length} entries)"

    @property
    def free(self) -> bool:
        """Whether every start is covered."""
        return self.step.free


def covering(times: Iterable[Sequence[int]], states: int, most: int = _WORK) -> tuple[Steps, ...] | None:
    """Patterns of steps that cover those of users seen at these points of a grid; None for the whole grid.

    A user who is seen at some of the points of a pattern, the first among them, is covered by it: the others are
    entries that are not published. Patterns inside others are left out; if the rest is more than `most` entries times
    states squared, all are covered by the one pattern of all points; if that is too much too, None."""
    seen = {frozenset(t - at[0] for t in at) for at in times if len(at) > 1}
    if not seen:
        return None
    if len(seen) <= _PATTERNS:
        largest = [points for points in seen if not any(points < other for other in seen)]
        if sum(map(len, largest)) * states**2 <= most:
            return tuple(sorted(map(_steps, largest)))
    together = _steps(frozenset[int]().union(*seen))
    whole = all(m == 1 for m in together) or (len(together) + 1) * states**2 > most
    return None if whole else (together,)


def _steps(points: frozenset[int]) -> Steps:
    return tuple(b - a for a, b in pairwise(sorted(points)))
