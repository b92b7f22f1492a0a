"""What a guarantee for one belief says about another close to it: the theorems, and their best exponents."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from fractions import Fraction
from typing import Any

from fugu.auditing.moved import Reach, moved_delta, moved_renyi
from fugu.errors import BadBudget, NotProvable, UsageError
from fugu.guarantee import Approx, Pure
from fugu.guarantee.asks import Divergences, check_alpha, check_delta, check_epsilon, exact, outward, plain
from fugu.laws.shapes import Shape
from fugu.loss.door import delta_bounds, leakage, shift_delta
from fugu.loss.door import divergence_bounds as bounds
from fugu.loss.shifts import shift_renyi
from fugu.loss.vectors_gaussian import shift_delta as vector_shift_delta
from fugu.noise.kind import Noise
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_up, meant_up

# Pierquin, Bellet, Tommasi and Boussard 2024, Theorems A.3 to A.5 and Corollary A.1, and Theorem 5.6 with Proposition
# A.7 of the paper on distribution privacy, all as corrected. Notation: M_s and M'_s are the output laws given secret s
# under the assumed belief and under the other one; `there` bounds D(M'_s || M_s) and `back` bounds D(M_s || M'_s), for
# one and the same assumed belief and for every secret. Divergences of the data bound those of the outputs
# (post-processing). The set of pairs is symmetric: what is stated holds in both orders. All results are rounded up.


def theorem_a3(epsilon: Real, there: Real, back: Real) -> Pure:
    """D_inf(M'_i || M'_j) <= D_inf(M'_i || M_i) + epsilon + D_inf(M_j || M'_j) (Theorem A.3, both directions).

    The printed statement takes one direction twice; then nothing is implied. Never above epsilon + 2 max(there, back).

    >>> theorem_a3(1, 0.25, 0.125)
    Pure(epsilon=1.375)
    """
    return Pure(_sum(*(_divergence(x) for x in (epsilon, there, back))))


def theorem_a4(alpha: Real, p: Real, q: Real, r: Real, there: Real, epsilon: Real, back: Real) -> float:
    """D_a(M'_i || M'_j) <= (a - 1/p)/(a-1) there + (1 + 1/(r (a-1))) epsilon + back, 1/p + 1/q + 1/r = 1 (Theorem A.4).

    there = D_{ap}(M'_i || M_i), epsilon = the guarantee at order q (a - 1/p), back = D_{(a-1)r+1}(M_j || M'_j); see
    `orders_a4`. Hölder's inequality with exponents p, q, r on the sum of M'_i^a M'_j^(1-a), split into three ratios.
    The assumed belief is the same in all three terms; the printed infima over two beliefs do not imply it.

    >>> round(theorem_a4(2, 3, 3, 3, 0.3, 1, 0.2), 10)
    2.0333333333
    """
    a, (u, _, w) = _order(alpha), _reciprocals(p, q, r)
    terms = (_divergence(x) for x in (there, epsilon, back))
    factors = ((a - u) / (a - 1), 1 + w / (a - 1), Fraction(1))
    return _sum(*(None if x is None else factor * x for factor, x in zip(factors, terms, strict=True)))


def orders_a4(alpha: Real, p: Real, q: Real, r: Real) -> tuple[Real, Real, Real]:
    """The orders a p, q (a - 1/p) and (a-1) r + 1 of the three divergences in `theorem_a4`; inf where p or r is.

    >>> orders_a4(2, 3, 3, 3)
    (Fraction(6, 1), Fraction(5, 1), Fraction(4, 1))
    """
    a, (u, v, w) = _order(alpha), _reciprocals(p, q, r)
    return a / u if u else math.inf, (a - u) / v if v else math.inf, (a - 1) / w + 1 if w else math.inf


def nearby_laws(epsilon: Real, delta: Real, l1: Real, eta1: Real, l2: Real, eta2: Real) -> Approx:
    """(e + l1 + l2, eta1 + e^l1 (delta + e^e eta2)) for the true laws f_i, f_j of what a mechanism reads, one order.

    Needed: the mechanism is (e, delta) for nearby laws g_i, g_j; HS_l1(f_i || g_i) <= eta1; HS_l2(g_j || f_j) <= eta2,
    HS_l(f || g) = sup_S f(S) - e^l g(S). For a test 0 <= t <= 1: E_f t <= e^l E_g t + eta. (With l1 = l2, eta1 = eta2
    this is the printed Theorem 5.6, whose proof is not right; one that is:
    docs/proofs/normal-vectors.md#6-beliefs-near-the-true-ones.) NotProvable where nothing follows.

    >>> nearby_laws(1, 0, 0.5, 0, 0.5, 0)
    Approx(epsilon=2, delta=0.0)
    """
    for x in (epsilon, l1, l2):
        check_epsilon(x)
    for x in (delta, eta1, eta2):
        check_delta(x)
    if any(math.isinf(x) for x in (epsilon, l1, l2)):
        raise NotProvable("an infinite epsilon implies nothing about nearby beliefs")
    with balls.precision(128):
        e, d, k, one, two = (balls.of(as_fraction(x)) for x in (epsilon, delta, l1, eta1, eta2))
        total = meant_up(balls.upper(one + k.exp() * (d + e.exp() * two)))
    if not total < 1:
        raise NotProvable(
            "the delta that follows is 1 or more, which says nothing: the nearby beliefs are too far from the true "
            "ones (a normal law is never near a discrete one in this sense)"
        )
    return Approx(plain(sum((exact(x) for x in (epsilon, l1, l2)), Fraction(0))), total)


def theorem_5_6(epsilon: Real, delta: float, there: tuple[Real, float], back: tuple[Real, float]) -> Approx | Pure:
    """(e + l1 + l2, eta1 + e^l1 (delta + e^e eta2)) from HS_l1(M'_i || M_i) <= eta1 and HS_l2(M_j || M'_j) <= eta2.

    For events S: M'_i(S) <= e^l1 M_i(S) + eta1, M_i(S) <= e^e M_j(S) + delta, M_j(S) <= e^l2 M'_j(S) + eta2:
    `nearby_laws` (Theorem 5.6, corrected). A delta of 1 or more says nothing: Pure(inf)."""
    (l1, eta1), (l2, eta2) = there, back
    if max(delta, eta1, eta2) >= 1:
        return Pure(math.inf)
    try:
        found = nearby_laws(epsilon, Fraction(delta), l1, Fraction(eta1), l2, Fraction(eta2))
    except NotProvable:
        return Pure(math.inf)
    return found if found.delta > 0 else Pure(found.epsilon)


def proposition_a7(epsilon: Real, delta: float, there: Real, back: Real) -> Approx | Pure:
    """(epsilon + there + back, e^there delta): `theorem_5_6` for D_inf bounds, c1 >= D_inf(f~_i || f_i), c2 >=
    D_inf(f_j || f~_j), for beliefs f~ near f.

    Printed with delta instead of e^c1 delta, which is false: (0.9, 0.1) against (1, 0) is (0, 0.1), yet f~_i =
    (1 - 0.1 e^0.5, 0.1 e^0.5) gives the event 0.16487.

    >>> round(proposition_a7(0, 0.1, 0.5, 0.5).delta, 6)
    0.164872
    """
    return theorem_5_6(epsilon, delta, (there, 0.0), (back, 0.0))


def _order(alpha: Real) -> Fraction:
    check_alpha(alpha)
    if math.isinf(alpha):
        raise BadBudget("alpha must be finite here; for alpha = inf use theorem_a3")
    return as_fraction(alpha)


def _reciprocals(p: Real, q: Real, r: Real) -> tuple[Fraction, Fraction, Fraction]:
    """1/p, 1/q, 1/r, checked: each above 1 (inf allowed), and reciprocals that add up to 1 exactly."""
    for x in (p, q, r):
        if not isinstance(x, int | float | Fraction) or isinstance(x, bool) or not x > 1:
            raise UsageError(f"p, q and r must be numbers above 1 (inf allowed), got {x!r}")
    u, v, w = (Fraction(0) if math.isinf(x) else 1 / as_fraction(x) for x in (p, q, r))
    if u + v + w != 1:
        raise UsageError(f"1/p + 1/q + 1/r must be 1 exactly, got {u + v + w}; give Fractions")
    return u, v, w


def _divergence(x: Real) -> Fraction | None:
    """A number >= 0, exactly; None for infinity."""
    check_epsilon(x)
    return None if math.isinf(x) else as_fraction(x)


def _sum(*terms: Fraction | None) -> float:
    """The sum, rounded up; inf if a term is."""
    known = [x for x in terms if x is not None]
    return outward(sum(known, Fraction(0))) if len(known) == len(terms) else math.inf


# The best exponents p, q, r of Theorems A.4 and A.5: searched in floats, stated from proofs.
#
# Every choice with 1/p + 1/q + 1/r = 1 is sound, so the search may be coarse; only the divergence at the chosen order
# q (a - 1/p) is then proved, in balls, and enters the bound.


Distance = Callable[[Real], float]
"""A divergence between the two beliefs, both ways, by order; inf where none is known."""
_SHARES = (Fraction(0), *(Fraction(n, 32) for n in (1, 2, 4, 8, 12, 16, 24)))
_STEPS = (Fraction(1, 16), Fraction(1, 32), Fraction(1, 64))
_ENOUGH = 2
_FEW = tuple((Fraction(1, n), Fraction(1, n)) for n in (4, 16, 64))
"""1/p and 1/r where nothing is searched: laws of vectors."""
_SEARCHED = ("laplace", "gaussian")


def best_a4(item: Shape, noise: Noise, alpha: Fraction, distance: Distance) -> float:
    """The least `theorem_a4` found for an item whose laws are that far from the assumed ones; inf if there is none.

    `theorem_a4` reads floats as decimals, so every computed bound is first raised to one that means no less."""
    found = math.inf
    ranked = [(u, w) for _, u, w in _ranked(item, noise, alpha, distance)[:_ENOUGH]] if noise.name in _SEARCHED else []
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


def _ranked(item: Shape, noise: Noise, alpha: Fraction, distance: Distance) -> list[tuple[float, Fraction, Fraction]]:
    """(estimate, 1/p, 1/r), the least first: a coarse grid, then finer steps around its best."""
    known: dict[tuple[Fraction, Fraction], float] = {}
    places = [(u, w) for u in _SHARES for w in _SHARES]
    for step in (*_STEPS, None):
        for u, w in places:
            if 0 < u + w < 1 and min(u, w) >= 0 and (u, w) not in known:
                # `theorem_a4` with the divergence at order q (a - 1/p) in floats; inf where it is not known
                exponents = _exponents(u, w)
                ahead, order, behind = orders_a4(alpha, *exponents)
                there, back, known[u, w] = distance(ahead), distance(behind), math.inf
                if math.isinf(there) or math.isinf(back):
                    continue
                with suppress(NotProvable):
                    ask = Divergences(((as_fraction(order), Fraction(1)),), Fraction(0))
                    epsilon = leakage(item.shape, noise.name).guess(item, noise.spread_in_steps, ask)
                    if math.isfinite(epsilon):
                        known[u, w] = theorem_a4(alpha, *exponents, there, max(0.0, epsilon), back)
        best = min(known, key=lambda place: (known[place], place))
        if step is not None:
            places = [(best[0] + m * step, best[1] + n * step) for m in (-1, 0, 1) for n in (-1, 0, 1)]
    return sorted((value, *place) for place, value in known.items() if math.isfinite(value))


def _exponents(u: Fraction, w: Fraction) -> tuple[Real, Real, Real]:
    """p, q, r from 1/p and 1/r."""
    return 1 / u if u else math.inf, 1 / (1 - u - w), 1 / w if w else math.inf


_TRIED = (Fraction(1, 8), Fraction(1, 4), Fraction(3, 8))
"""Shares of epsilon that a shift may take, where the noise has no rate."""


def pure_loss(item: Shape, noise: Noise) -> Fraction | None:
    """The largest pure loss of an item, in exact rationals where they are known; None if it is not finite."""
    return leakage(item.shape, noise.name).limit(item, noise)


def pure_within(laws: Sequence[Shape], noise: Noise, far: Reach) -> float:
    """min(epsilon + 2 k rate, span rate) for Laplace noise, as D_inf(M'_s, M_s) <= k rate both ways; else inf.

    epsilon is the proved loss, or W_inf rate in exact rationals where that is less."""
    if noise.silent or (rate := noise.rate) is None:
        return math.inf
    found = max((pure_loss(item, noise) for item in laws), key=lambda e: exact(math.inf) if e is None else e)
    ends = [] if far.span is None else [far.span * rate]
    if not any(item.inexact for item in laws) and found is not None:
        ends.append(found + 2 * far.steps * rate)
    return min((outward(end) for end in ends), default=math.inf)


def delta_within(laws: Sequence[Shape], noise: Any, epsilon: Fraction, far: Reach) -> float:
    """The least delta at epsilon: by couplings, or by Theorem 5.6 from delta(epsilon - 2 l) of the assumed laws.

    Laplace: l = k rate and eta = 0 (Proposition A.7). Gaussian: some l < epsilon / 2, eta = HS_l of a shift by k."""
    found = max(moved_delta(item, noise, epsilon, far) for item in laws) if noise.added else 1.0
    if noise.silent:
        return found
    rate = noise.rate
    tried = [epsilon * share for share in _TRIED] if rate is None else [far.steps * rate]
    for by in tried:
        if 2 * by > epsilon:
            continue
        rest = epsilon - 2 * by
        eta = 0.0
        if rate is None:
            steps = far.steps
            eta = max(vector_shift_delta(float_up(steps), item.dimension, noise, by) if item.dimension > 1
                      else shift_delta(noise, steps, by) for item in laws)  # fmt: skip
        assumed = max((loss.value for item in laws for loss in delta_bounds(item, noise, rest)), default=0.0)
        implied = theorem_5_6(rest, assumed, (by, eta), (by, eta))
        if isinstance(implied, Approx) and exact(implied.epsilon) <= epsilon:
            found = min(found, float(implied.delta))
    return found


def renyi_within(item: Shape, loss: float, noise: Noise, alpha: Fraction, far: Reach) -> float:
    """The least of the lengthened coupling, D_a + (2a-1)/(a-1) k rate (Laplace), and for numbers Theorem A.5."""
    found = moved_renyi(item, noise, alpha, far) if noise.added else math.inf
    if noise.silent:
        return found
    grid = noise.grid or Fraction(1)
    if (rate := noise.rate) is not None:
        found = min(found, straight(loss, alpha, far.steps * rate))
    if item.dimension > 1 or not noise.added:
        return found
    return min(found, best_a4(item, noise, alpha, lambda order: shift_renyi(noise, far.steps * grid, order)))
