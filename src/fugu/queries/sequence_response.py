"""Randomised response: every entry is published, each kept or replaced by the toss of an exact rational coin."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

import numpy as np
from numpy.typing import NDArray

from fugu.documents.entry_noise import STATES
from fugu.errors import UsageError
from fugu.noise.bits import BitSource
from fugu.noise.selection import uniform_below
from fugu.numbers import balls
from fugu.queries.sequence_data import Codes, States, require_domain
from fugu.queries.sequence_query import Drawn, SequenceQuery

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

    def __post_init__(self) -> None:
        require_domain(self, self.domain, States)

    @property
    def name(self) -> str:
        return "randomised response"

    @property
    def sensitivity(self) -> Fraction:
        """The number of entries that one replacement changes."""
        return Fraction(1)

    def evaluate(self, data: Codes) -> Any:
        return self.domain.plain(data)

    def details(self) -> dict[str, Any]:
        return {"sensitivity of": STATES}

    def law(self, epsilon: Fraction) -> tuple[Fraction, Fraction]:
        """The exact probabilities of an entry's own state and of each other one."""
        keep, other = weights(epsilon)
        total = keep + (len(self.domain) - 1) * other
        return Fraction(keep, total), Fraction(other, total)

    def draw(self, data: Codes, epsilon: Fraction, source: BitSource) -> Drawn:
        keep, other = weights(epsilon)
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
