"""`Several`: questions about the same sequences that share one epsilon for each entry, as one release.

Question l is answered with w_l epsilon, shares w_l that sum to 1; each draws its own randomness. Given the data the
answers are independent, so their ratios multiply: all of them together are epsilon-DP per entry (Dwork et al. 2006,
sequential composition), on the full product domain. The sum is translated to Pufferfish once, which is never worse
than adding what each is worth by itself (docs/proofs/composition.md#compose-first).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, final

from fugu.errors import UsageError
from fugu.noise.bits import BitSource
from fugu.numbers.exact import Real, as_fraction
from fugu.queries.sequence_data import Numbers, States
from fugu.queries.sequence_query import Drawn, SequenceQuery

_MOST = 64


@final
@dataclass(frozen=True)
class Several(SequenceQuery):
    """Questions with their shares of epsilon; the answer holds (value, labels, interval) of each, in their order.

    `parts`: at least two queries of one domain of states and one of numbers at most; none is itself several. `shares`:
    what each gets, positive numbers that sum to 1; `Several.of` takes weights.

    >>> from fugu.queries.sequence_counts import Count, Histogram
    >>> ill = States(("well", "ill"))
    >>> both = Several.of([Histogram(ill), Count("ill", ill)], [2, 1])
    >>> both.shares
    (Fraction(2, 3), Fraction(1, 3))
    """

    parts: tuple[SequenceQuery, ...]
    shares: tuple[Fraction, ...]

    def __post_init__(self) -> None:
        object.__setattr__(self, "parts", tuple(self.parts))
        object.__setattr__(self, "shares", tuple(map(as_fraction, self.shares)))
        if not 2 <= len(self.parts) <= _MOST or any(isinstance(part, Several) for part in self.parts):
            raise UsageError(f"several questions are 2 to {_MOST} of them, none of which is itself several")
        if len(self.shares) != len(self.parts) or min(self.shares) <= 0 or sum(self.shares) != 1:
            raise UsageError("every question needs a share above 0, and the shares sum to 1")
        for kind in (States, Numbers):
            found = [part.domain for part in self.parts if isinstance(part.domain, kind)]
            if any(domain != found[0] for domain in found):
                raise UsageError("questions of one release read entries in one way: give all of them the same domain")

    @staticmethod
    def of(parts: Sequence[SequenceQuery], weights: Sequence[Real] | None = None) -> Several:
        """Questions that share epsilon by these weights, positive numbers; equally without them."""
        given = [Fraction(1)] * len(parts) if weights is None else [as_fraction(weight) for weight in weights]
        if len(given) != len(parts) or any(weight <= 0 for weight in given):
            raise UsageError(f"weights needs a number above 0 for each of the {len(parts)} questions, got {len(given)}")
        return Several(tuple(parts), tuple(weight / sum(given) for weight in given))

    @property
    def domain(self) -> States | Numbers:  # type: ignore[override]
        """That of the states, if a question is about them."""
        return next((p.domain for p in self.parts if isinstance(p.domain, States)), self.parts[0].domain)

    @property
    def name(self) -> str:
        return ", ".join(part.name for part in self.parts)

    @property
    def sensitivity(self) -> Fraction:
        """1, where each answer is measured in its own sensitivity over its share."""
        return Fraction(1)

    def entries(self) -> dict[str, Any]:
        return {name: said for part in self.parts for name, said in part.entries().items()}

    def details(self) -> dict[str, Any]:
        parts = [{**p.claims(), "share": str(w)} for p, w in zip(self.parts, self.shares, strict=True)]
        of = "all answers together, each measured in its own sensitivity over its share of epsilon"
        return {"sensitivity of": of, "parts": parts}

    def evaluate(self, data: Any) -> tuple[Any, ...]:
        return tuple(part.evaluate(read) for part, read in zip(self.parts, data, strict=True))

    def _read(self, sequences: object) -> tuple[Any, ...]:
        return tuple(part._read(sequences) for part in self.parts)

    def draw(self, data: Any, epsilon: Fraction, source: BitSource) -> Drawn:
        each = zip(self.parts, self.shares, data, strict=True)
        drawn = [part.draw(read, epsilon * share, source) for part, share, read in each]
        return Drawn(tuple((one.value, one.labels, one.interval) for one in drawn))
