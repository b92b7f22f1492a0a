"""What a counterexample finds: a stated relation between two numbers, and whether it holds.

Nothing here says "refuted" by itself: both numbers are computed, and the relation decides.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from types import MappingProxyType

from fugu.errors import UnknownName, UsageError

Number = int | float | Fraction

_TOLERANCE = 1e-9
_RELATIONS: Mapping[str, tuple[Callable[[Number, Number], bool], bool, str]] = MappingProxyType(
    {
        "<=": (operator.le, True, "at most"),
        ">=": (operator.ge, True, "at least"),
        "==": (operator.eq, True, "equal to"),
        "<": (operator.lt, False, "below"),
        ">": (operator.gt, False, "above"),
    }
)
"""Each relation: how exact numbers are compared, whether it allows equality, and its words."""


@dataclass(frozen=True)
class Claim:
    """`what` stands in `relation` to `bound`; in truth it is `truth`.

    Integers and fractions are compared exactly. If a double is involved, two numbers within 1e-9 of each other (times
    the larger of them, where that is above 1) count as equal, so that rounding neither refutes nor saves a claim. What
    is not a number is refused: it is in no relation, and would pass for a refutation.

    >>> Claim("P(move)", Fraction(1, 10), "<", Fraction(1, 10)).holds, Claim("loss", 0.1 + 0.2, "<=", 0.3).holds
    (False, True)
    """

    what: str
    truth: Number
    relation: str
    bound: Number

    def __post_init__(self) -> None:
        if self.relation not in _RELATIONS:
            raise UnknownName("relation", self.relation, _RELATIONS)
        if math.isnan(self.truth) or math.isnan(self.bound):
            raise UsageError(f"{self.what}: not a number, which would count as a refutation; nothing is found")

    @property
    def holds(self) -> bool:
        """Whether the relation is true of the two numbers."""
        compare, allows_equality, _ = _RELATIONS[self.relation]
        if not (isinstance(self.truth, float) or isinstance(self.bound, float)):
            return compare(self.truth, self.bound)
        truth, bound = float(self.truth), float(self.bound)
        if math.isclose(truth, bound, rel_tol=_TOLERANCE, abs_tol=_TOLERANCE):
            return allows_equality
        return compare(truth, bound)

    @property
    def stated(self) -> str:
        """The claim in words."""
        return f"{self.what} is {_RELATIONS[self.relation][2]} {shown(self.bound)}"

    def to_dict(self) -> dict[str, object]:
        """Plain content for JSON. An infinite number is null there, so the words are beside it."""
        return {
            "what": self.what,
            "relation": self.relation,
            "bound": float(self.bound),
            "truth": float(self.truth),
            "stated": self.stated,
            "in truth": shown(self.truth),
            "holds": self.holds,
        }


@dataclass(frozen=True)
class Finding:
    """One counterexample: the case in words, what the printed statement says of it, and what the corrected one says.

    A counterexample does its work if the printed claim fails and the corrected one holds.
    """

    example: str
    printed: Claim
    corrected: Claim

    @property
    def refuted(self) -> bool:
        """Whether the printed claim is false of this case."""
        return not self.printed.holds

    @property
    def stands(self) -> bool:
        """Whether the corrected claim is true of this case."""
        return self.corrected.holds

    def to_dict(self) -> dict[str, object]:
        """Plain content for JSON."""
        return {
            "example": self.example,
            "printed claim": self.printed.to_dict(),
            "corrected claim": self.corrected.to_dict(),
            "refuted": self.refuted,
            "stands": self.stands,
        }


def shown(number: Number) -> str:
    """A number for people: fractions as they are, doubles to six digits.

    >>> shown(Fraction(1, 10)), shown(2 / 3), shown(math.inf)
    ('1/10', '0.666667', 'infinity')
    """
    if isinstance(number, float):
        return f"{number:.6g}".replace("inf", "infinity")
    return str(number) if len(str(number)) <= 12 else f"{float(number):.6g}"


def at_most(what: str, truth: Number, bound: Number) -> Claim:
    """The claim that `what`, which is `truth`, is at most `bound`."""
    return Claim(what, truth, "<=", bound)


def at_least(what: str, truth: Number, bound: Number) -> Claim:
    """The claim that `what`, which is `truth`, is at least `bound`."""
    return Claim(what, truth, ">=", bound)


def equal(what: str, truth: Number, bound: Number) -> Claim:
    """The claim that `what`, which is `truth`, equals `bound`."""
    return Claim(what, truth, "==", bound)


def below(what: str, truth: Number, bound: Number) -> Claim:
    """The claim that `what`, which is `truth`, is strictly below `bound`."""
    return Claim(what, truth, "<", bound)


def above(what: str, truth: Number, bound: Number) -> Claim:
    """The claim that `what`, which is `truth`, is strictly above `bound`."""
    return Claim(what, truth, ">", bound)
