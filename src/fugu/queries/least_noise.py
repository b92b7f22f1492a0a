"""The least noise of a question: the largest epsilon of its own that keeps the session within budget and cap.

The price rises with the question's own epsilon e, and by at most e, so a bracketed search finds the largest one. It
runs on prices that are proved, so whatever it returns is (docs/proofs/metric-charges.md#what-a-new-charge-costs). The
sum of a record's epsilons rises by e itself, so the cap is a largest e (docs/proofs/metric-charges.md#two-budgets).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from itertools import permutations
from typing import final

from fugu.queries.features import Feature
from fugu.queries.noised import Noised
from fugu.queries.pricing import Charges, Job, Pricing, Shape, Types, envelope, exact, own
from fugu.queries.session_state import KnownLaw
from fugu.translation.records.charges import Line, RecordCharge, joined, shape
from fugu.translation.records.rates import Bracket

LEAST_OWN = Fraction(1, 10**6)
"""Below this an answer would be noise."""
_DIGITS = 9
_MANY = 64
_AHEAD = 4
"""How many times more than what surely fits is tried first."""
_NEAREST = 1e-9

New = Callable[[Fraction, Mapping[str, Feature]], tuple[RecordCharge, ...]]
"""The charges of the new questions at a scale e, given the features that laws speak of."""
Filling = Callable[[Fraction], Fraction]
"""The largest scale at which the new questions' own epsilons add up to at most an amount; 0 where none is left."""


@final
@dataclass(frozen=True, eq=False)
class Search:
    """What is to be found: the largest scale at which old and new charges together stay within `target` and `cap`.

    `before`: what the old ones are worth, from above; new ones whose own epsilons add up to at most target - before
    always fit, as far as prices are the best ones. `cap`: what the epsilons of one record, old and new, may add up to.
    `filling`: the scale at which the new ones add up to an amount."""

    pricing: Pricing
    questions: Sequence[Noised]
    types: Types
    features: tuple[Feature, ...]
    new: New
    before: Fraction
    target: Fraction
    cap: Fraction
    filling: Filling
    apart: Fraction = Fraction(0)
    guess: Fraction | None = None
    """A scale that is about right, which is tried first."""

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
            most = down(self.filling(self.cap - own(base)))
            scales[group] = min(scales.get(group, most), most)
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

    def _plain(self, base: Charges) -> Fraction:
        """Where nothing is believed, epsilons add."""
        return down(self.filling(self.target - own(base)))

    def _scale(self, law: KnownLaw, base: Charges, modelled: Mapping[str, Feature], most: Fraction) -> Fraction:
        """The largest scale of at most `most` that this law allows, every ordered pair of secrets proved at it."""
        if most < LEAST_OWN:
            return Fraction(0)
        sure = self.filling(self.target - self.before)
        alone = not base and len(joined(self.new(most, modelled))) == 1
        finest = tolerance(1 if alone else len(next(iter(law.given.values()))))
        near = finest * float((self.target - self.before) / self.target)

        def job(scale: Fraction) -> Job:
            return Job(law, joined((*base, *self.new(scale, modelled))))

        def cost(pair: tuple[str, str], scale: Fraction) -> tuple[Fraction, float]:
            found = job(scale)
            priced = self.pricing.priced(found, pair)
            slopes = dict(zip(map(shape, found.charges), priced.slopes, strict=False))
            growth = _growth(self.new(scale, modelled), self.new(2 * scale, modelled), scale)
            return exact(priced, found.charges), sum(slopes.get(key, 0.0) * more for key, more in growth.items())

        scale = most
        for turn, pair in enumerate(permutations(law.given, 2)):
            search = Bracket(self.target, sure, scale, max(near, _NEAREST))
            if turn == 0 and self.guess is not None and self.guess < scale:
                search.begin_at(self.guess)
            elif turn == 0 and 0 < sure < scale / _AHEAD:
                search.begin_at(_AHEAD * sure)
            scale = search.run(partial(cost, pair))
        scale, less = down(scale), Fraction(1, 10_000)
        while scale >= LEAST_OWN and self.pricing.value(job(scale), self.target) > self.target:
            scale, less = down(scale * (1 - less)), min(2 * less, Fraction(1, 2))
        return scale if scale >= LEAST_OWN else Fraction(0)


def tolerance(states: int) -> float:
    """How finely the scale is searched: nearly exactly on small laws, to less where each price takes long."""
    return 2e-6 if states <= 64 else 2e-4 if states <= 400 else 2e-3


def _growth(now: Charges, then: Charges, scale: Fraction) -> dict[Shape, float]:
    """How much of each charge a unit of scale adds; charges that have reached their largest add nothing."""
    before = {shape(charge): amount(charge) for charge in joined(now)}
    return {shape(c): (amount(c) - before.get(shape(c), 0.0)) / float(scale) for c in joined(then)}


def amount(charge: RecordCharge) -> float:
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
