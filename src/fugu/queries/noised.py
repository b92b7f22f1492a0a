"""`Noised`: one question with its features and its noise, and the charges that follow from them.

| kind | noise | charge for a record that changes from x to x' |
|---|---|---|
| count, proportion, sum, mean | lattice Laplace of rate r on the sum of f | r abs(f(x) - f(x')) |
| variance | the same on the sum of f and on that of g = (f - c)^2 | r abs(f - f') + r' abs(g - g') |
| histogram, crosstab, top | lattice Laplace of rate r on every cell's count | 2 r where the cells differ |
| quantile, top of one | permute-and-flip at rate r on ranks or counts | 2 r where the cells differ |
| outside | whatever is private with epsilon r for each record, from outside | r where the columns differ |

One record that changes moves one count down and one up, so the 2 of histograms is no choice. Neither is that of
selections: a move across the quantile changes one utility by +1 and another by -1. Proofs:
docs/proofs/metric-charges.md#charges and docs/proofs/metric-charges.md#sessions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import Any, Final, final

from fugu.errors import CertificateError
from fugu.numbers.exact import read_number
from fugu.queries.features import Feature, feature_from
from fugu.translation.records.charges import Apart, Cells, Line, RecordCharge
from fugu.visible import Json

LAPLACE: Final = "lattice-laplace"
FLIP: Final = "permute-and-flip"
OUTSIDE: Final = "outside"
LINES: Final = ("count", "proportion", "sum", "mean", "variance")
TABLES: Final = ("histogram", "crosstab", "top", "quantile")
KINDS: Final = (*LINES, *TABLES, OUTSIDE)
EXACT: Final = 0.5
"""A number whose noise is 0 with a larger probability is called exact."""
EVEN: Final = Fraction("1.09861228866")
"""A rate just below ln 3: lattice Laplace noise of rate r is 0 with probability tanh(r / 2), at ln 3 one half."""
_LAWS = {**dict.fromkeys(LINES, (LAPLACE,)), "histogram": (LAPLACE,), "crosstab": (LAPLACE,)} | {
    "top": (LAPLACE, FLIP),
    "quantile": (FLIP,),
    OUTSIDE: (OUTSIDE,),
}


@final
@dataclass(frozen=True)
class Noised:
    """A question as it is charged. All of it is public.

    `query`: the question as text. `kind`: one of `KINDS`. `by`: the public column of its groups, or None. `features`:
    what is summed or counted. `law`: the noise. `rates`: for each group ("" without groups) the rate of each noise; a
    group that is not listed is not answered and is charged nothing."""

    query: str
    kind: str
    by: str | None
    features: tuple[Feature, ...]
    law: str
    rates: Mapping[str, tuple[Fraction, ...]]

    def __post_init__(self) -> None:
        if self.kind not in KINDS or self.law not in _LAWS[self.kind]:
            raise CertificateError("a question has a kind and a noise that fugu does not know together")
        wanted = 2 if self.kind == "variance" else 1
        several = self.kind != OUTSIDE and len(self.features) != wanted
        if several or not self.features or any(len(found) != wanted for found in self.rates.values()):
            raise CertificateError("a question does not have the features and rates of its kind")
        if any(rate <= 0 for found in self.rates.values() for rate in found):
            raise CertificateError("a rate of noise is positive")
        if (self.by is None) != (set(self.rates) == {""}):
            raise CertificateError("a question without groups has one set of rates, and one with groups names them")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((self.query, self.by, self.features, tuple(self.rates.items())))

    def charges(self, group: str, modelled: Collection[str]) -> tuple[RecordCharge, ...]:
        """What a record of this group is charged; features that no law speaks of cost their epsilon on top.

        `group`: the record's group of `by`, "" without groups. `modelled`: the names of features that laws speak of."""
        if group not in self.rates:
            return ()
        return charges_of(self.kind, self.features, self.rates[group], modelled)

    def own(self, group: str) -> Fraction:
        """The plain per-record epsilon in this group."""
        return sum((charge.own for charge in self.charges(group, ())), Fraction(0))

    @cached_property
    def most(self) -> Fraction:
        """The largest per-record epsilon of all groups."""
        groups = {rates: group for group, rates in self.rates.items()}  # one of each set of rates
        return max(map(self.own, groups.values()), default=Fraction(0))

    @cached_property
    def exact(self) -> float:
        """The largest probability, over groups and noises, that a number goes out without noise: tanh(rate / 2).

        0 for choices, which add no noise: whether the best one is chosen depends on the private table."""
        most = max((rate for rates in self.rates.values() for rate in rates), default=Fraction(0))
        return math.tanh(float(most) / 2) if self.law == LAPLACE else 0.0

    def to_json(self) -> Json:
        """The question in JSON types, as ledgers and certificates hold it."""
        return {
            "query": self.query,
            "kind": self.kind,
            "by": self.by,
            "features": [feature.to_json() for feature in self.features],
            "law": self.law,
            "rates": {group: [str(rate) for rate in rates] for group, rates in self.rates.items()},
        }

    @staticmethod
    def from_json(told: object) -> Noised:
        """The question that `to_json` wrote as `told`; `CertificateError` for anything else."""
        try:
            found: Mapping[str, Any] = told  # type: ignore[assignment]
            rates = {str(g): tuple(read_number(str(rate)) for rate in rates) for g, rates in found["rates"].items()}
            features = tuple(map(feature_from, found["features"]))
            by = None if found["by"] is None else str(found["by"])
            return Noised(str(found["query"]), found["kind"], by, features, found["law"], rates)
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise CertificateError("a question of a session cannot be read") from error


def charges_of(
    kind: str, features: tuple[Feature, ...], rates: tuple[Fraction, ...], modelled: Collection[str]
) -> tuple[RecordCharge, ...]:
    """The charges that follow from the noise: see the table at the head of this file."""
    found = _CHARGES[kind](features, rates)
    if all(feature.name in modelled for feature in features):
        return found
    return (Apart(sum((charge.own for charge in found), Fraction(0))),)


def _lines(features: tuple[Feature, ...], rates: tuple[Fraction, ...]) -> tuple[RecordCharge, ...]:
    return tuple(Line(f.name, rate, f.top) for f, rate in zip(features, rates, strict=True))


def _cells(features: tuple[Feature, ...], rates: tuple[Fraction, ...]) -> tuple[RecordCharge, ...]:
    return (Cells(tuple(f.name for f in features), 2 * rates[0]),)


def _outside(features: tuple[Feature, ...], rates: tuple[Fraction, ...]) -> tuple[RecordCharge, ...]:
    return (Cells(tuple(f.name for f in features), rates[0]),)


_CHARGES: dict[str, Callable[[tuple[Feature, ...], tuple[Fraction, ...]], tuple[RecordCharge, ...]]] = {
    **dict.fromkeys(LINES, _lines),
    **dict.fromkeys(TABLES, _cells),
    OUTSIDE: _outside,
}
