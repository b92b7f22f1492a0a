"""Counts, sums, means and responses of sequences: exact numbers for lattice noise, or exact coins."""

from __future__ import annotations

import math
import sys
from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.documents.per_entry import STATES
from fugu.errors import BadTable, UsageError
from fugu.noise.bits import BitSource
from fugu.noise.selection import uniform_below
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up
from fugu.queries.sequence_data import Codes, Figures, Numbers, States, require_domain
from fugu.queries.sequence_query import PAIR, Drawn, EntryNoise, SequenceQuery, Shift

# Counts of sequences: of one state, of every state, of every transition. Whole numbers plus lattice noise.


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
    shift = Shift.line(1)

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States)
        self.domain.code(self.state)

    @property
    def name(self) -> str:
        return f"count({self.state})"

    def evaluate(self, data: Codes) -> int:
        code = self.domain.code(self.state)
        return sum(user.count(code) for user in data)


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
    shift = PAIR

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States)

    def evaluate(self, data: Codes) -> NDArray[np.int64]:
        return np.bincount([code for user in data for code in user], minlength=len(self.domain)).astype(np.int64)

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

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States)
        if self.longest is not None and (isinstance(self.longest, bool) or self.longest < 2):
            raise UsageError(f"longest must be at least 2 (a transition needs two entries), got {self.longest!r}")

    @property
    def sensitivity(self) -> Fraction:
        return Fraction(2 if self.longest == 2 else 4)

    @property
    def shift(self) -> Shift:
        """Two taken and two added, where the same one twice makes 2^2 + 1 + 1; one of each at an end."""
        return PAIR if self.longest == 2 else Shift("ball", 6)

    def _read(self, sequences: object) -> Codes:
        data = self.domain.read(sequences)
        if self.longest is not None and max(map(len, data)) > self.longest:
            raise BadTable(f"a sequence has more than {self.longest} entries, the declared longest")
        if max(map(len, data)) < 2:
            raise BadTable("no sequence has two entries, so there is no transition to count")
        return data

    def evaluate(self, data: Codes) -> NDArray[np.int64]:
        m = len(self.domain)
        steps = [a * m + b for user in data for a, b in pairwise(user)]
        return np.bincount(steps, minlength=m * m).astype(np.int64).reshape(m, m)

    def details(self) -> dict[str, Any]:
        return {} if self.longest is None else {"longest sequence": self.longest}

    @property
    def labels(self) -> tuple[Any, ...]:
        """(from, to) of every count."""
        return tuple(product(self.domain.names, repeat=2))


# Sums and means of bounded numbers: clipped exactly, added exactly, rounded once onto a lattice, then noised.
#
# Rounding keeps the sensitivity: if |a - b| <= n step for a whole n, then a / step + 1/2 and b / step + 1/2 have floors
# that differ by at most n. So a sum that one entry moves by at most high - low = n step needs lattice Laplace noise of
# mass ~ exp(-epsilon |k| / n), no more than without rounding.


_STEPS = 1000


@dataclass(frozen=True)
class _Total(SequenceQuery):
    """What is made of the sum of all entries, clipped to the bounds: replacing one moves it by at most high - low.

    `step`: of the lattice, (high - low) / 1000 unless given; it must go into high - low a whole number of times."""

    domain: Numbers
    step: Real | None = None

    def __post_init__(self) -> None:
        require_domain(self, self.domain, Numbers)
        width = self.domain.width
        try:
            step = width / _STEPS if self.step is None else as_fraction(self.step)
        except (TypeError, ValueError):
            raise UsageError(f"step must be a number, got {self.step!r}") from None
        if step <= 0 or (width / step).denominator != 1:
            raise UsageError(f"step must be positive and divide high - low = {float(width):g}, got {float(step):g}")
        object.__setattr__(self, "step", step)

    @property
    def sensitivity(self) -> Fraction:
        return self.domain.width

    @property
    def shift(self) -> Shift:
        return Shift.line(int(self.domain.width / self.grid))

    def over(self, data: Figures) -> int:  # noqa: ARG002 - a mean has so many entries
        """The public number that the sum is divided by."""
        return 1

    def evaluate(self, data: Figures) -> Fraction:
        return self.total(data) / self.over(data)

    def total(self, data: Figures) -> Fraction:
        """The exact sum; private."""
        return sum((sum(user, Fraction(0)) for user in data), Fraction(0))

    def counted(self, data: Figures) -> NDArray[Any]:
        return np.array([rounded(self.total(data), self.grid)], dtype=object)

    def shown(self, noised: NDArray[Any], half: float, data: Figures) -> Drawn:
        unit = self.grid / self.over(data)
        far = float_up((as_fraction(half) + Fraction(1, 2)) * unit)
        return Drawn(nearest_double(int(noised[0]) * unit), None, (-far, far))

    def details(self) -> dict[str, Any]:
        return {"rounded to multiples of": str(self.step)}


@final
@dataclass(frozen=True)
class Sum(_Total):
    """The sum of all entries, clipped to the bounds. Replacing one entry moves it by at most high - low.

    >>> Sum(Numbers(0, 10)).exact([[1, 2.5], [99]])
    Fraction(27, 2)
    """

    name = "sum"


@final
@dataclass(frozen=True)
class Mean(_Total):
    """The mean of all entries, clipped to the bounds: the sum over the public number n of entries.

    Replacing one entry moves the sum by at most high - low (the sensitivity stated) and the mean by 1/n of it.

    >>> Mean(Numbers(0, 10)).exact([1, 2])
    Fraction(3, 2)
    """

    name = "mean"

    def over(self, data: Figures) -> int:
        return sum(map(len, data))

    def details(self) -> dict[str, Any]:
        return {"sensitivity of": "the sum, before division by the public number of entries", **super().details()}


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


# Randomised response: every entry is published, each kept or replaced by the toss of an exact rational coin.


_BITS = 61


def weights(epsilon: Fraction) -> tuple[int, int]:
    """Whole weights (keep, other) with keep / other <= e^epsilon, proved by balls, and as close as 61 bits allow.

    other = 2^b, keep = floor(e^epsilon 2^b) with b the largest that keeps the first below 2^61 ; from e^epsilon =
    2^61 on it is 2^61 - 1 to 1. Below an epsilon of 2^-60 both are equal, and nothing is told.

    >>> keep, other = weights(Fraction(1))
    >>> round(keep / other, 12)
    2.718281828459
    """
    with balls.precision(256):
        power = balls.of(min(epsilon, Fraction(_BITS))).exp()
        b = next((b for b in range(_BITS, -1, -1) if power * 2**b < 2**_BITS), None)
        if b is None:
            return 2**_BITS - 1, 1
        keep = int((power * 2**b).lower().floor().unique_fmpz() or 0)
    return max(keep, 2**b), 2**b


@final
@dataclass(frozen=True)
class RandomisedResponse(SequenceQuery):
    """Every entry of every sequence: its own state with weight `keep`, each other state with weight `other`.

    Entries are drawn independently, so replacing one entry moves the law of one output entry only, and there every
    ratio of probabilities is at most keep / other <= e^epsilon (Warner 1965; Kairouz, Bonawitz, Ramage 2016).

    >>> answer = RandomisedResponse(States("a b".split())).mechanism(50).release(["a", "b"])
    >>> answer.value, answer.epsilon
    ((('a', 'b'),), Fraction(50, 1))
    """

    domain: States
    name = "randomised response"
    sensitivity = Fraction(1)
    """The number of entries that one replacement changes."""

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States)

    def evaluate(self, data: Codes) -> Any:
        return self.domain.plain(data)

    def details(self) -> dict[str, Any]:
        return {"sensitivity of": STATES}

    def law(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """The exact probabilities of an entry's own state and of each other one."""
        keep, other = weights(epsilon)
        total = keep + (len(self.domain) - 1) * other
        return Fraction(keep, total), Fraction(other, total)

    def draw(self, data: Codes, noise: EntryNoise, source: BitSource) -> Drawn:
        keep, other = weights(noise.epsilon(self))
        total = keep + (len(self.domain) - 1) * other
        told = []
        for user in data:
            places = []
            for code in user:
                r = uniform_below(total, source)
                j = (r - keep) // other
                places.append(code if r < keep else j + (j >= code))
            told.append(tuple(places))
        return Drawn(self.domain.plain(tuple(told)))

    def estimate(self, answer: Any, epsilon: Fraction) -> NDArray[np.float64]:
        """Unbiased counts of each state from a released answer: (observed - n other) / (own - other); no further cost.

        E[observed_s] = c_s own + (n - c_s) other, with own and other the probabilities of `law`."""
        own, other = self.law(epsilon)
        if own == other:
            raise UsageError("at so small an epsilon the answer tells nothing, and there is nothing to estimate")
        codes = [code for user in self.domain.read(answer) for code in user]
        seen = np.bincount(codes, minlength=len(self.domain))
        return np.array([float((int(s) - len(codes) * other) / (own - other)) for s in seen])
