"""Confidence sets: the laws that reference rows cannot rule out, found and proved again from the counts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from itertools import pairwise
from typing import Any, TypeVar, final

import numpy as np

from fugu.errors import BadLaw, CertificateError, UsageError
from fugu.fixed import Fixed
from fugu.laws.discrete import Discrete
from fugu.laws.masses import masses
from fugu.laws.sets.ball import Ball
from fugu.laws.sets.box import Band, Box, Intersection
from fugu.laws.sets.law_set import Floats, LawSet, declared
from fugu.laws.sets.levels import (
    cell_error,
    checked_error,
    clopper_pearson,
    divergence_proved,
    divergence_radius,
    level_band,
    mixture_radius,
    proved,
    too_high,
    too_low,
    variation_radius,
)
from fugu.numbers.balls import lower, of, precision
from fugu.numbers.checks import is_number, is_share, listed, plain
from fugu.numbers.exact import Real, VectorLike, as_fraction, float_down, float_up, is_whole, read_number, read_whole

Limits = TypeVar("Limits", Box, Band)
MOST_ROWS = 10**12


def confidence_set(
    values: VectorLike, counts: Sequence[int], error: Real, *, ordered: bool = True, shift: Real = 0.0
) -> LawSet:
    """A set that holds the law of the rows with probability at least 1 - error over their draw, whatever the law.

    Ordered values: the band at equal local levels and the Clopper-Pearson box, at half the error each. Nominal values:
    the box and a ball, at half the error each: KL(p^, p) at Agrawal's radius above 20 rows per value, at the mixture
    radius below; which one depends on the numbers of rows and values, never on the counts. Both parts are always
    taken: choosing the tighter set after looking at the counts is not valid at the full level.

    With `shift` = rho the rows may come from any law q with TV(p, q) <= rho, and the set holds p: then
    |p(x) - q(x)| <= rho, |P(X <= x) - Q(X <= x)| <= rho and TV(p^, p) <= TV(p^, q) + rho, so every limit moves outward
    by rho; the KL ball, which says nothing of p, gives way to one in total variation.

    - `values`: the declared values, strictly increasing, fixed before the counts were looked at; each may have mass,
      seen or not. Codes 0, 1, 2, ... for categories.
    - `counts`: the number of rows at each value; no rows at all rule out nothing.
    - `error`: the probability that the set misses the law, strictly between 0 and 1.
    - `ordered`: whether the order of the values means anything.
    - `shift`: how far, in total variation, the law may be from that of the reference rows; 0 to 1.

    >>> confidence_set([0, 1, 2], [20, 30, 10], 0.05)
    Intersection(Band(3 values), Box(3 values))
    """
    there, rows, level, rho = asked(values, counts, error, shift)
    n, k = sum(rows), len(there)
    if n == 0 or k == 1 or rho == 1:
        return Box.everything(there)
    box = _wider(clopper_box(there, rows, level / 2), rho)
    centre = Discrete(there, rows)
    if ordered:
        return Intersection([_wider(level_band(there, rows, level / 2), rho), box], centre)
    if rho:
        return Intersection(
            [box, Ball(centre, min(Fraction(1), Fraction(variation_radius(n, k, level / 2)) + rho))], centre
        )
    return Intersection([box, Ball(centre, Fraction(kl_radius(rows, level / 2)), "kl")], centre)


def clopper_box(values: VectorLike, counts: Sequence[int], error: Real) -> Box:
    """The box that holds the law of the rows with probability at least 1 - error.

    The declared values must not depend on the counts: bins laid around the densest rows cover 62.5 %, not 95 %.

    - `values`: the declared values, seen or not. - `counts`: rows at each, at least one row in all.
    - `error`: strictly between 0 and 1.
    """
    there, n = declared(values), sum(counts)
    level = cell_error(checked_error(error), len(there))
    if len(there) == 1:
        return Box.exactly(there, np.ones(1), np.ones(1))
    ends = np.array([clopper_pearson(int(c), n, level) for c in counts])
    return Box.exactly(there, ends[:, 0].copy(), ends[:, 1].copy())


def kl_radius(counts: Sequence[int], error: Fraction) -> float:
    """The radius of the ball around the frequencies: by the numbers of rows and values, never by the counts."""
    n, k = sum(counts), len(counts)
    return divergence_radius(n, k, error) if by_moments(n, k) else mixture_radius(counts, error)


def by_moments(n: int, k: int) -> bool:
    """Whether Agrawal's radius is used, not the mixture's: above 20 rows per value it is the smaller one."""
    return n > 20 * k


def secret_error(confidence: Real, secrets: int, disjoint: bool) -> Fraction:
    """The error of each secret's set, so that the sets of all secrets hold together with the stated confidence.

    With disjoint rows the sets are independent: 1 - (1 - alpha)^(1/m), rounded down (Šidák 1967). Otherwise alpha / m.
    Independence needs sets that are each made of their own rows alone.

    - `confidence`: 1 - alpha, strictly between 0 and 1. - `secrets`: how many sets, at least 1.
    - `disjoint`: whether no reference row counts for two secrets.

    >>> secret_error(0.95, 2, disjoint=False), float(secret_error(0.95, 2, disjoint=True))
    (Fraction(1, 40), 0.0253205655191)
    """
    if not is_share(confidence):
        raise UsageError(f"the confidence must be strictly between 0 and 1, got {confidence!r}")
    if not is_whole(secrets, least=1):
        raise UsageError(f"the number of secrets must be a whole number of at least 1, got {secrets!r}")
    held, m = as_fraction(confidence), int(secrets)
    if not disjoint or m == 1:
        return (1 - held) / m
    with precision(256):
        error = Fraction(lower(1 - (of(held).log() / m).exp()))
    unit = Fraction(1)
    while unit * 10**11 > error:
        unit /= 10
    return max(error // unit * unit, (1 - held) / m)


def asked(
    values: VectorLike, counts: Sequence[int], error: Real, shift: Real
) -> tuple[Floats, list[int], Fraction, Fraction]:
    """What a confidence set is asked for, checked: values, counts, error and shift."""
    there, rows = declared(values), [plain(c) for c in listed(counts)]
    if len(rows) != len(there):
        raise BadLaw(f"expected {len(there)} counts, one for each declared value, got {len(rows)}")
    if not all(is_whole(c, least=0) for c in rows):
        raise BadLaw("counts must be whole numbers that are not negative")
    if sum(rows) > MOST_ROWS:
        raise BadLaw(f"the counts add up to more than {MOST_ROWS:.0e} rows, for which limits are not proved")
    if not is_number(shift) or not 0 <= shift <= 1:
        raise UsageError(f"the shift is a total variation between 0 and 1, got {shift!r}")
    return there, [int(c) for c in rows], checked_error(error), as_fraction(shift)


def _wider(found: Limits, rho: Fraction) -> Limits:
    """Every limit moved outward by rho, within [0, 1]."""
    if not rho:
        return found
    low = np.array([float_down(max(Fraction(0), Fraction(x) - rho)) for x in found.lower.tolist()])
    high = np.array([float_up(min(Fraction(1), Fraction(x) + rho)) for x in found.upper.tolist()])
    return type(found).exactly(found.values, low, high)


# `Sampled`: counts of a reference on declared values, and the sets of laws that they cannot rule out.
#
# P(every true law is in its set) >= confidence, over the draw of the reference rows. Secrets whose rows are disjoint
# share the error as 1 - (1 - error)^(1/m) each, others as error / m.


_KEYS = ("level", "values", "counts", "ordered", "disjoint", "shift", "declared")


@final
@dataclass(frozen=True)
class Sampled:
    """`confidence`: over the draw of the reference. `values`: every value that may be published, seen or not. `counts`:
    for each secret its rows with each value. `ordered`: whether the values are numbers or an ordering. `disjoint`:
    whether no row has two of the secrets. `shift`: how far, in total variation, the protected rows may be from the
    population of the reference. `declared`: what was declared before the counts were looked at."""

    confidence: Fraction
    values: tuple[float, ...]
    counts: Mapping[str, tuple[int, ...]]
    ordered: bool
    disjoint: bool
    shift: Fraction
    declared: str

    @property
    def error(self) -> Fraction:
        """The error of each secret's set."""
        return secret_error(self.confidence, len(self.counts), self.disjoint)

    @cached_property
    def sets(self) -> Mapping[str, LawSet]:
        """The set of every secret."""
        return Fixed(
            {
                secret: confidence_set(self.values, counts, self.error, ordered=self.ordered, shift=self.shift)
                for secret, counts in self.counts.items()
            }
        )

    @property
    def laws(self) -> Mapping[str, Discrete]:
        """The empirical laws: what the counts would be believed to be without confidence."""
        values = np.array(self.values)
        return Fixed({secret: Discrete(values, np.array(counts)) for secret, counts in self.counts.items()})

    def times(self, factor: Fraction) -> Sampled:
        """As if the reference had so many times the rows, in the same proportions."""
        more = {s: tuple(round(c * factor) for c in counts) for s, counts in self.counts.items()}
        return Sampled(self.confidence, self.values, more, self.ordered, self.disjoint, self.shift, self.declared)

    def check(self, secret: str, stated: LawSet) -> None:
        """CertificateError unless `stated` is the set that the counts of `secret` give at this confidence, or holds
        it; its points stand for the declared values, in order."""
        if secret not in self.counts:
            raise CertificateError(f"the certificate states no counts for the secret {secret!r}")
        named = stated.at(np.arange(len(self.values)), self.values)
        check_confidence(named, self.values, self.counts[secret], self.error, self.ordered, self.shift)

    def to_json(self) -> dict[str, Any]:
        """In JSON types, exactly."""
        return {
            "level": str(self.confidence),
            "values": list(self.values),
            "counts": {secret: list(counts) for secret, counts in self.counts.items()},
            "ordered": self.ordered,
            "disjoint": self.disjoint,
            "shift": str(self.shift),
            "declared": self.declared,
        }

    @staticmethod
    def from_json(found: Mapping[str, Any]) -> Sampled:
        """What `to_json` wrote."""
        if not isinstance(found, Mapping) or set(found) != set(_KEYS):
            raise CertificateError(f"the confidence of a certificate has the parts {', '.join(_KEYS)}")
        level, shift = read_number(found["level"]), read_number(found["shift"])
        values = tuple(float(v) for v in found["values"])
        counts = {str(s): tuple(read_whole(c) for c in row) for s, row in found["counts"].items()}
        fits = all(len(row) == len(values) and min(row) >= 0 and sum(row) > 0 for row in counts.values())
        if not (0 < level < 1 and 0 <= shift < 1 and values and counts and fits):
            raise CertificateError("the confidence of the certificate, or its counts, make no sense")
        if not all(a < b for a, b in pairwise(values)):
            raise CertificateError("the declared values of the certificate are not in order")
        return Sampled(
            level, values, Fixed(counts), bool(found["ordered"]), bool(found["disjoint"]), shift, str(found["declared"])
        )


def check_confidence(
    stated: LawSet, values: VectorLike, counts: Sequence[int], error: Real, ordered: bool = True, shift: Real = 0.0
) -> None:
    """Refuse, with `CertificateError`, a set that is narrower than what the counts allow; silent otherwise.

    Every part of the stated set must contain the part of its kind that `confidence_set` would make: limits of a box are
    proved one by one from binomial tails, the radius of a ball from its bound, and the band must contain one whose
    coverage is proved here. All that contains a valid set is valid, so wider limits and missing parts pass.

    - `stated`: the set as it stands in the document. - `values`, `counts`: the declared values, and the rows at each.
    - `error`, `ordered`, `shift`: what `confidence_set` was asked for.
    """
    there, rows, level, rho = asked(values, counts, error, shift)
    if not np.array_equal(stated.values, there):
        raise CertificateError("the confidence set declares other values than the reference")
    n, k = sum(rows), len(rows)
    for part in stated.sets if isinstance(stated, Intersection) else (stated,):
        if n == 0 or k == 1 or rho == 1:
            good = isinstance(part, Box) and (k == 1 or not part.lower.any()) and bool(np.all(part.upper == 1))
        elif isinstance(part, Box):
            good = _box(part, rows, level / 2, rho)
        elif isinstance(part, Band) and ordered:
            good = _band(part, rows, level / 2, rho)
        elif isinstance(part, Ball) and not ordered:
            good = _ball(part, rows, level / 2, rho)
        else:
            raise CertificateError(f"a confidence set has no part of the kind {part.kind!r} for values of this kind")
        if not good:
            raise CertificateError(f"the stated {part.kind} is narrower than the counts of the reference allow")


def _box(box: Box, counts: list[int], error: Fraction, rho: Fraction) -> bool:
    n, tail = sum(counts), cell_error(error, len(counts)) / 2
    return all(
        (low == 0 or too_low(Fraction(low) + rho, c, n, tail))
        and (high == 1 or too_high(Fraction(high) - rho, c, n, tail))
        for c, low, high in zip(counts, box.lower.tolist(), box.upper.tolist(), strict=True)
    )


def _band(band: Band, counts: list[int], error: Fraction, rho: Fraction) -> bool:
    low, high = proved(sum(counts), error).at(counts)
    rows = zip(band.lower.tolist(), low.tolist(), band.upper.tolist(), high.tolist(), strict=True)
    return all(
        Fraction(a) <= max(Fraction(0), Fraction(b) - rho) and Fraction(c) >= min(Fraction(1), Fraction(d) + rho)
        for a, b, c, d in list(rows)[:-1]
    )


def _ball(ball: Ball, counts: list[int], error: Fraction, rho: Fraction) -> bool:
    n, k, radius = sum(counts), len(counts), Fraction(ball.radius)
    if not ball.centre().masses.same_as(masses(counts, k)):
        return False
    if (ball.distance == "tv") != (rho > 0):  # one of the two, never both: each costs half of the error
        return False
    if rho:
        return radius >= min(Fraction(1), Fraction(variation_radius(n, k, error)) + rho)
    return (
        divergence_proved(radius, n, k, error)
        if by_moments(n, k)
        else radius >= Fraction(mixture_radius(counts, error))
    )
