"""The tight losses of continuous noise on beliefs of any mixed kind: normal, mixture, discrete.

    pure_epsilon = sup_y |ln f_p(y) / f_q(y)|,   hockey_stick = max over both orders of int [f_p - e^epsilon f_q]_+

with f = law * noise. Two normals with normal noise have a closed form, in `two_normals`; every other pair is
decided by certified cells (`cells`), so the answers are at or above the truth. Proofs:
docs/proofs/gaussian.md#8-continuous-noise-on-normal-laws.
"""

from __future__ import annotations

import math

import numpy as np

from fugu.errors import BadBudget
from fugu.laws.components import Floats
from fugu.laws.discrete import Discrete
from fugu.laws.normal import Belief
from fugu.laws.pair import LawPair
from fugu.loss.public import delta as discrete_delta
from fugu.loss.public import epsilon as discrete_epsilon
from fugu.loss.smooth.cells import UNIT, dominated, positive_part, start
from fugu.loss.smooth.noised import Noised, check_noise, log_sum
from fugu.loss.smooth.reduced import LARGEST, Parts, exp_down, frame, parts, reduced
from fugu.loss.smooth.two_normals import normal_hockey_stick
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, as_fraction

_RELATIVE = 2.5e-10
_MANY = 60


def hockey_stick(p: Belief, q: Belief, kind: str, scale: Real, epsilon: Real, tolerance: float = 2e-12) -> float:
    """max over both orders of sup_S P(X_p + N in S) - e^epsilon P(X_q + N in S); from above.

    Above the truth by at most 1e-11 (the cells' tolerance and rounding), save where cells run out of work.
    N has the continuous law `kind` ("laplace" or "gaussian") of that scale (0: none). Without noise atoms and densities
    are told apart perfectly, and the same formula holds for each kind of part.

    >>> from fugu.laws.normal import Normal
    >>> round(hockey_stick(Normal(0, 1), Normal(1, 2), "laplace", 1.6309348849, 1.0), 9)
    0.01
    """
    check_noise(kind, float(scale))
    eps = float(epsilon)
    if not 0 <= eps < math.inf:
        raise BadBudget(f"epsilon must be a finite number >= 0, got {epsilon!r}")
    if isinstance(p, Discrete) and isinstance(q, Discrete) and (kind == "laplace" or scale == 0):
        return discrete_delta(Laplace(scale), LawPair(p, q), eps)
    mine, theirs = parts(p), parts(q)
    return max(
        one_order(mine, theirs, kind, scale, eps, tolerance), one_order(theirs, mine, kind, scale, eps, tolerance)
    )


def one_order(p: Parts, q: Parts, kind: str, scale: Real, epsilon: float, tolerance: float = 2e-12) -> float:
    """int [f_p - e^epsilon f_q]_+ from above, in this order only."""
    if p == q:
        return 0.0
    if len(p) == len(q) == 1 and (kind == "gaussian" or scale == 0):
        ((m1, s1),), ((m2, s2),) = p, q
        b = float(as_fraction(scale))
        one, two = math.hypot(float(s1), b), math.hypot(float(s2), b)
        if one > 0 and two > 0:
            return normal_hockey_stick(float((m1 - m2) / as_fraction(two)), one / two, epsilon)
    pair = reduced(p, q, kind, scale, exp_down(epsilon))
    if pair is None:
        return 1.0
    if pair.plus is None:
        return min(1.0, pair.atoms)
    if pair.minus is None:
        return min(1.0, pair.mass)
    return min(1.0, pair.mass, pair.atoms + positive_part(pair.plus, pair.minus, tolerance))


def pure_epsilon(p: Belief, q: Belief, scale: Real) -> float:
    """sup_y |ln f_p(y)/f_q(y)| with Laplace noise of that scale, from above; finite for every scale > 0.

    Two normals: max of |dm|/b + |ds^2|/2b^2 (the tails) and the largest ln(narrow/wide)
    (Theorem G0 in docs/proofs/gaussian.md#8-continuous-noise-on-normal-laws). Above the truth by at most 1e-9 relative,
    or 1e-12 of the largest |ln f| looked at where that is more.
    Without noise the value is exact for discrete laws, and else max_k |ln(w_k/v_k)| over common components, or inf.

    >>> from fugu.laws.normal import Normal
    >>> round(pure_epsilon(Normal(0, 1), Normal(1, 2), 1.8228756555), 8)
    1.0
    """
    check_noise("laplace", float(scale))
    if isinstance(p, Discrete) and isinstance(q, Discrete):
        return discrete_epsilon(Laplace(scale), LawPair(p, q))
    mine, theirs = parts(p), parts(q)
    if mine == theirs:
        return 0.0
    if scale == 0:
        return _silent(mine, theirs)
    return max(_largest(mine, theirs, scale), _largest(theirs, mine, scale))


def _silent(p: Parts, q: Parts) -> float:
    """max_k |ln(w_k/v_k)|, since (sum a)/(sum b) <= max a/b; inf where one law has a component that the other lacks."""
    if p.keys() != q.keys():
        return math.inf
    return max(abs(math.log(p[k]) - math.log(q[k])) * (1 + 8 * UNIT) + 8 * UNIT for k in p)


def _largest(p: Parts, q: Parts, scale: Real) -> float:
    """sup_y ln f_p/f_q: the best value seen, raised by a tolerance, is proved by cells; a witness raises the best."""
    axes = frame(p | q, "laplace", scale)
    f, g = axes.mixture(p), axes.mixture(q)
    if axes.far(p | q) or f is None or g is None:
        return math.inf
    limits = [_limit(f, sign) - _limit(g, sign) for sign in (1.0, -1.0)]
    if len(p) == len(q) == 1 and float(f.stds[0]) >= float(g.stds[0]):
        return max(0.0, *limits) * (1 + 16 * UNIT) + 16 * UNIT * max(1.0, abs(_limit(f, 1.0)), abs(_limit(f, -1.0)))
    nodes = start(f, g)
    best = max(0.0, *limits, _climb(f, g, nodes))
    step = max(_RELATIVE * best, 256 * UNIT)
    for _ in range(_MANY):
        level = best + step
        pair = reduced(p, q, "laplace", scale, math.exp(min(level, LARGEST)), max(0.0, level - LARGEST))
        assert pair is not None
        if pair.plus is None:
            return _up(level)
        proved, witness = (False, None) if pair.minus is None else dominated(pair.plus, pair.minus)
        if proved:
            return _up(level)
        seen = -math.inf if witness is None else _climb(f, g, _around(nodes, witness))
        if seen > level:
            best, step = seen, max(step, _RELATIVE * seen)
        else:
            step *= 4
    return math.inf


def _up(level: float) -> float:
    """A float at or above ln of the float e^level that was used."""
    return level * (1 + 4 * UNIT) + 8 * UNIT


def _limit(f: Noised, sign: float) -> float:
    """ln E e^{sign X}: ln f(y) + |y| + ln 2 for y far out on that side."""
    return float(log_sum(f.log_weights + sign * (f.high + f.low) + 0.5 * f.stds * f.stds))


def _around(nodes: Floats, y: float) -> Floats:
    """The neighbourhood of a point between the nodes next to it."""
    k = int(np.clip(np.searchsorted(nodes, y), 1, nodes.size - 1))
    return np.union1d(np.linspace(nodes[k - 1], nodes[k], 9), y)


def _climb(f: Noised, g: Noised, nodes: Floats) -> float:
    """A value of ln f/g that is attained: the highest few nodes, each zoomed in on. A lower bound, and only that."""
    ratio = f.log_density(nodes) - g.log_density(nodes)
    best = float(ratio.max())
    inner = np.concatenate(([False], (ratio[1:-1] >= ratio[:-2]) & (ratio[1:-1] >= ratio[2:]), [False]))
    peaks = np.flatnonzero(inner)
    for k in peaks[np.argsort(ratio[peaks])[::-1][:4]].tolist():
        left, right = float(nodes[k - 1]), float(nodes[k + 1])
        for _ in range(9):
            y = np.linspace(left, right, 21)
            seen = f.log_density(y) - g.log_density(y)
            top = int(np.argmax(seen))
            best = max(best, float(seen[top]))
            left, right = float(y[max(0, top - 1)]), float(y[min(20, top + 1)])
    return best
