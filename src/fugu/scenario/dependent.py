"""Weakly dependent records: a little dependence costs a little, not the whole group (corrected Proposition 6.1)."""

from __future__ import annotations

from fugu.errors import UsageError
from fugu.numbers.exact import Real, number
from fugu.scenario.moves import ONCE, moves, said
from fugu.scenario.scenario import Scenario, builder


@builder
def weakly_dependent(distance: Real, sensitivity: Real, cross_records: bool = False) -> Scenario:
    """W_inf <= 2 lambda + kappa Delta (Pierquin et al. 2024, Proposition 6.1, corrected).

    lambda (`distance`) bounds W_inf between the law of f(X) given any secret and the law it would have, given the same
    secret, were the records independent with the same marginals. Delta (`sensitivity`) bounds how far f moves when one
    record changes. Secrets are events about one record each.

    Proof (docs/proofs/moves.md#weakly-dependent-records): the triangle inequality over law given s; the same for
    independent records; that given t; law given t. The outer two are at most lambda. In the middle, the independent
    records are coupled to be equal except where a secret speaks: in one record (kappa = 1) if s and t are about the
    same, in two (kappa = 2, `cross_records=True`) otherwise.
    The printed 2 lambda + Delta fails across records: X1 ~ Ber(.99), X2 ~ Ber(.01) independent, f = X1 + X2; given
    X1 = 0 and given X2 = 1 the sums are W_inf = 2 apart.

    >>> [s.law_pairs()[0].q.by for s in (weakly_dependent(0.3, 1), weakly_dependent(0.3, 1, cross_records=True))]
    [Fraction(8, 5), Fraction(13, 5)]
    """
    if not isinstance(cross_records, bool):
        raise UsageError(f"cross_records must be True or False, got {cross_records!r}")
    apart, step = number(distance, "distance"), number(sensitivity, "sensitivity")
    about = "two secrets may be about two records" if cross_records else "both secrets of a pair are about one record"
    near = "given any secret, W_inf from the law of the published value to what it would be for independent records"
    return moves(
        2 * apart + (2 if cross_records else 1) * step,
        ("one secret", "another secret"),
        (
            f"beliefs: {near} with the same marginals is at most {said(apart)}",
            f"changing one record moves the published value by at most {said(step)}",
            f"each secret is an event about one record; {about}",
            ONCE,
        ),
    )
