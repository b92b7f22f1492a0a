"""Record swap: two data sets whose class counts are fixed numbers differ in a few records, whatever the records' law.

Under the share p, exactly c = floor(n p + 1/2) records have the property; under p' exactly c'. Let k = |c - c'|. If, in
both cases, records are drawn from the same law of their class (independently, or without replacement from one
population), the two data sets can be drawn together so that n - k records are the same and k records with the property
stand in one where k records without it stand in the other. Hence

    F - F' = A (x_1 + ... + x_k - y_1 - ... - y_k),     x with the property, y without, A the statistics' factors,

for statistics that are sums over records. No Gaussian model is needed (docs/proofs/moves.md#record-swap). k is
the largest over the pairs asked for: it does not grow with |p - p'| alone, because of the rounding.

The counts must be FIXED. If each record has the property with probability p, independently, the claim is false: for
n = 50, p = 0.02 and 0.04, Laplace noise for k = 1 at epsilon 1 has level 1.634 (tests/scenario/test_swap.py)."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from math import comb

import numpy as np

from fugu.documents.sentences import APART
from fugu.errors import UsageError
from fugu.laws import Discrete, poisson_binomial, sum_of
from fugu.scenario.moves import ONCE, moves, said
from fugu.scenario.property_model import PropertyModel, fixed_counts
from fugu.scenario.scenario import Scenario


def swap_shift(model: Scenario | PropertyModel) -> Scenario:
    """|F_j - F'_j| <= k a_j r_j for sure, in every coordinate j: r_j one record's range, a_j its factor.

    `model`: a scenario made by `Scenario.from_property`, or its `property`. Returns a scenario of translates.

    So W_inf in the l1 norm is at most k sum_j a_j r_j: a guarantee for every law of the records within their ranges,
    by `fugu.scenario.moves`. Ranges are the declared ones; without, those of the reference, as an assumption."""
    found = model_of(model)
    k = found.swapped
    seen = tuple(
        dict.fromkeys(s.column for s in found.statistics if s.equals is None and s.column not in found.declared)
    )
    said_ranges = ", ".join(f"{s}: {said(r)}" for s, r in zip(found.statistics, found.ranges, strict=True))
    bounds = [k * reach for reach in found.reach]
    alike = f"proved to look alike: every two such numbers that differ by at most {k}"
    shifted = moves(
        bounds if len(bounds) > 1 else bounds[0],
        ("one share", "another share"),
        (
            *fixed_counts(found, alike),
            f"at most {k} records are swapped; one record moves its number by at most {said_ranges}",
            *(f"{name} stays within the range it has in the reference" for name in seen),
            ONCE,
        ),
    )
    return replace(shifted, property=found)


def swap_counts(model: Scenario | PropertyModel) -> Scenario:
    """The exact law of one count for each share: Bin(c, q_1) * Bin(n - c, q_0), q the reference's rates by class.

    `model`: a scenario made by `Scenario.from_property` with one count, or its `property`. Returns a scenario with one
    law per share; raises `UsageError` for several statistics or a mean.
    Without replacement both are hypergeometric. The laws are exact rationals, so a pure budget can be met."""
    found = model_of(model)
    if len(found.statistics) != 1 or found.statistics[0].equals is None:
        raise UsageError(
            "exact laws are computed for one statistic, a count such as count(sex=Female); for several use swap_shift"
        )
    drawn = "independently (with replacement)" if found.replacement else "without replacement"
    laws = {label: _count(found, c) for label, c in zip(found.labels, found.counts, strict=True)}
    return Scenario(
        laws,
        [(found.labels[i], found.labels[j]) for i, j in found.pairs],
        assumptions=(
            *fixed_counts(found),
            f"records are drawn {drawn} from the reference's records of their class: the law of the count is exact",
            f"rates from {len(found.having)} records with {found.name} and {len(found.lacking)} without",
            APART,
            ONCE,
        ),
        property=found,
    )


def model_of(given: object) -> PropertyModel:
    """The model itself, or that of a scenario made by `Scenario.from_property`."""
    found = given.property if isinstance(given, Scenario) else given
    if not isinstance(found, PropertyModel):
        raise UsageError("a record swap needs a scenario made by Scenario.from_property, or its .property")
    return found


def _count(model: PropertyModel, c: int) -> Discrete:
    """How many of c records with the property and n - c without are counted."""
    parts = ((model.having, c), (model.lacking, model.size - c))
    if model.replacement:
        rates = [(Fraction(int(rows.sum()), len(rows)), copies) for rows, copies in parts]
        return poisson_binomial([rate for rate, copies in rates for _ in range(copies)])
    return sum_of([_hypergeometric(len(rows), int(rows.sum()), copies) for rows, copies in parts])


def _hypergeometric(population: int, marked: int, drawn: int) -> Discrete:
    """P(j) = C(M, j) C(N - M, d - j) / C(N, d)."""
    ways = [comb(marked, j) * comb(population - marked, drawn - j) for j in range(min(drawn, marked) + 1)]
    whole = sum(ways)
    return Discrete(np.arange(len(ways)), [Fraction(way, whole) for way in ways])
