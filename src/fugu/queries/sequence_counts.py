"""Counts of sequences: of one state, of every state, of every transition. Whole numbers plus lattice Laplace noise.

Laplace noise of mass ~ exp(-epsilon |k| / S) on every count of a vector of l1 sensitivity S is epsilon-DP:
sum over counts of | |z - a| - |z - b| | <= ||a - b||_1 <= S (Dwork et al. 2006; Ghosh et al. 2009 on the integers).
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise, product
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadTable, UsageError
from fugu.noise.bits import BitSource
from fugu.queries.sequence_data import Codes, States, require_domain
from fugu.queries.sequence_query import Drawn, SequenceQuery, error_bound, laplace_sampler


@final
@dataclass(frozen=True)
class Count(SequenceQuery):
    """How many entries are in `state`. Replacing one entry moves it by at most 1.

    >>> Count("ill", States(("well", "ill"))).exact([["well", "ill"], ["ill"]])
    2
    """

    state: Hashable
    domain: States

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States)
        self.domain.code(self.state)

    @property
    def name(self) -> str:
        return f"count({self.state})"

    @property
    def sensitivity(self) -> Fraction:
        return Fraction(1)

    def evaluate(self, data: Codes) -> int:
        code = self.domain.code(self.state)
        return sum(user.count(code) for user in data)

    def draw(self, data: Codes, epsilon: Fraction, source: BitSource) -> Drawn:
        rate = epsilon / self.sensitivity
        half = error_bound(rate)
        return Drawn(self.evaluate(data) + int(laplace_sampler(rate).draw(1, source)[0]), None, (-half, half))


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

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States)

    @property
    def name(self) -> str:
        return "histogram"

    @property
    def sensitivity(self) -> Fraction:
        return Fraction(2)

    def evaluate(self, data: Codes) -> NDArray[np.int64]:
        return np.bincount([code for user in data for code in user], minlength=len(self.domain)).astype(np.int64)

    def labels(self) -> tuple[Any, ...]:
        """What the counts are of."""
        return tuple(self.domain.names)

    def draw(self, data: Codes, epsilon: Fraction, source: BitSource) -> Drawn:
        return noised_counts(self.evaluate(data), epsilon / self.sensitivity, self.labels(), source)


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

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States)
        if self.longest is not None and (isinstance(self.longest, bool) or self.longest < 2):
            raise UsageError(f"longest must be at least 2 (a transition needs two entries), got {self.longest!r}")

    @property
    def name(self) -> str:
        return "transitions"

    @property
    def sensitivity(self) -> Fraction:
        return Fraction(2 if self.longest == 2 else 4)

    def check(self, data: Codes) -> None:
        if self.longest is not None and max(map(len, data)) > self.longest:
            raise BadTable(f"a sequence has more than {self.longest} entries, the declared longest")
        if max(map(len, data)) < 2:
            raise BadTable("no sequence has two entries, so there is no transition to count")

    def evaluate(self, data: Codes) -> NDArray[np.int64]:
        m = len(self.domain)
        steps = [a * m + b for user in data for a, b in pairwise(user)]
        return np.bincount(steps, minlength=m * m).astype(np.int64).reshape(m, m)

    def details(self) -> dict[str, Any]:
        return {} if self.longest is None else {"longest sequence": self.longest}

    def labels(self) -> tuple[Any, ...]:
        """What the counts are of: (from, to)."""
        return tuple(product(self.domain.names, repeat=2))

    def draw(self, data: Codes, epsilon: Fraction, source: BitSource) -> Drawn:
        return noised_counts(self.evaluate(data), epsilon / self.sensitivity, self.labels(), source)


def noised_counts(exact: NDArray[np.int64], rate: Fraction, labels: tuple[Any, ...], source: BitSource) -> Drawn:
    """Independent lattice Laplace noise of this rate on every count; the interval holds all of them together."""
    noise = laplace_sampler(rate).draw(exact.size, source).reshape(exact.shape)
    half = error_bound(rate, exact.size)
    return Drawn(exact + noise, labels, (-half, half))
