"""The tight losses of continuous noise on beliefs of any mixed kind, by certified cells."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadBudget
from fugu.laws.components import Floats
from fugu.laws.discrete import Discrete
from fugu.laws.normal import Belief
from fugu.laws.pair import LawPair
from fugu.loss.densities import (
    LARGEST,
    NoisedMixture,
    Parts,
    check_noise,
    chunks,
    exp_down,
    frame,
    log_normal,
    log_parts,
    log_sum,
    normal_hockey_stick,
    parts,
    reduced,
)
from fugu.loss.door import delta as discrete_delta
from fugu.loss.door import epsilon as discrete_epsilon
from fugu.noise.laplace import Laplace
from fugu.numbers.exact import Real, as_fraction

#     pure_epsilon = sup_y |ln f_p(y) / f_q(y)|,   hockey_stick = max over both orders of int [f_p - e^epsilon f_q]_+
#
# with f = law * noise. Two normals with normal noise have a closed form, in `two_normals`; every other pair is
# decided by certified cells (`cells`), so the answers are at or above the truth. Proofs:
# docs/proofs/gaussian.md#8-continuous-noise-on-normal-laws.


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
    plus, minus, atoms, mass = pair
    if plus is None:
        return min(1.0, atoms)
    return min(1.0, mass) if minus is None else min(1.0, mass, atoms + positive_part(plus, minus, tolerance))


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
    if scale == 0:  # since (sum a)/(sum b) <= max a/b; inf where one law has a component that the other lacks
        if mine.keys() != theirs.keys():
            return math.inf
        return max(abs(math.log(mine[k]) - math.log(theirs[k])) * (1 + 8 * UNIT) + 8 * UNIT for k in mine)
    return max(_largest(mine, theirs, scale), _largest(theirs, mine, scale))


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
        plus, minus = pair[:2]
        proved, witness = (plus is None, None) if plus is None or minus is None else dominated(plus, minus)
        if proved:
            return level * (1 + 4 * UNIT) + 8 * UNIT  # at or above ln of the float e^level that was used
        seen = -math.inf
        if witness is not None:  # the neighbourhood of the witness, between the nodes next to it
            k = int(np.clip(np.searchsorted(nodes, witness), 1, nodes.size - 1))
            seen = _climb(f, g, np.union1d(np.linspace(nodes[k - 1], nodes[k], 9), witness))
        if seen > level:
            best, step = seen, max(step, _RELATIVE * seen)
        else:
            step *= 4
    return math.inf


def _limit(f: NoisedMixture, sign: float) -> float:
    """ln E e^{sign X}: ln f(y) + |y| + ln 2 for y far out on that side."""
    return float(log_sum(f.log_weights + sign * (f.high + f.low) + 0.5 * f.stds * f.stds))


def _climb(f: NoisedMixture, g: NoisedMixture, nodes: Floats) -> float:
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


# Certified cells: an upper bound of int [P - N]_+ and a proof of P <= N, for mixtures P and N, without root finding.
#
# On a cell [u, v] of width h three bounds hold, and the best one counts:
# - order 0: P <= sum of suprema and N >= sum of infima of the components; each is symmetric and unimodal.
# - Laplace (unit b = 1): e^y f(y) does not decrease and e^-y f(y) does not increase, so
#   ln P/N <= min(ln P(v) - ln N(u), ln P(u) - ln N(v)) + h. In the tails this is exponentially sharp.
# - order 2: D = P - N <= max(D(u), D(v)) + h^2/8 sup(-D''), where -D'' is bounded component by component. Normal:
#   f'' = f (z^2/s^2 - 1)/s^2. Laplace: f'' = f - p with p the normal density, f'' >= -f/s^2 and f'' <= f (ln f)'^2
#   by log-concavity. Atoms are ends of cells, so p = 0 inside for s = 0.
# A cell that is proved negative adds nothing, one that is proved positive adds its exact mass difference, any other
# adds
# h sup [D]_+ and is cut into eight: a root that is missed costs nothing, because no root is looked for.
# Proofs: docs/proofs/gaussian.md#8-continuous-noise-on-normal-laws.


UNIT = 2.0**-53
_ERROR = 32 * UNIT
"""Ln densities err by less than 4 units times 1 + |ln f| (measured against 60 digits); eight times that is allowed."""
_WORK = 30_000_000
"""Cells times components that one call may look at."""
_PIECES = 8
_LADDER = np.array([0.5, 1, 1.5, 2, 3, 4, 6, 9])
_NOISE = np.array([0.25, 0.5, 1, 2, 4, 8, 16, 40])


@dataclass(frozen=True, eq=False)
class CellLogs:
    """Logs of a mixture on cells (at both ends, supremum, infimum) and bounds of f'' and -f'' divided by e^sup."""

    left: Floats
    right: Floats
    most: Floats
    least: Floats
    convex: Floats
    concave: Floats


Mask = NDArray[np.bool_]


def side(mix: NoisedMixture, u: Floats, v: Floats) -> CellLogs:
    """The bounds of one mixture on the cells."""
    rows = []
    for part in chunks(u.size, 4 * mix.high.size):
        a, c = mix.offsets(u[part]), mix.offsets(v[part])
        inside = (a < 0) & (c > 0)
        near = np.where(inside, 0.0, np.minimum(np.abs(a), np.abs(c)))
        wide = np.maximum(np.abs(a), np.abs(c))
        logw, s = mix.log_weights, mix.stds
        safe = np.where(s > 0, s, 1.0)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
            if mix.laplace:
                (far_n, near_n), (far_w, near_w) = log_parts(near, s), log_parts(wide, s)
                half = math.log(2.0)
                top, bottom = np.logaddexp(far_n, near_n) - half, np.logaddexp(far_w, near_w) - half
                p_top = np.where(s > 0, log_normal(near, safe), -np.inf)
                p_bottom = np.where(s > 0, log_normal(wide, safe), -np.inf)
                slope = np.tanh(0.5 * (near_w - far_w))
                lost, kept = np.exp(np.minimum(p_top - top, 700.0)), np.exp(p_bottom - top)
                convex = np.minimum(1 - kept, slope * slope)
                concave = np.minimum(lost - np.exp(bottom - top), np.where(s > 0, 1 / (safe * safe), np.inf))
            else:
                top, bottom = log_normal(near, s), log_normal(wide, s)
                convex = np.maximum((wide / s) ** 2 - 1, 0) / (s * s)
                concave = np.maximum(1 - (near / s) ** 2, 0) / (s * s)
        ends = np.where(np.abs(a) <= np.abs(c), top, bottom), np.where(np.abs(c) <= np.abs(a), top, bottom)
        left = np.where(inside, mix.logs(u[part]), ends[0] + logw) if np.any(inside) else ends[0] + logw
        right = np.where(inside, mix.logs(v[part]), ends[1] + logw) if np.any(inside) else ends[1] + logw
        most = log_sum(top + logw)
        share = np.exp(top + logw - np.where(np.isfinite(most), most, 0.0)[:, None])
        with np.errstate(invalid="ignore"):
            bends = [np.where(share > 0, share * k, 0.0).sum(axis=1) for k in (convex, concave)]
        rows.append((log_sum(left), log_sum(right), most, log_sum(bottom + logw), bends[0], bends[1]))
    return CellLogs(*(np.concatenate(column) for column in zip(*rows, strict=True)))


def judge(plus: NoisedMixture, minus: NoisedMixture, u: Floats, v: Floats) -> tuple[Mask, Mask, Floats, float | None]:
    """What the three bounds prove on each cell: P <= N, P >= N, or a bound ln of h sup [P - N]_+; and where P > N at an
    end."""
    p, n = side(plus, u, v), side(minus, u, v)
    h = v - u
    ref = np.maximum(p.most, n.most)
    ref = np.where(np.isfinite(ref), ref, 0.0)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        slack = _ERROR * (4 + np.abs(np.where(np.isfinite(p.least), p.least, ref)) + np.abs(ref))
        slack = slack + _ERROR * np.abs(np.where(np.isfinite(n.least), n.least, ref))
        above, below = p.most - n.least, p.least - n.most
        if plus.laplace:
            above = np.minimum(above, np.minimum(p.right - n.left, p.left - n.right) + h)
            below = np.maximum(below, np.maximum(p.left - n.right, p.right - n.left) - h)
        ps, ns = np.exp(p.most - ref), np.exp(n.most - ref)
        d_left = np.exp(p.left - ref) - np.exp(n.left - ref)
        d_right = np.exp(p.right - ref) - np.exp(n.right - ref)
        bulge = h * h / 8
        error = slack * (ps + ns)
        top = np.maximum(d_left, d_right) + bulge * np.maximum(0, p.concave * ps + n.convex * ns) + error
        low = np.minimum(d_left, d_right) - bulge * np.maximum(0, p.convex * ps + n.concave * ns) - error
        held = (ps > 1e-280) & (ns > 1e-280)
        negative = (above <= -slack) | (held & (top <= 0)) | ~np.isfinite(p.most)
        positive = ~negative & ((below >= slack) | (held & (low >= 0)))
        rise = -np.expm1(-np.maximum(above + slack, 0))
        most = np.minimum(rise * ps, np.where(held, np.maximum(top, 0), np.inf))
        excess = np.log(most) + ref + np.log(h)
        over = np.maximum(np.where(d_left > error, p.left - n.left - slack, 0), p.right - n.right - slack)
    worst = int(np.argmax(np.where(np.isnan(over), -np.inf, over)))
    if not over[worst] > 0:
        return negative, positive, excess, None
    at_left = p.left[worst] - n.left[worst] > p.right[worst] - n.right[worst]
    return negative, positive, excess, float(u[worst] if at_left else v[worst])


def start(plus: NoisedMixture, minus: NoisedMixture) -> Floats:
    """The first ends of cells: ladders around every component, out to where only tails are left."""
    found: list[Floats] = []
    count = plus.high.size + minus.high.size
    thin = 1 if count <= 40 else 2 if count <= 400 else 4
    for mix in (plus, minus):
        centre = mix.high[:, None]
        steps = mix.stds[:, None] * _LADDER[thin - 1 :: thin]
        if mix.laplace:
            noise = np.broadcast_to(_NOISE[thin - 1 :: thin], (mix.high.size, _NOISE[thin - 1 :: thin].size))
            tilt = (mix.stds * mix.stds)[:, None]
            last = tilt + 9 * mix.stds[:, None] + 40
            steps = np.concatenate((steps, noise, steps[:, -1:] + noise, tilt, last), axis=1)
        found += [centre, centre + steps, centre - steps]
    return np.unique(np.concatenate([part.ravel() for part in found]))


def tails_dominated(plus: NoisedMixture, minus: NoisedMixture, lo: float, hi: float) -> bool:
    """Laplace: P <= N beyond lo and hi, since e^{y} P <= E_P e^X / 2 and e^{y} N(y) does not decrease (F4)."""
    for sign, end in ((1.0, hi), (-1.0, lo)):
        mean = sign * (plus.high + plus.low)
        limit = float(log_sum(plus.log_weights + mean + 0.5 * plus.stds**2)) - math.log(2.0)
        reached = float(minus.log_density(np.array([end]))[0]) + sign * end
        if not limit + _ERROR * (4 + abs(limit) + 2 * abs(end) + float(np.abs(mean).max())) <= reached:
            return False
    return True


def positive_part(plus: NoisedMixture, minus: NoisedMixture, tolerance: float = 2e-12) -> float:
    """An upper bound of int [P - N]_+, above it by at most about `tolerance`; exactly 0 where P <= N is proved."""
    nodes = start(plus, minus)
    u, v = nodes[:-1], nodes[1:]
    ends = nodes[[0]], nodes[[-1]]
    left_over = 0.0
    if not (plus.laplace and tails_dominated(plus, minus, float(ends[0][0]), float(ends[1][0]))):
        left_over = float(plus.below(ends[0])[0] + plus.above(ends[1])[0]) * (1 + 1e-12)
    runs: list[tuple[Floats, Floats]] = []
    work = 0
    while u.size:
        negative, positive, bound, _ = judge(plus, minus, u, v)
        runs.append((u[positive], v[positive]))
        open_ = ~(negative | positive)
        u, v = u[open_], v[open_]
        excess = np.minimum(np.exp(np.minimum(bound[open_], 1.0)), sum(plus.between(u, v)) + 1e-300)
        work += bound.size * (plus.high.size + minus.high.size)
        final = work > _WORK or bool(np.all((v - u) <= 8 * UNIT * (np.abs(u) + np.abs(v))))
        order = np.argsort(excess)
        small = np.cumsum(excess[order]) <= max(0.0, tolerance - left_over) / 2
        small |= final
        left_over += float(excess[order][small].sum())
        keep = np.sort(order[~small])
        u, v = _cut(u[keep], v[keep])
    u, v = np.concatenate([r[0] for r in runs]), np.concatenate([r[1] for r in runs])
    sure = 0.0
    if u.size:
        order = np.argsort(u)  # cells that touch are one
        u, v = u[order], v[order]
        fresh = np.concatenate(([True], u[1:] != v[:-1]))
        u, v = u[fresh], v[np.concatenate((fresh[1:], [True]))]
        # P - N from above; a narrow N is also at least width times infimum, which no e^epsilon can drown
        (mine, up), (theirs, down) = plus.between(u, v), minus.between(u, v)
        floor = (v - u) * np.exp(np.minimum(side(minus, u, v).least, 700.0)) * (1 - 1e-12)
        sure = float(np.sum(np.maximum(0, mine + up - np.maximum(theirs - down, floor))))
    if sure == 0 and left_over == 0:
        return 0.0
    return sure + left_over + 128 * UNIT * float(plus.weights.sum())


def dominated(plus: NoisedMixture, minus: NoisedMixture) -> tuple[bool, float | None]:
    """(True, None) if P <= N everywhere is proved; (False, y) with P(y) > N(y), or (False, None) if undecided."""
    nodes = start(plus, minus)
    if not tails_dominated(plus, minus, float(nodes[0]), float(nodes[-1])):
        return False, None
    u, v = nodes[:-1], nodes[1:]
    work = 0
    while u.size:
        negative, _, _, witness = judge(plus, minus, u, v)
        if witness is not None:
            return False, witness
        work += u.size * (plus.high.size + minus.high.size)
        open_ = ~negative
        u, v = u[open_], v[open_]
        if work > _WORK or np.any((v - u) <= 8 * UNIT * (np.abs(u) + np.abs(v))):
            return False, None
        u, v = _cut(u, v)
    return True, None


def _cut(u: Floats, v: Floats) -> tuple[Floats, Floats]:
    """Every cell in eight."""
    marks = u[:, None] + (v - u)[:, None] * (np.arange(_PIECES + 1) / _PIECES)
    marks[:, -1] = v
    left, right = marks[:, :-1].ravel(), marks[:, 1:].ravel()
    real = right > left
    return left[real], right[real]
