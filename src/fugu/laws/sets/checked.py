"""Whether a stated confidence set may be believed: proved again from the counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from fugu.errors import CertificateError
from fugu.laws.masses import masses
from fugu.laws.sets.ball import Ball
from fugu.laws.sets.band import Band
from fugu.laws.sets.box import Box
from fugu.laws.sets.clopper import cell_error, too_high, too_low
from fugu.laws.sets.confidence import asked, by_moments
from fugu.laws.sets.intersection import Intersection
from fugu.laws.sets.law_set import LawSet
from fugu.laws.sets.local_levels import proved
from fugu.laws.sets.mixture import mixture_radius
from fugu.laws.sets.radii import divergence_proved, variation_radius
from fugu.numbers.exact import Real, VectorLike


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
