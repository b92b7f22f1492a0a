"""A sequence whose next entry depends on the present one: the prior that most sequence data are given."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Final, Literal, overload
from weakref import WeakValueDictionary

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadLaw, UsageError
from fugu.fixed import fixed
from fugu.numbers.exact import MatrixLike, Real, VectorLike, is_whole
from fugu.priors.interval_chain import IntervalChain, fitted_limits
from fugu.priors.prior import Belief, of_supports
from fugu.priors.products import Product, single
from fugu.priors.transitions import (
    ENTRY,
    fitted,
    named,
    read_initial,
    read_length,
    read_states,
    read_transition,
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
    """X_1, ..., X_T with P(X_{t+1} = y | X_t = x, past) = transition[x, y]; a belief about a whole sequence.

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
        return self._first_step if self.homogeneous else single(self.transition(t))

    @cached_property
    def _first_step(self) -> Product:
        return single(self._kernels)

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
