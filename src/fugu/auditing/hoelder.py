"""The best exponents p, q, r of Theorems A.4 and A.5: searched in floats, stated from proofs.

Every choice with 1/p + 1/q + 1/r = 1 is sound, so the search may be coarse; only the divergence at the chosen order
q (a - 1/p) is then proved, in balls, and enters the bound."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

from fugu.auditing.theorems import orders_a4, theorem_a4
from fugu.errors import NotProvable
from fugu.guarantee.numbers import outward
from fugu.laws.items import Shape
from fugu.loss.door import AnyNoise, leakage
from fugu.loss.door import divergence_bounds as bounds
from fugu.numbers.exact import Real, as_fraction, meant_up

Distance = Callable[[Real], float]
"""A divergence between the two beliefs, both ways, by order; inf where none is known."""
_SHARES = (Fraction(0), *(Fraction(n, 32) for n in (1, 2, 4, 8, 12, 16, 24)))
_STEPS = (Fraction(1, 16), Fraction(1, 32), Fraction(1, 64))
_ENOUGH = 2
_FEW = tuple((Fraction(1, n), Fraction(1, n)) for n in (4, 16, 64))
"""1/p and 1/r where nothing is searched: laws of vectors."""
STEPS: dict[str, Callable[[Any], float]] = {
    "laplace": lambda noise: float(1 / noise.rate),
    "gaussian": lambda noise: math.sqrt(0.5 / float(noise.precision)),
}
"""The scale in lattice steps, by the noise."""


def best_a4(item: Shape, noise: AnyNoise, alpha: Fraction, distance: Distance) -> float:
    """The least `theorem_a4` found for an item whose laws are that far from the assumed ones; inf if there is none.

    `theorem_a4` reads floats as decimals, so every computed bound is first raised to one that means no less."""
    found = math.inf
    ranked = [(u, w) for _, u, w in _ranked(item, noise, alpha, distance)[:_ENOUGH]] if noise.name in STEPS else []
    for u, w in ranked or _FEW:
        p, q, r = _exponents(u, w)
        ahead, order, behind = orders_a4(alpha, p, q, r)
        try:
            epsilon = max(loss.value for loss in bounds(item, noise, as_fraction(order)))
        except NotProvable:
            continue
        there, middle, back = (meant_up(x) for x in (distance(ahead), epsilon, distance(behind)))
        found = min(found, theorem_a4(alpha, p, q, r, there, middle, back))
    return found


def straight(loss: float, alpha: Fraction, distance: Real) -> float:
    """D_a(M'_i || M'_j) <= D_a(M_i || M_j) + (2a-1)/(a-1) c for D_inf <= c both ways: the limit p = r = inf, q = 1.

    sum M'_i^a M'_j^(1-a) <= e^{c a} e^{c (a-1)} sum M_i^a M_j^(1-a), term by term."""
    if math.isinf(loss) or math.isinf(distance):
        return math.inf
    return outward(Fraction(loss) + (2 * alpha - 1) / (alpha - 1) * as_fraction(distance))


def _ranked(
    item: Shape, noise: AnyNoise, alpha: Fraction, distance: Distance
) -> list[tuple[float, Fraction, Fraction]]:
    """(estimate, 1/p, 1/r), the least first: a coarse grid, then finer steps around its best."""
    known: dict[tuple[Fraction, Fraction], float] = {}
    places = [(u, w) for u in _SHARES for w in _SHARES]
    for step in (*_STEPS, None):
        for u, w in places:
            if 0 < u + w < 1 and min(u, w) >= 0 and (u, w) not in known:
                known[u, w] = _estimate(item, noise, alpha, distance, _exponents(u, w))
        best = min(known, key=lambda place: (known[place], place))
        if step is not None:
            places = [(best[0] + m * step, best[1] + n * step) for m in (-1, 0, 1) for n in (-1, 0, 1)]
    return sorted((value, *place) for place, value in known.items() if math.isfinite(value))


def _estimate(
    item: Shape, noise: AnyNoise, alpha: Fraction, distance: Distance, exponents: tuple[Real, Real, Real]
) -> float:
    """`theorem_a4` with the divergence at order q (a - 1/p) in floats; inf where it is not known."""
    ahead, order, behind = orders_a4(alpha, *exponents)
    there, back = distance(ahead), distance(behind)
    if math.isinf(there) or math.isinf(back):
        return math.inf
    try:
        epsilon = leakage(item.shape, noise.name).fast_divergence(item, STEPS[noise.name](noise), as_fraction(order))
    except NotProvable:
        return math.inf
    return theorem_a4(alpha, *exponents, there, max(0.0, epsilon), back) if math.isfinite(epsilon) else math.inf


def _exponents(u: Fraction, w: Fraction) -> tuple[Real, Real, Real]:
    """p, q, r from 1/p and 1/r."""
    return 1 / u if u else math.inf, 1 / (1 - u - w), 1 / w if w else math.inf
