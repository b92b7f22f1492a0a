"""Confidence sets: the laws that reference rows cannot rule out."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np

from fugu.errors import BadLaw, UsageError
from fugu.laws.discrete import Discrete
from fugu.laws.sets.ball import Ball
from fugu.laws.sets.band import Band
from fugu.laws.sets.box import Box
from fugu.laws.sets.clopper import clopper_box
from fugu.laws.sets.intersection import Intersection
from fugu.laws.sets.law_set import Floats, LawSet
from fugu.laws.sets.local_levels import level_band
from fugu.laws.sets.mixture import checked_error, mixture_radius
from fugu.laws.sets.radii import divergence_radius, variation_radius
from fugu.laws.sets.reading import declared
from fugu.numbers.balls import lower, of, precision
from fugu.numbers.checks import is_number, is_share, listed, plain
from fugu.numbers.exact import Real, VectorLike, as_fraction, float_down, float_up, is_whole

Limits = TypeVar("Limits", Box, Band)


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
