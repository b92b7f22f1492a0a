"""Closed forms for beliefs near the assumed ones that no release needs: Theorem A.5, Corollary A.1 (Pierquin, Bellet,
Tommasi and Boussard 2024), Theorem 5.7 of the paper on distribution privacy and the triangle inequality beside it.

What a release is worth under such beliefs is `fugu.guarantee_within`; the theorems it rests on are in
`fugu.auditing.theorems`. All results are rounded up."""

from __future__ import annotations

import math
from fractions import Fraction

from fugu.auditing.theorems import nearby_laws, orders_a4, theorem_a4
from fugu.errors import NotProvable, UsageError
from fugu.guarantee import Approx
from fugu.guarantee.asks import check_epsilon, plain
from fugu.loss.cost import ShiftNoise
from fugu.loss.shifts import shift_renyi
from fugu.numbers.exact import Real, as_fraction, meant_up


def theorem_a5(noise: ShiftNoise, alpha: Real, p: Real, q: Real, r: Real, epsilon: Real, moved: Real) -> float:
    """`theorem_a4` for values moved by at most `moved`: there and back are R at orders a p and (a-1) r + 1."""
    ahead, _, behind = orders_a4(alpha, p, q, r)
    there, back = (meant_up(shift_renyi(noise, moved, order)) for order in (ahead, behind))
    return theorem_a4(alpha, p, q, r, there, epsilon, back)


def corollary_a1(alpha: Real, p: Real, q: Real, r: Real, epsilon: Real, distance: Real, moved: Real) -> float:
    """`theorem_a5` for Gaussian noise that just meets epsilon at order q (a - 1/p) for laws `distance` apart.

    Its variance is q (a - 1/p) distance^2 / (2 epsilon). Never below the triangle a (distance + 2 moved)^2 / (2 var).

    >>> round(corollary_a1(4, 2, 4, 4, 0.5, 2, 0.1), 10)
    0.5436607143
    """
    ahead, middle, behind = orders_a4(alpha, p, q, r)
    twice = gaussian_variance(middle, epsilon, distance) * 2
    square = _finite(moved)
    if square is None:
        raise UsageError("the distance that laws are moved by must be finite")
    there, back = (math.inf if math.isinf(o) and square else 0 if not square else as_fraction(o) * square**2 / twice
                   for o in (ahead, behind))  # fmt: skip
    return theorem_a4(alpha, p, q, r, there, epsilon, back)


def gaussian_variance(order: Real, epsilon: Real, distance: Real) -> Fraction:
    """order distance^2 / (2 epsilon): Gaussian noise on laws `distance` apart has D_order <= epsilon from there on."""
    apart, wanted = _finite(distance), _finite(epsilon)
    if not apart or not wanted or math.isinf(order):
        raise UsageError("the distance and epsilon must be positive and finite, and the order finite")
    return as_fraction(order) * apart**2 / (2 * wanted)


def theorem_5_7(epsilon: Real, delta: Real, level: Real, eta: Real) -> Approx:
    """(e + 2 l, (1 + e^{e+l}) eta + e^l delta) after more noise, added independently of all else.

    Needed: the mechanism is (e, delta) for nearby laws; each true law is coupled with its nearby law within W outside
    probability eta_c, and the added noise makes every shift of length <= W cost (l, eta_z), eta >= eta_c + eta_z:
    Laplace noise of scale W / l (l1 distance, eta_z = 0), or normal noise of standard deviation W / mu(l, eta_z) where
    W bounds the l2 distance (W_infinity in l2, not the 2-Wasserstein distance). It is Theorem 5.6 after that noise."""
    return nearby_laws(epsilon, delta, level, eta, level, eta)


def translated_scale(shift: Real, distance: Real, epsilon: Real) -> Real:
    """(shift + 2 W) / e: a Laplace scale that is (e, 0) if nearby laws are translates, within W_infinity W of the true.

    The triangle inequality for W_infinity; always less noise than Theorem 5.7 with delta = 0.

    >>> translated_scale(1, 0.5, 0.5)
    4
    """
    numbers = [_finite(x) for x in (shift, distance, epsilon)]
    if None in numbers or not epsilon:
        raise NotProvable("no finite scale above 0 follows; give a finite epsilon above 0 and finite distances")
    return plain((as_fraction(shift) + 2 * as_fraction(distance)) / as_fraction(epsilon))


def _finite(x: Real) -> Fraction | None:
    """A number >= 0, exactly; None for infinity."""
    check_epsilon(x)
    return None if math.isinf(x) else as_fraction(x)
