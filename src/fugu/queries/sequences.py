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
import re
import sys
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadNoise, BadTable, CertificateError, UsageError
from fugu.mechanism.release import SequenceAnswer
from fugu.numbers.checks import is_count
from fugu.numbers.exact import Real, as_fraction, float_up, read_number, read_whole
from fugu.queries.choices import (
    ArgMax,
    RandomisedResponse,
    Select,
    TopK,
    called,
    exact_number,
    positive,
)
from fugu.queries.entries import Numbers, Read, States, numbers_from, states_from, tallied
from fugu.queries.entry_noise import PAIR, Shift
from fugu.queries.sequence_query import Drawn, LatticeMechanism, SequenceMechanism, SequenceQuery, Several

__all__ = [
    "ArgMax", "Count", "Entries", "Histogram", "LatticeMechanism", "Lipschitz", "Mean", "Numbers", "RandomisedResponse",
    "Select", "SequenceAnswer", "SequenceMechanism", "SequenceQuery", "Several", "States", "Sum", "TopK", "Transitions",
]  # fmt: skip

# Counts of one state, of every state, of every transition: whole numbers plus lattice noise.


@final
@dataclass(frozen=True)
class Count(SequenceQuery):
    """How many entries are in `state`. Replacing one entry moves it by at most 1.

    >>> Count("ill", States(("well", "ill"))).exact([["well", "ill"], ["ill"]])
    2
    """

    state: Hashable
    domain: States
    sensitivity = Fraction(1)
    moves = Shift.line(1)
    adds = True

    def __post_init__(self) -> None:
        super().__post_init__()
        state = self.domain.names[self.domain.code(self.state)]
        vars(self).update(state=state, name=f"count({state})")

    def evaluate(self, data: Read[int]) -> int:
        return tallied(data).entries[self.domain.code(self.state)]


@final
@dataclass(frozen=True)
class Histogram(SequenceQuery):
    """How many entries are in each state. Replacing one entry takes 1 from one count and adds 1 to another: l1 is 2.

    So noise of scale 2 / epsilon on every count costs epsilon for all of them; splitting epsilon over m counts would
    need m / epsilon. Of two states, count one instead: the other is the public number of entries less it.

    >>> Histogram(States("a b".split())).exact(["a", "b", "a"]).tolist()
    [2, 1]
    """

    domain: States
    name = "histogram"
    sensitivity = Fraction(2)
    moves = PAIR
    adds = True

    def evaluate(self, data: Read[int]) -> NDArray[np.int64]:
        return self.domain.counts(data)

    @property
    def labels(self) -> tuple[Any, ...]:
        return tuple(self.domain.names)


@final
@dataclass(frozen=True)
class Transitions(SequenceQuery):
    """How often each state follows each other, within users, as a matrix (row: from, column: to).

    An entry inside a sequence is part of two transitions: replacing it removes two and adds two, l1 is 4. The first or
    last entry is part of one: l1 is 2. With `longest=2` all sequences are declared to have at most two entries, so all
    entries are at an end and the sensitivity is 2; lengths are public, and a longer sequence is refused.

    >>> Transitions(States("a b".split())).exact(["a", "b", "b"]).tolist()
    [[0, 1], [0, 1]]
    """

    domain: States
    longest: int | None = None
    name = "transitions"
    adds = True

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.longest is not None and (isinstance(self.longest, bool) or self.longest < 2):
            raise UsageError(f"longest must be at least 2 (a transition needs two entries), got {self.longest!r}")
        # two taken and two added, where the same one twice makes 2^2 + 1 + 1; one of each at an end
        facts = (Fraction(2), PAIR) if self.longest == 2 else (Fraction(4), Shift("ball", 6))
        said = {} if self.longest is None else {"longest sequence": self.longest}
        vars(self).update(sensitivity=facts[0], moves=facts[1], details=said)

    def _read(self, sequences: object) -> Read[int]:
        data = self.domain.read(sequences)
        most = tallied(data).longest
        if self.longest is not None and most > self.longest:
            raise BadTable(f"a sequence has more than {self.longest} entries, the declared longest")
        if most < 2:
            raise BadTable("no sequence has two entries, so there is no transition to count")
        return data

    def evaluate(self, data: Read[int]) -> NDArray[np.int64]:
        found, m = tallied(data).steps, range(len(self.domain))
        return np.array([[found[a, b] for b in m] for a in m], dtype=np.int64)

    @property
    def labels(self) -> tuple[Any, ...]:
        """(from, to) of every count."""
        return tuple(product(self.domain.names, repeat=2))


# Sums and means of bounded numbers: clipped exactly, added exactly, rounded once onto a lattice, then noised.
#
# Rounding keeps the sensitivity: if |a - b| <= n step for a whole n, then a / step + 1/2 and b / step + 1/2 have floors
# that differ by at most n. So a sum that one entry moves by at most high - low = n step needs lattice Laplace noise of
# mass ~ exp(-epsilon |k| / n), no more than without rounding.


_STEPS, _OWN_STEPS = 1000, 1024


@dataclass(frozen=True)
class Sum(SequenceQuery):
    """The sum of all entries, clipped to the bounds. Replacing one entry moves it by at most high - low.

    `step`: of the lattice, (high - low) / 1000 unless given; it must go into high - low a whole number of times.

    >>> Sum(Numbers(0, 10)).exact([[1, 2.5], [99]])
    Fraction(27, 2)
    """

    domain: Numbers
    step: Real | None = None
    name = "sum"
    reads = (Numbers,)
    adds = True

    def __post_init__(self) -> None:
        super().__post_init__()
        width = self.domain.width
        try:
            step = width / _STEPS if self.step is None else as_fraction(self.step)
        except (TypeError, ValueError):
            raise UsageError(f"step must be a number, got {self.step!r}") from None
        if step <= 0 or (width / step).denominator != 1:
            raise UsageError(f"step must be positive and divide high - low = {float(width):g}, got {float(step):g}")
        of = {"sensitivity of": "the sum, before division by the public number of entries"} if self.averaged else {}
        said = {**of, "rounded to multiples of": str(step)}
        vars(self).update(step=step, sensitivity=width, moves=Shift.line(int(width / step)), details=said)

    def evaluate(self, data: Read[Fraction]) -> Fraction:
        return self.total(data) / Fraction(self.over(tallied(data).size))

    def total(self, data: Read[Fraction]) -> Fraction:
        """The exact sum; private."""
        return sum((figure * n for figure, n in tallied(data).entries.items()), Fraction(0))

    def counted(self, data: Read[Fraction]) -> NDArray[Any]:
        return np.array([rounded(self.total(data), self.grid)], dtype=object)

    def shown(self, noised: NDArray[Any], half: float, entries: int) -> Drawn:
        unit = self.grid / self.over(entries)
        far = float_up((as_fraction(half) + Fraction(1, 2)) * unit)
        return Drawn(nearest_double(int(noised[0]) * unit), None, (-far, far))


@final
@dataclass(frozen=True)
class Mean(Sum):
    """The mean of all entries, clipped to the bounds: the sum over the public number n of entries.

    Replacing one entry moves the sum by at most high - low (the sensitivity stated) and the mean by 1/n of it.

    >>> Mean(Numbers(0, 10)).exact([1, 2])
    Fraction(3, 2)
    """

    name = "mean"
    averaged = True


@final
@dataclass(frozen=True)
class Entries(Sum):
    """The entries themselves, clipped to the bounds, user by user and in their order. Replacing one moves its own
    number alone, by at most high - low, a whole number of steps, before and after rounding.

    >>> Entries(Numbers(0, 10)).exact([1, 12])
    [Fraction(1, 1), Fraction(10, 1)]
    """

    name = "entries"
    adds = False

    def evaluate(self, data: Any) -> Any:
        return [entry for user in data for entry in user]

    def counted(self, data: Any) -> NDArray[Any]:
        return np.array([rounded(entry, self.grid) for entry in self.evaluate(data)], dtype=object)

    def shown(self, noised: NDArray[Any], half: float, entries: int) -> Drawn:
        one = super().shown(noised, half, entries)
        values = np.array([nearest_double(int(k) * self.grid) for k in noised])
        return Drawn(values, tuple(f"entry {place}" for place in range(1, entries + 1)), one.interval)


def nearest_double(exact: Fraction) -> float:
    """The nearest finite double: a sum beyond the doubles is not an error, which would tell of the data.

    >>> nearest_double(Fraction(10) ** 400)
    1.7976931348623157e+308
    """
    try:
        return float(exact)
    except OverflowError:
        return sys.float_info.max if exact > 0 else -sys.float_info.max


def rounded(exact: Fraction, step: Fraction) -> int:
    """floor(exact / step + 1/2)."""
    return math.floor(exact / step + Fraction(1, 2))


@final
@dataclass(frozen=True)
class Lipschitz(SequenceQuery):
    """Numbers of your own, which one entry moves by a bounded amount: F(sequences), `dimension` numbers, ||F(D) -
    F(D')||_1 <= lipschitz for all D, D' that differ in one entry.

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
    reads = (States, Numbers)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not callable(self.function):
            raise UsageError("the query must be a function of the sequences")
        stated = positive(self.lipschitz, "lipschitz")
        object.__setattr__(self, "lipschitz", stated)
        if not is_count(self.dimension):
            raise UsageError(f"dimension must be a whole number >= 1, got {self.dimension!r}")
        fine = Fraction(1) if self.whole else stated / (_OWN_STEPS * self.dimension)
        object.__setattr__(self, "step", fine if self.step is None else positive(self.step, "step"))
        if self.whole and stated < self.grid:
            raise UsageError("lipschitz is below one step, so a query in whole steps could never change; check both")
        ratio = stated / self.grid
        steps = math.floor(ratio) if self.whole else math.ceil(ratio) + self.dimension - 1
        said = {
            "sensitivity stated by": "the user", "stated": str(stated), "rounded to multiples of": str(self.step),
            "function": getattr(self.function, "__name__", ""), "dimension": self.dimension,
        }  # fmt: skip
        vars(self).update(name=self.label, sensitivity=self.grid * steps, details=said)

    def evaluate(self, data: Any) -> tuple[Fraction, ...]:
        """What the user's function returns, as that many exact finite numbers."""
        result, n = called(self.function, self.domain.plain(data)), self.dimension
        flat = called(lambda: np.asarray(result, dtype=object).ravel().tolist())
        if len(flat) != n:  # how many it returned may depend on the data, and is not told
            raise UsageError(f"the query must return {n} number{'s' if n > 1 else ''} for all sequences")
        return tuple(exact_number(value) for value in flat)

    def counted(self, data: Any) -> NDArray[Any]:
        values = self.evaluate(data)
        if self.whole and any((value / self.grid).denominator != 1 for value in values):
            raise BadNoise("the query's values are not whole multiples of the step, as whole=True says; leave it out")
        return np.array([rounded(value, self.grid) for value in values], dtype=object)

    def shown(self, noised: NDArray[Any], half: float, entries: int) -> Drawn:  # noqa: ARG002 - none are needed
        drawn = [nearest_double(int(steps) * self.grid) for steps in noised]
        far = float_up((as_fraction(half) + (0 if self.whole else Fraction(1, 2))) * self.grid)
        return Drawn(drawn[0] if self.dimension == 1 else np.array(drawn), None, (-far, far))


# The query that a certificate names, made again: only those whose sensitivity fugu works out itself. A function or a
# utility of the user's own is in no document.


def query_from(claims: Mapping[str, Any]) -> SequenceQuery:
    """The query of these claims; CertificateError if fugu has none of this name."""
    if "parts" in claims:
        if any("parts" in part for part in claims["parts"]):
            raise CertificateError("a question of several is itself several, which no version of fugu writes")
        parts = tuple(map(query_from, claims["parts"]))
        return Several(parts, tuple(read_number(part["share"]) for part in claims["parts"]))
    for pattern, make in _QUERIES:
        if found := re.fullmatch(pattern, str(claims["query"]), re.DOTALL):
            return make(claims, found)
    raise CertificateError("the certificate names a query of sequences that this version of fugu does not know")


_QUERIES: tuple[tuple[str, Callable[[Mapping[str, Any], re.Match[str]], SequenceQuery]], ...] = (
    (r"count\((.*)\)", lambda claims, found: Count(found[1], states_from(claims))),
    ("histogram", lambda claims, _: Histogram(states_from(claims))),
    (
        "transitions",
        lambda claims, _: Transitions(
            states_from(claims), None if (n := claims.get("longest sequence")) is None else read_whole(n)
        ),
    ),
    ("sum", lambda claims, _: Sum(numbers_from(claims), read_number(claims["rounded to multiples of"]))),
    ("mean", lambda claims, _: Mean(numbers_from(claims), read_number(claims["rounded to multiples of"]))),
    ("entries", lambda claims, _: Entries(numbers_from(claims), read_number(claims["rounded to multiples of"]))),
    (r"top ([0-9]{1,9})", lambda claims, found: TopK(int(found[1]), states_from(claims), claims["method"])),
    ("arg max", lambda claims, _: ArgMax(states_from(claims), claims["method"])),
    ("randomised response", lambda claims, _: RandomisedResponse(states_from(claims))),
)
