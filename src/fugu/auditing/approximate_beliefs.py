"""Guarantees proved for beliefs that are only near the true ones (Chen and Ohrimenko 2023), in corrected form.

HS_l(f || g) = sup_S f(S) - e^l g(S). Each statement is for one ordered pair (i, j); for both orders use it twice. The
printed forms of Theorem 5.6 (its proof) and Proposition A.7 (its delta) are not right; proofs of these:
docs/proofs/normal-vectors.md#6-beliefs-near-the-true-ones.
"""

from __future__ import annotations

import math
from fractions import Fraction

from flint import arb

from fugu.errors import NotProvable
from fugu.guarantee.asks import check_delta, check_epsilon, exact, plain
from fugu.guarantee.kinds import Approx
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, meant_up


def theorem_5_6(epsilon: Real, delta: Real, l1: Real, eta1: Real, l2: Real, eta2: Real) -> Approx:
    """(e + l1 + l2, eta1 + e^l1 (delta + e^e eta2)) for the true laws f_i, f_j of what a mechanism reads.

    Needed: the mechanism is (e, delta) for nearby laws g_i, g_j; HS_l1(f_i || g_i) <= eta1; HS_l2(g_j || f_j) <= eta2.
    For a test 0 <= t <= 1: E_f t <= e^l E_g t + eta. (With l1 = l2, eta1 = eta2 this is the printed Theorem 5.6.)

    >>> theorem_5_6(1, 0, 0.5, 0, 0.5, 0)
    Approx(epsilon=2, delta=0.0)
    """
    _check((epsilon, l1, l2), (delta, eta1, eta2))
    if any(math.isinf(x) for x in (epsilon, l1, l2)):
        raise NotProvable("an infinite epsilon implies nothing about nearby beliefs")
    with balls.precision(128):
        e, d, k, one, two = (balls.of(as_fraction(x)) for x in (epsilon, delta, l1, eta1, eta2))
        return _approx((epsilon, l1, l2), one + k.exp() * (d + e.exp() * two))


def theorem_5_7(epsilon: Real, delta: Real, level: Real, eta: Real) -> Approx:
    """(e + 2 l, (1 + e^{e+l}) eta + e^l delta) after more noise, added independently of all else.

    Needed: the mechanism is (e, delta) for nearby laws; each true law is coupled with its nearby law within W outside
    probability eta_c, and the added noise makes every shift of length <= W cost (l, eta_z), eta >= eta_c + eta_z:
    Laplace noise of scale W / l (l1 distance, eta_z = 0), or normal noise of standard deviation W / mu(l, eta_z) where
    W bounds the l2 distance (W_infinity in l2, not the 2-Wasserstein distance). It is Theorem 5.6 after that noise."""
    return theorem_5_6(epsilon, delta, level, eta, level, eta)


def proposition_a_7(epsilon: Real, delta: Real, c1: Real, c2: Real) -> Approx:
    """(e + c1 + c2, e^c1 delta), c1 >= D_inf(f~_i || f_i), c2 >= D_inf(f_j || f~_j), for beliefs f~ near f.

    Printed with delta instead of e^c1 delta, which is false: (0.9, 0.1) against (1, 0) is (0, 0.1), yet f~_i =
    (1 - 0.1 e^0.5, 0.1 e^0.5) gives the event 0.16487.

    >>> round(float(proposition_a_7(0, 0.1, 0.5, 0).delta), 5)
    0.16487
    """
    return theorem_5_6(epsilon, delta, c1, 0, c2, 0)


def translated_scale(shift: Real, distance: Real, epsilon: Real) -> Real:
    """(shift + 2 W) / e: a Laplace scale that is (e, 0) if nearby laws are translates, within W_infinity W of the true.

    The triangle inequality for W_infinity; always less noise than Theorem 5.7 with delta = 0.

    >>> translated_scale(1, 0.5, 0.5)
    4
    """
    _check((shift, distance, epsilon), ())
    if epsilon == 0 or math.isinf(epsilon) or math.isinf(shift) or math.isinf(distance):
        raise NotProvable("no finite scale above 0 follows; give a finite epsilon above 0 and finite distances")
    return plain((as_fraction(shift) + 2 * as_fraction(distance)) / as_fraction(epsilon))


def _check(epsilons: tuple[Real, ...], deltas: tuple[Real, ...]) -> None:
    for x in epsilons:
        check_epsilon(x)
    for x in deltas:
        check_delta(x)


def _approx(epsilons: tuple[Real, ...], delta: arb) -> Approx:
    total = meant_up(balls.upper(delta))
    if not total < 1:
        raise NotProvable(
            "the delta that follows is 1 or more, which says nothing: the nearby beliefs are too far from the true "
            "ones (a normal law is never near a discrete one in this sense)"
        )
    return Approx(plain(sum((exact(x) for x in epsilons), Fraction(0))), total)
