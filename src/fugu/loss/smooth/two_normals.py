"""Two normals in closed form: int [n_1 - e^epsilon n_2]_+ for n_1 = N(m_1, s_1^2), n_2 = N(m_2, s_2^2)."""

from __future__ import annotations

import math

UNIT = 2.0**-53


def normal_hockey_stick(nu: float, ratio: float, epsilon: float) -> float:
    """sup_S n_1(S) - e^epsilon n_2(S), with nu = (m_1 - m_2)/s_2 and ratio = s_1/s_2; at or above the truth.

    With l = ratio and v = (y - m_1)/s_1, u = (y - m_2)/s_2 = l v + nu, the set is (l^2 - 1) v^2 + 2 l nu v + nu^2 > L,
    L = 2 (ln l + epsilon): outside the roots for l > 1, between them for l < 1, where d = nu^2 + (l^2 - 1) L >= 0:
    v = (-l nu +- sqrt d)/(l^2 - 1), u = (-nu +- l sqrt d)/(l^2 - 1)
    (docs/proofs/gaussian.md#8-continuous-noise-on-normal-laws; l = 1 is the formula of Balle and Wang 2018). A root
    off by r costs r^2, so only the rounding of Phi counts: (epsilon + x^2 + 16) units.

    >>> round(normal_hockey_stick(0.0, 0.5, 0.5), 12), normal_hockey_stick(-0.5, 0.5, 1.0)
    (0.064933189863, 0.0)
    """
    big = 2 * (math.log(ratio) + epsilon)
    if ratio == 1:
        gap = abs(nu)
        if gap == 0:
            return 0.0
        return _difference(epsilon, [(1.0, gap / 2 - epsilon / gap, -gap / 2 - epsilon / gap)])
    bend = (ratio - 1) * (ratio + 1)
    d = nu * nu + bend * big
    if d <= -16 * UNIT * (nu * nu + abs(bend * big)):
        return 0.0
    root = math.sqrt(max(0.0, d))
    sign = 1.0 if nu >= 0 else -1.0
    v_sum, u_sum = -(ratio * nu + sign * root), -(nu + sign * ratio * root)
    first = _over(v_sum, bend), _over(u_sum, bend)
    second = _over(nu * nu - big, v_sum), _over(-(nu * nu + ratio * ratio * big), u_sum)
    (v_low, u_low), (v_high, u_high) = sorted((first, second))
    if ratio > 1:
        return _difference(epsilon, [(1.0, v_low, u_low), (1.0, -v_high, -u_high)])
    if v_low + v_high > 0:  # take the smaller tails
        v_low, v_high, u_low, u_high = -v_high, -v_low, -u_high, -u_low
    return _difference(epsilon, [(1.0, v_high, u_high), (-1.0, v_low, u_low)])


def _over(a: float, b: float) -> float:
    """a / b, where a root at infinity is as good as one far out."""
    return a / b if b != 0 else math.copysign(math.inf, a) if a != 0 else 0.0


def _difference(epsilon: float, ends: list[tuple[float, float, float]]) -> float:
    """sum of sign (Phi(v) - e^epsilon Phi(u)), raised by its rounding error."""
    from scipy.special import log_ndtr, ndtr

    total = error = 0.0
    for sign, v, u in ends:
        mine = float(ndtr(v))
        theirs = math.exp(min(epsilon + float(log_ndtr(u)), 700.0))
        total += sign * (mine - theirs)
        error += (mine + theirs) * UNIT * (16 + 4 * epsilon + (2 * min(v * v, 1400.0)) + 2 * min(u * u, 1400.0))
    return min(1.0, max(0.0, total) + error)
