"""Budgets that are no protection: sound as stated, and next to nothing is promised."""

from __future__ import annotations

import math

from fugu.guarantee.curve import Guarantee
from fugu.numbers.exact import as_fraction

MOST_EPSILON = 10


def weaknesses(guarantee: Guarantee, rows: int | None = None) -> tuple[str, ...]:
    """Why a budget protects hardly anybody, one sentence each: epsilon > 10, or delta > 1 / rows.

    At epsilon 10 the odds of a secret may change 22,026-fold. A release that picks one of n rows at random and shows
    it whole is (0, 1 / n)-private: a larger delta allows that. Rows are at least two where their number is unknown.

    >>> from fugu.guarantee import Approx
    >>> weaknesses(Approx(1, 0.01), rows=100), len(weaknesses(Approx(12, 0.01), rows=101))
    ((), 2)
    """
    found = []
    least = min(epsilon for _, epsilon in guarantee.orders)
    if least > MOST_EPSILON:
        what = "a Rényi divergence of" if guarantee.renyi else "epsilon"
        factor = f", {math.exp(least):,.0f}-fold" if least < 30 else f" by a factor of e^{float(least):g}"
        found.append(f"{what} {float(least):g} is hardly any protection: the odds of a secret may change{factor}")
    delta = as_fraction(guarantee.delta)
    if delta * (2 if rows is None else max(1, rows)) > 1:
        many = "whatever the number of rows" if rows is None else f"a table of {rows:,} rows"
        found.append(
            f"delta {float(delta):g} is above 1/rows ({many}): showing a row in full, drawn at random, would meet it"
        )
    return tuple(found)
