"""The least noise of a question: the largest epsilon of its own that keeps the session within what it may spend.

The price rises with the question's own epsilon e, and by at most e, so a bracketed search finds the largest one. It
runs on prices that are proved, so whatever it returns is (docs/proofs/metric-charges.md#what-a-new-charge-costs).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import final

from fugu.queries.features import Feature
from fugu.queries.noised import Noised
from fugu.queries.pricing import Charges, Job, Pricing, Types, envelope, exact, own
from fugu.queries.session_state import KnownLaw
from fugu.translation.records.charges import Line, RecordCharge, joined, shape
from fugu.translation.records.rates import Bracket

MOST_OWN = Fraction(20)
"""No question, and no number of questions about the same features, is given a larger epsilon of its own for nothing:
no answer is exact, whatever the beliefs."""
LEAST_OWN = Fraction(1, 10**6)
"""Below this an answer would be noise."""
_DIGITS = 9
_MANY = 64
_AHEAD = 4
"""How many times more than what surely fits is tried first."""
_NEAREST = 1e-9

New = Callable[[Fraction, Mapping[str, Feature]], tuple[RecordCharge, ...]]
"""The charges of the new questions at a scale e, given the features that laws speak of."""


@final
@dataclass(frozen=True, eq=False)
class Search:
    """What is to be found: the largest scale at which old and new charges together stay within `target`.

    `before`: what the old ones are worth, from above; scales up to (target - before) / (own epsilon at scale 1) always
    fit, as far as prices are the best ones."""

    pricing: Pricing
    questions: Sequence[Noised]
    types: Types
    features: tuple[Feature, ...]
    new: New
    before: Fraction
    target: Fraction
    apart: Fraction = Fraction(0)
    most: Fraction = MOST_OWN

    def limited(self, most: Fraction) -> Search:
        """The same with scales of at most `most`."""
        return replace(self, most=most)

    def everywhere(self) -> Fraction:
        """The largest scale that every type of record allows."""
        return min(self.by_group(None).values(), default=Fraction(0))

    def by_group(self, by: str | None) -> dict[str, Fraction]:
        """For each group of the column `by` the largest scale that its types allow."""
        place = None if by is None else self.types.by.index(by)
        modelled = self.pricing.modelled(self.questions) | {
            f.name: f for f in self.features if self.pricing.laws.models(f)
        }
        scales: dict[str, Fraction] = {}
        wanted: dict[int, tuple[KnownLaw, dict[Charges, set[str]]]] = {}
        for groups, _, base in self.pricing.charged(self.questions, self.types, modelled, self.apart):
            group = "" if place is None else groups[place]
            scales[group] = min(scales.get(group, self.most), self._most(base, modelled))
            laws = self.pricing.laws_of(self.types, groups, (*base, *self.new(Fraction(1), modelled)), modelled)
            if laws is None:
                scales[group] = min(scales[group], self._plain(base))
                continue
            for law in laws:
                wanted.setdefault(id(law), (law, {}))[1].setdefault(base, set()).add(group)
        for law, bases in wanted.values():
            for base, groups_of in _covered(bases):
                needed = max((scales[group] for group in groups_of), default=Fraction(0))
                found = self._scale(law, base, modelled, needed)
                for group in groups_of:
                    scales[group] = min(scales[group], found)
        return scales

    def _most(self, base: Charges, modelled: Mapping[str, Feature]) -> Fraction:
        """The largest scale that is asked for: what was charged for the same features counts towards `MOST_OWN`.

        Beyond it an answer has next to no noise, and more would only weaken the promise against any belief. What the
        target surely allows may always be used."""
        unit, before = joined(self.new(Fraction(1), modelled)), {shape(charge): charge.own for charge in base}
        rest = min((MOST_OWN - before.get(shape(charge), Fraction(0))) / charge.own for charge in unit)
        return min(self.most, down(max(rest, (self.target - self.before) / own(unit), LEAST_OWN)))

    def _plain(self, base: Charges) -> Fraction:
        """Where nothing is believed, epsilons add."""
        return down(max(self.target - own(base), Fraction(0)) / max(own(self.new(Fraction(1), {})), Fraction(1, 10**9)))

    def _scale(self, law: KnownLaw, base: Charges, modelled: Mapping[str, Feature], most: Fraction) -> Fraction:
        """The largest scale of at most `most` that this law allows, every ordered pair of secrets proved at it."""
        unit = joined(self.new(Fraction(1), modelled))
        sure = max(self.target - self.before, Fraction(0)) / own(unit)
        alone = not base and len(unit) == 1
        finest = tolerance(1 if alone else len(next(iter(law.given.values()))))
        near = finest * float((self.target - self.before) / self.target)

        def job(scale: Fraction) -> Job:
            return Job(law, joined((*base, *self.new(scale, modelled))))

        def cost(pair: tuple[str, str], scale: Fraction) -> tuple[Fraction, float]:
            found = job(scale)
            priced = self.pricing.priced(found, pair)
            slopes = dict(zip(map(shape, found.charges), priced.slopes, strict=False))
            return exact(priced, found.charges), sum(slopes.get(shape(c), 0.0) * _amount(c) for c in unit)

        scale = most
        for turn, pair in enumerate(permutations(law.given, 2)):
            search = Bracket(self.target, sure, scale, max(near, _NEAREST))
            if turn == 0 and 0 < sure < scale / _AHEAD:
                search.begin_at(_AHEAD * sure)
            scale = search.run(partial(cost, pair))
        scale, less = down(scale), Fraction(1, 10_000)
        while scale >= LEAST_OWN and self.pricing.value(job(scale), self.target) > self.target:
            scale, less = down(scale * (1 - less)), min(2 * less, Fraction(1, 2))
        return scale if scale >= LEAST_OWN else Fraction(0)


def tolerance(states: int) -> float:
    """How finely the scale is searched: nearly exactly on small laws, to less where each price takes long."""
    return 2e-6 if states <= 64 else 2e-4 if states <= 400 else 2e-3


def _amount(charge: RecordCharge) -> float:
    """The number of a charge, which its slope is about."""
    return float(charge.rate if isinstance(charge, Line) else charge.epsilon)


def down(x: Fraction) -> Fraction:
    """The largest decimal with nine digits that is at most x.

    >>> down(Fraction(2, 3)), down(Fraction(1, 10))
    (Fraction(333333333, 500000000), Fraction(1, 10))
    """
    if x <= 0:
        return Fraction(0)
    unit = Fraction(10) ** (math.floor(math.log10(x)) - _DIGITS + 1)
    return math.floor(x / unit) * unit


def _covered(bases: Mapping[Charges, set[str]]) -> list[tuple[Charges, set[str]]]:
    """Each set of charges with the groups it is for; if there are very many, one that covers them all."""
    if len(bases) <= _MANY:
        return list(bases.items())
    return [(envelope(list(bases)), set().union(*bases.values()))]
