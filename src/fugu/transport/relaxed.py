"""The relaxed rule: Laplace scales that average over a coupling instead of taking its largest distance.

Let pi couple P (rows, x) and Q (columns, y), d = |x - y|, k the Laplace density of scale t, f = P * k and
g = Q * k. As k(z - x) / k(z - y) lies in [e^(-d/t), e^(d/t)], every coupling gives

    col+   E[e^(d/t) | y]  <= e^eps   for all y   =>   f <= e^eps g
    row-   E[e^(-d/t) | x] >= e^-eps  for all x   =>   f <= e^eps g
    row+   E[e^(d/t) | x]  <= e^eps   for all x   =>   g <= e^eps f
    col-   E[e^(-d/t) | y] >= e^-eps  for all y   =>   g <= e^eps f

Proof: f(z) = sum pi k(z - x) <= sum pi e^(d/t) k(z - y) = sum_y Q(y) k(z - y) E[e^(d/t) | y], and
g(z) = sum pi k(z - y) >= sum_x P(x) k(z - x) E[e^(-d/t) | x]; the rest by exchanging P and Q. By Jensen
E[e^(-d/t)] >= 1 / E[e^(d/t)], so col+ implies col- and protects both orders by itself. All four persist as t
grows, and hold word for word for Laplace noise on a lattice. Each is decided exactly: doubles with an error
bound where they suffice, balls where they do not.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from fugu.errors import BadBudget, UnknownName
from fugu.numbers import balls
from fugu.numbers.exact import Real, as_fraction, float_down, float_up
from fugu.transport.coupling import Coupling

Form = Literal["col+", "row+", "col-", "row-"]

_CLOSE = 2.0**-44
_UNIT = 2.0**-52
_ABYSS = 1e-300
"""Far above all underflow: what terms may lose below the normal doubles."""
_LARGE = 700.0


def relaxed_scale(coupling: Coupling, epsilon: Real) -> float:
    """The least Laplace scale that the four forms prove on this coupling, in the unit of its distances.

    max(min(col+, row-), min(row+, col-)): each order of the pair by whichever form is cheaper. Never above
    `paper_scale`, which is never above the largest distance / epsilon (up to rounding); at or above the exact
    value by at most 1e-12 of it.

    >>> half = np.array([0, 1])
    >>> relaxed_scale(Coupling(half, half[::-1], np.array([1, 1]), np.array([1, 1]), 2), 0.5)
    2.0
    """
    forward = min(form_scale(coupling, epsilon, "col+"), form_scale(coupling, epsilon, "row-"))
    backward = min(form_scale(coupling, epsilon, "row+"), form_scale(coupling, epsilon, "col-"))
    return max(forward, backward)


def paper_scale(coupling: Coupling, epsilon: Real) -> float:
    """The scale of condition (11), col+ alone: what Algorithm 1 of Yang, Ding et al. looks for.

    E[e^(d/t) | y] <= e^eps for all y (Noise Reduction for Pufferfish Privacy, Proposition 3.2), sound in both
    orders by Jensen. The printed loop keeps no bracket and can return far too little; this one keeps it."""
    return form_scale(coupling, epsilon, "col+")


def form_scale(coupling: Coupling, epsilon: Real, form: Form) -> float:
    """The least scale at which one form holds, rounded up by at most 1e-12 of it; inf if none does.

    0 when nothing moves, and for the minus forms when each atom keeps a share of at least e^-eps in place;
    otherwise at most d_max / eps, where every form holds, and at least d / eps if some atom moves entirely, by d
    or more. Bisection over the doubles in between keeps the end that holds."""
    if form not in get_args(Form):
        raise UnknownName("form", form, get_args(Form))
    budget = _epsilon(epsilon)
    farthest = coupling.distances.max().item()
    if farthest == 0:
        return 0.0
    groups = _groups(coupling, form)
    high = math.inf if budget == 0 or math.isinf(farthest) else float_up(Fraction(farthest) / budget)
    if math.isinf(high):
        return high
    low = float_up(Fraction(_surely_moved(groups)) / budget)
    if _holds(groups, budget, low):
        return low
    while high - low > _CLOSE * high and low < (middle := _between(low, high)) < high:
        low, high = (low, middle) if _holds(groups, budget, middle) else (middle, high)
    return high


@dataclass(frozen=True, eq=False)
class _Groups:
    """The cells off the diagonal by row or column: group g has count[g] of them, from first[g] on."""

    sign: int
    first: NDArray[np.int64]
    count: NDArray[np.int64]
    masses: NDArray[Any]
    distances: NDArray[Any]
    weights: NDArray[np.float64]
    whole: NDArray[Any]


def _groups(coupling: Coupling, form: Form) -> _Groups:
    """Each weight is mass / mass of its group, cells on the diagonal included, within 3 * 2^-53 of itself."""
    keys = coupling.columns if form.startswith("col") else coupling.rows
    order = np.argsort(keys, kind="stable")
    starts = _starts(keys[order])
    whole = np.repeat(np.add.reduceat(coupling.masses[order], starts), np.diff(starts, append=len(keys)))
    moved = coupling.distances[order] > 0
    keys, whole = keys[order][moved], whole[moved]
    masses, distances = coupling.masses[order][moved], coupling.distances[order][moved]
    first = _starts(keys)
    weights = (masses / whole).astype(np.float64)
    return _Groups(
        1 if form.endswith("+") else -1,
        first,
        np.diff(first, append=len(keys)),
        masses,
        distances,
        weights,
        whole[first],
    )


def _surely_moved(groups: _Groups) -> Any:
    """The largest distance by which some group moves at least, all of it: no form holds below it / eps."""
    entirely = np.add.reduceat(groups.masses, groups.first) == groups.whole
    return np.minimum.reduceat(groups.distances, groups.first)[entirely].max(initial=0).item()


def _starts(sorted_keys: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.flatnonzero(np.diff(sorted_keys, prepend=sorted_keys[0] - 1))


def _holds(groups: _Groups, epsilon: Fraction, scale: float) -> bool:
    """Whether the form holds in every group: by distance, by doubles with an error bound, else by balls.

    d <= eps t in all cells suffices. Otherwise sum w (e^(+-d/t) - 1) is set against e^(+-eps) - 1: terms of one
    sign, so errors are relative. With u = 2^-53, x = d/t is off by u, expm1 amplifies that by at most 1 + x and
    adds at most 8 u, the weight has 3 u, the product u, the sum of k terms min(k, 128) u (long ones are summed
    pairwise), the target (9 + eps) u; the slack is twice all that. Beyond x = 700 a term is cut, so for the
    plus forms it can prove failure only; for the minus forms it is 1 either way."""
    with np.errstate(over="ignore", under="ignore"):
        x = groups.distances / scale if scale else np.full(len(groups.distances), np.inf)
        terms = groups.sign * groups.weights * np.expm1(groups.sign * np.minimum(x, _LARGE))
    target = groups.sign * math.expm1(groups.sign * min(float(epsilon), _LARGE))
    total = np.add.reduceat(terms, groups.first)
    for g in np.flatnonzero(groups.count > 128).tolist():
        total[g] = np.sum(terms[groups.first[g] : groups.first[g] + groups.count[g]])
    longest = np.maximum.reduceat(x, groups.first)
    large = np.minimum(longest, _LARGE) + min(float(epsilon), _LARGE)
    slack = _UNIT * (32 + np.minimum(groups.count, 128) + large)
    lost = _ABYSS * groups.count
    clear = np.minimum.reduceat(groups.weights, groups.first) > _ABYSS / _UNIT
    if epsilon <= _LARGE and np.any(clear & (total * (1 - slack) - lost > target)):
        return False
    near = np.maximum.reduceat(groups.distances, groups.first) <= _reach(groups, epsilon * Fraction(scale))
    whole_terms = True if groups.sign < 0 else longest <= _LARGE
    holds = near | (clear & (total * (1 + slack) + lost <= target) & whole_terms)
    return all(_holds_in_balls(groups, g, epsilon, scale) for g in np.flatnonzero(~holds).tolist())


def _reach(groups: _Groups, distance: Fraction) -> float | int:
    """The largest number of the kind of the distances that is <= distance."""
    return min(math.floor(distance), 2**62) if groups.distances.dtype == np.int64 else float_down(distance)


def _holds_in_balls(groups: _Groups, g: int, epsilon: Fraction, scale: float) -> bool:
    """sum m e^(+-d/t) against e^(+-eps) sum m for one group, with more bits until it is decided.

    True is a proof; undecided counts as no. Equality needs d = eps t in every cell (exponentials of distinct
    rationals are linearly independent over the rationals: Lindemann and Weierstrass), which was settled before."""
    own = slice(groups.first[g], groups.first[g] + groups.count[g])
    masses, distances = groups.masses[own].tolist(), groups.distances[own].tolist()
    whole = int(groups.whole[g])
    if scale == 0 and groups.sign > 0:
        return False
    for bits in (128, 512, 2048):
        with balls.precision(bits):
            mean = balls.of(whole - sum(masses))
            if scale:
                rate = groups.sign / balls.of(scale)
                cells = zip(masses, distances, strict=True)
                mean = sum((balls.of(m) * (balls.of(d) * rate).exp() for m, d in cells), mean)
            gap = groups.sign * (balls.of(whole) * (groups.sign * balls.of(epsilon)).exp() - mean)
            if gap >= 0:
                return True
            if gap < 0:
                return False
    return False


def _between(low: float, high: float) -> float:
    """Half way from low to high among the doubles, so that 60 steps suffice whatever the magnitudes."""
    bits = (int(np.float64(low).view(np.int64)) + int(np.float64(high).view(np.int64))) // 2
    return float(np.int64(bits).view(np.float64))


def _epsilon(epsilon: Real) -> Fraction:
    real = isinstance(epsilon, int | float | Fraction) and not isinstance(epsilon, bool)
    if not real or not 0 <= epsilon < math.inf:
        raise BadBudget(f"epsilon must be a finite number >= 0, got {epsilon!r}")
    return as_fraction(epsilon)
