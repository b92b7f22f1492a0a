"""The least noise of a question: the largest epsilon of its own that keeps the session within what it may spend.

The price rises with the question's own epsilon e, and by at most e (marginal cost, theory of records, section 3), so a
bracketed search finds the largest one. It runs on prices that are proved, so whatever it returns is.
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
from fugu.translation.records.charges import RecordCharge, joined

MOST_OWN = Fraction(16)
"""No question is answered with a larger epsilon of its own: nothing is ever exact, whatever the beliefs."""
LEAST_OWN = Fraction(1, 10**6)
"""Below this an answer would be noise."""
_DIGITS = 9
_MANY = 64

New = Callable[[Fraction, Mapping[str, Feature]], tuple[RecordCharge, ...]]
"""The charges of the new questions at a scale e, given the features that laws speak of."""


@final
@dataclass(frozen=True, eq=False)
class Search:
    """What is to be found: the largest scale at which old and new charges together stay within `target`."""

    pricing: Pricing
    questions: Sequence[Noised]
    types: Types
    features: tuple[Feature, ...]
    new: New
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
            scales.setdefault(group, self.most)
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
        return down(max(self.target - own(base), Fraction(0)) / max(own(self.new(Fraction(1), {})), Fraction(1, 10**9)))

    def _scale(self, law: KnownLaw, base: Charges, modelled: Mapping[str, Feature], most: Fraction) -> Fraction:
        """The largest scale of at most `most` that this law allows, every ordered pair of secrets proved at it."""

        def job(scale: Fraction) -> Job:
            return Job(law, joined((*base, *self.new(scale, modelled))))

        def cost(pair: tuple[str, str], scale: Fraction) -> Fraction:
            found = job(scale)
            return exact(self.pricing.priced(found, pair), found.charges)

        scale, fine = most, tolerance(len(next(iter(law.given.values()))))
        for pair in permutations(law.given, 2):
            if scale > 0:
                scale = root(partial(cost, pair), self.target, scale, fine)
        for _ in range(40):
            if scale < LEAST_OWN or self.pricing.value(job(scale), self.target) <= self.target:
                break
            scale = down(scale * Fraction(999, 1000))
        return scale if scale >= LEAST_OWN else Fraction(0)


def root(cost: Callable[[Fraction], Fraction], target: Fraction, most: Fraction, fine: Fraction) -> Fraction:
    """The largest scale found, up to a factor 1 + `fine`, at which the cost is at most the target; 0 if there is none.

    Tried first: the largest one, and the one that the marginal cost theorem allows. Then false position, with a
    geometric step whenever that gets stuck."""
    if cost(most) <= target:
        return most
    low, at_low = Fraction(0), cost(Fraction(0))
    if at_low > target:
        return Fraction(0)
    high, at_high = most, cost(most)
    sure = down(min(target - at_low, most))
    if sure > 0 and (found := cost(sure)) <= target:
        low, at_low = sure, found
    for turn in range(60):
        if low > 0 and high <= low * (1 + fine):
            break
        if high < LEAST_OWN:
            return Fraction(0)
        between = low + (high - low) * (target - at_low) / (at_high - at_low) if at_high > at_low else high
        edge = (high - low) * fine / 4 if low == 0 else low * fine / 2
        between = min(max(between, low + edge), high - edge)
        if turn % 3 == 2:  # a step that halves the bracket whatever the shape
            between = (low + high) / 2 if low > 0 else high / 16
        at = down(between)
        if not low < at < high:
            break
        found = cost(at)
        if found <= target:
            low, at_low = at, found
        else:
            high, at_high = at, found
    return low


def tolerance(states: int) -> Fraction:
    """How finely the scale is searched: to 1e-5 on small laws, to a half per cent where each price takes long."""
    return Fraction(1, 100_000) if states <= 64 else Fraction(1, 2000) if states <= 400 else Fraction(1, 200)


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
