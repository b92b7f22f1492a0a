"""Queries on sequences with a guarantee per entry, which adds up and can be translated to Pufferfish once at the end.

    answer = Histogram(States(("home", "work"))).mechanism(epsilon).release(sequences)
    answer.value, answer.interval, answer.epsilon, answer.certificate, answer.charge

Replacing any one entry of any sequence changes the probability of every answer by at most a factor e^epsilon, on the
full product domain (docs/proofs/translation.md#queries-on-sequences). The noise is drawn exactly, on integers or by
exact coins, with the operating system's bits.

| query                                | what one replaced entry changes              | noise                       |
|--------------------------------------|----------------------------------------------|-----------------------------|
| `Count(state, states)`               | 1                                            | Lap(1 / epsilon)            |
| `Histogram(states)`                  | 2 in l1                                      | Lap(2 / epsilon) a count    |
| `Transitions(states)`                | 4 in l1, 2 if no sequence is longer than 2   | Lap(4 / epsilon) a count    |
| `Sum(numbers)`, `Mean(numbers)`      | high - low, and 1/n of it                    | Lap((high - low) / epsilon) |
| `TopK(k, states)`, `ArgMax(states)`  | every count by 1, the histogram by 2 in l1   | see `TopK`                  |
| `RandomisedResponse(states)`         | one published entry                          | exact coins                 |
| `Lipschitz(F, s, domain)`            | s in l1, as the user states                  | Lap(s / epsilon)            |
| `Select(u, candidates, s, domain)`   | every utility by s, as the user states       | permute-and-flip            |
| `Several(queries, shares)`           | as each of them, with its share of epsilon   | that of each                |

Counts, histograms, transitions, sums, means and rankings also with Gaussian noise: `LatticeMechanism`.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fugu.aliases import own_method
from fugu.errors import BadNoise, NotProvable, UnknownName, UsageError
from fugu.noise.bits import BitSource
from fugu.noise.selection import METHODS, peel
from fugu.numbers.checks import is_count, plain
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.queries.sequence_counts import (
    Count,
    Histogram,
    Mean,
    RandomisedResponse,
    Sum,
    Transitions,
    nearest_double,
    rounded,
)
from fugu.queries.sequence_data import Codes, Numbers, States, is_label, require_domain
from fugu.queries.sequence_lattice import LatticeMechanism
from fugu.queries.sequence_query import (
    PAIR,
    Drawn,
    EntryNoise,
    SequenceAnswer,
    SequenceMechanism,
    SequenceQuery,
    Several,
    Shift,
)

__all__ = [
    "ArgMax", "Count", "Histogram", "LatticeMechanism", "Lipschitz", "Mean", "Numbers", "RandomisedResponse", "Select",
    "SequenceAnswer", "SequenceMechanism", "SequenceQuery", "Several", "States", "Sum", "TopK", "Transitions",
]  # fmt: skip

# The most frequent states, and selection by a user's own utility (the paper's second algorithm).
#
# Replacing one entry moves every count by at most 1: the utility sensitivity is 1, and each round of selection works at
# rate epsilon / (2 rounds). The factor 2 stays: one replacement moves one count up and another down, so the saving for
# monotone utilities does not apply (at rate epsilon the loss tends to 2 epsilon).


_NOISY = "laplace"
_GUMBEL = "gumbel"
WAYS = ("best", "laplace", *METHODS, _GUMBEL)
_DRAWN = {_GUMBEL: "exponential"}
"""One-shot Gumbel noise of scale 2 rounds / epsilon has the law of peeling, and is drawn as that: exactly."""


def ranking(counts: ArrayLike, k: int) -> tuple[int, ...]:
    """The places of the k largest, largest first, the earlier place first on ties.

    >>> ranking([3, 9, 9, 1], 3)
    (1, 2, 0)
    """
    return tuple(np.argsort(-np.asarray(counts), kind="stable")[:k].tolist())


@final
@dataclass(frozen=True)
class TopK(SequenceQuery):
    """The k most frequent states, most frequent first.

    Ways, all epsilon-DP per entry: "laplace" ranks a histogram with noise of scale 2 / epsilon on every count,
    whatever k; "permute-and-flip" and "exponential" peel, with epsilon / rounds each, rounds = min(k, states - 1), as
    the last state left is no choice. "gumbel", one-shot Gumbel noise of scale 2 rounds / epsilon, has the law of
    "exponential", and is drawn as its rounds (`fugu.noise.selection`). "best" is permute-and-flip for k = 1 and laplace
    beyond.

    >>> TopK(2, States("a b c".split())).exact(["a", "c", "c"])
    ('c', 'a')
    """

    k: int
    domain: States
    method: str = "best"

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States)
        object.__setattr__(self, "method", own_method(self.method))
        if self.method not in WAYS:
            raise UnknownName("selection method", self.method, WAYS)
        if not is_count(self.k) or self.k > len(self.domain):
            raise UsageError(f"k must be in 1 .. {len(self.domain)}, the number of declared states, got {self.k!r}")

    @property
    def way(self) -> str:
        """The method that runs."""
        return self.method if self.method != "best" else "permute-and-flip" if self.k == 1 else _NOISY

    @property
    def noisy(self) -> bool:
        """Whether the whole histogram is noised, rather than one round drawn after another."""
        return self.way == _NOISY

    @property
    def rounds(self) -> int:
        """How many rounds are paid for."""
        return min(self.k, len(self.domain) - 1)

    @property
    def name(self) -> str:
        return f"top {self.k}"

    @property
    def sensitivity(self) -> Fraction:
        return Fraction(2 if self.noisy else 1)

    @property
    def shift(self) -> Shift:
        if self.noisy:
            return PAIR
        raise NotProvable(f"{self.name} by {self.way} is a choice without noise on counts; --method laplace has them")

    def evaluate(self, data: Codes) -> tuple[Hashable, ...]:
        return self._ranked(Histogram(self.domain).evaluate(data))

    def _ranked(self, counts: NDArray[np.int64]) -> tuple[Hashable, ...]:
        return tuple(self.domain.names[i] for i in ranking(counts, self.k))

    def details(self) -> dict[str, Any]:
        of = "the histogram (l1)" if self.noisy else f"each count; epsilon is split over {self.rounds} rounds"
        return {"method": self.way, "sensitivity of": of}

    def draw(self, data: Codes, noise: EntryNoise, source: BitSource) -> Drawn:
        counted = Histogram(self.domain)
        if self.noisy:
            return Drawn(self._ranked(counted.draw(data, noise, source).value))
        utilities, rate = [Fraction(int(c)) for c in counted.evaluate(data)], noise.epsilon(self) / (2 * self.rounds)
        places = peel(utilities, self.k, rate, _DRAWN.get(self.way, self.way), source)
        return Drawn(tuple(self.domain.names[i] for i in places))


@final
@dataclass(frozen=True)
class ArgMax(SequenceQuery):
    """The most frequent state, by permute-and-flip or the exponential mechanism.

    >>> ArgMax(States("a b".split())).exact(["a", "b", "b"])
    'b'
    """

    domain: States
    method: str = "permute-and-flip"
    name = "arg max"

    def __post_init__(self) -> None:
        _ = self._top

    @property
    def _top(self) -> TopK:
        return TopK(1, self.domain, self.method)

    @property
    def sensitivity(self) -> Fraction:
        return self._top.sensitivity

    def evaluate(self, data: Codes) -> Hashable:
        return self._top.evaluate(data)[0]

    def details(self) -> dict[str, Any]:
        return self._top.details()

    def draw(self, data: Codes, noise: EntryNoise, source: BitSource) -> Drawn:
        return Drawn(self._top.draw(data, noise, source).value[0])


@final
@dataclass(frozen=True)
class Select(SequenceQuery):
    """One of public `candidates` by a utility u(sequences, candidate) that one entry moves by at most `lipschitz`.

    fugu trusts the stated number: it must hold for every candidate, on the full product domain. Utilities are read
    exactly (a float is its decimal); u gets a tuple of tuples, one per user, and a candidate.

    >>> longest = Select(lambda users, n: -abs(len(users[0]) - n), (1, 2), 1, States("a b".split()))
    >>> longest.exact(["a", "b"])
    2
    """

    utility: Callable[[Any, Any], Any]
    candidates: Sequence[Hashable]
    lipschitz: Real
    domain: States | Numbers
    method: str = "permute-and-flip"
    name = "selection by a user's utility"

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States, Numbers)
        if not callable(self.utility):
            raise UsageError("the utility must be a function of the sequences and a candidate")
        if self.method not in METHODS:
            raise UnknownName("selection method", self.method, METHODS)
        object.__setattr__(self, "candidates", tuple(self.candidates))
        if len(self.candidates) < 2 or len(set(self.candidates)) < len(self.candidates):
            raise UsageError("at least two candidates are needed, each once")
        if not all(is_label(part) for c in self.candidates for part in (c if isinstance(c, tuple) else (c,))):
            raise UsageError("a candidate is a text, a number, or a tuple of them")
        object.__setattr__(self, "lipschitz", positive(self.lipschitz, "lipschitz"))

    @property
    def sensitivity(self) -> Fraction:
        return as_fraction(self.lipschitz)

    def utilities(self, data: Any) -> list[Fraction]:
        """The exact utility of every candidate; private."""
        users = self.domain.plain(data)
        return [exact_number(called(self.utility, users, candidate)) for candidate in self.candidates]

    def evaluate(self, data: Any) -> Hashable:
        found = self.utilities(data)
        return self.candidates[found.index(max(found))]

    def details(self) -> dict[str, Any]:
        return {
            "method": self.method,
            "sensitivity of": "each utility",
            "sensitivity stated by": "the user",
            "utility": getattr(self.utility, "__name__", ""),
            "candidates": list(self.candidates),
        }

    def draw(self, data: Any, noise: EntryNoise, source: BitSource) -> Drawn:
        rate = noise.epsilon(self) / (2 * self.sensitivity)
        place = peel(self.utilities(data), 1, rate, self.method, source)[0]
        return Drawn(self.candidates[place])


# A user's own query with a stated l1 sensitivity: Laplace noise on every coordinate (the paper's first algorithm).


_STEPS = 1024


@final
@dataclass(frozen=True)
class Lipschitz(SequenceQuery):
    """F(sequences): `dimension` numbers, ||F(D) - F(D')||_1 <= lipschitz for all D, D' that differ in one entry.

    fugu trusts the stated number: it must hold on the full product domain. F gets a tuple of tuples, one per user,
    clipped or mapped into the domain; what it returns is read exactly (a float is its decimal), and the stated number
    must hold for what is read. Each coordinate is rounded to a multiple of `step`. With `whole=True` the values
    of F are such multiples already (checked), and the sensitivity stays. Else rounding costs: whole numbers d_j <=
    ceil(x_j) with sum of x_j <= S add up to at most ceil(S) + dimension - 1, in steps, which is what noise is set for.

    >>> size = Lipschitz(lambda users: sum(len(u) for u in users), 1, States(("a", "b")), whole=True)
    >>> size.exact(["a", "b"])
    (Fraction(2, 1),)
    """

    function: Callable[[Any], Any]
    lipschitz: Real
    domain: States | Numbers
    dimension: int = 1
    step: Real | None = None
    whole: bool = False
    label: str = "user query"

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States, Numbers)
        if not callable(self.function):
            raise UsageError("the query must be a function of the sequences")
        stated = positive(self.lipschitz, "lipschitz")
        object.__setattr__(self, "lipschitz", stated)
        if not is_count(self.dimension):
            raise UsageError(f"dimension must be a whole number >= 1, got {self.dimension!r}")
        fine = Fraction(1) if self.whole else stated / (_STEPS * self.dimension)
        object.__setattr__(self, "step", fine if self.step is None else positive(self.step, "step"))
        if self.whole and stated < self.grid:
            raise UsageError("lipschitz is below one step, so a query in whole steps could never change; check both")

    @property
    def name(self) -> str:
        return self.label

    @property
    def sensitivity(self) -> Fraction:
        """The l1 sensitivity of the rounded query, which is the one that is noised."""
        ratio = as_fraction(self.lipschitz) / self.grid
        return self.grid * (math.floor(ratio) if self.whole else math.ceil(ratio) + self.dimension - 1)

    def evaluate(self, data: Any) -> tuple[Fraction, ...]:
        """What the user's function returns, as that many exact finite numbers."""
        result, n = called(self.function, self.domain.plain(data)), self.dimension
        flat = called(lambda: np.asarray(result, dtype=object).ravel().tolist())
        if len(flat) != n:  # how many it returned may depend on the data, and is not told
            raise UsageError(f"the query must return {n} number{'s' if n > 1 else ''} for all sequences")
        return tuple(exact_number(value) for value in flat)

    def details(self) -> dict[str, Any]:
        return {
            "sensitivity stated by": "the user",
            "stated": str(self.lipschitz),
            "rounded to multiples of": str(self.step),
            "function": getattr(self.function, "__name__", ""),
            "dimension": self.dimension,
        }

    def counted(self, data: Any) -> NDArray[Any]:
        values = self.evaluate(data)
        if self.whole and any((value / self.grid).denominator != 1 for value in values):
            raise BadNoise("the query's values are not whole multiples of the step, as whole=True says; leave it out")
        return np.array([rounded(value, self.grid) for value in values], dtype=object)

    def shown(self, noised: NDArray[Any], half: float, data: Any) -> Drawn:  # noqa: ARG002 - nothing of it is needed
        drawn = [nearest_double(int(steps) * self.grid) for steps in noised]
        far = float_up((as_fraction(half) + (0 if self.whole else Fraction(1, 2))) * self.grid)
        return Drawn(drawn[0] if self.dimension == 1 else np.array(drawn), None, (-far, far))


def called(function: Callable[..., Any], *arguments: Any) -> Any:
    """The result of a user's function; what it says when it fails may hold private values and is withheld."""
    try:
        return function(*arguments)
    except Exception as failure:
        raise UsageError(
            f"the query function raised {type(failure).__name__} (its message is withheld, as it may hold private "
            "values); it must be defined for all sequences of the domain"
        ) from None


def exact_number(value: Any) -> Fraction:
    """One finite number, exactly; the message does not hold it."""
    number = plain(value)
    if isinstance(number, int | float | Fraction) and -sys.float_info.max <= number <= sys.float_info.max:
        return as_fraction(number)
    raise UsageError("the query returned something that is not a finite number; it must for all sequences")


def positive(value: Real, name: str) -> Fraction:
    """A finite number above zero that the user stated."""
    try:
        exact = as_fraction(value)
    except (TypeError, ValueError):
        exact = Fraction(0)
    if exact <= 0 or isinstance(value, bool):
        raise UsageError(f"{name} must be a finite number above 0, got {value!r}")
    return exact
